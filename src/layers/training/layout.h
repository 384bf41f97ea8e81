// What is trained, and how it is distributed over the devices: the inputs of a step estimate.
//
// gpus = tp cp dp pp. Ranks are numbered tp first, then cp, dp, pp (Megatron's order), so that a
// tensor-parallel group stays inside a scale-up domain if possible. Expert parallelism takes its
// ranks from tp cp dp; the other gpus / (pp ep) are an expert's replicas.
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
  int vp = 1;  // model chunks per pipeline stage (interleaving)
  int dp = 1;
  int cp = 1;
  int ep = 1;
  int microbatch = 1;  // sequences
  catalog::Sharding sharding = catalog::Sharding::zero1;
  catalog::Recompute recompute = catalog::Recompute::none;
  double recompute_share = 1;  // share of layers under full recompute
  catalog::Schedule schedule = catalog::Schedule::one_f_one_b;
  bool sequence_parallel = true;
  bool async_tp = false;  // products are split so that their own communication hides behind them

  bool operator==(const Layout&) const = default;
};

std::string to_text(const Layout& l);  // "tp8 pp4 vp2 dp16 mbs1 zero1 selective"

// How tokens reach their experts: one message per choice through the collective library, or special
// kernels that send a token only once to a domain, however many of its experts are there.
enum class Dispatcher { unknown, all_to_all, deepep, hybridep };
inline constexpr Word<Dispatcher> kDispatcherWords[] = {
    {Dispatcher::unknown, "unknown"},
    {Dispatcher::all_to_all, "alltoall"},
    {Dispatcher::deepep, "flex-deepep"},
    {Dispatcher::hybridep, "hybridep"},
};
constexpr WordTable<Dispatcher> words_of(Dispatcher) { return kDispatcherWords; }

// Which kernel launches were captured in a graph and are replayed by the device, without host time.
struct GraphScope {
  bool told = false;  // false: unknown; the framework's default applies
  bool whole_step = false;
  bool mixer = false;   // attention and state-space layers
  bool mlp = false;     // dense layers' MLP
  bool router = false;  // routing and the preparation of dispatch

  bool operator==(const GraphScope&) const = default;
};

// What selective recompute repeats, if a recipe names it.
struct RecomputeModules {
  bool named = false;
  bool norms = false;
  bool attention_core = false;
  bool latent_up = false;
  bool mlp = false;         // MLP of dense layers
  bool activation = false;  // activation of experts
  bool experts = false;     // the whole expert block

  bool operator==(const RecomputeModules&) const = default;
};

// What a recipe says about how a step runs besides its layout. The framework's default applies to
// anything it leaves out.
struct Recipe {
  GraphScope graph;
  RecomputeModules recompute;
  std::optional<bool> a2a_overlap;  // dispatch hidden behind another microbatch
  std::optional<bool> tp_overlap;
  Dispatcher dispatcher = Dispatcher::unknown;
  double lora_rank = 0;      // 0: 16
  bool lora_on_mlp = false;  // adapters on the MLP's products too
};

struct TrainingJob {
  catalog::ModelShape model;
  double sequence = 0;  // tokens
  int batch = 0;        // sequences per step, over all replicas
  int gpus = 1;
  int scaleup = 8;  // devices connected by the scale-up link
  catalog::Precision precision = catalog::Precision::bf16;
  TrainingTask task = TrainingTask::pretrain;
  double imbalance = 1;         // rows of the busiest expert rank relative to the mean
  bool train_mtp = true;        // multi-token-prediction modules are trained too
  bool padded_experts = false;  // experts get equal, padded shares: no wait for token counts
  bool compiled = true;         // a compiler fuses pointwise kernels
  double shard_group = 0;       // ranks that share one ZeRO-3 shard set; 0: all replicas
  Recipe recipe;
};

// Why a layout cannot run a job; memory is checked separately.
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
// Returns the reason in words; nullopt if the layout can run.
std::optional<std::string> refuse_layout(const TrainingJob& job, const Layout& layout);

// Groups as placed on scale-up domains, in the rank order above.
struct LayoutGroups {
  workload::GroupShape tp;
  workload::GroupShape cp;
  workload::GroupShape dp;  // replicas of the dense part: dp * cp ranks
  workload::GroupShape ep;
  workload::GroupShape expert_dp;
  workload::GroupShape pp;  // two neighbouring stages
};
LayoutGroups groups_of(const TrainingJob& job, const Layout& layout);

int microbatches_of(const TrainingJob& job, const Layout& layout);

}  // namespace orrery::training
