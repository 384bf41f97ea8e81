// Claims about serving: KV cache, low precision, batching, a pod.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "core/base/text.h"
#include "core/workload/model_math.h"
#include "layers/serving/memory.h"
#include "model/figures/assumptions.h"
#include "model/jobs/predict_serving.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

using figures::assumptions::kReplicaLoad;
constexpr const char* kServingPage = "docs/models/serving.md";
constexpr const char* kShapes = "docs/models/workload.md";

std::string counted(double n) { return grouped(static_cast<std::int64_t>(n)); }

ClaimFinding gqa_llama3(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(4, figures::Unit::factor)};
  for (const char* id : {"llama-3-8b", "llama-3-70b", "llama-3.1-405b"}) {
    const catalog::ModelShape& m = c.model(id);
    catalog::ModelShape naive = m;
    naive.kv_heads = m.heads;
    const double factor = workload::kv_bytes_per_token(naive, catalog::Dtype::bf16) /
                          workload::kv_bytes_per_token(m, catalog::Dtype::bf16);
    try_case(f, m.id, exact(factor, Basis::derived, m.provenance.reference),
             fmt::format("{} query heads over {} KV heads", m.heads, m.kv_heads));
  }
  f.only_if = fmt::format("the model is {}; 70B saves {} and 405B {}", labels_of(f, true),
                          show(f.cases[1].figure.estimate.value, figures::Unit::factor),
                          show(f.cases[2].figure.estimate.value, figures::Unit::factor));
  return f;
}

// Bytes that a decode step reads: the weights once, and every request's cache.
struct Traffic {
  double weights = 0;       // at 16 bits
  double kv_per_token = 0;  // at 16 bits

  double ratio(double weight_bytes, double cached_tokens) const {
    const double kv = kv_per_token * cached_tokens;
    return (weights + kv) / (weights * weight_bytes / 2 + kv);
  }
  // Returns the cached tokens up to which `weight_bytes` per weight still save `factor`.
  double tokens_at(double factor, double weight_bytes) const {
    return weights * (1 - factor * weight_bytes / 2) / (kv_per_token * (factor - 1));
  }
};

ClaimFinding quant(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(2 * (1 - kAbout), 4 * (1 + kAbout), figures::Unit::factor)};
  f.criterion.text = "2x to 4x, ends within 5 %";
  const catalog::ModelShape& m = c.model("llama-3-8b");
  const Traffic t{2 * workload::count_parameters(m).total,
                  workload::kv_bytes_per_token(m, catalog::Dtype::bf16).base()};
  const auto run = [&](const char* label, double bytes_each, double requests, double context) {
    try_case(f, fmt::format("{}, {} requests of {} tokens", label, requests, counted(context)),
             computed(t.ratio(bytes_each, requests * context), 0.05, kShapes),
             fmt::format("(weights {} + cache {}) / (weights x {} + cache)",
                         show(t.weights, figures::Unit::bytes),
                         show(t.kv_per_token * requests * context, figures::Unit::bytes),
                         bytes_each / 2));
  };
  run("8-bit weights", 1, 1, 2048);
  run("4-bit weights", 0.5, 1, 2048);
  run("8-bit weights", 1, 64, 4096);
  run("4-bit weights", 0.5, 64, 4096);
  const double tokens = t.tokens_at(2 * (1 - kAbout), 1);
  f.only_if = fmt::format(
      "the weights are most of what a step reads: 8-bit weights of 8B save 1.9x "
      "up to {} cached tokens in the batch; beyond, the 16-bit cache binds",
      counted(std::floor(tokens)));
  return f;
}

ClaimFinding lowprec_half(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(0.5, figures::Unit::factor)};
  const catalog::ModelShape& m = c.model("llama-3-70b");
  const double weights = 2 * workload::count_parameters(m).total;
  const double kv = workload::kv_bytes(m, 8192, catalog::Dtype::bf16).base();
  const auto run = [&](const std::string& label, double weight_share, double requests,
                       double kv_share) {
    const double before = weights + requests * kv;
    const double after = weights * weight_share + requests * kv * kv_share;
    try_case(f, label, computed(after / before, 0.02, kShapes),
             fmt::format("{} / {}", show(after, figures::Unit::bytes),
                         show(before, figures::Unit::bytes)));
  };
  run("FP8 weights alone", 0.5, 0, 1);
  run("INT4 weights alone", 0.25, 0, 1);
  run("FP8 weights, 32 requests of 8,192 tokens, 16-bit cache", 0.5, 32, 1);
  run("FP8 weights and cache, 32 requests", 0.5, 32, 0.5);
  f.only_if = fmt::format("it is {}; INT4 quarters the weights, and a 16-bit cache keeps its size",
                          labels_of(f, true));
  return f;
}

