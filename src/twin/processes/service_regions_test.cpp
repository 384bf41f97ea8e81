// Zones of a service that take each other's users, second by second.
#include <gtest/gtest.h>

#include "twin/processes/timed_fixture.h"

namespace orrery::processes {
namespace {

// Two zones of one replica each on separate hosts: three requests per second here, four there. A
// replica carries eight within its objective and starts in 50 s; faults are detected after 60 s.
struct TimedZones : TimedWorld {
  static design::Design design_of() {
    design::Design d = world::sample_design();
    d.fleet.front().count = 2;
    d.fleet.front().spares = 0;
    d.fleet.front().failures = {.node_mtbf = years(1e6)};
    design::Serve serve;
    serve.network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
    serve.replicas = 2;
    serve.arrivals = {.rate = PerSecond(7)};
    const std::string site = d.sites.front().name;
    const std::string fleet = d.fleet.front().name;
    serve.zones = {{.site = site, .fleet = fleet, .share = 0.5},
                   {.site = site, .fleet = fleet, .share = 0.5}};
    d.workloads.front() = {.terms = {.name = "ranking"}, .task = serve};
    return d;
  }
  explicit TimedZones(Seconds horizon, double capacity_there = 8, double after = 30)
      : TimedWorld(design_of(), horizon) {
    EXPECT_EQ(scenario.services.size(), 2U);
    for (std::size_t z = 0; z < 2; ++z) {
      ServicePlan& p = scenario.services[z];
      p.slots = 8;
      p.replicas = p.least = 1;
      p.job.start = seconds(50);
      p.most = 10;
      p.capacity = z == 0 ? 8 : capacity_there;
      p.job.day.fill(z == 0 ? 3 : 4);
      p.windows.levels = {{.rate = 4, .busy = 0.5, .stay = 3}};
      ZoneFailover f;
      f.region = {.ways = {{.to = 1 - z, .round_trip = 0.05}}, .after = after};
      p.failover = f;
    }
  }
  double time_s(std::size_t zone, int standing, const ZoneTraffic& traffic) const {
    const auto& all = processes->services()[zone]->outcome().time_ns;
    const auto found = all.find({.hour = 0, .standing = standing, .traffic = traffic});
    return found == all.end() ? 0 : static_cast<double>(found->second) / 1e9;
  }
  double guests_s(double rate) const { return time_s(1, 1, {.guests = rate}); }
};

// Down from 1000 to 1110: its users find no site for 30 s, and are then answered elsewhere.
TEST(ServiceRegions, users_of_a_lost_zone_move_after_failover_after) {
  TimedZones t(hours(1));
  t.strike(1000, 0, {.name = "dies", .scope = kTakesProcess});
  t.run(true);
  EXPECT_NEAR(t.time_s(0, 1, {}), 3600 - 50 - 110, 1e-6);
  EXPECT_NEAR(t.time_s(0, 0, {.refused = 3}), 30, 0.0011);
  EXPECT_NEAR(t.time_s(0, 0, {.away = 3}), 80, 0.0011);
  EXPECT_NEAR(t.guests_s(3), 80, 0.0011);
  EXPECT_EQ(t.processes->services()[0]->outcome().given_up, 1U);
  EXPECT_EQ(t.processes->services()[1]->outcome().given_up, 0U);
  // Seven per second there: half of the way from the simulated load to what it carries at all.
  EXPECT_NEAR(t.level("productive_accelerators", 1050), 8 * 0.75, 1e-6);
  EXPECT_NEAR(t.level("productive_accelerators", 1010), 8 * 0.5, 1e-6);
  EXPECT_NEAR(t.level("productive_accelerators", 1200), 8 * (0.5 + 0.375), 1e-6);
}

// There is room for one and a half of the three.
TEST(ServiceRegions, requests_beyond_all_capacity_are_refused) {
  TimedZones t(hours(1), 5.5);
  t.strike(1000, 0, {.name = "dies", .scope = kTakesProcess});
  t.run();
  EXPECT_NEAR(t.time_s(0, 0, {.away = 1.5, .refused = 1.5}), 80, 0.0011);
  EXPECT_NEAR(t.guests_s(1.5), 80, 0.0011);
}

// A zone that is back before its users are sent away has sent none.
TEST(ServiceRegions, a_zone_that_recovers_in_time_keeps_its_users) {
  TimedZones t(hours(1), 8, 200);
  t.strike(1000, 0, {.name = "dies", .scope = kTakesProcess});
  t.run();
  EXPECT_NEAR(t.time_s(0, 0, {.refused = 3}), 110, 1e-6);
  EXPECT_EQ(t.guests_s(3), 0);
  EXPECT_EQ(t.processes->services()[0]->outcome().given_up, 0U);
}

// In the second hour more arrive than it carries: the excess goes where there is room.
TEST(ServiceRegions, a_zone_forwards_the_load_above_its_capacity) {
  TimedZones t(hours(2));
  t.scenario.services[0].job.day[1] = 9.5;
  t.run();
  const auto& here = t.processes->services()[0]->outcome().time_ns;
  const auto& there = t.processes->services()[1]->outcome().time_ns;
  EXPECT_EQ(here.at({.hour = 1, .standing = 1, .traffic = {.away = 1.5}}), 3600'000'000'000);
  EXPECT_EQ(there.at({.hour = 1, .standing = 1, .traffic = {.guests = 1.5}}), 3600'000'000'000);
}

// Zones that name no other keep their users.
TEST(ServiceRegions, zones_without_failover_keep_their_users) {
  TimedZones t(hours(1));
  for (ServicePlan& p : t.scenario.services) p.failover.reset();
  t.strike(1000, 0, {.name = "dies", .scope = kTakesProcess});
  t.run();
  EXPECT_NEAR(t.time_s(0, 0, {}), 50 + 110, 1e-6);
  EXPECT_NEAR(t.time_s(1, 1, {}), 3550, 1e-6);
}

}  // namespace
}  // namespace orrery::processes
