#include "study/rehearse/rewind.h"

#include <gtest/gtest.h>

#include "core/workload/job_synthesis.h"
#include "study/rehearse/job_fixture.h"
#include "study/rehearse/rehearsal.h"
#include "study/rehearse/replay.h"
#include "study/rehearse/simulated_places.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;
using workload::JobRecord;

// Jobs that never wait on a fleet with room for all, each recorded with a given wait.
std::vector<JobRecord> without_rush(int count, double apart, const auto& wait) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < count; ++i) jobs.push_back(traced(apart * i, 10, 8, wait(i)));
  return jobs;
}

TEST(Rewind, part_of_a_fleet_is_gpus_or_whole_nodes) {
  EXPECT_EQ(part_of(NodePool({100}), 0.9).gpus(), 90);
  EXPECT_EQ(part_of(NodePool({100}), 1).gpus(), 100);
  EXPECT_EQ(part_of(NodePool({2}), 0.1).gpus(), 1);
  NodePool ten = part_of(NodePool(std::vector<int>(10, 8)), 0.7);
  int up = 0;
  for (int n = 0; n < ten.nodes(); ++n) up += ten.is_up(n) ? 1 : 0;
  EXPECT_EQ(up, 7);
}

// Known waits: the model always has the right shape and half of the recorded wait.
TEST(Rewind, a_rewind_scales_to_the_recorded_waits) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 200; ++i) {
    jobs.push_back(a_job(i * 4000.0, 100, 8));
    jobs.push_back(a_job(i * 4000.0 + 10, 100, 8));  // waits 90 s for the first
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // Twice the wait in the first half; on odd days of the second a third more.
    const double truth = i % 2 == 0 ? 0 : 90;
    jobs[i].wait = seconds(2 * truth * (i >= 200 && i / 21 % 2 == 1 ? 1.5 : 1));
  }
  const auto r = rewind(jobs, NodePool({8}),
                        {.policies = {BackfillVariant::fifo},
                         .shares = {1},
                         .what_ifs = {{"twice", BackfillVariant::fifo, NodePool({16})},
                                      {"same", BackfillVariant::fifo, NodePool({8})}}});
  ASSERT_TRUE(r) << to_text(r.error());
  EXPECT_EQ(r->start_delay_s, 0);
  EXPECT_EQ(r->first.jobs, 200);
  EXPECT_EQ(r->second.jobs, 200);
  EXPECT_NEAR(r->first.simulated_s, 45, 1e-9);
  EXPECT_NEAR(r->first.recorded_s, 90, 1e-9);
  EXPECT_NEAR(r->first.error, 0.5, 1e-9) << "|45 - 90| of 90";
  EXPECT_NEAR(r->factor, r->second.recorded_s / 45, 1e-9);
  EXPECT_GT(r->factor, 2);
  EXPECT_LT(r->factor, 3);
  // Days are drawn again: the factor is between those of the even and of the odd ones.
  EXPECT_LT(r->factor_low, r->factor);
  EXPECT_GT(r->factor_high, r->factor);
  EXPECT_GE(r->factor_low, 2 - 1e-9);
  EXPECT_LE(r->factor_high, 3 + 1e-9);
  EXPECT_NEAR(r->answers[0].simulated_s, 0, 1e-9);
  EXPECT_NEAR(r->answers[1].mean_wait.value, 45 * r->factor, 1e-9);
  EXPECT_NEAR(r->answers[1].mean_wait.low, 45 * r->factor_low, 1e-9);
  EXPECT_NEAR(r->answers[1].mean_wait.high, 45 * r->factor_high, 1e-9);
  // Half a record is not enough: each half needs twenty.
  std::vector<JobRecord> half = jobs;
  for (std::size_t i = 200; i < half.size(); ++i) half[i].wait.reset();
  const auto none = rewind(half, NodePool({8}), {.policies = {BackfillVariant::fifo}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().code, "rewind.record");
  // A fleet on which jobs of the trace never fit cannot be the one that ran them.
  std::vector<JobRecord> wide = jobs;
  for (JobRecord& j : wide) j.wait = seconds(1000);  // as if far fewer GPUs had been there
  const auto kept =
      rewind(wide, NodePool({8}), {.policies = {BackfillVariant::fifo}, .shares = {1, 0.9}});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->share, 1);
}

JobRecord day_job(double submit, double wait, int gpus = 1) {
  JobRecord job{.submit = seconds(submit), .run = seconds(10), .limit = seconds(10), .gpus = gpus};
  if (wait >= 0) job.wait = seconds(wait);
  return job;
}

RewindOptions first_in_first_out() { return {.policies = {BackfillVariant::fifo}, .shares = {1}}; }

