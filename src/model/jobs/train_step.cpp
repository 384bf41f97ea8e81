// The step of a run: the given layout, or the best one on as many nodes as the batch divides over.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/workload/adapters.h"
#include "layers/facility/power_cap.h"
#include "model/figures/assumptions.h"
#include "model/jobs/batch_split.h"
#include "model/jobs/predict_training.h"
#include "model/jobs/train_run.h"
#include "model/machine/links.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kAdamBytesPerParam;
using figures::assumptions::kGradientBytes;
using figures::assumptions::kHiddenReduce;
using figures::assumptions::kPlainEfficiency;
using figures::assumptions::kPlainError;
using figures::assumptions::kStepErrorUnknown;

double bytes_of(catalog::Precision p) {
  switch (p) {
    case catalog::Precision::fp32:
    case catalog::Precision::tf32:
      return 4;
    case catalog::Precision::bf16:
    case catalog::Precision::fp16:
      return 2;
    default:
      return 1;
  }
}

std::optional<FlopsPerSecond> peak_of(const catalog::Accelerator& a, catalog::Precision p) {
  const catalog::Dtype wanted = p == catalog::Precision::fp32   ? catalog::Dtype::fp32
                                : p == catalog::Precision::tf32 ? catalog::Dtype::tf32
                                                                : catalog::Dtype::bf16;
  if (a.peak(wanted)) return a.peak(wanted);
  return a.peak(catalog::Dtype::fp16);
}

struct EmbeddingCost {
  Seconds time;
  Bytes per_device;
};

EmbeddingCost embedding_cost(const design::Embeddings& e, const TrainJob& job, int gpus,
                             const machine::Links& links, const workload::GroupShape& group) {
  const double row = e.width * bytes_of(e.precision);
  const double samples = static_cast<double>(job.train->batch) / gpus;
  const Bytes touched(samples * e.lookups * row);
  // The forward pass reads a row; the backward pass reads and writes it with its moment.
  const Seconds memory = touched * 4 / job.fleet->accelerator()->memory_bandwidth;
  const workload::CollectiveCall exchange{workload::Collective::all_to_all, touched, group};
  EmbeddingCost cost{.time = memory + 2 * links.time(exchange).time};
  if (e.placement == design::EmbeddingPlacement::device) {
    cost.per_device = Bytes(e.rows * row * 2 / gpus);  // weights and one moment per row
  }
  return cost;
}

// Returns the share of the matrix speed that a power cap leaves.
double capped_share(const machine::Fleet& fleet) {
  const auto tdp = fleet.accelerator()->tdp;
  const auto cap = fleet.fleet->power_cap;
  return tdp && cap ? capped_speed(std::min(1.0, *cap / *tdp), facility::Boundness::compute) : 1;
}

int even_split(int batch, int available, int per_host) {
  for (int gpus = available; gpus >= 1; gpus -= gpus > per_host ? per_host : 1) {
    if (batch % gpus == 0) return gpus;
  }
  return 1;
}

int hosts_of(const TrainJob& job, int gpus) {
  const int per_host = std::max(1, job.fleet->accelerators_per_host);
  return (gpus + per_host - 1) / per_host;
}

// Times the step for placements from the order of the leaves to anywhere.
template <class StepSeconds>
void fill_by_scatter(StepPlan& plan, fabric::RoutedLinks routed, StepSeconds step_seconds) {
  if (!routed.tree || routed.tree->is_even() || plan.step <= Seconds(0)) return;
  for (int i = 0; i < kScatterSteps; ++i) {
    routed.scatter = static_cast<double>(i) / (kScatterSteps - 1);
    plan.by_scatter.push_back(step_seconds(routed) / plan.step.base());
  }
}

struct PlainTimes {
  Seconds compute;
  EmbeddingCost embeddings;
  Seconds exposed;

  Seconds step() const { return compute + embeddings.time + exposed; }
};

PlainTimes plain_times(const TrainJob& job, int gpus, FlopsPerSecond peak,
                       const machine::Links& links) {
  const workload::GroupShape group = links.group_of(gpus);
  const double samples = static_cast<double>(job.train->batch) / gpus;
  const double speed = capped_share(*job.fleet);
  PlainTimes t;
  t.compute = 3 * samples * job.train->network->forward / (peak * kPlainEfficiency * speed);
  const workload::CollectiveCall reduce{workload::Collective::all_reduce,
                                        Bytes(job.parameters * kGradientBytes), group};
  if (gpus > 1) t.exposed = links.time(reduce).time * (1 - kHiddenReduce);
  if (job.train->embeddings) {
    t.embeddings = embedding_cost(*job.train->embeddings, job, gpus, links, group);
  }
  return t;
}

