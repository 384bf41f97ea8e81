// What a run reports on work that cannot run, streams of jobs, slices and batches.
#include "twin/run/work_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/machine/site_load.h"
#include "twin/processes/service_process.h"
#include "twin/run/hand_made_fixture.h"
#include "twin/run/over_replications.h"
#include "twin/run/run_figures.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

using cluster::at;
using cluster::GpuTime;

namespace {

using figures::Layer;

TEST(WorkFigures, work_that_cannot_run_has_a_reason) {
  HandMadeRun t;
  const design::Serve serve;
  const std::string train = t.scenario.trains[0].label;
  t.scenario.trains[0].infeasible = "no room";
  t.scenario.services.push_back({.job = named_job<jobs::ServeJob>("chat", "no memory")});
  t.scenario.services.back().job.serve = &serve;
  t.scenario.batches.push_back({.job = named_job<jobs::BatchJob>("nightly", "no cores")});
  t.scenario.streams.push_back({.job = named_job<jobs::StreamJob>("jobs", "no trace")});
  t.scenario.slices.push_back({.job = named_job<jobs::SliceJob>("slices", "no slices")});
  const run::Run& run = t.tell_all();
  EXPECT_EQ(run.infeasible,
            (std::vector<std::string>{train + " cannot run: no room", "chat cannot run: no memory",
                                      "nightly cannot run: no cores", "jobs cannot run: no trace",
                                      "slices cannot run: no slices"}));
  ASSERT_NE(t.section(Layer::training, train), nullptr);
  EXPECT_EQ(t.section(Layer::training, train)->summary, "no room");
  EXPECT_TRUE(t.section(Layer::training, train)->figures.empty());
  EXPECT_EQ(t.section(Layer::serving, "chat")->summary, "no memory");
  EXPECT_EQ(t.section(Layer::cluster, "nightly")->summary, "no cores");
  EXPECT_EQ(t.section(Layer::cluster, "jobs")->summary, "no trace");
  EXPECT_EQ(t.section(Layer::cluster, "slices")->summary, "no slices");
  EXPECT_TRUE(std::ranges::is_sorted(run.sections, {}, &figures::Section::layer));
  EXPECT_FALSE(run.passes());
}

TEST(WorkFigures, jobs_that_never_started_have_no_wait) {
  HandMadeRun t;
  design::Jobs jobs{.trace = "jobs.csv"};
  t.scenario.streams.push_back({.job = queued_job<jobs::StreamJob>("jobs", 0.1, hours(2))});
  t.scenario.streams.back().job.jobs = &jobs;
  t.scenario.slices.push_back({.job = queued_job<jobs::SliceJob>("slices", 0.05, hours(3))});
  processes::TaskOutcome o;
  o.submitted = 9;
  o.waiting = 2;
  o.stops = 4;
  o.rejected = 5;
  o.held = 3;
  o.held_s = 600;
  o.drawn = {Joules(5)};
  o.drawn_else = {Joules(6)};
  o.why[cluster::WaitReason::resources] = {.jobs = 2, .first = "room."};
  t.first().streams = {o};
  t.first().slices.resize(1);
  t.tell_all();
  const auto of = [&](const char* name, const char* id) {
    return t.value(Layer::cluster, name, id);
  };
  EXPECT_EQ(of("jobs", "mean_wait"), 0);
  EXPECT_EQ(of("jobs", "wait_p99"), 0);
  EXPECT_EQ(of("jobs", "slowdown"), 1);
  EXPECT_EQ(of("jobs", "stops"), 4);
  EXPECT_EQ(of("jobs", "rejected"), 5);
  EXPECT_EQ(t.figure(Layer::cluster, "jobs", "timed_out"), nullptr);
  EXPECT_EQ(of("jobs", "held"), 3);
  EXPECT_NEAR(of("jobs", "clean_hold"), 600 / 9.0, 1e-9);
  EXPECT_EQ(t.figure(Layer::cluster, "jobs", "carbon_saved"), nullptr) << "the site has no hours";
  EXPECT_THAT(t.section(Layer::cluster, "jobs")->limit, testing::StartsWith("2 wait"));
  EXPECT_THAT(t.section(Layer::cluster, "jobs")->summary, testing::HasSubstr("10 s"));
  EXPECT_EQ(of("slices", "mean_wait"), 0);
  EXPECT_EQ(of("slices", "wait_p99"), 0);
  EXPECT_EQ(of("slices", "slices_used"), 0);
  EXPECT_EQ(of("slices", "slices_stranded"), 0);
  EXPECT_EQ(t.section(Layer::cluster, "slices")->summary,
            "one slice every 20 s on average, for 3 h; accelerators are cut as jobs arrive");
  t.scenario.slices[0].job.fixed.push_back({});
  t.scenario.streams[0].trace.resize(2);
  t.first().slices[0].never_fits = true;
  t.first().streams[0].drawn.clear();
  t.first().streams[0].why[cluster::WaitReason::not_yet] = {.jobs = 1, .first = "later."};
  t.tell_all();
  EXPECT_THAT(t.section(Layer::cluster, "jobs")->summary, testing::HasSubstr("jobs.csv"));
  EXPECT_EQ(t.figure(Layer::cluster, "jobs", "held"), nullptr);
  EXPECT_TRUE(t.section(Layer::cluster, "slices")->summary.ends_with("as the design says"));
  EXPECT_EQ(
      t.run.infeasible,
      (std::vector<std::string>{"slices never starts: it may not have even one accelerator"}));
}

TEST(WorkFigures, a_batch_has_a_summary) {
  HandMadeRun t;
  t.scenario.batches.push_back({.job = batch_of("nightly", 5000, hours(2)), .element = hours(2)});
  t.first().batches.resize(1);
  t.tell_all();
  EXPECT_THAT(t.section(Layer::cluster, "nightly")->summary, testing::HasSubstr("5,000"));
  EXPECT_EQ(t.figure(Layer::cluster, "nightly", "batches_late"), nullptr);
  t.scenario.batches[0].element = hours(3);
  t.scenario.batches[0].job.bound = hours(4);
  t.first().batches[0].windows_missed = 2;
  t.tell_all();
  EXPECT_EQ(t.section(Layer::cluster, "nightly")->summary,
            "an array of 5,000 elements of 3 h, limited by its data");
  EXPECT_EQ(t.value(Layer::cluster, "nightly", "batches_late"), 2);
  EXPECT_EQ(t.figure(Layer::cluster, "nightly", "batches_late")->note, "4 h");
}

TEST(WorkFigures, figures_of_jobs_slices_and_batches_by_hand) {
  HandMadeRun m;
  design::Jobs jobs;
  m.scenario.streams.push_back({.job = queued_job<jobs::StreamJob>("jobs", 0.1)});
  m.scenario.streams.back().job.jobs = &jobs;
  m.scenario.slices.push_back({.job = queued_job<jobs::SliceJob>("slices", 0.1)});
  m.scenario.batches.push_back({.job = batch_of("nightly", 5)});
  m.scenario.batches.back().job.bound = seconds(20);
  processes::TaskOutcome stream;
  stream.submitted = 9;
  stream.finished = 4;
  stream.waiting = 2;
  stream.timed_out = 1;
  stream.waits_s = {10, 1, 2, 3};
  stream.slowdowns = {1, 4};
  stream.why[cluster::WaitReason::resources] = {.jobs = 1, .first = "room."};
  m.done[0].streams = {stream};
  m.done[0].slices.resize(1);
  processes::SliceOutcome& s = m.done[0].slices[0];
  s.submitted = 8;
  s.finished = 6;
  s.waiting = 1;
  s.waits_s = {0, 4};
  s.open = GpuTime{7} * 3600 * kSecondNs * 2;
  s.used = s.open / 4;
  s.stranded = s.open / 8;
  processes::TaskOutcome batch;
  batch.runs_finished = 2;
  batch.windows_missed = 1;
  batch.stops = 3;
  batch.run_times_s = {10, 30};
  m.done[0].batches = {batch};
  m.tell_all();
  const auto of = [&](const char* name, const char* id) {
    return m.value(Layer::cluster, name, id);
  };
  EXPECT_EQ(of("jobs", "jobs"), 9);
  EXPECT_EQ(of("jobs", "finished"), 4);
  EXPECT_EQ(of("jobs", "mean_wait"), 4);
  EXPECT_EQ(of("jobs", "wait_p50"), 2.5);
  EXPECT_NEAR(of("jobs", "wait_p99"), 3 + 7 * 0.97, 1e-9);
  EXPECT_EQ(of("jobs", "slowdown"), 2.5);
  EXPECT_EQ(of("jobs", "waiting"), 2);
  EXPECT_EQ(of("jobs", "timed_out"), 1);
  EXPECT_EQ(m.find(Layer::cluster, "jobs", "stops"), nullptr);
  EXPECT_EQ(m.find(Layer::cluster, "jobs", "rejected"), nullptr);
  EXPECT_TRUE(m.section(Layer::cluster, "jobs")->limit.starts_with("1 of the first 1 that wait"))
      << m.section(Layer::cluster, "jobs")->limit;
  EXPECT_EQ(of("slices", "jobs"), 8);
  EXPECT_EQ(of("slices", "finished"), 6);
  EXPECT_EQ(of("slices", "mean_wait"), 2);
  EXPECT_NEAR(of("slices", "wait_p99"), 3.96, 1e-9);
  EXPECT_EQ(of("slices", "waiting"), 1);
  EXPECT_DOUBLE_EQ(of("slices", "sliced"), 2);
  EXPECT_DOUBLE_EQ(of("slices", "slices_used"), 0.25);
  EXPECT_DOUBLE_EQ(of("slices", "slices_stranded"), 0.125);
  EXPECT_EQ(of("nightly", "duration"), 20);
  EXPECT_EQ(of("nightly", "duration_longest"), 30);
  EXPECT_EQ(of("nightly", "batches_late"), 1);
  EXPECT_EQ(of("nightly", "stops"), 3);
  m.done[0].batches[0].runs_finished = 0;
  m.tell_all();
  EXPECT_EQ(m.find(Layer::cluster, "nightly", "duration"), nullptr);
}

TEST(WorkFigures, every_figure_of_jobs_and_batches) {
  HandMadeRun t;
  t.scenario.streams.push_back({.job = queued_job<jobs::StreamJob>("jobs", 0.1, hours(2))});
  t.scenario.batches.push_back({.job = batch_of("nightly", 5, hours(2)), .element = hours(2)});
  t.scenario.batches.back().job.bound = hours(4);
  processes::TaskOutcome o;
  o.submitted = 9;
  o.finished = 7;
  o.waiting = 2;
  o.stops = 4;
  o.timed_out = 6;
  o.rejected = 5;
  o.waits_s = {30, 10, 20, 60, 50};
  o.slowdowns = {1, 4};
  t.first().streams = {o};
  processes::TaskOutcome b;
  b.runs_finished = 3;
  b.run_times_s = {100, 400, 250};
  b.windows_missed = 2;
  b.stops = 8;
  t.first().batches = {b};
  t.tell_all();
  expect_list(t, Layer::cluster, "jobs",
              {{"jobs", 9},
               {"finished", 7},
               {"mean_wait", 34},
               {"wait_p50", 30},
               {"wait_p99", 59.6},
               {"slowdown", 2.5},
               {"waiting", 2},
               {"stops", 4},
               {"timed_out", 6},
               {"rejected", 5}});
  expect_list(t, Layer::cluster, "nightly",
              {{"batches_finished", 3},
               {"duration", 250},
               {"duration_longest", 400},
               {"batches_late", 2},
               {"stops", 8}});
}

TEST(WorkFigures, every_figure_of_slices) {
  HandMadeRun t;
  t.scenario.slices.push_back({.job = queued_job<jobs::SliceJob>("cuts", 0.05, hours(3))});
  processes::SliceOutcome o;
  o.submitted = 12;
  o.finished = 9;
  o.waiting = 2;
  o.waits_s = {10, 20, 40};
  o.open = GpuTime{7} * 3600 * kSecondNs * 5 / 2;
  o.used = o.open / 4;
  o.stranded = o.open / 10;
  t.first().slices = {o};
  t.tell_all();
  expect_list(t, Layer::cluster, "cuts",
              {{"jobs", 12},
               {"finished", 9},
               {"mean_wait", 70.0 / 3},
               {"wait_p99", 39.6},
               {"waiting", 2},
               {"sliced", 2.5},
               {"slices_used", 0.25},
               {"slices_stranded", 0.1}});
}

}  // namespace
}  // namespace orrery::run
