#include "layers/cluster/preemption.h"

#include <gtest/gtest.h>

namespace orrery::cluster {
namespace {

sim::SimTime after_s(double s) { return sim::SimTime::from(seconds(s)); }

// Running jobs at t=10,000 s, and one that waits.
struct VictimScene {
  explicit VictimScene(NodePool nodes) : pool(std::move(nodes)) {}
  JobIndex run(int gpus, double since_s, int tier = 0) {
    QueuedJob job{
        .ask = {.gpus = gpus}, .limit = after_s(100'000), .started = after_s(10'000 - since_s)};
    job.tier = static_cast<std::uint8_t>(tier);
    EXPECT_TRUE(pool.place(job.ask, nullptr, job.shares));
    pool.take(job.shares);
    running.push_back({.end = after_s(200'000), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
    return running.back().job;
  }
  std::optional<PreemptionPlan> choose(int gpus, const PreemptionRules& rules = {}) {
    jobs.push_back({.ask = {.gpus = gpus}, .limit = after_s(100), .tier = 1});
    const JobIndex job = static_cast<JobIndex>(jobs.size() - 1);
    return choose_victims(job, {.now = after_s(10'000), .jobs = jobs, .running = running}, pool,
                          rules);
  }

  NodePool pool;
  std::vector<QueuedJob> jobs;
  std::vector<RunningEnd> running;
};

using Victims = std::vector<JobIndex>;

TEST(Preemption, CostByHand) {
  const QueuedJob job{.ask = {.gpus = 8}, .started = after_s(0)};
  const PreemptionRules plain{.requeue = seconds(60), .reload = seconds(40)};
  EXPECT_EQ(preemption_cost(job, after_s(900), plain), seconds(8 * 1000));
  PreemptionRules saved = plain;
  saved.checkpoint = seconds(400);
  EXPECT_EQ(preemption_cost(job, after_s(900), saved), seconds(8 * 200));
  saved.saves_first = true;
  saved.save = seconds(20);
  EXPECT_EQ(preemption_cost(job, after_s(900), saved), seconds(8 * 120));
}

TEST(Preemption, TakesTheCheapestForEachGpu) {
  VictimScene s{NodePool({80})};
  s.run(8, 3000);
  const JobIndex fresh = s.run(8, 30);
  s.run(64, 300);
  const auto plan = s.choose(8, {.requeue = seconds(60), .reload = seconds(40)});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, Victims{fresh});
  EXPECT_EQ(plan->lost, seconds(8 * 130));
}

TEST(Preemption, SparesWhomTheRestMadeNeedless) {
  VictimScene s{NodePool({68})};
  s.run(4, 10);
  const JobIndex big = s.run(64, 300);
  const auto plan = s.choose(32);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, Victims{big});
}

// Two jobs of 4 fill one node of 8 and two others half of two more: only together on one node do
// their GPUs help a job that wants a whole one.
TEST(Preemption, WantsThePlaceAndNotTheCount) {
  VictimScene s{NodePool({8, 8})};
  s.run(4, 50);                     // node 0
  s.run(4, 500);                    // node 0
  const JobIndex c = s.run(5, 60);  // node 1
  const auto plan = s.choose(8);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, Victims{c});  // A alone frees nothing whole, C does with what is free
}

// Slurm took a job of one node that had run longer, and left a younger one of two nodes alone.
TEST(Preemption, SlurmTakesTheSmallest) {
  VictimScene s{NodePool({8, 8, 8})};
  const JobIndex narrow = s.run(8, 500);
  const JobIndex wide = s.run(16, 20);
  EXPECT_EQ(s.choose(8)->victims, Victims{wide});
  EXPECT_EQ(s.choose(8, {.order = VictimOrder::fewest_nodes})->victims, Victims{narrow});
}

TEST(Preemption, TierAndMinimumRuntimeProtect) {
  VictimScene s{NodePool({16})};
  s.run(8, 1800);
  s.run(8, 10'000, 1);
  EXPECT_FALSE(s.choose(8, {.minimum_runtime = hours(2)}));
  EXPECT_TRUE(s.choose(8));
}

}  // namespace
}  // namespace orrery::cluster
