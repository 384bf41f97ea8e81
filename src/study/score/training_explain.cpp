#include "study/score/training_explain.h"

#include <fmt/format.h>

#include "study/score/training_rows.h"

namespace orrery::score {
namespace {

// Most by which a part alone may have to change and still be named as a possible cause.
constexpr double kMostPlausible = 3;

std::string part_line(training::StepPhase phase, double seconds, double step, double difference) {
  const double needed = seconds > 0 ? (seconds + difference) / seconds : 0;
  std::string says = "cannot explain it";
  if (needed > 1 / kMostPlausible && needed < kMostPlausible) {
    says = fmt::format("alone: {:.2f} times as long", needed);
  }
  return fmt::format("  {:<16} {:>10.4f} s {:>5.1f} %   {}\n", to_text(phase), seconds,
                     100 * seconds / step, says);
}

std::string unseen_line(const machine::Models& models, const jobs::TrainingQuery& q) {
  std::string names;
  for (const training::Unseen kind : unseen_in(models, q)) {
    names += (names.empty() ? "" : ", ") + std::string(other_word_of(kind));
  }
  return names.empty() ? "  rows of its model, framework, release and accelerator were fitted\n"
                       : "  no fitted row is of its " + names + "\n";
}

std::string explained(const machine::Models& models, const TrainingRow& row,
                      const jobs::TrainingPrediction& p) {
  const jobs::TrainingQuery& q = row.query;
  std::string out = fmt::format("{}: {} on {} {}, {}\n", row.id, q.model.id, q.gpus,
                                q.accelerator->id, to_text(p.layout));
  out += unseen_line(models, q);
  const double step = p.step.seconds;
  out += fmt::format("  predicted        {:>10.4f} s  {:.6g} tokens/s per GPU [{:.6g} .. {:.6g}]\n",
                     step, p.tokens_per_s_per_gpu.value, p.tokens_per_s_per_gpu.low,
                     p.tokens_per_s_per_gpu.high);
  double difference = 0;
  if (row.tokens_per_s_per_gpu) {
    const double measured = q.sequence * q.batch / q.gpus / *row.tokens_per_s_per_gpu;
    difference = measured - step;
    out += fmt::format("  measured         {:>10.4f} s  {:.6g} tokens/s per GPU\n", measured,
                       *row.tokens_per_s_per_gpu);
    out += fmt::format("  difference       {:>+10.4f} s  {:+.1f} %\n", difference,
                       100 * difference / measured);
  }
  for (int i = 0; i < training::kStepPhaseCount; ++i) {
    const auto phase = static_cast<training::StepPhase>(i);
    if (p.step.part(phase) > 0) out += part_line(phase, p.step.part(phase), step, difference);
  }
  return out;
}

}  // namespace

Result<std::string> explain_training_row(const CsvTable& table, const ScoreInputs& inputs,
                                         std::string_view id) {
  const auto refuse = [&](std::string what, std::string fix) {
    return fail({.code = "score.row",
                 .place = {.file = table.file()},
                 .what = std::move(what),
                 .fix = std::move(fix)});
  };
  for (const CsvRow& row : table.rows()) {
    if (table.text(row, "id") != id) continue;
    const auto read = read_training_row(table, row, inputs);
    if (!read) return refuse(fmt::format("row {} cannot be predicted: {}", id, read.error()), "");
    const auto p = predict_training(inputs.models, read->query);
    if (!p) return std::unexpected(p.error());
    return explained(inputs.models, *read, *p);
  }
  return refuse(fmt::format("there is no row with the id {}", id),
                "give an id from the column `id`");
}

}  // namespace orrery::score
