// A site lost at peak, in closed form: which zones take its users, and how often users get answers.
#include "plan/review/failover_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/serve_sizing.h"
#include "plan/review/site_view.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

// Replicas of four accelerators that carry ten per second each; hosts are down for a sixtieth of
// the time.
Review three_zones(void (*change)(design::Design&) = [](design::Design&) {}) {
  design::Design d = lab_design("chatbot-zones");
  for (design::Fleet& f : d.fleet) f.failures.node_mtbf = hours(10);
  change(d);
  Review r = run_stages(std::move(d), machine::known());
  for (ServeView& v : r.serves) {
    v.capacity_per_replica = PerSecond(10);
    v.devices_per_replica = 4;
    v.replicas_up = 0.998;
    v.guests_asked = PerSecond();
  }
  return r;
}

void set_zone(ServeView& v, double peak, double replicas, double needed) {
  v.peak = PerSecond(peak);
  v.replicas = replicas;
  v.replicas_needed = needed;
}

// 80 per second are lost; the other zone carries 110, 95 of them its own: room for 15.
TEST(FailoverView, other_zones_take_what_they_have_room_for) {
  Review r = three_zones();
  set_zone(r.serves[0], 80, 10, 10);
  set_zone(r.serves[1], 95, 11, 11);
  view_failovers(r.serves, *r.machine);
  const FailoverView& f = *r.serves[0].failover;
  ASSERT_EQ(f.to.size(), 1U);
  EXPECT_EQ(f.first, 1U);
  EXPECT_NEAR(f.refused.base(), 65, 1e-9);
  EXPECT_NEAR(f.served(r.serves[0].peak), 15 / 80.0, 1e-12);
  EXPECT_EQ(f.to[0].zone, 1U);
  EXPECT_NEAR(f.to[0].rate.base(), 15, 1e-9);
  EXPECT_EQ(f.to[0].replicas_needed, 11);
  EXPECT_EQ(f.to[0].replicas, 11);
  EXPECT_NEAR(f.to[0].load, 1, 1e-12);
  EXPECT_NEAR(f.load(), 1, 1e-12);
  EXPECT_NEAR(f.to[0].line.base(), 4 * r.serves[1].request.input * 15, 1e-6);
  EXPECT_NEAR(r.serves[1].guests_asked.base(), 80, 1e-9) << "if there were room";
  // Ten replicas are on five hosts and eight carry the peak, so one host may be down: with two
  // down, six are left, and 15 of the 20 requests too many find room.
  EXPECT_NEAR(f.spilled, 0.75, 1e-12);
  EXPECT_FALSE(r.serves[2].failover);
  EXPECT_EQ(r.serves[2].guests_asked, PerSecond());
  // The other way round: 95 are lost, 20 find room.
  EXPECT_NEAR(r.serves[1].failover->to.at(0).rate.base(), 20, 1e-9);
  EXPECT_NEAR(r.serves[0].guests_asked.base(), 95, 1e-9);
}

TEST(FailoverView, spare_room_takes_everything) {
  Review r = three_zones();
  set_zone(r.serves[0], 40, 16, 5);
  set_zone(r.serves[1], 30, 11, 11);
  view_failovers(r.serves, *r.machine);
  const FailoverView& f = *r.serves[0].failover;
  // Six of eight hosts may be down; with seven, two replicas carry 20 of 40, and others the rest.
  EXPECT_NEAR(f.spilled, 1, 1e-12);
  EXPECT_NEAR(f.to.at(0).rate.base(), 40, 1e-9);
  EXPECT_NEAR(f.to.at(0).load, 70 / 110.0, 1e-12);
  EXPECT_EQ(f.to.at(0).replicas_needed, 7);
  EXPECT_EQ(f.refused, PerSecond());
  r.serves[0].infeasible = "no";
  r.serves[0].failover.reset();
  view_failovers(r.serves, *r.machine);
  EXPECT_FALSE(r.serves[0].failover);
  EXPECT_TRUE(r.serves[1].failover->to.empty()) << "no other zone is feasible";
}

TEST(FailoverView, worst_of_several_zones_counts) {
  FailoverView f;
  EXPECT_EQ(f.load(), 0);
  EXPECT_EQ(f.served(PerSecond(0)), 1);
  f.to.resize(3);
  const double loads[] = {0.5, 0.9, 0.7};
  for (std::size_t i = 0; i < 3; ++i) {
    f.to[i].load = loads[i];
    f.to[i].ttft_p99 = seconds(loads[i]);
    f.to[i].latency_p99 = seconds(10 * loads[i]);
  }
  EXPECT_EQ(f.load(), 0.9);
  EXPECT_EQ(f.ttft_p99(), seconds(0.9));
  EXPECT_EQ(f.latency_p99(), seconds(9));
}

// Twelve outages per year, two hours on average; batteries of ten minutes last twenty at half load.
// Five minutes pass until users are sent elsewhere.
struct Dark {
  double all = 12 * 7200 * std::exp(-1200 / 7200.0) / 31536000;
  double unseen = 12 * 7200 * (std::exp(-1200 / 7200.0) - std::exp(-1500 / 7200.0)) / 31536000;
};

