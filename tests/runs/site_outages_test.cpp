// Outages, cooling units and hot hours: what they cost a run, and to which cause it is booked.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "twin/run/run_fixture.h"
#include "twin/world/site_lives.h"
#include "twin/world/world.h"

namespace orrery::run {

using cluster::at;
using cluster::Cause;
using cluster::GpuTime;

namespace {

// Nothing fails except what a test configures.
design::Design calm() {
  design::Design d = world::sample_design();
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  world::train_of(d).tokens = 1e15;
  return d;
}

GpuTime whole_time(const Simulated& s, Seconds horizon) {
  const world::FleetPart& part = s.simulation.scenario().fleets.front();
  return GpuTime{part.all_hosts()} * part.accelerators_per_host *
         static_cast<std::int64_t>(horizon.base()) * 1'000'000'000;
}

GpuTime booked(const Replication& r) {
  return std::accumulate(r.gpu_time.begin(), r.gpu_time.end(), GpuTime{0});
}

TEST(SiteOutages, without_backup_every_outage_stops_the_hosts) {
  design::Design d = calm();
  d.sites.front().outage_mtbf = days(10);
  d.sites.front().outage = hours(2);
  const Simulated s(d, {.horizon = days(100)});
  const Replication& r = s.done.front();
  const world::SiteStory& story = r.stories.front();
  EXPECT_GT(story.outages, 4U);
  EXPECT_EQ(story.blackouts, story.outages);
  EXPECT_EQ(r.jobs.front().interruptions, story.blackouts) << "all its hosts at once are one fault";
  // All hosts, for the whole time that the site was dark, to the nanosecond.
  const world::FleetPart& part = s.simulation.scenario().fleets.front();
  const GpuTime dark = GpuTime{part.all_hosts()} * part.accelerators_per_host * story.dark_ns;
  EXPECT_TRUE(r.gpu_time[at(Cause::power)] == dark);
  EXPECT_GT(story.dark_ns, 0);
  EXPECT_TRUE(booked(r) == whole_time(s, days(100)));
  EXPECT_TRUE(r.is_sound);
}

TEST(SiteOutages, a_host_without_power_draws_nothing) {
  design::Design d = calm();
  const Simulated lit(d, {.horizon = days(60)});
  d.sites.front().outage_mtbf = days(8);
  d.sites.front().outage = hours(12);
  const Simulated dark(d, {.horizon = days(60)});
  const world::SiteStory& story = dark.done.front().stories.front();
  const world::FleetPart& part = dark.simulation.scenario().fleets.front();
  const double dark_s = static_cast<double>(story.dark_ns) / 1e9;
  ASSERT_GT(dark_s, 86400);
  // At least the idle energy of the hosts is saved during that time.
  EXPECT_LT(dark.done.front().sites.front().it_energy.base(),
            lit.done.front().sites.front().it_energy.base() -
                part.host_power.idle.base() * part.all_hosts() * dark_s);
}

TEST(SiteOutages, batteries_and_generators_bridge_an_outage) {
  design::Design d = calm();
  d.sites.front().outage_mtbf = days(10);
  d.sites.front().outage = hours(2);
  d.sites.front().battery = minutes(5);
  d.sites.front().generator = seconds(12);
  const Simulated s(d, {.horizon = days(100)});
  const Replication& r = s.done.front();
  EXPECT_GT(r.stories.front().outages, 4U);
  EXPECT_EQ(r.stories.front().blackouts, 0U);
  EXPECT_EQ(r.jobs.front().interruptions, 0U);
  EXPECT_TRUE(r.gpu_time[at(Cause::power)] == 0);
  // Twelve seconds without pumps warm the loop, but not to its margin.
  EXPECT_GT(r.stories.front().warmest_k, 1);
  EXPECT_LT(r.stories.front().warmest_k, facility::kLoopMarginK);
  EXPECT_EQ(r.stories.front().throttled_ns, 0);
}

TEST(SiteOutages, a_slow_generator_lets_the_racks_overheat) {
  design::Design d = calm();
  d.sites.front().outage_mtbf = days(10);
  d.sites.front().outage = hours(2);
  d.sites.front().battery = minutes(30);
  d.sites.front().generator = minutes(5);
  const Simulated s(d, {.horizon = days(100)});
  const Replication& r = s.done.front();
  EXPECT_EQ(r.stories.front().blackouts, 0U);
  EXPECT_GT(r.stories.front().throttled_ns, 0);
  EXPECT_GT(r.jobs.front().time_ns[at(Cause::heat)], 0);
  // Nothing is cooled: the run stops for as long as it is throttled.
  EXPECT_EQ(r.jobs.front().time_ns[at(Cause::heat)], r.stories.front().throttled_ns);
  EXPECT_TRUE(booked(r) == whole_time(s, days(100)));
}

TEST(SiteOutages, losing_more_cooling_units_than_spares_slows_the_run) {
  design::Design d = calm();
  d.sites.front().cooling_unit = kilowatts(500);
  d.sites.front().cooling_unit_mtbf = days(20);
  d.sites.front().cooling_spares = 0;
  const RunOptions options{.horizon = days(60)};
  const Simulated bare(d, options);
  d.sites.front().cooling_spares = 3;
  const Simulated spared(d, options);
  const processes::JobOutcome& slow = bare.done.front().jobs.front();
  const processes::JobOutcome& fast = spared.done.front().jobs.front();
  EXPECT_GT(bare.done.front().stories.front().units_lost, 4U);
  EXPECT_GT(slow.time_ns[at(Cause::heat)], 0);
  EXPECT_EQ(fast.time_ns[at(Cause::heat)], 0);
  EXPECT_LT(slow.units, fast.units);
  // It is slowed down, not stopped: it loses less than the time for which it is throttled.
  EXPECT_LT(slow.time_ns[at(Cause::heat)], bare.done.front().stories.front().throttled_ns);
}

TEST(SiteOutages, hot_hours_slow_the_run) {
  design::Design d = calm();
  d.sites.front().hours = "w.csv";
  catalog::SiteHours hours;
  for (int h = 0; h < 24; ++h) hours.dry_c.push_back(h >= 12 && h < 18 ? 43 : 20);
  d.local_hours.push_back({"w.csv", hours});
  d.sites.front().cooling_spares = 0;
  d.sites.front().cooling_design = 35;
  const Simulated s(d, {.horizon = days(10)});
  const Replication& r = s.done.front();
  // The hot quarter of the ten days, less the minutes that the loop takes to warm up.
  EXPECT_NEAR(static_cast<double>(r.stories.front().throttled_ns) / 1e9, 10 * 6 * 3600.0,
              10 * 1200.0);
  EXPECT_GT(r.jobs.front().time_ns[at(Cause::heat)], 0);
  d.sites.front().cooling_design = 45;
  const Simulated cool(d, {.horizon = days(10)});
  EXPECT_EQ(cool.done.front().stories.front().throttled_ns, 0);
}

TEST(SiteOutages, the_same_seed_gives_the_same_outages) {
  design::Design d = calm();
  d.sites.front().outage_mtbf = days(10);
  d.sites.front().cooling_unit_mtbf = days(30);
  const RunOptions options{.horizon = days(40), .replications = 2};
  const Simulated a(d, options), b(d, options);
  for (int n = 0; n < 2; ++n) {
    const auto i = static_cast<std::size_t>(n);
    EXPECT_EQ(a.done[i].stories.front().dark_ns, b.done[i].stories.front().dark_ns);
    EXPECT_EQ(a.done[i].events, b.done[i].events);
  }
}

}  // namespace
}  // namespace orrery::run
