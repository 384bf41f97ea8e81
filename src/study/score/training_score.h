// `orrery score training`: tokens/s per GPU of published rows, with peak memory and watts where a
// row has them.
#pragma once

#include <functional>

#include "model/jobs/predict_training.h"
#include "study/score/score.h"
#include "study/score/training_rows.h"

namespace orrery::score {

Result<Score> score_training(const CsvTable& table, const ScoreInputs& inputs);
// Returns each row's parameters, for a held-out score one set per fold; a row without any is left
// out.
using ModelsOfRow = std::function<const machine::Models*(const CsvRow&)>;
Score score_training_with(const CsvTable& table, const ScoreInputs& inputs,
                          const ModelsOfRow& models_of);

}  // namespace orrery::score
