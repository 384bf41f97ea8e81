// `orrery score requests INDEX --logs DIR`: logs of single requests, replayed.
//
// INDEX names a log a row with the engine's settings: id, log, gpu, model, engine, tp,
// attention_dp, ep, blocks (num_gpu_blocks as the engine printed it; blank: computed),
// max_num_batched_tokens, max_num_seqs, calibrates. A log is one JSON object a line with
// input_toks, output_toks, queued_ts, first_token_ts and last_token_ts in seconds, as vLLM stamps
// them. A GPU that is not among the fitted ones is calibrated first: on the half of the requests
// that came first in the log with `calibrates` 1, how much of its compute and of its bandwidth the
// kernels reach and what the host adds to a step are chosen so that times to the first token and
// between tokens agree best; the other half and the GPU's other logs are predicted with that.
// Series: means (ttft, the kind's own; tpot, e2e) and 99th percentiles of all requests of a log.
#pragma once

#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_requests(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
