// The cost of one layer's passes on one rank: kernels by kind, and the communication that its
// tensor-, context- and expert-parallel neighbours see.
//
//   exposed tp = (1 - overlap) * sum of gathers and scatters     SP: all-gather + reduce-scatter,
//                                                                else an all-reduce, each block
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
  double expert_layers = 0;  // MoE layers in it
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
  PassCost recompute;  // what backward repeats of forward

  LayerCost& operator+=(const LayerCost& o);
  friend LayerCost operator*(const LayerCost& a, double f);
  OpCost work() const;  // of all passes
};

// Memory that a layer's description is written to; one a thread, kept between estimates to spare
// its construction. It carries nothing from one estimate to the next.
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

// The framework's style, or what it becomes where pointwise kernels are not compiled.
workload::KernelStyle style_of(const FrameworkModel& framework, const TrainingJob& job);
workload::LayerSplit split_of(const TrainingJob& job, const Layout& layout);
LayerCost layer_cost(const LayerQuery& q, workload::LayerKind kind, bool windowed,
                     StepScratch& scratch);
// The mean of a model's windowed and full layers of one kind, or of a hybrid's mixers.
LayerCost mean_layer_cost(const LayerQuery& q, workload::LayerKind kind, StepScratch& scratch);
// All passes through a model's prediction modules, without their heads; `main` is one of its
// layers. A hybrid's module is an attention and an expert layer in 16 bits.
LayerCost prediction_cost(const LayerQuery& q, const LayerCost& main, StepScratch& scratch);
// Times that a step passes through them; several where one module's weights serve several
// predictions.
int predictions_of(const catalog::ModelShape& model);
LayerCost embedding_cost(const LayerQuery& q, StepScratch& scratch);
LayerCost head_cost(const LayerQuery& q, StepScratch& scratch);

}  // namespace orrery::training
