// What lives on a replication's clock and holds slots of a fleet: a run, a service, a stream of
// jobs.
//
// A process submits jobs to its fleet's queue (layers/cluster/queue.h) and learns through these
// calls where they were placed and when they lost their place. It books what its slots do in the
// fleet's SlotBook and knows no other process. `part` is the process's own number for one of its
// jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/cluster/node_pool.h"
#include "layers/cluster/queue.h"
#include "layers/failure/causes.h"
#include "twin/world/cause.h"
#include "twin/world/host_index.h"

namespace orrery::world {

// What the queue is told of a job that stays.
inline constexpr Seconds kStays = years(20);

// Something that happens on the clock from its start to its end.
class Activity {
 public:
  virtual ~Activity() = default;
  virtual void begin() = 0;
  // What is under way at the end is booked as it stands.
  virtual void close() = 0;
};

// Whoever calls a process instead of letting it run on its own: a stage of the pipeline.
class Caller {
 public:
  virtual void run_ended(ProcessIndex process) = 0;

 protected:
  ~Caller() = default;
};

class Process : public Activity {
 public:
  ProcessIndex index() const { return index_; }
  design::FleetIndex fleet_number() const { return fleet_number_; }
  // From now on it runs when it is called; begin() starts nothing. `caller` outlives the run.
  void answer_to(Caller& caller) { caller_ = &caller; }
  bool is_called() const { return caller_ != nullptr; }
  // Its turn has come: a run, or new weights. It tells its caller when that has ended.
  virtual void call() {}

  virtual void placed(std::uint32_t part, std::span<const cluster::NodeShare> where) = 0;
  // Its slots are gone; it is back in the queue unless it cancels the job.
  virtual void evicted(std::uint32_t part, cluster::StopCause cause) = 0;
  // A fault on a host that the part is on; no host if the network took the part down. Returns how
  // long it takes until somebody sees the fault. If the cause takes the host, the part is evicted
  // then.
  virtual Seconds struck(std::uint32_t part, std::optional<HostIndex> host,
                         const failure::FaultCause& cause) = 0;
  // That host is gone. Returns what the part goes on with, of what it holds; empty: it is evicted.
  virtual std::vector<cluster::NodeShare> lost_host(std::uint32_t /*part*/, HostIndex) {
    return {};
  }
  // Slots of its fleet came free, which it said that it could use (SlotBook::call_for_room).
  virtual void room_came() {}
  // For a while its steps lose a share of their time (failure/setbacks.h).
  virtual void set_back(Cause, Seconds /*span*/, double /*share*/) {}
  // From now on what that host computes is wrong, and nobody knows.
  virtual void corrupted(std::uint32_t /*part*/, HostIndex) {}
  // Hosts that it steps on; 0 if `host` of a fleet is one of them, or it does not step.
  virtual std::size_t hosts_beside(design::FleetIndex /*fleet*/, HostIndex) const { return 0; }

  // Its number among the training runs of the scenario; none of other work.
  virtual std::optional<int> training_run() const { return {}; }
  // Its name in the recovery policy; empty if the policy has no say in its restarts.
  virtual std::string known_as() const { return {}; }

 protected:
  Process(ProcessIndex index, design::FleetIndex fleet) : index_(index), fleet_number_(fleet) {}

  // The tag of one of its jobs in the queue.
  std::uint64_t tag_of(std::uint32_t part) const { return JobTag{index_, part}.packed(); }
  // Tells whoever called it that it is done.
  void tell_caller() {
    if (caller_ != nullptr) caller_->run_ended(index_);
  }

 private:
  ProcessIndex index_;
  design::FleetIndex fleet_number_;
  Caller* caller_ = nullptr;
};

}  // namespace orrery::world
