// A training run second by second: its paces, its end, its repetitions and what it draws.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "twin/processes/timed_fixture.h"

namespace orrery::processes {

using cluster::at;
using cluster::Cause;

namespace {

// Steps at 0.8 / 1.25 / 1.6 = 0.4 of their speed, beside a drain at 0.32: 40 s of work in the first
// 100 s, 20 x 0.32 + 80 x 0.4 = 38.4 s in the others. 126.8 s of work are three cycles of 107 s and
// 10 s of work more: 20 s for 6.4 of them and 9 s for 3.6.
struct SlowRun : TimedTrain {
  SlowRun() : TimedTrain(seconds(500)) {
    scenario.fleets[world::kFirstFleet].straggler_share = 1;
    scenario.fleets[world::kFirstFleet].straggler_slowdown = 0.25;
    job().feed.known = true;
    job().feed.loader.utilisation = 0.8;
    job().contended = {.feeding = 0.6, .draining = 1.0};
    job().raw_time = seconds(126.8);
  }
};

TEST(TrainProcessPace, every_second_of_a_slowed_run_has_its_cause) {
  SlowRun t;
  t.run();
  // 329 s of steps: a fifth waits for samples, a fifth of the rest for slow hosts.
  const std::map<Cause, double> wanted = {{Cause::start, 45},         {Cause::save, 21},
                                          {Cause::productive, 126.8}, {Cause::feed, 65.8},
                                          {Cause::straggler, 52.64},  {Cause::contention, 83.76}};
  expect_seconds(t.outcome(), wanted);
  std::map<Cause, double> slots;
  for (const auto& [cause, s] : wanted) slots[cause] = s * 64;
  expect_booked(t, slots);
  const JobOutcome& o = t.outcome();
  EXPECT_EQ(o.saves, 3U);
  EXPECT_EQ(o.runs_started, 1U);
  EXPECT_EQ(o.runs_finished, 1U);
  EXPECT_EQ(o.restores, 0U);
  EXPECT_EQ(o.interruptions, 0U);
  EXPECT_EQ(o.windows_missed, 0U);
  EXPECT_NEAR(static_cast<double>(o.finished_ns), 395e9, 100);
  EXPECT_NEAR(static_cast<double>(o.age_ns), 395e9, 100);
  EXPECT_NEAR(o.units, 126.8 * 3, 1e-6);
  EXPECT_NEAR(o.goodput(), 126.8 / 395, 1e-9);
  EXPECT_FALSE(o.never_fits);
  EXPECT_EQ(o.outages, 0U);
  EXPECT_EQ(JobOutcome{}.goodput(), 0);
}

// Four hosts below a leaf: eight hosts need two of them. When the run loses a host, its replacement
// is below the third, and the job was timed as half as slow again if its hosts are anywhere.
TEST(TrainProcessPace, a_run_below_more_leaves_steps_slower) {
  design::Design d = timed_design();
  d.fabric.compute.topology = design::NamedTopology::fat_tree;
  d.fabric.compute.switch_part = "qm9700";
  d.scheduler.topology = design::PlacementTopology::tree;
  TimedTrain t(seconds(600), d);
  t.job().step.by_scatter = {1, 1.125, 1.25, 1.375, 1.5};
  t.strike_run(200, {.name = "dies", .scope = kTakesHost}, 7);
  t.run();
  const auto contended = static_cast<double>(t.outcome().time_ns[at(Cause::contention)]);
  EXPECT_GT(contended, 0);
  const auto productive = static_cast<double>(t.outcome().time_ns[at(Cause::productive)]);
  EXPECT_LT(contended, 0.3 * productive);
  TimedTrain anywhere(seconds(600), [&] {
    d.scheduler.topology = design::PlacementTopology::none;
    return d;
  }());
  anywhere.job().step.by_scatter = {0.7, 0.8, 0.85, 0.9, 1};
  anywhere.strike_run(200, {.name = "dies", .scope = kTakesHost}, 7);
  anywhere.run();
  EXPECT_EQ(anywhere.outcome().time_ns[at(Cause::contention)], 0)
      << "the job was timed as scattered already";
}

// Half of a step is at full draw, 0.2 and 0.1 of it at 0.57; a save at 0.15; 100 s of 107 are
// steps.
constexpr double kBusy = 100.0 / 107;
constexpr double kRise = 8000 * (kBusy * 0.4 * (0.5 + 0.3 * 0.57) + 7.0 / 107 * 0.15);

TEST(TrainProcessPace, a_run_draws_power_by_its_phases) {
  SlowRun t;
  const world::World& world = t.run(true);
  EXPECT_NEAR(t.outcome().host_draw.base(), 2000 + kRise, 1e-9 * kRise);
  EXPECT_NEAR(world.meters().site(world::kFirstSite).energy.base(),
              2000.0 * 10 * 500 + kRise * 8 * 350, 1);
  EXPECT_NEAR(world.meters().site(world::kFirstSite).highest.base(), 2 * 2000 + 8 * 10000, 1e-6);
  EXPECT_TRUE(world.meters().site(world::kFirstSite).by_hour.empty());
  const struct {
    std::size_t second;
    double productive, stall, checkpoint, restart, idle, watts;
  } kRows[] = {{20, 0, 0, 0, 64, 16, 20000},
               {45, 64 * kBusy * 0.4, 64 * kBusy * 0.6, 64 * 7.0 / 107, 0, 16, 20000 + 8 * kRise},
               {394, 64 * kBusy * 0.4, 64 * kBusy * 0.6, 64 * 7.0 / 107, 0, 16, 20000 + 8 * kRise},
               {396, 0, 0, 0, 0, 80, 20000}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.second);
    EXPECT_NEAR(t.level("productive_accelerators", row.second), row.productive, 1e-6);
    EXPECT_NEAR(t.level("stall_accelerators", row.second), row.stall, 1e-6);
    EXPECT_NEAR(t.level("checkpoint_accelerators", row.second), row.checkpoint, 1e-6);
    EXPECT_NEAR(t.level("restart_accelerators", row.second), row.restart, 1e-6);
    EXPECT_NEAR(t.level("idle_accelerators", row.second), row.idle, 1e-6);
    EXPECT_NEAR(t.level("lost_accelerators", row.second), 0, 1e-6);
    EXPECT_NEAR(t.level("main_it_w", row.second), row.watts, 1e-3);
  }
}

TEST(TrainProcessPace, a_recorded_run_logs_its_phases_and_hosts) {
  TimedTrain t(seconds(300));
  t.job().raw_time = seconds(200);
  t.run(true);
  const std::string label = t.job().label;
  std::vector<std::string> got;
  for (const world::RunEvent& e : t.recorder->events()) {
    EXPECT_EQ(e.track, label);
    const char* kind = e.kind == sim::TraceKind::begin ? "begins"
                       : e.kind == sim::TraceKind::end ? "ends"
                                                       : "value";
    got.push_back(fmt::format("{} {} {} {}", e.at.seconds().base(), kind, e.name, e.value));
  }
  EXPECT_EQ(
      got, (std::vector<std::string>{
               "0 begins too few hosts 0", "0 ends too few hosts 0", "0 begins starting 0",
               "45 ends starting 0", "45 begins productive 0", "45 value saves every, s 107",
               "252 ends productive 0", "252 begins too few hosts 0", "252 ends too few hosts 0"}));
  const std::vector<world::HostChange>& hosts = t.recorder->host_changes();
  ASSERT_EQ(hosts.size(), 16U);
  for (std::size_t h = 0; h < 16; ++h) {
    EXPECT_EQ(hosts[h].mark, h < 8 ? world::HostMark::held : world::HostMark::free);
    EXPECT_EQ(hosts[h].holder, h < 8 ? 0 : -1);
    EXPECT_EQ(hosts[h].at.seconds(), seconds(h < 8 ? 0 : 252));
    EXPECT_EQ(hosts[h].host, hosts[h % 8].host);
    EXPECT_EQ(hosts[h].fleet, 0U);
  }
  // If it never saves there is no span between saves.
  TimedTrain bare(seconds(300));
  bare.job().checkpoint.reset();
  bare.run(true);
  for (const world::RunEvent& e : bare.recorder->events()) EXPECT_NE(e.kind, sim::TraceKind::value);
}

// 200 s of work are 207 s with the save between; with the start 252.
TEST(TrainProcessPace, a_run_that_repeats_begins_every_period) {
  design::Design d = timed_design();
  world::train_of(d).repeat = design::Recurrence{.every = seconds(500), .window = seconds(252)};
  TimedTrain t(seconds(1300), d);
  t.job().raw_time = seconds(200);
  t.run();
  const JobOutcome& o = t.outcome();
  expect_seconds(o, {{Cause::start, 135}, {Cause::productive, 600}, {Cause::save, 21}});
  EXPECT_EQ(o.runs_started, 3U);
  EXPECT_EQ(o.runs_finished, 3U);
  EXPECT_EQ(o.windows_missed, 0U) << "it ends with its window";
  EXPECT_EQ(o.finished_ns, 252'000'000'000);
  // Until the second run ends, the newest data is from when the first began.
  EXPECT_EQ(o.age_ns, 752'000'000'000);
  EXPECT_NEAR(o.units, 1800, 1e-9);
  EXPECT_EQ(o.saves, 3U);
}

TEST(TrainProcessPace, an_overdue_run_begins_at_once) {
  design::Design d = timed_design();
  world::train_of(d).repeat = design::Recurrence{.every = seconds(100)};
  TimedTrain t(seconds(755), d);
  t.job().raw_time = seconds(200);
  t.run();
  EXPECT_EQ(t.outcome().runs_finished, 2U);
  EXPECT_EQ(t.outcome().runs_started, 3U);
  EXPECT_EQ(t.outcome().windows_missed, 2U);
  EXPECT_EQ(t.outcome().age_ns, 504'000'000'000);
  EXPECT_EQ(t.outcome().finished_ns, 252'000'000'000);
  EXPECT_EQ(t.outcome().span_ns, 755'000'000'000);
}

TEST(TrainProcessPace, runs_per_year_are_spread_evenly) {
  const auto finished = [](std::optional<int> runs, Seconds horizon) {
    design::Design d = timed_design();
    world::train_of(d).runs = runs;
    TimedTrain t(horizon, d);
    t.job().raw_time = seconds(200);
    t.run();
    return t.outcome().runs_finished;
  };
  EXPECT_EQ(finished(2, years(0.5) + seconds(253)), 2U);
  EXPECT_EQ(finished(2, years(0.5) + seconds(251)), 1U);
  EXPECT_EQ(finished(1, years(0.5) + seconds(253)), 1U);
  EXPECT_EQ(finished({}, years(0.5) + seconds(253)), 1U);
}

TEST(TrainProcessPace, a_run_ends_within_the_horizon) {
  for (const double horizon : {252.0, 251.5}) {
    TimedTrain t((Seconds(horizon)));
    t.job().raw_time = seconds(200);
    t.run();
    EXPECT_EQ(t.outcome().runs_finished, horizon == 252.0 ? 1U : 0U);
    expect_seconds(t.outcome(),
                   {{Cause::start, 45}, {Cause::productive, horizon - 52}, {Cause::save, 7}});
    EXPECT_NEAR(t.outcome().units, (horizon - 52) * 3, 1e-9);
  }
}

// Paused by half for 10 s and by a quarter for 40 s, it ends 5 s and 10 s later.
TEST(TrainProcessPace, setbacks_delay_the_end_of_a_run) {
  TimedTrain t(seconds(400));
  t.job().raw_time = seconds(200);
  const auto set_back = [&t](double second, Cause cause, Seconds span, double share) {
    t.at(second,
         [=](world::World& w) { w.process(world::ProcessIndex(0)).set_back(cause, span, share); });
  };
  set_back(20, Cause::paused, seconds(300), 1);  // it starts, and has nothing to lose
  set_back(100, Cause::paused, seconds(10), 0.5);
  set_back(150, Cause::heat, world::kStays, 0.25);
  set_back(190, Cause::heat, world::kStays, 0);
  t.run();
  EXPECT_NEAR(static_cast<double>(t.outcome().finished_ns), 267e9, 100);
  expect_seconds(t.outcome(), {{Cause::start, 45},
                               {Cause::productive, 200},
                               {Cause::save, 7},
                               {Cause::paused, 5},
                               {Cause::heat, 10}});
  expect_booked(t, {{Cause::start, 45 * 64},
                    {Cause::productive, 200 * 64},
                    {Cause::save, 7 * 64},
                    {Cause::paused, 5 * 64},
                    {Cause::heat, 10 * 64}});
}

// The NIC belongs to no host of the run: the run is stopped for three quarters of the 8 s that a
// watchdog takes.
TEST(TrainProcessPace, a_network_storm_stops_the_runs_it_reaches) {
  for (const bool has_watchdog : {true, false}) {
    TimedTrain t(seconds(500));
    world::StormPlan& storm = t.scenario.fleets[world::kFirstFleet].storm;
    storm = {.reach = 1, .left = 0.25};
    if (has_watchdog) storm.watchdog = seconds(8);
    RandomStream random(1, "storm");
    t.at(20, [&](world::World& w) {
      w.faults().pause_network(world::kFirstFleet, world::HostIndex(9), random);
    });  // it does not step yet
    t.at(100, [&](world::World& w) {
      w.faults().pause_network(world::kFirstFleet, t.host_of_run(3), random);
    });
    t.at(120, [&](world::World& w) {
      w.faults().pause_network(world::kFirstFleet, world::HostIndex(9), random);
    });
    t.run();
    if (has_watchdog) {
      // 455 s from the start on, 6 of them lost: four cycles and 21 s.
      expect_seconds(
          t.outcome(),
          {{Cause::start, 45}, {Cause::productive, 421}, {Cause::save, 28}, {Cause::paused, 6}});
    } else {
      // Its processes hang until a time-out, before the first save.
      expect_seconds(t.outcome(), {{Cause::start, 90},
                                   {Cause::lost, 75},
                                   {Cause::detect, 190},
                                   {Cause::requeue, 65},
                                   {Cause::productive, 80}});
    }
    EXPECT_EQ(t.outcome().interruptions, has_watchdog ? 0U : 1U);
    EXPECT_EQ(t.world->faults().faults_told(), has_watchdog ? 0U : 1U);
    EXPECT_EQ(t.world->faults().faults(), 0U);
  }
}

TEST(TrainProcessPace, a_storm_without_reach_stops_no_run) {
  TimedTrain t(seconds(500));
  t.scenario.fleets[world::kFirstFleet].storm = {.reach = 1e-15, .left = 0, .watchdog = seconds(8)};
  RandomStream random(1, "storm");
  t.at(120, [&](world::World& w) {
    w.faults().pause_network(world::kFirstFleet, world::HostIndex(9), random);
  });
  t.run();
  EXPECT_EQ(t.outcome().time_ns[at(Cause::paused)], 0);
}

}  // namespace
}  // namespace orrery::processes
