// The energy of sites by the hour, and the part of their feeds that the scheduler may assign.
#include "twin/world/power_meters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/machine/site_load.h"
#include "twin/world/standing_fixture.h"

namespace orrery::world {

namespace {

// Ten watts for an hour and a half, then twenty; energy after the last hour belongs to the last
// hour.
TEST(PowerMeters, energy_is_booked_to_the_hours_it_was_drawn_in) {
  SiteMeter m;
  m.by_hour.resize(3);
  m.now = Watts(10);
  const auto at_hour = [](double h) { return sim::SimTime::from(hours(h)); };
  m.settle(at_hour(1.5));
  EXPECT_NEAR(m.energy.base(), 54000, 1e-6);
  EXPECT_NEAR(m.by_hour[0].base(), 36000, 1e-6);
  EXPECT_NEAR(m.by_hour[1].base(), 18000, 1e-6);
  m.now = Watts(20);
  m.settle(at_hour(2));
  m.settle(at_hour(3));
  EXPECT_NEAR(m.by_hour[1].base(), 18000 + 36000, 1e-6);
  EXPECT_NEAR(m.by_hour[2].base(), 72000, 1e-6);
  m.settle(at_hour(4.5));
  EXPECT_NEAR(m.by_hour[2].base(), 72000 + 108000, 1e-6);
  EXPECT_NEAR(m.energy.base(), 54000 + 3 * 72000, 1e-6);
  SiteMeter plain;
  plain.now = Watts(3);
  plain.settle(at_hour(1));
  plain.settle(at_hour(2));
  EXPECT_NEAR(plain.energy.base(), 21600, 1e-6);
  EXPECT_TRUE(plain.by_hour.empty());
}

// A feed of 100 kW: the constant draw is not available to jobs.
TEST(PowerMeters, idle_draw_is_not_available_to_jobs) {
  design::Design d = queue_design(10, {jobs_of("a", {})});
  d.fleet.front().spares = 2;
  StandingWorld blind(d);
  EXPECT_EQ(blind.world->meters().room(kFirstSite), nullptr);
  d.scheduler.power_aware = true;
  d.sites.front().power = kilowatts(400);
  StandingWorld s(d);
  ASSERT_NE(s.world->meters().room(kFirstSite), nullptr);
  const facility::PowerRoom& room = *s.world->meters().room(kFirstSite);
  const machine::SiteLoad load = machine::load_of(s.machine, kFirstSite);
  EXPECT_EQ(room.feed, kilowatts(400));
  EXPECT_NEAR(room.always.base(), load.constant.base() + 12 * 2000, 1e-6);
  const auto power =
      site_power(s.machine.catalog(), load.request(load.hosts_nameplate + load.constant));
  EXPECT_EQ(room.pue, power->pue.middle);
  d.sites.front().power.reset();
  StandingWorld open(d);
  EXPECT_TRUE(std::isinf(open.world->meters().room(kFirstSite)->feed.base()));
  EXPECT_NEAR(open.world->meters().room(kFirstSite)->always.base(), 12 * 2000, 1e-6);
}

}  // namespace
}  // namespace orrery::world
