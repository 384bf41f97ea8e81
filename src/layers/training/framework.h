// How a training framework runs the step: what it fuses, hides and adds. One set of parameters per
// framework family, from data/calibration/training_frameworks.csv; docs/models/training.md says
// which rows fixed each of them.
#pragma once

#include <string>

#include "core/workload/transformer.h"

namespace orrery::training {

// What selective recompute repeats: the attention core (Megatron before flash attention), cheap
// passes whose outputs are large (norms, activations; Megatron since), or every second product and
// all that lies between (TorchTitan).
enum class Selective { attention_core, passes, alternate_products };

struct FrameworkModel {
  std::string id;
  workload::KernelStyle style;
  Selective selective = Selective::attention_core;

  // Recompute ends when the last saved tensor is back (torch.utils.checkpoint): the layer's last
  // product is not repeated.
  bool early_stop = false;
  double eager_traffic = 1;     // of pointwise kernels and the loss where no compiler fuses them
  double attention_factor = 1;  // of attention kernels inside the framework over the same alone
  // It ships FlashAttention 2, written for the generation before asynchronous matrix units: half
  // as fast there as what came after.
  bool flash2 = false;
  // Of grouped products, how it runs many experts: with 16-bit operands, and with narrower ones.
  double grouped_16bit = 1;
  double grouped_8bit = 1;
  // Of what experts need beside their products: passes over memory, dispatch, launches. Releases of
  // one framework differ here by up to three times, and hardly elsewhere.
  double overhead_factor = 1;
  double expert_host_s = 0;   // host time of one pass through one MoE layer: counts come back first
  double graph_passes = 1;    // of experts' passes, where a whole step is one graph: fused for it
  double router_share = 0.5;  // of that, what a graph of router and preparation takes away
  double overlap_host = 1;    // of that, where dispatch is hidden behind another microbatch
  double eager_kernels = 1;   // launches for each kernel here where no compiler fuses them
  double kernel_factor = 1;   // time of kernels in the framework over their time alone
  double host_launch_s = 0;   // host time for each kernel; the step is never faster than this
  double step_overhead_s = 0;  // data, logging, synchronisation, once a step
  double straggler = 0;        // relative spread of a rank's step; the slowest sets the pace

  // Shares of the window that hides each kind of communication; 0 leaves it all exposed.
  double tp_overlap = 0;
  double tp_bulk_share = 1;     // of tp_overlap, what is left where the recipe turns overlap off
  double async_tp_overlap = 0;  // where the layout asks for asynchronous tensor parallelism
  double cp_overlap = 0;
  double ep_overlap = 0;
  // Of dispatch that leaves a domain, where interleaving (vp > 1) offers another microbatch to hide
  // it behind; the larger of the two holds.
  double ep_interleaved_overlap = 0;
  double pp_overlap = 0;
  double dp_overlap = 0;
  double error = 0.12;    // half-width of the 80 % interval of a step time, as a fraction
  double contention = 0;  // slowdown of compute while communication runs beside it

  // Bytes for each parameter.
  double weight_bytes = 2;
  double gradient_bytes = 4;
  double optimizer_bytes = 12;
  double reduce_bytes = 4;     // as they travel in the gradient reduction
  double gather_bytes = 2;     // as parameters travel back
  double update_traffic = 34;  // device traffic of the optimizer and the gradient norm
  // Device traffic of adding one microbatch's gradients to the step's; 0: the product that makes
  // them adds them too.
  double accumulate_traffic = 0;
  bool reduces_whole = false;  // gradients are summed whole even where their owners are sharded

  double logit_copies = 3;     // copies of the logits alive at once, in 16-bit units
  double workspace_bytes = 0;  // libraries, communication buffers, temporaries
  double memory_error = 0.2;   // 80 % half-width of the peak, by rows that publish theirs
  // Gradients are made tensor by tensor and dropped after the update (plain PyTorch), not kept in
  // one buffer; at the update they take update_gradient_bytes each.
  bool lazy_gradients = false;
  // Context-parallel ranks take whole stretches of a sequence in order, so that the last has almost
  // twice the mean of a causal mask's work; else each takes one from either end.
  bool cp_in_order = false;
  double update_gradient_bytes = 4;

  // Its recipes train a model's prediction modules (multi-token prediction) where nothing is told.
  bool trains_mtp = false;
};

}  // namespace orrery::training