// Returns nothing if the design or the accelerator lacks what a plain network needs.
std::optional<FlopsPerSecond> plain_peak(const TrainJob& job) {
  if (!job.train->network || job.train->batch <= 0) return std::nullopt;
  return peak_of(*job.fleet->accelerator(), job.train->precision);
}

void fill_plain_step(TrainJob& job, const machine::Machine& m, int available) {
  const machine::Fleet& fleet = *job.fleet;
  const catalog::Accelerator& a = *fleet.accelerator();
  const auto peak = plain_peak(job);
  if (!peak) {
    job.infeasible =
        "a non-transformer network needs `network`, `batch` and an accelerator with that precision";
    return;
  }
  const int gpus =
      even_split(job.train->batch, available, std::max(1, fleet.accelerators_per_host));
  machine::Wiring wiring = wiring_of(fleet, m.networks_of(fleet));
  wiring.routed.job_hosts = hosts_of(job, gpus);
  const PlainTimes t =
      plain_times(job, gpus, *peak, machine::Links(wiring, m.models().collectives));
  const double samples = static_cast<double>(job.train->batch) / gpus;
  StepPlan& plan = job.step;
  plan.layout = fmt::format("dp{}", gpus);
  plan.replicas = gpus;
  plan.chosen = "data-parallel, efficiency assumed";
  plan.step = t.step();
  plan.units_per_step = job.train->batch;
  plan.flops_utilisation = t.compute * kPlainEfficiency / plan.step;
  plan.memory = Bytes(job.parameters * kAdamBytesPerParam) + t.embeddings.per_device +
                job.train->network->activations.value_or(Bytes(0)) * samples;
  plan.memory_limit = usable_memory(a);
  plan.parts = {{"matrix work", t.compute},
                {"embedding tables", t.embeddings.time},
                {"exposed gradient reduction", t.exposed}};
  plan.matrix_share = t.compute / plan.step;
  plan.memory_share = t.embeddings.time / plan.step;
  plan.exposed_share = t.exposed / plan.step;
  plan.exposed_network_share = gpus > wiring.domain ? plan.exposed_share : 0;
  plan.error = kPlainError;
  plan.basis = Basis::assumed;
  plan.reference = "docs/models/plain-network.md";
  job.accelerators = gpus;
  if (plan.memory > plan.memory_limit) {
    job.infeasible = fmt::format("it needs {} of {} on each accelerator", brief(plan.memory),
                                 brief(plan.memory_limit));
  }
  fill_by_scatter(plan, wiring.routed, [&](const fabric::RoutedLinks& routed) {
    wiring.routed = routed;
    return plain_times(job, gpus, *peak, machine::Links(wiring, m.models().collectives))
        .step()
        .base();
  });
}

LayoutWish wish_for(const design::Train& train) {
  if (!train.layout) return {};
  const design::Layout& l = *train.layout;
  LayoutWish w{.tp = l.tp, .pp = l.pp, .vp = l.vp, .cp = l.cp, .ep = l.ep, .microbatch = l.mbs};
  w.sharding = l.sharding;
  w.recompute = l.recompute;
  return w;
}

TrainingQuery query_for(const TrainJob& job, const machine::Machine& m) {
  const machine::Fleet& fleet = *job.fleet;
  TrainingQuery q{.model = *job.model, .accelerator = fleet.accelerator()};
  const machine::Wiring wiring = wiring_of(fleet, m.networks_of(fleet));
  q.scaleup = wiring.domain;
  q.nic = wiring.nic_rate * (wiring.nics_per_host / wiring.accelerators_per_host);
  q.sequence = job.train->sequence;
  q.batch = job.train->batch;
  q.layout = wish_for(*job.train);
  q.precision = workload::modelled(job.train->precision);
  q.task = job.train->lora ? training::TrainingTask::lora : training::TrainingTask::pretrain;
  if (job.train->lora) {
    q.recipe.lora_rank = job.train->lora->rank;
    q.recipe.lora_on_mlp = workload::adapter_targets(job.train->lora->targets).mlp;
  }
  q.oversubscription = wiring.oversubscription;
  q.routed = wiring.routed;
  q.network = wiring.network;
  q.power_limit = fleet.fleet->power_cap.value_or(Watts(0));
  return q;
}

