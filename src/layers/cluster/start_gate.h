// What a job must pass besides finding a place: limits that are counted.
//
//   admitted  <=>  of every limit it counts against as much is left as it asks for
// A quota counts GPUs (quota_gate.h), a site's power watts. What runs counts until it ends, so what
// is left of a limit later is foreseen as free nodes are: a job that lacks only a limit keeps its
// place in the queue, and what it is promised lies within the limit.
// Wrong where others count against the same limit, unseen by this queue: a site's power, where it
// has several fleets. A promise may slip then.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/sim/sim_time.h"
#include "layers/cluster/node_pool.h"

namespace orrery::cluster {

using JobIndex = std::uint32_t;
inline constexpr JobIndex kNoJob = std::numeric_limits<JobIndex>::max();

// What a policy knows of a job that waits or runs.
struct QueuedJob {
  GpuAsk ask;
  sim::SimTime limit;  // what the user said it takes at the most
  sim::SimTime submitted;
  sim::SimTime started;
  double priority = 0;
  std::uint16_t partition = 0;
  std::uint16_t group = 0;     // of quotas
  std::uint16_t qos = 0;       // 0: none
  std::uint32_t qos_seat = 0;  // of its user there (qos_gate.h)
  std::uint32_t user = 0;
  std::uint8_t tier = 0;          // higher goes first and may take GPUs of lower ones
  bool stays = false;             // stopped when a reservation begins, not kept from its nodes
  std::uint64_t guest_of = 0;     // a bit for each reservation that it may use (reservation.h)
  std::vector<NodeShare> shares;  // of a running job
};

struct LimitUse {
  std::uint32_t limit = 0;
  double amount = 0;
};

// The limits that one job counts against: a handful, without memory of their own.
class LimitUses {
 public:
  void add(const LimitUse& use) {
    assert(count_ < uses_.size());
    uses_[count_++] = use;
  }
  const LimitUse* begin() const { return uses_.data(); }
  const LimitUse* end() const { return uses_.data() + count_; }

 private:
  std::array<LimitUse, 8> uses_{};
  std::size_t count_ = 0;
};

// Asked before a start and told of it, so that the next one of the same pass sees it.
class StartGate {
 public:
  virtual ~StartGate() = default;
  virtual bool admits(const QueuedJob& job) const = 0;
  virtual void started(const QueuedJob& job) = 0;
  virtual void ended(const QueuedJob& job) = 0;
  // It lacks a limit of its user alone: others are not held back for its sake.
  virtual bool passes_over(const QueuedJob&) const { return false; }
  // The same as numbers, to think ahead with: `left` of each limit now.
  virtual std::size_t limits() const = 0;
  virtual void add_left(std::vector<double>& left) const = 0;
  virtual LimitUses uses_of(const QueuedJob& job) const = 0;
};

// What is left of a gate's limits at a time that one thinks of. Without a gate all are admitted.
class LimitRoom {
 public:
  void reset(const StartGate* gate);
  bool admits(const QueuedJob& job) const;
  void take(const QueuedJob& job) { add(job, -1); }
  void give(const QueuedJob& job) { add(job, +1); }
  // The limits that the job lacks are left to it: nobody else is admitted against them.
  void close_for(const QueuedJob& job);

 private:
  void add(const QueuedJob& job, double sign);

  const StartGate* gate_ = nullptr;
  std::vector<double> left_;
};

}  // namespace orrery::cluster
