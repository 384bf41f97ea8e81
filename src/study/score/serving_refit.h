// The fit behind data/calibration/serving_tuning.csv: what `orrery calibrate` does with rows of
// measured serving.
//
// Per accelerator and engine, never per model. First the times between tokens:
//   minimise  mean h(ln(t(p) / measured)) + sum ((p - prior) / scale)^2 firmness / n
// with h(e) = |e|, slower beyond 0.3, and t linear in the parameters around the last point (exact
// except for the clock under a power limit; recomputed once). An engine's rows of all accelerators
// are fitted first, held firmly near one prior for all engines (models that were left out decide
// how firmly); each accelerator with enough rows is then held near its engine. After that, on
// simulated tests, the first token: an offset, an addition for every routed layer, the steps until
// a request is seen, and a factor on the prefill work of a test.
// Offline tests (score/offline_score.h) fix the same parameters of their version family by the time
// of an output token, simulated at the last point and moved as the closed form moves. Tests with
// separate prefill and decode are used through the step of a decode replica, if they name their
// replicas and prefill has room; rows with speculation are not used.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/jobs/predict_serving.h"
#include "study/score/score.h"

namespace orrery::score {

struct ServedRow {
  std::string id;
  std::string model;
  jobs::ServingQuery query;
  double tpot = 0;   // in seconds, measured; offline: per token of the whole replica
  double ttft = 0;   // 0: unknown
  int requests = 0;  // queued at once, in an offline test
  // Set if prefill and decode are separate; `query` is then decode's.
  std::optional<jobs::DisaggregatedQuery> apart = std::nullopt;
};

// Returns the rows of a table that a fit uses: of closed-loop tests, or of offline ones by their
// `metric`.
std::vector<ServedRow> served_rows(const CsvTable& table, const ScoreInputs& inputs);

std::vector<engines::TuningRow> refit_serving(const machine::Models& models,
                                              const std::vector<ServedRow>& rows);

// Returns the text of data/calibration/serving_tuning.csv that these rows give.
std::string refitted_tuning_csv(const CsvTable& table, const ScoreInputs& inputs);

// Predicts each row with parameters fitted without rows of its model.
Result<Score> score_serving_held_out(const CsvTable& table, const ScoreInputs& inputs);

}  // namespace orrery::score