double seconds_of(const training::StepEstimate& e,
                  std::initializer_list<training::StepPhase> parts) {
  double sum = 0;
  for (const training::StepPhase p : parts) sum += e.part(p);
  return sum;
}

void fill_shares(StepPlan& plan, const training::StepEstimate& e, const TrainingQuery& q,
                 const training::Layout& l) {
  using enum training::StepPhase;
  plan.matrix_share = seconds_of(e, {matrix, attention, recompute}) / e.seconds;
  plan.memory_share = seconds_of(e, {passes, optimizer}) / e.seconds;
  plan.exposed_share = seconds_of(e, {tp, cp, ep, pp, dp}) / e.seconds;
  // A group that fits into a scale-up domain never uses the network.
  double crossing = q.gpus > q.scaleup ? seconds_of(e, {pp, dp}) : 0;
  if (l.tp > q.scaleup) crossing += e.part(tp);
  if (l.tp * l.cp > q.scaleup) crossing += e.part(cp);
  if (l.ep > q.scaleup) crossing += e.part(ep);
  plan.exposed_network_share = crossing / e.seconds;
}

StepPlan plan_of(const TrainingPrediction& p, const TrainingQuery& q) {
  StepPlan plan{.layout = to_text(p.layout)};
  plan.chosen = p.layout_chosen ? fmt::format("best of {} that fit, {} candidates",
                                              grouped(p.counts.evaluated + p.counts.bounded),
                                              grouped(p.counts.candidates))
                                : "given";
  plan.replicas = p.layout.dp;
  plan.model_shards = p.layout.tp * p.layout.pp * std::max(1, p.layout.ep);
  plan.optimizer_sharded = p.layout.sharding != catalog::Sharding::none;
  plan.weights_sharded = p.layout.sharding == catalog::Sharding::zero3;
  plan.step = Seconds(p.step.seconds);
  plan.units_per_step = q.batch * q.sequence;
  plan.flops_utilisation = p.mfu;
  plan.memory = p.memory.peak;
  plan.memory_limit = p.memory_limit;
  plan.memory_error = p.memory_bytes.high / p.memory_bytes.value - 1;
  plan.device_power = Watts(p.watts.value);
  for (int i = 0; i < training::kStepPhaseCount; ++i) {
    const auto part = static_cast<training::StepPhase>(i);
    plan.parts.push_back({std::string(to_text(part)), Seconds(p.step.part(part))});
  }
  fill_shares(plan, p.step, q, p.layout);
  plan.error =
      p.step_time_s.value > 0 ? p.step_time_s.high / p.step_time_s.value - 1 : kStepErrorUnknown;
  plan.basis = p.step_time_s.basis;
  plan.reference = p.step_time_s.reference;
  return plan;
}

std::string refusal(const Diagnostics& faults) {
  return faults.empty() ? "no layout divides it" : faults.front().what;
}

std::unexpected<Diagnostics> no_run(std::string why) {
  return fail({.code = "training.infeasible", .what = std::move(why)});
}

void fill_transformer(TrainJob& job, const machine::Machine& m) {
  const auto run = training_run(job, m);
  if (!run) {
    job.infeasible = refusal(run.error());
    return;
  }
  const TrainingPrediction& p = run->prediction;
  if (!p.fits) {
    job.infeasible = fmt::format("the leanest layout needs {} of {} on the fullest accelerator",
                                 brief(p.memory.peak), brief(p.memory_limit));
    return;
  }
  job.accelerators = run->query.gpus;
  job.step = plan_of(p, run->query);
  const training::TrainingJob asked = job_of(run->query);
  fill_by_scatter(job.step, run->query.routed, [&](const fabric::RoutedLinks& routed) {
    TrainingQuery placed = run->query;
    placed.routed = routed;
    return step_seconds(m.models(), placed, asked, p.layout);
  });
}

