// The fit behind data/calibration/collectives.csv, and how collectives do on systems without rows.
//
//   loss = sum over rows of w |ln(predicted / measured)|, beyond 0.4 at a third of the slope
//        + sum over parameters of (ln(value / prior) / width)^2 / 10
//   w    = 1 / sqrt(rows of the row's system), so that a sweep of forty sizes is not forty systems
// Every parameter whose basis is `fitted` moves, one after the other, by steps that shrink; priors
// and widths are data/calibration/collective_priors.csv, one row per parameter for all links and
// networks. A link or network whose rows were all left out keeps its priors. Intervals are
// quantiles of the errors of left-out rows. The same rows give the same parameters.
#pragma once

#include <functional>
#include <string>

#include "study/score/collectives_score.h"

namespace orrery::score {

// "AWS p6-b200 1 node" and "AWS p6-b200 partial" are one system: the first two words.
std::string system_of(std::string_view name);

// `progress` is called with the folds done and their number.
using SystemProgress = std::function<void(int done, int all)>;
// Predicts every row with parameters fitted without its system.
Result<Score> score_collectives_held_out(const CsvTable& table, const ScoreInputs& inputs,
                                         const SystemProgress& progress = {});
// Returns the results in sample and left out, by size: the collectives' part of docs/accuracy.md.
Result<std::string> collectives_markdown(const CsvTable& table, const ScoreInputs& inputs,
                                         const SystemProgress& progress = {});
// Returns data/calibration/collectives.csv as these rows give it.
Result<std::string> fitted_collectives(const CsvTable& table, const ScoreInputs& inputs,
                                       const SystemProgress& progress = {});

}  // namespace orrery::score
