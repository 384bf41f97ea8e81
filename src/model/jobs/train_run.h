// The step of a transformer's run in full: the query and the whole prediction, of which a TrainJob
// keeps what the rest of the review needs.
#pragma once

#include "model/jobs/predict_training.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {

struct TrainingRun {
  TrainingQuery query;
  TrainingPrediction prediction;  // may not fit; then it is the layout that needs least memory
};

// Predicts the run on as many accelerators of the job's fleet as its batch divides over; `job` has
// its fleet and model. Returns the faults if no layout divides the job.
Result<TrainingRun> training_run(const TrainJob& job, const machine::Machine& machine);

// Returns the time of a feasible job's step, in its layout, on its network with another routing,
// other placement or other losses.
Result<Seconds> step_on(const TrainJob& job, const machine::Machine& machine,
                        std::shared_ptr<const fabric::RoutedTree> tree);

}  // namespace orrery::jobs
