// One training step in the form that the rest of the review needs, for a transformer or another
// network.
#pragma once

#include <string>
#include <vector>

#include "core/base/estimate.h"
#include "core/base/quantity.h"

namespace orrery::jobs {

struct StepSlice {
  std::string name;  // "matrix work", "exposed tensor-parallel communication"
  Seconds time;
};

// Placements for which a step is timed, from scatter 0 to 1.
inline constexpr int kScatterSteps = 5;

struct StepPlan {
  std::string layout;    // "tp8 pp1 dp126 mbs1 zero1"
  std::string chosen;    // how it was chosen: "given", "best of 312 that fit"
  int replicas = 1;      // data-parallel replicas
  int model_shards = 1;  // tensor x pipeline (x expert): distinct shards of the weights
  bool optimizer_sharded = true;
  bool weights_sharded = false;
  Seconds step;
  double units_per_step = 0;     // tokens or samples
  double flops_utilisation = 0;  // MFU
  Bytes memory;                  // memory of the fullest device
  Bytes memory_limit;
  double memory_error = 0.2;     // half-width of the 80 % interval of `memory`
  Watts device_power;            // mean of one accelerator; 0: unknown
  std::vector<StepSlice> parts;  // sum up to `step`
  // Shares of the step, for power and contention.
  double matrix_share = 0;
  double memory_share = 0;
  double exposed_share = 0;          // exposed communication of all kinds
  double exposed_network_share = 0;  // part of exposed_share that crosses the NICs
  // Time of the step over `step`, by where its hosts are: evenly spaced from the order of the
  // leaves to anywhere (fabric::GroupPlace::scatter). Empty if placement makes no difference.
  std::vector<double> by_scatter;
  double error = 0.2;  // half-width of the 80 % interval
  Basis basis = Basis::derived;
  std::string reference;

  // Returns the factor on the step if its hosts are placed with this scatter.
  double slower_at(double scatter) const;
};

}  // namespace orrery::jobs
