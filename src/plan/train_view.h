// A training run joined across the layers: the step, what feeds it, what saves it, what breaks it.
//
//   step      kernels and collectives (training, compute, fabric)
//   feed      waiting for samples: step / AU                                      (storage)
//   contend   storage traffic on the compute wires slows exposed communication    (fabric, storage)
//   save      stall of a checkpoint every tau, tau chosen for the job's MTBF      (storage,
//   failure) fail      lost work, detection, replacement, reload (failure, cluster) goodput = AU *
//   (1 - contention) * efficiency(tau, C, R, M) * P(enough nodes)
// Goodput is the share of the wall time of the job's nodes that becomes training at the step's own
// speed. It excludes MFU: a slow step is not lost time, only slow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facility/node_power.h"
#include "failure/effective_time.h"
#include "failure/interval.h"
#include "machine/machine.h"
#include "plan/step_plan.h"
#include "storage/checkpoint.h"
#include "storage/exposure.h"
#include "storage/loader.h"

namespace orrery::plan {

struct CheckpointView {
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
  Bytes kept_on_safe;  // what the keep rules hold there in the end
  bool async = true;
};

struct FeedView {
  bool known = false;  // the design says what is read
  const machine::Tier* tier = nullptr;
  Bytes sample;
  Bytes object;
  Seconds decode;
  double cores = 0;          // for each accelerator
  double hit_rate = 0;       // of the caching tier, if any
  BytesPerSecond wanted;     // of the whole job, when it never waits
  storage::FetchRate fetch;  // of one accelerator
  storage::LoaderRate loader;
};

struct FailureView {
  PerSecond node_rate;  // of one host, spot interruptions included
  PerSecond spot_rate;  // of it
  Seconds mtbf;         // of the job
  Seconds detect;
  Seconds requeue;
  Seconds start;    // initialise, before the checkpoint is read
  Seconds restart;  // all of it, with the read
  double mean_in_repair = 0;
  int spares = 0;
  double shortfall = 0;  // share of time in which too few nodes are left
  failure::TimeShares shares;
  std::string rate_reference;
  double rate_low = 0;  // of the base rate, as factors
  double rate_high = 0;
};

struct TrainView {
  const design::Workload* workload = nullptr;
  const design::Train* train = nullptr;
  std::string label;
  std::string path;
  const machine::Fleet* fleet = nullptr;
  const catalog::ModelShape* model = nullptr;  // nullptr for a plain network
  double parameters = 0;

  int accelerators = 0;  // that the layout uses
  int hosts = 0;
  std::string infeasible;  // why no step can be given; the rest is empty then
  StepPlan step;

  FeedView feed;
  std::optional<CheckpointView> checkpoint;
  FailureView failure;
  double contention = 0;  // share of the step lost to storage traffic on the compute network
  double efficiency = 1;  // of saving and failing
  double goodput = 0;
  double goodput_low = 0;  // with the failure rate at its high end, and at its low
  double goodput_high = 0;
  double units_per_s = 0;  // tokens or samples, at goodput
  double units = 0;        // of the run
  Seconds run_time;
  facility::PhaseShares phases;  // of the wall time

  bool feasible() const { return infeasible.empty(); }
};

// `earlier` are the views of a design whose steps are the same, so that they need not be searched
// again.
std::vector<TrainView> view_trains(const machine::Machine& machine,
                                   const std::vector<TrainView>* earlier = nullptr);

// The parts of it, in the order in which they are filled.
void fill_step(TrainView& view, const machine::Machine& machine);        // train_step.cpp
void fill_feed(TrainView& view, const machine::Machine& machine);        // train_feed.cpp
void fill_checkpoint(TrainView& view, const machine::Machine& machine);  // train_checkpoint.cpp
void fill_failure(TrainView& view, const machine::Machine& machine);     // train_failure.cpp

}  // namespace orrery::plan
