// A run that continues with fewer hosts, and hosts that replace lost ones, second by second.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "twin/processes/timed_fixture.h"

namespace orrery::processes {

using cluster::Cause;

namespace {

// Every host of the fleet belongs to the run; `least` of the replicas are enough.
design::Design tight_design(int least, int pipeline = 1) {
  design::Design d = timed_design();
  d.fleet.front().count = 8;
  world::train_of(d).layout = design::Layout{.tp = 8, .pp = pipeline, .dp = 8 / pipeline};
  world::train_of(d).min_replicas = least;
  return d;
}

failure::FaultCause host_dies() {
  return {.name = "dies", .scope = kTakesHost, .keeps_disk = true};
}

std::vector<std::string> host_story(const TimedWorld& t) {
  constexpr const char* kMarks[] = {"free", "reserve", "held", "repair"};
  std::vector<std::string> got;
  for (const world::HostChange& c : t.recorder->host_changes()) {
    got.push_back(fmt::format("{} {} {} {}", c.at.seconds().base(), c.host,
                              kMarks[static_cast<std::size_t>(c.mark)], c.holder));
  }
  return got;
}

// It loses a host after 250 s of steps and continues with seven from 364 on; the host is repaired
// at 506, 142 s into the cycles, and taken in after the save that ends at 578. All eight step again
// at 636.
TEST(TrainProcessShrink, a_run_shrinks_to_seven_hosts_and_grows_after_a_save) {
  TimedTrain t(seconds(700), tight_design(6));
  ASSERT_TRUE(t.job().elastic);
  t.strike_run(295, host_dies(), 3);
  t.run(true);
  const JobOutcome& o = t.outcome();
  expect_seconds(o, {{Cause::start, 135},
                     {Cause::productive, 200 + 175 + 64},
                     {Cause::shrunk, 25},
                     {Cause::save, 28},
                     {Cause::lost, 36},
                     {Cause::detect, 11},
                     {Cause::restore, 26}});
  expect_booked(t, {{Cause::start, 64 * 90 + 56 * 45},
                    {Cause::productive, 64 * 264 + 56 * 200},
                    {Cause::save, 64 * 14 + 56 * 14},
                    {Cause::lost, 64 * 36},
                    {Cause::detect, 64 * 11},
                    {Cause::restore, (56 + 64) * 13},
                    {Cause::repair, 8 * 200}});
  EXPECT_EQ(o.shrinks, 1U);
  EXPECT_EQ(o.grows, 1U);
  EXPECT_EQ(o.restores, 2U);
  EXPECT_EQ(o.saves, 4U);
  EXPECT_EQ(o.interruptions, 1U);
  EXPECT_EQ(o.outages, 1U);
  EXPECT_EQ(o.outage_ns, 69'000'000'000);
  EXPECT_NEAR(o.units, 439 * 3, 1e-5);
  std::vector<std::string> wanted;
  for (int h = 0; h < 8; ++h) wanted.push_back(fmt::format("0 {} held 0", h));
  wanted.insert(wanted.end(), {"306 3 repair -1", "506 3 free -1", "578 3 held 0"});
  EXPECT_EQ(host_story(t), wanted);
  // 100 / 107 of 56 accelerators step.
  EXPECT_NEAR(t.level("productive_accelerators", 400), 56 * 100.0 / 107, 1e-6);
  EXPECT_NEAR(t.level("productive_accelerators", 650), 64 * 100.0 / 107, 1e-6);
  EXPECT_NEAR(t.level("idle_accelerators", 400), 8, 1e-6);
}

// With work to end: 200 s are kept, then 7/8 of what steps do.
TEST(TrainProcessShrink, a_shrunk_run_ends_later) {
  TimedTrain t(seconds(900), tight_design(6));
  t.scenario.fleets[world::kFirstFleet].repair.reset = days(3);
  t.job().raw_time = seconds(200 + 105);
  t.strike_run(295, host_dies(), 3);
  t.run();
  // 105 x 8 / 7 = 120 s of steps and a save, from 364 on.
  EXPECT_NEAR(static_cast<double>(t.outcome().finished_ns), 491e9, 1000);
  EXPECT_EQ(t.outcome().grows, 0U);
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 305},
                               {Cause::shrunk, 15},
                               {Cause::save, 21},
                               {Cause::lost, 36},
                               {Cause::detect, 11},
                               {Cause::restore, 13}});
}

