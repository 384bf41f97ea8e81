#include "layers/training/memory.h"

#include <algorithm>

#include "core/workload/model_math.h"
#include "layers/training/stage_memory.h"
#include "layers/training/stages.h"

namespace orrery::training {
namespace {

// Gathered layers in memory at once under ZeRO-3: the one being computed and the one fetched ahead.
constexpr double kGatheredLayers = 2;

// The latents' share of MLA's queries, keys and values: (1536 + 512 + 64) of 65,000 elements.
constexpr double kLatentShare = 0.05;

struct LayerSaved {
  workload::SavedBytes dense;
  workload::SavedBytes moe;
};

workload::SavedBytes mean_saved(const TrainingJob& job, const workload::LayerSplit& split,
                                const workload::KernelStyle& style, workload::LayerKind kind,
                                workload::LayerWork& work) {
  if (!job.model.has_scan()) {
    fill_layer_work(job.model, kind, false, split, style, work);
    return work.saved;
  }
  workload::SavedBytes mean;
  for (const workload::LayerShare& part : workload::hybrid_parts(job.model, kind)) {
    fill_layer_work(job.model, part.kind, false, split, style, work);
    for (std::size_t i = 0; i < mean.bytes.size(); ++i) {
      mean.bytes[i] += work.saved.bytes[i] * part.layers / job.model.layers;
    }
  }
  return mean;
}

// Returns what is kept of a layer under the layout's recompute.
workload::SavedBytes kept(const workload::SavedBytes& all, const FrameworkModel& f, const Layout& l,
                          bool mla, double input_bytes) {
  workload::SavedBytes k = all;
  if (l.recompute == catalog::Recompute::full) {
    for (double& b : k.bytes) b *= 1 - l.recompute_share;
    k[workload::Saved::layer_input] += input_bytes * l.recompute_share;
  } else if (l.recompute == catalog::Recompute::selective) {
    if (f.selective == Selective::attention_core) {
      k[workload::Saved::attention_scores] = 0;
    } else if (f.selective == Selective::passes) {
      for (workload::Saved s : {workload::Saved::norm_output, workload::Saved::mlp_input,
                                workload::Saved::mlp_activation})
        k[s] = 0;
      if (mla) k[workload::Saved::qkv] *= kLatentShare;
    } else {
      // Keeps every second product's output and attention's; drops the outputs of pointwise
      // kernels.
      for (workload::Saved s : {workload::Saved::norm_output, workload::Saved::mlp_input,
                                workload::Saved::mlp_activation})
        k[s] = 0;
      k[workload::Saved::qkv] *= 0.5;
      k[workload::Saved::mlp_up] *= 0.5;
    }
  }
  return k;
}

void add(workload::SavedBytes& into, const workload::SavedBytes& layer, double times) {
  for (std::size_t i = 0; i < into.bytes.size(); ++i) into.bytes[i] += layer.bytes[i] * times;
}

double in_flight(const Layout& l, int stage, int microbatches) {
  if (l.pp == 1) return 1;
  if (l.schedule == catalog::Schedule::dualpipe) return std::min(l.pp + 1, microbatches);
  if (l.vp > 1) {
    const double chunks = (l.vp - 1) * l.pp + 2.0 * (l.pp - stage - 1) + 1;
    return std::min<double>(chunks / l.vp, microbatches);
  }
  return std::min(l.pp - stage, microbatches);
}

struct Shares {
  double dense = 1;
  double expert = 1;
};

Shares replicas(const TrainingJob& job, const Layout& l, const LayoutGroups& g) {
  double dense = g.dp.ranks;
  if (l.sharding == catalog::Sharding::zero3 && job.shard_group > 0) {
    dense = std::min(dense, job.shard_group);
  }
  return {dense, static_cast<double>(g.expert_dp.ranks)};
}

void fill_states(const TrainingJob& job, const Layout& l, const FrameworkModel& f,
                 const LayoutGroups& groups, const StageParameters& p, StageMemory& stage) {
  const Shares by = replicas(job, l, groups);
  const double whole = p.dense + p.expert;
  const double shard = p.dense / by.dense + p.expert / by.expert;
  const bool lora = job.task == TrainingTask::lora;
  const double trained = lora ? 0 : 1;
  const bool z1 = l.sharding != catalog::Sharding::none;
  const bool z2 = l.sharding == catalog::Sharding::zero2 || l.sharding == catalog::Sharding::zero3;
  const bool z3 = l.sharding == catalog::Sharding::zero3;
  const double working = kGatheredLayers * (p.layer_dense + p.layer_expert) * f.gather_bytes;
  stage.weights = Bytes(z3 ? shard * f.weight_bytes + working : whole * f.weight_bytes);
  stage.gradients = Bytes(trained * (z2 ? shard : whole) * f.gradient_bytes);
  stage.optimizer = Bytes(trained * (z1 ? shard : whole) * f.optimizer_bytes);
  // In DualPipe, which feeds the pipeline from both ends, every device holds two stages.
  if (l.schedule == catalog::Schedule::dualpipe) stage.weights *= 2;
  if (z3 && l.pp > 1) {
    // A pipeline runs many microbatches between two updates: it keeps gathered weights and reduces
    // whole gradients at the end, while a plain loop gathers and scatters for each microbatch.
    stage.weights += Bytes(p.dense * f.gather_bytes) - Bytes(working);
    stage.gradients = Bytes(trained * whole * f.gradient_bytes);
  }
}

// Gradients created tensor by tensor do not exist yet when activations are at their maximum; they
// and their fp32 copies exist when activations are gone. The larger of the two moments is the peak.
// Frozen weights have no gradients at either moment.
void settle_lazy_gradients(const TrainingJob& job, const FrameworkModel& f,
                           const StageParameters& p, int microbatches, StageMemory& stage) {
  if (!f.lazy_gradients || job.task == TrainingTask::lora) return;
  const double whole = p.dense + p.expert;
  const Bytes backward =
      stage.activations + stage.logits + (microbatches > 1 ? stage.gradients : Bytes(0));
  const Bytes update = Bytes(whole * f.update_gradient_bytes + 2 * p.largest_tensor);
  if (update > backward) {
    stage.peak_at_update = true;
    stage.activations = Bytes(0);
    stage.logits = Bytes(0);
    stage.gradients = update;
  } else if (microbatches == 1) {
    stage.gradients = Bytes(0);
  }
}

StageMemory stage_memory(const TrainingJob& job, const Layout& l, const FrameworkModel& f,
                         const LayoutGroups& groups, const LayerSaved& saved, StagePlace place,
                         int index, double layers, Bytes logits) {
  const catalog::ModelShape& m = job.model;
  const int microbatches = microbatches_of(job, l);
  const bool has_first = place == StagePlace::only || place == StagePlace::first;
  const bool has_last = place == StagePlace::only || place == StagePlace::last;
  const StageParameters p = stage_parameters(job, l, place, layers);
  const bool mla = m.attention == catalog::AttentionKind::mla;
  StageMemory stage;
  fill_states(job, l, f, groups, p, stage);
  stage.in_flight = in_flight(l, index, microbatches);
  const workload::LayerSplit split = split_of(job, l);
  const double input = split.microbatch * split.sequence / split.cp * m.hidden * 2 /
                       (l.sequence_parallel ? l.tp : 1);
  const double dense_layers =
      m.is_moe() ? (has_first ? std::min<double>(m.first_dense_layers, layers) : 0) : layers;
  const double moe_layers = layers - dense_layers + (has_last && job.train_mtp ? m.mtp_layers : 0);
  add(stage.saved, kept(saved.dense, f, l, mla, input), dense_layers * stage.in_flight);
  add(stage.saved, kept(saved.moe, f, l, mla, input), moe_layers * stage.in_flight);
  double activations = stage.saved.total();
  if (l.recompute == catalog::Recompute::full) {
    activations += (moe_layers > 0 ? saved.moe : saved.dense).total();
  }
  stage.activations = Bytes(activations + input * stage.in_flight);
  if (has_last) stage.logits = logits * f.logit_copies;
  stage.workspace = Bytes(f.workspace_bytes + 2 * input * (l.sequence_parallel ? l.tp : 1));
  settle_lazy_gradients(job, f, p, microbatches, stage);
  return stage;
}

// What the stages of a layout share, so that only the stage's place must be passed.
struct StageInputs {
  LayoutGroups groups;
  LayerSaved saved;
  Bytes logits;
  StageLayers layers;
};

StageInputs stage_inputs(const TrainingJob& job, const Layout& l, const FrameworkModel& f,
                         StepScratch& scratch) {
  StageInputs in{.groups = groups_of(job, l)};
  const workload::LayerSplit split = split_of(job, l);
  const workload::KernelStyle style = style_of(f, job);
  if (workload::dense_layer_count(job.model) > 0) {
    in.saved.dense = mean_saved(job, split, style, workload::LayerKind::dense, scratch.layer);
  }
  if (job.model.is_moe()) {
    in.saved.moe = mean_saved(job, split, style, workload::LayerKind::moe, scratch.layer);
  }
  in.logits = Bytes(split.microbatch * split.sequence / split.cp * job.model.vocab / l.tp * 2);
  in.layers = stage_layers(job.model.layers, l.pp, l.vp, 1);
  return in;
}

StageMemory memory_at(const TrainingJob& job, const Layout& l, const FrameworkModel& f,
                      const StageInputs& in, int index) {
  StagePlace place = StagePlace::middle;
  double layers = in.layers.middle;
  if (l.pp == 1) {
    place = StagePlace::only;
    layers = job.model.layers;
  } else if (index == 0) {
    place = StagePlace::first;
    layers = in.layers.first;
  } else if (index == l.pp - 1) {
    place = StagePlace::last;
    layers = in.layers.last;
  }
  return stage_memory(job, l, f, in.groups, in.saved, place, index, layers, in.logits);
}

}  // namespace

MemoryEstimate estimate_memory(const TrainingJob& job, const Layout& l, const FrameworkModel& f,
                               StepScratch& scratch) {
  const StageInputs in = stage_inputs(job, l, f, scratch);
  MemoryEstimate e;
  const auto consider = [&](int index) {
    const StageMemory s = memory_at(job, l, f, in, index);
    if (index == 0) e.first = s;
    if (index == l.pp - 1) e.last = s;
    if (s.total() > e.peak) {
      e.peak = s.total();
      e.peak_stage = index;
      e.stage = s;
    }
  };
  consider(0);
  if (l.pp > 2) consider(1);
  if (l.pp > 1) consider(l.pp - 1);
  return e;
}

std::vector<StageMemory> memory_by_stage(const TrainingJob& job, const Layout& l,
                                         const FrameworkModel& f, StepScratch& scratch) {
  const StageInputs in = stage_inputs(job, l, f, scratch);
  std::vector<StageMemory> stages;
  for (int i = 0; i < l.pp; ++i) stages.push_back(memory_at(job, l, f, in, i));
  return stages;
}

}  // namespace orrery::training
