#include "model/jobs/predict_serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "core/base/statistics.h"
#include "layers/compute/power.h"
#include "layers/traffic/load.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kAdapterError;
using figures::assumptions::kApartError;
using figures::assumptions::kDenseError;
using figures::assumptions::kExpertError;
using figures::assumptions::kOfflineError;
using figures::assumptions::kOtherDenseError;
using figures::assumptions::kOtherExpertError;
using figures::assumptions::kServingWattsError;
using figures::assumptions::kSliceError;
using figures::assumptions::kStepError;
using figures::assumptions::kStepWattsError;
using figures::assumptions::kTtftAbove;
using figures::assumptions::kTtftBelow;
using figures::assumptions::kWeightsOnlyError;
// The fit behind serving_tuning.csv used models of these sizes: Llama 8B and 70B, Qwen3 235B and
// 397B, DeepSeek V3 and Kimi K2. Models of one size run the same kernels.
struct FittedSize {
  int layers;
  double hidden;
  bool experts;
};
constexpr FittedSize kFittedSizes[] = {
    {32, 4096, false}, {80, 8192, false}, {94, 4096, true}, {60, 4096, true}, {61, 7168, true}};
// For older releases the fit used all models in their tables.
constexpr std::string_view kFittedEngine = "tensorrt-llm-0";
constexpr double kMemorySlices = 8;  // per accelerator (cluster/mig.h)
constexpr const char* kServingPage = "docs/models/serving.md";

bool is_fitted(const ServingQuery& q) {
  if (q.left_out) return false;
  return q.engine == kFittedEngine || std::ranges::any_of(kFittedSizes, [&](const FittedSize& f) {
           return f.layers == q.model.layers && f.hidden == q.model.hidden &&
                  f.experts == q.model.is_moe();
         });
}

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
  e.low = value / (1 + kTtftBelow + width);
  e.high = value * (1 + kTtftAbove + width);
  return e;
}

