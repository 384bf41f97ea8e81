// Backfill on named nodes and with reservations: whom a promise holds back, and what it remembers.
#include <gtest/gtest.h>

#include <algorithm>

#include "layers/cluster/promise_pass.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

SimTime of_s(std::int64_t s) { return SimTime::nanoseconds(s * 1'000'000'000); }

// A queue at one instant, with all that a view may have.
struct NodeScene {
  explicit NodeScene(NodePool nodes) : pool(std::move(nodes)) {}

  JobIndex run(int gpus, int end, int node = -1) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = of_s(end)};
    const NodeMask only{node < 0 ? ~0ull : 1ull << node};
    EXPECT_TRUE(pool.place(job.ask, &only, job.shares));
    pool.take(job.shares);
    const auto index = static_cast<JobIndex>(jobs.size());
    running.push_back({.end = of_s(end), .job = index});
    jobs.push_back(job);
    std::ranges::stable_sort(running, {}, &RunningEnd::end);
    return index;
  }
  JobIndex wait(int gpus, int limit, std::uint64_t guest_of = 0) {
    const auto index = static_cast<JobIndex>(jobs.size());
    waiting.push_back(index);
    jobs.push_back({.ask = {.gpus = gpus}, .limit = of_s(limit), .submitted = of_s(index + 1)});
    jobs.back().guest_of = guest_of;
    return index;
  }
  QueueView view(int now) const {
    return {.now = of_s(now),
            .jobs = jobs,
            .waiting = waiting,
            .running = running,
            .partitions = partitions,
            .reservations = book.is_empty() ? nullptr : &book,
            .gate = gate,
            .surprises = surprises};
  }
  // Who starts; they run from then on.
  std::vector<JobIndex> decide(QueuePolicy& policy, int now = 0) {
    Starts starts;
    policy.decide(view(now), pool, starts);
    std::vector<JobIndex> who;
    for (const Starts::One& one : starts.jobs) {
      who.push_back(one.job);
      jobs[one.job].shares.assign(starts.of(one).begin(), starts.of(one).end());
      const RunningEnd end{.end = of_s(now) + jobs[one.job].limit, .job = one.job};
      running.insert(std::ranges::upper_bound(running, end.end, {}, &RunningEnd::end), end);
      std::erase(waiting, one.job);
    }
    return who;
  }
  void end(JobIndex job) {
    pool.give(jobs[job].shares);
    std::erase_if(running, [job](const RunningEnd& r) { return r.job == job; });
    ++surprises;
  }

  NodePool pool;
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
  std::vector<NodeMask> partitions;
  ReservationBook book;
  StartGate* gate = nullptr;
  std::uint64_t surprises = 0;
};

using Who = std::vector<JobIndex>;

Reservation window(NodeMask nodes, int start, int length, int every = 0) {
  return {.name = "w",
          .nodes = std::move(nodes),
          .start = of_s(start),
          .length = of_s(length),
          .every = of_s(every)};
}

// Node 0 is reserved until t=50, node 1 busy until t=200: the head of 4 is promised the end of the
// window. A guest of the reservation may have node 0 until then.
TEST(BackfillCases, the_end_of_a_window_is_a_time_to_promise) {
  NodeScene s{NodePool({4, 4})};
  s.book.add(window({0b01}, 0, 50));
  s.run(4, 200, 1);
  const JobIndex head = s.wait(4, 10);
  s.wait(2, 51, 1);
  const JobIndex brief = s.wait(2, 50, 1);
  QueuePass easy(BackfillVariant::easy);
  EXPECT_EQ(s.decide(easy), Who{brief});
  EXPECT_EQ(easy.promise().job, head);
  EXPECT_EQ(easy.promise().at, of_s(50));
  EXPECT_EQ(easy.promised(head), of_s(50));
  EXPECT_TRUE(easy.promised(brief).is_never());
  EXPECT_EQ(easy.promise().shares, (std::vector<NodeShare>{{.node = 0, .gpus = 4}}));
}