// Replicas are lost and regained in whole hosts.
void fill_elastic(TrainJob& job, int per_host) {
  if (!job.feasible() || !job.train->min_replicas) return;
  const int replicas = job.step.replicas;
  const int of_replica = job.accelerators / std::max(1, replicas);
  const int wanted = *job.train->min_replicas;
  if (wanted > replicas) {
    job.infeasible = fmt::format("min_replicas is {}, and its layout has {}", grouped(wanted),
                                 grouped(replicas));
    return;
  }
  const bool fills_hosts = of_replica % per_host == 0;
  if (job.accelerators % per_host != 0 || (!fills_hosts && per_host % of_replica != 0)) {
    job.infeasible = fmt::format(
        "min_replicas needs replicas that fill hosts or divide them evenly, but they have {} "
        "accelerators each on hosts of {}",
        of_replica, per_host);
    return;
  }
  const int unit_hosts = fills_hosts ? of_replica / per_host : 1;
  const int of_unit = unit_hosts * per_host / of_replica;  // replicas
  job.elastic = ElasticPlan{.unit_hosts = unit_hosts,
                            .units = job.hosts / unit_hosts,
                            .least = (wanted + of_unit - 1) / of_unit};
}

}  // namespace

double StepPlan::slower_at(double scatter) const {
  if (by_scatter.empty()) return 1;
  const double x = std::clamp(scatter, 0.0, 1.0) * (kScatterSteps - 1);
  const auto i = std::min(by_scatter.size() - 2, static_cast<std::size_t>(x));
  return by_scatter[i] + (x - static_cast<double>(i)) * (by_scatter[i + 1] - by_scatter[i]);
}

double ElasticPlan::lost_with(int hosts_missing) const {
  const int lost = (hosts_missing + unit_hosts - 1) / unit_hosts;
  return units - lost < least ? 1 : static_cast<double>(lost) / units;
}

Result<TrainingRun> training_run(const TrainJob& job, const machine::Machine& m) {
  const int available = accelerators_for(job);
  const std::vector<int> counts = counts_to_try(job, available);
  if (counts.empty()) {
    return no_run(fmt::format(
        "batch {} divides over no layout of {} to {} accelerators", job.train->batch,
        grouped(static_cast<std::int64_t>(available * kLeastShareUsed)), grouped(available)));
  }
  Result<TrainingRun> last = no_run("no layout fits");
  for (const int gpus : counts) {
    TrainingRun run{.query = query_for(job, m)};
    run.query.gpus = gpus;
    run.query.routed.job_hosts = hosts_of(job, gpus);
    auto prediction = predict_training(m.models(), run.query);
    if (!prediction) {
      last = std::unexpected(std::move(prediction.error()));
      continue;
    }
    run.prediction = *std::move(prediction);
    last = std::move(run);
    if (last->prediction.fits) break;
  }
  return last;
}

Result<Seconds> step_on(const TrainJob& job, const machine::Machine& m,
                        std::shared_ptr<const fabric::RoutedTree> tree) {
  if (!job.model) {
    const auto peak = plain_peak(job);
    if (!peak) return no_run("it has no step");
    machine::Wiring wiring = wiring_of(*job.fleet, m.networks_of(*job.fleet));
    wiring.routed.tree = std::move(tree);
    wiring.routed.job_hosts = job.hosts;
    const machine::Links links(wiring, m.models().collectives);
    return plain_times(job, job.accelerators, *peak, links).step();
  }
  auto run = training_run(job, m);
  if (!run) return std::unexpected(std::move(run.error()));
  run->query.routed.tree = std::move(tree);
  return Seconds(step_seconds(m.models(), run->query, job_of(run->query), run->prediction.layout));
}

void fill_step(TrainJob& job, const machine::Machine& m) {
  const machine::Fleet& fleet = *job.fleet;
  if (fleet.accelerator() == nullptr || fleet.accelerators == 0) {
    job.infeasible = "the fleet has no accelerators; use a `batch` workload for CPUs";
    return;
  }
  if (!fleet.fleet->mig.empty()) {
    job.infeasible =
        "the accelerators of its fleet are cut into slices, but a training run needs whole ones";
    return;
  }
  if (job.model) {
    fill_transformer(job, m);
  } else {
    fill_plain_step(job, m, accelerators_for(job));
  }
  if (job.feasible() && !(std::isfinite(job.step.step.base()) && job.step.step > Seconds(0))) {
    job.infeasible = wiring_of(fleet, m.networks_of(fleet)).nics_per_host > 0
                         ? "its step time is unknown: it is outside the range of the models"
                         : "its nodes have no NICs to reach each other";
  }
  job.hosts = hosts_of(job, job.accelerators);
  fill_elastic(job, std::max(1, fleet.accelerators_per_host));
}

}  // namespace orrery::jobs
