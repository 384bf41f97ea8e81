// Queues at one instant and MIG slices, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/cluster/backfill.h"
#include "layers/cluster/fragmentation.h"
#include "layers/cluster/gpu_ledger.h"
#include "layers/cluster/mig_pool.h"
#include "layers/cluster/node_pool.h"
#include "layers/cluster/profile.h"
#include "layers/cluster/promise_pass.h"
#include "layers/cluster/qos_gate.h"
#include "layers/cluster/queue.h"
#include "layers/cluster/quota_gate.h"
#include "layers/cluster/reservation.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

// Returns a simulated time in whole seconds.
constexpr sim::SimTime at_s(std::int64_t s) { return sim::SimTime::nanoseconds(s * 1'000'000'000); }

using Who = std::vector<JobIndex>;

// A queue at one instant, with everything a view can hold.
struct NodeScene {
  explicit NodeScene(NodePool nodes) : pool(std::move(nodes)) {}

  JobIndex run(int gpus, int end, int node = -1) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = at_s(end)};
    const NodeMask only{node < 0 ? ~0ull : 1ull << node};
    EXPECT_TRUE(pool.place(job.ask, &only, job.shares));
    pool.take(job.shares);
    const auto index = static_cast<JobIndex>(jobs.size());
    running.push_back({.end = at_s(end), .job = index});
    jobs.push_back(job);
    std::ranges::stable_sort(running, {}, &RunningEnd::end);
    return index;
  }
  JobIndex wait(int gpus, int limit, std::uint64_t guest_of = 0) {
    const auto index = static_cast<JobIndex>(jobs.size());
    waiting.push_back(index);
    jobs.push_back({.ask = {.gpus = gpus}, .limit = at_s(limit), .submitted = at_s(index + 1)});
    jobs.back().guest_of = guest_of;
    return index;
  }
  QueueView view(int now) const {
    return {.now = at_s(now),
            .jobs = jobs,
            .waiting = waiting,
            .running = running,
            .partitions = partitions,
            .reservations = book.is_empty() ? nullptr : &book,
            .gate = gate,
            .surprises = surprises};
  }
  // Returns the jobs that start; they run from then on.
  std::vector<JobIndex> decide(QueuePolicy& policy, int now = 0) {
    Starts starts;
    policy.decide(view(now), pool, starts);
    std::vector<JobIndex> who;
    for (const Starts::One& one : starts.jobs) {
      who.push_back(one.job);
      jobs[one.job].shares.assign(starts.of(one).begin(), starts.of(one).end());
      const RunningEnd end{.end = at_s(now) + jobs[one.job].limit, .job = one.job};
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

inline Reservation window(NodeMask nodes, int start, int length, int every = 0) {
  return {.name = "w",
          .nodes = std::move(nodes),
          .start = at_s(start),
          .length = at_s(length),
          .every = at_s(every)};
}

// The slices of an H100; at most one instance of `media` is allowed.
inline std::vector<catalog::MigProfile> slices() {
  return {{.profile = "1g",
           .compute_slices = 1,
           .memory_slices = 1,
           .starts = {0, 1, 2, 3, 4, 5, 6},
           .max_instances = 7},
          {.profile = "media",
           .compute_slices = 1,
           .memory_slices = 1,
           .starts = {0, 1, 2, 3, 4, 5, 6},
           .max_instances = 1},
          {.profile = "3g",
           .compute_slices = 3,
           .memory_slices = 4,
           .starts = {0, 4},
           .max_instances = 2}};
}

// Ten GPUs in a pool that only counts; six are taken until 100 s.
struct CountedTurn {
  CountedTurn() {
    std::vector<NodeShare> six{{.node = 0, .gpus = 6}};
    pool.take(six);
    jobs.push_back({.ask = {.gpus = 6}, .limit = at_s(100), .shares = six});
    running.push_back({.end = at_s(100), .job = 0});
  }
  JobIndex wait(int gpus, int limit) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back({.ask = {.gpus = gpus}, .limit = at_s(limit), .submitted = at_s(job)});
    waiting.push_back(job);
    return job;
  }
  std::vector<JobIndex> decide(QueuePolicy& policy, int now) {
    Starts starts;
    policy.decide({.now = at_s(now), .jobs = jobs, .waiting = waiting, .running = running}, pool,
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

struct SeldomScene {
  explicit SeldomScene(NodePool nodes) : pool(std::move(nodes)) {}
  JobIndex run(int node, int gpus, int end) {
    QueuedJob job{.ask = {.gpus = gpus}, .limit = at_s(end)};
    job.shares = {{.node = node, .gpus = gpus}};
    pool.take(job.shares);
    if (gate != nullptr) gate->started(job);
    running.push_back({.end = at_s(end), .job = static_cast<JobIndex>(jobs.size())});
    jobs.push_back(job);
    return running.back().job;
  }
  JobIndex wait(int gpus, int limit, int group = 0) {
    const auto job = static_cast<JobIndex>(jobs.size());
    jobs.push_back({.ask = {.gpus = gpus}, .limit = at_s(limit), .submitted = at_s(job)});
    jobs.back().group = static_cast<std::uint16_t>(group);
    waiting.push_back(job);
    return job;
  }
  std::vector<JobIndex> decide(QueuePolicy& policy) {
    Starts starts;
    policy.decide(
        {.now = at_s(0), .jobs = jobs, .waiting = waiting, .running = running, .gate = gate}, pool,
        starts);
    std::vector<JobIndex> who;
    for (const Starts::One& one : starts.jobs) who.push_back(one.job);
    return who;
  }
  NodePool pool;
  std::vector<QueuedJob> jobs;
  std::vector<JobIndex> waiting;
  std::vector<RunningEnd> running;
  StartGate* gate = nullptr;
};

}  // namespace orrery::cluster
