#include "machine/predict_serving.h"

#include <fmt/format.h>

#include <utility>

#include "base/math.h"
#include "compute/power.h"

namespace orrery::machine {
namespace {

// From the published rows of docs/models/serving.md: a dense model's TPOT, and what more a mixture
// of experts and a first token add.
constexpr double kDenseError = 0.20;
constexpr double kExpertError = 0.35;
// Published first tokens come later than steady arrivals explain, on most engines by a factor of
// two to four (bursts, warm-up, routers), hardly ever sooner: the interval leans upwards.
constexpr double kTtftAbove = 9.0;
constexpr double kServingWattsError = 0.10;
constexpr const char* kServingPage = "docs/models/serving.md";
// Of a single step, whose kernels' errors average out: four fifths of 25 steps of one H200.
constexpr double kStepError = 0.062;
constexpr double kStepWattsError = 0.05;

Diagnostic refusal(std::string code, std::string what, std::string fix = {}) {
  return {.severity = Severity::error,
          .code = std::move(code),
          .place = {},
          .what = std::move(what),
          .why = {},
          .fix = std::move(fix)};
}

Estimate about(double value, double width) {
  return {.value = value,
          .low = value / (1 + width),
          .high = value * (1 + width),
          .basis = Basis::fitted,
          .reference = kServingPage};
}

Estimate first_token(double value, double width) {
  Estimate e = about(value, width);
  e.high = value * (1 + kTtftAbove * width);
  return e;
}

ServingPrediction describe_point(const Costs& costs, const ServingQuery& query,
                                 serving::Replica replica, const serving::ServingPoint& point) {
  const double width = serving_error(costs.device(), query);
  ServingPrediction p{.replica = std::move(replica),
                      .point = point,
                      .ttft_s = first_token(point.ttft.base(), width),
                      .tpot_s = about(point.tpot.base(), width),
                      .output_tokens_per_s = about(point.output_tokens_per_s, width),
                      .watts = about(point.power.base(), kServingWattsError)};
  return p;
}

}  // namespace

Costs serving_costs(const Models& models, const ServingQuery& q) {
  return Costs(models,
               {.accelerator = q.accelerator,
                .accelerators_per_host = 1,
                .nics_per_host = q.nics_per_accelerator,
                .nic_rate = q.nic_rate,
                .torch_timed = !q.own_kernels,
                .in_graph = q.own_kernels},
               {.libraries = {.products = q.own_kernels ? "vllm" : "pytorch",
                              .attention = q.own_kernels ? "" : "pytorch"},
                .graph_reduce = q.own_kernels});
}

Result<serving::Replica> replica_of(const Models& models, const ServingQuery& q) {
  Diagnostics faults;
  const serving::Engine* engine = find_engine(models.engines, q.engine);
  if (!engine) faults.push_back(refusal("serving.engine", "no engine named " + q.engine));
  if (q.model.state_space_layers > 0) {
    faults.push_back(refusal("serving.state-space", "state-space layers are not modelled"));
  }
  const serving::ServingSplit& s = q.split;
  if (s.tp < 1 || s.pp < 1 || s.attention_dp < 1 || s.ep < 1 || q.model.heads % s.tp != 0) {
    faults.push_back(refusal("serving.split",
                             fmt::format("{} heads do not split over tp {}", q.model.heads, s.tp)));
  }
  for (const catalog::Dtype d : {q.precision.products, q.precision.experts}) {
    if (!q.accelerator->peak(d)) {
      faults.push_back(refusal(
          "serving.format", fmt::format("{} has no {} products", q.accelerator->id, to_text(d))));
    }
  }
  if (has_errors(faults)) return std::unexpected(faults);
  serving::Replica r{.model = q.model,
                     .split = q.split,
                     .precision = q.precision,
                     .engine = *engine,
                     .limits = q.limits.value_or(serving::default_limits(q.accelerator->memory)),
                     .memory = {}};
  r.memory = serving_memory(
      q.model, q.split, q.precision, r.engine, q.accelerator->memory,
      {.limits = r.limits, .least_tokens = q.request.input + q.request.output, .blocks = q.blocks});
  if (!r.memory.fits) {
    return fail(refusal("serving.memory",
                        fmt::format("weights of {:.0f} GiB leave no room for a request on {}",
                                    r.memory.weights / gib(1), q.accelerator->id),
                        "raise tp, or quantise the weights"));
  }
  return r;
}

double serving_error(const compute::DeviceModel& device, const ServingQuery& q) {
  const double model = q.model.is_moe() ? kExpertError : kDenseError;
  return math::hypot(model, relative_error(device, q.precision.products));
}

Result<ServingPrediction> predict_serving(const Models& models, const ServingQuery& query) {
  auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const Costs costs = serving_costs(models, query);
  const serving::ServingPoint point =
      closed_loop(*replica, query.request, query.concurrency, serving_source(costs));
  return describe_point(costs, query, std::move(*replica), point);
}

Result<ServingPrediction> predict_capacity(const Models& models, const ServingQuery& query,
                                           const serving::ServingTarget& target) {
  auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const Costs costs = serving_costs(models, query);
  const serving::ServingPoint point =
      capacity(*replica, query.request, target, serving_source(costs));
  return describe_point(costs, query, std::move(*replica), point);
}

Result<StepPrediction> predict_step(const Models& models, const ServingQuery& query,
                                    const serving::Iteration& iteration) {
  const auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const Costs costs = serving_costs(models, query);
  const serving::StepTime step = step_time(*replica, iteration, serving_source(costs));
  const double borrowed = costs.device().borrowed_error;
  return StepPrediction{.step = step,
                        .seconds = about(step.total.base(), math::hypot(kStepError, borrowed)),
                        .watts = about(step.power.base(), math::hypot(kStepWattsError, borrowed))};
}

std::optional<int> least_tp(const Models& models, const ServingQuery& query, int most) {
  for (int tp = 1; tp <= most; tp *= 2) {
    ServingQuery trial = query;
    trial.split.tp = tp;
    if (replica_of(models, trial)) return tp;
  }
  return std::nullopt;
}

}  // namespace orrery::machine
