// What is trained, and how it is laid over the devices: the inputs of a step estimate.
//
// gpus = tp cp dp pp. Ranks are numbered tp first, then cp, dp, pp (Megatron's order), so that a
// tensor-parallel group stays inside a scale-up domain where it can. Expert parallelism takes its
// ranks from tp cp dp; an expert's replicas are the other gpus / (pp ep).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/words.h"
#include "core/catalog/model_shape.h"
#include "core/catalog/vocabulary.h"
#include "core/workload/message.h"
#include "core/workload/transformer.h"

namespace orrery::training {

enum class TrainingTask { pretrain, finetune, lora };

struct Layout {
  int tp = 1;
  int pp = 1;
  int vp = 1;  // model chunks a pipeline stage (interleaving)
  int dp = 1;
  int cp = 1;
  int ep = 1;
  int microbatch = 1;  // sequences
  catalog::Sharding sharding = catalog::Sharding::zero1;
  catalog::Recompute recompute = catalog::Recompute::none;
  double recompute_share = 1;  // of the layers, under full recompute
  catalog::Schedule schedule = catalog::Schedule::one_f_one_b;
  bool sequence_parallel = true;
  bool async_tp = false;  // products cut up so that their own communication hides behind them

  bool operator==(const Layout&) const = default;
};

std::string to_text(const Layout& l);  // "tp8 pp4 vp2 dp16 mbs1 zero1 selective"

// How tokens reach their experts: one message for every choice through the collective library, or
// kernels of their own that send a token once to a domain however many of its experts are there.
enum class Dispatcher { unknown, all_to_all, deepep, hybridep };
inline constexpr Word<Dispatcher> kDispatcherWords[] = {
    {Dispatcher::unknown, "unknown"},
    {Dispatcher::all_to_all, "alltoall"},
    {Dispatcher::deepep, "flex-deepep"},
    {Dispatcher::hybridep, "hybridep"},
};
constexpr WordTable<Dispatcher> words_of(Dispatcher) { return kDispatcherWords; }

// Which launches were recorded once and are replayed by the device: their host time is gone.
struct GraphScope {
  bool told = false;  // false: nothing is known, the framework's habit holds
  bool whole_step = false;
  bool mixer = false;   // attention and state-space layers
  bool mlp = false;     // dense layers' MLP
  bool router = false;  // routing and what prepares the dispatch

  bool operator==(const GraphScope&) const = default;
};

// What selective recompute repeats, where a recipe names it.
struct RecomputeModules {
  bool named = false;
  bool norms = false;
  bool attention_core = false;
  bool latent_up = false;
  bool mlp = false;         // of dense layers
  bool activation = false;  // of experts
  bool experts = false;     // the whole expert block

  bool operator==(const RecomputeModules&) const = default;
};

// What a recipe says of how a step runs beside its layout. What it leaves out is the framework's
// habit.
struct Recipe {
  GraphScope graph;
  RecomputeModules recompute;
  std::optional<bool> a2a_overlap;  // dispatch hidden behind another microbatch
  std::optional<bool> tp_overlap;
  Dispatcher dispatcher = Dispatcher::unknown;
  double lora_rank = 0;      // 0: 16
  bool lora_on_mlp = false;  // adapters beside the MLP's products too
};

struct TrainingJob {
  catalog::ModelShape model;
  double sequence = 0;  // tokens
  int batch = 0;        // sequences a step, all replicas together
  int gpus = 1;
  int scaleup = 8;  // devices that the scale-up link joins
  catalog::Precision precision = catalog::Precision::bf16;
  TrainingTask task = TrainingTask::pretrain;
  double imbalance = 1;   // rows of the fullest expert rank over the mean
  bool train_mtp = true;  // multi-token-prediction modules take part
  bool padded_experts =
      false;               // experts take equal, padded shares: the host need not wait for counts
  bool compiled = true;    // pointwise kernels fused by a compiler
  double shard_group = 0;  // ranks that share one ZeRO-3 shard set; 0: all replicas
  Recipe recipe;
};

// Why a layout cannot run a job. Memory is another question.
enum class LayoutFault {
  none,
  below_one,
  device_count,
  heads,
  kv_heads,
  ffn,
  layers,
  interleave_without_pipeline,
  chunks,
  batch,
  experts_of_dense_model,
  experts,
  expert_ranks,
  sequence,
};
LayoutFault layout_fault(const TrainingJob& job, const Layout& layout);
// The same in words; nullopt where the layout can run.
std::optional<std::string> refuse_layout(const TrainingJob& job, const Layout& layout);

// Groups as they lie on scale-up domains, by the rank order above.
struct LayoutGroups {
  workload::GroupShape tp;
  workload::GroupShape cp;
  workload::GroupShape dp;  // replicas of the dense part: dp * cp ranks
  workload::GroupShape ep;
  workload::GroupShape expert_dp;
  workload::GroupShape pp;  // two neighbours
};
LayoutGroups groups_of(const TrainingJob& job, const Layout& layout);

int microbatches_of(const TrainingJob& job, const Layout& layout);

}  // namespace orrery::training
