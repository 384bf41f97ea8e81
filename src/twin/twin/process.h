// What lives on a replication's clock and holds slots of a fleet: a run, a service, a stream of
// jobs.
//
// A process submits jobs to its fleet's queue (queue.h) and hears through these calls where they
// were placed and when they lost their place. It books what its slots do with the World and knows
// no other process. `part` is the process's own name for one of its jobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "layers/cluster/node_pool.h"
#include "layers/cluster/queue.h"
#include "layers/failure/causes.h"
#include "model/figures/assumptions.h"
#include "twin/twin/cause.h"

namespace orrery::twin {

using figures::assumptions::kDetectTime;
// What the queue is told of a job that stays.
inline constexpr Seconds kStays = years(20);

class Process {
 public:
  virtual ~Process() = default;

  // At the clock's start, and at its end: what is under way then is booked as it stands.
  virtual void begin() = 0;
  virtual void close() = 0;
  // It is a stage of the pipeline, and its turn has come: a run, or new weights. It says so when
  // that has ended (World::run_ended). Begin() starts nothing of what is called.
  virtual void call() {}

  virtual void placed(std::uint32_t part, std::span<const cluster::NodeShare> where) = 0;
  // Its slots are gone; it is back in the queue unless it cancels the job.
  virtual void evicted(std::uint32_t part, cluster::StopCause cause) = 0;
  // A fault on a host that the part is on. Gives how long it takes until somebody sees it; where
  // the cause takes the host, the part is evicted then.
  virtual Seconds struck(std::uint32_t part, int host, const failure::FaultCause& cause) = 0;
  // That host is gone. What the part goes on with, of what it holds; nothing: it is evicted.
  virtual std::vector<cluster::NodeShare> lost_host(std::uint32_t, int /*host*/) { return {}; }
  // Slots of its fleet came free, which it said that it could use (World::call_for_room).
  virtual void room_came() {}
  // For a while its steps lose a share of their time (failure/setbacks.h).
  virtual void set_back(Cause, Seconds /*span*/, double /*share*/) {}
  // From now on what that host computes is wrong, and nobody knows.
  virtual void corrupted(std::uint32_t, int /*host*/) {}

  // As the recovery policy knows it; empty: the policy has no say in its restarts.
  virtual std::string known_as() const { return {}; }
};

}  // namespace orrery::twin
