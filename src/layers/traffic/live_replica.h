// A policy driven through the executor port: clients in a closed loop; every iteration is planned,
// passed to the executor, and takes the time that the executor reports.
//
// The same code serves a device (an executor that waits for real kernels) and its simulated twin
// (StepExecutor). Which requests join depends only on which have ended, never on a clock, so the
// two must decide alike iteration by iteration, and only the times can differ. Nothing is merged
// here. An executor reports failure by a negative time: the run ends there with what it has.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layers/serving/executor.h"
#include "layers/traffic/replica_sim.h"

namespace orrery::traffic {

struct LiveRun {
  std::vector<std::string> decisions;  // "id:tokens ..." per iteration
  std::vector<double> seconds;
  std::vector<RequestRecord> records;
  bool failed = false;
};

// Returns "3:1 7:128": requests by their index in `requests`, with the tokens that each computes.
std::string decision_text(const engines::Batch& batch, const std::vector<int>& request_of);

LiveRun run_live(
    const engines::EnginePolicy& policy, const std::vector<engines::RequestSpec>& requests,
    int clients,
    const std::function<double(const engines::Batch&, const std::vector<int>&)>& execute);

}  // namespace orrery::traffic
