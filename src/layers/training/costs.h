// What a step needs from the other layers, as values and plain function pointers: training includes
// no other layer, and a pointer with a context costs a step estimate nothing noticeable.
#pragma once

#include "core/workload/message.h"
#include "core/workload/operation.h"

namespace orrery::training {

// The cost of one kernel or of many; same fields as compute's KernelCost.
struct OpCost {
  double seconds = 0;      // at full clock
  double clocked = 0;      // the part that stretches when the clock falls
  double core_joules = 0;  // at full clock
  double memory_joules = 0;

  double at_clock(double clock) const { return seconds + clocked * (1 / clock - 1); }
  OpCost& operator+=(const OpCost& o) {
    seconds += o.seconds;
    clocked += o.clocked;
    core_joules += o.core_joules;
    memory_joules += o.memory_joules;
    return *this;
  }
  friend OpCost operator*(OpCost a, double f) {
    return {a.seconds * f, a.clocked * f, a.core_joules * f, a.memory_joules * f};
  }
};

// The clock that the power limit allows, and the mean draw at it.
struct ClockAnswer {
  double clock = 1;
  double watts = 0;
};

struct CostSource {
  const void* context = nullptr;
  OpCost (*kernel)(const void* context, const workload::Operation& op) = nullptr;
  double (*collective)(const void* context, const workload::CollectiveCall& call) = nullptr;
  // `busy` is the work of one step on one device, `waiting` the rest of the step. May be null.
  ClockAnswer (*clock)(const void* context, const OpCost& busy, double waiting) = nullptr;

  OpCost kernel_cost(const workload::Operation& op) const { return kernel(context, op); }
  double collective_seconds(const workload::CollectiveCall& call) const {
    return call.group.ranks > 1 && call.bytes.base() > 0 ? collective(context, call) : 0;
  }
};

}  // namespace orrery::training
