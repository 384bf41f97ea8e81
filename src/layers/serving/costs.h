// What serving needs from the other layers, as small callables that the caller provides.
#pragma once

#include <functional>

#include "core/base/quantity.h"
#include "core/workload/message.h"
#include "core/workload/operation.h"

namespace orrery::serving {

// The cost of one kernel or of several in sequence; same fields as compute's KernelCost.
struct ServingOpCost {
  Seconds time;
  Seconds clocked;
  Joules core;
  Joules memory;

  ServingOpCost& operator+=(const ServingOpCost& o) {
    time += o.time;
    clocked += o.clocked;
    core += o.core;
    memory += o.memory;
    return *this;
  }
  friend ServingOpCost operator*(ServingOpCost a, double n) {
    a.time *= n;
    a.clocked *= n;
    a.core *= n;
    a.memory *= n;
    return a;
  }
};

// Work under the device's power limit: its time, including waiting, and its power.
struct SettledWork {
  Seconds time;
  Watts power;
};

struct ServingCosts {
  std::function<ServingOpCost(const workload::Operation&)> kernel;
  std::function<Seconds(const workload::CollectiveCall&)> collective;
  std::function<SettledWork(const ServingOpCost&, Seconds waiting)> settle;
};

}  // namespace orrery::serving
