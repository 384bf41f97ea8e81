// `orrery score serving`: mean TPOT and TTFT of aggregated replicas under closed-loop concurrency,
// in the columns of the InferenceX dump (isl, osl, batch_size = concurrency, tp_size, ...).
//
// Skipped with their reason: rows whose prefill and decode run apart, weight-only formats, models
// that are not modelled. Which cache format a row ran with is not published: fp8 where the weights
// are 8 or 4 bits wide. Each client sends ten requests and all start at once, as that benchmark
// does.
#pragma once

#include "score/score.h"

namespace orrery::score {

Result<Score> score_serving(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