// Forty jobs on the first day; forty that waited 20 s and 60 s within one day from noon of the
// third day on. In the model the only wait is the delay of 10 s. One day, drawn again, is the same
// day.
TEST(Rewind, days_start_at_the_second_half) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(day_job(20.0 * i, 10));
  for (int i = 0; i < 20; ++i) jobs.push_back(day_job(2.5 * 86'400 + 20 * i, 20));
  for (int i = 0; i < 20; ++i) jobs.push_back(day_job(3.2 * 86'400 + 20 * i, 60));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->start_delay_s, 10);
  EXPECT_DOUBLE_EQ(r->first.error, 0);
  EXPECT_DOUBLE_EQ(r->second.recorded_s, 40);
  EXPECT_DOUBLE_EQ(r->second.simulated_s, 10);
  EXPECT_DOUBLE_EQ(r->second.error, 30.0 / 40);
  EXPECT_DOUBLE_EQ(r->factor, 4);
  EXPECT_DOUBLE_EQ(r->factor_low, 4);
  EXPECT_DOUBLE_EQ(r->factor_high, 4);
}

// A job without a recorded wait, and one that could not run: neither is compared, on any day.
TEST(Rewind, incomparable_days_have_no_weight) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 30; ++i) jobs.push_back(day_job(20.0 * i, 10));
  for (int i = 0; i < 28; ++i) jobs.push_back(day_job(1000 + 20.0 * i, 30));
  jobs.push_back(day_job(2000, -1));
  jobs.push_back(day_job(2020, 500, 81));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->first.jobs, 30);
  EXPECT_EQ(r->second.jobs, 28);
  EXPECT_DOUBLE_EQ(r->factor, 3);
  EXPECT_DOUBLE_EQ(r->factor_low, 3);
  EXPECT_DOUBLE_EQ(r->factor_high, 3);
}

// On the first day of the second half every other job waits 5 s in the model and waited 10 s; on
// the next day no job waits in the model, and all waited a second. A draw of only that day is
// useless: of the others, the lowest is 100 / 50 and the highest (100 + 20) / 50.
TEST(Rewind, days_without_waits_are_drawn_with_others) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(day_job(20.0 * i, 0));
  for (int i = 0; i < 10; ++i) {
    jobs.push_back(day_job(1000 + 100.0 * i, 0, 80));
    jobs.push_back(day_job(1005 + 100.0 * i, 10, 80));
  }
  for (int i = 0; i < 20; ++i) jobs.push_back(day_job(1000 + 86'400 + 20.0 * i, 1));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->start_delay_s, 0);
  EXPECT_DOUBLE_EQ(r->factor, 120.0 / 50);
  EXPECT_DOUBLE_EQ(r->factor_low, 2);
  EXPECT_DOUBLE_EQ(r->factor_high, 120.0 / 50);
}

// Forty days, of which two have ten waits of 5 s in the model, recorded as 10 s; on the others no
// job waits in the model and one waited 20 s. With both: (2 x 100 + 38 x 20) / 100. Draws without
// either are useless; those with one, (100 + 39 x 20) / 50, are more than a tenth.
TEST(Rewind, draws_without_waits_do_not_count) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 58; ++i) jobs.push_back(day_job(i, 0));
  for (int day = 0; day < 40; ++day) {
    const double noon = 1000 + 86'400.0 * day;
    for (int i = 0; i < 10 && day < 2; ++i) {
      jobs.push_back(day_job(noon + 100 * i, 0, 80));
      jobs.push_back(day_job(noon + 5 + 100 * i, 10, 80));
    }
    if (day >= 2) jobs.push_back(day_job(noon, 20));
  }
  jobs.insert(jobs.begin(), 78 - 58, day_job(0, 0));
  const auto r = rewind(jobs, NodePool({80}), first_in_first_out());
  ASSERT_TRUE(r);
  EXPECT_EQ(r->second.jobs, 78);
  EXPECT_DOUBLE_EQ(r->factor, 9.6);
  EXPECT_DOUBLE_EQ(r->factor_high, 17.6);
}

TEST(Rewind, each_half_needs_twenty_waits) {
  std::vector<JobRecord> jobs;
  for (int i = 0; i < 80; ++i) jobs.push_back(day_job(20.0 * i, i < 20 || i >= 40 ? 5 : -1));
  EXPECT_TRUE(rewind(jobs, NodePool({80}), first_in_first_out()));
  jobs[3].wait.reset();
  EXPECT_FALSE(rewind(jobs, NodePool({80}), first_in_first_out()));
}

