#include "layers/cluster/promise_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "layers/cluster/backfill.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/queue.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

using Begun = std::vector<JobIndex>;

// A queue that a test steps through time by hand.
struct Line {
  Line(NodePool nodes, std::unique_ptr<QueuePolicy> p)
      : pool(std::move(nodes)), policy(std::move(p)) {}

  void run(int gpus, int end) {
    const JobIndex job = wait(gpus, end);
    std::erase(waiting, job);
    EXPECT_TRUE(pool.place(jobs[job].ask, nullptr, jobs[job].shares));
    pool.take(jobs[job].shares);
    add_running(job, at_s(end));
  }
  JobIndex wait(int gpus, int limit) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back({.ask = {.gpus = gpus}, .limit = at_s(limit), .submitted = at_s(int(job))});
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
    policy->decide({.now = at_s(now),
                    .jobs = jobs,
                    .waiting = waiting,
                    .running = running,
                    .surprises = surprises},
                   pool, starts);
    Begun who;
    for (const Starts::One& one : starts.jobs) {
      who.push_back(one.job);
      jobs[one.job].shares.assign(starts.of(one).begin(), starts.of(one).end());
      jobs[one.job].started = at_s(now);
      add_running(one.job, at_s(now) + jobs[one.job].limit);
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
// gets the four that B leaves at t=150. D (2, 130 s) starts now, because A leaves it two until it
// ends. E (2, 140 s) would conflict with D and A at t=100, and with B and C at t=150.
TEST(Conservative, conservative_backfill_of_a_small_queue) {
  Line q(NodePool({10}), conservative());
  q.run(6, 100);
  const JobIndex a = q.wait(8, 50);
  const JobIndex b = q.wait(6, 50);
  const JobIndex c = q.wait(4, 120);
  const JobIndex d = q.wait(2, 130);
  const JobIndex e = q.wait(2, 140);
  EXPECT_EQ(q.decide(0), Begun{d});
  EXPECT_EQ(q.policy->promised(a), at_s(100));
  EXPECT_EQ(q.policy->promised(b), at_s(150));
  EXPECT_EQ(q.policy->promised(c), at_s(150));  // 10 - 6 for B leaves 4
  EXPECT_EQ(q.policy->promised(e), at_s(200));
}

// EASY makes no promise to job B and lets C delay it; conservative does not.
TEST(Conservative, second_job_keeps_its_promise_too) {
  const auto scene = [](std::unique_ptr<QueuePolicy> policy) {
    Line q(NodePool({10}), std::move(policy));
    q.run(5, 100);   // 5 are free
    q.wait(6, 50);   // A: at t=100, surplus 4
    q.wait(10, 10);  // B: at t=150
    q.wait(4, 500);  // C: within A's surplus, but it would delay B
    return q.decide(0);
  };
  EXPECT_EQ(scene(std::make_unique<QueuePass>(BackfillVariant::easy)), Begun{3});
  EXPECT_EQ(scene(conservative()), Begun{});
}

// An early end moves promises forward, never back. 4 GPUs: 4 run until t=100. A (3, 100 s) at
// t=100, B (4, 10 s) at t=200, C (1, 100 s) beside A at t=100. At t=50 everything is free: A and C
// start.
TEST(Conservative, early_end_moves_promises_forward) {
  Line q(NodePool({4}), conservative());
  q.run(4, 100);
  const JobIndex a = q.wait(3, 100);
  const JobIndex b = q.wait(4, 10);
  const JobIndex c = q.wait(1, 100);
  EXPECT_EQ(q.decide(0), Begun{});
  EXPECT_EQ(q.policy->promised(b), at_s(200));
  EXPECT_EQ(q.policy->promised(c), at_s(100));
  q.end(0, true);
  EXPECT_EQ(q.decide(50), (Begun{a, c}));
  EXPECT_EQ(q.policy->promised(b), at_s(150));
}

TEST(Conservative, places_node_by_node) {
  Line q(NodePool({4, 4}), conservative());
  q.run(4, 100);                      // node 0
  q.run(2, 50);                       // node 1
  const JobIndex a = q.wait(4, 100);  // node 1 at t=50
  const JobIndex b = q.wait(2, 50);   // before A on node 1
  const JobIndex c = q.wait(2, 51);   // a second too long for that: node 0 at t=100
  EXPECT_EQ(q.decide(0), Begun{b});
  EXPECT_EQ(q.policy->promised(a), at_s(50));
  EXPECT_EQ(q.policy->promised(c), at_s(100));
}

// A (8 on nodes 0 and 1) is promised t=100. Node 0 is lost: A needs node 2, at t=500, and its
// promised share of node 1 becomes available to others. B gets it at t=100.
TEST(Conservative, gang_that_lost_a_node_loses_its_promise) {
  Line q(NodePool({4, 4, 4}), conservative());
  q.run(4, 100);
  q.run(4, 100);
  q.run(4, 500);
  const JobIndex a = q.wait(8, 50);
  const JobIndex b = q.wait(4, 10);
  EXPECT_EQ(q.decide(0), Begun{});
  EXPECT_EQ(q.policy->promised(a), at_s(100));
  EXPECT_EQ(q.policy->promised(b), at_s(150));
  q.pool.set_up(0, false);
  q.end(0, true);
  EXPECT_EQ(q.decide(50), Begun{});
  EXPECT_EQ(q.policy->promised(a), at_s(500));
  EXPECT_EQ(q.policy->promised(b), at_s(100));
}

// A job past its limit may end at any moment, counted as a second from now; its GPUs are not free.
TEST(Conservative, due_promise_slips_while_its_gpus_are_used) {
  Line q(NodePool({4}), conservative());
  q.run(4, 100);
  const JobIndex a = q.wait(4, 50);
  EXPECT_EQ(q.decide(0), Begun{});
  EXPECT_EQ(q.policy->wake(), at_s(100));
  EXPECT_EQ(q.decide(120), Begun{});
  EXPECT_EQ(q.policy->promised(a), at_s(121));
  q.end(0, true);
  EXPECT_EQ(q.decide(121), Begun{a});
  EXPECT_TRUE(q.policy->promised(a).is_never());
  EXPECT_TRUE(q.policy->wake().is_never());
}

// A reused index names another job, to which the promise does not apply.
TEST(Conservative, promise_belongs_to_the_job_not_its_id) {
  Line q(NodePool({4}), conservative());
  q.run(4, 100);
  const JobIndex a = q.wait(4, 50);
  const JobIndex b = q.wait(4, 50);
  q.decide(0);
  EXPECT_EQ(q.policy->promised(b), at_s(150));
  q.jobs[a].submitted = at_s(10);  // a was removed; this job got its index, behind b
  std::swap(q.waiting[0], q.waiting[1]);
  ++q.surprises;
  q.decide(20);
  EXPECT_EQ(q.policy->promised(b), at_s(100));
  EXPECT_EQ(q.policy->promised(a), at_s(150));
}

TEST(Slurm, starts_in_order_at_once_and_backfills_on_its_period) {
  Line q(NodePool({10}), std::make_unique<SlurmPass>(PeriodicBounds{}));
  q.run(6, 600);
  const JobIndex head = q.wait(8, 300);
  const JobIndex brief_one = q.wait(2, 500);
  EXPECT_EQ(q.decide(5), Begun{});
  EXPECT_EQ(q.policy->wake(), at_s(30));
  EXPECT_EQ(q.decide(30), Begun{brief_one});
  EXPECT_EQ(q.policy->promised(head), at_s(600));
}

TEST(Slurm, tests_no_more_jobs_than_its_bound) {
  PeriodicBounds bounds;
  bounds.max_job_test = 2;
  Line q(NodePool({10}), std::make_unique<SlurmPass>(bounds));
  q.run(6, 600);
  q.wait(8, 300);
  q.wait(8, 300);
  q.wait(1, 60);  // would fit, but is the third
  q.decide(0);
  EXPECT_EQ(q.decide(30), Begun{});
  const JobIndex second = q.wait(1, 60);
  std::swap(q.waiting[1], q.waiting.back());
  EXPECT_EQ(q.decide(60), Begun{});  // something happened: the next period looks ahead
  EXPECT_EQ(q.decide(90), Begun{second});
}

// A head that would start beyond bf_window gets no promise, so a long job takes its place.
TEST(Slurm, promises_nothing_beyond_its_window) {
  for (const bool is_within : {true, false}) {
    PeriodicBounds bounds;
    bounds.window = at_s(is_within ? 700 : 500);
    Line q(NodePool({10}), std::make_unique<SlurmPass>(bounds));
    q.run(6, 600);
    q.wait(8, 300);
    const JobIndex endless = q.wait(4, 100'000);
    q.decide(0);
    EXPECT_EQ(q.decide(30), is_within ? Begun{} : Begun{endless});
  }
}

// Ends are rounded down to bf_resolution: t=100 counts as t=60, so the head is promised t=60, and a
// job that would end at t=90 would delay it.
TEST(Slurm, cuts_times_to_its_grid) {
  for (const int resolution : {60, 1}) {
    PeriodicBounds bounds;
    bounds.resolution = at_s(resolution);
    Line q(NodePool({2}), std::make_unique<SlurmPass>(bounds));
    q.run(1, 100);
    q.wait(2, 300);
    const JobIndex brief_one = q.wait(1, 60);
    q.decide(0);
    EXPECT_EQ(q.decide(30), resolution == 60 ? Begun{} : Begun{brief_one});
  }
}

// Both nodes are closed for 50 s from t=100, every 200 s. Eight GPUs for 120 s fit between two
// windows; a guest and a job that stays start at once.
TEST(PromisePass, promise_falls_between_windows) {
  const auto scene = [](int limit, bool stays, std::uint64_t guest_of) {
    NodeScene s{NodePool({4, 4})};
    s.book.add(window({0b11}, 100, 50, 200));
    const JobIndex job = s.wait(8, limit, guest_of);
    s.jobs[job].stays = stays;
    ConservativePass pass;
    return s.decide(pass).empty() ? pass.promised(job) : at_s(0);
  };
  EXPECT_EQ(scene(100, false, 0), at_s(0));
  EXPECT_EQ(scene(101, false, 0), at_s(150));
  EXPECT_EQ(scene(150, false, 0), at_s(150));
  EXPECT_EQ(scene(151, true, 0), at_s(0));
  EXPECT_EQ(scene(151, false, 1), at_s(0));
  EXPECT_EQ(scene(101, false, 2), at_s(150)) << "of another";
}

// While a window is open, a job that stays waits for its end.
TEST(PromisePass, job_that_stays_waits_for_an_open_window) {
  NodeScene s{NodePool({4, 4})};
  s.book.add(window({0b01}, 0, 50, 100));
  const JobIndex job = s.wait(8, 1000);
  s.jobs[job].stays = true;
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass), Who{});
  EXPECT_EQ(pass.promised(job), at_s(50));
  EXPECT_EQ(pass.wake(), at_s(50));
  EXPECT_EQ(s.decide(pass, 50), Who{job});
}

// Windows within two days are considered; a later one does not bar yet.
TEST(PromisePass, windows_beyond_two_days_are_ignored) {
  const auto starts = [](int begin) {
    NodeScene s{NodePool({4, 4})};
    s.book.add(window({0b11}, begin, 50));
    s.wait(8, 1'000'000);
    ConservativePass pass;
    return !s.decide(pass).empty();
  };
  EXPECT_FALSE(starts(2 * 86'400));
  EXPECT_TRUE(starts(2 * 86'400 + 1));
}

TEST(PromisePass, nothing_is_promised_beyond_a_year) {
  const auto promised = [](int end) {
    NodeScene s{NodePool({4})};
    s.run(4, end);
    const JobIndex job = s.wait(1, 10);
    ConservativePass pass;
    s.decide(pass);
    return pass.promised(job);
  };
  EXPECT_EQ(promised(365 * 86'400), at_s(365 * 86'400));
  EXPECT_TRUE(promised(365 * 86'400 + 1).is_never());
}

// A job that has passed its limit is expected a second from now.
TEST(PromisePass, overrunning_job_is_expected_to_end_in_a_second) {
  NodeScene s{NodePool({4})};
  s.run(4, 60);
  const JobIndex job = s.wait(4, 10);
  ConservativePass pass;
  s.decide(pass, 20);
  EXPECT_EQ(pass.promised(job), at_s(60));
  s.decide(pass, 61);
  EXPECT_EQ(pass.promised(job), at_s(62));
}

// A job that arrives later, with nothing unforeseen in between, is promised its own place with its
// own GPUs.
TEST(PromisePass, later_job_gets_its_own_gpus) {
  NodeScene s{NodePool({4})};
  s.run(1, 60);
  const JobIndex wide = s.wait(4, 10);
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass), Who{});
  EXPECT_EQ(pass.promised(wide), at_s(60));
  const JobIndex late = s.wait(2, 60);
  s.jobs[late].submitted = {};
  EXPECT_EQ(s.decide(pass), Who{late});
  EXPECT_EQ(s.jobs[late].shares.size(), 1u);
  EXPECT_EQ(s.pool.free_gpus(), 1);
  EXPECT_TRUE(pass.promised(late).is_never()) << "it has started";
}

// A gate that leaves `left` and may refuse everything.
struct OneLimit final : StartGate {
  bool admits(const QueuedJob& job) const override { return is_open && job.ask.gpus <= left; }
  void started(const QueuedJob& job) override { left -= job.ask.gpus; }
  void ended(const QueuedJob& job) override { left += job.ask.gpus; }
  std::size_t limits() const override { return 1; }
  void add_left(std::vector<double>& l) const override { l.push_back(left); }
  LimitUses uses_of(const QueuedJob& job) const override {
    LimitUses uses;
    uses.add({.limit = 0, .amount = static_cast<double>(job.ask.gpus)});
    return uses;
  }
  double left = 0;
  bool is_open = true;
};

TEST(PromisePass, gate_is_asked_at_every_pass) {
  OneLimit gate;
  gate.left = 2;
  NodeScene s{NodePool({4})};
  s.gate = &gate;
  const JobIndex job = s.wait(4, 10);
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass), Who{});
  EXPECT_TRUE(pass.promised(job).is_never());
  gate.left = 4;
  EXPECT_EQ(s.decide(pass, 10), Who{job});
  EXPECT_EQ(gate.left, 0);
}

// Place and limit are available but the gate refuses: there is nothing to wake for.
TEST(PromisePass, refused_job_schedules_no_wake) {
  OneLimit gate;
  gate.left = 8;
  gate.is_open = false;
  NodeScene s{NodePool({4})};
  s.gate = &gate;
  const JobIndex job = s.wait(4, 10);
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass, 5), Who{});
  EXPECT_EQ(pass.promised(job), at_s(5));
  EXPECT_TRUE(pass.wake().is_never());
}

TEST(PromisePass, full_partition_holds_back_only_its_jobs) {
  NodeScene s{NodePool({4, 4})};
  s.partitions = {{0b01}, {0b10}};
  s.run(3, 600, 0);
  s.wait(4, 60);
  s.wait(1, 60);
  const JobIndex other = s.wait(2, 60);
  s.jobs[other].partition = 1;
  SlurmPass pass({});
  EXPECT_EQ(s.decide(pass), Who{other});
  EXPECT_EQ(s.jobs[other].shares[0].node, 1);
}

// 4 GPUs, 2 busy until t=600. The head (4) is due then; B (2, 540 s) starts at the period, and C
// (2, 30 s) finds room when B ends. When the first job ends early, all times are computed again.
TEST(PromisePass, backfill_period_counts_jobs_it_starts) {
  NodeScene s{NodePool({4})};
  const JobIndex first = s.run(2, 600);
  const JobIndex head = s.wait(4, 600);
  const JobIndex b = s.wait(2, 540);
  const JobIndex c = s.wait(2, 30);
  SlurmPass pass({});
  EXPECT_EQ(s.decide(pass, 0), Who{});
  EXPECT_EQ(pass.wake(), at_s(30));
  EXPECT_EQ(s.decide(pass, 30), Who{b});  // until t=570, which is rounded to 540
  EXPECT_EQ(pass.promised(head), at_s(600));
  EXPECT_EQ(pass.promised(c), at_s(540));
  EXPECT_EQ(pass.wake(), at_s(60));
  s.end(first);
  s.waiting = {head};
  EXPECT_EQ(s.decide(pass, 60), Who{});
  EXPECT_EQ(pass.promised(head), at_s(540));
  EXPECT_TRUE(pass.promised(c).is_never());
  EXPECT_TRUE(pass.wake().is_never()) << "nothing has changed since";
}

TEST(PromisePass, backfill_period_tests_a_limited_number_of_jobs) {
  NodeScene s{NodePool({4})};
  s.run(3, 600);
  const JobIndex first = s.wait(4, 60);
  const JobIndex second = s.wait(4, 60);
  const JobIndex third = s.wait(4, 60);
  const auto promised = [&](PeriodicBounds bounds) {
    SlurmPass pass(bounds);
    s.decide(pass, 0);
    s.decide(pass, 30);
    return std::vector<SimTime>{pass.promised(first), pass.promised(second), pass.promised(third)};
  };
  const SimTime never = SimTime::never();
  EXPECT_EQ(promised({}), (std::vector<SimTime>{at_s(600), at_s(660), at_s(720)}));
  EXPECT_EQ(promised({.max_job_test = 2}), (std::vector<SimTime>{at_s(600), at_s(660), never}));
  EXPECT_EQ(promised({.window = at_s(630)}), (std::vector<SimTime>{at_s(600), at_s(660), never}));
  EXPECT_EQ(promised({.window = at_s(629)}), (std::vector<SimTime>{at_s(600), never, never}));
}

// At 30 s the queue looks ahead. Without a grid the head is promised the end at 95 s, and jobs that
// end by then may overtake it; on a grid of a minute the end counts as 60 s.
TEST(PromisePass, zero_resolution_keeps_exact_times) {
  const auto look = [](int resolution, int limit) {
    CountedTurn line;
    line.running[0].end = at_s(95);
    const JobIndex head = line.wait(8, 120);
    line.wait(4, limit);
    SlurmPass slurm(PeriodicBounds{.resolution = at_s(resolution)});
    EXPECT_EQ(line.decide(slurm, 0), Who{}) << "the head closes the queue";
    EXPECT_EQ(slurm.wake(), at_s(30));
    const Who who = line.decide(slurm, 30);
    EXPECT_EQ(slurm.promised(head), at_s(resolution == 0 ? 95 : 60));
    return who;
  };
  EXPECT_EQ(look(0, 65), Who{2});
  EXPECT_EQ(look(0, 66), Who{});
  EXPECT_EQ(look(60, 30), Who{2});
  EXPECT_EQ(look(60, 31), Who{});
}

// Ten GPUs, of which three never come back and four do at 100 s. The first job wants eight, which
// cannot be promised; the second wants six, at 100 s with one to spare: a job of two for 200 s
// would delay it.
TEST(PromisePass, job_without_a_promise_does_not_become_the_head) {
  for (const bool is_plain : {true, false}) {
    SeldomScene s{is_plain ? NodePool({10}) : NodePool({10, 0})};
    std::vector<NodeShare> gone{{.node = 0, .gpus = 3}};
    s.pool.take(gone);
    s.run(0, 4, 100);
    s.wait(8, 10);
    const JobIndex second = s.wait(6, 10);
    s.wait(2, 200);
    const JobIndex brief = s.wait(2, 100);
    QueuePass easy(BackfillVariant::easy);
    EXPECT_EQ(s.decide(easy), Who{brief}) << is_plain;
    EXPECT_EQ(easy.promise().job, second);
    EXPECT_EQ(easy.promise().at, at_s(100));
    EXPECT_TRUE(easy.promised(1).is_never());
  }
}

// The head wants four whole GPUs at 100 s. The second job's limit is used up, so it does not start,
// however short it is; the third's has room.
TEST(PromisePass, job_without_quota_does_not_pass) {
  for (const bool is_plain : {true, false}) {
    QuotaGate gate;
    gate.add_group(0, {.tenant = "a", .guaranteed = 100});
    const int full = gate.add_group(1, {.tenant = "b", .guaranteed = 1});
    SeldomScene s{is_plain ? NodePool({4}) : NodePool({4, 0})};
    s.gate = &gate;
    s.run(0, 2, 100);
    s.wait(4, 10);
    s.wait(2, 50, full);
    const JobIndex third = s.wait(2, 50);
    QueuePass easy(BackfillVariant::easy);
    EXPECT_EQ(s.decide(easy), Who{third}) << is_plain;
  }
}

// The head would fit but lacks a limit. The job behind it is too large to start in any case, so no
// promise is made.
TEST(PromisePass, no_promise_without_backfill_candidates) {
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 5});
  SeldomScene s{NodePool({8})};
  s.gate = &gate;
  s.run(0, 4, 100);
  s.wait(2, 10);
  s.wait(5, 10);
  QueuePass easy(BackfillVariant::easy);
  EXPECT_EQ(s.decide(easy), Who{});
  EXPECT_EQ(easy.promise().job, kNoJob);
}

}  // namespace
}  // namespace orrery::cluster
