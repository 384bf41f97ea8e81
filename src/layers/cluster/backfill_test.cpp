#include "layers/cluster/backfill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace orrery::cluster {
namespace {

sim::SimTime at_s(int s) { return sim::SimTime::nanoseconds(std::int64_t{s} * 1'000'000'000); }

// A queue at one instant, by hand: jobs that run until their limit, jobs that wait.
struct BackfillScene {
  explicit BackfillScene(NodePool nodes) : pool(std::move(nodes)) {}

  void run(int gpus, int end) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = at_s(end)};
    EXPECT_TRUE(pool.place(job.ask, nullptr, job.shares));
    pool.take(job.shares);
    running.push_back({.end = at_s(end), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
    std::ranges::stable_sort(running, {}, &RunningEnd::end);
  }
  JobIndex wait(int gpus, int limit) {
    waiting.push_back(static_cast<JobIndex>(jobs.size()));
    jobs.push_back({.ask = {.gpus = gpus}, .limit = at_s(limit)});
    return waiting.back();
  }
  std::vector<JobIndex> decide(QueuePass& pass, int now = 0) {
    Starts starts;
    pass.decide({.now = at_s(now), .jobs = jobs, .waiting = waiting, .running = running}, pool,
                starts);
    std::vector<JobIndex> who;
    for (const Starts::One& one : starts.jobs) who.push_back(one.job);
    return who;
  }
  std::vector<JobIndex> decide(BackfillVariant variant) {
    QueuePass pass(variant);
    return decide(pass);
  }

  NodePool pool;
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
};

using Started = std::vector<JobIndex>;

// 10 GPUs: 4 run until t=100, 3 until t=50, 3 are free; the head needs 8, so its shadow is t=100
// and 2 are left over then.
BackfillScene ten() {
  BackfillScene s{NodePool({10})};
  s.run(4, 100);
  s.run(3, 50);
  s.wait(8, 10);
  return s;
}

TEST(Backfill, FifoLetsNobodyPass) {
  BackfillScene s = ten();
  s.wait(1, 1);
  EXPECT_EQ(s.decide(BackfillVariant::fifo), Started{});
}

TEST(Backfill, EasyLetsPassWhatEndsInTimeOrFitsTheSurplus) {
  BackfillScene s = ten();
  const JobIndex in_time = s.wait(3, 100);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{in_time});

  BackfillScene late = ten();
  late.wait(3, 101);                                // one second too long, one GPU too wide
  late.wait(4, 1);                                  // does not fit now
  const JobIndex narrow = late.wait(2, 1'000'000);  // the surplus
  late.wait(1, 1'000'000);                          // which is used up
  EXPECT_EQ(late.decide(BackfillVariant::easy), Started{narrow});
}

TEST(Backfill, JobsThatEndTogetherCountTogether) {
  BackfillScene s{NodePool({10})};
  s.run(3, 50);
  s.run(4, 50);
  s.wait(5, 10);                                 // 3 free; at t=50 all 10: 5 are left over
  const JobIndex narrow = s.wait(3, 1'000'000);  // by the first end alone only 1 would be
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{narrow});
}

TEST(Backfill, ASurplusIsKnownNodeByNode) {
  // Two nodes of 4: node 0 runs 4 until t=100, node 1 runs 2 until t=50. The head wants 4 on one
  // node: node 1 at t=50. A long job of 2 would fit now, but only where the head will lie.
  BackfillScene s{NodePool({4, 4})};
  s.run(4, 100);
  s.run(2, 50);
  s.wait(4, 10);
  s.wait(2, 60);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{});
  const JobIndex brief = s.wait(2, 50);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{brief});
}

TEST(Backfill, AHeadThatWillNeverFitHoldsUpNobody) {
  BackfillScene s{NodePool({10})};
  s.run(7, 50);
  s.wait(11, 10);
  const JobIndex any = s.wait(3, 1'000'000);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{any});
}

// At t=0 the head of 4 is promised t=100. At t=10 the job of t=100 has ended early.
TEST(Backfill, AStickyPromiseStaysWhereARecomputedOneMoves) {
  for (const auto variant : {BackfillVariant::easy, BackfillVariant::easy_sticky}) {
    BackfillScene s{NodePool({4})};
    s.run(2, 100);
    s.run(1, 200);
    s.wait(4, 10);  // promised t=200
    const JobIndex long_one = s.wait(1, 150);
    QueuePass pass(variant);
    EXPECT_EQ(s.decide(pass), Started{long_one});  // ends at t=150
    EXPECT_EQ(pass.promise().at, at_s(200));
  }
  for (const auto variant : {BackfillVariant::easy, BackfillVariant::easy_sticky}) {
    BackfillScene s{NodePool({4})};
    s.run(3, 200);
    s.wait(4, 10);
    QueuePass pass(variant);
    s.wait(2, 500);
    EXPECT_EQ(s.decide(pass), Started{});
    // The running job's end moves to t=50 (its limit was cut): a job of 100 s must not pass a head
    // that can now start at t=50, but may pass one that waits for t=200 whatever happens.
    s.running[0].end = at_s(50);
    const JobIndex middle = s.wait(1, 100);
    const bool is_sticky = variant == BackfillVariant::easy_sticky;
    EXPECT_EQ(s.decide(pass, 10), is_sticky ? Started{middle} : Started{});
  }
}

// What made 11,146 s of 30,306 s: a head of 8 is promised t=100, and a job that keeps 3 GPUs until
// t=1000 starts all the same.
TEST(Backfill, UnguardedStartsWhatFitsAndTriesTheHeadOnlyWhenDue) {
  BackfillScene s = ten();
  const JobIndex delays = s.wait(3, 1000);
  QueuePass pass(BackfillVariant::unguarded);
  EXPECT_EQ(s.decide(pass), Started{delays});
  EXPECT_EQ(pass.promise().at, at_s(100));

  // Everything ends at t=20: the head fits, and still waits for t=100.
  BackfillScene early = ten();
  QueuePass other(BackfillVariant::unguarded);
  EXPECT_EQ(early.decide(other), Started{});
  for (QueuedJob& job : early.jobs) early.pool.give(job.shares);
  early.running.clear();
  EXPECT_EQ(early.decide(other, 20), Started{});
  EXPECT_EQ(early.decide(other, 100), Started{early.waiting[0]});
}

TEST(Backfill, EveryVariantHasANameAndRules) {
  for (const Word<BackfillVariant>& row : words_of(BackfillVariant{}).rows()) {
    EXPECT_GT(std::string(rules_of(row.value)).size(), 20u) << row.word;
  }
}

}  // namespace
}  // namespace orrery::cluster
