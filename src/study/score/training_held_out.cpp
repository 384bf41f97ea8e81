#include "study/score/training_held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/math.h"
#include "core/base/statistics.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

// Least width for something unseen: left-out rows may happen to be inside anyway, but the unknown
// is no better known.
constexpr double kLeastUnseen = 0.02;

constexpr std::string_view kIntervalFile = "calibration/training_intervals.csv";

// Returns the fold of a row; empty: none. A source is identified by its first word, a repository or
// an author, so that sections of one page are one source.
std::string fold_of(const CsvTable& table, const CsvRow& row, LeaveOut by) {
  switch (by) {
    case LeaveOut::source: {
      const std::string_view source = table.text(row, "source");
      return std::string(source.substr(0, source.find_first_of(" ,")));
    }
    case LeaveOut::release: {
      const std::string_view release = table.text(row, "release");
      if (release.empty()) return "";
      return std::string(table.text(row, "framework")) + " " + std::string(release);
    }
    default:
      return std::string(table.text(row, word_of(by)));
  }
}

struct FoldedRow {
  std::string fold;
  TrainingRow row;
};

std::vector<FoldedRow> folded_rows(const CsvTable& table, const ScoreInputs& inputs, LeaveOut by) {
  std::vector<FoldedRow> rows;
  for (const CsvRow& row : table.rows()) {
    auto read = read_training_row(table, row, inputs);
    if (!read || !read->counts || !read->tokens_per_s_per_gpu) continue;
    rows.push_back({fold_of(table, row, by), std::move(*read)});
  }
  return rows;
}

std::vector<TrainingRow> all_but(const std::vector<FoldedRow>& rows, std::string_view fold) {
  std::vector<TrainingRow> kept;
  for (const FoldedRow& r : rows) {
    if (r.fold != fold) kept.push_back(r.row);
  }
  return kept;
}

using Folds = std::map<std::string, machine::Models, std::less<>>;

Result<Folds> fit_folds(const std::vector<FoldedRow>& rows, const ScoreInputs& inputs,
                        const FoldProgress& progress) {
  const auto parameters = training_fit_parameters(*inputs.models.knowledge);
  if (!parameters) return std::unexpected(parameters.error());
  std::set<std::string> names;
  for (const FoldedRow& r : rows) {
    if (!r.fold.empty()) names.insert(r.fold);
  }
  Folds folds;
  for (const std::string& name : names) {
    if (progress) progress(static_cast<int>(folds.size()), static_cast<int>(names.size()));
    folds.emplace(name, refit_training(inputs.models, all_but(rows, name), *parameters));
  }
  return folds;
}

struct Missed {
  bool experts = false;
  double miss = 0;   // |ln(predicted / measured)|
  double width = 0;  // of its present interval, in the same measure
  double weight = 1;
  std::vector<training::Unseen> unseen;
};

Result<std::vector<Missed>> left_out_misses(const CsvTable& table, const ScoreInputs& inputs,
                                            LeaveOut by, const FoldProgress& progress) {
  const std::vector<FoldedRow> rows = folded_rows(table, inputs, by);
  const auto folds = fit_folds(rows, inputs, progress);
  if (!folds) return std::unexpected(folds.error());
  std::map<std::string, double, std::less<>> count;
  for (const FoldedRow& r : rows) count[r.fold] += 1;
  std::vector<Missed> all;
  for (const FoldedRow& r : rows) {
    const auto at = folds->find(r.fold);
    if (at == folds->end()) continue;
    const auto p = predict_training(at->second, r.row.query);
    if (!p) continue;
    const Estimate& e = p->tokens_per_s_per_gpu;
    all.push_back({.experts = r.row.query.model.is_moe(),
                   .miss = std::abs(math::log(e.value / *r.row.tokens_per_s_per_gpu)),
                   .width = math::log(e.high / e.value),
                   // A new source is one more source, not two hundred more rows.
                   .weight = by == LeaveOut::source ? 1 / std::sqrt(count[r.fold]) : 1,
                   .unseen = unseen_in(at->second, r.row.query)});
  }
  return all;
}

