#include "layers/training/step.h"

#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/workload/model_math.h"
#include "layers/training/stages.h"

namespace orrery::training {
namespace {

// The communication that ZeRO-3 needs per layer and microbatch, and what hides it.
struct ShardTraffic {
  double gather = 0;
  double scatter = 0;
};

// The times of a stage's passes at one clock, divided into the reported parts.
struct StageCost {
  LayerCost work;  // sum of its layers and ends
  double layers = 0;
  double p2p = 0;  // per boundary and direction
};

struct Composed {
  StageTimes times;
  std::array<double, kStepPhaseCount> parts{};

  double& part(StepPhase p) { return parts[static_cast<std::size_t>(p)]; }
};

// Share of an expert layer's host time that remains if tokens are dropped and padded to equal
// shares: the host does not wait for token counts, but sorts and launches as before. Assumption:
// half. With none remaining, rows with dropped tokens are predicted 1 to 16 % too fast.
constexpr double kPaddedHost = 0.5;

struct Composer {
  const TrainingJob& job;
  const Layout& layout;
  const FrameworkModel& framework;
  double clock = 1;
  ShardTraffic shard;  // per mean layer; zero unless ZeRO-3

  // Returns the time of one pass's kernels, or the host's time to launch them if that is longer.
  double pass_seconds(const PassCost& p, Composed& out) const {
    const double f = framework.kernel_factor;
    const double overhead = framework.overhead_factor;
    const double matrix = p.matrix.at_clock(clock) * f;
    const double attention = p.attention.at_clock(clock) * f;
    const double passes =
        (p.passes.at_clock(clock) + p.expert_passes.at_clock(clock) * overhead) * f;
    const double kernels = matrix + attention + passes;
    const double ep = p.ep * overhead;
    const double beside = job.recipe.a2a_overlap == true ? framework.overlap_host : 1;
    const double experts = p.expert_layers * framework.expert_host_s * overhead * beside *
                           (job.padded_experts ? kPaddedHost : 1);
    const double launches = p.kernels * framework.host_launch_s + experts;
    const double host = std::max(0.0, launches - kernels - ep);
    out.part(StepPhase::matrix) += matrix;
    out.part(StepPhase::attention) += attention;
    out.part(StepPhase::passes) += passes;
    out.part(StepPhase::host) += host;
    out.part(StepPhase::tp) += p.tp;
    out.part(StepPhase::cp) += p.cp;
    out.part(StepPhase::ep) += ep;
    return kernels + host + p.tp + p.cp + ep;
  }

  double recompute_seconds(const PassCost& p, Composed& out) const {
    Composed apart;
    const double seconds = pass_seconds(p, apart);
    out.part(StepPhase::recompute) += seconds;
    return seconds;
  }

  // Returns the part of the gathers and scatters of `layers` layers that `compute` does not hide,
  // plus the slowdown that the hidden part causes.
  double shard_exposed(double compute, double traffic, double layers) const {
    const double all = traffic * layers;
    const double hidden = std::min(all, framework.dp_overlap * compute);
    return all - hidden + framework.contention * hidden;
  }

