// `orrery score training`: tokens/s per GPU of published rows, with peak memory and watts where a
// row has them.
#pragma once

#include "plan/predict_training.h"
#include "score/score.h"
#include "score/training_rows.h"

namespace orrery {

Result<Score> score_training(const CsvTable& table, const ScoreInputs& inputs);
// With given parameters, which is what a fit needs.
Score score_training_with(const CsvTable& table, const ScoreInputs& inputs,
                          const TrainingModels& models);

}  // namespace orrery
