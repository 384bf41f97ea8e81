// A transformer layer as a list of kernels with their shapes, after the split over tp, cp and ep.
//
//   forward   norm, QKV product, rope, attention, output product, residual,
//             norm, up product, activation, down product, residual   (MoE: router, permute,
//             experts)
//   backward  for Y[T,n] = X[T,k] W[k,n]:  dgrad dX[T,k] = dY W^T,  wgrad dW[k,n] = X^T dY
//   saved     the tensors that the backward pass reads again, one by one, in bytes
//
// T = b s / c is the number of tokens of one rank. Tensor parallelism divides heads and widths by
// t; sequence parallelism divides the tensors between the products by t (Korthikanti et al., arXiv
// 2205.05198). Each rank's experts process T k / t rows in E / e products. Flash attention
// recomputes its scores. A state-space mixer (Mamba-2, arXiv 2405.21060) is one wide input product,
// a short convolution, a scan in chunks of 128 (counted as passes over its inputs and states) and
// one output product. Left out: dropout (its mask is counted if `dropout` is set), biases,
// embedding noise.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/catalog/model_shape.h"
#include "core/catalog/vocabulary.h"
#include "core/workload/operation.h"

namespace orrery::workload {

// Returns the nearest precision whose products are modelled here: wider and integer formats count
// as bf16.
catalog::Precision modelled(catalog::Precision p);
// Parses a modelled precision as data rows and the command line write it: "fp8_row".
std::optional<catalog::Precision> precision_from(std::string_view text);
// Returns the number format of weights and of linear layers' products. Wider formats count as bf16,
// int4 as fp4 (half a byte).
catalog::Dtype product_dtype(catalog::Precision p);
bool is_quantised(catalog::Precision p);

// How a framework implements the operations around the matrix products. Passes count memory traffic
// in whole tensors, so a fused kernel reads each input and writes each output once.
struct KernelStyle {
  bool fused_attention = true;  // flash; false: scores written out (Megatron-LM of 2022)
  bool fused_pointwise = true;  // norm, rope, activation and residual are one kernel each
  bool dropout = false;         // dropout masks are saved, one byte per element
  // Traffic of quantising an operand, as a multiple of reading it once and writing it once, by the
  // granularity of the scales: per tensor, row, block, 32 elements (MX) or 16 (NVFP4).
  double quantise_tensor = 1;
  double quantise_row = 2.5;
  double quantise_block = 1.25;
  double quantise_mx = 1.25;
  double quantise_nv = 1.5;
  double pointwise_traffic = 1;  // multiple of the minimum traffic
  double permute_traffic = 1;    // MoE dispatch and combine, as a multiple of the minimum traffic
  double scan_traffic = 1;       // state-space scan, as a multiple of the minimum traffic
  double loss_bytes = 16;        // device traffic per logit, forward and backward
};

struct LayerSplit {
  double microbatch = 1;  // sequences
  double sequence = 0;    // tokens per sequence
  int tp = 1;
  int cp = 1;
  int ep = 1;
  bool sequence_parallel = true;
  catalog::Precision precision = catalog::Precision::bf16;
  double imbalance = 1;          // rows of the busiest expert rank relative to the mean
  bool frozen = false;           // LoRA: adapters get gradients, the base weights none
  bool adapters_on_mlp = false;  // adapters on the MLP's products as well as on attention's
};

// The last four consist of a single mixer each, as in hybrid models.
enum class LayerKind { dense, moe, state_space, attention, mlp, experts };

// Tensors that the backward pass needs. They are named, so that a memory report can say what fills
// the device.
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

// A list without allocation. A step estimate fills several of them hundreds of thousands of times
// per second, so callers keep one and clear it.
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

// What one layer sends to other ranks in a forward pass; the backward pass sends the same again.
struct LayerMessages {
  Bytes tp_tensor;  // b s h / c: gathered or reduced at each block's edge
  // Blocks that need it: attention, and the MLP unless it is replaced by experts.
  double tp_exchanges = 0;
  Bytes ep_tensor;  // sent by one rank in dispatch, and again in combine
  Bytes cp_tensor;  // keys and values of one rank's share of the tokens
};

struct LayerWork {
  OpList forward;
  OpList dgrad;  // includes the backward pass's passes over memory
  OpList wgrad;
  // Passes over memory of the expert part: routing, permutation, activation, quantisation.
  OpList expert_forward;
  OpList expert_dgrad;
  SavedBytes saved;
  LayerMessages messages;
  // Forward kernels that selective recompute repeats; full recompute repeats the whole forward
  // pass.
  OpList attention_core;
  OpList latent_up;  // products that compute queries, keys and values from MLA's latents
  OpList norms;
  OpList expert_activation;
  // Number of entries of forward, dgrad and wgrad that belong to the mixer; the rest belong to the
  // MLP or experts.
  int mixer_forward = 0;
  int mixer_dgrad = 0;
  int mixer_wgrad = 0;
};

// A hybrid's layers by kind of mixer; `kind` is the kind of its MLP or expert layers.
struct LayerShare {
  LayerKind kind = LayerKind::dense;
  double layers = 0;
};
std::array<LayerShare, 3> hybrid_parts(const catalog::ModelShape& model, LayerKind kind);

// Overwrites `work`. `windowed` means that the model's sliding window limits the layer's attention.
void fill_layer_work(const catalog::ModelShape& model, LayerKind kind, bool windowed,
                     const LayerSplit& split, const KernelStyle& style, LayerWork& work);

// The embedding lookup at one end; final norm, LM head and loss at the other.
struct EndWork {
  OpList forward;
  OpList dgrad;
  OpList wgrad;
  Bytes logits;  // one 16-bit copy of this rank's share
};

void fill_embedding_work(const catalog::ModelShape& model, const LayerSplit& split, EndWork& work);
void fill_head_work(const catalog::ModelShape& model, const LayerSplit& split,
                    const KernelStyle& style, EndWork& work);

}  // namespace orrery::workload
