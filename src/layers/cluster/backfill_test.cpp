#include "layers/cluster/backfill.h"

#include <gtest/gtest.h>

#include <string>

#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/queue.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

// A queue at one instant, set up by hand: jobs that run until their limit, and jobs that wait.
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

// 10 GPUs: 4 are used until t=100, 3 until t=50, 3 are free. The head needs 8, so its shadow time
// is t=100, and 2 are left over then.
BackfillScene ten() {
  BackfillScene s{NodePool({10})};
  s.run(4, 100);
  s.run(3, 50);
  s.wait(8, 10);
  return s;
}

TEST(Backfill, fifo_lets_no_job_pass) {
  BackfillScene s = ten();
  s.wait(1, 1);
  EXPECT_EQ(s.decide(BackfillVariant::fifo), Started{});
}

TEST(Backfill, easy_lets_pass_what_ends_in_time_or_fits_the_surplus) {
  BackfillScene s = ten();
  const JobIndex in_time = s.wait(3, 100);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{in_time});

  BackfillScene late = ten();
  late.wait(3, 101);                                // one second too long and one GPU too wide
  late.wait(4, 1);                                  // does not fit now
  const JobIndex narrow = late.wait(2, 1'000'000);  // uses the surplus
  late.wait(1, 1'000'000);                          // the surplus is used up
  EXPECT_EQ(late.decide(BackfillVariant::easy), Started{narrow});
}

TEST(Backfill, jobs_that_end_together_count_together) {
  BackfillScene s{NodePool({10})};
  s.run(3, 50);
  s.run(4, 50);
  s.wait(5, 10);                                 // 3 free; at t=50 all 10 are, so 5 are left over
  const JobIndex narrow = s.wait(3, 1'000'000);  // by the first end alone only 1 would be left over
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{narrow});
}

TEST(Backfill, surplus_is_tracked_per_node) {
  // Two nodes of 4: node 0 uses 4 until t=100, node 1 uses 2 until t=50. The head wants 4 on one
  // node: node 1 at t=50. A long job of 2 would fit now, but only where the head is to run.
  BackfillScene s{NodePool({4, 4})};
  s.run(4, 100);
  s.run(2, 50);
  s.wait(4, 10);
  s.wait(2, 60);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{});
  const JobIndex brief = s.wait(2, 50);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{brief});
}

TEST(Backfill, oversized_head_delays_no_job) {
  BackfillScene s{NodePool({10})};
  s.run(7, 50);
  s.wait(11, 10);
  const JobIndex any = s.wait(3, 1'000'000);
  EXPECT_EQ(s.decide(BackfillVariant::easy), Started{any});
}

// At t=0 the head of 4 is promised t=100. At t=10 the job that should end at t=100 has ended early.
TEST(Backfill, sticky_promise_does_not_move) {
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
    // The running job's end moves to t=50 (its limit was cut). A job of 100 s must not overtake a
    // head that can now start at t=50, but may overtake one whose promise stays at t=200.
    s.running[0].end = at_s(50);
    const JobIndex middle = s.wait(1, 100);
    const bool is_sticky = variant == BackfillVariant::easy_sticky;
    EXPECT_EQ(s.decide(pass, 10), is_sticky ? Started{middle} : Started{});
  }
}

// The cause of 11,146 s instead of 30,306 s: a head of 8 is promised t=100, and a job that keeps 3
// GPUs until t=1000 starts all the same.
TEST(Backfill, unguarded_starts_what_fits_and_tries_the_head_only_when_due) {
  BackfillScene s = ten();
  const JobIndex delays = s.wait(3, 1000);
  QueuePass pass(BackfillVariant::unguarded);
  EXPECT_EQ(s.decide(pass), Started{delays});
  EXPECT_EQ(pass.promise().at, at_s(100));

  // Everything ends at t=20: the head fits, but still waits for t=100.
  BackfillScene early = ten();
  QueuePass other(BackfillVariant::unguarded);
  EXPECT_EQ(early.decide(other), Started{});
  for (QueuedJob& job : early.jobs) early.pool.give(job.shares);
  early.running.clear();
  EXPECT_EQ(early.decide(other, 20), Started{});
  EXPECT_EQ(early.decide(other, 100), Started{early.waiting[0]});
}

TEST(Backfill, every_variant_has_a_name_and_rules) {
  for (const Word<BackfillVariant>& row : words_of(BackfillVariant{}).rows()) {
    EXPECT_GT(std::string(rules_of(row.value)).size(), 20u) << row.word;
  }
}

