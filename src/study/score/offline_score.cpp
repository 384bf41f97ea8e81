#include "study/score/offline_score.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/text.h"
#include "model/jobs/predict_serving.h"
#include "study/score/model_of.h"

namespace orrery::score {
namespace {

// Device names in the tables; if one name begins with another, the longer comes first. Every GH200
// in them has 96 GB of HBM3; "480GB" is its host memory.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kDevices = {
    {{"GH200", "gh200-96"},
     {"GB200", "gb200"},
     {"B200", "b200-sxm"},
     {"H200", "h200-sxm"},
     {"H100", "h100-sxm"},
     {"A100-SXM4-80GB", "a100-80-sxm"},
     {"A100-PCIE-80GB", "a100-80-pcie"},
     {"L40S", "l40s"}}};
// The number of requests that each test queued (TensorRT-LLM's perf-overview.md, "Preparing a
// Dataset"), and the share of free memory that most tests gave to the cache.
struct QueuedRequests {
  double input;
  double output;
  int requests;
};
constexpr QueuedRequests kQueued[] = {{128, 128, 30000},  {128, 2048, 3000},  {128, 4096, 1500},
                                      {2048, 128, 3000},  {2048, 2048, 1500}, {500, 2000, 3000},
                                      {1000, 1000, 3000}, {1000, 2000, 1500}, {1024, 2048, 1500},
                                      {5000, 500, 1500},  {20000, 2000, 1000}};
constexpr int kOtherRequests = 1500;
// Releases of 2024 and 2025 with engines built in advance, and the first ones on PyTorch.
constexpr const char* kFamily = "tensorrt-llm-0";
constexpr double kCacheShare = 0.95;

int requests_of(const serving::RequestShape& r) {
  const auto at = std::ranges::find_if(kQueued, [&r](const QueuedRequests& q) {
    return q.input == r.input && q.output == r.output;
  });
  return at == std::end(kQueued) ? kOtherRequests : at->requests;
}

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

}  // namespace

std::expected<OfflineRow, std::string> read_offline_row(const CsvTable& t, const CsvRow& row,
                                                        const ScoreInputs& inputs) {
  OfflineRow read;
  jobs::ServingQuery& q = read.query;
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
  q.engine = kFamily;
  q.split.tp = static_cast<int>(t.integer(row, "num_gpus").value_or(1));
  const auto input = t.number(row, "isl");
  const auto output = t.number(row, "osl");
  if (!input || !output) return std::unexpected("the row gives no lengths");
  q.request = {.input = *input, .output = *output};
  q.streams = false;
  q.memory_share = kCacheShare;
  // All tokens stay in the cache and are attended unless a window is set (max_attention_window),
  // which these tests did not do.
  q.model.sliding_window = 0;
  // Cards in PCIe slots reach each other through the host: no row names a bridge.
  if (q.accelerator->form_factor == "PCIe") q.domain = 1;
  const std::string_view metric = t.text(row, "metric");
  if (!metric.starts_with("output tokens/s")) return std::unexpected("the row has another metric");
  read.requests = requests_of(q.request);
  read.devices = metric.ends_with("per GPU") ? q.split.devices() : 1;
  return read;
}

Result<Score> score_offline(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "offline",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tokens_per_s", "value", {}}},
              .skipped = {}};
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const auto read = read_offline_row(table, row, inputs);
    if (!read) {
      score.skipped.push_back({id, read.error(), true});
      continue;
    }
    const auto p = predict_offline(inputs.models, read->query, read->requests);
    if (!p) {
      score.skipped.push_back({id, p.error().front().what, true});
      continue;
    }
    score.series[0].rows.push_back(
        {.id = id,
         .predicted = *p * (1 / read->devices),
         .measured = table.number(row, "value"),
         .counts = true,
         .groups = {"gpu=" + read->query.accelerator->id,
                    "model=" + std::string(table.text(row, "model")),
                    "precision=" + std::string(table.text(row, "precision")),
                    "version=" + std::string(table.text(row, "version"))},
         .note = {}});
  }
  return score;
}

}  // namespace orrery::score
