// What every job has, whatever it does: its workload, its name for people, its place in the design,
// the fleet that it runs on and, if it cannot run there, the reason.
#pragma once

#include <string>

#include "model/machine/machine.h"

namespace orrery::jobs {

struct JobHead {
  const design::Workload* workload = nullptr;
  std::string label;  // "assistant", or "chatbot in europe" for a zone; unique in the design
  std::string path;   // of the workload in the design: "workloads[2].serve"
  const machine::Fleet* fleet = nullptr;
  std::string infeasible;  // why it cannot run; what follows from running is empty then

  bool feasible() const { return infeasible.empty(); }
};

// Returns the head of a workload that runs on one fleet; the fleet is null if the design has none.
JobHead job_head(const machine::Machine& machine, const design::Workload& workload);

}  // namespace orrery::jobs
