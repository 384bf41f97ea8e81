// Work of a batch on accelerators, and the pieces it falls into: as the design counts them, or for
// inference the requests over what a replica answers with its batch full, one piece per device of a
// replica.
#pragma once

#include <string>

#include "model/machine/machine.h"

namespace orrery::jobs {

struct BatchWork {
  double accelerator_hours = 0;
  int tasks = 1;
  PerSecond rate;   // requests of one replica
  int devices = 1;  // of one replica
  std::string infeasible;
};
BatchWork accelerator_work(const machine::Machine& machine, const design::Batch& batch,
                           const machine::Fleet& fleet);

// Returns by how much a piece takes longer that begins anew whenever its host is lost:
// (e^(rate T) - 1) / (rate T) of its time T, for memoryless faults (Duda 1983, IPL 16:221).
double work_again(Seconds piece, PerSecond lost);

}  // namespace orrery::jobs