ServingPrediction describe_point(const machine::Costs& costs, const ServingQuery& query,
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

machine::Costs serving_costs(const machine::Models& models, const ServingQuery& q) {
  // Cards without a link between them exchange data through host memory: every byte goes up one
  // port and down another, at half the rate of a port.
  const bool joined = q.accelerator->scaleup_per_direction && q.domain != 1;
  const BytesPerSecond through_host = machine::pcie_rate(q.accelerator->pcie_generation) / 2;
  std::optional<compute::DeviceSlice> slice;
  if (q.slice) {
    slice = {.units = static_cast<double>(q.slice->profile->multiprocessors),
             .memory_share = q.slice->profile->memory_slices / kMemorySlices,
             .power_share = 1.0 / q.slice->each};
  }
  return machine::Costs(models,
                        {.accelerator = q.accelerator,
                         .domain = q.domain,
                         .accelerators_per_host = 1,
                         .nics_per_host = q.nics_per_accelerator,
                         .nic_rate = joined ? q.nic_rate : min(q.nic_rate, through_host),
                         .torch_timed = !q.own_kernels,
                         .in_graph = q.own_kernels},
                        {.libraries = {.products = q.own_kernels ? "vllm" : "pytorch",
                                       .attention = q.own_kernels ? "" : q.attention},
                         .slice = slice,
                         .graph_reduce = q.own_kernels});
}

std::string adapter_fault(const ServingQuery& q) {
  if (!q.adapters) return {};
  if (q.accelerator->id == machine::kHostDevice) return "adapters on CPU cores are not modelled";
  if (q.model.attention == catalog::AttentionKind::mla) {
    return "adapters with latent attention are not modelled";
  }
  if (q.model.state_space_layers > 0) {
    return "adapters on state-space layers are not modelled";
  }
  if (q.model.is_moe() && q.adapters->targets.mlp) {
    return "adapters on experts are not modelled: write `targets: [qkv, o]`";
  }
  return {};
}

namespace {

serving::ReplicaAdapters adapters_for(const machine::Models& models, const ServingQuery& q,
                                      engines::EngineKind engine) {
  const auto peak = q.accelerator->peak(catalog::Dtype::bf16);
  serving::AdapterDevice device{.products = peak.value_or(FlopsPerSecond(0)),
                                .port = machine::pcie_rate(q.accelerator->pcie_generation)};
  if (!peak) device.products = q.accelerator->peak(q.precision.products).value();
  if (q.slice) {
    device.products = device.products * (q.slice->profile->multiprocessors /
                                         device_model(*q.accelerator, models.kernels).units);
    device.port = device.port / q.slice->each;
  }
  return adapters_on(q.model, q.split, *q.adapters, engine, device);
}

}  // namespace

Result<serving::Replica> replica_of(const machine::Models& models, const ServingQuery& q) {
  Diagnostics faults;
  const engines::Engine* engine = find_engine(models.engines, q.engine);
  if (!engine) faults.push_back(refusal("serving.engine", "there is no engine named " + q.engine));
  if (q.model.state_space_layers > 0 && !q.model.gated_mlp) {
    faults.push_back(
        refusal("serving.state-space",
                "hybrids with layers that are only a state space or only an MLP are not modelled"));
  }
  const serving::ServingSplit& s = q.split;
  if (s.tp < 1 || s.pp < 1 || s.attention_dp < 1 || s.ep < 1 || q.model.heads % s.tp != 0) {
    faults.push_back(refusal(
        "serving.split", fmt::format("{} heads do not divide over tp {}", q.model.heads, s.tp)));
  }
  const bool on_cores = q.accelerator->id == machine::kHostDevice;
  if ((q.slice || on_cores) && s.devices() > 1) {
    faults.push_back(
        refusal("serving.split",
                q.slice ? "a replica on slices uses exactly one slice: no link joins slices"
                        : "a replica on CPU cores uses exactly one host",
                "leave out `tp` and `pp`, or serve on whole accelerators"));
  }
  if (engine && on_cores && engine->kind == engines::EngineKind::tensorrt_llm) {
    faults.push_back(refusal("serving.engine",
                             "TensorRT-LLM runs on accelerators, not on CPU cores",
                             "write `engine: vllm`"));
  }
  if (std::string fault = adapter_fault(q); !fault.empty()) {
    faults.push_back(refusal("serving.adapters", std::move(fault)));
  }
  for (const catalog::Dtype d : {q.precision.products, q.precision.experts}) {
    if (!q.accelerator->peak(d)) {
      faults.push_back(refusal("serving.format", fmt::format("{} cannot multiply in {}",
                                                             q.accelerator->id, to_text(d))));
    }
  }
  if (has_errors(faults)) return std::unexpected(faults);
  serving::Replica r{.model = q.model,
                     .split = q.split,
                     .precision = q.precision,
                     .engine = *engine,
                     .limits = q.limits.value_or(engines::default_limits(*engine, q.memory())),
                     .memory = {},
                     .tuning = {}};
  const compute::Relative* relative = models.kernels.relative(q.accelerator->id);
  r.tuning =
      find_tuning(models.tunings, q.accelerator->id,
                  relative ? std::string_view(relative->measured) : std::string_view(), engine->id);
  if (!q.streams) r.tuning.sequence = Seconds(0);
  r.engine.memory_share = q.memory_share.value_or(r.engine.memory_share);
  if (q.adapters) r.adapters = adapters_for(models, q, engine->kind);
  r.memory = serving_memory(q.model, q.split, q.precision, r.engine, q.memory(),
                            {.limits = r.limits,
                             .least_tokens = q.request.input + q.request.output,
                             .blocks = q.blocks,
                             .adapters = r.adapters.reserved});
  if (!r.memory.fits) {
    return fail(refusal("serving.memory",
                        fmt::format("weights of {:.0f} GiB{} leave no room for a request on {}{}",
                                    r.memory.weights / gib(1),
                                    r.adapters.any() ? fmt::format(" and adapters of {:.1f} GiB",
                                                                   r.adapters.reserved / gib(1))
                                                     : "",
                                    q.slice ? "a slice of " : "", q.accelerator->id),
                        q.slice ? "use a larger slice, or quantise the weights"
                                : "raise tp, or quantise the weights"));
  }
  return r;
}

double serving_error(const compute::DeviceModel& device, const ServingQuery& q) {
  const bool fitted = is_fitted(q);
  const double model = q.model.is_moe() ? (fitted ? kExpertError : kOtherExpertError)
                                        : (fitted ? kDenseError : kOtherDenseError);
  // A tuning includes the error of an engine's own kernels; PyTorch's kernels still have theirs.
  const double slice = math::hypot(q.slice ? kSliceError : 0, q.adapters ? kAdapterError : 0);
  return math::hypot(
      math::hypot(q.precision.weights_only ? math::hypot(model, kWeightsOnlyError) : model, slice),
      q.own_kernels ? device.borrowed_error : relative_error(device, q.precision.products));
}

Result<ServingPrediction> predict_serving(const machine::Models& models,
                                          const ServingQuery& query) {
  auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs costs = serving_costs(models, query);
  const serving::ServingPoint point =
      closed_loop(*replica, query.request, query.concurrency, serving_source(costs));
  return describe_point(costs, query, std::move(*replica), point);
}

Result<ServingPrediction> predict_capacity(const machine::Models& models, const ServingQuery& query,
                                           const serving::ServingTarget& target) {
  auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs costs = serving_costs(models, query);
  const serving::ServingPoint point =
      capacity(*replica, query.request, target, serving_source(costs));
  return describe_point(costs, query, std::move(*replica), point);
}

Result<ServingPrediction> predict_benchmark(const machine::Models& models,
                                            const ServingQuery& query, const BenchmarkLoad& load) {
  auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs costs = serving_costs(models, query);
  const serving::ServingCosts source = serving_source(costs);
  serving::ServingPoint point = closed_loop(*replica, query.request, query.concurrency, source);
  serving::StepClock clock(*replica, source, query.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(*replica);
  policy.ignores_end = true;
  traffic::ReplicaSim sim(policy, clock,
                          {.receive_every = load.receive_every, .gathering = load.gathering});
  const double waves =
      std::clamp(query.request.requests_per_client, 1.0, std::max(1.0, load.waves_most));
  const int clients = static_cast<int>(query.concurrency);
  const auto requests =
      traffic::draw_requests(static_cast<int>(waves) * clients,
                             {.length = query.request.input, .least_share = load.least_share},
                             {.length = query.request.output / query.request.accepted_per_step,
                              .least_share = load.least_share},
                             load.seed);
  WeightedMean<double> burst, later, between;
  for (const traffic::RequestRecord& r : run_closed(sim, requests, clients)) {
    (r.id < clients ? burst : later).add(r.ttft(), 1);
    between.add(r.tpot(), 1);
  }
  const double first_share = 1 / std::max(1.0, query.request.requests_per_client);
  const double seen =
      first_share * burst.value_or(0) + (1 - first_share) * later.value_or(burst.value_or(0));
  const engines::ServingTuning& tuning = replica->tuning;
  point.tpot = Seconds(between.value_or(0) / query.request.accepted_per_step);
  point.ttft = Seconds(seen * tuning.prompt_wait) + around_first_token(*replica) +
               point.tpot * tuning.poll_steps * query.request.accepted_per_step;
  return describe_point(costs, query, std::move(*replica), point);
}

namespace {

struct Replayed {
  serving::Replica replica;
  std::vector<traffic::RequestRecord> records;
  traffic::ReplicaCounts counts;
  double error = 0;
};

Result<Replayed> replay(const machine::Models& models, const ServingQuery& query,
                        const std::vector<traffic::Timed>& arrivals, bool prefix_cache) {
  auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs costs = serving_costs(models, query);
  serving::StepClock clock(*replica, serving_source(costs));
  engines::EnginePolicy policy = traffic::policy_of(*replica);
  policy.prefix_cache = prefix_cache;
  traffic::ReplicaSim sim(policy, clock);
  auto records = run_open(sim, arrivals);
  return Replayed{.replica = std::move(*replica),
                  .records = std::move(records),
                  .counts = sim.counts(),
                  .error = serving_error(costs.device(), query)};
}

}  // namespace

Result<OpenLoopPrediction> predict_open_loop(const machine::Models& models,
                                             const ServingQuery& query,
                                             const std::vector<traffic::Timed>& arrivals,
                                             bool prefix_cache) {
  auto run = replay(models, query, arrivals, prefix_cache);
  if (!run) return std::unexpected(run.error());
  // Scheduling runs one step ahead of the device, so a request is seen one step after it arrives.
  // The further delay of first tokens in tests with many clients does not occur for single
  // arrivals.
  const double aside = run->replica.engine.first_token.base();
  for (traffic::RequestRecord& r : run->records) {
    const double later = aside + serving::kAheadSteps * r.tpot();
    r.first += later;
    r.last += later;
  }
  return OpenLoopPrediction{.replica = std::move(run->replica),
                            .latency = summarise(run->records),
                            .counts = run->counts,
                            .error = run->error};
}

Result<std::vector<traffic::RequestRecord>> replay_requests(
    const machine::Models& models, const ServingQuery& query,
    const std::vector<traffic::Timed>& arrivals, bool prefix_cache) {
  auto run = replay(models, query, arrivals, prefix_cache);
  if (!run) return std::unexpected(run.error());
  return std::move(run->records);
}

Result<Estimate> predict_offline(const machine::Models& models, const ServingQuery& query,
                                 int requests) {
  const traffic::LengthLaw prompt{.length = query.request.input};
  const traffic::LengthLaw output{.length = query.request.output};
  std::vector<traffic::Timed> arrivals;
  for (const engines::RequestSpec& spec : draw_requests(requests, prompt, output, 1)) {
    arrivals.push_back({.spec = spec, .at = 0});
  }
  const auto run = replay(models, query, arrivals, false);
  if (!run) return std::unexpected(run.error());
  const double width = math::hypot(run->error, kOfflineError);
  return about(traffic::summarise(run->records).output_tokens_per_s, width);
}

Result<DisaggregatedPrediction> predict_disaggregated(const machine::Models& models,
                                                      const DisaggregatedQuery& q) {
  auto prefill = replica_of(models, q.prefill);
  if (!prefill) return std::unexpected(prefill.error());
  auto decode = replica_of(models, q.decode);
  if (!decode) return std::unexpected(decode.error());
  const machine::Costs prefill_costs = serving_costs(models, q.prefill);
  const machine::Costs decode_costs = serving_costs(models, q.decode);
  const double ports = std::min(prefill->split.devices(), decode->split.devices());
  const serving::DisaggregatedPoint point = disaggregated_loop(
      {.replica = *prefill, .costs = serving_source(prefill_costs), .replicas = q.prefill_replicas},
      {.replica = *decode, .costs = serving_source(decode_costs), .replicas = q.decode_replicas},
      q.decode.request, q.decode.concurrency, q.prefill.nic_rate * ports);
  const double width = std::max(kApartError, serving_error(decode_costs.device(), q.decode));
  return DisaggregatedPrediction{.point = point,
                                 .ttft_s = first_token(point.ttft.base(), width),
                                 .tpot_s = about(point.tpot.base(), width)};
}

Result<StepPrediction> predict_step(const machine::Models& models, const ServingQuery& query,
                                    const serving::Iteration& iteration) {
  const auto replica = replica_of(models, query);
  if (!replica) return std::unexpected(replica.error());
  const machine::Costs costs = serving_costs(models, query);
  const serving::StepTime step = step_time(*replica, iteration, serving_source(costs));
  const double borrowed = costs.device().borrowed_error;
  return StepPrediction{.step = step,
                        .seconds = about(step.total.base(), math::hypot(kStepError, borrowed)),
                        .watts = about(step.power.base(), math::hypot(kStepWattsError, borrowed))};
}

std::optional<int> least_tp(const machine::Models& models, const ServingQuery& query, int most) {
  for (int tp = 1; tp <= most; tp *= 2) {
    ServingQuery trial = query;
    trial.split.tp = tp;
    if (replica_of(models, trial)) return tp;
  }
  return std::nullopt;
}

}  // namespace orrery::jobs
