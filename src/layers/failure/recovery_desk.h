// Runs the recovery policy, the same one as on a real Slurm (failure/recovery.h), on a simulated
// fleet in simulated time.
//
// A look lists what is not well (hosts seen down, hosts just back, the first spare) and only counts
// the rest, so that it costs the same for a hundred hosts as for sixteen thousand. Looks happen
// when something changes: a fault is detected, a run has left its hosts, a host is repaired. The
// policy's decisions are carried out: a spare is called into service, a lemon that returns from
// repair is taken out for an operator, a run that breaks hosts is held until an operator looks. The
// journal, silent hosts and a controller that is down are covered by the rehearsal
// (rehearse/rehearsal.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/sim/sim_time.h"
#include "layers/failure/recovery.h"

namespace orrery::failure {

class RecoveryDesk {
 public:
  struct Call {
    std::vector<int> spares;  // hosts to call into service
    std::vector<int> lemons;  // hosts to take out permanently
    bool is_released = true;  // the run in question may start
  };

  // `hosts` is the size of one fleet, without spares.
  explicit RecoveryDesk(int hosts) : hosts_(hosts) {}

  void job_runs(sim::SimTime now, const std::string& job);
  // The host was seen down; `job` ran on it, or is empty. `spare` is one that is ready, or -1.
  Call host_down(sim::SimTime now, int host, const std::string& job, int spare);
  // The run has left its hosts and waits for the scheduler's hold to be released.
  Call job_waits(sim::SimTime now, const std::string& job);
  Call host_back(sim::SimTime now, int host);
  void job_ends(const std::string& job) { jobs_.erase(job); }

  std::uint64_t looks() const { return looks_; }

 private:
  struct Job {
    JobPhase phase = JobPhase::running;
    int restarts = 0;
  };

  Call look(sim::SimTime now, int spare, const std::string& asked);
  void carry_out(const RecoveryAction& action, sim::SimTime now, Call& call);

  int hosts_;
  RecoveryPolicy policy_;
  RecoveryMemory memory_;
  std::map<std::string, NodeView> listed_;  // keyed by name
  std::map<std::string, Job> jobs_;
  std::uint64_t looks_ = 0;
};

}  // namespace orrery::failure
