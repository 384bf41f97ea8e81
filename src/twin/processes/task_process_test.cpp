// Users' jobs and elements of batches, second by second: when they start, what they lose, what they
// draw, and the reasons that waiting jobs get.
#include "twin/processes/task_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/random.h"
#include "twin/processes/timed_fixture.h"
#include "twin/world/standing_fixture.h"

namespace orrery::processes {

using cluster::Cause;

namespace {

design::Design users_design(int hosts) {
  design::Design d = world::sample_design();
  d.fleet.front().count = hosts;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery.requeue = seconds(100);
  d.scheduler.backfill = design::Backfill::easy;
  design::Jobs jobs{.rate = PerSecond(1), .mean_duration = hours(1)};
  jobs.sizes = {8};
  d.workloads.front() = {.terms = {.name = "users"}, .task = jobs};
  return d;
}

struct TimedStream : TimedWorld {
  explicit TimedStream(Seconds horizon, const design::Design& d = users_design(2))
      : TimedWorld(d, horizon) {
    EXPECT_EQ(scenario.streams.size(), 1U);
    scenario.fleets[world::kFirstFleet].hosts_per_rack = 1;
  }
  void job(double submit, double run, int gpus, int nodes = 0) {
    scenario.streams[0].trace.push_back({.submit = seconds(submit),
                                         .run = seconds(run),
                                         .limit = seconds(run),
                                         .gpus = gpus,
                                         .nodes = nodes});
  }
  const TaskOutcome& outcome() const { return processes->streams().front()->outcome(); }
};

using Numbers = std::vector<double>;

// Five jobs of 100 s, three of 50 s at the same time, sixteen of 60 s that wait for both, and one
// of 4 s.
TEST(TaskProcess, jobs_wait_run_and_end) {
  TimedStream t(seconds(300));
  t.job(0, 100, 5);
  t.job(10, 50, 3);
  t.job(20, 60, 16);
  t.job(150, 4, 1);
  const world::World& world = t.run(true);
  const TaskOutcome& o = t.outcome();
  EXPECT_EQ(o.submitted, 4U);
  EXPECT_EQ(o.finished, 4U);
  EXPECT_EQ(o.waits_s, (Numbers{0, 0, 80, 10}));
  // A run below ten seconds counts as ten.
  EXPECT_EQ(o.slowdowns, (Numbers{1, 1, 140.0 / 60, 1.4}));
  EXPECT_EQ(o.rejected + o.timed_out + o.stops + o.faults + o.waiting + o.running + o.held, 0U);
  EXPECT_TRUE(o.why.empty() && o.drawn.empty());
  const double slots = 500 + 150 + 960 + 4;
  // Eight slots are free while sixteen are wanted, then eleven; one job waits while none is free.
  expect_booked(t, {{Cause::productive, slots}, {Cause::stranded, 8 * 40 + 11 * 40}});
  // A slot at 0.52 of the rise draws 520 W more, and 1000 W at the highest.
  EXPECT_NEAR(world.meters().site(world::kFirstSite).energy.base(), 4000.0 * 300 + 520 * slots,
              1e-3);
  EXPECT_NEAR(world.meters().site(world::kFirstSite).highest.base(), 4000 + 16000, 1e-6);
  EXPECT_NEAR(t.level("productive_accelerators", 30), 8, 1e-9);
  EXPECT_NEAR(t.level("productive_accelerators", 80), 5, 1e-9);
  EXPECT_NEAR(t.level("idle_accelerators", 80), 11, 1e-9);
  EXPECT_NEAR(t.level("productive_accelerators", 120), 16, 1e-9);
  const auto racks =
      t.world->fleet(world::kFirstFleet).racks().until(sim::SimTime::from(seconds(300)));
  EXPECT_NEAR((racks[0].energy + racks[1].energy).base(), 520 * slots, 1e-3);
  EXPECT_NEAR(racks[1].energy.base(), 520 * 480, 1e-3);
}

// Four on each of two hosts, next to one of six that leaves no room for four.
TEST(TaskProcess, a_job_runs_on_the_number_of_hosts_it_names) {
  for (const int nodes : {0, 1, 2, 3}) {
    TimedStream t(seconds(100), users_design(3));
    t.job(0, 90, 8, nodes);
    t.run(true);
    std::size_t held = 0;
    for (const world::HostChange& c : t.recorder->host_changes()) {
      held += c.mark == world::HostMark::held;
      EXPECT_EQ(c.holder, -1) << "no training run";
    }
    // Eight over three hosts leave a rest: they are packed.
    EXPECT_EQ(held, nodes == 2 ? 2U : 1U) << nodes;
  }
}

// The job of three ends first, so its slots are counted first: those below 3 / 8 are its own.
TEST(TaskProcess, a_process_fault_hits_the_job_on_its_slot) {
  for (const double where : {0.0, 0.374, 0.375, 0.99}) {
    SCOPED_TRACE(where);
    TimedStream t(seconds(400));
    t.job(0, 100, 5);
    t.job(10, 50, 3);
    t.at(30, [where](world::World& w) {
      w.faults().strike(world::kFirstFleet, world::HostIndex(0),
                        {.name = "dies", .scope = kTakesProcess}, where);
    });
    t.run(true);
    const TaskOutcome& o = t.outcome();
    const bool is_first = where >= 0.375;
    EXPECT_EQ(o.lost_slot_s, is_first ? 150 : 60);
    EXPECT_EQ(o.stops, 1U);
    EXPECT_EQ(o.faults, 1U);
    EXPECT_EQ(o.finished, 2U);
    EXPECT_EQ(o.waits_s, (Numbers{0, 0})) << "to the first start";
    const double slots = is_first ? 5 : 3;
    // It hangs for 60 s, waits for 100 s more and starts over at 190.
    expect_booked(t, {{Cause::productive, 500 + 150},
                      {Cause::lost, o.lost_slot_s},
                      {Cause::detect, slots * 60},
                      {Cause::stranded, slots * 100}});
    const Numbers wanted = is_first ? Numbers{1, 290.0 / 100} : Numbers{1, 230.0 / 50};
    EXPECT_EQ(o.slowdowns, wanted);
    EXPECT_NEAR(t.level("restart_accelerators", 50), slots, 1e-9);
    EXPECT_NEAR(t.level("productive_accelerators", 50), 8 - slots, 1e-9);
    const auto racks =
        t.world->fleet(world::kFirstFleet).racks().until(sim::SimTime::from(seconds(400)));
    EXPECT_NEAR((racks[0].energy + racks[1].energy).base(),
                520 * (650 + o.lost_slot_s) + 570 * slots * 60, 1e-3);
    EXPECT_NEAR(t.world->meters().site(world::kFirstSite).energy.base(),
                4000.0 * 400 + 520 * (650 + o.lost_slot_s) + 570 * slots * 60, 1e-3);
  }
}

TEST(TaskProcess, a_second_fault_restarts_the_detection_time) {
  design::Design d = users_design(2);
  d.scheduler.recovery.detect = seconds(20);
  TimedStream t(seconds(400), d);
  t.job(0, 100, 5);
  t.strike(30, 0, {.name = "dies", .scope = kTakesProcess});
  t.strike(45, 0, {.name = "dies", .scope = kTakesProcess});
  t.run();
  EXPECT_EQ(t.outcome().faults, 2U);
  EXPECT_EQ(t.outcome().stops, 1U);
  EXPECT_EQ(t.outcome().lost_slot_s, 150);
  EXPECT_NEAR(t.booked_s(Cause::detect), 5 * 35, 1e-6);
  EXPECT_EQ(t.outcome().slowdowns, (Numbers{2.65}));  // 65 + 100 + 100 s
}

TEST(TaskProcess, a_lost_host_requeues_all_its_jobs) {
  TimedStream t(seconds(240));
  t.job(0, 100, 5);
  t.job(10, 50, 3);
  t.strike(30, 0, {.name = "dies", .scope = kTakesHost});
  t.run();
  EXPECT_EQ(t.outcome().faults, 2U);
  EXPECT_EQ(t.outcome().stops, 2U);
  // On the other host from 190 on: one has ended at 240, one runs.
  EXPECT_EQ(t.outcome().finished, 1U);
  EXPECT_EQ(t.outcome().running, 1U);
  expect_booked(t, {{Cause::productive, 400},
                    {Cause::lost, 210},
                    {Cause::detect, 8 * 60},
                    {Cause::stranded, 8 * 100},
                    {Cause::repair, 8 * 150}});
}

TEST(TaskProcess, a_requeued_job_loses_its_work) {
  TimedStream t(seconds(400));
  t.job(0, 100, 5);
  t.at(30, [](world::World& w) {
    cluster::Queue& queue = w.fleet(world::kFirstFleet).queue();
    queue.put_back(queue.running_jobs().front().job, cluster::StopCause::preempted);
  });
  t.run(true);
  EXPECT_EQ(t.outcome().lost_slot_s, 150);
  EXPECT_EQ(t.outcome().faults, 0U);
  EXPECT_EQ(t.outcome().stops, 1U);
  EXPECT_EQ(t.outcome().slowdowns, (Numbers{2.3}));
  expect_booked(t, {{Cause::productive, 500}, {Cause::lost, 150}, {Cause::stranded, 500}});
  EXPECT_NEAR(t.level("productive_accelerators", 60), 0, 1e-9);
  EXPECT_NEAR(t.level("idle_accelerators", 60), 16, 1e-9);
}

// Its QOS ends jobs that run longer, but not those that run exactly as long.
TEST(TaskProcess, a_qos_ends_jobs_at_its_limit) {
  design::Design d = users_design(2);
  d.scheduler.qos = {{.name = "low", .time_limit = seconds(40)}};
  d.workloads.front().terms.qos = "low";
  TimedStream t(seconds(100), d);
  t.job(0, 40, 5);
  t.job(0, 41, 3);
  t.run(true);
  const TaskOutcome& o = t.outcome();
  EXPECT_EQ(o.finished, 1U);
  EXPECT_EQ(o.timed_out, 1U);
  EXPECT_EQ(o.lost_slot_s, 120);
  EXPECT_EQ(o.slowdowns.size(), 1U);
  expect_booked(t, {{Cause::productive, 200}, {Cause::lost, 120}});
  EXPECT_NEAR(t.level("idle_accelerators", 60), 16, 1e-9);
  EXPECT_EQ(t.world->fleet(world::kFirstFleet).queue().running(), 0U);
}

TEST(TaskProcess, jobs_that_can_never_start_are_rejected) {
  TimedStream t(seconds(100));
  t.job(0, 40, 17);
  t.job(0, 40, 16);
  t.run();
  EXPECT_EQ(t.outcome().rejected, 1U);
  EXPECT_EQ(t.outcome().finished, 1U);
  EXPECT_EQ(t.outcome().submitted, 2U);
}

// The first 200 waiting jobs are asked for the reason.
TEST(TaskProcess, waiting_jobs_have_a_reason_at_the_end) {
  TimedStream t(seconds(100));
  for (int i = 0; i < 205; ++i) t.job(i < 1 ? 0 : 1, 1000, 16);
  t.run();
  EXPECT_EQ(t.outcome().running, 1U);
  EXPECT_EQ(t.outcome().waiting, 204U);
  std::uint64_t asked = 0;
  for (const auto& [reason, count] : t.outcome().why) {
    EXPECT_NE(count.first, "");
    asked += count.jobs;
  }
  EXPECT_EQ(asked, 200U);
  EXPECT_GT(t.outcome().why.at(cluster::WaitReason::resources).jobs, 0U);
}

// Clean from nine to five: a job that arrives at half past seven is held for an hour and a half.
struct CleanStream : TimedStream {
  static design::Design design_of() {
    design::Design d = users_design(2);
    catalog::SiteHours day;
    for (int h = 0; h < 24; ++h) day.carbon.push_back(grams_per_kwh(h >= 9 && h < 17 ? 100 : 400));
    d.sites.front().hours = "day.csv";
    d.local_hours = {{.path = "day.csv", .hours = day}};
    std::get<design::Jobs>(d.workloads.front().task).clean_hours =
        design::CleanHours{.below = grams_per_kwh(200), .wait = hours(3)};
    return d;
  }
  explicit CleanStream(Seconds horizon) : TimedStream(horizon, design_of()) {}
};

TEST(TaskProcess, a_held_job_says_when_it_is_released) {
  CleanStream t(hours(8));
  t.job(hours(7.5).base(), 5400, 4);
  t.job(hours(7.8).base(), 5400, 4);
  t.run();
  const TaskOutcome& o = t.outcome();
  EXPECT_EQ(o.held, 2U);
  EXPECT_EQ(o.waiting, 2U);
  EXPECT_NEAR(o.held_s, 2.7 * 3600, 1e-6);
  ASSERT_EQ(o.why.size(), 1U);
  EXPECT_EQ(o.why.at(cluster::WaitReason::not_yet).jobs, 2U);
  EXPECT_EQ(o.why.at(cluster::WaitReason::not_yet).first,
            "It is held for a clean hour, which begins in 1 h.");
}

// An hour and a half of four slots at 520 W, from nine on instead of half past seven.
TEST(TaskProcess, the_draw_of_held_jobs_is_kept_with_and_without_the_hold) {
  CleanStream t(hours(13));
  t.job(hours(7.5).base(), 5400, 4);
  t.job(hours(9.75).base(), 1800, 2);  // not held
  t.run();
  const TaskOutcome& o = t.outcome();
  EXPECT_EQ(o.finished, 2U);
  EXPECT_EQ(o.held, 1U);
  EXPECT_NEAR(o.waits_s[0], 5400, 1e-6);
  EXPECT_NEAR(o.slowdowns[0], 1, 1e-9);
  ASSERT_EQ(o.drawn.size(), 24U);
  ASSERT_EQ(o.drawn_else.size(), 24U);
  for (std::size_t h = 0; h < 24; ++h) {
    const double is = h == 9 ? 4 * 3600 + 2 * 900 : h == 10 ? 4 * 1800 + 2 * 900 : 0;
    const double other = h == 7    ? 4 * 1800
                         : h == 8  ? 4 * 3600
                         : h == 9  ? 2 * 900
                         : h == 10 ? 2 * 900
                                   : 0;
    EXPECT_NEAR(o.drawn[h].base(), 520 * is, 1e-3) << h;
    EXPECT_NEAR(o.drawn_else[h].base(), 520 * other, 1e-3) << h;
  }
}

// Log-normal with variation 3 about the mean: s^2 = ln 10. Users ask for one to four times as much.
void expect_drawn(double mean_run) {
  SCOPED_TRACE(mean_run);
  TimedStream t(hours(400));
  StreamPlan& plan = t.scenario.streams[0];
  plan.job.rate = PerSecond(1.0 / 3600);
  plan.job.mean_run = seconds(mean_run);
  plan.job.sizes = {2, 5, 9};
  plan.job.shares = {0.25, 0.5, 1};
  RandomStream random(5, "jobs/" + plan.job.label);
  double now = 0;
  std::size_t checked = 0;
  const double s2 = std::log(10.0);
  for (int i = 0; i < 40; ++i) {
    now += random.exponential(3600);
    const double width = random.uniform();
    const double run = mean_run * std::exp(std::sqrt(s2) * random.normal() - s2 / 2);
    const double factor = std::pow(4, random.uniform());
    const auto user = static_cast<std::uint32_t>(random.below(20));
    const int gpus = width < 0.25 ? 2 : width < 0.5 ? 5 : 9;
    t.at(now + 0.5, [=, &checked](world::World& w) {
      const cluster::Queue& queue = w.fleet(world::kFirstFleet).queue();
      for (const cluster::RunningEnd& end : queue.running_jobs()) {
        const cluster::QueuedJob& job = queue.job(end.job);
        if (std::fabs(job.started.seconds().base() - now) > 1e-3) continue;
        ++checked;
        EXPECT_EQ(job.ask.gpus, gpus);
        EXPECT_EQ(job.user, user);
        EXPECT_NEAR(job.limit.seconds().base(), std::max(1.0, run) * factor, 1e-6 * run);
      }
    });
    t.at(now + std::max(1.0, run) + 0.001, [=](world::World& w) {
      for (const cluster::RunningEnd& end : w.fleet(world::kFirstFleet).queue().running_jobs()) {
        const cluster::QueuedJob& job = w.fleet(world::kFirstFleet).queue().job(end.job);
        EXPECT_GT(std::fabs(job.started.seconds().base() - now), 1e-3) << "it has ended";
      }
    });
  }
  t.run();
  EXPECT_GT(checked, 25U);
}

TEST(TaskProcess, a_stream_is_drawn_as_its_plan_says) {
  expect_drawn(700);
  expect_drawn(1.5);  // none is shorter than a second
}

struct TimedBatch : TimedWorld {
  static design::Design design_of(bool repeats) {
    design::Design d = users_design(2);
    design::Batch batch{.accelerator_hours = 10, .tasks = 10};
    if (repeats) batch.repeat = design::Recurrence{.every = seconds(500)};
    d.workloads.front() = {.terms = {.name = "nightly"}, .task = batch};
    return d;
  }
  TimedBatch(Seconds horizon, bool repeats, double bound)
      : TimedWorld(design_of(repeats), horizon) {
    BatchPlan& p = scenario.batches.front();
    p.job.elements = 3;
    p.job.slots = 8;
    p.element = seconds(100);
    p.job.bound = seconds(bound);
    run();
  }
  const TaskOutcome& outcome() const { return processes->batches().front()->outcome(); }
};

// Two elements at once and then the third: 200 s.
TEST(TaskProcess, a_batch_ends_with_its_last_element) {
  const TimedBatch once(seconds(1100), false, 200);
  EXPECT_EQ(once.outcome().runs_finished, 1U);
  EXPECT_EQ(once.outcome().windows_missed, 0U) << "it ends with its window";
  EXPECT_EQ(once.outcome().run_times_s, (Numbers{200}));
  const TimedBatch again(seconds(1050), true, 199);
  EXPECT_EQ(again.outcome().runs_finished, 2U);
  EXPECT_EQ(again.outcome().windows_missed, 2U);
  EXPECT_EQ(again.outcome().submitted, 9U);
  EXPECT_EQ(again.outcome().running, 2U);
  EXPECT_EQ(again.outcome().waiting, 1U);
  EXPECT_EQ(again.outcome().waits_s, (Numbers{0, 0, 100, 0, 0, 100, 0, 0}));
  EXPECT_EQ(again.outcome().run_times_s, (Numbers{200, 200}));
}

// Its QOS ends an element early: no run of the batch is complete.
TEST(TaskProcess, a_batch_without_all_its_elements_has_not_ended) {
  design::Design d = TimedBatch::design_of(true);
  d.scheduler.qos = {{.name = "low", .time_limit = seconds(90)}};
  d.workloads.front().terms.qos = "low";
  TimedWorld t(d, seconds(600));
  BatchPlan& p = t.scenario.batches.front();
  p.job.elements = 3;
  p.job.slots = 8;
  p.element = seconds(100);
  p.job.bound = seconds(179);
  t.run();
  const TaskOutcome& o = t.processes->batches().front()->outcome();
  EXPECT_EQ(o.runs_finished, 0U);
  EXPECT_TRUE(o.run_times_s.empty());
  // Twice 90 s, then 320 s until the next; of which two were ended by 590.
  EXPECT_EQ(o.timed_out, 5U);
  EXPECT_EQ(o.windows_missed, 1U);
  EXPECT_EQ(o.submitted, 6U);
  EXPECT_EQ(o.lost_slot_s, 5 * 90 * 8);
}

// Seventy hosts and two in reserve: the second partition has the 66th to the 70th.
TEST(TaskProcess, jobs_run_on_the_hosts_of_their_partition) {
  design::Design d = world::queue_design(
      70, {world::jobs_of("a", {.partition = "day"}), world::jobs_of("b", {.partition = "late"})});
  d.fleet.front().spares = 2;
  const std::string fleet = d.fleet.front().name;
  d.scheduler.partitions = {{.name = "day", .fleet = fleet, .nodes = 65},
                            {.name = "late", .fleet = fleet, .nodes = 5}};
  TimedWorld t(d, seconds(300));
  t.scenario.streams[0].trace = {{.run = seconds(50), .limit = seconds(50), .gpus = 65 * 8}};
  t.scenario.streams[1].trace = {{.run = seconds(50), .limit = seconds(50), .gpus = 5 * 8}};
  t.run(true);
  std::vector<std::uint32_t> held;
  for (const world::HostChange& c : t.recorder->host_changes()) {
    if (c.mark == world::HostMark::held && c.at.ns() == 0) held.push_back(c.host);
  }
  ASSERT_EQ(held.size(), 70U);
  std::vector<std::uint32_t> first(held.begin(), held.begin() + 65);
  std::vector<std::uint32_t> second(held.begin() + 65, held.end());
  EXPECT_EQ(*std::ranges::max_element(first), 64U);
  EXPECT_EQ(*std::ranges::min_element(second), 65U);
  EXPECT_EQ(*std::ranges::max_element(second), 69U);
}

// Three of seventy hosts are reserved from 100 s to 200 s: a job on 68 hosts that would reach into
// that time waits for its end, and one that ends before it starts at once.
TEST(TaskProcess, jobs_avoid_reserved_hosts) {
  const struct {
    double run;
    int hosts;
    const char* tenant;
    double wait;
  } kCases[] = {{100, 68, "", 0},   {101, 68, "", 200},  {150, 67, "", 0},
                {150, 68, "", 200}, {150, 70, "red", 0}, {100, 70, "", 0}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.hosts);
    design::Design d = world::queue_design(70, {world::jobs_of("a", {.tenant = c.tenant})});
    d.scheduler.reservations = {{.name = "works",
                                 .nodes = 3,
                                 .start = seconds(100),
                                 .duration = seconds(100),
                                 .tenants = {"red"}}};
    TimedWorld t(d, seconds(600));
    t.scenario.streams[0].trace = {
        {.run = seconds(c.run), .limit = seconds(c.run), .gpus = c.hosts * 8}};
    t.run();
    EXPECT_EQ(t.processes->streams().front()->outcome().waits_s, (std::vector<double>{c.wait}));
  }
}

// 2 x 900 GPU-seconds of one user are less than 16 x 200 of another: at 1210, when the fleet is
// free, the first goes before the other, who arrived earlier.
TEST(TaskProcess, the_user_who_has_used_less_goes_first) {
  for (const bool is_fair : {true, false}) {
    design::Design d = world::queue_design(3, {world::jobs_of("a", {})});
    d.scheduler.fair_share = is_fair;
    TimedWorld t(d, seconds(2000));
    const auto job = [&t](double submit, double run, int gpus, int user) {
      t.scenario.streams[0].trace.push_back({.submit = seconds(submit),
                                             .run = seconds(run),
                                             .limit = seconds(run),
                                             .gpus = gpus,
                                             .user = user});
    };
    job(0, 900, 2, 0);
    job(0, 200, 16, 1);
    job(210, 1000, 22, 2);
    job(1000, 50, 24, 1);
    job(1001, 50, 24, 0);
    t.run();
    const std::vector<double> wanted =
        is_fair ? std::vector<double>{0, 0, 0, 209, 260} : std::vector<double>{0, 0, 0, 210, 259};
    EXPECT_EQ(t.processes->streams().front()->outcome().waits_s, wanted);
  }
}

// The use of a user's job counts while it runs, and only once.
TEST(TaskProcess, running_jobs_count_as_use_once) {
  design::Design d = world::queue_design(3, {world::jobs_of("a", {})});
  d.scheduler.fair_share = true;
  TimedWorld t(d, seconds(2000));
  auto& trace = t.scenario.streams[0].trace;
  const auto job = [&trace](double submit, double run, int gpus, int user) {
    trace.push_back({.submit = seconds(submit),
                     .run = seconds(run),
                     .limit = seconds(run),
                     .gpus = gpus,
                     .user = user});
  };
  job(0, 1400, 3, 0);  // 3 x 1200 at 1200 s
  job(0, 240, 16, 1);  // 16 x 240: more
  job(250, 1000, 21, 2);
  job(1000, 50, 21, 1);
  job(1001, 50, 21, 0);
  t.run();
  EXPECT_EQ(t.processes->streams().front()->outcome().waits_s,
            (std::vector<double>{0, 0, 0, 249, 300}));
}

// Two hosts of eight accelerators here, and three of cores at a second site.
design::Design cores_design() {
  design::Design d = world::sample_design();
  d.fleet.front().count = 2;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery = {};
  design::Site second = d.sites.front();
  second.name = "second";
  d.sites.push_back(second);
  design::Fleet cores = d.fleet.front();
  cores.name = "cores";
  cores.node = "cpu-2s-server";
  cores.count = 3;
  cores.site = "second";
  d.fleet.push_back(cores);
  design::Batch batch{.core_hours = 100};
  batch.tasks = 10;
  d.workloads.front() = {.terms = {.name = "nightly"}, .task = batch};
  d.workloads.front().terms.fleet = "cores";
  return d;
}

// Work on cores keeps its host at its peak, and is not in the series of accelerators.
TEST(TaskProcess, a_batch_on_cores_is_booked_by_hosts) {
  TimedWorld t(cores_design(), seconds(300));
  BatchPlan& p = t.scenario.batches.front();
  ASSERT_EQ(p.job.infeasible, "");
  EXPECT_EQ(p.fleet, design::FleetIndex(1));
  p.job.elements = 2;
  p.job.slots = 1;
  p.element = seconds(100);
  t.at(40, [](world::World& w) {
    w.faults().strike(design::FleetIndex(1), world::HostIndex(0),
                      {.name = "dies", .scope = kTakesProcess}, 0);
  });
  t.run(true);
  EXPECT_EQ(t.scenario.fleets[design::FleetIndex(1)].slots_per_host, 1);
  // One runs for 100 s; one for 40 s, hangs for 60 s, waits for 147.7 s and runs to the end.
  const double again = 300 - 100 - 147.7;
  expect_booked(t,
                {{Cause::productive, 100 + again},
                 {Cause::lost, 40},
                 {Cause::detect, 60},
                 {Cause::stranded, 147.7}},
                design::FleetIndex(1));
  expect_booked(t, {}, world::kFirstFleet);
  for (const std::size_t second : {20U, 60U, 120U, 280U}) {
    EXPECT_NEAR(t.level("idle_accelerators", second), 16, 1e-9);
    EXPECT_NEAR(t.level("productive_accelerators", second), 0, 1e-9);
    EXPECT_NEAR(t.level("restart_accelerators", second), 0, 1e-9);
    EXPECT_NEAR(t.level("main_it_w", second), 4000, 1e-9);
  }
  EXPECT_NEAR(t.level("second_it_w", 20), 6000 + 2 * 8000, 1e-6);
  EXPECT_NEAR(t.level("second_it_w", 60), 6000 + 8000 + 8000 * 0.57, 1e-6);
  EXPECT_NEAR(t.world->meters().site(world::kFirstSite).energy.base(), 4000 * 300, 1e-6);
  EXPECT_NEAR(t.world->meters().site(design::SiteIndex(1)).energy.base(),
              6000 * 300 + 8000 * (140 + again) + 8000 * 0.57 * 60, 1e-2);
  EXPECT_NEAR(t.world->meters().site(design::SiteIndex(1)).highest.base(), 22000, 1e-6);
}

}  // namespace
}  // namespace orrery::processes
