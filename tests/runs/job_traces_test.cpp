// Jobs of a trace and batches on a small fleet without faults, with every wait computed by hand;
// and what a simulation reports about itself.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>

#include "twin/run/run_fixture.h"

namespace orrery::run {

using cluster::at;
using cluster::Cause;

namespace {

// Two hosts with eight accelerators each, which never fail.
design::Design two_hosts(design::Task task) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 2;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.workloads.front().task = std::move(task);
  d.workloads.front().terms = {};
  d.workloads.front().terms.name = "work";
  return d;
}

struct TraceRun {
  TraceRun(const std::string& text, Seconds horizon,
           const std::function<void(design::Design&)>& change = {}) {
    design::Design d = two_hosts(design::Jobs{.trace = "jobs.csv"});
    if (change) change(d);
    RunOptions options{.horizon = horizon};
    options.read = [text](std::string_view) -> Result<std::string> { return text; };
    run = std::make_unique<Simulated>(std::move(d), options);
  }
  const Replication& first() const { return run->done.front(); }
  const processes::TaskOutcome& jobs() const { return first().streams.front(); }
  double gpu_seconds(Cause cause) const {
    return static_cast<double>(first().gpu_time[at(cause)]) / 1e9;
  }
  std::unique_ptr<Simulated> run;
};

const char* const kThreeJobs = "submit,run,gpus\n0,1000,16\n100,5,8\n200,400,16\n";

TEST(JobTraces, three_jobs_run_one_after_the_other) {
  const TraceRun t(kThreeJobs, hours(1));
  const processes::TaskOutcome& o = t.jobs();
  EXPECT_EQ(o.submitted, 3u);
  EXPECT_EQ(o.finished, 3u);
  EXPECT_EQ(o.waiting, 0u);
  EXPECT_EQ(o.running, 0u);
  EXPECT_EQ(o.rejected, 0u);
  EXPECT_EQ(o.stops, 0u);
  ASSERT_EQ(o.waits_s.size(), 3u);
  EXPECT_NEAR(o.waits_s[0], 0, 1e-6);
  EXPECT_NEAR(o.waits_s[1], 900, 1e-6);
  EXPECT_NEAR(o.waits_s[2], 805, 1e-6);
  ASSERT_EQ(o.slowdowns.size(), 3u);
  EXPECT_NEAR(o.slowdowns[0], 1, 1e-9);
  EXPECT_NEAR(o.slowdowns[1], 905 / 10.0, 1e-9) << "a short one counts as 10 s";
  EXPECT_NEAR(o.slowdowns[2], 1205 / 400.0, 1e-9);
  EXPECT_NEAR(t.gpu_seconds(Cause::productive), 16 * 1000 + 8 * 5 + 16 * 400, 1e-3);
  EXPECT_EQ(t.gpu_seconds(Cause::lost), 0);
  // Eight accelerators are free for five seconds while the third job waits for sixteen.
  EXPECT_NEAR(t.gpu_seconds(Cause::stranded), 8 * 5, 1e-3);
  EXPECT_NEAR(t.gpu_seconds(Cause::idle), 16 * 3600 - 22440 - 40, 1e-3);
  EXPECT_TRUE(t.first().is_sound);
}

TEST(JobTraces, jobs_that_wait_at_the_end_have_a_reason) {
  const TraceRun t(kThreeJobs, seconds(600));
  const processes::TaskOutcome& o = t.jobs();
  EXPECT_EQ(o.finished, 0u);
  EXPECT_EQ(o.running, 1u);
  EXPECT_EQ(o.waiting, 2u);
  std::uint64_t asked = 0;
  for (const auto& [reason, count] : o.why) {
    asked += count.jobs;
    EXPECT_NE(count.first, "");
  }
  EXPECT_EQ(asked, 2u);
  EXPECT_NEAR(t.gpu_seconds(Cause::productive), 16 * 600, 1e-3);
}

TEST(JobTraces, a_job_wider_than_the_fleet_is_refused) {
  const TraceRun t("submit,run,gpus\n0,100,17\n10,100,16\n", seconds(600));
  EXPECT_EQ(t.jobs().rejected, 1u);
  EXPECT_EQ(t.jobs().finished, 1u);
  EXPECT_EQ(t.jobs().submitted, 2u);
}

// The second of three jobs exceeds the limit of its QOS, so its work is lost.
TEST(JobTraces, a_job_ends_at_the_limit_of_its_qos) {
  const auto limited = [](design::Design& d) {
    d.scheduler.qos = {{.name = "short", .time_limit = seconds(300)}};
    d.workloads.front().terms.qos = "short";
  };
  const TraceRun t("submit,run,gpus\n0,300,16\n400,301,8\n1000,100,4\n", hours(1), limited);
  const processes::TaskOutcome& o = t.jobs();
  EXPECT_EQ(o.timed_out, 1u);
  EXPECT_EQ(o.finished, 2u);
  EXPECT_NEAR(o.lost_slot_s, 8 * 300, 1e-6);
  EXPECT_NEAR(t.gpu_seconds(Cause::lost), 8 * 300, 1e-3);
  EXPECT_NEAR(t.gpu_seconds(Cause::productive), 16 * 300 + 4 * 100, 1e-3);
}

// 24 tasks of two hours, eight per host, are three elements; two hosts take four hours for them.
TEST(JobTraces, a_repeating_batch_may_miss_its_window) {
  const auto batch = [](Seconds window) {
    design::Batch b{.accelerator_hours = 48, .tasks = 24};
    b.repeat = design::Recurrence{.every = hours(6), .window = window};
    return Simulated(two_hosts(b), {.horizon = hours(23)});
  };
  const Simulated s = batch(hours(4));
  const processes::TaskOutcome& o = s.done.front().batches.front();
  EXPECT_EQ(o.runs_finished, 4u) << "at 0, 6, 12 and 18 h";
  EXPECT_EQ(o.submitted, 12u);
  EXPECT_EQ(o.finished, 12u);
  EXPECT_EQ(o.windows_missed, 0u) << "just in time";
  ASSERT_EQ(o.run_times_s.size(), 4u);
  for (const double took : o.run_times_s) EXPECT_NEAR(took, 4 * 3600, 1e-6);
  EXPECT_EQ(batch(hours(3.9)).done.front().batches.front().windows_missed, 4u);
}

TEST(JobTraces, an_overdue_batch_begins_at_once) {
  design::Batch b{.accelerator_hours = 48, .tasks = 24};
  b.repeat = design::Recurrence{.every = hours(3)};
  const Simulated s(two_hosts(b), {.horizon = hours(13)});
  const processes::TaskOutcome& o = s.done.front().batches.front();
  EXPECT_EQ(o.runs_finished, 3u) << "at 0, 4 and 8 h";
  EXPECT_EQ(o.windows_missed, 3u);
  EXPECT_EQ(o.running, 2u);
  EXPECT_EQ(o.waiting, 1u);
}

TEST(JobTraces, a_run_names_its_design_seed_and_replications) {
  design::Design d = two_hosts(design::Batch{.accelerator_hours = 48, .tasks = 24});
  d.fleet.front().spares = 1;
  const Simulated s(d, {.horizon = hours(10), .seed = 5, .replications = 2});
  const run::Run run = s.simulation.run_of(s.done);
  EXPECT_EQ(run.design, d.name);
  EXPECT_EQ(run.version, d.version);
  EXPECT_FALSE(run.digest.empty());
  EXPECT_EQ(run.simulated, hours(10));
  EXPECT_EQ(run.seed, 5u);
  EXPECT_EQ(run.replications, 2);
  EXPECT_TRUE(run.is_whole);
  EXPECT_EQ(run.events, s.done[0].events + s.done[1].events);
  EXPECT_GT(s.done[1].events, 0u);
  EXPECT_EQ(run.accelerators, 24);
  ASSERT_EQ(run.fleets.size(), 1u);
  EXPECT_EQ(run.fleets[0].name, d.fleet.front().name);
  EXPECT_EQ(run.fleets[0].hosts, 2);
  EXPECT_EQ(run.fleets[0].spares, 1);
  EXPECT_EQ(run.fleets[0].accelerators_per_host, 8);
  EXPECT_TRUE(run.jobs.empty());
  EXPECT_EQ(std::accumulate(run.gpu_seconds.begin(), run.gpu_seconds.end(), std::int64_t{0}),
            24 * 36000);
  EXPECT_EQ(run.gpu_seconds[0], 48 * 3600) << "productive, of one replication";
  EXPECT_FALSE(run.series.means.empty());
  EXPECT_EQ(s.done[0].racks.size(), 1u);
  EXPECT_TRUE(s.done[1].racks.empty()) << "of the first alone";
  EXPECT_TRUE(s.done[1].series.means.empty());
  const run::Run part = s.simulation.run_of({s.done.data(), 1});
  EXPECT_FALSE(part.is_whole);
  EXPECT_EQ(part.replications, 1);
  const run::Run none = s.simulation.run_of({});
  EXPECT_EQ(none.replications, 0);
  EXPECT_TRUE(none.sections.empty());
  EXPECT_EQ(none.accelerators, 24);
  EXPECT_EQ(RunOptions{}.horizon, days(30));
  EXPECT_EQ(RunOptions{}.replications, 1);
}

}  // namespace
}  // namespace orrery::run
