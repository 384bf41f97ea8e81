// `orrery score serving`: mean TPOT and TTFT under closed-loop concurrency, in the columns of the
// InferenceX dump (isl, osl, tp_size, ...; silicon_data_source has the clients).
//
// Aggregated rows are simulated as they were taken: all clients start at once, each sends ten
// requests, lengths are uniform in [0.8 L, L], the end of a text is ignored. Rows whose prefill and
// decode run apart take the closed form of serving/disaggregated.h; they and rows with speculation
// have groups of their own ("mode, speculation="), since worker counts and acceptance are assumed.
// Which cache format a row ran with is not published either: fp8 if the weights are 8 or 4 bits
// wide. Skipped with their reason: weight-only formats, layouts whose weights do not fit.
#pragma once

#include <functional>
#include <string_view>

#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_serving(const CsvTable& table, const ScoreInputs& inputs);
// The same with separate inputs for each model, by `model_path`.
using InputsOf = std::function<const ScoreInputs&(std::string_view model)>;
Score score_serving_by(const CsvTable& table, const ScoreInputs& inputs, const InputsOf& inputs_of);

}  // namespace orrery::score