// A cluster of 60 GPUs under EASY that loses work to failures, with the recorded waits. Limits are
// wrong by up to four times.
workload::JobTrace recorded(BackfillVariant policy, int gpus, std::uint64_t seed) {
  workload::JobMix mix{.jobs = 1200, .span = days(8), .day_swing = 0.7, .limit_factor = 4};
  mix.classes = {{.widths = {{1, 6}, {4, 2}, {8, 2}, {24, 0.5}},
                  .runs = {{0, seconds(60)}, {0.5, seconds(3000)}, {1, seconds(40'000)}}}};
  workload::JobTrace trace = workload::synthesize_jobs(mix, seed);
  const ReplayResult truth =
      replay_jobs(trace.jobs, NodePool({gpus}), {.queue = {.backfill = policy}, .seed = seed});
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    trace.jobs[i].wait = truth.waits[i] + seconds(5);
  }
  return trace;
}

double second_half_mean(const workload::JobTrace& trace, const ReplayResult& r) {
  double sum = 0;
  for (std::size_t i = trace.jobs.size() / 2; i < trace.jobs.size(); ++i)
    sum += r.waits[i].base() + 5;
  return sum / static_cast<double>(trace.jobs.size() - trace.jobs.size() / 2);
}

TEST(Rewind, finds_the_policy_and_fleet_of_a_trace) {
  const workload::JobTrace trace = recorded(BackfillVariant::easy, 57, 3);
  const NodePool fleet({60});  // 95 % of them were available
  const RewindOptions options{
      .policies = {BackfillVariant::fifo, BackfillVariant::easy},
      .what_ifs = {{"fifo", BackfillVariant::fifo, fleet},
                   {"a third more", BackfillVariant::easy, NodePool({80})}}};
  const auto r = rewind(trace.jobs, fleet, options);
  ASSERT_TRUE(r) << to_text(r.error());
  EXPECT_EQ(r->policy, BackfillVariant::easy);
  EXPECT_EQ(r->share, 0.95);
  EXPECT_EQ(r->start_delay_s, 5);
  EXPECT_LT(r->second.error, 0.01);
  EXPECT_NEAR(r->factor, 1, 0.01);
  const ReplayResult truth =
      replay_jobs(trace.jobs, NodePool({57}), {.queue = {.backfill = BackfillVariant::fifo}});
  EXPECT_NEAR(r->answers[0].mean_wait.value, second_half_mean(trace, truth), 5);
  EXPECT_LT(r->answers[1].mean_wait.value, r->second.recorded_s);
}

// The true policy is not among those tried: the error shows it, and the interval is wide.
TEST(Rewind, unknown_policies_are_reported) {
  const workload::JobTrace trace = recorded(BackfillVariant::unguarded, 60, 4);
  const auto r = rewind(trace.jobs, NodePool({60}),
                        {.policies = {BackfillVariant::fifo, BackfillVariant::easy},
                         .what_ifs = {{"easy", BackfillVariant::easy, NodePool({60})}}});
  ASSERT_TRUE(r);
  EXPECT_GT(r->second.error, 0.1);
  EXPECT_GT(r->factor_high / r->factor_low, 1.05);
  EXPECT_LE(r->answers[0].mean_wait.low, r->answers[0].mean_wait.value);
}

TEST(Rewind, a_trace_without_waits_is_refused) {
  workload::JobTrace trace = recorded(BackfillVariant::fifo, 60, 5);
  for (workload::JobRecord& job : trace.jobs) job.wait.reset();
  EXPECT_FALSE(rewind(trace.jobs, NodePool({60}), {.policies = {BackfillVariant::fifo}}));
}

// All fit at once under every policy and share: the first of equals is taken.
TEST(Rewind, ties_prefer_the_first_policy) {
  const auto jobs = without_rush(60, 20, [](int) { return 0.0; });
  const auto r = rewind(jobs, NodePool({80}),
                        {.policies = {BackfillVariant::fifo, BackfillVariant::easy},
                         .what_ifs = {{"too small", BackfillVariant::easy, NodePool({4})}}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->policy, BackfillVariant::fifo);
  EXPECT_EQ(r->share, 1);
  EXPECT_EQ(r->first.error, 0);
  EXPECT_EQ(r->first.jobs, 30);
  EXPECT_EQ(r->second.jobs, 30);
  EXPECT_EQ(r->second.recorded_s, 0);
  EXPECT_EQ(r->factor, 1);
  ASSERT_EQ(r->answers.size(), 1u);
  EXPECT_EQ(r->answers[0].simulated_s, 0);
}

// No job waits in the model, so each gets the start delay: the lower 5 % of the first half's waits
// of 0, 1, ... 400 s, 20 s. All are within one day, which drawn again is the same day.
TEST(Rewind, start_delay_and_daily_factor) {
  const auto jobs = without_rush(802, 20, [](int i) { return i < 401 ? double(400 - i) : 30.0; });
  const auto r = rewind(jobs, NodePool({80}), {.policies = {BackfillVariant::fifo}, .shares = {1}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->start_delay_s, 20);
  EXPECT_DOUBLE_EQ(r->first.recorded_s, 200);
  EXPECT_DOUBLE_EQ(r->first.simulated_s, 20);
  // Off by |20 - w|: 20 x 21 / 2 below and 380 x 381 / 2 above, of 400 x 401 / 2.
  EXPECT_NEAR(r->first.error, (210.0 + 72'390) / 80'200, 1e-12);
  EXPECT_DOUBLE_EQ(r->second.recorded_s, 30);
  EXPECT_NEAR(r->second.error, 0.5 * 2 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(r->factor, 1.5);
  EXPECT_NEAR(r->factor_low, 1.5, 1e-12);
  EXPECT_NEAR(r->factor_high, 1.5, 1e-12);
}

}  // namespace
}  // namespace orrery::rehearse
