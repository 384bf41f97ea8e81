// What things cost on one kind of accelerator, computed in one place: a kernel, a collective (a
// send among them), and the clock and power at which a stretch of work settles. Limits of transfers
// to a storage tier are the Machine's: its wires join hosts, not accelerators.
//
//   kernel      compute/'s time for it alone, times the accelerator's factor inside a step
//   collective  the time from Links, times the factor of the level that it crosses
// Training and serving read costs through interfaces of their own, fast enough for hundreds of
// thousands of questions per second; training_source and serving_source return them. Both point at
// the Costs, which must not move.
#pragma once

#include <optional>

#include "layers/compute/calibration.h"
#include "layers/compute/power.h"
#include "layers/serving/costs.h"
#include "layers/training/costs.h"
#include "model/machine/links.h"
#include "model/machine/models.h"

namespace orrery::machine {

struct CostOptions {
  compute::DeviceOptions libraries;           // libraries whose kernels run
  training::AcceleratorTuning tuning;         // factors inside a step; none: kernels alone
  Watts power_limit;                          // per device; 0: its own limit
  std::optional<compute::DeviceSlice> slice;  // a slice of the device, with its share of the power
  // the engine's own all-reduce, captured in a graph, is used if it beats the library's
  bool graph_reduce = false;
};

class Costs {
 public:
  Costs(const Models& models, const Wiring& wiring, const CostOptions& options);

  compute::KernelCost kernel(const workload::Operation& op) const;
  Seconds collective(const workload::CollectiveCall& call) const;
  compute::Throttled settle(const compute::KernelCost& busy, Seconds waiting) const {
    return throttle(device_, busy, waiting);
  }

  const catalog::Accelerator& accelerator() const { return *accelerator_; }
  const compute::DeviceModel& device() const { return device_; }
  const Links& links() const { return links_; }
  // used while fitting
  void retune(const training::AcceleratorTuning& tuning) { tuning_ = tuning; }

 private:
  const catalog::Accelerator* accelerator_;
  compute::DeviceModel device_;
  Links links_;
  training::AcceleratorTuning tuning_;
  bool graph_reduce_ = false;
};

training::CostSource training_source(const Costs& costs);
// Returns the serving costs. Groups are packed again, as an engine places the ranks of a replica.
serving::ServingCosts serving_source(const Costs& costs);

}  // namespace orrery::machine
