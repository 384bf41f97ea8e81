// Outages and heat of a site, second by second, from the values that its random streams give.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "layers/facility/power_cap.h"
#include "model/jobs/build_machine.h"
#include "model/machine/site_load.h"
#include "twin/processes/timed_fixture.h"
#include "twin/run/run_fixture.h"
#include "twin/world/site_lives.h"

namespace orrery::processes {

using cluster::at;
using cluster::Cause;

namespace {

// Eight of ten hosts step for 100 s of every 107: half of this time at full draw, 0.3 of it at
// 0.57.
constexpr double kStepRise = 8000 * (100.0 / 107 * (0.5 + 0.3 * 0.57) + 7.0 / 107 * 0.15);
constexpr double kStepping = 10 * 2000 + 8 * kStepRise;

// Start and length of the first outage.
struct FirstOutage {
  double at = 0;
  double length = 0;

  FirstOutage() {
    RandomStream random(5, "facility/main/outage");
    at = random.exponential(days(2).base());
    length = random.exponential(hours(400).base());
  }
};

design::Design failing_utility() {
  design::Design d = timed_design();
  d.sites.front().outage_mtbf = days(2);
  d.sites.front().outage = hours(400);
  return d;
}

// Work done in a series of cycles, and the time of its saves.
struct Stretch {
  double work = 0, saves = 0, kept = 0;

