// The spreadsheet method that any model must beat: one MFU per accelerator and precision, the
// median of its own rows, applied to all of them.
//
//   tokens/s per GPU = MFU(accelerator, precision) * peak / FLOPs per token (causal half)
#pragma once

#include "study/score/score.h"

namespace orrery::score {

// Scores the rows of a training table that count; dense models only, because the method covers no
// others.
ScoreSummary score_one_mfu(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
