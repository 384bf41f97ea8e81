#include "study/rehearse/rewind.h"

#include <gtest/gtest.h>

#include "core/workload/job_synthesis.h"

namespace orrery::rehearse {
namespace {

using cluster::BackfillVariant;
using cluster::NodePool;

// A cluster of 60 GPUs under EASY that loses work to failures; its accounting says so many waited
// so long. Limits are wrong by up to four times.
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

TEST(Rewind, FindsThePolicyAndTheGpusThatWereThere) {
  const workload::JobTrace trace = recorded(BackfillVariant::easy, 57, 3);
  const NodePool fleet({60});  // 95 % of it were there to use
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

// The true policy is not among those tried: the error says so, and the interval is wide.
TEST(Rewind, SaysWhenItDoesNotKnow) {
  const workload::JobTrace trace = recorded(BackfillVariant::unguarded, 60, 4);
  const auto r = rewind(trace.jobs, NodePool({60}),
                        {.policies = {BackfillVariant::fifo, BackfillVariant::easy},
                         .what_ifs = {{"easy", BackfillVariant::easy, NodePool({60})}}});
  ASSERT_TRUE(r);
  EXPECT_GT(r->second.error, 0.1);
  EXPECT_GT(r->factor_high / r->factor_low, 1.05);
  EXPECT_LE(r->answers[0].mean_wait.low, r->answers[0].mean_wait.value);
}

TEST(Rewind, RefusesATraceWithoutWaits) {
  workload::JobTrace trace = recorded(BackfillVariant::fifo, 60, 5);
  for (workload::JobRecord& job : trace.jobs) job.wait.reset();
  EXPECT_FALSE(rewind(trace.jobs, NodePool({60}), {.policies = {BackfillVariant::fifo}}));
}

}  // namespace
}  // namespace orrery::rehearse
