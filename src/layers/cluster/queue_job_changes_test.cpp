// What happens to jobs after they are submitted: cancels, requeues, early ends, shrinking, and
// reuse of their numbers.
#include <gtest/gtest.h>

#include <algorithm>

#include "layers/cluster/backfill.h"
#include "layers/cluster/cluster_fixture.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/queue.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/start_gate.h"
#include "layers/cluster/wait_reason.h"

namespace orrery::cluster {
namespace {

using sim::SimTime;

// Records the calls it receives; keeps shares of a job that lost a node if the test asks for that.
struct RecordingPort final : QueuePort {
  struct Start {
    JobIndex job = 0;
    std::uint64_t tag = 0;
    int gpus = 0;
  };
  void job_started(JobIndex job, std::uint64_t tag, std::span<const NodeShare> where) override {
    int gpus = 0;
    for (const NodeShare& s : where) gpus += s.gpus;
    starts.push_back({job, tag, gpus});
    if (ends_at_once && tag == 1) queue->finish(job);
  }
  void job_stopped(JobIndex job, std::uint64_t, StopCause cause) override {
    stops.emplace_back(job, cause);
  }
  std::vector<NodeShare> job_lost_node(JobIndex job, std::uint64_t, int node) override {
    if (!keeps) return {};
    auto kept = queue->job(job).shares;
    std::erase_if(kept, [node](const NodeShare& s) { return s.node == node; });
    return kept;
  }

  Queue* queue = nullptr;
  bool ends_at_once = false;
  bool keeps = false;
  std::vector<Start> starts;
  std::vector<std::pair<JobIndex, StopCause>> stops;
};

struct QueueCase {
  explicit QueueCase(NodePool pool, QueueOptions options = {})
      : queue(kernel, std::move(pool), std::move(options), port) {
    port.queue = &queue;
  }
  JobIndex add(int gpus, int limit, std::uint64_t tag = 0) {
    const auto job = queue.submit({.ask = {.gpus = gpus}, .limit = at_s(limit), .tag = tag});
    EXPECT_TRUE(job);
    return job.value_or(kNoJob);
  }