jobs::ServingQuery chat_query(const ClaimContext& c, const char* model, const char* accelerator,
                              int tp) {
  jobs::ServingQuery q;
  q.model = c.model(model);
  q.accelerator = &c.accelerator(accelerator);
  q.split.tp = tp;
  q.request = {.input = 512, .output = 256};
  return q;
}

ClaimFinding batch_3_10x(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(3, 10, figures::Unit::factor)};
  constexpr double kConcurrency = 256;
  constexpr double kLongest = 2048;
  const jobs::ServingQuery q = chat_query(c, "llama-3-8b", "h100-sxm", 1);
  const auto replica = replica_of(c.models, q);
  if (!replica) return f;
  const machine::Costs costs = serving_costs(c.models, q);
  const double continuous =
      closed_loop(*replica, q.request, kConcurrency, serving_source(costs)).output_tokens_per_s;
  for (const double cv : {0.0, 0.5, 1.0}) {
    const serving::StaticBatch s =
        static_batching(*replica, q.request, cv, kLongest, kConcurrency, serving_source(costs));
    try_case(f, fmt::format("output lengths vary by {} of their mean", cv),
             computed(continuous / s.output_tokens_per_s, 0.3, kServingPage),
             fmt::format("{} / {} in batches of {}", show(continuous, figures::Unit::tokens_per_s),
                         show(s.output_tokens_per_s, figures::Unit::tokens_per_s), s.batch));
  }
  const double one = closed_loop(*replica, q.request, 1, serving_source(costs)).output_tokens_per_s;
  show_beside(f, "against no batching at all", figures::Unit::factor,
              computed(continuous / one, 0.3, kServingPage));
  f.only_if = fmt::format("outputs differ in length: {}. Equal outputs gain {} over static batches",
                          labels_of(f, true),
                          show(f.cases[0].figure.estimate.value, figures::Unit::factor));
  f.instead = fmt::format("against static batches the gain is {} to {}; against none it is {}",
                          show(f.cases.front().figure.estimate.value, figures::Unit::factor),
                          show(f.cases.back().figure.estimate.value, figures::Unit::factor),
                          show(continuous / one, figures::Unit::factor));
  return f;
}

// GPUs in a pod by its load: a 70B model on A100 and an 8B model on L40S, each within its
// objectives.
ClaimFinding chat_pod(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(8, 16, figures::Unit::count)};
  f.criterion.text = "8 to 16 GPUs";
  const serving::ServingTarget target{.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(100)};
  struct Pod {
    const char* label;
    const char* model;
    const char* accelerator;
    int tp;
  };
  for (const Pod pod : {Pod{"70B on A100", "llama-3-70b", "a100-80-sxm", 4},
                        Pod{"8B on L40S", "llama-3-8b", "l40s", 1}}) {
    const auto p =
        predict_capacity(c.models, chat_query(c, pod.model, pod.accelerator, pod.tp), target);
    if (!p) continue;
    const PerSecond each = p->point.requests;
    for (const double rate : {1.0, 10.0, 100.0}) {
      const double gpus =
          pod.tp * serving::replicas_needed(PerSecond(rate), each, kReplicaLoad);
      try_case(f, fmt::format("{}, {} requests/s", pod.label, rate),
               computed(gpus, 0.3, kServingPage),
               fmt::format("tp {} x replicas of {} requests/s at 80 % load", pod.tp,
                           significant(each.base(), 3)));
    }
    const auto load_of = [&](double gpus) { return gpus / pod.tp * each.base() * kReplicaLoad; };
    show_beside(f, fmt::format("{}: load of 8 GPUs", pod.label), figures::Unit::per_second,
                computed(load_of(8), 0.3, kServingPage));
    show_beside(f, fmt::format("{}: load of 16 GPUs", pod.label), figures::Unit::per_second,
                computed(load_of(16), 0.3, kServingPage));
    f.only_if +=
        fmt::format("{}{} gets {} requests/s (8 GPUs) to {} (16)", f.only_if.empty() ? "" : ", ",
                    pod.label, significant(load_of(8), 2), significant(load_of(16), 2));
  }
  f.only_if += " (512 tokens in, 256 out, first token within 2 s and 100 ms per token at p99)";
  return f;
}

constexpr std::array kServingClaims = {
    ClaimRule{"gqa-llama3", gqa_llama3},     ClaimRule{"quant", quant},
    ClaimRule{"lowprec-half", lowprec_half}, ClaimRule{"batch-3-10x", batch_3_10x},
    ClaimRule{"chat-pod", chat_pod},
};

}  // namespace

std::span<const ClaimRule> serving_claims() { return kServingClaims; }

}  // namespace orrery::calc
