#include "model/jobs/predict_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/math.h"
#include "core/workload/model_math.h"
#include "layers/compute/power.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {

namespace {

// Most model chunks per pipeline stage that are tried for an open layout.
constexpr int kUsualChunks = 8;

using figures::assumptions::kLearnedImbalance;
using figures::assumptions::kTrainingWattsError;
using figures::assumptions::kUsableMemory;
using figures::assumptions::kWinnerDense;
using figures::assumptions::kWinnerExperts;

constexpr const char* kTrainingPage = "docs/models/training.md";

template <class T>
std::vector<T> options(const std::optional<T>& given, std::vector<T> otherwise) {
  return given ? std::vector<T>{*given} : std::move(otherwise);
}

std::string_view family_of(const machine::Models& models, const TrainingQuery& q) {
  const int year = q.accelerator != nullptr ? q.accelerator->launch_year : 0;
  return models.training.family_on(q.framework, q.release, year, q.gpus);
}

}  // namespace

training::FrameworkModel framework_of(const machine::Models& models, const TrainingQuery& q) {
  return models.training.framework(family_of(models, q), q.release);
}

std::vector<training::Unseen> unseen_in(const machine::Models& models, const TrainingQuery& q) {
  const training::TrainingCalibration& c = models.training;
  std::vector<training::Unseen> all;
  const auto ask = [&](training::Unseen kind, const std::string& id) {
    if (!c.saw(kind, id)) all.push_back(kind);
  };
  ask(training::Unseen::model, q.model.id);
  // A substitute for an unknown family counts as a family without rows.
  const bool stands_in = family_of(models, q) != q.framework;
  if (stands_in || !c.saw(training::Unseen::framework, q.framework)) {
    all.push_back(training::Unseen::framework);
  } else {
    // If the whole family is unknown, an unknown release of it adds no further error.
    ask(training::Unseen::release, q.framework + " " + q.release);
  }
  ask(training::Unseen::accelerator, q.accelerator->id);
  if (!q.layout.complete()) all.push_back(training::Unseen::layout);
  return all;
}

bool LayoutWish::complete() const { return tp && pp && microbatch && (*pp == 1 || vp); }

namespace {

// Returns the attention kernels that a framework uses on a device. The devices that FlashAttention
// 2 leaves half idle are those with 8-bit products: asynchronous matrix units came with both.
compute::DeviceOptions libraries_of(const machine::Models& models, const TrainingQuery& q) {
  const bool asynchronous = q.accelerator->peak(catalog::Dtype::fp8).has_value();
  const bool flash2 = framework_of(models, q).flash2;
  return {.attention = flash2 && asynchronous ? "flash2" : ""};
}

}  // namespace

machine::Costs training_costs(const machine::Models& models, const TrainingQuery& q) {
  const bool alone = q.nic <= BytesPerSecond(0);
  // In-network reduction is left out: training libraries use it only if configured.
  return machine::Costs(models,
                        {.accelerator = q.accelerator,
                         .domain = q.scaleup,
                         .accelerators_per_host = 1,
                         .nics_per_host = alone ? 0.0 : 1.0,
                         .nic_rate = q.nic,
                         .network = alone ? catalog::NetworkKind::none : q.network,
                         .oversubscription = q.oversubscription,
                         .routed = q.routed},
                        {.libraries = libraries_of(models, q),
                         .tuning = models.training.accelerator(q.accelerator->id),
                         .power_limit = q.power_limit});
}

training::TrainingJob job_of(const TrainingQuery& q) {
  return {.model = q.model,
          .sequence = q.sequence,
          .batch = q.batch,
          .gpus = q.gpus,
          .scaleup = q.scaleup > 0 ? q.scaleup : q.accelerator->scaleup_domain,
          .precision = q.precision,
          .task = q.task,
          .imbalance = q.balanced_experts || !q.model.is_moe() ? 1 : kLearnedImbalance,
          .train_mtp = q.train_mtp,
          .padded_experts = q.padded_experts,
          .compiled = q.compiled,
          .shard_group = q.shard_group,
          .recipe = q.recipe};
}

Bytes usable_memory(const catalog::Accelerator& a) { return a.memory * kUsableMemory; }

