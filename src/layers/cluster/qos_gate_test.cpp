#include "layers/cluster/qos_gate.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/quota_gate.h"

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
  EXPECT_FALSE(q.gate.admits(q.job(q.normal, 7, 16)));  // five of four
  EXPECT_TRUE(q.gate.passes_over(q.job(q.normal, 7, 16)));
  EXPECT_TRUE(q.gate.admits(q.job(q.normal, 7, 8)));
  EXPECT_TRUE(q.gate.admits(q.job(q.normal, 8, 24)));   // another user: six of six
  EXPECT_FALSE(q.gate.admits(q.job(q.normal, 8, 25)));  // four nodes, seven of six
  EXPECT_FALSE(q.gate.passes_over(q.job(q.normal, 8, 25)));
  EXPECT_TRUE(q.gate.admits(q.job(q.free, 7, 40)));
  q.gate.ended(wide);
  for (int i = 0; i < 3; ++i) q.gate.started(q.job(q.normal, 7, 1));
  EXPECT_FALSE(q.gate.admits(q.job(q.normal, 7, 1)));  // a fourth job
  EXPECT_FALSE(q.gate.could_admit(q.normal, 33));      // five nodes for one user
  EXPECT_TRUE(q.gate.could_admit(q.free, 64));
}

TEST(QosGate, the_room_agrees_with_the_gate) {
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

// A user at the limit does not have the one promise of EASY: the wide job of another has it.
TEST(QosGate, who_is_at_the_users_limit_holds_nobody_back) {
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
    jobs.push_back(q.job(q.normal, 7, 1));   // at the limit
    jobs.push_back(q.job(q.normal, 8, 16));  // wide: both nodes
    jobs.push_back(q.job(q.normal, 9, 8));   // would take the second for too long
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

}  // namespace
}  // namespace orrery::cluster