// Replicas of two hosts: the fourth of them is gone, and its other host is given back.
TEST(TrainProcessShrink, hosts_without_a_whole_replica_are_given_back) {
  TimedTrain t(seconds(500), tight_design(2, 2));
  ASSERT_EQ(t.job().elastic->unit_hosts, 2);
  t.strike_run(295, host_dies(), 3);
  t.run(true);
  // From 364 on with six hosts; 136 s are a cycle and 29 s more.
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 200 + 129 * 0.75},
                               {Cause::shrunk, 129 * 0.25},
                               {Cause::save, 21},
                               {Cause::lost, 36},
                               {Cause::detect, 11},
                               {Cause::restore, 13}});
  EXPECT_NEAR(t.booked_s(Cause::idle), 8 * (500 - 306), 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::repair), 8 * (500 - 306), 1e-4);
  const std::vector<std::string> got = host_story(t);
  EXPECT_EQ(got.size(), 10U);
  EXPECT_EQ(std::ranges::count(got, "306 3 repair -1"), 1);
  EXPECT_EQ(std::ranges::count(got, "306 7 free -1"), 1);
}

// Both hosts of a replica are repaired by 577: they are taken in together.
TEST(TrainProcessShrink, a_run_grows_by_whole_replicas) {
  TimedTrain t(seconds(800), tight_design(2, 2));
  t.strike_run(295, host_dies(), 3);
  t.run();
  // Repaired at 506: 142 s into the cycles, so at 578; steps with all from 636 on.
  EXPECT_EQ(t.outcome().grows, 1U);
  expect_seconds(t.outcome(), {{Cause::start, 135},
                               {Cause::productive, 200 + 150 + 157},
                               {Cause::shrunk, 50},
                               {Cause::save, 14 + 14 + 7},
                               {Cause::lost, 36},
                               {Cause::detect, 11},
                               {Cause::restore, 26}});
}

// Another host fails five seconds after the first: nothing starts until this is detected.
TEST(TrainProcessShrink, a_run_does_not_start_with_a_dead_host) {
  TimedTrain t(seconds(500), tight_design(6));
  t.strike_run(295, host_dies(), 3);
  t.strike_run(300, host_dies(), 5);
  t.run();
  // Detected at 306 and 311; six hosts step from 369 on, 131 s.
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 200 + 124 * 0.75},
                               {Cause::shrunk, 124 * 0.25},
                               {Cause::save, 21},
                               {Cause::lost, 36},
                               {Cause::detect, 16},
                               {Cause::restore, 13}});
  EXPECT_EQ(t.outcome().interruptions, 2U);
  EXPECT_EQ(t.outcome().shrinks, 1U);
  EXPECT_EQ(t.outcome().outage_ns, 74'000'000'000);
  EXPECT_NEAR(t.booked_s(Cause::detect), 64 * 11 + 56 * 5, 1e-4);
}

// With too few hosts left it goes back into the queue, and waits there for the repaired host.
TEST(TrainProcessShrink, a_run_waits_if_fewer_than_its_minimum_are_left) {
  TimedTrain t(seconds(600), tight_design(8));
  t.strike_run(295, host_dies(), 3);
  t.run();
  // Requeued at 371, whole at 506, started at 551, steps from 564 on.
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 236},
                               {Cause::save, 14},
                               {Cause::lost, 36},
                               {Cause::detect, 11},
                               {Cause::requeue, 65},
                               {Cause::no_host, 135},
                               {Cause::restore, 13}});
  // Free slots are kept for it: 56 in the queue and while it lacks a host.
  EXPECT_NEAR(t.booked_s(Cause::requeue), 56 * 65, 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::no_host), 56 * 135, 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::idle), 0, 1e-4);
  EXPECT_EQ(t.outcome().shrinks, 0U);
}

// Two of eight hosts fail at once and it can continue with six: it takes those.
TEST(TrainProcessShrink, after_a_loss_a_run_asks_for_the_hosts_there_are) {
  TimedTrain t(seconds(600), tight_design(7));
  t.strike_run(295, host_dies(), 3);
  t.strike_run(296, host_dies(), 5);
  t.run();
  // Seven at 306, one of them dead; at 307 six are too few, at 372 still too few; at 506 and 507
  // the others are repaired, and it asked for seven: started at 551, steps from 564 on, 36 s.
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 200 + 36 * 0.875},
                               {Cause::shrunk, 36 * 0.125},
                               {Cause::save, 14},
                               {Cause::lost, 36},
                               {Cause::detect, 12},
                               {Cause::requeue, 65},
                               {Cause::no_host, 134},
                               {Cause::restore, 13}});
  EXPECT_EQ(t.outcome().shrinks, 1U);
}

