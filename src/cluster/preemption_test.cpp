#include "cluster/preemption.h"

#include <gtest/gtest.h>

namespace orrery::cluster {
namespace {

RunningJob job(const char* name, int gpus, double since_s, int priority = 0) {
  return {.name = name,
          .gpus = gpus,
          .priority = priority,
          .since_checkpoint = seconds(since_s),
          .save = {},
          .saves_first = false,
          .requeue = seconds(60),
          .reload = seconds(40),
          .running = hours(10)};
}

TEST(Preemption, CostByHand) {
  EXPECT_EQ(preemption_cost(job("a", 8, 900)), seconds(8 * 1000));
  RunningJob saver = job("b", 8, 900);
  saver.saves_first = true;
  saver.save = seconds(20);
  EXPECT_EQ(preemption_cost(saver), seconds(8 * 120));
}

TEST(Preemption, TakesTheCheapestForEachGpu) {
  const RunningJob jobs[] = {job("old", 8, 3000), job("fresh", 8, 30), job("big", 64, 300)};
  const PreemptionPlan plan = choose_victims(jobs, {.gpus = 8, .priority = 1});
  ASSERT_TRUE(plan.enough);
  EXPECT_EQ(plan.victims, (std::vector<std::size_t>{1}));
  EXPECT_EQ(plan.lost, seconds(8 * 130));
}

TEST(Preemption, SparesWhomTheRestMadeNeedless) {
  // The small one comes first by cost, but the big one alone is needed and enough.
  const RunningJob jobs[] = {job("small", 4, 10), job("big", 64, 300)};
  const PreemptionPlan plan = choose_victims(jobs, {.gpus = 32, .priority = 1});
  ASSERT_TRUE(plan.enough);
  EXPECT_EQ(plan.victims, (std::vector<std::size_t>{1}));
  EXPECT_EQ(plan.gpus_freed, 64);
  EXPECT_EQ(plan.lost, preemption_cost(jobs[1]));
}

TEST(Preemption, PriorityAndMinimumRuntimeProtect) {
  RunningJob young = job("young", 8, 10);
  young.running = minutes(30);
  const RunningJob jobs[] = {young, job("equal", 8, 10, 1)};
  const PreemptionPlan plan =
      choose_victims(jobs, {.gpus = 8, .priority = 1, .minimum_runtime = hours(2)});
  EXPECT_FALSE(plan.enough);
  EXPECT_TRUE(plan.victims.empty());
}

}  // namespace
}  // namespace orrery::cluster
