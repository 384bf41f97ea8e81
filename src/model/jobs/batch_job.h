// Batch work on the machine: its tasks, how many run on a host at once, and what they read and
// write.
//
//   element   a host's worth of tasks, which a scheduler places as one job of an array:
//             max(compute, its part of reading, its part of writing), the tier shared evenly
// A batch of more elements than a scheduler would be given is told in larger ones. Wrong if
// elements read unevenly.
#pragma once

#include <optional>
#include <string>

#include "model/jobs/batch_work.h"
#include "model/jobs/job_head.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct BatchJob : JobHead {
  const design::Batch* batch = nullptr;
  bool on_cores = false;
  BatchWork work;  // on accelerators
  int tasks = 1;
  int tasks_per_host = 0;               // at once
  Seconds task;                         // one, were its data there
  const machine::Tier* tier = nullptr;  // of its data set and output, if it names one
  std::optional<Seconds> bound;         // of a run: its window or deadline

  int elements = 0;
  int slots = 1;  // of one element
  Seconds element_compute;

  // How long an element takes while so many run at once.
  Seconds element(double at_once) const;
};

BatchJob batch_job(const machine::Machine& machine, const design::Workload& workload);

}  // namespace orrery::jobs