// Returns the half-width that `of` must add so that the interval's share of the rows that lack it
// is inside, given all other widths.
double width_needed(const std::vector<Missed>& rows, const training::TrainingCalibration& c,
                    training::Unseen of, bool experts) {
  constexpr double kShare = 0.8;
  std::vector<std::pair<double, double>> excess;  // squared, and its weight
  const double now = c.unseen_width(of, experts);
  for (const Missed& m : rows) {
    if (m.experts != experts || std::ranges::find(m.unseen, of) == m.unseen.end()) continue;
    const double others = (math::exp(m.width) - 1) * (math::exp(m.width) - 1) - now * now;
    const double miss = math::exp(m.miss) - 1;
    excess.emplace_back(std::max(0.0, miss * miss - others), m.weight);
  }
  if (excess.empty()) return now;
  std::ranges::sort(excess);
  double left = 0;
  for (const auto& [square, weight] : excess) left += kShare * weight;
  const auto at =
      std::ranges::find_if(excess, [&](const auto& e) { return (left -= e.second) <= 0; });
  return std::max(kLeastUnseen, std::sqrt(at != excess.end() ? at->first : excess.back().first));
}

std::string table_line(std::string_view name, const ScoredSeries& series, std::string_view group) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& r : series.rows) {
    const bool of_group = group.empty() || std::ranges::any_of(r.groups, [&](const std::string& g) {
                            return g.starts_with(group);
                          });
    if (r.counts && r.measured && of_group) rows.push_back(&r);
  }
  const ScoreSummary s = summarise(rows);
  return fmt::format("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.0f} % |\n", name,
                     group.empty() ? "all" : group.substr(group.find('=') + 1), s.scored,
                     100 * s.median_ape, 100 * s.p90_ape, 100 * s.coverage);
}

std::string table_lines(std::string_view name, const Score& score) {
  std::string out;
  for (const std::string_view group : {"", "class=dense", "class=moe"}) {
    out += table_line(name, score.series[0], group);
  }
  return out;
}

}  // namespace

Result<Score> score_training_held_out(const CsvTable& table, const ScoreInputs& inputs, LeaveOut by,
                                      const FoldProgress& progress) {
  const auto folds = fit_folds(folded_rows(table, inputs, by), inputs, progress);
  if (!folds) return std::unexpected(folds.error());
  Score score =
      score_training_with(table, inputs, [&](const CsvRow& row) -> const machine::Models* {
        const auto at = folds->find(fold_of(table, row, by));
        return at != folds->end() ? &at->second : nullptr;
      });
  return score;
}

Result<std::string> held_out_markdown(const CsvTable& table, const ScoreInputs& inputs,
                                      const FoldProgress& progress) {
  const auto seen = score_training(table, inputs);
  if (!seen) return std::unexpected(seen.error());
  std::string out =
      "| rows predicted | class | rows | median | p90 | in interval |\n"
      "|---|---|---:|---:|---:|---:|\n" +
      table_lines("in sample", *seen);
  for (const LeaveOut by :
       {LeaveOut::model, LeaveOut::source, LeaveOut::accelerator, LeaveOut::release}) {
    const auto score = score_training_held_out(table, inputs, by, progress);
    if (!score) return std::unexpected(score.error());
    out += table_lines(
        fmt::format("left out by {}", by == LeaveOut::accelerator ? "accelerator" : word_of(by)),
        *score);
  }
  return out;
}

Result<CalibrationFile> fitted_intervals(const CsvTable& table, const ScoreInputs& inputs,
                                         const FoldProgress& progress) {
  // In this order: what is left out later is also without what was left out before.
  constexpr std::pair<LeaveOut, training::Unseen> kSteps[] = {
      {LeaveOut::model, training::Unseen::model},
      {LeaveOut::release, training::Unseen::release},
      {LeaveOut::accelerator, training::Unseen::accelerator},
      {LeaveOut::source, training::Unseen::framework}};
  machine::Models models = inputs.models;
  for (const auto& [by, of] : kSteps) {
    const auto rows = left_out_misses(table, {models, inputs.model}, by, progress);
    if (!rows) return std::unexpected(rows.error());
    for (training::UnseenWidth& w : models.training.widths) {
      if (w.of == of) w.width = width_needed(*rows, models.training, of, w.experts);
    }
  }
  std::string text = "unseen,class,width,source\n";
  for (const training::UnseenWidth& w : models.training.widths) {
    const bool is_left_out = w.of != training::Unseen::layout;
    text += fmt::format("{},{},{:.3f},{}\n", word_of(w.of), w.experts ? "moe" : "dense", w.width,
                        is_left_out ? "rows left out: 80 % lie inside"
                                    : "tuned rows whose layouts were left open: 80 % lie inside");
  }
  return CalibrationFile{std::string(kIntervalFile), std::move(text)};
}

}  // namespace orrery::score
