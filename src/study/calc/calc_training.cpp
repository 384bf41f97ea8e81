// Checkpoint size, training memory, training time, KV cache.
#include <fmt/core.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/workload/model_math.h"
#include "layers/storage/checkpoint.h"
#include "layers/training/layout.h"
#include "model/figures/assumptions.h"
#include "study/calc/calc.h"

namespace orrery::calc {

namespace {

using figures::assumptions::kTrainTimeAbove;
using figures::assumptions::kTrainTimeBelow;
// Most sequences per step: far above any published number, and far below what an int holds.
constexpr std::int64_t kMostSequences = 100'000'000;

std::string fit_words(const jobs::TrainingPrediction& p) {
  if (!p.fits) return "does not fit";
  if (p.memory_bytes.high <= p.memory_limit.base()) return "fits";
  return fmt::format("fits only just: up to {} are possible", brief(Bytes(p.memory_bytes.high)));
}

}  // namespace

double ModelQuestion::count() const {
  return shape ? workload::count_parameters(*shape).total : parameters;
}

std::string ModelQuestion::name() const {
  return shape ? shape->id : count_to_brief(parameters, 4) + " parameters";
}

Calculation calc_checkpoint(const CheckpointQuestion& q) {
  const double parameters = q.model.count();
  const Bytes size(parameters * q.bytes_per_param);
  const Seconds write = size / q.write;
  Calculation c{.question = "How large is a checkpoint of " + q.model.name() +
                            ", and how long does it take to write?"};
  c.answer = fmt::format("{} ({}), {} at {}.", brief(size, 4),
                         fmt::format("{} GiB", significant(size / gib(1), 5)), brief(write),
                         brief(q.write));
  const auto derived = [](double v, double spread) {
    return within(v, spread, spread, Basis::derived, "docs/models/checkpoint.md");
  };
  c.figures.push_back(
      {.id = "size",
       .label = "size",
       .unit = figures::Unit::bytes,
       .estimate = derived(size.base(), 0.005),
       .formula = fmt::format("{} parameters x {} B = {}", count_to_brief(parameters, 5),
                              significant(q.bytes_per_param, 4), brief(size, 5))});
  c.figures.push_back(
      {.id = "write_time",
       .label = "write time, servers alone",
       .unit = figures::Unit::seconds,
       .estimate = derived(write.base(), 0.12),
       .formula = fmt::format("{} / {} = {}", brief(size, 5), brief(q.write), brief(write))});
  if (q.stall) {
    const BytesPerSecond needed = size / *q.stall;
    c.figures.push_back(
        {.id = "bandwidth_needed",
         .label = "bandwidth for a write within " + brief(*q.stall),
         .unit = figures::Unit::bytes_per_s,
         .estimate = derived(needed.base(), 0.005),
         .formula = fmt::format("{} / {} = {}", brief(size, 5), brief(*q.stall), brief(needed))});
  }
  const Bytes daily = size * (days(1) / q.interval);
  c.figures.push_back({.id = "written_per_day",
                       .label = "bytes written per day",
                       .unit = figures::Unit::bytes,
                       .estimate = derived(daily.base(), 0.005),
                       .formula = fmt::format("{} x (1 d / {}) = {}", brief(size, 5),
                                              brief(q.interval), brief(daily))});
  c.assumptions = {fmt::format("{} B per parameter; mixed-precision Adam saves 2 (weight) + 4 "
                               "(fp32 master) + 8 (moments) = 14",
                               significant(q.bytes_per_param, 4)),
                   "the servers are taken as the limit: `orrery plan` also considers node network, "
                   "serialisation and metadata"};
  return c;
}

Result<Calculation> calc_memory(const MemoryQuestion& q, const machine::Models& models) {
  jobs::TrainingQuery query{.model = *q.model, .accelerator = q.accelerator, .gpus = q.gpus};
  query.sequence = q.sequence;
  query.layout = {.tp = q.tp, .pp = q.pp, .vp = 1, .cp = 1, .ep = 1, .microbatch = q.microbatch};
  query.layout.sharding =
      from_word<catalog::Sharding>(q.sharding).value_or(catalog::Sharding::zero1);
  query.layout.recompute =
      from_word<catalog::Recompute>(q.recompute).value_or(catalog::Recompute::none);
  const std::int64_t shards = std::int64_t{q.tp} * q.pp;
  if (shards <= 0 || q.gpus % shards != 0) {
    return fail({.code = "calc.layout",
                 .what = fmt::format("{} accelerators do not divide into tp {} x pp {}", q.gpus,
                                     q.tp, q.pp)});
  }
  const std::int64_t batch = q.gpus / shards * q.microbatch;
  if (batch > kMostSequences) {
    return fail(
        {.code = "calc.layout",
         .what = fmt::format("a step of {} sequences is larger than that of any run", batch)});
  }
  query.batch = static_cast<int>(batch);
  auto p = predict_training(models, query);
  if (!p) return std::unexpected(std::move(p.error()));

  const training::StageMemory& m = p->memory.stage;
  Calculation c{.question = fmt::format("How much memory does training {} need on {} {}?",
                                        q.model->id, q.gpus, q.accelerator->name)};
  c.answer = fmt::format("{} of {} on the fullest accelerator: it {}.", brief(p->memory.peak),
                         brief(p->memory_limit), fit_words(*p));
  const double error = p->memory_bytes.high / p->memory_bytes.value - 1;
  const auto part = [&](std::string id, std::string label, Bytes v, std::string formula) {
    c.figures.push_back(
        {.id = std::move(id),
         .label = std::move(label),
         .unit = figures::Unit::bytes,
         .estimate = within(v.base(), error, error, Basis::derived, "docs/models/memory.md"),
         .formula = std::move(formula)});
  };
  part("peak", "peak of the fullest stage", p->memory.peak, "sum of the parts below");
  const double n = workload::count_parameters(*q.model).total / static_cast<double>(shards);
  part("weights", "weights", m.weights,
       fmt::format("{} parameters per model shard", count_to_brief(n, 4)));
  part("gradients", "gradients", m.gradients, "");
  part("optimizer", "optimizer state", m.optimizer, fmt::format("sharding {}", q.sharding));
  part("activations", "activations", m.activations,
       fmt::format("{} microbatches in flight, recompute {}", significant(m.in_flight, 3),
                   q.recompute));
  part("logits", "logits", m.logits, "");
  part("workspace", "workspace and buffers", m.workspace, "");
  c.assumptions = {to_text(p->layout), fmt::format("sequence {}", q.sequence),
                   "allocated bytes: the allocator's fragmentation comes on top"};
  return c;
}

Calculation calc_train_time(const TrainTimeQuestion& q) {
  const double n =
      q.model.shape ? workload::count_parameters(*q.model.shape).active : q.model.parameters;
  const Flops per_token = q.model.shape
                              ? training_flops_per_token(*q.model.shape, q.sequence,
                                                         workload::FlopConvention::causal_half)
                              : Flops(6 * n);
  const FlopsPerSecond peak =
      q.accelerator->peak(catalog::Dtype::bf16)
          .value_or(q.accelerator->peak(catalog::Dtype::fp16).value_or(tflops_per_s(1)));
  const Seconds time = per_token * q.tokens / (peak * (q.gpus * q.mfu * q.goodput));
  Calculation c{.question =
                    fmt::format("How long does {} on {} tokens take on {} {}?", q.model.name(),
                                count_to_brief(q.tokens), grouped(q.gpus), q.accelerator->name)};
  const double gpu_hours = q.gpus * (time / hours(1));
  c.answer =
      fmt::format("{}, {} accelerator-hours.", brief(time), show(gpu_hours, figures::Unit::count));
  c.figures.push_back(
      {.id = "flops_per_token_tflop",
       .label = "TFLOP per token, forward and backward",
       .unit = figures::Unit::count,
       .estimate = exact(per_token.base() / 1e12, Basis::derived, "docs/models/workload.md"),
       .formula = q.model.shape
                      ? fmt::format("6 x matrix parameters + causal attention at {}", q.sequence)
                      : fmt::format("6 x {} = {}", count_to_brief(n, 4), brief(per_token))});
  c.figures.push_back(
      {.id = "time",
       .label = "time",
       .unit = figures::Unit::seconds,
       .estimate = within(time.base(), kTrainTimeBelow, kTrainTimeAbove, Basis::assumed,
                          "docs/models/training.md"),
       .formula = fmt::format("{} x {} / ({} x {} x MFU {} x goodput {})", brief(per_token),
                              count_to_brief(q.tokens), q.gpus, brief(peak), q.mfu, q.goodput)});
  c.figures.push_back(
      {.id = "accelerator_hours",
       .label = "accelerator-hours",
       .unit = figures::Unit::count,
       .estimate = within(gpu_hours, kTrainTimeBelow, kTrainTimeAbove, Basis::assumed,
                          "docs/models/training.md")});
  c.assumptions = {
      fmt::format("MFU {} and goodput {} as given; `orrery plan` computes both for a design", q.mfu,
                  q.goodput),
      fmt::format("dense bf16 peak of {} ({})", brief(peak), q.accelerator->provenance.reference)};
  return c;
}

Calculation calc_kv_cache(const KvCacheQuestion& q) {
  const Bytes per_token = workload::kv_bytes_per_token(*q.model, q.dtype);
  const Bytes one = workload::kv_bytes(*q.model, q.context, q.dtype);
  const Bytes all = one * q.requests;
  Calculation c{.question = fmt::format("How large is the KV cache of {} at {} tokens?",
                                        q.model->id, q.context)};
  c.answer = fmt::format("{} per request, {} for {} requests.", brief(one), brief(all), q.requests);
  const auto exactly = [](double v) { return exact(v, Basis::derived, "docs/models/workload.md"); };
  std::string formula =
      q.model->attention == catalog::AttentionKind::mla
          ? fmt::format("{} layers x ({} + {}) x {} B", q.model->layers, q.model->kv_lora_rank,
                        q.model->qk_rope_dim, bytes_per_element(q.dtype))
          : fmt::format("2 x {} layers x {} KV heads x {} x {} B", q.model->layers,
                        q.model->kv_heads, q.model->head_dim, bytes_per_element(q.dtype));
  c.figures.push_back({.id = "per_token",
                       .label = "size per token",
                       .unit = figures::Unit::bytes,
                       .estimate = exactly(per_token.base()),
                       .formula = formula + " = " + brief(per_token, 6)});
  c.figures.push_back(
      {.id = "per_request",
       .label = "size per request",
       .unit = figures::Unit::bytes,
       .estimate = exactly(one.base()),
       .formula = fmt::format(
           "{} x {} tokens{}", brief(per_token, 6), q.context,
           q.model->sliding_window > 0 ? ", windowed layers limited to their window" : "")});
  c.figures.push_back({.id = "all",
                       .label = "size for all requests",
                       .unit = figures::Unit::bytes,
                       .estimate = exactly(all.base())});
  if (q.model->attention == catalog::AttentionKind::gqa && q.model->kv_heads < q.model->heads) {
    const double factor = static_cast<double>(q.model->heads) / q.model->kv_heads;
    c.figures.push_back({.id = "gqa_saving",
                         .label = "factor saved by sharing KV heads between query heads",
                         .unit = figures::Unit::factor,
                         .estimate = exactly(factor),
                         .formula = fmt::format("{} / {}", q.model->heads, q.model->kv_heads)});
  }
  c.assumptions = {fmt::format("{} elements", to_text(q.dtype)),
                   "no loss to paging, no shared prefixes"};
  return c;
}

}  // namespace orrery::calc
