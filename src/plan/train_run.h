// The step of a transformer's run in full: the question that was asked and the whole prediction, of
// which a TrainView keeps what the rest of the review needs.
#pragma once

#include "machine/predict_training.h"
#include "plan/train_view.h"

namespace orrery::plan {

struct TrainingRun {
  machine::TrainingQuery query;
  machine::TrainingPrediction prediction;  // may not fit; then it is the leanest there is
};

// On as many accelerators of the view's fleet as the batch spreads over; `view` has its fleet and
// model. Faults where no layout divides the job.
Result<TrainingRun> training_run(const TrainView& view, const machine::Machine& machine);

}  // namespace orrery::plan
