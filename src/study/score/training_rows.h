// A published training row as a query: the columns of data/validation/training.csv.
//
// Shape columns that are filled override the catalog's model (truncated depths). Blank or "auto"
// layout fields are left open, so the best feasible choice is predicted; an interleave factor that
// a fully published layout does not mention is 1.
#pragma once

#include <expected>
#include <string>

#include "model/jobs/predict_training.h"
#include "study/score/score.h"

namespace orrery::score {

struct TrainingRow {
  std::string id;
  jobs::TrainingQuery query;
  bool layout_published = true;
  bool counts = true;
  std::string certainty;
  std::optional<double> tokens_per_s_per_gpu;
  std::optional<double> peak_gib;
  std::optional<double> watts;
};

// Returns the row as a query, or the reason why it cannot be predicted.
std::expected<TrainingRow, std::string> read_training_row(const CsvTable& table, const CsvRow& row,
                                                          const ScoreInputs& inputs);

}  // namespace orrery::score