  sim::Kernel kernel;
  RecordingPort port;
  Queue queue;
};

TEST(QueueJobChanges, submitted_job_keeps_its_request) {
  QueueCase c(NodePool({8, 8, 8}));
  c.kernel.run(at_s(17));
  const auto plain = c.queue.submit({.ask = {.gpus = 3}, .limit = at_s(40)});
  const QueuedJob& none = c.queue.job(*plain);
  EXPECT_EQ(none.submitted, at_s(17));
  EXPECT_EQ(none.qos, 0);
  EXPECT_EQ(none.qos_seat, 0u);
  EXPECT_EQ(none.group, 0);
  EXPECT_EQ(none.partition, 0);
  EXPECT_EQ(none.user, 0u);
  EXPECT_EQ(none.tier, 0);
  EXPECT_EQ(none.priority, 0);
  EXPECT_EQ(none.guest_of, 0u);
  EXPECT_FALSE(none.stays);
  EXPECT_EQ(c.queue.tag(*plain), 0u);
  const auto full = c.queue.submit({.ask = {.gpus = 6, .per_node = 2},
                                    .limit = at_s(50),
                                    .tier = 3,
                                    .priority = 2.5,
                                    .partition = 4,
                                    .group = 5,
                                    .qos = 6,
                                    .qos_seat = 7,
                                    .user = 8,
                                    .stays = true,
                                    .guest_of = 9,
                                    .tag = 10});
  ASSERT_TRUE(full) << "without partitions there is one, which has every node";
  const QueuedJob& all = c.queue.job(*full);
  EXPECT_EQ(all.ask, (GpuAsk{.gpus = 6, .per_node = 2}));
  EXPECT_EQ(all.limit, at_s(50));
  EXPECT_EQ(all.tier, 3);
  EXPECT_EQ(all.priority, 2.5);
  EXPECT_EQ(all.partition, 4);
  EXPECT_EQ(all.group, 5);
  EXPECT_EQ(all.qos, 6);
  EXPECT_EQ(all.qos_seat, 7u);
  EXPECT_EQ(all.user, 8u);
  EXPECT_TRUE(all.stays);
  EXPECT_EQ(all.guest_of, 9u);
  EXPECT_EQ(c.queue.tag(*full), 10u);
  EXPECT_FALSE(c.queue.submit({.ask = {.gpus = 25}}));
}

TEST(QueueJobChanges, simultaneous_events_are_decided_once) {
  QueueCase c(NodePool({8}));
  c.add(2, 10, 5);
  c.add(3, 10, 6);
  c.add(3, 10, 7);
  EXPECT_EQ(c.queue.waiting(), 3u);
  c.kernel.run(at_s(1));
  EXPECT_EQ(c.kernel.events_run(), 1u);
  ASSERT_EQ(c.port.starts.size(), 3u);
  EXPECT_EQ(c.port.starts[1].tag, 6u);
  EXPECT_EQ(c.port.starts[1].gpus, 3);
  EXPECT_EQ(c.queue.running(), 3u);
  EXPECT_EQ(c.queue.waiting(), 0u);
  EXPECT_EQ(c.queue.running_jobs().size(), 3u);
  EXPECT_EQ(c.queue.pool().free_gpus(), 0);
}

TEST(QueueJobChanges, cancel_removes_a_job_in_any_state) {
  QueueCase c(NodePool({8}));
  const JobIndex runs = c.add(8, 100);
  c.kernel.run(at_s(1));
  const JobIndex wide = c.add(7, 100);
  const JobIndex next = c.add(5, 100);
  c.kernel.run(at_s(2));
  EXPECT_EQ(c.queue.waiting(), 2u);
  c.queue.cancel(wide);
  ASSERT_EQ(c.queue.waiting(), 1u);
  EXPECT_EQ(c.queue.waiting_jobs()[0], next);
  EXPECT_EQ(c.add(8, 1), wide) << "its index is free again";
  c.queue.cancel(runs);
  EXPECT_EQ(c.queue.running(), 0u);
  EXPECT_EQ(c.queue.pool().free_gpus(), 8);
  c.kernel.run(at_s(3));
  EXPECT_TRUE(c.queue.is_running(next));
  EXPECT_FALSE(c.queue.is_running(wide));
}

TEST(QueueJobChanges, requeued_job_waits_its_delay) {
  QueueCase c(NodePool({8}), {.requeue_delay = seconds(120)});
  const JobIndex job = c.add(8, 1000);
  c.kernel.run(at_s(10));
  c.queue.put_back(job, StopCause::failed);
  ASSERT_EQ(c.port.stops.size(), 1u);
  EXPECT_EQ(c.port.stops[0].first, job);
  EXPECT_EQ(c.port.stops[0].second, StopCause::failed);
  EXPECT_EQ(c.queue.why(job).reason, WaitReason::not_yet);
  EXPECT_EQ(c.queue.pool().free_gpus(), 8);
  c.kernel.run(at_s(129));
  EXPECT_FALSE(c.queue.is_running(job));
  c.kernel.run(at_s(130));
  EXPECT_TRUE(c.queue.is_running(job));
  c.queue.put_back(job, StopCause::failed);
  c.queue.cancel(job);
  c.kernel.run(at_s(1000));
  EXPECT_EQ(c.queue.running() + c.queue.waiting(), 0u);
  EXPECT_EQ(c.port.starts.size(), 2u);
}

// A job that ends as soon as it starts was expected to take 100 s, so jobs that wait for its GPUs
// get new promises.
TEST(QueueJobChanges, job_that_ends_at_its_start_is_a_surprise) {
  QueueCase c(NodePool({8}), {.backfill = BackfillVariant::conservative});
  c.port.ends_at_once = true;
  c.add(6, 100, 1);
  c.add(8, 50, 2);
  c.kernel.run(at_s(0));
  ASSERT_EQ(c.port.starts.size(), 2u);
  EXPECT_EQ(c.port.starts[1].tag, 2u);
}

TEST(QueueJobChanges, shrunk_job_returns_the_rest) {
  QuotaGate gate;
  gate.add_group(0, {.tenant = "a", .guaranteed = 24});
  QueueCase c(NodePool({8, 8, 8}), {.gate = &gate});
  c.port.keeps = true;
  const JobIndex job = c.add(20, 100);
  c.kernel.run(at_s(1));
  std::vector<double> left;
  gate.add_left(left);
  EXPECT_EQ(left, (std::vector<double>{4, 4}));
  c.queue.node_down(1);
  EXPECT_TRUE(c.queue.is_running(job));
  EXPECT_EQ(c.queue.job(job).ask.gpus, 12);
  EXPECT_EQ(c.queue.job(job).shares.size(), 2u);
  left.clear();
  gate.add_left(left);
  EXPECT_EQ(left, (std::vector<double>{12, 12}));
  EXPECT_EQ(c.queue.pool().free_gpus(), 4);
  std::vector<JobIndex> there;
  c.queue.jobs_on(1, there);
  EXPECT_TRUE(there.empty());
  c.queue.jobs_on(0, there);
  EXPECT_EQ(there, std::vector<JobIndex>{job});
  c.queue.node_up(1);
  EXPECT_EQ(c.queue.pool().free_gpus(), 12);
  std::vector<NodeShare> where;
  EXPECT_FALSE(c.queue.extend(job, {.gpus = 13}, where)) << "of the limit 12 are left";
  EXPECT_EQ(c.queue.job(job).ask.gpus, 12);
  EXPECT_TRUE(c.queue.extend(job, {.gpus = 8}, where));
  EXPECT_EQ(c.queue.job(job).ask.gpus, 20);
  EXPECT_EQ(c.queue.job(job).shares.size(), 3u);
  c.queue.finish(job);
  EXPECT_EQ(c.queue.pool().free_gpus(), 24);
  left.clear();
  gate.add_left(left);
  EXPECT_EQ(left, (std::vector<double>{24, 24}));
}

// Admits no job until it is opened, and gives no notice when it is.
struct Door final : StartGate {
  bool admits(const QueuedJob&) const override { return is_open; }
  void started(const QueuedJob&) override {}
  void ended(const QueuedJob&) override {}
  std::size_t limits() const override { return 0; }
  void add_left(std::vector<double>&) const override {}
  LimitUses uses_of(const QueuedJob&) const override { return {}; }
  bool is_open = false;
};

TEST(QueueJobChanges, queue_decides_again_on_request) {
  Door door;
  QueueCase c(NodePool({8}), {.gate = &door});
  const JobIndex job = c.add(4, 100);
  c.kernel.run(at_s(1));
  EXPECT_EQ(c.queue.why(job).reason, WaitReason::limits);
  door.is_open = true;
  c.kernel.run(at_s(2));
  EXPECT_FALSE(c.queue.is_running(job));
  c.queue.look_again();
  c.kernel.run(at_s(3));
  EXPECT_TRUE(c.queue.is_running(job));
}

struct TurnPort final : QueuePort {
  void job_started(JobIndex job, std::uint64_t, std::span<const NodeShare>) override {
    started.push_back(job);
  }
  void job_stopped(JobIndex, std::uint64_t, StopCause) override {}
  Who started;
};

JobIndex submit_turn(Queue& queue, int gpus) {
  return queue.submit({.ask = {.gpus = gpus}, .limit = at_s(100)}).value_or(kNoJob);
}

TEST(QueueJobChanges, cancelled_head_lets_others_start) {
  sim::Kernel kernel;
  TurnPort port;
  Queue queue(kernel, NodePool({8}), {.backfill = BackfillVariant::fifo}, port);
  const JobIndex runs = submit_turn(queue, 6);
  const JobIndex head = submit_turn(queue, 8);
  const JobIndex small = submit_turn(queue, 2);
  kernel.run(at_s(1));
  EXPECT_EQ(port.started, Who{runs});
  queue.cancel(head);
  kernel.run(at_s(1));
  EXPECT_EQ(port.started, (Who{runs, small}));
  EXPECT_EQ(queue.waiting(), 0u);
  EXPECT_EQ(queue.running(), 2u);
}

TEST(QueueJobChanges, job_ids_are_reused) {
  sim::Kernel kernel;
  TurnPort port;
  Queue queue(kernel, NodePool({8}), {}, port);
  EXPECT_EQ(submit_turn(queue, 8), 0u);
  EXPECT_EQ(submit_turn(queue, 8), 1u);
  kernel.run(at_s(1));
  queue.finish(0);
  EXPECT_EQ(submit_turn(queue, 4), 0u);
  queue.cancel(1);
  EXPECT_EQ(submit_turn(queue, 4), 1u);
  EXPECT_EQ(submit_turn(queue, 4), 2u);
  kernel.run(at_s(2));
  EXPECT_EQ(port.started, (Who{0, 0, 1}));
  EXPECT_TRUE(queue.is_running(0) && queue.is_running(1));
  EXPECT_FALSE(queue.is_running(2));
}

TEST(QueueJobChanges, destroyed_queue_leaves_no_events) {
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

}  // namespace
}  // namespace orrery::cluster
