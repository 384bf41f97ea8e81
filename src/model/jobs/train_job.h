// A training run as its machine would carry it: the step, its data, its checkpoints, its failures,
// and what it shares. Costs only: the review (plan/) adds them up in closed form, and a run (twin/)
// simulates them.
//
//   step      kernels and collectives (training, compute, fabric)
//   feed      waiting for samples: step / AU (storage)
//   contend   storage traffic on the compute wires slows exposed communication (fabric, storage)
//   save      stall of a checkpoint every tau, tau chosen for the job's MTBF (storage, failure)
//   fail      rate, detection, replacement, start, spares (failure, cluster)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/failure/interval.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/exposure.h"
#include "layers/storage/loader.h"
#include "model/jobs/job_head.h"
#include "model/jobs/step_plan.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

// A copy that is made once a save is safe.
struct LaterCopy {
  const machine::Tier* tier = nullptr;
  Bytes kept;     // bytes finally kept
  Seconds every;  // time between two copies
  Seconds takes;  // time of one copy
};

struct SavePlan {
  const machine::Tier* first = nullptr;  // tier that a save goes to first
  // tier of the first copy that survives a node; nullptr: none
  const machine::Tier* safe = nullptr;
  Bytes size;
  storage::SaveLoad load;
  double files = 0;
  storage::WriteTime write;  // to the first tier
  storage::WriteTime drain;  // to the safe tier; equal to `write` if that is the first
  storage::SaveStall stall;
  storage::RestoreTime restore;
  Seconds interval;
  bool interval_given = false;
  failure::IntervalLimit interval_limit = failure::IntervalLimit::optimum;
  storage::Exposure exposure;
  Bytes host_memory;
  Bytes kept_on_safe;            // bytes that the keep rules finally hold there
  std::vector<LaterCopy> later;  // copies to the durable tiers behind it
  bool async = true;
};

struct FeedPlan {
  bool known = false;  // the design says what the run reads
  const machine::Tier* tier = nullptr;
  Bytes sample;
  Bytes object;
  double by_themselves = 0;  // share of samples read one by one out of their shards
  Seconds decode;
  double cores = 0;  // per accelerator
  // per host, cores that move bytes from storage to accelerators
  double moving_cores = 0;
  const machine::Tier* cache = nullptr;  // cache in front of the tier, if any
  Bytes data_set;
  double hit_rate = 0;       // hit rate of the cache
  BytesPerSecond wanted;     // rate that the whole job needs if it never waits
  storage::FetchRate fetch;  // per accelerator
  storage::LoaderRate loader;
};

struct FailurePlan {
  PerSecond node_rate;    // per host, spot interruptions included
  PerSecond spot_rate;    // part of node_rate from spot interruptions
  PerSecond shared_rate;  // failures of the switches and power units that the job depends on
  Seconds mtbf;           // for the whole job
  Seconds noticed;        // time to detect a fault that a health check sees
  Seconds hang;           // time to end a fault that only a time-out ends
  Seconds detect;         // mean of both
  Seconds requeue;
  Seconds start;              // time to initialise, before the checkpoint is read
  double attempts = 1;        // mean attempts: a restart may fail and is tried again
  Seconds hands;              // mean wait for a person, over all faults
  Seconds restart;            // total time, checkpoint reads included
  double restart_factor = 1;  // 80 % interval of `restart`, a factor either way
  double slow = 1;            // factor on the step, for nodes that the design says are slow
  Seconds repair;             // mean time per host
  double mean_in_repair = 0;
  int spares = 0;
  // share of time with too few nodes; for an elastic run, share of the rate lost
  double shortfall = 0;
  std::string rate_reference;
  double rate_low = 0;  // interval of the base rate, as factors
  double rate_high = 0;
};

// How much longer storage traffic on the compute wires makes a step: 0.02 is 2 %.
struct Contention {
  double feeding = 0;   // while only the loaders read
  double draining = 0;  // while a save drains as well
};

// A run that can continue with fewer replicas. It shrinks and grows by units: the fewest whole
// hosts that hold whole replicas.
struct ElasticPlan {
  int unit_hosts = 1;
  int units = 1;
  int least = 1;  // fewest units that it continues with

  // Returns the share of the rate lost with `hosts_missing`; 1 if the run stops.
  double lost_with(int hosts_missing) const;
};

struct TrainJob : JobHead {
  const design::Train* train = nullptr;
  const catalog::ModelShape* model = nullptr;  // nullptr for a non-transformer network
  double parameters = 0;

  int accelerators = 0;  // accelerators that the layout uses
  int hosts = 0;
  StepPlan step;
  std::optional<ElasticPlan> elastic;

  FeedPlan feed;
  std::optional<SavePlan> checkpoint;
  FailurePlan failure;
  Contention contended;
  double units = 0;  // tokens or samples of the run
  Seconds raw_time;  // time of the run without losses

  // Tokens or samples per second without losses.
  double raw_rate() const { return step.units_per_step / step.step.base(); }
};

// Returns the run with its name and fleet, but without costs. `workload` is a training run of the
// machine's design.
TrainJob name_job(const machine::Machine& machine, const design::Workload& workload);
// Returns the tier that stores a run's events, and the bytes that they take there; without another
// retention, the events of one period.
const machine::Tier* features_tier(const TrainJob& job, const machine::Machine& machine);
Bytes features_kept(const design::Train& train);
// fill_step fills the step, fill_costs all other costs of a feasible job. Nodes that other
// workloads hold in the ledger are no spares for the job; without a ledger, the machine's is used,
// which has what the design gives by number.
void fill_step(TrainJob& job, const machine::Machine& machine);  // train_step.cpp
void fill_costs(TrainJob& job, const machine::Machine& machine,
                const machine::Ledger* ledger = nullptr);  // train_job.cpp

// The parts of fill_costs, in the order in which they are filled.
void fill_feed(TrainJob& job, const machine::Machine& machine);  // train_feed.cpp
void fill_failure(TrainJob& job, const machine::Machine& machine,
                  const machine::FleetBook& book);                     // train_failure.cpp
void fill_checkpoint(TrainJob& job, const machine::Machine& machine);  // train_checkpoint.cpp

}  // namespace orrery::jobs