// 10 GPUs: 3 free, 3 more at t=50, 4 more at t=100. The head of 8 is promised t=100 and leaves 2.
// At t=10 the promise is kept, and with it the surplus.
TEST(BackfillCases, a_kept_promise_keeps_its_surplus) {
  NodeScene s{NodePool({10})};
  s.run(4, 100);
  s.run(3, 50);
  s.wait(8, 10);
  s.wait(4, 1);
  QueuePass sticky(BackfillVariant::easy_sticky);
  EXPECT_EQ(s.decide(sticky), Who{});
  EXPECT_EQ(sticky.promise().at, of_s(100));
  s.wait(3, 91);
  const JobIndex two = s.wait(2, 10'000);
  s.wait(1, 10'000);
  EXPECT_EQ(s.decide(sticky, 10), Who{two});
}

// Node 0 is busy until t=100, node 1 has 2 until t=50, node 2 is busy for long. The head of 8 is
// promised nodes 0 and 1 at t=100. At t=10 node 0 is free: computed anew the head has its place at
// t=50, a sticky one waits for t=100 all the same, and lets pass who ends by then.
TEST(BackfillCases, a_kept_place_on_nodes_stays_where_it_was) {
  for (const auto variant : {BackfillVariant::easy, BackfillVariant::easy_sticky}) {
    NodeScene s{NodePool({4, 4, 4})};
    const JobIndex first = s.run(4, 100, 0);
    s.run(2, 50, 1);
    s.run(4, 300, 2);
    s.wait(8, 10);
    s.wait(2, 101);
    QueuePass pass(variant);
    EXPECT_EQ(s.decide(pass), Who{});
    EXPECT_EQ(pass.promise().at, of_s(100));
    EXPECT_EQ(pass.promise().shares,
              (std::vector<NodeShare>{{.node = 0, .gpus = 4}, {.node = 1, .gpus = 4}}));
    s.end(first);  // its place would now be there at t=50
    const JobIndex longer = s.wait(4, 85);
    const bool is_sticky = variant == BackfillVariant::easy_sticky;
    EXPECT_EQ(s.decide(pass, 10), is_sticky ? Who{longer} : Who{});
    EXPECT_EQ(pass.promise().at, of_s(is_sticky ? 100 : 50));
  }
}

// The head is promised a place; then what runs is gone and it can be promised nothing.
TEST(BackfillCases, a_promise_that_cannot_be_made_names_no_place) {
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

TEST(BackfillCases, with_nobody_behind_the_head_nothing_is_promised) {
  NodeScene s{NodePool({4})};
  s.run(3, 100);
  s.wait(2, 10);
  QueuePass sticky(BackfillVariant::easy_sticky);
  EXPECT_EQ(s.decide(sticky), Who{});
  EXPECT_EQ(sticky.promise().job, kNoJob);
}

TEST(BackfillCases, an_empty_queue_starts_nobody) {
  for (const Word<BackfillVariant>& row : words_of(BackfillVariant{}).rows()) {
    NodeScene s{NodePool({4, 4})};
    const auto policy = make_policy(row.value, {});
    EXPECT_EQ(s.decide(*policy), Who{}) << row.word;
  }
}

TEST(BackfillCases, only_an_unguarded_promise_wakes) {
  for (const auto variant : {BackfillVariant::easy, BackfillVariant::unguarded}) {
    NodeScene s{NodePool({4})};
    s.run(3, 100);
    const JobIndex head = s.wait(2, 10);
    s.wait(1, 20);
    QueuePass pass(variant);
    EXPECT_TRUE(pass.wake().is_never());
    EXPECT_EQ(s.decide(pass), Who{2});
    EXPECT_EQ(pass.promised(head), of_s(100));
    EXPECT_EQ(pass.wake(), variant == BackfillVariant::easy ? SimTime::never() : of_s(100));
  }
}

// A long job may have what is free now and stays free beside the head; what it takes is gone then.
TEST(BackfillCases, what_passes_a_head_on_nodes_uses_up_what_is_left_of_both) {
  NodeScene s{NodePool({8, 8})};
  s.run(6, 100, 0);
  s.run(3, 50, 1);
  s.wait(8, 10);  // node 1 at t=50; of node 0 two are free now and then
  s.wait(3, 51);  // only on node 1, until too late
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

// Both nodes are closed from t=100 for 50 s, every 200 s. Eight GPUs for 120 s fit between two
// windows; a guest and a job that stays start at once.
TEST(PromiseCases, a_promise_lies_between_windows) {
  const auto scene = [](int limit, bool stays, std::uint64_t guest_of) {
    NodeScene s{NodePool({4, 4})};
    s.book.add(window({0b11}, 100, 50, 200));
    const JobIndex job = s.wait(8, limit, guest_of);
    s.jobs[job].stays = stays;
    ConservativePass pass;
    return s.decide(pass).empty() ? pass.promised(job) : of_s(0);
  };
  EXPECT_EQ(scene(100, false, 0), of_s(0));
  EXPECT_EQ(scene(101, false, 0), of_s(150));
  EXPECT_EQ(scene(150, false, 0), of_s(150));
  EXPECT_EQ(scene(151, true, 0), of_s(0));
  EXPECT_EQ(scene(151, false, 1), of_s(0));
  EXPECT_EQ(scene(101, false, 2), of_s(150)) << "of another";
}

// While a window is open, one who stays waits for its end.
TEST(PromiseCases, who_stays_waits_for_an_open_window) {
  NodeScene s{NodePool({4, 4})};
  s.book.add(window({0b01}, 0, 50, 100));
  const JobIndex job = s.wait(8, 1000);
  s.jobs[job].stays = true;
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass), Who{});
  EXPECT_EQ(pass.promised(job), of_s(50));
  EXPECT_EQ(pass.wake(), of_s(50));
  EXPECT_EQ(s.decide(pass, 50), Who{job});
}

// Windows are looked at for two days; one that begins later does not bar yet.
TEST(PromiseCases, windows_beyond_two_days_are_not_looked_at) {
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

TEST(PromiseCases, nothing_is_promised_beyond_a_year) {
  const auto promised = [](int end) {
    NodeScene s{NodePool({4})};
    s.run(4, end);
    const JobIndex job = s.wait(1, 10);
    ConservativePass pass;
    s.decide(pass);
    return pass.promised(job);
  };
  EXPECT_EQ(promised(365 * 86'400), of_s(365 * 86'400));
  EXPECT_TRUE(promised(365 * 86'400 + 1).is_never());
}

// A job that has passed its limit is expected a second from now.
TEST(PromiseCases, who_overruns_ends_in_a_second) {
  NodeScene s{NodePool({4})};
  s.run(4, 60);
  const JobIndex job = s.wait(4, 10);
  ConservativePass pass;
  s.decide(pass, 20);
  EXPECT_EQ(pass.promised(job), of_s(60));
  s.decide(pass, 61);
  EXPECT_EQ(pass.promised(job), of_s(62));
}

// A later arrival with nothing unforeseen between is promised its own place, with its GPUs.
TEST(PromiseCases, who_comes_later_gets_gpus_of_its_own) {
  NodeScene s{NodePool({4})};
  s.run(1, 60);
  const JobIndex wide = s.wait(4, 10);
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass), Who{});
  EXPECT_EQ(pass.promised(wide), of_s(60));
  const JobIndex late = s.wait(2, 60);
  s.jobs[late].submitted = {};
  EXPECT_EQ(s.decide(pass), Who{late});
  EXPECT_EQ(s.jobs[late].shares.size(), 1u);
  EXPECT_EQ(s.pool.free_gpus(), 1);
  EXPECT_TRUE(pass.promised(late).is_never()) << "it has started";
}

// Of a gate that leaves `left` and may refuse all.
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

TEST(PromiseCases, a_gate_is_asked_anew_each_time) {
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

// Its place and its limit are there, and the gate refuses: nothing to wake for.
TEST(PromiseCases, who_is_refused_now_is_not_woken_for) {
  OneLimit gate;
  gate.left = 8;
  gate.is_open = false;
  NodeScene s{NodePool({4})};
  s.gate = &gate;
  const JobIndex job = s.wait(4, 10);
  ConservativePass pass;
  EXPECT_EQ(s.decide(pass, 5), Who{});
  EXPECT_EQ(pass.promised(job), of_s(5));
  EXPECT_TRUE(pass.wake().is_never());
}

TEST(SlurmCases, a_full_partition_holds_back_only_its_own) {
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
// (2, 30 s) finds room when B ends. When the first ends early, all are expected anew.
TEST(SlurmCases, a_period_expects_what_it_starts_itself) {
  NodeScene s{NodePool({4})};
  const JobIndex first = s.run(2, 600);
  const JobIndex head = s.wait(4, 600);
  const JobIndex b = s.wait(2, 540);
  const JobIndex c = s.wait(2, 30);
  SlurmPass pass({});
  EXPECT_EQ(s.decide(pass, 0), Who{});
  EXPECT_EQ(pass.wake(), of_s(30));
  EXPECT_EQ(s.decide(pass, 30), Who{b});  // until t=570, which is cut to 540
  EXPECT_EQ(pass.promised(head), of_s(600));
  EXPECT_EQ(pass.promised(c), of_s(540));
  EXPECT_EQ(pass.wake(), of_s(60));
  s.end(first);
  s.waiting = {head};
  EXPECT_EQ(s.decide(pass, 60), Who{});
  EXPECT_EQ(pass.promised(head), of_s(540));
  EXPECT_TRUE(pass.promised(c).is_never());
  EXPECT_TRUE(pass.wake().is_never()) << "nothing has changed since";
}

TEST(SlurmCases, a_period_tests_so_many_within_its_window) {
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
  EXPECT_EQ(promised({}), (std::vector<SimTime>{of_s(600), of_s(660), of_s(720)}));
  EXPECT_EQ(promised({.max_job_test = 2}), (std::vector<SimTime>{of_s(600), of_s(660), never}));
  EXPECT_EQ(promised({.window = of_s(630)}), (std::vector<SimTime>{of_s(600), of_s(660), never}));
  EXPECT_EQ(promised({.window = of_s(629)}), (std::vector<SimTime>{of_s(600), never, never}));
}

// What stands in slurm.conf's manual.
TEST(SlurmCases, bounds_are_those_of_slurm) {
  const PeriodicBounds bounds;
  EXPECT_EQ(bounds.interval, of_s(30));
  EXPECT_EQ(bounds.window, of_s(86'400));
  EXPECT_EQ(bounds.resolution, of_s(60));
  EXPECT_EQ(bounds.max_job_test, 500);
}

}  // namespace
}  // namespace orrery::cluster
