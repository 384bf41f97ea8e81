#include "layers/cluster/qos_gate.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "layers/cluster/backfill.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

struct TwoQos {
  TwoQos() : gate(quotas, 8) {
    quotas.add_group(0, {.tenant = "", .guaranteed = 64, .may_borrow = 64});
    normal = gate.add({.nodes = 6, .nodes_per_user = 4, .jobs_per_user = 3});
    free = gate.add({});
  }
  QueuedJob job(int qos, std::uint64_t user, int gpus) {
    QueuedJob j{.ask = {.gpus = gpus}, .limit = sim::SimTime::from(hours(1))};
    j.qos = static_cast<std::uint16_t>(qos);
    j.qos_seat = gate.seat_of(qos, user);
    return j;
  }

  QuotaGate quotas;
  QosGate gate;
  int normal = 0;
  int free = 0;
};

TEST(QosGate, counts_nodes_and_jobs_of_a_user_and_nodes_of_all) {
  TwoQos q;
  const QueuedJob wide = q.job(q.normal, 7, 24);  // three nodes
  EXPECT_TRUE(q.gate.admits(wide));
  q.gate.started(wide);
  EXPECT_FALSE(q.gate.admits(q.job(q.normal, 7, 16)));  // five nodes of four
  EXPECT_TRUE(q.gate.passes_over(q.job(q.normal, 7, 16)));
  EXPECT_TRUE(q.gate.admits(q.job(q.normal, 7, 8)));
  EXPECT_TRUE(q.gate.admits(q.job(q.normal, 8, 24)));   // another user: six of six
  EXPECT_FALSE(q.gate.admits(q.job(q.normal, 8, 25)));  // four nodes would make seven of six
  EXPECT_FALSE(q.gate.passes_over(q.job(q.normal, 8, 25)));
  EXPECT_TRUE(q.gate.admits(q.job(q.free, 7, 40)));
  q.gate.ended(wide);
  for (int i = 0; i < 3; ++i) q.gate.started(q.job(q.normal, 7, 1));
  EXPECT_FALSE(q.gate.admits(q.job(q.normal, 7, 1)));  // a fourth job
  EXPECT_FALSE(q.gate.could_admit(q.normal, 33));      // five nodes for one user
  EXPECT_TRUE(q.gate.could_admit(q.free, 64));
}

TEST(QosGate, room_agrees_with_the_gate) {
  RandomStream random(3, "qos");
  TwoQos q;
  for (std::uint64_t user = 0; user < 3; ++user) {
    for (const int qos : {q.normal, q.free}) q.gate.seat_of(qos, user);
  }
  LimitRoom room;
  room.reset(&q.gate);
  std::vector<QueuedJob> in;
  for (int i = 0; i < 2000; ++i) {
    const QueuedJob job = q.job(random.below(2) == 0 ? q.normal : q.free, random.below(3),
                                1 + static_cast<int>(random.below(20)));
    ASSERT_EQ(room.admits(job), q.gate.admits(job)) << i;
    if (q.gate.admits(job)) {
      q.gate.started(job);
      room.take(job);
      in.push_back(job);
    } else if (!in.empty()) {
      q.gate.ended(in.front());
      room.give(in.front());
      in.erase(in.begin());
    }
  }
}

// A user at the limit does not get EASY's one promise; another user's wide job gets it.
TEST(QosGate, user_at_the_limit_delays_no_other) {
  for (const BackfillVariant variant : {BackfillVariant::easy, BackfillVariant::slurm}) {
    TwoQos q;
    NodePool pool({8, 8});
    std::vector<QueuedJob> jobs{q.job(q.normal, 7, 1), q.job(q.normal, 7, 1),
                                q.job(q.normal, 7, 1)};
    std::vector<RunningEnd> running;
    for (JobIndex j = 0; j < 3; ++j) {
      ASSERT_TRUE(pool.place(jobs[j].ask, nullptr, jobs[j].shares));
      pool.take(jobs[j].shares);
      q.gate.started(jobs[j]);
      running.push_back({.end = sim::SimTime::from(hours(1)), .job = j});
    }
    jobs.push_back(q.job(q.normal, 7, 1));   // user at the limit
    jobs.push_back(q.job(q.normal, 8, 16));  // wide: both nodes
    jobs.push_back(q.job(q.normal, 9, 8));   // would use the second node for too long
    jobs.back().limit = sim::SimTime::from(hours(2));
    const std::vector<JobIndex> waiting{3, 4, 5};
    const auto policy = make_policy(variant, {});
    Starts starts;
    const QueueView view{.jobs = jobs, .waiting = waiting, .running = running, .gate = &q.gate};
    policy->decide(view, pool, starts);
    EXPECT_TRUE(starts.jobs.empty()) << word_of(variant);
    if (variant == BackfillVariant::easy) {
      EXPECT_EQ(policy->promised(4), sim::SimTime::from(hours(1)));
    }
  }
}

