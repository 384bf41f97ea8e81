// Step time, memory and draw of a training run: training/ fed with compute's kernel times and
// fabric's collective times.
//
//   tokens/s per GPU = batch * sequence / (step time * GPUs)
//   MFU              = model FLOPs (causal half, no recompute, no gradients of frozen weights) /
//                      (step time * peak)
// What the query leaves open (layout "auto", unpublished fields) is chosen: the fastest layout that
// fits. The interval combines, in quadrature, the errors of the framework family and of the
// accelerator on the rows that fixed their parameters; it is wider for a model without such rows
// (docs/models/training.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/estimate.h"
#include "core/catalog/catalog.h"
#include "layers/training/search.h"
#include "model/machine/costs.h"

namespace orrery::jobs {

// The fixed part of a layout; the rest is chosen.
struct LayoutWish {
  std::optional<int> tp;
  std::optional<int> pp;
  std::optional<int> vp;
  std::optional<int> cp;
  std::optional<int> ep;
  std::optional<int> microbatch;
  std::optional<catalog::Sharding> sharding;
  std::optional<catalog::Recompute> recompute;
  std::optional<catalog::Schedule> schedule;
  std::optional<bool> sequence_parallel;
  bool async_tp = false;

  bool complete() const;  // true if only recompute and details of a single device group are open
};

struct TrainingQuery {
  catalog::ModelShape model;
  const catalog::Accelerator* accelerator = nullptr;
  int gpus = 1;
  int scaleup = 0;     // devices joined by the scale-up link; 0: the accelerator's own figure
  BytesPerSecond nic;  // per device and direction; 0: none
  double sequence = 0;
  int batch = 0;  // in sequences
  LayoutWish layout;
  catalog::Precision precision = catalog::Precision::bf16;
  training::TrainingTask task = training::TrainingTask::pretrain;
  std::string framework = "default";
  std::string release;
  bool balanced_experts = false;  // routing is forced to be even; false: the router's own imbalance
  bool train_mtp = true;
  bool padded_experts = false;  // tokens are dropped or padded to equal shares
  bool compiled = true;
  double shard_group = 0;  // ranks that share one set of ZeRO-3 shards; 0: all replicas
  training::Recipe recipe;
  catalog::NetworkKind network = catalog::NetworkKind::infiniband;
  double oversubscription = 1;  // in the fabric
  fabric::RoutedLinks routed;   // the network as built, if it is known
  Watts power_limit;            // per device; 0: its own limit
};

struct TrainingPrediction {
  training::Layout layout;
  bool layout_chosen = false;  // part of the layout was left open
  bool fits = true;            // false: no candidate fits, and this one needs least memory
  training::StepEstimate step;
  training::MemoryEstimate memory;
  Bytes memory_limit;
  Estimate step_time_s;
  Estimate tokens_per_s_per_gpu;
  Estimate memory_bytes;
  Estimate watts;  // per device; value 0 if nothing is known of its draw
  double mfu = 0;
  Joules energy_per_step;  // for all devices
  training::SearchCounts counts;
  std::vector<training::RankedLayout> ranked;  // fastest first, if a layout was chosen
};

// Returns the family's parameters on this accelerator, in this release.
training::FrameworkModel framework_of(const machine::Models& models, const TrainingQuery& query);
// Returns what the query has that no fitted row has; each item widens the interval.
std::vector<training::Unseen> unseen_in(const machine::Models& models, const TrainingQuery& query);

// Returns device, links and factors of a query.
machine::Costs training_costs(const machine::Models& models, const TrainingQuery& query);

training::TrainingJob job_of(const TrainingQuery& query);
// Returns the candidates of a space that agree with the fixed part of a layout.
training::LayoutSpace narrowed(training::LayoutSpace space, const LayoutWish& wish);
// Returns the layouts that a prediction with open fields tries: the usual choices (ZeRO-1, 1F1B or
// interleaved, no context parallelism). `orrery search layout` tries whole_space.
training::LayoutSpace space_of(const TrainingQuery& query, const training::TrainingJob& job);
Bytes usable_memory(const catalog::Accelerator& a);

// Returns the time of a step with one layout that refuse_layout accepts.
double step_seconds(const machine::Models& models, const TrainingQuery& query,
                    const training::TrainingJob& job, const training::Layout& layout);

Result<TrainingPrediction> predict_training(const machine::Models& models,
                                            const TrainingQuery& query);
// Predicts one layout that refuse_layout accepts; shared by search and predict_training.
TrainingPrediction describe(const machine::Models& models, const TrainingQuery& query,
                            const training::TrainingJob& job, const machine::Costs& costs,
                            const training::Layout& layout);

}  // namespace orrery::jobs
