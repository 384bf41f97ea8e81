#include "study/score/steps_score.h"

#include <optional>
#include <string>

#include "model/jobs/predict_serving.h"

namespace orrery::score {
namespace {

std::optional<catalog::ModelShape> shape_named(const std::string& id, const ScoreInputs& inputs) {
  const catalog::ModelShape* known = inputs.catalog().model(id == "8b" ? "llama-3-8b" : id);
  if (known) return *known;
  return inputs.model ? inputs.model(id) : std::nullopt;
}

serving::Iteration iteration_of(bool prefill, double batch, double tokens) {
  if (prefill) return {.prompts = batch, .prompt_tokens = tokens};
  return {.decoding = batch, .context = tokens};
}

struct StepRow {
  jobs::ServingQuery query;
  serving::Iteration iteration;
};

std::expected<StepRow, std::string> read_step(const CsvTable& t, const CsvRow& row,
                                              const ScoreInputs& inputs) {
  const std::string_view phase = t.text(row, "phase");
  const auto batch = t.number(row, "batch");
  const auto tokens = t.number(row, "tokens_or_context");
  if (!batch || !tokens) return std::unexpected("the row gives no batch or no tokens");
  if (phase != "prefill" && phase != "decode") return std::unexpected("unknown phase");
  const auto model = shape_named(std::string(t.text(row, "model")), inputs);
  if (!model) return std::unexpected("unknown model");
  const std::string_view named = t.text(row, "gpu");
  const catalog::Accelerator* gpu =
      inputs.catalog().accelerator(named.empty() ? "h200-sxm" : named);
  if (!gpu) return std::unexpected("unknown accelerator");
  StepRow r;
  r.query.model = *model;
  r.query.accelerator = gpu;
  r.query.engine = "pytorch";
  r.query.own_kernels = false;
  r.query.request = {.input = 1, .output = 1};
  r.iteration = iteration_of(phase == "prefill", *batch, *tokens);
  return r;
}

}  // namespace

Result<Score> score_steps(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "steps",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"seconds", "seconds", {}}, {"watts", "watts", {}}},
              .skipped = {}};
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const auto read = read_step(table, row, inputs);
    if (!read) {
      score.skipped.push_back({id, read.error(), true});
      continue;
    }
    const auto p = predict_step(inputs.models, read->query, read->iteration);
    if (!p) {
      score.skipped.push_back({id, p.error().front().what, true});
      continue;
    }
    ScoredRow scored{.id = id,
                     .predicted = p->seconds,
                     .measured = table.number(row, "seconds"),
                     .counts = true,
                     .groups = {"gpu=" + read->query.accelerator->id,
                                "phase=" + std::string(table.text(row, "phase"))},
                     .note = {}};
    score.series[0].rows.push_back(scored);
    const auto watts = table.number(row, "watts");
    if (!watts) continue;
    scored.predicted = p->watts;
    scored.measured = watts;
    score.series[1].rows.push_back(scored);
  }
  return score;
}

}  // namespace orrery::score
