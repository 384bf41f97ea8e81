#include "study/score/training_score.h"

#include <fmt/format.h>

#include "study/score/one_mfu.h"

namespace orrery::score {
namespace {

std::vector<std::string> row_groups(const TrainingRow& r) {
  const jobs::TrainingQuery& q = r.query;
  std::vector<std::string> g = {
      "gpu=" + q.accelerator->id,
      "framework=" + q.framework,
      "model=" + q.model.id,
      fmt::format("precision={}", to_text(q.precision)),
      r.layout_published ? "layout=published" : "layout=unpublished",
      "certainty=" + r.certainty.substr(0, r.certainty.find_first_of(",:")),
  };
  const bool wide =
      q.precision == catalog::Precision::bf16 || q.precision == catalog::Precision::fp16;
  g.push_back(fmt::format("class={} {}", q.model.is_moe() ? "moe" : "dense",
                          wide ? "16-bit" : "8-bit or less"));
  if (!q.model.is_moe() && q.precision == catalog::Precision::bf16) g.push_back("class=dense bf16");
  return g;
}

// Possible causes of an error, taken from the row, related rows and the predicted step.
struct RowFacts {
  std::string setting;  // everything except the release: rows that share it should be alike
  std::string release;
  double measured = 0;
  std::string layout;
  std::string largest;  // largest part of the step other than products and attention
};

RowFacts facts_of(const TrainingRow& r, const jobs::TrainingPrediction& p) {
  const jobs::TrainingQuery& q = r.query;
  RowFacts f;
  f.setting = fmt::format("{} {} {} {} {} {}", q.framework, q.accelerator->id, q.gpus, q.model.id,
                          to_text(q.precision), to_text(p.layout));
  f.release = q.release;
  f.measured = r.tokens_per_s_per_gpu.value_or(0);
  f.layout = to_text(p.layout);
  if (!r.layout_published) f.layout += ", chosen";
  if (!p.fits) f.layout += ", above the memory limit";
  training::StepPhase largest = training::StepPhase::passes;
  for (int i = static_cast<int>(training::StepPhase::passes); i < training::kStepPhaseCount; ++i) {
    const auto phase = static_cast<training::StepPhase>(i);
    if (p.step.part(phase) > p.step.part(largest)) largest = phase;
  }
  f.largest = fmt::format("{} {:.0f} % of the step", to_text(largest),
                          100 * p.step.part(largest) / p.step.seconds);
  return f;
}

// Ratio between releases above which measured rows of one setting cannot be explained by one factor
// per release.
constexpr double kReleaseSpread = 1.2;

std::string note_of(const RowFacts& f, const std::vector<RowFacts>& all) {
  for (const RowFacts& other : all) {
    if (other.setting != f.setting || other.release == f.release) continue;
    const double ratio = other.measured / f.measured;
    if (ratio > kReleaseSpread || ratio < 1 / kReleaseSpread) {
      return fmt::format("{}; release {} ran the same at {:.0f}", f.layout, other.release,
                         other.measured);
    }
  }
  return f.layout + "; " + f.largest;
}

ScoreSummary rows_of(const ScoredSeries& series, std::string_view prefix) {
  std::vector<const ScoredRow*> rows;
  for (const ScoredRow& r : series.rows) {
    if (r.id.starts_with(prefix)) rows.push_back(&r);
  }
  return summarise(rows);
}

// The text of the page; docs/accuracy.md is this and the tables below it.
std::string training_preface(const Score& score, const ScoreSummary& one_mfu) {
  const ScoreSummary all = totals_of(score.series[0]);
  const ScoreSummary korthikanti = rows_of(score.series[0], "kor22");
  const ScoreSummary simumax_time = rows_of(score.series[0], "simumax");
  const ScoreSummary simumax = rows_of(score.series[1], "simumax");
  const ScoreSummary h200 = rows_of(score.series[0], "h200_");
  const auto line = [](std::string_view who, std::string_view rows, const ScoreSummary& s) {
    return fmt::format("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.1f} % |\n", who, rows, s.scored,
                       100 * s.median_ape, 100 * s.mean_ape, 100 * s.p90_ape);
  };
  std::string out = fmt::format(
      "# Accuracy of training predictions\n\n"
      "Written by `orrery score training data/validation/training.csv --format markdown`. {} rows, "
      "{} "
      "scored, {} skipped with a reason; {:.0f} % of the measured values lie inside their 80 % "
      "interval. Errors are |predicted - measured| / measured of tokens/s per GPU. Parameters are "
      "per "
      "accelerator, per framework family and one factor a release (docs/models/training.md); "
      "accelerators without measured training rows (AMD, TPU, Trainium, Gaudi) have none of their "
      "own "
      "and carry wide intervals. The rows below also fixed the parameters; what to expect of a "
      "model, a source, an accelerator or a release without rows: `orrery score training "
      "data/validation/training.csv --leave-out all`, at the end of docs/accuracy.md.\n\n"
      "| model | rows | scored | median | mean | p90 |\n|---|---|---:|---:|---:|---:|\n",
      score.rows, all.scored, score.skipped.size(), 100 * all.coverage);
  out += line("Orrery", "all that count", all);
  out += line("one MFU a chip and precision (spreadsheet)", "dense rows", one_mfu);
  out += line("Orrery", "Korthikanti 2022, 8 A100 rows", korthikanti);
  out += "| Calculon (published validation) | Korthikanti 2022, 8 A100 rows | 8 | | 3.7 % | |\n";
  out += line("Orrery, time", "SimuMax 1.2, 8 x B200", simumax_time);
  out += line("Orrery, peak memory", "SimuMax 1.2, 8 x B200", simumax);
  out +=
      "| SimuMax (its own 43 rows) | 8 x B200 | 43 | | time -13.5 to +0.1 %, memory within 1.4 % | "
      "|\n";
  out += line("Orrery", "one H200", h200);
  return out + "\n";
}

Estimate in_gib(const Estimate& e) { return e * (1 / gib(1).base()); }

}  // namespace

Score score_training_with(const CsvTable& table, const ScoreInputs& inputs,
                          const ModelsOfRow& models_of) {
  Score score{.kind = "training",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tokens/s", "tokens_per_s_per_gpu", {}},
                         {"memory", "peak_gib", {}},
                         {"watts", "watts", {}}},
              .skipped = {}};
  std::vector<RowFacts> facts;
  for (const CsvRow& row : table.rows()) {
    const auto read = read_training_row(table, row, inputs);
    if (!read) {
      score.skipped.push_back({std::string(table.text(row, "id")), read.error(), true});
      continue;
    }
    const machine::Models* models = models_of(row);
    if (models == nullptr) continue;
    const auto p = predict_training(*models, read->query);
    if (!p) {
      score.skipped.push_back({read->id, p.error().front().what, read->counts});
      continue;
    }
    const ScoredRow base{.id = read->id,
                         .predicted = p->tokens_per_s_per_gpu,
                         .measured = read->tokens_per_s_per_gpu,
                         .counts = read->counts,
                         .groups = row_groups(*read),
                         .note = ""};
    facts.push_back(facts_of(*read, *p));
    score.series[0].rows.push_back(base);
    const auto beside = [&](ScoredSeries& series, std::optional<double> measured, Estimate e) {
      if (!measured) return;
      ScoredRow other = base;
      other.predicted = std::move(e);
      other.measured = measured;
      series.rows.push_back(std::move(other));
    };
    beside(score.series[1], read->peak_gib, in_gib(p->memory_bytes));
    if (p->watts.value > 0) beside(score.series[2], read->watts, p->watts);
  }
  for (std::size_t i = 0; i < facts.size(); ++i) {
    score.series[0].rows[i].note = note_of(facts[i], facts);
  }
  return score;
}

Result<Score> score_training(const CsvTable& table, const ScoreInputs& inputs) {
  Score score = score_training_with(
      table, inputs, [&](const CsvRow&) -> const machine::Models* { return &inputs.models; });
  score.preface = training_preface(score, score_one_mfu(table, inputs));
  return score;
}

}  // namespace orrery::score
