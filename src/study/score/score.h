// Predictions against measured rows: the error of each, its summary by group, what was skipped.
//
//   ape      = |predicted - measured| / measured
//   coverage = share of rows whose measured value is between low and high
// Rows that are recalled, partly known or suspect form groups of their own and stay out of the
// totals. A row that cannot be predicted is skipped with its reason, never guessed.
// A kind of score (training, collectives, ...) is a function that reads a table in the layout of
// the published rows and returns a Score; kinds.cpp lists them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "model/machine/models.h"

namespace orrery::score {

struct ScoredRow {
  std::string id;
  Estimate predicted;
  std::optional<double> measured;
  bool counts = true;               // included in the totals
  std::vector<std::string> groups;  // "gpu=h100-sxm"
  std::string note;                 // what was assumed, or the suspected reason of a large error

  double ape() const;
  bool covered() const;
};

// A quantity that rows of this kind have: the first is the kind's own; others ("memory", "watts",
// "ttft") become separate objects in the report.
struct ScoredSeries {
  std::string name;
  std::string unit;  // column name of the measured value: "tokens_per_s_per_gpu"
  std::vector<ScoredRow> rows;
};

struct SkippedRow {
  std::string id;
  std::string reason;
  bool counts = true;
};

struct Score {
  std::string kind;
  int rows = 0;
  std::vector<ScoredSeries> series;  // never empty
  std::vector<SkippedRow> skipped;
  std::string preface;      // text of the Markdown report before its tables
  std::string predictions;  // the CSV of `--predict`, for a kind with columns of its own
};

struct ScoreSummary {
  int scored = 0;
  double median_ape = 0;
  double mean_ape = 0;
  double p90_ape = 0;
  double coverage = 0;
};
// Summarises the rows that have a measured value.
ScoreSummary summarise(std::span<const ScoredRow* const> rows);

struct GroupSummary {
  std::string name;
  ScoreSummary summary;
};
// Returns the totals of the rows that count, and every group by name.
ScoreSummary totals_of(const ScoredSeries& series);
std::vector<GroupSummary> groups_of_series(const ScoredSeries& series);
// Largest error first.
std::vector<const ScoredRow*> worst_rows(const ScoredSeries& series, int most);

struct ScoreInputs {
  const machine::Models& models;
  // Returns the shape of a model that the catalog lacks: from `--models DIR`.
  std::function<std::optional<catalog::ModelShape>(std::string_view id)> model;
  // Returns the text of a log that a row names: from `--logs DIR`.
  std::function<std::optional<std::string>(std::string_view name)> log = {};
  // Settings that rows of serving do not name (serving_tests.h): from `--tests FILE`.
  const CsvTable* tests = nullptr;
  // True if the parameters were fitted without rows of the model that is asked for.
  bool left_out = false;

  const catalog::Catalog& catalog() const { return models.catalog(); }
};

struct ScoreKind {
  std::string_view name;
  Result<Score> (*score)(const CsvTable& table, const ScoreInputs& inputs);
};
std::span<const ScoreKind> score_kinds();

std::string score_json(const Score& score);
std::string score_predictions_csv(const Score& score);  // id,predicted,low,high,basis
std::string score_text(const Score& score);
std::string score_markdown(const Score& score);

}  // namespace orrery::score
