// Queues of jobs and batch work: whether the fleet carries them, how long they wait, and whether
// they end in time.
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

// Results for work that waits for clean hours.
struct CleanView {
  Seconds held;      // mean wait
  double ratio = 1;  // grid carbon while it runs, over carbon without waiting
};

struct JobsView : jobs::QueuedJob {
  double work_units = 0;  // accelerators that its jobs keep busy on average; 0 if unknown
  cluster::QueueWait queue;
  std::optional<CleanView> clean;
  cluster::GangVerdict largest_fits = cluster::GangVerdict::fits;
};

struct BatchView : jobs::BatchJob {
  double at_once = 0;  // cores or accelerators that work at the same time
  double nodes = 0;    // nodes that they are on
  double again = 1;    // rework factor of batch inference: time with host failures / time without
  Seconds compute;
  Seconds read;   // time to read the data set, overlapping the computation
  Seconds write;  // time to write the output to the same tier, overlapping the computation
  Seconds duration;
  std::optional<CleanView> clean;
};

struct MigView {
  const machine::Fleet* fleet = nullptr;
  cluster::MigPacking packing;  // per accelerator
  bool fits = false;
};

// Return one view per job. Work runs on the nodes that the ledger leaves, if the design gives no
// number.
std::vector<JobsView> view_jobs(const jobs::Jobs& jobs, const machine::Machine& machine,
                                const machine::Ledger& ledger);
std::vector<BatchView> view_batches(const jobs::Jobs& jobs, const machine::Machine& machine,
                                    const machine::Ledger& ledger);
std::vector<MigView> view_mig(const machine::Machine& machine);

}  // namespace orrery::review
