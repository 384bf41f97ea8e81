// A rehearsal of recovery: a simulated Slurm with jobs on it, in which nodes fail by a seed while a
// driver of the recovery policy looks after the jobs, all on one clock.
//
// Faults come at random instants in the first nine tenths of the run, each on a random working
// node: half of them die, a fifth go down and come back at once, the rest are drained as unfit; if
// the driver has a fence, one in ten stops answering instead. (These shares are assumed: they try
// every path of the policy and say nothing about real fleets.) A node is repaired some time after
// its fault. The rehearsal shows what the policy does, not how soon a real Slurm answers:
// docs/models/recovery.md has that measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "study/rehearse/simulated_slurm.h"

namespace orrery::rehearse {

struct RehearsalOptions {
  int nodes = 64;
  int spares = 0;  // of these nodes
  int jobs = 16;
  int job_nodes = 2;
  int faults = 10;
  Seconds length = hours(1);
  Seconds repair = minutes(10);
  bool has_fence = false;
  std::uint64_t seed = 1;
};

enum class FaultKind { dies, flaps, unfit, silent };

struct InjectedFault {
  Seconds at;  // since the run began
  FaultKind kind = FaultKind::dies;
  std::string node;
};
std::string to_text(const InjectedFault& fault);

// A driver that looks after the jobs. Called at instants of the simulated clock, by the thread that
// runs it.
class RehearsalDriver {
 public:
  virtual ~RehearsalDriver() = default;
  // Looks once and acts; returns the time until the next look. Returns nothing if it cannot
  // continue, and the run ends.
  virtual std::optional<Seconds> tick() = 0;
  virtual void on_fault(const InjectedFault& fault) = 0;
};

struct RehearsalResult {
  std::vector<InjectedFault> faults;
  std::vector<Seconds> outages;       // from the end of a run to the same job's next run, sorted
  std::vector<std::string> waiting;   // jobs that are not running at the end
  std::vector<std::string> overlaps;  // from SimulatedSlurm
  bool is_complete = false;           // the driver continued to the end
};

class Rehearsal final : public sim::EventHandler {
 public:
  explicit Rehearsal(const RehearsalOptions& options);
  ~Rehearsal() { kernel_.forget(*this); }
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  failure::RecoveryPort& port() { return slurm_; }
  RehearsalResult run(RehearsalDriver& driver);

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kTick, kFault, kRepair };

  void tick(sim::Kernel& kernel);
  void inject(sim::Kernel& kernel);
  std::string pick_node();
  void collect();

  RehearsalOptions options_;
  sim::Kernel kernel_;
  SimulatedSlurm slurm_;
  RandomStream random_;
  RehearsalDriver* driver_ = nullptr;
  RehearsalResult result_;
};

}  // namespace orrery::rehearse
