#include "score/serving_score.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "machine/predict_serving.h"

namespace orrery::score {
namespace {

// The benchmark behind these rows sends ten prompts for each concurrent client.
constexpr double kRequestsPerClient = 10;

// "meta-llama/Llama-3.1-70B": by its whole name, by the part after the slash, or from --models.
std::optional<catalog::ModelShape> shape_of(const std::string& path, const ScoreInputs& inputs) {
  const std::string low = lowered(path);
  for (const std::string& name : {path, low, low.substr(low.find('/') + 1)}) {
    if (const catalog::ModelShape* known = inputs.catalog().model(name)) return *known;
  }
  return inputs.model ? inputs.model(path) : std::nullopt;
}

std::optional<catalog::Dtype> format_of(std::string_view mode, std::string_view precision) {
  if (mode.empty()) mode = precision;
  if (mode.starts_with("fp8")) return catalog::Dtype::fp8;
  if (mode == "nvfp4" || mode == "fp4") return catalog::Dtype::fp4;
  if (mode.empty() || mode == "bf16") return catalog::Dtype::bf16;
  return std::nullopt;
}

std::string accelerator_id(std::string_view system) {
  std::string id(system);
  std::replace(id.begin(), id.end(), '_', '-');
  return id;
}

serving::ServingSplit split_of(const CsvTable& t, const CsvRow& row,
                               const catalog::ModelShape& model) {
  const auto field = [&](std::string_view name) {
    return static_cast<int>(t.integer(row, name).value_or(1));
  };
  serving::ServingSplit s{.tp = field("tp_size"),
                          .pp = field("pp_size"),
                          .attention_dp = field("attention_dp_size"),
                          .moe_tp = 0,
                          .ep = model.is_moe() ? field("moe_ep_size") : 1};
  // Engines name the size of the group twice where every rank attends by itself.
  if (s.attention_dp > 1 && s.tp == s.attention_dp) s.tp = 1;
  return s;
}

std::expected<machine::ServingQuery, std::string> read_row(const CsvTable& t, const CsvRow& row,
                                                           const ScoreInputs& inputs) {
  if (t.text(row, "mode") != "agg") return std::unexpected("prefill and decode apart");
  machine::ServingQuery q;
  const auto model = shape_of(std::string(t.text(row, "model_path")), inputs);
  if (!model) return std::unexpected("unknown model");
  q.model = *model;
  q.accelerator = inputs.catalog().accelerator(accelerator_id(t.text(row, "system")));
  if (!q.accelerator) return std::unexpected("unknown accelerator");
  const std::string_view precision = t.text(row, "precision");
  const auto products = format_of(t.text(row, "gemm_quant_mode"), precision);
  const auto experts = format_of(t.text(row, "moe_quant_mode"), precision);
  if (!products || !experts) return std::unexpected("weight-only format");
  const bool narrow = *products != catalog::Dtype::bf16;
  q.precision = {.products = *products,
                 .experts = *experts,
                 .kv = narrow ? catalog::Dtype::fp8 : catalog::Dtype::bf16};
  q.engine = t.text(row, "backend");
  q.split = split_of(t, row, *model);
  const auto input = t.number(row, "isl");
  const auto output = t.number(row, "osl");
  const auto concurrency = t.number(row, "batch_size");
  if (!input || !output || !concurrency) return std::unexpected("no lengths or concurrency");
  q.request = {.input = *input, .output = *output, .requests_per_client = kRequestsPerClient};
  q.concurrency = *concurrency;
  return q;
}

std::vector<std::string> groups_of(const CsvTable& t, const CsvRow& row,
                                   const machine::ServingQuery& q) {
  const std::string engine(t.text(row, "backend"));
  return {"gpu=" + q.accelerator->id,
          "engine=" + engine,
          "model=" + std::string(t.text(row, "model_path")),
          "precision=" + std::string(t.text(row, "precision")),
          "gpu, engine=" + q.accelerator->id + " " + engine,
          q.model.is_moe() ? "class=moe" : "class=dense"};
}

Estimate in_ms(const Estimate& seconds) { return seconds * 1e3; }

}  // namespace

Result<Score> score_serving(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "serving",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tpot", "silicon_tpot_ms", {}}, {"ttft", "silicon_ttft_ms", {}}},
              .skipped = {}};
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const auto query = read_row(table, row, inputs);
    if (!query) {
      score.skipped.push_back({id, query.error(), true});
      continue;
    }
    const auto p = predict_serving(inputs.models, *query);
    if (!p) {
      score.skipped.push_back({id, p.error().front().what, true});
      continue;
    }
    ScoredRow scored{.id = id,
                     .predicted = in_ms(p->tpot_s),
                     .measured = table.number(row, "silicon_tpot_ms"),
                     .counts = true,
                     .groups = groups_of(table, row, *query),
                     .note = {}};
    score.series[0].rows.push_back(scored);
    scored.predicted = in_ms(p->ttft_s);
    scored.measured = table.number(row, "silicon_ttft_ms");
    score.series[1].rows.push_back(scored);
  }
  return score;
}

}  // namespace orrery::score