training::LayoutSpace narrowed(training::LayoutSpace s, const LayoutWish& w) {
  s.tp = options(w.tp, std::move(s.tp));
  s.pp = options(w.pp, std::move(s.pp));
  s.vp = w.pp == 1 ? std::vector<int>{1} : options(w.vp, std::move(s.vp));
  s.cp = options(w.cp, std::move(s.cp));
  s.ep = options(w.ep, std::move(s.ep));
  s.microbatch = options(w.microbatch, std::move(s.microbatch));
  s.sharding = options(w.sharding, std::move(s.sharding));
  s.recompute = options(w.recompute, std::move(s.recompute));
  s.schedule = options(w.schedule, std::move(s.schedule));
  s.sequence_parallel = options(w.sequence_parallel, std::move(s.sequence_parallel));
  s.async_tp = w.async_tp;
  s.partial_recompute = !w.recompute;
  return s;
}

namespace {

// Returns the usual most chunks per stage; if none of those divides the stages asked for (92 layers
// on 4), the least number that does.
int most_chunks(const std::vector<int>& ascending, const TrainingQuery& q) {
  const int stages = q.layout.pp.value_or(1);
  for (const int vp : ascending) {
    if (stages > 1 && vp > 1 && q.model.layers % (stages * vp) == 0) {
      return std::max(vp, kUsualChunks);
    }
  }
  return kUsualChunks;
}

}  // namespace

training::LayoutSpace space_of(const TrainingQuery& q, const training::TrainingJob& job) {
  training::LayoutSpace usual = whole_space(job);
  usual.cp = {1};
  usual.sharding = {catalog::Sharding::zero1};
  // More chunks per stage gain almost nothing: the bubble shrinks with 1/vp, but transfers grow
  // with vp.
  const int most = most_chunks(usual.vp, q);
  std::erase_if(usual.vp, [&](int vp) { return vp > most; });
  usual.schedule = {catalog::Schedule::one_f_one_b};
  usual.sequence_parallel = {true};
  return narrowed(std::move(usual), q.layout);
}

namespace {

// How much slower and faster the step is at the bounds of what routing leaves, as shares of it.
struct RoutedWidth {
  double slower = 0;
  double faster = 0;
};

RoutedWidth routed_width(const machine::Models& models, const TrainingQuery& q,
                         const training::TrainingJob& job, const training::Layout& layout,
                         double seconds) {
  if (!q.routed.tree || q.routed.tree->is_even() || seconds <= 0) return {};
  TrainingQuery other = q;
  other.routed.bound = fabric::ShareBound::low;
  const double slow = step_seconds(models, other, job, layout);
  other.routed.bound = fabric::ShareBound::high;
  const double fast = step_seconds(models, other, job, layout);
  return {.slower = std::max(0.0, slow / seconds - 1), .faster = std::max(0.0, seconds / fast - 1)};
}

}  // namespace

double step_seconds(const machine::Models& models, const TrainingQuery& q,
                    const training::TrainingJob& job, const training::Layout& layout) {
  const machine::Costs costs = training_costs(models, q);
  training::StepScratch scratch;
  return estimate_step(job, layout, framework_of(models, q), training_source(costs), scratch)
      .seconds;
}

TrainingPrediction describe(const machine::Models& models, const TrainingQuery& q,
                            const training::TrainingJob& job, const machine::Costs& costs,
                            const training::Layout& layout) {
  const training::FrameworkModel framework = framework_of(models, q);
  training::StepScratch scratch;
  TrainingPrediction p;
  p.layout = layout;
  p.step = estimate_step(job, layout, framework, training_source(costs), scratch);
  p.memory = estimate_memory(job, layout, framework, scratch);
  p.memory_limit = usable_memory(*q.accelerator);
  p.fits = p.memory.peak <= p.memory_limit;

  const training::AcceleratorTuning tuning = models.training.accelerator(q.accelerator->id);
  // For a substitute family, the error is taken from its rows, not from those of the named family.
  const bool stands_in = family_of(models, q) != q.framework;
  const double family_error =
      stands_in ? std::max(framework.error, models.training.frameworks.front().error)
                : framework.error;
  double square = family_error * family_error + tuning.error * tuning.error;
  for (const training::Unseen kind : unseen_in(models, q)) {
    const double more = models.training.unseen_width(kind, q.model.is_moe());
    square += more * more;
  }
  const double width = std::sqrt(square);
  const RoutedWidth routed = routed_width(models, q, job, layout, p.step.seconds);
  const double above = math::hypot(width, routed.slower);
  const double below = 1 - 1 / (1 + math::hypot(width, routed.faster));
  const Basis basis = models.training.knows_framework(q.framework) ? Basis::fitted : Basis::derived;
  p.step_time_s = within(p.step.seconds, below, above, basis, kTrainingPage);
  const double tokens = q.sequence * q.batch / q.gpus;
  p.tokens_per_s_per_gpu = within(tokens / p.step.seconds, 1 - 1 / (1 + above), 1 / (1 - below) - 1,
                                  basis, kTrainingPage);
  p.memory_bytes = within(p.memory.peak.base(), framework.memory_error, framework.memory_error,
                          Basis::derived, "docs/models/memory.md");
  p.watts = within(p.step.watts, kTrainingWattsError, kTrainingWattsError, basis,
                   "docs/models/clock-power.md");
  const auto peak = q.accelerator->peak(workload::product_dtype(q.precision));
  const Flops flops =
      q.task == training::TrainingTask::lora
          ? workload::adapter_training_flops_per_token(q.model, q.sequence)
          : training_flops_per_token(q.model, q.sequence, workload::FlopConvention::causal_half);
  if (peak) p.mfu = flops.base() * tokens / p.step.seconds / peak->base();
  p.energy_per_step = Joules(p.step.watts * p.step.seconds * q.gpus);
  return p;
}

