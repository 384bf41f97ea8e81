// A rehearsal of recovery: a simulated Slurm with jobs on it, in which nodes fail by a seed while a
// driver of the recovery policy looks after the jobs, all on one clock.
//
// Faults come at random instants of the first nine tenths of the run, each on a random node that
// works: half die, a fifth go down and are back at once, the rest are drained as unfit; where the
// driver has a fence, one in ten falls silent instead. (Assumed shares: they try every path of the
// policy and say nothing about real fleets.) A node is repaired some time after its fault. It says
// what the policy does, not how soon a real Slurm answers: docs/models/recovery.md has that
// measured.
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
  int spares = 0;  // of them
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

// Who looks after the jobs. Called at instants of the simulated clock, by the thread that runs it.
class RehearsalDriver {
 public:
  virtual ~RehearsalDriver() = default;
  // One look and what follows; gives the time to the next. None: it cannot go on, and the run ends.
  virtual std::optional<Seconds> tick() = 0;
  virtual void on_fault(const InjectedFault& fault) = 0;
};

struct RehearsalResult {
  std::vector<InjectedFault> faults;
  std::vector<Seconds> outages;       // from the end of a run to the job's next, sorted
  std::vector<std::string> waiting;   // jobs that do not run at the end
  std::vector<std::string> overlaps;  // of SimulatedSlurm
  bool is_complete = false;           // the driver could go on to the end
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
