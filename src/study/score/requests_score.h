// `orrery score requests INDEX --logs DIR`: logs of single requests, replayed.
//
// INDEX names one log per row with the engine's settings: id, log, gpu, model, engine, tp,
// attention_dp, ep, blocks (num_gpu_blocks as the engine printed it; blank: computed),
// max_num_batched_tokens, max_num_seqs, calibrates. A log has one JSON object per line with
// input_toks, output_toks, queued_ts, first_token_ts and last_token_ts in seconds, as vLLM stamps
// them. A GPU that is not among the fitted ones is calibrated first, on the earlier half of the
// requests in the log with `calibrates` 1. The calibration chooses the share of its compute and of
// its bandwidth that kernels reach, and the host time per step, such that times to first token and
// between tokens agree best; the other half and the GPU's other logs are then predicted. Series:
// means (ttft, the kind's own; tpot, e2e) and 99th percentiles over all requests of a log.
#pragma once

#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_requests(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
