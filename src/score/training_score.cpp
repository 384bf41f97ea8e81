#include "score/training_score.h"

#include <fmt/format.h>

namespace orrery {
namespace {

std::vector<std::string> row_groups(const TrainingRow& r) {
  const TrainingQuery& q = r.query;
  std::vector<std::string> g = {
      "gpu=" + q.accelerator->id,
      "framework=" + q.framework,
      "model=" + q.model.id,
      fmt::format("precision={}", to_text(q.precision)),
      r.layout_published ? "layout=published" : "layout=unpublished",
      "certainty=" + r.certainty.substr(0, r.certainty.find_first_of(",:")),
  };
  const bool wide = q.precision == Precision::bf16 || q.precision == Precision::fp16;
  g.push_back(fmt::format("class={} {}", q.model.is_moe() ? "moe" : "dense",
                          wide ? "16-bit" : "8-bit or less"));
  if (!q.model.is_moe() && q.precision == Precision::bf16) g.push_back("class=dense bf16");
  return g;
}

std::string note_of(const TrainingRow& r, const TrainingPrediction& p) {
  std::string note = to_text(p.layout);
  if (p.layout_chosen && !r.layout_published) note += ", layout chosen";
  if (!p.fits) note += ", above the memory limit";
  return note;
}

Estimate in_gib(Estimate e) { return e * (1 / gib(1).base()); }

}  // namespace

Score score_training_with(const CsvTable& table, const ScoreInputs& inputs,
                          const TrainingModels& models) {
  Score score{.kind = "training",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tokens/s", "tokens_per_s_per_gpu", {}},
                         {"memory", "peak_gib", {}},
                         {"watts", "watts", {}}},
              .skipped = {}};
  for (const CsvRow& row : table.rows()) {
    const auto read = read_training_row(table, row, inputs);
    if (!read) {
      score.skipped.push_back({std::string(table.text(row, "id")), read.error(), true});
      continue;
    }
    const auto p = predict_training(models, read->query);
    if (!p) {
      score.skipped.push_back({read->id, p.error().front().what, read->counts});
      continue;
    }
    const ScoredRow base{.id = read->id,
                         .predicted = p->tokens_per_s_per_gpu,
                         .measured = read->tokens_per_s_per_gpu,
                         .counts = read->counts,
                         .groups = row_groups(*read),
                         .note = note_of(*read, *p)};
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
  return score;
}

Result<Score> score_training(const CsvTable& table, const ScoreInputs& inputs) {
  const auto models = load_training_models(inputs.catalog);
  if (!models) return std::unexpected(models.error());
  return score_training_with(table, inputs, *models);
}

}  // namespace orrery
