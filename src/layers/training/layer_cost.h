// The cost of one layer's passes on one rank: kernels by kind, and the communication with its
// tensor-, context- and expert-parallel neighbours.
//
//   exposed tp = (1 - overlap) * sum of gathers and scatters     SP: all-gather + reduce-scatter,
//                                                 else an all-reduce, per block
//   exposed cp = max(0, (c-1) sends - overlap * attention)
//   exposed ep = (1 - overlap) * (dispatch + combine)
#pragma once

#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layout.h"

namespace orrery::training {

struct PassCost {
  OpCost matrix;
  OpCost attention;
  OpCost passes;
  OpCost expert_passes;
  double kernels = 0;
  double expert_layers = 0;  // number of MoE layers in it
  double tp = 0;             // exposed seconds
  double cp = 0;
  double ep = 0;

  PassCost& operator+=(const PassCost& o);
  friend PassCost operator*(const PassCost& a, double f);

  double kernel_seconds(double clock) const {
    return matrix.at_clock(clock) + attention.at_clock(clock) + passes.at_clock(clock) +
           expert_passes.at_clock(clock);
  }
  double exposed() const { return tp + cp + ep; }
  OpCost work() const;
};

struct LayerCost {
  PassCost forward;
  PassCost dgrad;
  PassCost wgrad;
  PassCost recompute;  // the part of forward that the backward pass repeats

  LayerCost& operator+=(const LayerCost& o);
  friend LayerCost operator*(const LayerCost& a, double f);
  OpCost work() const;  // sum over all passes
};

// Memory for a layer's description; one per thread, kept between estimates to avoid constructing it
// again. It carries no information from one estimate to the next.
struct StepScratch {
  workload::LayerWork layer;
  workload::EndWork end;
};

struct LayerQuery {
  const TrainingJob& job;
  const Layout& layout;
  const FrameworkModel& framework;
  const LayoutGroups& groups;
  const CostSource& source;
};

// Returns the framework's style, adjusted if pointwise kernels are not compiled.
workload::KernelStyle style_of(const FrameworkModel& framework, const TrainingJob& job);
workload::LayerSplit split_of(const TrainingJob& job, const Layout& layout);
LayerCost layer_cost(const LayerQuery& q, workload::LayerKind kind, bool windowed,
                     StepScratch& scratch);
// Returns the mean of a model's windowed and full layers of one kind, or of a hybrid's mixers.
LayerCost mean_layer_cost(const LayerQuery& q, workload::LayerKind kind, StepScratch& scratch);
// Returns the cost of all passes through a model's prediction modules, without their heads; `main`
// is one of its layers. A hybrid's module is an attention layer and an expert layer in 16 bits.
LayerCost prediction_cost(const LayerQuery& q, const LayerCost& main, StepScratch& scratch);
// Returns how often a step passes through them; more than once if one module's weights serve
// several predictions.
int predictions_of(const catalog::ModelShape& model);
LayerCost embedding_cost(const LayerQuery& q, StepScratch& scratch);
LayerCost head_cost(const LayerQuery& q, StepScratch& scratch);

}  // namespace orrery::training