// Node 0 is reserved until t=50, node 1 is busy until t=200: the head of 4 is promised the end of
// the window. A guest of the reservation may use node 0 until then.
TEST(Backfill, promise_may_begin_when_a_window_ends) {
  NodeScene s{NodePool({4, 4})};
  s.book.add(window({0b01}, 0, 50));
  s.run(4, 200, 1);
  const JobIndex head = s.wait(4, 10);
  s.wait(2, 51, 1);
  const JobIndex brief = s.wait(2, 50, 1);
  QueuePass easy(BackfillVariant::easy);
  EXPECT_EQ(s.decide(easy), Who{brief});
  EXPECT_EQ(easy.promise().job, head);
  EXPECT_EQ(easy.promise().at, at_s(50));
  EXPECT_EQ(easy.promised(head), at_s(50));
  EXPECT_TRUE(easy.promised(brief).is_never());
  EXPECT_EQ(easy.promise().shares, (std::vector<NodeShare>{{.node = 0, .gpus = 4}}));
}

// 10 GPUs: 3 free, 3 more at t=50, 4 more at t=100. The head of 8 is promised t=100, which leaves
// 2. At t=10 the promise is kept, and with it the surplus.
TEST(Backfill, kept_promise_keeps_its_surplus) {
  NodeScene s{NodePool({10})};
  s.run(4, 100);
  s.run(3, 50);
  s.wait(8, 10);
  s.wait(4, 1);
  QueuePass sticky(BackfillVariant::easy_sticky);
  EXPECT_EQ(s.decide(sticky), Who{});
  EXPECT_EQ(sticky.promise().at, at_s(100));
  s.wait(3, 91);
  const JobIndex two = s.wait(2, 10'000);
  s.wait(1, 10'000);
  EXPECT_EQ(s.decide(sticky, 10), Who{two});
}

// Node 0 is busy until t=100, node 1 has 2 busy until t=50, node 2 is busy for long. The head of 8
// is promised nodes 0 and 1 at t=100. At t=10 node 0 is free. Computed again, the head has its
// place at t=50; a sticky promise stays at t=100, and jobs that end by then may start.
TEST(Backfill, kept_promise_keeps_its_nodes) {
  for (const auto variant : {BackfillVariant::easy, BackfillVariant::easy_sticky}) {
    NodeScene s{NodePool({4, 4, 4})};
    const JobIndex first = s.run(4, 100, 0);
    s.run(2, 50, 1);
    s.run(4, 300, 2);
    s.wait(8, 10);
    s.wait(2, 101);
    QueuePass pass(variant);
    EXPECT_EQ(s.decide(pass), Who{});
    EXPECT_EQ(pass.promise().at, at_s(100));
    EXPECT_EQ(pass.promise().shares,
              (std::vector<NodeShare>{{.node = 0, .gpus = 4}, {.node = 1, .gpus = 4}}));
    s.end(first);  // the head's place would now be free at t=50
    const JobIndex longer = s.wait(4, 85);
    const bool is_sticky = variant == BackfillVariant::easy_sticky;
    EXPECT_EQ(s.decide(pass, 10), is_sticky ? Who{longer} : Who{});
    EXPECT_EQ(pass.promise().at, at_s(is_sticky ? 100 : 50));
  }
}

// The head is promised a place; then the running job disappears and nothing can be promised.
TEST(Backfill, impossible_promise_names_no_place) {
  NodeScene s{NodePool({4, 4})};
  s.run(4, 100, 0);
  const JobIndex head = s.wait(8, 10);
  s.wait(4, 200);
  QueuePass easy(BackfillVariant::easy);
  EXPECT_EQ(s.decide(easy), Who{});
  EXPECT_EQ(easy.promise().shares.size(), 2u);
  s.running.clear();  // it never ends
  EXPECT_EQ(s.decide(easy), Who{2});
  EXPECT_EQ(easy.promise().job, head);
  EXPECT_TRUE(easy.promise().at.is_never());
  EXPECT_TRUE(easy.promise().shares.empty());
}

TEST(Backfill, head_without_followers_gets_no_promise) {
  NodeScene s{NodePool({4})};
  s.run(3, 100);
  s.wait(2, 10);
  QueuePass sticky(BackfillVariant::easy_sticky);
  EXPECT_EQ(s.decide(sticky), Who{});
  EXPECT_EQ(sticky.promise().job, kNoJob);
}

TEST(Backfill, empty_queue_starts_nothing) {
  for (const Word<BackfillVariant>& row : words_of(BackfillVariant{}).rows()) {
    NodeScene s{NodePool({4, 4})};
    const auto policy = make_policy(row.value, {});
    EXPECT_EQ(s.decide(*policy), Who{}) << row.word;
  }
}

TEST(Backfill, only_an_unguarded_promise_wakes) {
  for (const auto variant : {BackfillVariant::easy, BackfillVariant::unguarded}) {
    NodeScene s{NodePool({4})};
    s.run(3, 100);
    const JobIndex head = s.wait(2, 10);
    s.wait(1, 20);
    QueuePass pass(variant);
    EXPECT_TRUE(pass.wake().is_never());
    EXPECT_EQ(s.decide(pass), Who{2});
    EXPECT_EQ(pass.promised(head), at_s(100));
    EXPECT_EQ(pass.wake(), variant == BackfillVariant::easy ? SimTime::never() : at_s(100));
  }
}

// A long job may use what is free now and stays free besides the head; what it takes is then gone.
TEST(Backfill, backfilled_jobs_use_up_the_surplus) {
  NodeScene s{NodePool({8, 8})};
  s.run(6, 100, 0);
  s.run(3, 50, 1);
  s.wait(8, 10);  // node 1 at t=50; two GPUs of node 0 are free now and then
  s.wait(3, 51);  // fits only on node 1, until too late
  const JobIndex in_time = s.wait(4, 50);
  const JobIndex one = s.wait(1, 1000);
  s.wait(2, 1000);
  const JobIndex other = s.wait(1, 1000);
  s.wait(1, 1000);
  QueuePass easy(BackfillVariant::easy);
  EXPECT_EQ(s.decide(easy), (Who{in_time, one, other}));
  EXPECT_EQ(s.jobs[in_time].shares[0].node, 1);
  EXPECT_EQ(s.jobs[one].shares[0].node, 0);
  EXPECT_EQ(s.jobs[other].shares[0].node, 0);
}

// The head wants 8 and is promised 100 s, when ten are free: two more than it needs. A job that
// ends by then takes none of these.
TEST(Backfill, job_that_ends_in_time_leaves_the_surplus_to_others) {
  const auto starts = [](int first_limit, int second_gpus, int second_limit) {
    CountedTurn line;
    line.wait(8, 50);
    line.wait(2, first_limit);
    line.wait(second_gpus, second_limit);
    QueuePass easy(BackfillVariant::easy);
    const Who who = line.decide(easy, 0);
    EXPECT_EQ(easy.promise().at, at_s(100));
    EXPECT_EQ(easy.promised(1), at_s(100));
    EXPECT_TRUE(easy.promised(2).is_never());
    return who;
  };
  EXPECT_EQ(starts(100, 2, 1000), (Who{2, 3})) << "the second has the surplus to itself";
  EXPECT_EQ(starts(101, 2, 1000), (Who{2})) << "a second too long, it takes the surplus";
  EXPECT_EQ(starts(101, 2, 100), (Who{2, 3}));
  EXPECT_EQ(starts(100, 3, 100), (Who{2})) << "two are free";
}

TEST(Backfill, job_beyond_the_surplus_does_not_pass) {
  for (const int gpus : {2, 3}) {
    CountedTurn line;
    line.wait(8, 50);
    line.wait(gpus, 1000);
    QueuePass easy(BackfillVariant::easy);
    EXPECT_EQ(line.decide(easy, 0), gpus == 2 ? Who{2} : Who{});
  }
}

// At 100 s the head's time has come, but its GPUs are not free; the jobs behind it are tried all
// the same.
TEST(Backfill, every_job_behind_a_due_unguarded_head_is_tried) {
  SeldomScene s{NodePool({10})};
  s.run(0, 6, 100);
  const JobIndex head = s.wait(8, 10);
  QueuePass pass(BackfillVariant::unguarded);
  EXPECT_EQ(s.decide(pass), Who{});
  EXPECT_EQ(pass.promised(head), at_s(100));
  s.wait(3, 50);
  s.wait(1, 50);
  Starts starts;
  pass.decide({.now = at_s(100), .jobs = s.jobs, .waiting = s.waiting, .running = s.running},
              s.pool, starts);
  ASSERT_EQ(starts.jobs.size(), 2U);
  EXPECT_EQ(starts.jobs[0].job, 2U);
  EXPECT_EQ(starts.jobs[1].job, 3U);
  EXPECT_EQ(s.pool.free_gpus(), 0);
}

}  // namespace
}  // namespace orrery::cluster
