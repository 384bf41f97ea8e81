// `orrery score steps`: prefill and decode iterations measured on one device, by kernel sums under
// the power limit. Columns: id, model, phase (prefill, decode), batch, tokens_or_context, seconds,
// watts; `gpu` if it is not an H200. Model "8b" is the Llama 3 8B shape.
#pragma once

#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_steps(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
