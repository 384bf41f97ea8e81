// The port that executes planned iterations: "run this batch".
//
// run() is called with one batch at a time, in order, from one thread. It returns how long the
// batch took, in seconds of the driver's clock. The simulated executor (StepExecutor) asks a
// StepClock and cannot fail. A live one (`orrery probe policy`, which passes batches to a process
// over a pipe) may take any time. If it dies, the run ends and reports that: a batch is never run
// twice.
#pragma once

#include "layers/serving/step_clock.h"

namespace orrery::serving {

class Executor {
 public:
  virtual ~Executor() = default;
  virtual double run(const engines::Batch& batch) = 0;
};

class StepExecutor : public Executor {
 public:
  explicit StepExecutor(StepClock& clock) : clock_(clock) {}
  double run(const engines::Batch& batch) override { return clock_.time(batch.sums).base(); }
  // Runs the same batch again, `steps` iterations later.
  double repeat(const engines::Batch& batch, int steps) {
    engines::StepSums later = batch.sums;
    later.decode_keys += static_cast<double>(later.decoding) * steps;
    return clock_.time(later).base();
  }

 private:
  StepClock& clock_;
};

}  // namespace orrery::serving