// A gate in front of quotas has their limits plus one per QOS and two per user of a QOS.
TEST(QosGate, qos_limits_follow_quota_limits) {
  QuotaGate quotas;
  quotas.add_group(0, {.tenant = "a", .guaranteed = 100});
  const std::size_t behind = quotas.limits();
  QosGate gate(quotas, 8);
  EXPECT_EQ(gate.limits(), behind);
  const int first = gate.add({.nodes = 10, .nodes_per_user = 4, .jobs_per_user = 3});
  const int second = gate.add({});
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  EXPECT_EQ(gate.limits(), behind + 2);
  const std::uint32_t ann = gate.seat_of(first, 7);
  const std::uint32_t bob = gate.seat_of(first, 8);
  EXPECT_EQ(gate.seat_of(first, 7), ann);
  EXPECT_EQ(gate.limits(), behind + 2 + 4);
  QueuedJob job{.ask = {.gpus = 9}};  // needs two nodes of eight
  job.qos = static_cast<std::uint16_t>(first);
  job.qos_seat = bob;
  gate.started(job);
  std::vector<double> left;
  gate.add_left(left);
  ASSERT_EQ(left.size(), gate.limits());
  EXPECT_EQ(left[behind], 8) << "of the QOS";
  EXPECT_TRUE(left[behind + 1] > 1e6) << "the second has no limit";
  EXPECT_EQ(left[behind + 2], 4) << "of Ann";
  EXPECT_EQ(left[behind + 3], 3);
  EXPECT_EQ(left[behind + 4], 2) << "of Bob";
  EXPECT_EQ(left[behind + 5], 2);
  std::vector<std::pair<std::uint32_t, double>> uses;
  for (const LimitUse& u : gate.uses_of(job)) uses.emplace_back(u.limit, u.amount);
  const auto at = static_cast<std::uint32_t>(behind);
  ASSERT_GE(uses.size(), 3U);
  const std::vector<std::pair<std::uint32_t, double>> own(uses.end() - 3, uses.end());
  EXPECT_EQ(own, (std::vector<std::pair<std::uint32_t, double>>{
                     {at, 2.0}, {at + 4, 2.0}, {at + 5, 1.0}}));
  EXPECT_FALSE(gate.passes_over(job));
  job.ask.gpus = 17;  // three nodes, but Bob has two left
  EXPECT_TRUE(gate.passes_over(job));
  EXPECT_FALSE(gate.admits(job));
  job.qos_seat = ann;
  EXPECT_TRUE(gate.admits(job));
  job.qos = 0;
  gate.started(job);
  left.clear();
  gate.add_left(left);
  EXPECT_EQ(left[behind], 8) << "without a QOS it counts for none";
  EXPECT_EQ(left[behind + 2], 4);
  EXPECT_EQ(left[behind + 3], 3);
  EXPECT_TRUE(gate.admits(job));
  EXPECT_FALSE(gate.passes_over(job));
  EXPECT_TRUE(gate.could_admit(0, 1'000'000)) << "no QOS, no limit";
  EXPECT_TRUE(gate.could_admit(first, 32));
  EXPECT_FALSE(gate.could_admit(first, 33));
  EXPECT_TRUE(gate.could_admit(second, 33));
}

}  // namespace
}  // namespace orrery::cluster
