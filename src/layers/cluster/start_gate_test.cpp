#include "layers/cluster/start_gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.h"
#include "layers/cluster/backfill.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/quota_gate.h"

namespace orrery::cluster {
namespace {

// Runs jobs that arrive at given times and take given run times, on a policy and a gate: the
// queue's loop without its clock. Records the first promise of every job and its start.
struct GatedRun {
  GatedRun(NodePool nodes, BackfillVariant variant, QuotaGate* limits)
      : pool(std::move(nodes)), policy(make_policy(variant, {})), gate(limits) {}

  JobIndex add(int at, int gpus, int length, int group = 0, int per_node = 0) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back({.ask = {.gpus = gpus, .per_node = per_node},
                    .limit = at_s(length),
                    .submitted = at_s(at)});
    jobs.back().group = static_cast<std::uint16_t>(group);
    promised.push_back(sim::SimTime::never());
    return job;
  }
  int start_of(JobIndex job) const {
    return static_cast<int>(jobs[job].started.ns() / 1'000'000'000);
  }
  void play() {
    std::size_t next = 0;
    sim::SimTime now = jobs.front().submitted;
    while (next < jobs.size() || !waiting.empty()) {
      while (next < jobs.size() && jobs[next].submitted <= now) {
        waiting.push_back(static_cast<JobIndex>(next++));
      }
      while (!running.empty() && running.front().end <= now) end_first();
      decide(now);
      sim::SimTime then = next < jobs.size() ? jobs[next].submitted : sim::SimTime::never();
      if (!running.empty()) then = std::min(then, running.front().end);
      if (policy->wake() > now) then = std::min(then, policy->wake());
      ASSERT_FALSE(then.is_never()) << waiting.size() << " jobs wait and nothing runs";
      now = then;
    }
  }

  NodePool pool;
  std::unique_ptr<QueuePolicy> policy;
  QuotaGate* gate;
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
  std::vector<sim::SimTime> promised;  // first promise, by job

 private:
  void end_first() {
    const JobIndex job = running.front().job;
    running.erase(running.begin());
    pool.give(jobs[job].shares);
    if (gate != nullptr) gate->ended(jobs[job]);
  }
  void decide(sim::SimTime now) {
    Starts starts;
    policy->decide({.now = now, .jobs = jobs, .waiting = waiting, .running = running, .gate = gate},
                   pool, starts);
    for (const Starts::One& one : starts.jobs) {
      jobs[one.job].shares.assign(starts.of(one).begin(), starts.of(one).end());
      jobs[one.job].started = now;
      const RunningEnd end{.end = now + jobs[one.job].limit, .job = one.job};
      running.insert(std::ranges::upper_bound(running, end.end, {}, &RunningEnd::end), end);
      std::erase(waiting, one.job);
    }
    for (const JobIndex job : waiting) {
      if (promised[job].is_never()) promised[job] = policy->promised(job);
    }
  }
};

constexpr BackfillVariant kPromising[] = {BackfillVariant::easy, BackfillVariant::easy_sticky,
                                          BackfillVariant::conservative};

// 16 GPUs in two nodes, all of one group. Half of them are used until t=100. The wide job (16, 50
// s) waits for that; small ones (4, 60 s) arrive every 10 s. Those that end by t=100 may overtake
// it, the one that arrives at t=50 may not: the wide job starts at t=100, not when the stream ends.
TEST(StartGate, wide_job_of_a_full_group_starts_when_promised) {
  for (const BackfillVariant variant : kPromising) {
    QuotaGate gate;
    gate.add_group(0, {.tenant = "", .guaranteed = 16, .may_borrow = 16});
    GatedRun run(NodePool({8, 8}), variant, &gate);
    run.add(0, 8, 100);
    const JobIndex wide = run.add(1, 16, 50);
    for (int at = 10; at < 1000; at += 10) run.add(at, 4, 60);
    run.play();
    EXPECT_EQ(run.promised[wide], at_s(100)) << word_of(variant);
    EXPECT_EQ(run.start_of(wide), 100) << word_of(variant);
    EXPECT_EQ(run.start_of(2), 10);   // ends at t=70
    EXPECT_EQ(run.start_of(3), 20);   // beside job 2
    EXPECT_EQ(run.start_of(6), 150);  // came at t=50
  }
}

// 32 GPUs in four nodes; group A has 16 of them, the other cohort 16. Half of A's are used until
// t=100 and 8 of the other's until t=300. A's wide job (16) lacks only its quota: two nodes are
// free. It is promised t=100. The other group's jobs use their quota at once, whatever their
// length; A's small jobs start only if they end by t=100.
TEST(StartGate, other_cohort_is_not_held_back) {
  for (const BackfillVariant variant : kPromising) {
    QuotaGate gate;
    const int a = gate.add_group(0, {.tenant = "a", .guaranteed = 16});
    const int b = gate.add_group(1, {.tenant = "b", .guaranteed = 16});
    GatedRun run(NodePool({8, 8, 8, 8}), variant, &gate);
    run.add(0, 8, 100, a);
    run.add(0, 8, 300, b);
    const JobIndex wide = run.add(1, 16, 50, a);
    const JobIndex others = run.add(2, 8, 500, b);
    const JobIndex late = run.add(3, 8, 98, a);     // would end at t=101
    const JobIndex in_time = run.add(4, 8, 96, a);  // at t=100
    run.play();
    EXPECT_EQ(run.start_of(others), 2) << word_of(variant);
    EXPECT_EQ(run.start_of(in_time), 4) << word_of(variant);
    EXPECT_EQ(run.start_of(wide), 100) << word_of(variant);
    EXPECT_EQ(run.start_of(late), 150) << word_of(variant);
  }
}

// A job that lacks a limit is the head of its own cohort only.
TEST(StartGate, fifo_holds_back_those_of_the_same_limit) {
  QuotaGate gate;
  const int a = gate.add_group(0, {.tenant = "a", .guaranteed = 16});
  const int b = gate.add_group(1, {.tenant = "b", .guaranteed = 16});
  GatedRun run(NodePool({8, 8, 8, 8}), BackfillVariant::fifo, &gate);
  run.add(0, 8, 100, a);
  const JobIndex wide = run.add(1, 16, 50, a);
  const JobIndex small = run.add(2, 1, 1, a);
  const JobIndex others = run.add(3, 8, 500, b);
  run.play();
  EXPECT_EQ(run.start_of(others), 3);
  EXPECT_EQ(run.start_of(wide), 100);
  EXPECT_EQ(run.start_of(small), 150);
}

// The same holds for the main scheduler of `slurm`, and its look-ahead keeps the wide job's time.
TEST(StartGate, slurm_keeps_the_promise_of_a_job_without_quota) {
  QuotaGate gate;
  const int a = gate.add_group(0, {.tenant = "a", .guaranteed = 16});
  const int b = gate.add_group(1, {.tenant = "b", .guaranteed = 16});
  GatedRun run(NodePool({8, 8, 8, 8}), BackfillVariant::slurm, &gate);
  run.add(0, 8, 600, a);
  const JobIndex wide = run.add(1, 16, 300, a);
  for (int at = 10; at < 3000; at += 60) run.add(at, 4, 400, a);
  const JobIndex others = run.add(3001, 8, 500, b);
  run.play();
  EXPECT_EQ(run.start_of(others), 3001);
  EXPECT_EQ(run.start_of(wide), 600);
}

std::vector<int> drawn_guarantees(RandomStream& random, int gpus) {
  std::vector<int> own{gpus / 2, gpus / 4};
  if (random.uniform() < 0.5) own.push_back(gpus / 4);
  return own;
}

struct Drawn {
  int at = 0;
  int gpus = 0;
  int per_node = 0;
  int length = 0;
  int group = 0;
};

std::vector<Drawn> drawn_jobs(RandomStream& random, int groups, int count) {
  std::vector<Drawn> jobs;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    at += static_cast<int>(random.uniform() * 20);
    const bool is_wide = random.uniform() < 0.3;
    const int group = static_cast<int>(random.uniform() * groups);
    jobs.push_back({.at = at,
                    .gpus = is_wide ? 8 : 1 + static_cast<int>(random.uniform() * 8),
                    .per_node = is_wide ? 4 : 0,
                    .length = 1 + static_cast<int>(random.uniform() * 100),
                    .group = group});
  }
  return jobs;
}

// If run times equal limits, no job starts later than first promised, no limit is exceeded, and
// every job runs.
TEST(StartGate, no_promise_slips) {
  int promises = 0;
  for (std::uint64_t n = 0; n < 100; ++n) {
    RandomStream random(7, "gate/" + std::to_string(n));
    const bool is_plain = n % 3 == 0;
    const NodePool pool(is_plain ? std::vector<int>{32} : std::vector<int>{8, 8, 8, 8});
    const auto own = drawn_guarantees(random, 32);
    const auto jobs = drawn_jobs(random, static_cast<int>(own.size()), 60);
    for (const BackfillVariant variant : kPromising) {
      QuotaGate gate;
      const bool shares = n % 2 == 0;  // one cohort that lends, or one each
      for (std::size_t g = 0; g < own.size(); ++g) {
        gate.add_group(shares ? 0 : g, {.tenant = "", .guaranteed = own[g], .may_borrow = 8});
      }
      GatedRun run(pool, variant, &gate);
      for (const Drawn& d : jobs) {
        run.add(d.at, d.gpus, d.length, d.group, is_plain ? 0 : d.per_node);
      }
      run.play();
      for (JobIndex j = 0; j < run.jobs.size(); ++j) {
        if (run.promised[j].is_never()) continue;
        ++promises;
        ASSERT_LE(run.jobs[j].started.ns(), run.promised[j].ns())
            << word_of(variant) << " draw " << n << " job " << j;
      }
    }
  }
  EXPECT_GT(promises, 1000);
}

// A quota as large as the fleet has no effect: every variant decides as without a gate.
TEST(StartGate, quota_of_the_whole_fleet_changes_nothing) {
  for (std::uint64_t n = 0; n < 60; ++n) {
    RandomStream random(8, "all/" + std::to_string(n));
    const NodePool pool(n % 2 == 0 ? std::vector<int>{16} : std::vector<int>{8, 8});
    const auto jobs = drawn_jobs(random, 1, 60);
    for (const Word<BackfillVariant>& variant : words_of(BackfillVariant{}).rows()) {
      std::vector<std::int64_t> starts[2];
      for (const bool has_gate : {false, true}) {
        QuotaGate gate;
        gate.add_group(0, {.tenant = "", .guaranteed = 16, .may_borrow = 16});
        GatedRun run(pool, variant.value, has_gate ? &gate : nullptr);
        for (const Drawn& d : jobs) run.add(d.at, d.gpus, d.length);
        run.play();
        for (const QueuedJob& j : run.jobs) starts[has_gate].push_back(j.started.ns());
      }
      ASSERT_EQ(starts[0], starts[1]) << variant.word << " draw " << n;
    }
  }
}

// The planning copy of the limits agrees with the gate.
TEST(StartGate, room_agrees_with_the_gate) {
  RandomStream random(9, "room");
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 8, .may_borrow = 4});
  gate.add_group(0, {.tenant = "b", .guaranteed = 8});
  gate.add_group(1, {.tenant = "c", .guaranteed = 8});
  LimitRoom room;
  room.reset(&gate);
  std::vector<QueuedJob> in;
  for (int i = 0; i < 2000; ++i) {
    QueuedJob job{.ask = {.gpus = 1 + static_cast<int>(random.uniform() * 6)}};
    job.group = static_cast<std::uint16_t>(random.uniform() * 3);
    ASSERT_EQ(room.admits(job), gate.admits(job)) << i;
    if (gate.admits(job)) {
      gate.started(job);
      room.take(job);
      in.push_back(job);
    } else if (!in.empty()) {
      gate.ended(in.front());
      room.give(in.front());
      in.erase(in.begin());
    }
  }
}

}  // namespace
}  // namespace orrery::cluster
