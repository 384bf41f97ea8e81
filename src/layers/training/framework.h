// How a training framework runs the step: what it fuses, hides and adds. There is one set of
// parameters per framework family, in data/calibration/training_frameworks.csv;
// docs/models/training.md says which rows each parameter was fitted to.
#pragma once

#include <string>

#include "core/workload/transformer.h"

namespace orrery::training {

// What selective recompute repeats: the attention core (Megatron before flash attention); cheap
// passes with large outputs, that is norms and activations (Megatron since then); or every second
// product and everything in between (TorchTitan).
enum class Selective { attention_core, passes, alternate_products };

struct FrameworkModel {
  std::string id;
  workload::KernelStyle style;
  Selective selective = Selective::attention_core;

  // Recompute stops once the last saved tensor is restored (torch.utils.checkpoint), so the layer's
  // last product is not repeated.
  bool early_stop = false;
  // Traffic factor of pointwise kernels and the loss if no compiler fuses them.
  double eager_traffic = 1;
  double attention_factor = 1;  // time factor of attention kernels inside the framework
  // It ships FlashAttention 2, written for the generation before asynchronous matrix units, on
  // which it is half as fast as later versions.
  bool flash2 = false;
  // Time factors of grouped products as it runs many experts: with 16-bit operands, and with
  // narrower ones.
  double grouped_16bit = 1;
  double grouped_8bit = 1;
  // Factor of what experts need besides their products: passes over memory, dispatch, launches.
  // Releases of one framework differ here by up to three times, and hardly elsewhere.
  double overhead_factor = 1;
  // Host time per pass through one MoE layer, which waits for the token counts.
  double expert_host_s = 0;
  // Factor of experts' passes if the whole step is one graph, with fused kernels.
  double graph_passes = 1;
  double router_share = 0.5;  // share of expert_host_s that a graph of router and preparation saves
  // Factor of expert_host_s if dispatch is hidden behind another microbatch.
  double overlap_host = 1;
  double eager_kernels = 1;    // launches per kernel listed here if no compiler fuses them
  double kernel_factor = 1;    // time of kernels in the framework relative to their time alone
  double host_launch_s = 0;    // host time per kernel; the step is never faster than their sum
  double step_overhead_s = 0;  // data, logging, synchronisation, once per step
  // Relative spread of a rank's step time; the slowest rank sets the pace.
  double straggler = 0;

  // Shares of the window in which each kind of communication can be hidden; 0 exposes all of it.
  double tp_overlap = 0;
  double tp_bulk_share = 1;     // share of tp_overlap that remains if the recipe turns overlap off
  double async_tp_overlap = 0;  // overlap if the layout uses asynchronous tensor parallelism
  double cp_overlap = 0;
  double ep_overlap = 0;
  // For dispatch that leaves a domain, if interleaving (vp > 1) provides another microbatch to hide
  // it behind; the larger of the two overlaps applies.
  double ep_interleaved_overlap = 0;
  double pp_overlap = 0;
  double dp_overlap = 0;
  double error = 0.12;    // half-width of the 80 % interval of a step time, as a fraction
  double contention = 0;  // slowdown of compute while communication runs concurrently

  // Bytes per parameter.
  double weight_bytes = 2;
  double gradient_bytes = 4;
  double optimizer_bytes = 12;
  double reduce_bytes = 4;     // during the gradient reduction
  double gather_bytes = 2;     // bytes when updated parameters are gathered
  double update_traffic = 34;  // device traffic of the optimizer and of the gradient norm
  // Device traffic of adding one microbatch's gradients to the step's; 0: the product that computes
  // them adds them too.
  double accumulate_traffic = 0;
  bool reduces_whole = false;  // sums whole gradients even if their owners are sharded

  double logit_copies = 3;     // copies of the logits in memory at once, in 16-bit units
  double workspace_bytes = 0;  // libraries, communication buffers, temporaries
  double memory_error = 0.2;   // 80 % half-width of the peak, from rows that publish theirs
  // Gradients are created tensor by tensor and freed after the update (plain PyTorch), instead of
  // being kept in one buffer; during the update they take update_gradient_bytes each.
  bool lazy_gradients = false;
  // Context-parallel ranks take contiguous parts of a sequence in order, so the last one has almost
  // twice the mean work under a causal mask; otherwise each rank takes one part from either end.
  bool cp_in_order = false;
  double update_gradient_bytes = 4;

  // Its recipes train a model's prediction modules (multi-token prediction) unless the job says
  // otherwise.
  bool trains_mtp = false;
};

}  // namespace orrery::training
