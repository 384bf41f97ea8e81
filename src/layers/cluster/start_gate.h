// Limits that a job must pass besides finding a place: quantities that are counted.
//
//   admitted  <=>  every limit that it counts against has as much left as it requests
// A quota counts GPUs (quota_gate.h), a site's power limit watts. A running job counts until it
// ends, so what will be left of a limit later is predicted in the same way as free nodes. A job
// that lacks only a limit therefore keeps its place in the queue, and its promised time respects
// the limit. Wrong if something outside this queue counts against the same limit, such as a site's
// power shared by several fleets; a promise may then slip.
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

// What a policy knows about a waiting or running job.
struct QueuedJob {
  GpuAsk ask;
  sim::SimTime limit;  // maximum run time, as the user stated it
  sim::SimTime submitted;
  sim::SimTime started;
  double priority = 0;
  std::uint16_t partition = 0;
  std::uint16_t group = 0;     // quota group
  std::uint16_t qos = 0;       // 0: none
  std::uint32_t qos_seat = 0;  // its user's seat in that QOS (qos_gate.h)
  std::uint32_t user = 0;
  std::uint8_t tier = 0;  // higher tiers come first and may preempt lower ones
  // Stopped when a reservation begins, instead of being kept off its nodes.
  bool stays = false;
  std::uint64_t guest_of = 0;     // one bit per reservation that it may use (reservation.h)
  std::vector<NodeShare> shares;  // where it runs
};

struct LimitUse {
  std::uint32_t limit = 0;
  double amount = 0;
};

// The limits that one job counts against: a handful, stored inline.
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

// Asked before a start and notified of it, so that the next decision of the same pass sees it.
class StartGate {
 public:
  virtual ~StartGate() = default;
  virtual bool admits(const QueuedJob& job) const = 0;
  virtual void started(const QueuedJob& job) = 0;
  virtual void ended(const QueuedJob& job) = 0;
  // Returns true if the job lacks only a limit of its own user, so that other jobs need not wait
  // for it.
  virtual bool passes_over(const QueuedJob&) const { return false; }
  // The same limits as numbers, for planning ahead: how many there are, and what is left of each
  // now.
  virtual std::size_t limits() const = 0;
  virtual void add_left(std::vector<double>& left) const = 0;
  virtual LimitUses uses_of(const QueuedJob& job) const = 0;
};

// What is left of a gate's limits at some time in a plan. Without a gate all jobs are admitted.
class LimitRoom {
 public:
  void reset(const StartGate* gate);
  bool admits(const QueuedJob& job) const;
  void take(const QueuedJob& job) { add(job, -1); }
  void give(const QueuedJob& job) { add(job, +1); }
  // Closes the limits that the job lacks, so that no other job is admitted against them.
  void close_for(const QueuedJob& job);

 private:
  void add(const QueuedJob& job, double sign);

  const StartGate* gate_ = nullptr;
  std::vector<double> left_;
};

}  // namespace orrery::cluster
