#include "layers/training/layer_cost.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/workload/model_math.h"

namespace orrery::training {
namespace {

// Returns the cost of a kernel that takes `factor` times as long with unchanged energy.
OpCost stretched(OpCost cost, double factor) {
  cost.seconds *= factor;
  cost.clocked *= factor;
  return cost;
}

// Returns the work of the last rank relative to the mean if a causal mask's rows are distributed in
// order: (2c - 1)/c.
double causal_imbalance(const LayerQuery& q) {
  return q.framework.cp_in_order ? 2 - 1.0 / q.layout.cp : 1;
}

void add_ops(const LayerQuery& q, const workload::OpList& ops, PassCost& into) {
  const FrameworkModel& f = q.framework;
  for (const workload::Operation& op : ops.items()) {
    const OpCost cost = q.source.kernel_cost(op);
    if (const workload::Gemm* gemm = std::get_if<workload::Gemm>(&op)) {
      const bool wide = gemm->dtype == catalog::Dtype::bf16 || gemm->dtype == catalog::Dtype::fp16;
      const double grouped = wide ? f.grouped_16bit : f.grouped_8bit;
      into.matrix += gemm->groups > 1 ? stretched(cost, grouped) : cost;
    } else if (std::holds_alternative<workload::Attention>(op)) {
      into.attention += stretched(cost, f.attention_factor * causal_imbalance(q));
    } else {
      into.passes += cost;
    }
  }
  into.kernels += ops.size();
}

void add_expert_passes(const LayerQuery& q, const workload::OpList& ops, double layers,
                       PassCost& into) {
  const bool fused = q.job.recipe.graph.whole_step && !q.job.model.biased_experts;
  const double factor = fused ? q.framework.graph_passes : 1;
  for (const workload::Operation& op : ops.items()) {
    into.expert_passes += stretched(q.source.kernel_cost(op), factor);
  }
  into.kernels += ops.size();
  into.expert_layers += layers;
}

// Tokens that go to several experts of one domain cross the network once (DeepEP, HybridEP).
// Returns the expected number of other domains among top_k choices, divided by the copies sent
// without this. Group-limited routing reaches at most as many domains as groups. The collective
// library sends every copy.
double crossing_share(const LayerQuery& q) {
  const workload::GroupShape& g = q.groups.ep;
  const catalog::ModelShape& m = q.job.model;
  const double domains = static_cast<double>(g.ranks) / g.per_domain;
  if (domains <= 1 || q.job.recipe.dispatcher == Dispatcher::all_to_all) return 1;
  const double k = m.top_k;
  const double others = (domains - 1) / domains;
  double reached = (domains - 1) * (1 - math::pow(others, k));
  if (m.expert_groups > 0 && m.expert_groups_per_token > 0) {
    const double limit = domains * m.expert_groups_per_token / m.expert_groups;
    reached = std::min(reached, std::max(1.0, limit) * others);
  }
  return reached / (k * others);
}

// Returns the share of dispatch and combine that is hidden. If the recipe turns overlap on, both
// are hidden behind another microbatch. If the recipe does not say, frameworks that can do this do
// it when interleaving provides that microbatch and the exchange leaves a domain.
double dispatch_overlap(const LayerQuery& q) {
  const FrameworkModel& f = q.framework;
  if (q.layout.schedule == catalog::Schedule::dualpipe) {
    return std::max(f.ep_overlap, f.ep_interleaved_overlap);
  }
  if (q.job.recipe.a2a_overlap) {
    return *q.job.recipe.a2a_overlap ? std::max(f.ep_overlap, f.ep_interleaved_overlap)
                                     : f.ep_overlap;
  }
  const bool leaves = q.groups.ep.ranks > q.groups.ep.per_domain;
  return leaves && q.layout.vp > 1 ? std::max(f.ep_overlap, f.ep_interleaved_overlap)
                                   : f.ep_overlap;
}

// Returns the time of one block's exchange in one direction of the step, all of it exposed.
double tp_exchange(const LayerQuery& q, Bytes tensor) {
  if (q.layout.tp <= 1) return 0;
  if (!q.layout.sequence_parallel) {
    return q.source.collective_seconds({workload::Collective::all_reduce, tensor, q.groups.tp});
  }
  return q.source.collective_seconds({workload::Collective::all_gather, tensor, q.groups.tp}) +
         q.source.collective_seconds({workload::Collective::reduce_scatter, tensor, q.groups.tp});
}

void add_communication(const LayerQuery& q, const workload::LayerMessages& say,
                       double attention_forward, LayerCost& cost) {
  const FrameworkModel& f = q.framework;
  double tp_overlap = q.layout.async_tp ? std::max(f.tp_overlap, f.async_tp_overlap) : f.tp_overlap;
  if (q.job.recipe.tp_overlap == false) tp_overlap *= f.tp_bulk_share;
  // If the recipe asks for overlap, a family that does not overlap by default does so like others.
  if (q.job.recipe.tp_overlap == true && tp_overlap <= 0) tp_overlap = f.async_tp_overlap;
  const double tp = say.tp_exchanges * tp_exchange(q, say.tp_tensor) * (1 - tp_overlap);
  cost.forward.tp = tp;
  cost.dgrad.tp = tp;
  if (q.layout.cp > 1) {
    const double ring =
        (q.layout.cp - 1) *
        q.source.collective_seconds({workload::Collective::send_recv, say.cp_tensor, q.groups.cp});
    cost.forward.cp = std::max(0.0, ring - f.cp_overlap * attention_forward);
    cost.dgrad.cp = std::max(0.0, 2 * ring - f.cp_overlap * 2.5 * attention_forward);
  }
  if (say.ep_tensor.base() > 0 && q.layout.ep > 1) {
    const double once = q.source.collective_seconds(
        {workload::Collective::all_to_all, say.ep_tensor * crossing_share(q), q.groups.ep});
    cost.forward.ep = 2 * once * (1 - dispatch_overlap(q));
    cost.dgrad.ep = cost.forward.ep;
  }
}

// Returns the cost of the layer's last product and what follows it, whose results the backward pass
// does not read.
PassCost after_last_saved(const LayerQuery& q, const workload::OpList& forward) {
  workload::OpList tail;
  for (std::size_t i = forward.items().size(); i-- > 0;) {
    tail.add(forward.items()[i]);
    if (std::holds_alternative<workload::Gemm>(forward.items()[i])) break;
  }
  PassCost cost;
  add_ops(q, tail, cost);
  return cost;
}

// Adds the modules that a recipe names, each with the operations that it repeats.
void add_named_recompute(const LayerQuery& q, workload::LayerKind kind,
                         const workload::LayerWork& work, LayerCost& cost) {
  const RecomputeModules& r = q.job.recipe.recompute;
  const bool routed = kind == workload::LayerKind::moe || kind == workload::LayerKind::experts;
  const bool mixes = work.mixer_forward > 0;
  if (r.norms) add_ops(q, work.norms, cost.recompute);
  if (r.latent_up) add_ops(q, work.latent_up, cost.recompute);
  if (r.attention_core && mixes) add_ops(q, work.attention_core, cost.recompute);
  if (routed ? r.experts : r.mlp) {
    workload::OpList feed;
    const auto all = work.forward.items();
    for (std::size_t i = static_cast<std::size_t>(work.mixer_forward); i < all.size(); ++i) {
      feed.add(all[i]);
    }
    add_ops(q, feed, cost.recompute);
    if (routed) {
      add_expert_passes(q, work.expert_forward, 1, cost.recompute);
      cost.recompute.ep = cost.forward.ep;
    }
  } else if (routed && r.activation) {
    add_ops(q, work.expert_activation, cost.recompute);
  }
}

void add_recompute(const LayerQuery& q, workload::LayerKind kind, const workload::LayerWork& work,
                   LayerCost& cost) {
  if (q.layout.recompute == catalog::Recompute::full) {
    cost.recompute = cost.forward;
    if (q.framework.early_stop) cost.recompute += after_last_saved(q, work.forward) * -1;
    cost.recompute = cost.recompute * q.layout.recompute_share;
  } else if (q.layout.recompute == catalog::Recompute::selective) {
    if (q.job.recipe.recompute.named) return add_named_recompute(q, kind, work, cost);
    if (q.framework.selective == Selective::attention_core) {
      // Flash attention keeps no scores, so selective recompute has nothing to drop.
      if (!q.framework.style.fused_attention) add_ops(q, work.attention_core, cost.recompute);
    } else if (q.framework.selective == Selective::passes) {
      cost.recompute.passes = cost.forward.passes;
      cost.recompute.expert_passes = cost.forward.expert_passes;
      add_ops(q, work.latent_up, cost.recompute);
      cost.recompute.kernels = 0.5 * cost.forward.kernels;
    } else {
      cost.recompute.matrix = cost.forward.matrix * 0.5;
      cost.recompute.passes = cost.forward.passes;
      cost.recompute.expert_passes = cost.forward.expert_passes;
      cost.recompute.kernels = 0.5 * cost.forward.kernels;
    }
  }
}

// Launches that a graph replays take no host time; unfused operations launch several kernels each.
void leave_out_recorded(const LayerQuery& q, workload::LayerKind kind,
                        const workload::LayerWork& work, LayerCost& cost) {
  const GraphScope& g = q.job.recipe.graph;
  const bool routed = kind == workload::LayerKind::moe || kind == workload::LayerKind::experts;
  const bool feed_recorded = g.whole_step || (!routed && g.mlp);
  const auto settle = [&](PassCost& p, int mixer) {
    if (g.whole_step || g.mixer) p.kernels -= mixer;
    if (feed_recorded) p.kernels = std::min<double>(p.kernels, g.whole_step || g.mixer ? 0 : mixer);
    if (!q.job.compiled) p.kernels *= q.framework.eager_kernels;
    if (g.whole_step) p.expert_layers = 0;
    if (g.router) p.expert_layers *= 1 - q.framework.router_share;
  };
  settle(cost.forward, work.mixer_forward);
  settle(cost.dgrad, work.mixer_dgrad);
  settle(cost.wgrad, work.mixer_wgrad);
}

LayerCost end_cost(const LayerQuery& q, const workload::EndWork& work) {
  LayerCost cost;
  add_ops(q, work.forward, cost.forward);
  add_ops(q, work.dgrad, cost.dgrad);
  add_ops(q, work.wgrad, cost.wgrad);
  for (PassCost* p : {&cost.forward, &cost.dgrad, &cost.wgrad}) {
    if (q.job.recipe.graph.whole_step) p->kernels = 0;
    if (!q.job.compiled) p->kernels *= q.framework.eager_kernels;
  }
  return cost;
}

}  // namespace

PassCost& PassCost::operator+=(const PassCost& o) {
  matrix += o.matrix;
  attention += o.attention;
  passes += o.passes;
  expert_passes += o.expert_passes;
  kernels += o.kernels;
  expert_layers += o.expert_layers;
  tp += o.tp;
  cp += o.cp;
  ep += o.ep;
  return *this;
}

PassCost operator*(const PassCost& a, double f) {
  return {.matrix = a.matrix * f,
          .attention = a.attention * f,
          .passes = a.passes * f,
          .expert_passes = a.expert_passes * f,
          .kernels = a.kernels * f,
          .expert_layers = a.expert_layers * f,
          .tp = a.tp * f,
          .cp = a.cp * f,
          .ep = a.ep * f};
}

OpCost PassCost::work() const {
  OpCost sum = matrix;
  sum += attention;
  sum += passes;
  return sum += expert_passes;
}

LayerCost& LayerCost::operator+=(const LayerCost& o) {
  forward += o.forward;
  dgrad += o.dgrad;
  wgrad += o.wgrad;
  recompute += o.recompute;
  return *this;
}

LayerCost operator*(const LayerCost& a, double f) {
  return {.forward = a.forward * f,
          .dgrad = a.dgrad * f,
          .wgrad = a.wgrad * f,
          .recompute = a.recompute * f};
}

OpCost LayerCost::work() const {
  OpCost sum = forward.work();
  sum += dgrad.work();
  sum += wgrad.work();
  return sum += recompute.work();
}

workload::LayerSplit split_of(const TrainingJob& job, const Layout& l) {
  return {.microbatch = static_cast<double>(l.microbatch),
          .sequence = job.sequence,
          .tp = l.tp,
          .cp = l.cp,
          .ep = l.ep,
          .sequence_parallel = l.sequence_parallel,
          .precision = job.precision,
          .imbalance = job.imbalance,
          .frozen = job.task == TrainingTask::lora,
          .adapters_on_mlp = job.recipe.lora_on_mlp};
}

workload::KernelStyle style_of(const FrameworkModel& f, const TrainingJob& job) {
  workload::KernelStyle style = f.style;
  if (job.compiled) return style;
  style.fused_pointwise = false;
  style.pointwise_traffic *= f.eager_traffic;
  style.loss_bytes *= f.eager_traffic;
  return style;
}

namespace {

LayerCost layer_cost_in(const LayerQuery& q, workload::LayerKind kind, bool windowed,
                        catalog::Precision precision, StepScratch& scratch) {
  workload::LayerWork& work = scratch.layer;
  workload::LayerSplit split = split_of(q.job, q.layout);
  split.precision = precision;
  fill_layer_work(q.job.model, kind, windowed, split, style_of(q.framework, q.job), work);
  LayerCost cost;
  add_ops(q, work.forward, cost.forward);
  add_ops(q, work.dgrad, cost.dgrad);
  add_ops(q, work.wgrad, cost.wgrad);
  if (kind == workload::LayerKind::moe || kind == workload::LayerKind::experts) {
    add_expert_passes(q, work.expert_forward, 1, cost.forward);
    add_expert_passes(q, work.expert_dgrad, 1, cost.dgrad);
    cost.wgrad.expert_layers = 1;
  }
  leave_out_recorded(q, kind, work, cost);
  add_communication(q, work.messages, cost.forward.attention.seconds, cost);
  add_recompute(q, kind, work, cost);
  return cost;
}

// NVFP4 recipes for hybrids keep the last layers in 16 bits: 14 of 88 in Nemotron 3 Super
// (Megatron-Bridge mixed_precision.py), 16 % of the products in arXiv 2509.25149.
constexpr double kWideTail = 14.0 / 88;

LayerCost hybrid_sum(const LayerQuery& q, workload::LayerKind kind, catalog::Precision precision,
                     StepScratch& scratch) {
  LayerCost sum;
  for (const workload::LayerShare& part : workload::hybrid_parts(q.job.model, kind)) {
    if (part.layers <= 0) continue;
    sum += layer_cost_in(q, part.kind, false, precision, scratch) * part.layers;
  }
  return sum * (1.0 / q.job.model.layers);
}

LayerCost mean_hybrid_cost(const LayerQuery& q, workload::LayerKind kind, StepScratch& scratch) {
  const catalog::Precision p = q.job.precision;
  if (p != catalog::Precision::nvfp4) return hybrid_sum(q, kind, p, scratch);
  LayerCost mean = hybrid_sum(q, kind, p, scratch) * (1 - kWideTail);
  return mean += hybrid_sum(q, kind, catalog::Precision::bf16, scratch) * kWideTail;
}

// Nemotron 3 Super, Ultra and 3.5 Lightning train one module for two successive predictions
// (Megatron-Bridge recipes: mtp_num_layers 2, mtp_use_repeated_layer).
constexpr int kHybridPredictions = 2;

}  // namespace

LayerCost layer_cost(const LayerQuery& q, workload::LayerKind kind, bool windowed,
                     StepScratch& scratch) {
  return layer_cost_in(q, kind, windowed, q.job.precision, scratch);
}

int predictions_of(const catalog::ModelShape& m) {
  return m.mtp_layers * (m.has_scan() ? kHybridPredictions : 1);
}

LayerCost prediction_cost(const LayerQuery& q, const LayerCost& main, StepScratch& scratch) {
  const catalog::ModelShape& m = q.job.model;
  if (!m.has_scan()) return main * predictions_of(m);
  const catalog::Precision wide = q.job.precision == catalog::Precision::fp16
                                      ? catalog::Precision::fp16
                                      : catalog::Precision::bf16;
  LayerCost module = layer_cost_in(q, workload::LayerKind::attention, false, wide, scratch);
  const auto feed = m.is_moe() ? workload::LayerKind::experts : workload::LayerKind::mlp;
  module += layer_cost_in(q, feed, false, wide, scratch);
  return module * predictions_of(m);
}

LayerCost mean_layer_cost(const LayerQuery& q, workload::LayerKind kind, StepScratch& scratch) {
  if (q.job.model.has_scan()) return mean_hybrid_cost(q, kind, scratch);
  const int windowed = workload::windowed_layer_count(q.job.model);
  const int layers = std::max(1, q.job.model.layers);
  if (windowed == 0) return layer_cost(q, kind, false, scratch);
  if (windowed == layers) return layer_cost(q, kind, true, scratch);
  const double share = static_cast<double>(windowed) / layers;
  LayerCost mean = layer_cost(q, kind, true, scratch) * share;
  return mean += layer_cost(q, kind, false, scratch) * (1 - share);
}

LayerCost embedding_cost(const LayerQuery& q, StepScratch& scratch) {
  fill_embedding_work(q.job.model, split_of(q.job, q.layout), scratch.end);
  return end_cost(q, scratch.end);
}

LayerCost head_cost(const LayerQuery& q, StepScratch& scratch) {
  fill_head_work(q.job.model, split_of(q.job, q.layout), style_of(q.framework, q.job), scratch.end);
  return end_cost(q, scratch.end);
}

}  // namespace orrery::training