Review dark_zones() {
  Review r = three_zones([](design::Design& d) {
    d.sites[0].outage_mtbf = seconds(31536000 / 12.0);
    d.sites[0].outage = hours(2);
    d.sites[0].battery = minutes(10);
    d.sites[1].outage_mtbf = seconds(31536000 / 5.0);
    std::get<design::Serve>(d.workloads[0].task).zones[0].failover_after = minutes(5);
  });
  for (SiteView& s : r.sites) {
    s.it_nameplate = kilowatts(100);
    s.it_mean = kilowatts(50);
  }
  set_zone(r.serves[0], 80, 10, 10);
  set_zone(r.serves[1], 50, 16, 7);
  FailoverView& f = *r.serves[0].failover;
  f.refused = PerSecond(20);
  f.spilled = 0.6;
  f.to.resize(1);
  f.to[0].zone = 1;
  f.to[0].rate = PerSecond(60);
  return r;
}

// To carry 110 per second, eleven of sixteen replicas must be up: two of eight hosts may be down.
// Its own site is without power for five hours per year.
double other_is_up() {
  const double mean = 8 / 60.0;
  return std::exp(-mean) * (1 + mean + mean * mean / 2) * (1 - 5 * 3600 / 31536000.0);
}

TEST(FailoverView, availability_loses_outages_and_missing_replicas) {
  Review r = dark_zones();
  settle_availability(r.serves, *r.machine, r.sites);
  const ServeView& v = r.serves[0];
  const Dark dark;
  const double others = other_is_up();
  EXPECT_NEAR(v.dark, dark.all, 1e-12);
  EXPECT_NEAR(v.availability_alone, (1 - dark.all) * 0.998, 1e-12);
  const double missed = dark.unseen + (dark.all - dark.unseen) * (1 - 0.75 * others);
  EXPECT_NEAR(v.dark_missed, missed, 1e-12);
  EXPECT_NEAR(v.availability, 1 - missed - (1 - dark.all) * 0.002 * (1 - 0.6 * others), 1e-12);
  // Europe has neither outages nor failover.
  EXPECT_EQ(r.serves[2].dark, 0);
  EXPECT_EQ(r.serves[2].dark_missed, 0);
  EXPECT_NEAR(r.serves[2].availability, 0.998, 1e-12);
  // The default of a minute: five outages of an hour.
  const double west = 5 * 3600 / 31536000.0;
  EXPECT_NEAR(r.serves[1].dark, west, 1e-12);
  EXPECT_NEAR(r.serves[1].availability_alone, (1 - west) * 0.998, 1e-12);
}

TEST(FailoverView, two_zones_count_by_their_shares) {
  Review r = dark_zones();
  FailoverView& f = *r.serves[0].failover;
  f.to.push_back(f.to[0]);
  f.to[1].zone = 2;
  f.to[1].rate = PerSecond(20);
  f.refused = PerSecond();
  set_zone(r.serves[2], 60, 16, 7);
  settle_availability(r.serves, *r.machine, r.sites);
  // 80 over ten each are eight replicas, four spare hosts: 1 - P(more than four of eight down).
  const double mean = 8 / 60.0;
  double rest = std::exp(-mean), up = 0;
  for (int i = 0; i <= 4; ++i) up += rest, rest *= mean / (i + 1);
  const double others = 0.75 * other_is_up() + 0.25 * up;
  const Dark dark;
  EXPECT_NEAR(r.serves[0].dark_missed, dark.unseen + (dark.all - dark.unseen) * (1 - others),
              1e-12);
}

TEST(FailoverView, infeasible_services_keep_their_availability) {
  Review r = dark_zones();
  r.serves[0].replicas_up = 0;
  r.serves[0].availability = 0.123;
  r.serves[1].infeasible = "no";
  r.serves[1].availability = 0.456;
  settle_availability(r.serves, *r.machine, r.sites);
  EXPECT_EQ(r.serves[0].availability, 0.123);
  EXPECT_EQ(r.serves[1].availability, 0.456);
}

TEST(FailoverView, lost_zone_is_carried_if_replicas_suffice_for_both) {
  const Review r = reviewed(lab_design("chatbot-zones"));
  const ServeView& east = r.serves[0];
  const ServeView& west = r.serves[1];
  ASSERT_TRUE(east.failover);
  ASSERT_EQ(east.failover->to.size(), 1u);
  const FailoverTo& to = east.failover->to.front();
  EXPECT_EQ(to.zone, 1u);
  EXPECT_NEAR(to.rate / east.peak, 1, 1e-9);
  EXPECT_EQ(east.failover->refused, PerSecond(0));
  EXPECT_DOUBLE_EQ(east.failover->served(east.peak), 1);
  EXPECT_NEAR(to.load, (east.peak + west.peak) / (west.capacity_per_replica * west.replicas), 1e-9);
  EXPECT_EQ(to.replicas_needed,
            std::ceil((east.peak + west.peak) / west.capacity_per_replica - 1e-9));
  EXPECT_FALSE(r.serves[2].failover) << "Europe names no failover";
  // The path counts in the first token, and so does the fuller replica.
  EXPECT_GT(to.ttft_p99, west.ttft_p99 + milliseconds(65));
  EXPECT_GT(to.latency_p99, to.ttft_p99);
  EXPECT_NEAR(to.way.path.latency.base(), 0.065, 1e-12);
  EXPECT_NEAR(to.line.base(), 4 * east.request.input * east.peak.base(), 1);
}

