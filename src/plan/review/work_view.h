// Queues of jobs and batch work: does the fleet carry them, how long do they wait, do they end in
// time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/cluster/gang.h"
#include "layers/cluster/mig.h"
#include "layers/cluster/queue_wait.h"
#include "model/design/design.h"
#include "model/jobs/resolve_jobs.h"
#include "model/machine/machine.h"

namespace orrery::review {

// Of work that waits for clean hours.
struct CleanView {
  Seconds held;      // mean
  double ratio = 1;  // carbon of the grid while it runs, of that without waiting
};

struct JobsView : jobs::QueuedJob {
  double work_units = 0;  // accelerators that its jobs keep busy on average; 0 if unknown
  cluster::QueueWait queue;
  std::optional<CleanView> clean;
  cluster::GangVerdict largest_fits = cluster::GangVerdict::fits;
};

struct BatchView : jobs::BatchJob {
  double at_once = 0;  // cores or accelerators that work
  double nodes = 0;    // that they are on
  double again = 1;    // of inference: what hosts that are lost make it take, over what it has
  Seconds compute;
  Seconds read;   // of the data set, beside the computing
  Seconds write;  // of the output to the same tier, likewise
  Seconds duration;
  std::optional<CleanView> clean;
};

struct MigView {
  const machine::Fleet* fleet = nullptr;
  cluster::MigPacking packing;  // of one accelerator
  bool fits = false;
};

// On the nodes that the ledger leaves them, where the design gives no number.
std::vector<JobsView> view_jobs(const jobs::Jobs& jobs, const machine::Machine& machine,
                                const machine::Ledger& ledger);
std::vector<BatchView> view_batches(const jobs::Jobs& jobs, const machine::Machine& machine,
                                    const machine::Ledger& ledger);
std::vector<MigView> view_mig(const machine::Machine& machine);

}  // namespace orrery::review
