// The recovery policy at work on a simulated fleet: the one that runs on a real Slurm
// (failure/recovery.h), looked at and obeyed in simulated time.
//
// A look lists what is not well (hosts seen down, those just back, the first spare) and counts the
// rest, so that it costs the same on a hundred hosts and on sixteen thousand. Looks come when
// something was seen to change: a fault is detected, a run has left its hosts, a host is mended.
// What the policy decides is done: a spare is called into service, a lemon that comes back from
// repair goes to a person instead, a run that breaks hosts is held until a person looks.
// The journal, silent hosts and a controller that is away are the rehearsal's affair
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
    std::vector<int> lemons;  // hosts to take out for good
    bool is_released = true;  // the run that was asked about may start
  };

  // `hosts` of one fleet, spares not among them.
  explicit RecoveryDesk(int hosts) : hosts_(hosts) {}

  void job_runs(sim::SimTime now, const std::string& job);
  // The host is seen down; `job` had it, or nobody. `spare` is one that is ready, or -1.
  Call host_down(sim::SimTime now, int host, const std::string& job, int spare);
  // The run is off its hosts and waits for the scheduler's hold to be lifted.
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
  std::map<std::string, NodeView> listed_;  // by name
  std::map<std::string, Job> jobs_;
  std::uint64_t looks_ = 0;
};

}  // namespace orrery::failure