design::Serve& serve_of(design::Design& d) {
  return std::get<design::Serve>(d.workloads.front().task);
}

TEST(FailoverView, requests_beyond_capacity_are_refused) {
  design::Design d = lab_design("chatbot-zones");
  serve_of(d).zones[1].replicas = 8;
  const Review r = reviewed(d);
  const ServeView& east = r.serves[0];
  const ServeView& west = r.serves[1];
  const PerSecond room = west.capacity_per_replica * 8 - west.peak;
  EXPECT_NEAR(east.failover->refused / (east.peak - room), 1, 1e-9);
  EXPECT_NEAR(east.failover->load(), 1, 1e-9);
  EXPECT_LT(east.failover->served(east.peak), 1);
  EXPECT_EQ(west.guests_asked, east.peak) << "if there were room";
  EXPECT_GT(enough_replicas(west, *r.machine), 8);
}

TEST(FailoverView, longer_lines_delay_first_tokens) {
  design::Design d = lab_design("chatbot-zones");
  const Seconds near = reviewed(d).serves[0].failover->ttft_p99();
  d.fabric.wan[0].latency = milliseconds(165);
  const Seconds far = reviewed(d).serves[0].failover->ttft_p99();
  EXPECT_NEAR((far - near).base(), 0.1, 1e-9);
  d.fabric.wan[0].latency = milliseconds(65);
  serve_of(d).request_size = megabytes(125);
  const Seconds heavy = reviewed(d).serves[0].failover->ttft_p99();
  EXPECT_NEAR((heavy - near).base(), 0.1, 1e-4) << "125 MB at 10 Gb/s";
}

TEST(FailoverView, outage_costs_the_time_until_failover) {
  design::Design d = lab_design("chatbot-zones");
  const double calm = reviewed(d).serves[0].availability;
  d.sites[0].outage_mtbf = days(30);
  d.sites[0].outage = hours(2);
  const Review r = reviewed(d);
  const ServeView& east = r.serves[0];
  // An outage of two hours a month, without batteries.
  EXPECT_NEAR(east.dark, 2.0 / (30 * 24), 1e-12);
  EXPECT_NEAR(east.availability_alone, (1 - east.dark) * east.replicas_up, 1e-12);
  const double minute = 60.0 / (30 * 86400);
  EXPECT_NEAR(calm - east.availability, minute, 0.15 * minute)
      << "the other zone is nearly always up";
  EXPECT_GT(east.availability, east.availability_alone + 0.9 * east.dark);
  EXPECT_EQ(r.serves[1].dark, 0);

  serve_of(d).zones[0].failover_after = minutes(10);
  EXPECT_NEAR(calm - reviewed(d).serves[0].availability, 10 * minute, minute);
  serve_of(d).zones[1].replicas = 5;
  const Review full = reviewed(d);
  EXPECT_GT(full.serves[0].availability, full.serves[0].availability_alone);
  EXPECT_LT(full.serves[0].availability, east.availability) << "half of the users find no room";
  serve_of(d).zones[0].failover.clear();
  serve_of(d).zones[0].failover_after.reset();
  const Review alone = reviewed(d);
  EXPECT_EQ(alone.serves[0].availability, alone.serves[0].availability_alone);
  EXPECT_FALSE(alone.serves[0].failover);
}

TEST(FailoverView, batteries_bridge_until_generators_run) {
  design::Design d = lab_design("chatbot-zones");
  d.sites[0].outage_mtbf = days(30);
  d.sites[0].generator = seconds(30);
  d.sites[0].battery = seconds(30);
  EXPECT_EQ(reviewed(d).serves[0].dark, 0);
  d.sites[0].battery = seconds(1);
  const ServeView east = reviewed(d).serves[0];
  EXPECT_GT(east.dark, 0);
  // The outage ends within the minute before failover begins.
  EXPECT_NEAR(east.availability, (1 - east.dark), 1e-4);
}

TEST(FailoverView, residency_forbids_failover) {
  design::Design d = lab_design("chatbot-zones");
  serve_of(d).zones[2].failover = {"us-east"};
  const Review r = reviewed(d);
  ASSERT_TRUE(r.serves[2].failover);
  EXPECT_TRUE(r.serves[2].failover->to.empty());
  EXPECT_EQ(r.serves[2].failover->refused, r.serves[2].peak);
  EXPECT_EQ(r.serves[2].availability, r.serves[2].availability_alone);
}

}  // namespace
}  // namespace orrery::review
