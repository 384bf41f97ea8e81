// Turns that a queue seldom takes: who passes a promise on the surplus, what a cancel sets free,
// numbers that are used again, a grid of no width, and books that do not add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/queue.h"

namespace orrery::cluster {
namespace {

sim::SimTime turn_s(std::int64_t s) { return sim::SimTime::nanoseconds(s * 1'000'000'000); }

// Ten GPUs that are only counted, six of them taken until 100 s.
struct CountedTurn {
  CountedTurn() {
    std::vector<NodeShare> six{{.node = 0, .gpus = 6}};
    pool.take(six);
    jobs.push_back({.ask = {.gpus = 6}, .limit = turn_s(100), .shares = six});
    running.push_back({.end = turn_s(100), .job = 0});
  }
  JobIndex wait(int gpus, int limit) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back({.ask = {.gpus = gpus}, .limit = turn_s(limit), .submitted = turn_s(job)});
    waiting.push_back(job);
    return job;
  }
  std::vector<JobIndex> decide(QueuePolicy& policy, int now) {
    Starts starts;
    policy.decide({.now = turn_s(now), .jobs = jobs, .waiting = waiting, .running = running}, pool,
                  starts);
    std::vector<JobIndex> who;
    for (const Starts::One& one : starts.jobs) who.push_back(one.job);
    return who;
  }

  NodePool pool{{10}};
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
};

using Who = std::vector<JobIndex>;

// The head wants 8 and is promised 100 s, when ten are free: two more than it needs. Who ends by
// then takes nothing of them.
TEST(QueueTurns, who_ends_in_time_leaves_the_surplus_to_others) {
  const auto starts = [](int first_limit, int second_gpus, int second_limit) {
    CountedTurn line;
    line.wait(8, 50);
    line.wait(2, first_limit);
    line.wait(second_gpus, second_limit);
    QueuePass easy(BackfillVariant::easy);
    const Who who = line.decide(easy, 0);
    EXPECT_EQ(easy.promise().at, turn_s(100));
    EXPECT_EQ(easy.promised(1), turn_s(100));
    EXPECT_TRUE(easy.promised(2).is_never());
    return who;
  };
  EXPECT_EQ(starts(100, 2, 1000), (Who{2, 3})) << "the second has the surplus to itself";
  EXPECT_EQ(starts(101, 2, 1000), (Who{2})) << "a second too long, it takes the surplus";
  EXPECT_EQ(starts(101, 2, 100), (Who{2, 3}));
  EXPECT_EQ(starts(100, 3, 100), (Who{2})) << "two are free";
}

TEST(QueueTurns, more_than_the_surplus_is_too_much) {
  for (const int gpus : {2, 3}) {
    CountedTurn line;
    line.wait(8, 50);
    line.wait(gpus, 1000);
    QueuePass easy(BackfillVariant::easy);
    EXPECT_EQ(line.decide(easy, 0), gpus == 2 ? Who{2} : Who{});
  }
}

// At 30 s the queue looks ahead. Without a grid the head is promised the end at 95 s, and what ends
// by then passes it; on a grid of a minute the end is taken to be at 60 s.
TEST(QueueTurns, a_grid_of_no_width_cuts_nothing) {
  const auto look = [](int resolution, int limit) {
    CountedTurn line;
    line.running[0].end = turn_s(95);
    const JobIndex head = line.wait(8, 120);
    line.wait(4, limit);
    SlurmPass slurm(PeriodicBounds{.resolution = turn_s(resolution)});
    EXPECT_EQ(line.decide(slurm, 0), Who{}) << "the head closes the queue";
    EXPECT_EQ(slurm.wake(), turn_s(30));
    const Who who = line.decide(slurm, 30);
    EXPECT_EQ(slurm.promised(head), turn_s(resolution == 0 ? 95 : 60));
    return who;
  };
  EXPECT_EQ(look(0, 65), Who{2});
  EXPECT_EQ(look(0, 66), Who{});
  EXPECT_EQ(look(60, 30), Who{2});
  EXPECT_EQ(look(60, 31), Who{});
}

struct TurnPort final : QueuePort {
  void job_started(JobIndex job, std::uint64_t, std::span<const NodeShare>) override {
    started.push_back(job);
  }
  void job_stopped(JobIndex, std::uint64_t, StopCause) override {}
  Who started;
};

JobIndex submit_turn(Queue& queue, int gpus) {
  return queue.submit({.ask = {.gpus = gpus}, .limit = turn_s(100)}).value_or(kNoJob);
}

TEST(QueueTurns, a_cancelled_head_lets_others_in_at_once) {
  sim::Kernel kernel;
  TurnPort port;
  Queue queue(kernel, NodePool({8}), {.backfill = BackfillVariant::fifo}, port);
  const JobIndex runs = submit_turn(queue, 6);
  const JobIndex head = submit_turn(queue, 8);
  const JobIndex small = submit_turn(queue, 2);
  kernel.run(turn_s(1));
  EXPECT_EQ(port.started, Who{runs});
  queue.cancel(head);
  kernel.run(turn_s(1));
  EXPECT_EQ(port.started, (Who{runs, small}));
  EXPECT_EQ(queue.waiting(), 0u);
  EXPECT_EQ(queue.running(), 2u);
}

TEST(QueueTurns, numbers_of_jobs_that_are_gone_are_used_again) {
  sim::Kernel kernel;
  TurnPort port;
  Queue queue(kernel, NodePool({8}), {}, port);
  EXPECT_EQ(submit_turn(queue, 8), 0u);
  EXPECT_EQ(submit_turn(queue, 8), 1u);
  kernel.run(turn_s(1));
  queue.finish(0);
  EXPECT_EQ(submit_turn(queue, 4), 0u);
  queue.cancel(1);
  EXPECT_EQ(submit_turn(queue, 4), 1u);
  EXPECT_EQ(submit_turn(queue, 4), 2u);
  kernel.run(turn_s(2));
  EXPECT_EQ(port.started, (Who{0, 0, 1}));
  EXPECT_TRUE(queue.is_running(0) && queue.is_running(1));
  EXPECT_FALSE(queue.is_running(2));
}

TEST(QueueTurns, a_queue_that_is_gone_is_called_no_more) {
  sim::Kernel kernel;
  TurnPort port;
  {
    Queue queue(kernel, NodePool({8}), {}, port);
    submit_turn(queue, 8);
    EXPECT_EQ(kernel.pending(), 1u);
  }
  EXPECT_EQ(kernel.pending(), 0u);
  EXPECT_EQ(kernel.run(), 0u);
  EXPECT_TRUE(port.started.empty());
}

// Seventy nodes of four, more than a word of bits has.
TEST(QueueTurns, nodes_with_so_many_free_are_counted_beyond_a_word) {
  NodePool pool(std::vector<int>(70, 4));
  std::vector<NodeShare> taken{
      {.node = 1, .gpus = 4}, {.node = 66, .gpus = 3}, {.node = 69, .gpus = 1}};
  pool.take(taken);
  EXPECT_EQ(pool.nodes_with(4, nullptr), 67);
  EXPECT_EQ(pool.nodes_with(3, nullptr), 68);
  EXPECT_EQ(pool.nodes_with(2, nullptr), 68);
  EXPECT_EQ(pool.nodes_with(1, nullptr), 69);
  const NodeMask last{0, 0b111100};  // nodes 66 to 69
  EXPECT_EQ(pool.nodes_with(4, &last), 2);
  EXPECT_EQ(pool.nodes_with(3, &last), 3);
  EXPECT_EQ(pool.nodes_with(1, &last), 4);
  pool.set_up(68, false);
  EXPECT_EQ(pool.nodes_with(4, &last), 1);
  NodePool counted({8});
  EXPECT_EQ(counted.nodes_with(8, nullptr), 1);
  EXPECT_EQ(counted.nodes_with(9, nullptr), 0);
  counted.set_up(0, false);
  EXPECT_EQ(counted.nodes_with(1, nullptr), 0);
}

// One GPU is free: of use to the quarter of the pods that want one of this model, not to those that
// want two, or one of another.
TEST(QueueTurns, pods_are_alike_where_they_ask_for_the_same) {
  const std::vector<PodAsk> pods{{.cpu_milli = 100, .gpus = 1, .gpu_milli = 1000, .models = 1},
                                 {.cpu_milli = 100, .gpus = 2, .gpu_milli = 1000, .models = 1},
                                 {.cpu_milli = 100, .gpus = 1, .gpu_milli = 1000, .models = 2},
                                 {.cpu_milli = 700, .gpus = 1, .gpu_milli = 1000, .models = 1}};
  const TypicalTasks tasks(pods);
  PodNode node{.cpu_left = 699, .memory_left = 100, .gpus = 1, .model = 1};
  node.gpu_left[0] = 1000;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 750);
  node.cpu_left = 700;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 500);
  node.cpu_left = 100;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 750);
  node.cpu_left = 99;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 1000);
  node.gpu_left[0] = 0;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 0);
}

TEST(QueueTurns, a_book_is_sound_until_less_than_nothing_moves) {
  GpuLedger book(8);
  EXPECT_EQ(book.accelerators(), 8);
  EXPECT_EQ(book.held(Cause::idle), 8);
  book.correct(Cause::idle, Cause::lost, 0);
  book.move(turn_s(1), Cause::idle, Cause::productive, 8);
  book.move(turn_s(2), Cause::productive, Cause::idle, 0);
  EXPECT_TRUE(book.is_sound()) << "all, and none";
  EXPECT_EQ(book.held(Cause::idle), 0);
  EXPECT_EQ(book.held(Cause::productive), 8);
  GpuLedger corrected(8);
  corrected.correct(Cause::idle, Cause::lost, -1);
  EXPECT_FALSE(corrected.is_sound());
  corrected.correct(Cause::idle, Cause::lost, 2);
  EXPECT_FALSE(corrected.is_sound()) << "once wrong it stays so";
  GpuLedger moved(8);
  moved.move(turn_s(1), Cause::idle, Cause::productive, -1);
  EXPECT_FALSE(moved.is_sound());
}

}  // namespace
}  // namespace orrery::cluster
