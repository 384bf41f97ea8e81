// A training run as its machine would carry it: the step, what feeds it, what saves it, what breaks
// it, what it shares. Costs only: how they add up over time is for the review (plan/) to say in
// closed form and for a run (twin/) to find out.
//
//   step      kernels and collectives (training, compute, fabric)
//   feed      waiting for samples: step / AU                                      (storage)
//   contend   storage traffic on the compute wires slows exposed communication    (fabric, storage)
//   save      stall of a checkpoint every tau, tau chosen for the job's MTBF      (storage,
//   failure) fail      rate, detection, replacement, start, spares (failure, cluster)
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

// A copy that follows once a save is safe.
struct LaterCopy {
  const machine::Tier* tier = nullptr;
  Bytes kept;     // in the end
  Seconds every;  // one is sent so often
  Seconds takes;  // to send one
};

struct SavePlan {
  const machine::Tier* first = nullptr;  // where a save goes first
  const machine::Tier* safe = nullptr;   // the first copy that outlives a node; nullptr: none
  Bytes size;
  storage::SaveLoad load;
  double files = 0;
  storage::WriteTime write;  // to the first tier
  storage::WriteTime drain;  // to the safe tier; equal to write where that is the first
  storage::SaveStall stall;
  storage::RestoreTime restore;
  Seconds interval;
  bool interval_given = false;
  failure::IntervalLimit interval_limit = failure::IntervalLimit::optimum;
  storage::Exposure exposure;
  Bytes host_memory;
  Bytes kept_on_safe;            // what the keep rules hold there in the end
  std::vector<LaterCopy> later;  // to the durable tiers behind it
  bool async = true;
};

struct FeedPlan {
  bool known = false;  // the design says what is read
  const machine::Tier* tier = nullptr;
  Bytes sample;
  Bytes object;
  double by_themselves = 0;  // share of the samples that are read out of shards one by one
  Seconds decode;
  double cores = 0;                      // for each accelerator
  double moving_cores = 0;               // of a host, that carry bytes from storage to accelerators
  const machine::Tier* cache = nullptr;  // in front of the tier, if any
  Bytes data_set;
  double hit_rate = 0;       // of the cache
  BytesPerSecond wanted;     // of the whole job, when it never waits
  storage::FetchRate fetch;  // of one accelerator
  storage::LoaderRate loader;
};

struct FailurePlan {
  PerSecond node_rate;    // of one host, spot interruptions included
  PerSecond spot_rate;    // of it
  PerSecond shared_rate;  // of the switches and power units that the job hangs on
  Seconds mtbf;           // of the job
  Seconds noticed;        // a fault that a health check sees
  Seconds hang;           // one that only a time-out ends
  Seconds detect;         // mean of both
  Seconds requeue;
  Seconds start;              // initialise, before the checkpoint is read
  double attempts = 1;        // a restart may fail and is tried again
  Seconds hands;              // mean wait for a person, over all faults
  Seconds restart;            // all of it, with the reads
  double restart_factor = 1;  // the 80 % interval of it, either way
  double slow = 1;            // of the step, for nodes that the design says are slow
  Seconds repair;             // of a host, mean
  double mean_in_repair = 0;
  int spares = 0;
  double shortfall = 0;  // share of time in which too few nodes are left; elastic: of the rate
  std::string rate_reference;
  double rate_low = 0;  // of the base rate, as factors
  double rate_high = 0;
};

// By how much a step is longer for storage traffic on the compute wires: 0.02 is 2 %.
struct Contention {
  double feeding = 0;   // while nothing but the loaders read
  double draining = 0;  // while a save drains as well
};

// A run that goes on with fewer replicas: what it shrinks and grows by is the fewest whole hosts
// that hold whole replicas.
struct ElasticPlan {
  int unit_hosts = 1;
  int units = 1;
  int least = 1;  // units that it goes on with

  // Of the rate, what is gone with so many hosts; 1 where it stands.
  double lost_with(int hosts_missing) const;
};

struct TrainJob : JobHead {
  const design::Train* train = nullptr;
  const catalog::ModelShape* model = nullptr;  // nullptr for a plain network
  double parameters = 0;

  int accelerators = 0;  // that the layout uses
  int hosts = 0;
  StepPlan step;
  std::optional<ElasticPlan> elastic;

  FeedPlan feed;
  std::optional<SavePlan> checkpoint;
  FailurePlan failure;
  Contention contended;
  double units = 0;  // tokens or samples of the run
  Seconds raw_time;  // of the run at the step's own speed

  double raw_rate() const { return step.units_per_step / step.step.base(); }  // units a second
};

// Who it is and where it runs, without costs. `workload` is a training run of the machine's design.
TrainJob name_job(const machine::Machine& machine, const design::Workload& workload);
// Where a run's events are stored, and what they hold there: those of one period where nothing else
// is said.
const machine::Tier* features_tier(const TrainJob& job, const machine::Machine& machine);
Bytes features_kept(const design::Train& train);
// The step, then all other costs; the second only of a feasible job. What the ledger's others hold
// is no spare of the job; none: the machine's, which has what is given by number.
void fill_step(TrainJob& job, const machine::Machine& machine);  // train_step.cpp
void fill_costs(TrainJob& job, const machine::Machine& machine,
                const machine::Ledger* ledger = nullptr);  // train_job.cpp

// The parts of fill_costs, in the order in which they are filled.
void fill_feed(TrainJob& job, const machine::Machine& machine);  // train_feed.cpp
void fill_failure(TrainJob& job, const machine::Machine& machine,
                  const machine::FleetBook& book);                     // train_failure.cpp
void fill_checkpoint(TrainJob& job, const machine::Machine& machine);  // train_checkpoint.cpp

}  // namespace orrery::jobs
