// `orrery score offline`: throughput with all requests queued, in the columns of TensorRT-LLM's
// published performance tables (model, gpu, precision, parallel, isl, osl, value in its metric).
//
// The cache decides how many requests run at once, each with its prompt and whole output reserved;
// prompts take their share of every step. "Mixed" precision is 16 bits. Rows of a metric that is
// not output tokens a second are skipped.
#pragma once

#include "score/score.h"

namespace orrery::score {

Result<Score> score_offline(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
