// What things cost on one kind of accelerator, joined in one way: a kernel, a collective (a send
// among them), and the clock and power that a stretch of work settles at. What a transfer to a
// storage tier may take is the Machine's: its wires join hosts, not accelerators.
//
//   kernel      compute/'s time of it alone, times the accelerator's factor inside a step
//   collective  Links' time of it, times the factor of the level it crosses
// Training and serving take costs in shapes of their own, built for hundreds of thousands of
// questions a second; training_source and serving_source give them. Both point at the Costs, which
// must stay where they are.
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
  compute::DeviceOptions libraries;           // whose kernels run
  training::AcceleratorTuning tuning;         // factors inside a step; none: kernels alone
  Watts power_limit;                          // of one device; 0: its own
  std::optional<compute::DeviceSlice> slice;  // a part of the device, with a share of its power
  bool graph_reduce = false;  // an engine's own all-reduce, captured, where it beats the library's
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
  void retune(const training::AcceleratorTuning& tuning) { tuning_ = tuning; }  // while fitting

 private:
  const catalog::Accelerator* accelerator_;
  compute::DeviceModel device_;
  Links links_;
  training::AcceleratorTuning tuning_;
  bool graph_reduce_ = false;
};

training::CostSource training_source(const Costs& costs);
// Groups are packed anew, as an engine places the ranks of a replica.
serving::ServingCosts serving_source(const Costs& costs);

}  // namespace orrery::machine
