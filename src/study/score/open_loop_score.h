// `orrery score open-loop`: each row's load simulated on a replica of its engine, in the columns of
// published open-loop runs (model, gpu, tp, rate, arrivals, lengths, prompts that come again).
//
// The distinct prompts of such a run are few: `system_prompts` times `users_per_system_prompt`,
// sent in turn, so a prefix cache finds all but the last block of a prompt from its second use on.
// Outputs are uniform, with the given mean and 90th percentile. Rows with over 1 % of failed
// requests are censored: they form a group of their own. Series: tpot (the kind's own), ttft, e2e
// on means; ttft_p99 and e2e_p99.
#pragma once

#include "study/score/score.h"

namespace orrery::score {

Result<Score> score_open_loop(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