  Composed compose(const StageCost& stage) const {
    Composed c;
    const double boundary = stage.p2p * (1 - framework.pp_overlap);
    c.times.forward = pass_seconds(stage.work.forward, c);
    c.times.dgrad = pass_seconds(stage.work.dgrad, c) + recompute_seconds(stage.work.recompute, c);
    c.times.wgrad = pass_seconds(stage.work.wgrad, c);
    const double forward = shard_exposed(c.times.forward, shard.gather, stage.layers);
    const bool keeps = layout.sharding == catalog::Sharding::zero2;
    const double backward = shard_exposed(c.times.dgrad + c.times.wgrad,
                                          (keeps ? 0 : shard.gather) + shard.scatter, stage.layers);
    c.part(StepPhase::dp) += forward + backward;
    c.part(StepPhase::pp) += 2 * boundary;
    c.times.forward += forward + boundary;
    c.times.dgrad += backward + boundary;
    return c;
  }
};

struct Stages {
  StageCost first;
  StageCost middle;
  StageCost last;
  OpCost work;  // sum over all stages
  StageLayers layers;
};

Stages make_stages(const LayerQuery& q, StepScratch& scratch) {
  const catalog::ModelShape& m = q.job.model;
  const Layout& l = q.layout;
  const int dense_count = workload::dense_layer_count(m);
  const int moe_count = m.layers - dense_count;
  const LayerCost dense =
      dense_count > 0 ? mean_layer_cost(q, workload::LayerKind::dense, scratch) : LayerCost{};
  const LayerCost moe =
      moe_count > 0 ? mean_layer_cost(q, workload::LayerKind::moe, scratch) : LayerCost{};
  LayerCost head = head_cost(q, scratch);
  const LayerCost& main = moe_count > 0 ? moe : dense;
  if (q.job.train_mtp && m.mtp_layers > 0) {
    // A prediction module is a layer or two followed by its own pass through the shared head.
    head = head * (1 + predictions_of(m));
    head += prediction_cost(q, main, scratch);
  }
  const LayerCost embedding = embedding_cost(q, scratch);
  const auto total = [](const LayerCost& c) {
    return c.forward.kernel_seconds(1) + c.dgrad.kernel_seconds(1) + c.wgrad.kernel_seconds(1);
  };
  Stages s;
  s.layers = stage_layers(m.layers, l.pp, l.vp, total(head) / std::max(1e-12, total(main)));
  const auto layers_of = [&](double count, bool has_first) {
    const double dense_here =
        moe_count == 0 ? count : (has_first ? std::min<double>(dense_count, count) : 0);
    StageCost stage;
    stage.layers = count;
    if (dense_here > 0) stage.work += dense * dense_here;
    if (count > dense_here) stage.work += moe * (count - dense_here);
    return stage;
  };
  s.work = dense.work() * dense_count;
  s.work += moe.work() * moe_count;
  s.work += embedding.work();
  s.work += head.work();
  s.first = layers_of(s.layers.first, true);
  s.first.work += embedding;
  if (l.pp == 1) {
    s.first.work += head;
    return s;
  }
  if (l.pp > 2) s.middle = layers_of(s.layers.middle, false);
  s.last = layers_of(s.layers.last, false);
  s.last.work += head;
  return s;
}

// Each tensor-parallel rank sends one share. Without sequence parallelism every rank of the next
// stage needs the whole, so the shares are gathered there (arXiv 2104.04473, section 4.1).
void set_transfers(const LayerQuery& q, Stages& s) {
  const Layout& l = q.layout;
  if (l.pp == 1) return;
  const Bytes whole(l.microbatch * q.job.sequence / l.cp * q.job.model.hidden * 2);
  double once = q.source.collective_seconds(
      {workload::Collective::send_recv, whole * (1.0 / l.tp), q.groups.pp});
  if (!l.sequence_parallel) {
    once += q.source.collective_seconds({workload::Collective::all_gather, whole, q.groups.tp});
  }
  s.first.p2p = s.middle.p2p = s.last.p2p = once * l.vp;
}

// Adds gradients to the step's in a separate pass, microbatch by microbatch.
void add_accumulation(const LayerQuery& q, Stages& s) {
  const double traffic = q.framework.accumulate_traffic;
  if (traffic <= 0 || q.job.task == TrainingTask::lora) return;
  const auto add = [&](StageCost& stage, StagePlace place, double stages) {
    const StageParameters p = stage_parameters(q.job, q.layout, place, stage.layers);
    const Bytes half((p.dense + p.expert) * traffic / 2);
    const OpCost cost = q.source.kernel_cost(workload::MemoryPass{half, half});
    stage.work.wgrad.passes += cost;
    s.work += cost * stages;
  };
  const int pp = q.layout.pp;
  add(s.first, pp == 1 ? StagePlace::only : StagePlace::first, 1);
  if (pp > 2) add(s.middle, StagePlace::middle, pp - 2);
  if (pp > 1) add(s.last, StagePlace::last, 1);
}

workload::GroupShape shard_group(const TrainingJob& job, const workload::GroupShape& dp) {
  if (job.shard_group <= 0 || job.shard_group >= dp.ranks) return dp;
  const int ranks = static_cast<int>(job.shard_group);
  return {.ranks = ranks, .per_domain = std::min(dp.per_domain, ranks)};
}

ShardTraffic shard_traffic(const LayerQuery& q, const StageParameters& p) {
  if (q.layout.sharding != catalog::Sharding::zero3 &&
      q.layout.sharding != catalog::Sharding::zero2)
    return {};
  const FrameworkModel& f = q.framework;
  const workload::GroupShape dense = shard_group(q.job, q.groups.dp);
  const auto both = [&](workload::Collective kind, double bytes) {
    return q.source.collective_seconds({kind, Bytes(p.layer_dense * bytes), dense}) +
           q.source.collective_seconds({kind, Bytes(p.layer_expert * bytes), q.groups.expert_dp});
  };
  const double train = q.job.task == TrainingTask::lora ? 0 : 1;
  return {.gather = both(workload::Collective::all_gather, f.gather_bytes),
          .scatter = train * both(workload::Collective::reduce_scatter, f.reduce_bytes)};
}

// Hybrid sharding (HSDP): shard sets of a few ranks hold a whole model each. Once per step they sum
// their shares of the gradients with each other, partly hidden behind the last backward pass.
double hybrid_exposed(const LayerQuery& q, const StageParameters& p, const StageTimes& slowest) {
  const workload::GroupShape& all = q.groups.dp;
  const workload::GroupShape set = shard_group(q.job, all);
  if (q.layout.sharding != catalog::Sharding::zero3 || set.ranks >= all.ranks ||
      q.job.task == TrainingTask::lora) {
    return 0;
  }
  const int sets = std::max(1, all.ranks / set.ranks);
  const workload::GroupShape across{.ranks = sets,
                                    .per_domain = std::clamp(all.per_domain / set.ranks, 1, sets)};
  const double reduce =
      q.source.collective_seconds({workload::Collective::all_reduce,
                                   Bytes(p.dense * q.framework.reduce_bytes / set.ranks), across});
  return std::max(0.0, reduce - q.framework.dp_overlap * (slowest.dgrad + slowest.wgrad));
}

// Once-per-step traffic of a stage's replicas, and the part of it that leaves a scale-up domain.
struct ReplicaTraffic {
  double all = 0;
  double leaving = 0;
};

ReplicaTraffic replica_traffic(const LayerQuery& q, const StageParameters& p,
                               workload::Collective kind, double bytes) {
  ReplicaTraffic t;
  const auto add = [&](double parameters, const workload::GroupShape& group) {
    const double seconds = q.source.collective_seconds({kind, Bytes(parameters * bytes), group});
    t.all += seconds;
    if (group.ranks > group.per_domain) t.leaving += seconds;
  };
  add(p.dense, q.groups.dp);
  add(p.expert, q.groups.expert_dp);
  return t;
}

// Returns the part of a stage's once-per-step `traffic` that no pass hides; `pass` is one
// microbatch's pass through all its chunks. An interleaved schedule runs a chunk for pp
// microbatches before the next, so all but one chunk's share can hide behind the others' passes,
// and the last behind its own: exposed is the longer of that chunk alone and everything still
// queued by then. Hidden traffic that leaves the domain takes units and memory bandwidth from
// concurrent products.
double chunks_exposed(const LayerQuery& q, const ReplicaTraffic& traffic, double pass) {
  const double chunks = std::max(1, q.layout.vp);
  const double in_turn = std::min(q.layout.pp, microbatches_of(q.job, q.layout));
  const double window = q.framework.dp_overlap * pass / chunks;
  const double exposed = std::max(
      {0.0, traffic.all / chunks - window, traffic.all - window * ((chunks - 1) * in_turn + 1)});
  const double hidden = traffic.all > 0 ? 1 - exposed / traffic.all : 0;
  return exposed + q.framework.contention * hidden * traffic.leaving;
}

// Returns the exposed part of the once-per-step gradient reduction and parameter gather of
// replicated weights.
double replica_exposed(const LayerQuery& q, const StageParameters& p, const StageTimes& slowest) {
  const catalog::Sharding s = q.layout.sharding;
  if (s == catalog::Sharding::zero3 || s == catalog::Sharding::zero2 ||
      q.job.task == TrainingTask::lora)
    return 0;
  const FrameworkModel& f = q.framework;
  const bool whole = s == catalog::Sharding::none || f.reduces_whole;
  const workload::Collective kind =
      whole ? workload::Collective::all_reduce : workload::Collective::reduce_scatter;
  const ReplicaTraffic reduce = replica_traffic(q, p, kind, f.reduce_bytes);
  const double exposed = chunks_exposed(q, reduce, slowest.dgrad + slowest.wgrad);
  if (s == catalog::Sharding::none) return exposed;
  const ReplicaTraffic gather =
      replica_traffic(q, p, workload::Collective::all_gather, f.gather_bytes);
  return exposed + chunks_exposed(q, gather, slowest.forward);
}

OpCost optimizer_cost(const LayerQuery& q, const StageParameters& p) {
  if (q.job.task == TrainingTask::lora) return {};
  double owned = p.dense + p.expert;
  if (q.layout.sharding != catalog::Sharding::none) {
    const double dense = shard_group(q.job, q.groups.dp).ranks;
    owned = p.dense / dense + p.expert / q.groups.expert_dp.ranks;
  }
  const double bytes = owned * q.framework.update_traffic;
  return q.source.kernel_cost(workload::MemoryPass{Bytes(bytes / 2), Bytes(bytes / 2)});
}

StepEstimate assemble(const LayerQuery& q, const Stages& stages, const Composer& composer,
                      const StageParameters& fullest) {
  const Layout& l = q.layout;
  const int m = microbatches_of(q.job, l);
  const Composed first = composer.compose(stages.first);
  const Composed middle = l.pp > 2 ? composer.compose(stages.middle) : Composed{};
  const Composed last = l.pp > 1 ? composer.compose(stages.last) : Composed{};
  const PipelineTime pipeline = pipeline_time(
      {first.times, middle.times, last.times, l.pp}, m, l.vp,
      l.vp > 1 && l.schedule != catalog::Schedule::dualpipe ? catalog::Schedule::interleaved
                                                            : l.schedule);
  const Composed& slow = pipeline.slowest == SlowestStage::first    ? first
                         : pipeline.slowest == SlowestStage::middle ? middle
                                                                    : last;
  StepEstimate e;
  e.microbatches = m;
  e.stages = {first.times, middle.times, last.times, l.pp};
  for (std::size_t i = 0; i < slow.parts.size(); ++i) e.parts[i] = slow.parts[i] * m;
  const auto set = [&e](StepPhase p, double v) { e.parts[static_cast<std::size_t>(p)] += v; };
  set(StepPhase::bubble, pipeline.bubble);
  const double dp =
      replica_exposed(q, fullest, slow.times) + hybrid_exposed(q, fullest, slow.times);
  set(StepPhase::dp, dp);
  const double optimizer = optimizer_cost(q, fullest).seconds;
  set(StepPhase::optimizer, optimizer);
  set(StepPhase::overhead, q.framework.step_overhead_s);
  const double before = pipeline.seconds + dp + optimizer + q.framework.step_overhead_s;
  const double spread = q.framework.straggler *
                        std::sqrt(2 * math::log(std::max(1.0, static_cast<double>(q.job.gpus))));
  set(StepPhase::straggler, before * spread);
  e.seconds = before * (1 + spread);
  e.communication_s = e.part(StepPhase::tp) + e.part(StepPhase::cp) + e.part(StepPhase::ep) +
                      e.part(StepPhase::pp) + e.part(StepPhase::dp);
  return e;
}

}  // namespace

StepEstimate estimate_step(const TrainingJob& job, const Layout& layout,
                           const FrameworkModel& framework, const CostSource& source,
                           StepScratch& scratch) {
  const LayoutGroups groups = groups_of(job, layout);
  const LayerQuery q{job, layout, framework, groups, source};
  Stages stages = make_stages(q, scratch);
  set_transfers(q, stages);
  add_accumulation(q, stages);
  const StageParameters fullest = stage_parameters(
      job, layout, layout.pp == 1 ? StagePlace::only : StagePlace::first, stages.layers.first);
  Composer composer{job, layout, framework, 1, shard_traffic(q, fullest)};
  StepEstimate e = assemble(q, stages, composer, fullest);
  if (source.clock == nullptr) return e;
  OpCost busy = stages.work * (static_cast<double>(e.microbatches) / layout.pp);
  busy += optimizer_cost(q, fullest);
  const double waiting = std::max(0.0, e.seconds - busy.seconds);
  const ClockAnswer answer = source.clock(source.context, busy, waiting);
  if (answer.clock < 1) {
    composer.clock = answer.clock;
    e = assemble(q, stages, composer, fullest);
  }
  e.clock = answer.clock;
  e.watts = answer.watts;
  return e;
}

}  // namespace orrery::training
