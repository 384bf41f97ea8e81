// Two sites whose services take over each other's users, in a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "twin/processes/service_failover.h"
#include "twin/processes/service_plan.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {

namespace {

// Two equal sites, each with replicas of an 8B model.
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
  - { name: hot, tier: hot, kind: object, site: east, servers: 3, device: tlc-gen4, devices_per_server: 8, read: 20 GB/s, write: 8 GB/s, capacity: 100 TB }
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

double moved_in(const Simulated& s, std::size_t zone, double processes::ZoneTraffic::* of) {
  double sum = 0;
  for (const auto& [load, ns] : s.done.front().services[zone].time_ns) {
    sum += load.traffic.*of * static_cast<double>(ns) / 1e9;
  }
  return sum;
}

// One outage per month and no battery: the other site answers the users of the dark site.
TEST(Failover, requests_that_leave_a_dark_site_arrive_at_the_other) {
  design::Design d = two_sites();
  d.sites.front().outage_mtbf = days(10);
  d.sites.front().outage = hours(3);
  const Simulated s(d, {.horizon = days(60)});
  const Replication& r = s.done.front();
  ASSERT_GT(r.stories.front().blackouts, 1u);
  EXPECT_EQ(r.services[0].given_up, r.stories.front().blackouts);
  EXPECT_EQ(r.services[1].given_up, 0u);
  EXPECT_GT(moved_in(s, 0, &processes::ZoneTraffic::away), 1000);
  EXPECT_NEAR(moved_in(s, 0, &processes::ZoneTraffic::away),
              moved_in(s, 1, &processes::ZoneTraffic::guests), 1e-3);
  EXPECT_EQ(moved_in(s, 1, &processes::ZoneTraffic::away), 0);
  EXPECT_EQ(moved_in(s, 0, &processes::ZoneTraffic::guests), 0);
  for (std::size_t z = 0; z < 2; ++z) {
    std::int64_t all = 0;
    for (const auto& [load, ns] : r.services[z].time_ns) {
      all += ns;
      const double rate = s.simulation.scenario().services[z].job.day[load.hour];
      EXPECT_LE(load.traffic.away + load.traffic.refused, rate * (1 + 1e-9));
      const double room = load.standing * s.simulation.scenario().services[z].capacity;
      if (load.traffic.guests > 0) {
        EXPECT_LE(rate + load.traffic.guests, room * (1 + 1e-9));
      }
    }
    EXPECT_EQ(all, static_cast<std::int64_t>(days(60).base()) * 1'000'000'000);
  }
  EXPECT_TRUE(r.is_sound);
}

// Until the outage is detected no user is sent elsewhere: half a minute per outage, for all users
// of the site.
TEST(Failover, users_have_no_service_until_the_outage_is_detected) {
  design::Design d = two_sites();
  d.sites.front().outage_mtbf = days(10);
  d.sites.front().outage = hours(3);
  paired(d).replicas = 8;  // enough capacity for all
  const auto unserved = [](const Simulated& s) {
    double sum = 0;
    for (const auto& [load, ns] : s.done.front().services[0].time_ns) {
      const double rate = s.simulation.scenario().services[0].job.day[load.hour];
      sum += load.traffic.refused / rate * static_cast<double>(ns) / 1e9;
    }
    return sum;
  };
  const Simulated half(d, {.horizon = days(60)});
  const double blackouts = static_cast<double>(half.done.front().stories.front().blackouts);
  ASSERT_GT(blackouts, 1);
  // The only others are those of the first start, before any replica was up.
  EXPECT_NEAR(unserved(half), blackouts * 30, 1 + 0.01 * blackouts);
  paired(d).zones[0].failover_after = minutes(5);
  const Simulated longer(d, {.horizon = days(60)});
  EXPECT_NEAR(unserved(longer) - unserved(half), blackouts * 270, 1);
  paired(d).zones[0].failover.clear();
  paired(d).zones[0].failover_after.reset();
  const Simulated alone(d, {.horizon = days(60)});
  EXPECT_EQ(moved_in(alone, 0, &processes::ZoneTraffic::away), 0);
}

TEST(Failover, the_same_seed_gives_the_same_run) {
  design::Design d = two_sites();
  d.sites.front().outage_mtbf = days(5);
  const Simulated a(d, {.horizon = days(20)});
  const Simulated b(d, {.horizon = days(20)});
  EXPECT_EQ(a.done.front().services[0].time_ns, b.done.front().services[0].time_ns);
  EXPECT_EQ(a.done.front().services[1].time_ns, b.done.front().services[1].time_ns);
}

}  // namespace
}  // namespace orrery::run
