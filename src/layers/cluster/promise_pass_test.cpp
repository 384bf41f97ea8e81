#include "layers/cluster/promise_pass.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::cluster {
namespace {

sim::SimTime at_second(int s) { return sim::SimTime::nanoseconds(std::int64_t{s} * 1'000'000'000); }
using Begun = std::vector<JobIndex>;

// A queue that a test moves through time by hand.
struct Line {
  Line(NodePool nodes, std::unique_ptr<QueuePolicy> p)
      : pool(std::move(nodes)), policy(std::move(p)) {}

  void run(int gpus, int end) {
    const JobIndex job = wait(gpus, end);
    std::erase(waiting, job);
    EXPECT_TRUE(pool.place(jobs[job].ask, nullptr, jobs[job].shares));
    pool.take(jobs[job].shares);
    add_running(job, at_second(end));
  }
  JobIndex wait(int gpus, int limit) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back(
        {.ask = {.gpus = gpus}, .limit = at_second(limit), .submitted = at_second(int(job))});
    waiting.push_back(job);
    return job;
  }
  void end(JobIndex job, bool early) {
    pool.give(jobs[job].shares);
    std::erase_if(running, [job](const RunningEnd& r) { return r.job == job; });
    surprises += early ? 1 : 0;
  }
  Begun decide(int now) {
    Starts starts;
    policy->decide({.now = at_second(now),
                    .jobs = jobs,
                    .waiting = waiting,
                    .running = running,
                    .surprises = surprises},
                   pool, starts);
    Begun who;
    for (const Starts::One& one : starts.jobs) {
      who.push_back(one.job);
      jobs[one.job].shares.assign(starts.of(one).begin(), starts.of(one).end());
      jobs[one.job].started = at_second(now);
      add_running(one.job, at_second(now) + jobs[one.job].limit);
      std::erase(waiting, one.job);
    }
    return who;
  }
  void add_running(JobIndex job, sim::SimTime when) {
    running.push_back({.end = when, .job = job});
    std::ranges::stable_sort(running, {}, &RunningEnd::end);
  }

  NodePool pool;
  std::unique_ptr<QueuePolicy> policy;
  std::vector<QueuedJob> jobs;
  Begun waiting;
  std::vector<RunningEnd> running;
  std::uint64_t surprises = 0;
};

std::unique_ptr<QueuePolicy> conservative() { return std::make_unique<ConservativePass>(); }

// 10 GPUs, 6 run until t=100. A (8 GPUs, 50 s) is promised t=100, B (6, 50 s) t=150, C (4, 120 s)
// the four that B leaves at t=150. D (2, 130 s) starts now: A leaves it two until it ends. E (2,
// 140 s) finds D and A in its way at t=100, B and C at t=150.
TEST(Conservative, ByHand) {
  Line q(NodePool({10}), conservative());
  q.run(6, 100);
  const JobIndex a = q.wait(8, 50);
  const JobIndex b = q.wait(6, 50);
  const JobIndex c = q.wait(4, 120);
  const JobIndex d = q.wait(2, 130);
  const JobIndex e = q.wait(2, 140);
  EXPECT_EQ(q.decide(0), Begun{d});
  EXPECT_EQ(q.policy->promised(a), at_second(100));
  EXPECT_EQ(q.policy->promised(b), at_second(150));
  EXPECT_EQ(q.policy->promised(c), at_second(150));  // 10 - 6 of B leaves 4
  EXPECT_EQ(q.policy->promised(e), at_second(200));
}

// What EASY does not promise: job B. EASY lets C delay it, conservative does not.
TEST(Conservative, KeepsTheSecondsPromiseToo) {
  const auto scene = [](std::unique_ptr<QueuePolicy> policy) {
    Line q(NodePool({10}), std::move(policy));
    q.run(5, 100);   // 5 are free
    q.wait(6, 50);   // A: at t=100, surplus 4
    q.wait(10, 10);  // B: at t=150
    q.wait(4, 500);  // C: within A's surplus, but in B's way
    return q.decide(0);
  };
  EXPECT_EQ(scene(std::make_unique<QueuePass>(BackfillVariant::easy)), Begun{3});
  EXPECT_EQ(scene(conservative()), Begun{});
}

// An early end moves promises forward, never back. 4 GPUs: 4 run until t=100. A (3, 100 s) at
// t=100, B (4, 10 s) at t=200, C (1, 100 s) beside A at t=100. At t=50 all is free: A and C start.
TEST(Conservative, AnEarlyEndMovesPromisesForward) {
  Line q(NodePool({4}), conservative());
  q.run(4, 100);
  const JobIndex a = q.wait(3, 100);
  const JobIndex b = q.wait(4, 10);
  const JobIndex c = q.wait(1, 100);
  EXPECT_EQ(q.decide(0), Begun{});
  EXPECT_EQ(q.policy->promised(b), at_second(200));
  EXPECT_EQ(q.policy->promised(c), at_second(100));
  q.end(0, true);
  EXPECT_EQ(q.decide(50), (Begun{a, c}));
  EXPECT_EQ(q.policy->promised(b), at_second(150));
}

TEST(Conservative, PlacesNodeByNode) {
  Line q(NodePool({4, 4}), conservative());
  q.run(4, 100);                      // node 0
  q.run(2, 50);                       // node 1
  const JobIndex a = q.wait(4, 100);  // node 1 at t=50
  const JobIndex b = q.wait(2, 50);   // before it on node 1
  const JobIndex c = q.wait(2, 51);   // a second too long there: node 0 at t=100
  EXPECT_EQ(q.decide(0), Begun{b});
  EXPECT_EQ(q.policy->promised(a), at_second(50));
  EXPECT_EQ(q.policy->promised(c), at_second(100));
}

// A (8 on nodes 0 and 1) is promised t=100. Node 0 is lost: A needs node 2, at t=500, and what it
// was promised on node 1 is another's. B finds it there at t=100.
TEST(Conservative, AGangThatLostANodeKeepsNoneOfItsPromise) {
  Line q(NodePool({4, 4, 4}), conservative());
  q.run(4, 100);
  q.run(4, 100);
  q.run(4, 500);
  const JobIndex a = q.wait(8, 50);
  const JobIndex b = q.wait(4, 10);
  EXPECT_EQ(q.decide(0), Begun{});
  EXPECT_EQ(q.policy->promised(a), at_second(100));
  EXPECT_EQ(q.policy->promised(b), at_second(150));
  q.pool.set_up(0, false);
  q.end(0, true);
  EXPECT_EQ(q.decide(50), Begun{});
  EXPECT_EQ(q.policy->promised(a), at_second(500));
  EXPECT_EQ(q.policy->promised(b), at_second(100));
}

// Who runs past its limit may end at any moment, a second from now; its GPUs are not free.
TEST(Conservative, APromiseThatFellDueWithItsGpusStillUsedSlips) {
  Line q(NodePool({4}), conservative());
  q.run(4, 100);
  const JobIndex a = q.wait(4, 50);
  EXPECT_EQ(q.decide(0), Begun{});
  EXPECT_EQ(q.policy->wake(), at_second(100));
  EXPECT_EQ(q.decide(120), Begun{});
  EXPECT_EQ(q.policy->promised(a), at_second(121));
  q.end(0, true);
  EXPECT_EQ(q.decide(121), Begun{a});
  EXPECT_TRUE(q.policy->promised(a).is_never());
  EXPECT_TRUE(q.policy->wake().is_never());
}

// An index that is used again names another job: the promise was not its own.
TEST(Conservative, APromiseIsOfAJobAndNotOfItsNumber) {
  Line q(NodePool({4}), conservative());
  q.run(4, 100);
  const JobIndex a = q.wait(4, 50);
  const JobIndex b = q.wait(4, 50);
  q.decide(0);
  EXPECT_EQ(q.policy->promised(b), at_second(150));
  q.jobs[a].submitted = at_second(10);  // a was taken away; this came in its stead, behind b
  std::swap(q.waiting[0], q.waiting[1]);
  ++q.surprises;
  q.decide(20);
  EXPECT_EQ(q.policy->promised(b), at_second(100));
  EXPECT_EQ(q.policy->promised(a), at_second(150));
}

TEST(Slurm, StartsInOrderAtOnceAndBackfillsOnItsPeriod) {
  Line q(NodePool({10}), std::make_unique<SlurmPass>(PeriodicBounds{}));
  q.run(6, 600);
  const JobIndex head = q.wait(8, 300);
  const JobIndex brief_one = q.wait(2, 500);
  EXPECT_EQ(q.decide(5), Begun{});
  EXPECT_EQ(q.policy->wake(), at_second(30));
  EXPECT_EQ(q.decide(30), Begun{brief_one});
  EXPECT_EQ(q.policy->promised(head), at_second(600));
}

TEST(Slurm, TestsNoMoreJobsThanItsBound) {
  PeriodicBounds bounds;
  bounds.max_job_test = 2;
  Line q(NodePool({10}), std::make_unique<SlurmPass>(bounds));
  q.run(6, 600);
  q.wait(8, 300);
  q.wait(8, 300);
  q.wait(1, 60);  // would fit, but is third
  q.decide(0);
  EXPECT_EQ(q.decide(30), Begun{});
  const JobIndex second = q.wait(1, 60);
  std::swap(q.waiting[1], q.waiting.back());
  EXPECT_EQ(q.decide(60), Begun{});  // something happened: the next period looks ahead
  EXPECT_EQ(q.decide(90), Begun{second});
}

// A head that starts beyond bf_window is promised nothing: a long job takes its place.
TEST(Slurm, PromisesNothingBeyondItsWindow) {
  for (const bool is_within : {true, false}) {
    PeriodicBounds bounds;
    bounds.window = at_second(is_within ? 700 : 500);
    Line q(NodePool({10}), std::make_unique<SlurmPass>(bounds));
    q.run(6, 600);
    q.wait(8, 300);
    const JobIndex endless = q.wait(4, 100'000);
    q.decide(0);
    EXPECT_EQ(q.decide(30), is_within ? Begun{} : Begun{endless});
  }
}

// Ends are cut down to bf_resolution: one at t=100 counts as t=60, so that the head is promised
// t=60 and a job that would end at t=90 is in its way.
TEST(Slurm, CutsTimesToItsGrid) {
  for (const int resolution : {60, 1}) {
    PeriodicBounds bounds;
    bounds.resolution = at_second(resolution);
    Line q(NodePool({2}), std::make_unique<SlurmPass>(bounds));
    q.run(1, 100);
    q.wait(2, 300);
    const JobIndex brief_one = q.wait(1, 60);
    q.decide(0);
    EXPECT_EQ(q.decide(30), resolution == 60 ? Begun{} : Begun{brief_one});
  }
}

}  // namespace
}  // namespace orrery::cluster
