// A zone whose site is lost: which zones take its users, and how they are answered there.
#include "twin/processes/service_failover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "twin/processes/service_plan.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {

namespace {

// Two sites of one kind, each with replicas of an 8B model.
design::Design two_sites() {
  auto read = design_text::read_design(R"(
orrery: 1
name: pair
sites:
  - { name: east, region: usa, power: 700 kW, cooling: rear-door-active, rack: 44 kW }
  - { name: west, region: usa, power: 700 kW, cooling: rear-door-active, rack: 44 kW }
fleet:
  - { name: east, site: east, node: dgx-h100, count: 2, failures: { node_mtbf: 10000 y } }
  - { name: west, site: west, node: dgx-h100, count: 2, failures: { node_mtbf: 10000 y } }
fabric:
  compute: { topology: fat-tree, switch: qm9700 }
  wan: [{ between: [east, west], rate: 10 Gb/s, latency: 60 ms }]
storage:
  - { name: hot, tier: hot, kind: object, site: east, servers: 3, device: tlc-gen4,
     devices_per_server: 8, read: 20 GB/s, write: 8 GB/s, capacity: 100 TB }
scheduler: { kind: kubernetes, recovery: { detect: 15 s, restart: 90 s } }
workloads:
  - serve:
      name: chat
      model: llama-3-8b
      tp: 1
      replicas: 4
      arrivals: { rate: 8 /s, peak: 1.5, trace: chat }
      objective: { ttft_p99: 1 s, tpot_p99: 50 ms }
      zones:
        - { site: east, share: 0.5, failover: [west], failover_after: 30 s }
        - { site: west, share: 0.5, failover: [east] }
)",
                                       machine::known().catalog());
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
  return read.value();
}

design::Serve& paired(design::Design& d) {
  return std::get<design::Serve>(d.workloads.front().task);
}

GuestWindows guests_at(const machine::Machine& m, const GuestAsk& ask) {
  const auto zones = service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false);
  return simulate_guests(m.models(), zones[1].ask, ask);
}

double p99_of(const LoadWindow& w) {
  const std::vector<double> one{1};
  return sampled(std::span(&w, 1), one, &WindowPart::ttft, 0.99).value;
}

double mean_of(const LoadWindow& w) {
  const std::vector<double> one{1};
  return sampled(std::span(&w, 1), one, &WindowPart::ttft, 0).value;
}

double requests_in(const LoadWindow& w) {
  return std::accumulate(w.parts.begin(), w.parts.end(), 0.0,
                         [](double sum, const WindowPart& p) { return sum + p.requests; });
}

TEST(ServiceFailover, other_zones_take_as_many_users_as_they_have_capacity_for) {
  const machine::Machine m = jobs::build_machine(two_sites(), machine::known());
  const auto zones = service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false);
  ASSERT_EQ(zones.size(), 2u);
  ASSERT_TRUE(zones[0].failover);
  const ZoneFailover& lost = *zones[0].failover;
  EXPECT_DOUBLE_EQ(lost.region.after, 30);
  EXPECT_DOUBLE_EQ(zones[1].failover->region.after, 60);
  ASSERT_EQ(lost.hosts.size(), 1u);
  EXPECT_DOUBLE_EQ(zones[1].ask.guests, lost.hosts[0].rate / zones[1].replicas) << "of a replica";
  ASSERT_EQ(lost.region.ways.size(), 1u);
  // The round trip, and some kilobytes over 10 Gb/s.
  EXPECT_GT(lost.region.ways[0].round_trip, 0.06);
  EXPECT_LT(lost.region.ways[0].round_trip, 0.0601);
  ASSERT_EQ(lost.hosts.size(), 1u);
  const double peak = std::ranges::max(zones[0].job.day);
  EXPECT_NEAR(lost.hosts[0].rate + lost.refused, peak, 1e-9);
  EXPECT_NEAR(lost.hosts[0].rate, std::min(peak, zones[1].capacity * zones[1].replicas - peak),
              1e-9);
}

