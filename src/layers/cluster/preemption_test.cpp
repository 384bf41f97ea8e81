#include "layers/cluster/preemption.h"

#include <gtest/gtest.h>

#include "layers/cluster/backfill.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/mig_pool.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

sim::SimTime after_s(double s) { return sim::SimTime::from(seconds(s)); }

// Running jobs at t=10,000 s, and one waiting job.
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

TEST(Preemption, preemption_cost_of_a_gang) {
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

TEST(Preemption, takes_the_cheapest_for_each_gpu) {
  VictimScene s{NodePool({80})};
  s.run(8, 3000);
  const JobIndex fresh = s.run(8, 30);
  s.run(64, 300);
  const auto plan = s.choose(8, {.requeue = seconds(60), .reload = seconds(40)});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, Victims{fresh});
  EXPECT_EQ(plan->lost, seconds(8 * 130));
}

TEST(Preemption, unnecessary_victims_are_spared) {
  VictimScene s{NodePool({68})};
  s.run(4, 10);
  const JobIndex big = s.run(64, 300);
  const auto plan = s.choose(32);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, Victims{big});
}

// Two jobs of 4 fill one node of 8, and two others fill half of two more. Only the two on one node
// help a job that wants a whole node.
TEST(Preemption, preemption_frees_a_place_and_not_a_count) {
  VictimScene s{NodePool({8, 8})};
  s.run(4, 50);                     // node 0
  s.run(4, 500);                    // node 0
  const JobIndex c = s.run(5, 60);  // node 1
  const auto plan = s.choose(8);
  ASSERT_TRUE(plan);
  // A alone frees no whole node; C does, together with what is free.
  EXPECT_EQ(plan->victims, Victims{c});
}

// Slurm preempted a one-node job that had run longer, and not a younger one of two nodes.
TEST(Preemption, slurm_takes_the_smallest) {
  VictimScene s{NodePool({8, 8, 8})};
  const JobIndex narrow = s.run(8, 500);
  const JobIndex wide = s.run(16, 20);
  EXPECT_EQ(s.choose(8)->victims, Victims{wide});
  EXPECT_EQ(s.choose(8, {.order = VictimOrder::fewest_nodes})->victims, Victims{narrow});
}

TEST(Preemption, tier_and_minimum_runtime_protect) {
  VictimScene s{NodePool({16})};
  s.run(8, 1800);
  s.run(8, 10'000, 1);
  EXPECT_FALSE(s.choose(8, {.minimum_runtime = hours(2)}));
  EXPECT_TRUE(s.choose(8));
}

// 16 GPUs and a limit of 6, all used by three running jobs (1, 2 and 3 GPUs, dearer in that order).
// A job of 4 needs 4 of the limit. Sparing the second leaves 1 + 3 freed, so the first cannot be
// spared as well.
TEST(Preemption, spared_victim_counts_for_the_next) {
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 6});
  NodePool pool({16});
  std::vector<QueuedJob> jobs;
  std::vector<RunningEnd> running;
  for (const int gpus : {1, 2, 3}) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = at_s(10'000), .started = at_s(1000 - 100 * gpus)};
    ASSERT_TRUE(pool.place(job.ask, nullptr, job.shares));
    pool.take(job.shares);
    gate.started(job);
    running.push_back({.end = at_s(20'000), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
  }
  jobs.push_back({.ask = {.gpus = 4}});
  jobs.back().tier = 1;
  const std::vector<JobIndex> waiting{3};
  const QueueView view{
      .now = at_s(1000), .jobs = jobs, .waiting = waiting, .running = running, .gate = &gate};
  PreemptionRules rules{.requeue = seconds(120), .reload = seconds(30)};
  const auto plan = choose_victims(3, view, pool, rules);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->victims, (std::vector<JobIndex>{0, 2}));
  // 1 x (100 + 150) + 3 x (300 + 150).
  EXPECT_DOUBLE_EQ(plan->lost.base(), 250 + 1350);
  rules.minimum_runtime = seconds(100);  // the first has run exactly that long
  EXPECT_EQ(choose_victims(3, view, pool, rules)->victims, (std::vector<JobIndex>{0, 2}));
  rules.minimum_runtime = seconds(101);  // the others free 5 of the limit, which is enough
  EXPECT_EQ(choose_victims(3, view, pool, rules)->victims, (std::vector<JobIndex>{1, 2}));
  rules.minimum_runtime = seconds(201);
  EXPECT_FALSE(choose_victims(3, view, pool, rules));
}

TEST(Preemption, preemption_cost) {
  const QueuedJob job{.ask = {.gpus = 6}, .started = at_s(100)};
  const auto cost = [&](const PreemptionRules& r) {
    return preemption_cost(job, at_s(1850), r).base();
  };
  EXPECT_DOUBLE_EQ(cost({}), 6 * 1750);
  EXPECT_DOUBLE_EQ(cost({.checkpoint = seconds(600)}), 6 * 550);  // 1750 - 2 x 600
  EXPECT_DOUBLE_EQ(cost({.checkpoint = seconds(600),
                         .saves_first = true,
                         .save = seconds(40),
                         .requeue = seconds(7),
                         .reload = seconds(3)}),
                   6 * 50);
}

}  // namespace
}  // namespace orrery::cluster
