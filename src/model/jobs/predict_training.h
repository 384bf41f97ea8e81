// Step time, memory and draw of a training run: training/ fed with compute's kernel times and
// fabric's collective times.
//
//   tokens/s per GPU = batch * sequence / (step time * GPUs)
//   MFU              = model FLOPs (causal half, no recompute, no gradients of frozen weights) /
//                      (step time * peak)
// What the query leaves open (layout "auto", unpublished fields) is chosen: the fastest layout that
// fits. The interval's width is the framework family's and the accelerator's error on the rows that
// fixed their parameters, wider for a model that no such row is of, joined in quadrature
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

// What is fixed of a layout; the rest is chosen.
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

  bool complete() const;  // nothing but recompute and details of a single device group left open
};

struct TrainingQuery {
  catalog::ModelShape model;
  const catalog::Accelerator* accelerator = nullptr;
  int gpus = 1;
  int scaleup = 0;     // devices that the scale-up link joins; 0: the accelerator's own figure
  BytesPerSecond nic;  // of one device and direction; 0: none
  double sequence = 0;
  int batch = 0;  // sequences
  LayoutWish layout;
  catalog::Precision precision = catalog::Precision::bf16;
  training::TrainingTask task = training::TrainingTask::pretrain;
  std::string framework = "default";
  std::string release;
  bool balanced_experts = false;  // routing forced even; else the router's own imbalance
  bool train_mtp = true;
  bool padded_experts = false;  // tokens dropped or padded to equal shares
  bool compiled = true;
  double shard_group = 0;  // ranks that share one ZeRO-3 shard set; 0: all replicas
  training::Recipe recipe;
  catalog::NetworkKind network = catalog::NetworkKind::infiniband;
  double oversubscription = 1;  // of the fabric
  Watts power_limit;            // of one device; 0: its own
};

struct TrainingPrediction {
  training::Layout layout;
  bool layout_chosen = false;  // some of it was left open
  bool fits = true;            // false: no candidate fits, this is the one that needs least memory
  training::StepEstimate step;
  training::MemoryEstimate memory;
  Bytes memory_limit;
  Estimate step_time_s;
  Estimate tokens_per_s_per_gpu;
  Estimate memory_bytes;
  Estimate watts;  // of one device; value 0 where nothing is known of its draw
  double mfu = 0;
  Joules energy_per_step;  // of all devices
  training::SearchCounts counts;
  std::vector<training::RankedLayout> ranked;  // fastest first, where something was chosen
};

// The family's parameters on this accelerator, in this release.
training::FrameworkModel framework_of(const machine::Models& models, const TrainingQuery& query);
// What of the question no fitted row is of; each makes the interval wider.
std::vector<training::Unseen> unseen_in(const machine::Models& models, const TrainingQuery& query);

// Device, links and factors of one query.
machine::Costs training_costs(const machine::Models& models, const TrainingQuery& query);

training::TrainingJob job_of(const TrainingQuery& query);
// The candidates that a wish leaves of a space.
training::LayoutSpace narrowed(training::LayoutSpace space, const LayoutWish& wish);
// What a prediction with open fields tries: the usual choices (ZeRO-1, 1F1B or interleaved, no
// context parallelism). `orrery search layout` tries whole_space.
training::LayoutSpace space_of(const TrainingQuery& query, const training::TrainingJob& job);
Bytes usable_memory(const catalog::Accelerator& a);

Result<TrainingPrediction> predict_training(const machine::Models& models,
                                            const TrainingQuery& query);
// Of one layout that refuse_layout accepts; what search and predict_training share.
TrainingPrediction describe(const machine::Models& models, const TrainingQuery& query,
                            const training::TrainingJob& job, const machine::Costs& costs,
                            const training::Layout& layout);

}  // namespace orrery::jobs
