#include "study/score/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/json_writer.h"
#include "core/base/statistics.h"
#include "core/base/text.h"

namespace orrery::score {
namespace {

constexpr int kWorstRows = 20;

void write_summary(JsonWriter& w, const ScoreSummary& s) {
  w.field("scored", s.scored)
      .field("median_ape", s.median_ape)
      .field("mean_ape", s.mean_ape)
      .field("p90_ape", s.p90_ape)
      .field("coverage", s.coverage);
}

void write_groups(JsonWriter& w, const ScoredSeries& series) {
  w.key("groups").begin_object();
  for (const GroupSummary& g : groups_of_series(series)) {
    w.key(g.name).begin_object();
    write_summary(w, g.summary);
    w.end_object();
  }
  w.end_object();
}

void write_worst(JsonWriter& w, const ScoredSeries& series) {
  w.key("worst").begin_array();
  for (const ScoredRow* row : worst_rows(series, kWorstRows)) {
    w.begin_object()
        .field("id", row->id)
        .field("predicted", row->predicted.value)
        .field("measured", *row->measured)
        .field("ape", row->ape());
    if (!row->note.empty()) w.field("note", row->note);
    w.end_object();
  }
  w.end_array();
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

double ScoredRow::ape() const {
  return measured ? std::abs(predicted.value - *measured) / *measured : 0;
}
bool ScoredRow::covered() const {
  return measured && predicted.low <= *measured && *measured <= predicted.high;
}

ScoreSummary summarise(std::span<const ScoredRow* const> rows) {
  std::vector<double> errors;
  ScoreSummary s;
  int covered = 0;
  for (const ScoredRow* row : rows) {
    if (!row->measured) continue;
    errors.push_back(row->ape());
    covered += row->covered() ? 1 : 0;
  }
  if (errors.empty()) return s;
  const auto n = static_cast<double>(errors.size());
  s.scored = static_cast<int>(errors.size());
  s.median_ape = quantile(errors, 0.5, Between::mixed);
  s.mean_ape = mean(errors);
  s.p90_ape = quantile(errors, 0.9, Between::mixed);
  s.coverage = covered / n;
  return s;
}

ScoreSummary totals_of(const ScoredSeries& series) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& row : series.rows) {
    if (row.counts) rows.push_back(&row);
  }
  return summarise(rows);
}

std::vector<GroupSummary> groups_of_series(const ScoredSeries& series) {
  std::map<std::string, std::vector<const ScoredRow*>> groups;
  for (const ScoredRow& row : series.rows) {
    for (const std::string& g : row.groups) {
      // Rows that do not count are only in the groups that say why.
      if (row.counts || g.starts_with("certainty=") || g.starts_with("quality=")) {
        groups[g].push_back(&row);
      }
    }
  }
  std::vector<GroupSummary> all;
  for (const auto& [name, rows] : groups) all.push_back({name, summarise(rows)});
  return all;
}

std::vector<const ScoredRow*> worst_rows(const ScoredSeries& series, int most) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& row : series.rows) {
    if (row.counts && row.measured) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::greater{}, &ScoredRow::ape);
  if (rows.size() > static_cast<std::size_t>(most)) rows.resize(static_cast<std::size_t>(most));
  return rows;
}

std::string score_json(const Score& score) {
  JsonWriter w;
  const ScoredSeries& own = score.series.front();
  w.begin_object().field("schema_version", 1).field("kind", score.kind).field("rows", score.rows);
  write_summary(w, totals_of(own));
  write_groups(w, own);
  for (std::size_t i = 1; i < score.series.size(); ++i) {
    w.key(score.series[i].name).begin_object();
    write_summary(w, totals_of(score.series[i]));
    write_groups(w, score.series[i]);
    w.end_object();
  }
  w.key("skipped").begin_array();
  for (const SkippedRow& row : score.skipped) {
    w.begin_object().field("id", row.id).field("reason", row.reason).end_object();
  }
  w.end_array();
  write_worst(w, own);
  w.end_object();
  return w.text() + "\n";
}

std::string score_predictions_csv(const Score& score) {
  if (!score.predictions.empty()) return score.predictions;
  std::string out = "id,predicted,low,high,basis\n";
  for (const ScoredRow& row : score.series.front().rows) {
    out += fmt::format("{},{},{},{},{}\n", csv_field(row.id), shortest(row.predicted.value),
                       shortest(row.predicted.low), shortest(row.predicted.high),
                       to_text(row.predicted.basis));
  }
  return out;
}

std::string score_text(const Score& score) {
  const ScoreSummary all = totals_of(score.series.front());
  std::string out = fmt::format(
      "{}: {} rows, {} scored, {} skipped\nmedian error {}, mean {}, p90 {}; {} of rows inside "
      "their 80 % interval\n\n",
      score.kind, score.rows, all.scored, score.skipped.size(), percent(all.median_ape),
      percent(all.mean_ape), percent(all.p90_ape), percent(all.coverage));
  for (const ScoredSeries& series : score.series) {
    out += fmt::format("{:<38} {:>7} {:>8} {:>8} {:>9}\n", series.name, "scored", "median", "p90",
                       "coverage");
    for (const GroupSummary& g : groups_of_series(series)) {
      out += fmt::format("  {:<36} {:>7} {:>8} {:>8} {:>9}\n", g.name, g.summary.scored,
                         percent(g.summary.median_ape), percent(g.summary.p90_ape),
                         percent(g.summary.coverage));
    }
  }
  out += "\nworst rows\n";
  for (const ScoredRow* row : worst_rows(score.series.front(), 10)) {
    out += fmt::format("  {:<44} predicted {:>10} measured {:>10} error {:>8}\n", row->id,
                       significant(row->predicted.value, 4), significant(*row->measured, 4),
                       percent(row->ape()));
  }
  return out;
}

std::string score_markdown(const Score& score) {
  std::string out = score.preface;
  for (const ScoredSeries& series : score.series) {
    const ScoreSummary all = totals_of(series);
    out += fmt::format("### {} ({})\n\n| group | rows | median | mean | p90 | in interval |\n",
                       series.name, series.unit);
    out += "|---|---:|---:|---:|---:|---:|\n";
    const auto line = [&out](std::string_view name, const ScoreSummary& s) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, s.scored, percent(s.median_ape),
                         percent(s.mean_ape), percent(s.p90_ape), percent(s.coverage));
    };
    line("all that count", all);
    for (const GroupSummary& g : groups_of_series(series)) {
      if (g.summary.scored > 0) line(g.name, g.summary);
    }
    out += "\n";
  }
  out +=
      "### Worst rows\n\n| row | predicted | measured | error | note |\n|---|---:|---:|---:|---|\n";
  for (const ScoredRow* row : worst_rows(score.series.front(), kWorstRows)) {
    out +=
        fmt::format("| {} | {} | {} | {} | {} |\n", row->id, significant(row->predicted.value, 4),
                    significant(*row->measured, 4), percent(row->ape()), row->note);
  }
  return out;
}

}  // namespace orrery::score
