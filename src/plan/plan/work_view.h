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
#include "model/machine/machine.h"
#include "model/machine/serve_job.h"

namespace orrery::plan {

// Of work that waits for clean hours.
struct CleanView {
  Seconds held;      // mean
  double ratio = 1;  // carbon of the grid while it runs, of that without waiting
};

struct JobsView {
  const design::Workload* workload = nullptr;
  const design::Jobs* jobs = nullptr;
  std::string label;
  std::string path;
  const machine::Fleet* fleet = nullptr;
  bool from_trace = false;  // a trace is replayed in simulated time, not in closed form
  double mean_size = 0;     // accelerators of a job
  double work_units = 0;    // accelerators that its jobs keep busy on average; 0 where unknown
  int largest = 0;
  cluster::QueueWait queue;
  std::optional<CleanView> clean;
  cluster::GangVerdict largest_fits = cluster::GangVerdict::fits;
};

struct BatchView {
  const design::Workload* workload = nullptr;
  const design::Batch* batch = nullptr;
  std::string label;
  std::string path;
  const machine::Fleet* fleet = nullptr;
  double slots = 0;  // cores or accelerators that work at once
  double nodes = 0;  // that they are on
  bool on_cores = false;
  machine::BatchWork work;  // on accelerators
  double again = 1;         // of inference: what hosts that are lost make it take, over what it has
  Seconds compute;
  Seconds read;   // of the data set, beside the computing
  Seconds write;  // of the output to the same tier, likewise
  Seconds duration;
  std::optional<Seconds> bound;  // window or deadline
  const machine::Tier* tier = nullptr;
  std::optional<CleanView> clean;
};

struct MigView {
  const machine::Fleet* fleet = nullptr;
  cluster::MigPacking packing;  // of one accelerator
  bool fits = false;
};

// On the nodes that the ledger leaves them, where the design gives no number.
std::vector<JobsView> view_jobs(const machine::Machine& machine, const machine::Ledger& ledger);
std::vector<BatchView> view_batches(const machine::Machine& machine, const machine::Ledger& ledger);
std::vector<MigView> view_mig(const machine::Machine& machine);

}  // namespace orrery::plan