TEST(ServiceFailover, guests_of_an_idle_zone_are_answered_as_at_home) {
  const machine::Machine m = jobs::build_machine(two_sites(), machine::known());
  // Sixteen replicas with least-requests routing: requests never meet.
  const GuestWindows w = guests_at(m, {.own = 3, .rate = 3, .replicas = 16});
  EXPECT_GT(requests_in(w.guests), 100);
  EXPECT_NEAR(mean_of(w.guests) / mean_of(w.hosts), 1, 0.15);
  EXPECT_EQ(w.restarted, 0);
  // If the host zone has no users of its own, only the guests are there.
  const GuestWindows alone = guests_at(m, {.own = 0, .rate = 3, .replicas = 16});
  EXPECT_EQ(requests_in(alone.hosts), 0);
  EXPECT_NEAR(requests_in(alone.guests), requests_in(w.guests), 10);
}

TEST(ServiceFailover, distance_delays_first_tokens_only) {
  const machine::Machine m = jobs::build_machine(two_sites(), machine::known());
  GuestAsk ask{.own = 6, .rate = 6, .stay = 3, .replicas = 3};
  const GuestWindows near = guests_at(m, ask);
  double before = p99_of(near.guests);
  for (const double away : {0.02, 0.1, 0.4}) {
    ask.away = seconds(away);
    const GuestWindows far = guests_at(m, ask);
    EXPECT_NEAR(p99_of(far.guests), p99_of(near.guests) + away, 1e-9);
    EXPECT_GT(p99_of(far.guests), before);
    EXPECT_EQ(p99_of(far.hosts), p99_of(near.hosts));
    before = p99_of(far.guests);
  }
  ask.away = seconds(2);
  const std::vector<double> one{1};
  const GuestWindows late = guests_at(m, ask);
  EXPECT_EQ(good_share(std::span(&late.guests, 1), one), 0) << "promised within a second";
  EXPECT_GT(good_share(std::span(&late.hosts, 1), one), 0);
}

TEST(ServiceFailover, requests_in_flight_at_a_lost_site_restart_at_the_other) {
  const machine::Machine m = jobs::build_machine(two_sites(), machine::known());
  const GuestWindows calm = guests_at(m, {.own = 20, .rate = 20, .stay = 0, .replicas = 4});
  const GuestWindows storm = guests_at(m, {.own = 20, .rate = 20, .stay = 6, .replicas = 4});
  EXPECT_NEAR(storm.restarted, 120, 40);
  EXPECT_NEAR(requests_in(storm.guests) - requests_in(calm.guests), storm.restarted, 1);
  EXPECT_GT(p99_of(storm.guests), p99_of(calm.guests));
  EXPECT_GT(p99_of(storm.hosts), p99_of(calm.hosts));
}

TEST(ServiceFailover, users_are_not_sent_where_their_data_may_not_go) {
  design::Design d = two_sites();
  d.sites[1].region = "deu";
  paired(d).zones[0].residency = "usa";
  d.sites.front().outage_mtbf = days(10);
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const auto zones = service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false);
  EXPECT_TRUE(zones[0].failover->region.ways.empty());
  EXPECT_EQ(zones[1].failover->region.ways.size(), 1u) << "nothing binds that one";
  d.workloads.front().terms.residency = "deu";
  paired(d).zones[0].residency.clear();
  const machine::Machine bound = jobs::build_machine(d, machine::known());
  EXPECT_TRUE(jobs::failover_ways(bound, bound.design().workloads.front(), 1).empty());
  d.workloads.front().terms.residency.clear();
  d.fabric.wan.clear();
  const machine::Machine apart = jobs::build_machine(d, machine::known());
  EXPECT_TRUE(jobs::failover_ways(apart, apart.design().workloads.front(), 0).empty()) << "no line";
}

TEST(ServiceFailover, a_zone_runs_the_replicas_it_names) {
  design::Design d = two_sites();
  paired(d).zones[1].replicas = 11;
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const auto zones = service_plans(jobs::serve_jobs(m, m.design().workloads.front()), m, false);
  EXPECT_EQ(zones[0].replicas, 2);
  EXPECT_EQ(zones[1].replicas, 11);
}

}  // namespace
}  // namespace orrery::processes
