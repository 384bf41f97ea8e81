// Batch work on the machine: its tasks, how many run on a host at once, and what they read and
// write.
//
//   element   the tasks of one host, which a scheduler places as one job of an array:
//             max(compute, its share of reading, its share of writing), the tier shared evenly
// If there are more elements than a scheduler accepts, each is made larger. Wrong if elements read
// unevenly.
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
  int tasks_per_host = 0;               // tasks on one host at once
  Seconds task;                         // time of one task if its data were local
  const machine::Tier* tier = nullptr;  // tier of its data set and output, if it names one
  std::optional<Seconds> bound;         // longest time of a run: its window or deadline

  int elements = 0;
  int slots = 1;  // slots per element
  Seconds element_compute;

  // Returns the time of an element when `at_once` of them run at the same time.
  Seconds element(double at_once) const;
};

BatchJob batch_job(const machine::Machine& machine, const design::Workload& workload);

}  // namespace orrery::jobs
