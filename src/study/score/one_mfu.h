// The spreadsheet that any model must beat: one MFU for each accelerator and precision, the median
// of its own rows, applied to all of them.
//
//   tokens/s per GPU = MFU(accelerator, precision) * peak / FLOPs per token (causal half)
#pragma once

#include "study/score/score.h"

namespace orrery::score {

// Over the rows of a training table that count; dense models only, as the method knows no other.
ScoreSummary score_one_mfu(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