namespace {

void shift_for_winner(bool experts, TrainingPrediction& p) {
  const double slower = 1 + (experts ? kWinnerExperts : kWinnerDense);
  p.step_time_s.low = std::min(p.step_time_s.value, p.step_time_s.low * slower);
  p.step_time_s.high *= slower;
  p.tokens_per_s_per_gpu.low /= slower;
  p.tokens_per_s_per_gpu.high =
      std::max(p.tokens_per_s_per_gpu.value, p.tokens_per_s_per_gpu.high / slower);
}

}  // namespace

Result<TrainingPrediction> predict_training(const machine::Models& models, const TrainingQuery& q) {
  const auto refuse = [](std::string what, std::string why) {
    return fail({.severity = Severity::error,
                 .code = "training.layout",
                 .place = {},
                 .what = std::move(what),
                 .why = std::move(why),
                 .fix = ""});
  };
  if (!q.model.scan_is_modelled()) {
    return refuse("these state-space layers are not modelled",
                  "the catalog does not have the shape of their scan");
  }
  if (workload::modelled(q.precision) != q.precision) {
    return refuse(fmt::format("training in {} is not modelled", to_text(q.precision)),
                  "matrix products are timed for bf16, fp16, fp8, mxfp8 and nvfp4 only");
  }
  if (!q.accelerator->peak(workload::product_dtype(q.precision))) {
    return refuse(fmt::format("{} cannot multiply in {}", q.accelerator->id, to_text(q.precision)),
                  "the catalog has no peak for this format");
  }
  const training::TrainingJob job = job_of(q);
  const machine::Costs costs = training_costs(models, q);
  const training::LayoutSpace space = space_of(q, job);
  const std::int64_t size = space.size();
  if (size == 1) {
    const training::Layout only = space.at(0, job.gpus);
    if (const auto fault = refuse_layout(job, only)) return refuse(*fault, to_text(only));
    return describe(models, q, job, costs, only);
  }
  const training::CostSource source = training_source(costs);
  const training::FrameworkModel framework = framework_of(models, q);
  training::SearchQuery search{
      .job = job,
      .space = space,
      .framework = framework,
      .source = source,
      .memory_limit = usable_memory(*q.accelerator),
      .peak_flops = q.accelerator->peak(workload::product_dtype(q.precision))->base()};
  training::SearchResult found = search_layouts(search, 0, size);
  const bool fits = !found.best.empty();
  if (!fits) {
    search.memory_limit = Bytes(std::numeric_limits<double>::infinity());
    search.peak_flops = 0;
    search.keep = static_cast<int>(std::min<std::int64_t>(size, 1000));
    found = search_layouts(search, 0, size);
    std::ranges::stable_sort(found.best, {}, &training::RankedLayout::memory);
  }
  if (found.best.empty()) {
    const auto fault = refuse_layout(job, space.at(0, job.gpus));
    return refuse(fault.value_or("no layout divides this job"), "no candidate can run");
  }
  TrainingPrediction p = describe(models, q, job, costs, found.best.front().layout);
  if (!q.layout.complete()) shift_for_winner(q.model.is_moe(), p);
  p.layout_chosen = true;
  p.counts = found.counts;
  p.ranked = std::move(found.best);
  return p;
}

}  // namespace orrery::jobs
