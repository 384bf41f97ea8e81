// A transformer layer as a list of kernels with their shapes, after the split over tp, cp and ep.
//
//   forward   norm, QKV product, rope, attention, output product, residual,
//             norm, up product, activation, down product, residual   (MoE: router, permute,
//             experts)
//   backward  for Y[T,n] = X[T,k] W[k,n]:  dgrad dX[T,k] = dY W^T,  wgrad dW[k,n] = X^T dY
//   saved     the tensors that backward reads again, one by one, in bytes
//
// T = b s / c tokens of one rank; tensor parallelism divides heads and widths by t, sequence
// parallelism divides what lies between the products by t (Korthikanti et al., arXiv 2205.05198).
// Experts see T k / t rows each rank, in E / e products. Flash attention recomputes its scores.
// A state-space mixer (Mamba-2, arXiv 2405.21060) is one wide product, a short convolution, a scan
// in chunks of 128 that is counted as passes over its inputs and its states, and one product out.
// Left out: dropout (its mask is counted where `dropout` says so), biases, embedding noise.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/catalog/model_shape.h"
#include "core/catalog/vocabulary.h"
#include "core/workload/operation.h"

namespace orrery::workload {

// The nearest precision whose products are modelled here: wider and integer ones count as bf16.
catalog::Precision modelled(catalog::Precision p);
// One that is modelled, as rows and the command line write it: "fp8_row".
std::optional<catalog::Precision> precision_from(std::string_view text);
// Number format of weights and of the products of linear layers. Wider ones count as bf16, int4 as
// fp4: half a byte.
catalog::Dtype product_dtype(catalog::Precision p);
bool is_quantised(catalog::Precision p);

// How a framework writes the parts around the matrix products. Passes count memory traffic in
// whole tensors, so a fused kernel reads each input and writes each output once.
struct KernelStyle {
  bool fused_attention = true;  // flash; false: scores written out (Megatron-LM of 2022)
  bool fused_pointwise = true;  // norm, rope, activation and residual one kernel each
  bool dropout = false;         // masks saved, one byte an element
  // Traffic of quantising an operand, of reading it once and writing it once, by the precision's
  // way to scale: one scale a tensor, a row, a block, 32 elements (MX) or 16 (NVFP4).
  double quantise_tensor = 1;
  double quantise_row = 2.5;
  double quantise_block = 1.25;
  double quantise_mx = 1.25;
  double quantise_nv = 1.5;
  double pointwise_traffic = 1;  // of the least traffic
  double permute_traffic = 1;    // MoE dispatch and combine, of the least traffic
  double scan_traffic = 1;       // of a state-space scan, of the least traffic
  double loss_bytes = 16;        // device traffic for each logit, forward and backward
};

struct LayerSplit {
  double microbatch = 1;  // sequences
  double sequence = 0;    // tokens of each
  int tp = 1;
  int cp = 1;
  int ep = 1;
  bool sequence_parallel = true;
  catalog::Precision precision = catalog::Precision::bf16;
  double imbalance = 1;          // rows of the fullest expert rank over the mean
  bool frozen = false;           // LoRA: adapters get gradients, the products' own weights none
  bool adapters_on_mlp = false;  // beside the MLP's products as beside attention's
};

// The last four are one mixer each, as hybrid models have them.
enum class LayerKind { dense, moe, state_space, attention, mlp, experts };

// What backward needs again. Named, so that a memory report can say what fills the device.
enum class Saved {
  layer_input,
  norm_output,
  qkv,
  attention_output,
  attention_scores,
  mlp_input,
  mlp_up,
  mlp_activation,
  routed_tokens,
  dropout_masks,
};
inline constexpr int kSavedCount = 10;
const char* to_text(Saved s);

struct SavedBytes {
  std::array<double, kSavedCount> bytes{};

  double& operator[](Saved s) { return bytes[static_cast<std::size_t>(s)]; }
  double operator[](Saved s) const { return bytes[static_cast<std::size_t>(s)]; }
  double total() const;
};

// A list without allocation: a step estimate fills several of them, hundreds of thousands of times
// a second, so callers keep one and clear it.
class OpList {
 public:
  static constexpr int kCapacity = 48;

  void clear() { size_ = 0; }

  void add(const Operation& op) { items_[static_cast<std::size_t>(size_++)] = op; }
  std::span<const Operation> items() const {
    return {items_.data(), static_cast<std::size_t>(size_)};
  }
  int size() const { return size_; }

 private:
  std::array<Operation, kCapacity> items_{};
  int size_ = 0;
};

// What one layer says to other ranks in a forward pass; backward says the same again.
struct LayerMessages {
  Bytes tp_tensor;          // b s h / c: gathered or reduced at each block's edge
  double tp_exchanges = 0;  // blocks that need it: attention, and the MLP unless experts replace it
  Bytes ep_tensor;          // sent by one rank in dispatch, and again in combine
  Bytes cp_tensor;          // keys and values of one rank's share
};

struct LayerWork {
  OpList forward;
  OpList dgrad;  // and the passes over memory of backward
  OpList wgrad;
  // Passes over memory of the expert part: routing, permutation, activation, quantisation.
  OpList expert_forward;
  OpList expert_dgrad;
  SavedBytes saved;
  LayerMessages messages;
  // Forward kernels that kinds of selective recompute repeat; full recompute repeats all forward.
  OpList attention_core;
  OpList latent_up;  // products that make queries, keys and values from MLA's latents
  OpList norms;
  OpList expert_activation;
  // Entries of forward, dgrad and wgrad that belong to the mixer; the rest feeds.
  int mixer_forward = 0;
  int mixer_dgrad = 0;
  int mixer_wgrad = 0;
};

// A hybrid's layers by kind of mixer; `kind` says what its feeding layers are.
struct LayerShare {
  LayerKind kind = LayerKind::dense;
  double layers = 0;
};
std::array<LayerShare, 3> hybrid_parts(const catalog::ModelShape& model, LayerKind kind);

// Overwrites `work`. `windowed`: the layer's attention is cut by the model's sliding window.
void fill_layer_work(const catalog::ModelShape& model, LayerKind kind, bool windowed,
                     const LayerSplit& split, const KernelStyle& style, LayerWork& work);

// The embedding lookup and, at the other end, final norm, LM head and loss.
struct EndWork {
  OpList forward;
  OpList dgrad;
  OpList wgrad;
  Bytes logits;  // one copy in 16 bits of this rank's share
};

void fill_embedding_work(const catalog::ModelShape& model, const LayerSplit& split, EndWork& work);
void fill_head_work(const catalog::ModelShape& model, const LayerSplit& split,
                    const KernelStyle& style, EndWork& work);

}  // namespace orrery::workload
