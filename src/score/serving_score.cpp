#include "score/serving_score.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "machine/predict_serving.h"
#include "score/model_of.h"

namespace orrery::score {
namespace {

// The benchmark behind these rows sends ten prompts for each concurrent client; lengths are uniform
// in [0.8 L, L], so that their means are 0.9 L.
constexpr double kRequestsPerClient = 10;
constexpr double kLeastLength = 0.8;
constexpr double kMeanLength = 0.9;
// Iterations that one row may take: rows of long outputs are cut to fewer waves of requests.
constexpr double kMostOutputTokens = 12000;
// Rows with multi-token prediction check three guesses a step, of which this many tokens come out
// (published acceptance curves of DeepSeek's module, depth 3: 2.2 to 2.6).
constexpr double kMtpChecked = 4;
constexpr double kMtpAccepted = 2.3;
// How much sooner tokens may come where the replicas of prefill and decode are not published.
constexpr double kUnknownWorkers = 3;
constexpr double kUnknownQueue = 20;

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

// `role` is empty, "prefill_" or "decode_".
serving::ServingSplit split_of(const CsvTable& t, const CsvRow& row,
                               const catalog::ModelShape& model, const std::string& role) {
  const auto field = [&](const char* name) {
    return static_cast<int>(t.integer(row, role + name).value_or(1));
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

// The number of clients: the source names it; batch_size is that of one rank in some rows.
std::optional<double> clients_of(const CsvTable& t, const CsvRow& row) {
  constexpr std::string_view kNamed = "silicon_concurrency=";
  const std::string_view source = t.text(row, "silicon_data_source");
  const auto at = source.find(kNamed);
  if (at == std::string_view::npos) return t.number(row, "batch_size");
  const std::string_view digits = source.substr(at + kNamed.size());
  double value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return value > 0 ? std::optional(value) : std::nullopt;
}

// How those tests set the engines' budgets: SGLang's chunks, TensorRT-LLM's token limit.
serving::EngineLimits limits_of(std::string_view engine, const catalog::Accelerator& accelerator,
                                int ranks, double input, double clients) {
  serving::EngineLimits limits = serving::default_limits(accelerator.memory);
  if (engine == "sglang") limits = {.token_budget = 16384.0 / ranks, .max_sequences = 4096};
  if (engine == "trtllm") {
    limits = {.token_budget = std::max(8192.0, clients + input + 64) / ranks,
              .max_sequences = 4096,
              .chunked_prefill = false};
  }
  return limits;
}

std::expected<machine::ServingQuery, std::string> read_row(const CsvTable& t, const CsvRow& row,
                                                           const ScoreInputs& inputs,
                                                           const std::string& role) {
  machine::ServingQuery q;
  const auto model = model_of(t.text(row, "model_path"), inputs);
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
  q.split = split_of(t, row, *model, role);
  const auto input = t.number(row, "isl");
  const auto output = t.number(row, "osl");
  const auto clients = clients_of(t, row);
  if (!input || !output || !clients) return std::unexpected("no lengths or concurrency");
  q.request = {.input = *input, .output = *output, .requests_per_client = kRequestsPerClient};
  q.concurrency = *clients;
  q.limits = limits_of(q.engine, *q.accelerator, q.split.attention_dp, *input, *clients);
  if (t.text(row, "mtp") == "1") {
    q.request.checked_per_step = kMtpChecked;
    q.request.accepted_per_step = kMtpAccepted;
  }
  return q;
}

// Rows that name one group of more devices than a host has, and no count of replicas: experts over
// parts of it are so many replicas; experts over none of it, attention on every rank by itself.
void part_replicas(machine::ServingQuery& q, double& replicas) {
  serving::ServingSplit& s = q.split;
  if (s.tp <= 8) return;
  if (s.ep > 1 && s.ep < s.tp) {
    replicas *= static_cast<double>(s.tp) / s.ep;
    s.tp = s.ep;
  } else {
    s.attention_dp = s.tp;
    s.ep = s.tp;
    s.tp = 1;
  }
}

bool workers_published(const CsvTable& t, const CsvRow& row) {
  return t.number(row, "decode_num_workers").has_value();
}

std::vector<std::string> groups_of(const CsvTable& t, const CsvRow& row,
                                   const machine::ServingQuery& q) {
  const std::string engine(t.text(row, "backend"));
  const bool apart = t.text(row, "mode") != "agg";
  return {"gpu=" + q.accelerator->id,
          "engine=" + engine,
          "model=" + std::string(t.text(row, "model_path")),
          "precision=" + std::string(t.text(row, "precision")),
          "gpu, engine=" + q.accelerator->id + " " + engine,
          q.model.is_moe() ? "class=moe" : "class=dense",
          "mode=" + std::string(t.text(row, "mode")),
          !apart                      ? "workers=one kind"
          : workers_published(t, row) ? "workers=apart, published"
                                      : "workers=apart, unpublished",
          "mode, speculation=" + std::string(t.text(row, "mode")) +
              (t.text(row, "mtp") == "1" ? " on" : " off or unknown")};
}

Estimate in_ms(const Estimate& seconds) { return seconds * 1e3; }

struct Scored {
  machine::ServingQuery query;
  Estimate tpot_s;
  Estimate ttft_s;
};

std::expected<Scored, std::string> score_joined(const CsvTable& t, const CsvRow& row,
                                                const ScoreInputs& inputs) {
  const auto q = read_row(t, row, inputs, "");
  if (!q) return std::unexpected(q.error());
  const double waves = std::max(2.0, kMostOutputTokens / q->request.output);
  const auto p =
      predict_benchmark(inputs.models, *q, {.least_share = kLeastLength, .waves_most = waves});
  if (!p) return std::unexpected(p.error().front().what);
  return Scored{*q, p->tpot_s, p->ttft_s};
}

std::expected<Scored, std::string> score_apart(const CsvTable& t, const CsvRow& row,
                                               const ScoreInputs& inputs) {
  auto prefill = read_row(t, row, inputs, "prefill_");
  auto decode = read_row(t, row, inputs, "decode_");
  if (!prefill) return std::unexpected(prefill.error());
  if (!decode) return std::unexpected(decode.error());
  for (machine::ServingQuery* q : {&*prefill, &*decode}) {
    q->request.input *= kMeanLength;
    q->request.output *= kMeanLength;
  }
  machine::DisaggregatedQuery query{
      .prefill = *prefill,
      .decode = *decode,
      .prefill_replicas = t.number(row, "prefill_num_workers").value_or(1),
      .decode_replicas = t.number(row, "decode_num_workers").value_or(1)};
  part_replicas(query.prefill, query.prefill_replicas);
  part_replicas(query.decode, query.decode_replicas);
  const auto p = predict_disaggregated(inputs.models, query);
  if (!p) return std::unexpected(p.error().front().what);
  Scored scored{*decode, p->tpot_s, p->ttft_s};
  if (workers_published(t, row)) return scored;
  // One replica of each is assumed: more of them, or guesses checked unseen, make tokens faster.
  scored.tpot_s.low = scored.tpot_s.value / kUnknownWorkers;
  scored.ttft_s.low = scored.ttft_s.value / kUnknownQueue;
  return scored;
}

}  // namespace

Result<Score> score_serving(const CsvTable& table, const ScoreInputs& inputs) {
  Score score{.kind = "serving",
              .rows = static_cast<int>(table.rows().size()),
              .series = {{"tpot", "silicon_tpot_ms", {}}, {"ttft", "silicon_ttft_ms", {}}},
              .skipped = {}};
  for (const CsvRow& row : table.rows()) {
    const std::string id(table.text(row, "id"));
    const bool joined = table.text(row, "mode") == "agg";
    const auto p = joined ? score_joined(table, row, inputs) : score_apart(table, row, inputs);
    if (!p) {
      score.skipped.push_back({id, p.error(), true});
      continue;
    }
    ScoredRow scored{.id = id,
                     .predicted = in_ms(p->tpot_s),
                     .measured = table.number(row, "silicon_tpot_ms"),
                     .counts = true,
                     .groups = groups_of(table, row, p->query),
                     .note = {}};
    score.series[0].rows.push_back(scored);
    scored.predicted = in_ms(p->ttft_s);
    scored.measured = table.number(row, "silicon_ttft_ms");
    score.series[1].rows.push_back(scored);
  }
  return score;
}

}  // namespace orrery::score
