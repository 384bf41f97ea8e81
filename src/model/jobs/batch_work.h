// Work of a batch on accelerators, and the pieces that it divides into: as the design counts them
// or, for inference, the requests divided by what a replica answers with a full batch, one piece
// per device of a replica.
#pragma once

#include <string>

#include "model/machine/machine.h"

namespace orrery::jobs {

struct BatchWork {
  double accelerator_hours = 0;
  int tasks = 1;
  PerSecond rate;   // requests per replica
  int devices = 1;  // per replica
  std::string infeasible;
};
BatchWork accelerator_work(const machine::Machine& machine, const design::Batch& batch,
                           const machine::Fleet& fleet);

// Returns the factor by which a piece takes longer if it starts over whenever its host is lost:
// (e^(rate T) - 1) / (rate T) for its time T and memoryless faults (Duda 1983, IPL 16:221).
double work_again(Seconds piece, PerSecond lost);

}  // namespace orrery::jobs