  explicit Stretch(double span) {
    const double cycles = std::floor(span / 107);
    const double rest = span - 107 * cycles;
    work = 100 * cycles + std::min(100.0, rest);
    saves = span - work;
    kept = 100 * std::floor((span - 9) / 107);
  }
};

TEST(SiteOutagesTimed, without_backup_hosts_stop_with_the_utility) {
  const FirstOutage out;
  ASSERT_GT(out.length, 100);
  TimedTrain t(Seconds(out.at + out.length + 58 + 30), failing_utility());
  const world::World& world = t.run(true, 10);
  const world::SiteStory story = world.site_lives().stories().front();
  EXPECT_EQ(story.outages, 1U);
  EXPECT_EQ(story.blackouts, 1U);
  EXPECT_NEAR(static_cast<double>(story.dark_ns) / 1e9, out.length, 1e-6);
  // Detected at once; requeued for 65 s, then without hosts until the power is back.
  const Stretch before(out.at - 45);
  const JobOutcome& o = t.outcome();
  EXPECT_EQ(o.interruptions, 1U);
  const auto expect_s = [&o](Cause cause, double wanted) {
    EXPECT_NEAR(static_cast<double>(o.time_ns[at(cause)]) / 1e9, wanted, 1e-5) << word_of(cause);
  };
  expect_s(Cause::start, 90);
  expect_s(Cause::detect, 0);
  expect_s(Cause::requeue, 65);
  expect_s(Cause::no_host, out.length - 65);
  expect_s(Cause::restore, 13);
  expect_s(Cause::lost, before.work - before.kept);
  expect_s(Cause::save, before.saves);
  expect_s(Cause::productive, before.kept + 30);
  expect_s(Cause::heat, 0);
  EXPECT_NEAR(t.booked_s(Cause::power), 80 * out.length, 1e-3);
  // Hosts that read their copy draw 0.15 of the rise above idle.
  EXPECT_NEAR(world.meters().site(world::kFirstSite).energy.base() /
                  (20000 * (45 + 58) + 8 * 1200 * 13 + kStepping * (out.at - 45 + 30)),
              1, 1e-9);
  EXPECT_EQ(world.faults().faults(), 1U);
  std::size_t told = 0;
  for (const world::RunEvent& e : t.recorder->events()) {
    if (e.name != "utility outage") continue;
    EXPECT_TRUE(e.track == "main" ? e.value == -1 : e.value == 0);
    EXPECT_NEAR(e.at.seconds().base(), out.at, 1e-6);
    ++told;
  }
  EXPECT_EQ(told, 2U) << "one event for the site and one for its fleet";
}

// A battery for ten minutes at nameplate lasts longer at the actual draw. After that the site is
// dark until a generator or the utility supplies it.
TEST(SiteOutagesTimed, a_battery_lasts_longer_at_a_lower_draw) {
  const FirstOutage out;
  for (const bool has_generator : {true, false}) {
    design::Design d = failing_utility();
    d.sites.front().battery = seconds(600);
    if (has_generator) d.sites.front().generator = seconds(2000);
    TimedTrain t(Seconds(out.at + out.length + 10), d);
    const machine::SiteLoad load = machine::load_of(t.machine, world::kFirstSite);
    const double share =
        (kStepping + load.constant.base()) / (load.hosts_nameplate + load.constant).base();
    ASSERT_LT(share, 1);
    const double carried = has_generator ? 2000 : out.length;
    ASSERT_GT(out.length, 2000);
    t.run();
    const world::SiteStory story = t.world->site_lives().stories().front();
    EXPECT_EQ(story.blackouts, 1U);
    EXPECT_NEAR(static_cast<double>(story.dark_ns) / 1e9, carried - 600 / share, 1e-5);
    EXPECT_NEAR(t.booked_s(Cause::power), 80 * (carried - 600 / share), 1e-2);
  }
}

// The outage has not ended when the run ends.
TEST(SiteOutagesTimed, an_outage_that_has_not_ended_is_counted) {
  const FirstOutage out;
  TimedTrain t(Seconds(out.at + 500), failing_utility());
  t.run();
  EXPECT_EQ(t.world->site_lives().stories().front().blackouts, 1U);
  EXPECT_NEAR(static_cast<double>(t.world->site_lives().stories().front().dark_ns) / 1e9, 500,
              1e-6);
  EXPECT_TRUE(t.world->site_lives().is_dark(world::kFirstSite));
}

// The plant is built for the nameplate; its loop holds 0.7 l per kW of nameplate, at 60 / 15.2 kJ/K
// per litre.
double loop_j_per_k(const machine::SiteLoad& load) {
  return 0.7 * (load.hosts_nameplate + load.constant).base() / 1000 * 60e3 / 15.2;
}

// Batteries supply the hosts but not the pumps: the loop gets 10 K warmer, and the run stops until
// a generator powers the cooling again.
TEST(SiteOutagesTimed, a_loop_without_pumps_stops_the_run_at_its_temperature_margin) {
  const FirstOutage out;
  design::Design d = failing_utility();
  d.sites.front().battery = hours(10);
  d.sites.front().generator = seconds(900);
  TimedTrain t(Seconds(out.at + 1000), d);
  const machine::SiteLoad load = machine::load_of(t.machine, world::kFirstSite);
  t.run();
  const double hot = 10 * loop_j_per_k(load) / (kStepping + load.constant.base());
  const world::SiteStory story = t.world->site_lives().stories().front();
  EXPECT_EQ(story.outages, 1U);
  EXPECT_EQ(story.blackouts, 0U);
  EXPECT_NEAR(static_cast<double>(story.throttled_ns) / 1e9, 900 - hot, 0.002);
  EXPECT_EQ(t.outcome().time_ns[at(Cause::heat)], story.throttled_ns);
  EXPECT_EQ(story.warmest_k, 10);
  EXPECT_EQ(t.outcome().interruptions, 0U);
  EXPECT_EQ(story.dark_ns, 0);
}

TEST(SiteOutagesTimed, a_cooling_loop_keeps_its_heat_between_outages) {
  const FirstOutage out;
  design::Design d = failing_utility();
  d.sites.front().battery = hours(10);
  TimedTrain t(Seconds(out.at + 10), d);
  const machine::SiteLoad load = machine::load_of(t.machine, world::kFirstSite);
  t.run();
  EXPECT_NEAR(t.world->site_lives().stories().front().warmest_k,
              10 * (kStepping + load.constant.base()) / loop_j_per_k(load), 1e-6);
  EXPECT_EQ(t.world->site_lives().stories().front().throttled_ns, 0);
}

// Returns the share of its speed that a run loses if the plant can cool only this share of the
// draw.
double lost_at(const world::FleetPart& part, double carried) {
  const double cap = facility::accelerator_cap(part.host_power, part.host_power.peak * carried);
  return cap < facility::kLowestCap ? 1
                                    : 1 - facility::capped_speed(cap, facility::Boundness::compute);
}

// Four units cool the nameplate and there is no spare: three quarters of the capacity remain when
// the first fails.
TEST(SiteOutagesTimed, a_lost_cooling_unit_slows_the_run_to_the_remaining_capacity) {
  design::Design d = timed_design();
  const machine::SiteLoad before =
      machine::load_of(jobs::build_machine(d, machine::known()), world::kFirstSite);
  const double heat = (before.hosts_nameplate + before.constant).base();
  d.sites.front().cooling_unit = Watts(heat / 4 * 1.0001);
  d.sites.front().cooling_unit_mtbf = days(40);
  d.sites.front().cooling_spares = 0;
  RandomStream random(5, "facility/main/cooling");
  double first = 1e18, second = 1e18;
  for (int u = 0; u < 4; ++u) {
    const double fails = random.exponential(days(40).base());
    second = std::min(second, std::max(first, fails));
    first = std::min(first, fails);
  }
  const double repaired = random.exponential(hours(8).base());
  TimedTrain t(Seconds(first + 2000), d);
  // Power values above three quarters of what the plant was built for.
  for (world::FleetPart& part : t.scenario.fleets) {
    part.host_power.idle = Watts(9000);
    part.host_power.peak = Watts(11000);
  }
  t.run();
  ASSERT_GT(second, first + 2000);
  ASSERT_GT(repaired, 2000);
  const double rise = 2000 * (100.0 / 107 * (0.5 + 0.3 * 0.57) + 7.0 / 107 * 0.15);
  const double drawn = 10 * 9000 + 8 * rise + before.constant.base();
  const double carried = heat * 0.75;
  ASSERT_GT(drawn, carried);
  const double hot = 10 * loop_j_per_k(before) / (drawn - carried);
  ASSERT_LT(hot, 1500);
  const world::SiteStory story = t.world->site_lives().stories().front();
  EXPECT_EQ(story.units_lost, 1U);
  EXPECT_NEAR(static_cast<double>(story.throttled_ns) / 1e9, 2000 - hot, 0.002);
  const double lost = lost_at(t.scenario.fleets[world::kFirstFleet], carried / drawn);
  EXPECT_GT(lost, 0);
  EXPECT_NEAR(static_cast<double>(t.outcome().time_ns[at(Cause::heat)]) / 1e9, (2000 - hot) * lost,
              0.002);
  EXPECT_NEAR(t.booked_s(Cause::heat), 64 * (2000 - hot) * lost, 0.2);
  EXPECT_NEAR(t.world->site_lives().lost_to_heat(world::kFirstFleet), lost, 1e-9);
  EXPECT_EQ(story.outages, 0U);
}

// The second hour has 45 degrees: a plant that is sized for 35 can cool half of the load.
TEST(SiteOutagesTimed, a_hot_hour_slows_the_run_while_it_lasts) {
  design::Design d = timed_design();
  d.sites.front().hours = "w.csv";
  catalog::SiteHours dry;
  dry.dry_c = {20, 45, 30};
  d.local_hours.push_back({"w.csv", dry});
  d.sites.front().cooling_spares = 0;
  d.sites.front().cooling_design = 35;
  TimedTrain t(hours(4.5), d);
  const machine::SiteLoad load = machine::load_of(t.machine, world::kFirstSite);
  t.run();
  const double carried = (load.hosts_nameplate + load.constant).base() / 2;
  const double drawn = kStepping + load.constant.base();
  const double hot = 10 * loop_j_per_k(load) / (drawn - carried);
  const world::SiteStory story = t.world->site_lives().stories().front();
  // The fifth hour of the run repeats the second of the three.
  EXPECT_NEAR(static_cast<double>(story.throttled_ns) / 1e9, 3600 - hot + 1800 - hot, 0.01);
  const double lost = lost_at(t.scenario.fleets[world::kFirstFleet], carried / drawn);
  EXPECT_NEAR(static_cast<double>(t.outcome().time_ns[at(Cause::heat)]) / 1e9,
              (5400 - 2 * hot) * lost, 0.02);
  EXPECT_EQ(story.warmest_k, 10);
}

// The last fault cause is the utility: it counts every blackout.
TEST(SiteOutagesTimed, blackouts_are_counted_among_the_faults) {
  design::Design d = failing_utility();
  d.sites.front().outage = hours(3);
  const run::Simulated s(d, {.horizon = days(20)});
  const run::Replication& r = s.done.front();
  EXPECT_GT(r.stories.front().blackouts, 1U);
  EXPECT_EQ(r.faults.back(), r.stories.front().blackouts);
  EXPECT_EQ(r.faults.size(), machine::known().fault_causes.size() + 6);
}

}  // namespace
}  // namespace orrery::processes