// A free host, or one in reserve, replaces it: the run is requeued and complete.
TEST(TrainProcessShrink, a_run_takes_a_replacement_host_rather_than_shrink) {
  for (const bool in_reserve : {true, false}) {
    SCOPED_TRACE(in_reserve);
    design::Design d = tight_design(6);
    if (in_reserve) {
      d.fleet.front().spares = 1;
    } else {
      d.fleet.front().count = 9;
    }
    TimedTrain t(seconds(600), d);
    t.strike_run(295, host_dies(), 3);
    t.run(true);
    // Repaired at 506; complete from 371 on, steps from 429 on: 171 s.
    expect_seconds(t.outcome(), {{Cause::start, 90},
                                 {Cause::productive, 364},
                                 {Cause::save, 21},
                                 {Cause::lost, 36},
                                 {Cause::detect, 11},
                                 {Cause::requeue, 65},
                                 {Cause::restore, 13}});
    EXPECT_EQ(t.outcome().shrinks, 0U);
    EXPECT_NEAR(t.booked_s(Cause::reserve), in_reserve ? 8 * 306 : 0, 1e-4);
    EXPECT_NEAR(t.booked_s(Cause::repair), 8 * 200, 1e-4);
    EXPECT_NEAR(t.booked_s(Cause::requeue), 64 * 65, 1e-4);
    EXPECT_NEAR(t.level("idle_accelerators", 100), 8, 1e-6);
    const std::vector<std::string> got = host_story(t);
    EXPECT_EQ(std::ranges::count(got, "306 8 free -1"), in_reserve ? 1 : 0);
    EXPECT_EQ(std::ranges::count(got, "371 8 held 0"), 1);
    EXPECT_EQ(std::ranges::count(got, "506 3 free -1"), 1);
    EXPECT_EQ(std::ranges::count(got, "306 3 repair -1"), 1);
  }
}

// A job of its own priority waits for the host: the run leaves it to that job.
TEST(TrainProcessShrink, a_run_does_not_grow_ahead_of_waiting_jobs) {
  for (const int priority : {0, -1}) {
    design::Design d = tight_design(6);
    design::Jobs jobs{.rate = PerSecond(1), .mean_duration = hours(1)};
    jobs.sizes = {8};
    d.workloads.push_back({.terms = {.name = "users", .priority = priority}, .task = jobs});
    d.workloads.front().terms.nodes.reset();
    d.workloads.front().terms.priority = 0;
    TimedTrain t(seconds(640), d);
    StreamPlan& stream = t.scenario.streams.front();
    stream.trace = {
        {.submit = seconds(300), .run = seconds(100), .limit = seconds(100), .gpus = 16}};
    t.strike_run(295, host_dies(), 3);
    t.run();
    EXPECT_EQ(t.outcome().grows, priority == 0 ? 0U : 1U) << priority;
    EXPECT_EQ(t.outcome().shrinks, 1U);
    EXPECT_EQ(t.processes->streams().front()->outcome().waiting, 1U);
  }
}

// All eight hosts are the run's, and six are enough.
design::Design shrinking_design() {
  design::Design d = timed_design();
  d.fleet.front().count = 8;
  world::train_of(d).min_replicas = 6;
  return d;
}

failure::FaultCause lost_with_disk() {
  return {.name = "dies", .scope = kTakesHost, .keeps_disk = true};
}

// It loses a host at 295 and steps with seven from 364 on. At 400 it is put back, without a host
// fault: at 465 it asks for all eight, which are there when the host is repaired at 506. Started at
// 551, it has its copy at 564.
TEST(TrainProcessShrink, a_requeued_run_asks_for_all_its_hosts) {
  TimedTrain t(seconds(600), shrinking_design());
  ASSERT_TRUE(t.job().elastic);
  t.strike_run(295, lost_with_disk(), 3);
  t.at(400, [&](world::World& w) {
    w.fleet(world::kFirstFleet).queue().put_back(t.running(), cluster::StopCause::failed);
  });
  t.run();
  // 236 of the 250 s of steps are work, of which 200 are kept; nothing of the 36 s with seven hosts
  // is kept.
  expect_seconds(t.outcome(), {{Cause::start, 45 * 3},
                               {Cause::productive, 200 + 36},
                               {Cause::save, 14},
                               {Cause::lost, 36 + 36 * 0.875},
                               {Cause::shrunk, 36 * 0.125},
                               {Cause::detect, 11},
                               {Cause::requeue, 65},
                               {Cause::no_host, 41},
                               {Cause::restore, 26}});
  EXPECT_EQ(t.outcome().shrinks, 1U);
  EXPECT_EQ(t.outcome().grows, 1U);
  EXPECT_EQ(t.outcome().interruptions, 1U);
  EXPECT_EQ(t.outcome().restores, 2U);
  EXPECT_EQ(t.outcome().holds, 0U);
  EXPECT_NEAR(t.outcome().units, 236 * 3, 1e-5);
  EXPECT_NEAR(t.booked_s(Cause::requeue), 56 * 65, 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::no_host), 56 * 41, 1e-4);
}

}  // namespace
}  // namespace orrery::processes
