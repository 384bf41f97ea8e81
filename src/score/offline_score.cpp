#include "score/offline_score.h"

#include <array>
#include <string>

#include "base/text.h"
#include "machine/predict_serving.h"
#include "score/model_of.h"

namespace orrery::score {
namespace {

// How the tables name devices, longest names first where one begins with another.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kDevices = {
    {{"GH200 96GB", "h100-sxm"},
     {"GH200", "h200-sxm"},
     {"GB200", "gb200"},
     {"B200", "b200-sxm"},
     {"H200", "h200-sxm"},
     {"H100", "h100-sxm"},
     {"A100-SXM4-80GB", "a100-80-sxm"},
     {"A100-PCIE-80GB", "a100-80-pcie"},
     {"L40S", "l40s"}}};
// More requests than any engine here runs at once.
constexpr double kQueued = 4096;

const catalog::Accelerator* device_of(std::string_view name, const ScoreInputs& inputs) {
  for (const auto& [begin, id] : kDevices) {
    if (name.starts_with(begin)) return inputs.catalog().accelerator(id);
  }
  return inputs.catalog().accelerator(lowered(name));
}

std::optional<catalog::Dtype> format_of(std::string_view precision) {
  if (precision == "FP8") return catalog::Dtype::fp8;
  if (precision == "FP4") return catalog::Dtype::fp4;
  if (precision == "FP16" || precision == "BF16" || precision == "Mixed")
    return catalog::Dtype::bf16;
  return std::nullopt;
}

std::expected<machine::ServingQuery, std::string> read_offline(const CsvTable& t, const CsvRow& row,
                                                               const ScoreInputs& inputs) {
  machine::ServingQuery q;
  const auto model = model_of(t.text(row, "model"), inputs);
  if (!model) return std::unexpected("unknown model");
  q.model = *model;
  q.accelerator = device_of(t.text(row, "gpu"), inputs);
  if (!q.accelerator) return std::unexpected("unknown accelerator");
  const auto format = format_of(t.text(row, "precision"));
  if (!format) return std::unexpected("unknown precision");
  const bool narrow = *format != catalog::Dtype::bf16;
  q.precision = {.products = *format,
                 .experts = *format,
                 .kv = narrow ? catalog::Dtype::fp8 : catalog::Dtype::bf16};
  q.engine = "tensorrt-llm";
  q.split.tp = static_cast<int>(t.integer(row, "num_gpus").value_or(1));
  const auto input = t.number(row, "isl");
  const auto output = t.number(row, "osl");
  if (!input || !output) return std::unexpected("no lengths");
  q.request = {.input = *input, .output = *output};
  q.concurrency = kQueued;
  q.streams = false;
  return q;
}

}  // namespace

Result<Score> score_offline(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "offline",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tokens_per_s", "value", {}}},
              .skipped = {}};
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const std::string_view metric = table.text(row, "metric");
    const auto q = read_offline(table, row, inputs);
    if (!q || !metric.starts_with("output tokens/s")) {
      score.skipped.push_back({id, q ? "another metric" : q.error(), true});
      continue;
    }
    const auto p = predict_serving(inputs.models, *q);
    if (!p) {
      score.skipped.push_back({id, p.error().front().what, true});
      continue;
    }
    const double share = metric.ends_with("per GPU") ? q->split.devices() : 1.0;
    score.series[0].rows.push_back(
        {.id = id,
         .predicted = p->output_tokens_per_s * (1 / share),
         .measured = table.number(row, "value"),
         .counts = true,
         .groups = {"gpu=" + q->accelerator->id, "model=" + std::string(table.text(row, "model")),
                    "precision=" + std::string(table.text(row, "precision")),
                    "version=" + std::string(table.text(row, "version"))},
         .note = {}});
  }
  return score;
}

}  // namespace orrery::score
