// For tests: a small replica on a made-up device, with bytes over a bandwidth and products over a
// rate.
#pragma once

#include <limits>

#include "layers/serving/step_clock.h"

namespace orrery::serving {

struct ToyDevice {
  double bandwidth = 2e12;
  double rate = 4e14;
  double step = 0;  // host seconds per step
};

inline ServingCosts toy_costs(const ToyDevice& device) {
  ServingCosts costs;
  costs.kernel = [device](const workload::Operation& op) {
    const double bytes = workload::bytes_of(op).base();
    const double flops = workload::flops_of(op).base();
    return ServingOpCost{.time = Seconds(std::max(bytes / device.bandwidth, flops / device.rate))};
  };
  costs.collective = [](const workload::CollectiveCall&) { return Seconds(0); };
  costs.settle = [](const ServingOpCost& c, Seconds waiting) {
    return SettledWork{.time = c.time + waiting, .power = Watts(500)};
  };
  return costs;
}

inline Replica toy_replica(const ToyDevice& device = {}, const AdapterSet& adapters = {}) {
  Replica r;
  r.model = {.id = "toy",
             .layers = 16,
             .hidden = 2048,
             .heads = 16,
             .kv_heads = 8,
             .head_dim = 128,
             .ffn = 8192,
             .vocab = 32000};
  r.engine = {.id = "vllm", .host_step = Seconds(device.step)};
  r.memory.blocks = 1 << 20;
  r.memory.kv_tokens = r.memory.blocks * r.engine.block_tokens;
  if (adapters.count > 0) {
    r.adapters = adapters_on(r.model, r.split, adapters, r.engine.kind,
                             {.products = FlopsPerSecond(device.rate), .port = gbytes_per_s(50)});
  }
  return r;
}

inline StepClock toy_clock(const ToyDevice& device = {}, const AdapterSet& adapters = {}) {
  return StepClock(toy_replica(device, adapters), toy_costs(device));
}

// Every step takes the same time, whatever is in it, so that expected times are easy to count.
inline StepClock even_clock(double step = 1) {
  Replica r;
  r.model = {.id = "even", .layers = 1, .hidden = 8, .heads = 1, .kv_heads = 1, .head_dim = 8};
  r.engine = {.id = "vllm", .host_step = Seconds(step)};
  ServingCosts costs;
  costs.kernel = [](const workload::Operation&) { return ServingOpCost{}; };
  costs.collective = [](const workload::CollectiveCall&) { return Seconds(0); };
  costs.settle = [](const ServingOpCost& c, Seconds waiting) {
    return SettledWork{.time = c.time + waiting, .power = Watts(500)};
  };
  return StepClock(r, costs);
}

}  // namespace orrery::serving
