// One iteration of an engine as kernels and messages: some requests decode a token each, some
// prompts (or chunks of them) are prefilled in the same step.
//
//   products    T = decoding requests + prompt tokens rows, weights split over tp
//   attention   decode reads the cache of every request; prefill attends within its prompt
//   MoE         E (1 - (1 - k/E)^T) experts are touched, spread evenly over ep ranks; each reads
//               its weights once
//   MLA         decode works on the latent itself (the up projections absorbed), prefill expands it
//   quantising  8-bit products with block scales read their input once more, by a kernel of their
//               own; 4-bit weights of 16-bit products are read as stored
//   messages    two all-reduces of T h a layer over tp; with experts spread, dispatch and combine
//   state       layers without attention (Mamba, gated delta): projections in and out, and a state
//               of fixed size a request, which decode reads and writes whole, prefill once a chunk
// Source: the engines' model code (vLLM, SGLang), DeepSeek-V2 (arXiv 2405.04434) for absorption.
// Adapters stand beside these kernels (adapters.h). Left out: vision towers.
#pragma once

#include <vector>

#include "core/catalog/model_shape.h"
#include "core/workload/message.h"
#include "core/workload/operation.h"

namespace orrery::serving {

// How one replica lies on its devices. attention_dp ranks share the requests; tp splits attention
// and dense layers; moe_tp and ep split the experts. Devices = tp * attention_dp * pp.
struct ServingSplit {
  int tp = 1;
  int pp = 1;
  int attention_dp = 1;
  int moe_tp = 0;  // 0: tp * attention_dp / ep
  int ep = 1;

  int devices() const { return tp * attention_dp * pp; }
  int expert_tp() const {
    if (moe_tp > 0) return moe_tp;
    const int spread = tp * attention_dp / ep;
    return spread > 0 ? spread : 1;
  }
};

struct ServingPrecision {
  catalog::Dtype products = catalog::Dtype::bf16;
  catalog::Dtype experts = catalog::Dtype::bf16;
  catalog::Dtype kv = catalog::Dtype::bf16;
  // Weights in 4 bits, spread to 16 inside the product (GPTQ, AWQ; Marlin, arXiv 2408.11743): they
  // are read in a quarter of the time, and multiplied no faster.
  bool weights_only = false;
  // A 4-bit checkpoint of experts whose attention puts its result out by 4-bit products too:
  // DeepSeek's second one (nvidia/DeepSeek-R1-0528-NVFP4-v2).
  bool narrow_output = false;
};

// What attention and layers with a state are projected by. Four-bit checkpoints of mixtures of
// experts leave these in 16 bits (what NVIDIA's of Kimi K2, Qwen3.5, DeepSeek and Gemma 4 list as
// not quantised); those of dense models do not.
inline catalog::Dtype mixing_format(const catalog::ModelShape& m, const ServingPrecision& p) {
  return m.is_moe() && p.products == catalog::Dtype::fp4 ? catalog::Dtype::bf16 : p.products;
}
inline catalog::Dtype mixed_output_format(const catalog::ModelShape& m, const ServingPrecision& p) {
  return p.narrow_output ? p.products : mixing_format(m, p);
}

// Four bits and a 2-byte scale for 128 weights.
inline constexpr double kInt4Stored = 0.5 + 2.0 / 128;

// What one replica does in one step.
struct Iteration {
  double decoding = 0;         // requests that advance by one token
  double context = 0;          // tokens in the cache of one of them, on average
  double prompts = 0;          // prompts prefilled
  double prompt_tokens = 0;    // of one prompt, in this step
  double prompt_cached = 0;    // of one prompt, already in the cache
  double tokens_per_step = 1;  // checked at once for a request: more than 1 with speculation
  double adapters = 0;         // distinct ones (adapters.h), beside the model's own kernels
};

// What a kernel's size follows: all tokens of the step, the decoding requests, the prompts, or the
// tokens that are sampled. StepClock keeps the costs of each apart.
enum class WorkPart { tokens, decode, prefill, sampled };

// The kernels of one layer (or of both ends) on one device, and how often the layer occurs.
struct WorkGroup {
  std::vector<workload::Operation> kernels;
  std::vector<WorkPart> parts;  // of each kernel
  std::vector<bool> expert;     // it works on the routed experts
  std::vector<workload::CollectiveCall> messages;
  double repeats = 0;
};

// On one device of a pipeline stage: dense layers, MoE layers, ends (embedding, head, sampling).
struct IterationWork {
  std::vector<WorkGroup> groups;
};

// Of a layer without attention: how wide its values are, and of what its input product is made.
inline constexpr double kStateInputs = 2.5;  // values, gates, queries and keys, in widths
inline constexpr double kStateDepth = 128;   // elements of state for each value
inline double state_width(const catalog::ModelShape& m) { return 2 * m.hidden; }

// Messages name their ranks only; whoever answers knows how many of them share a scale-up domain.
IterationWork iteration_work(const catalog::ModelShape& model, const ServingSplit& split,
                             const ServingPrecision& precision, const Iteration& iteration);

}  // namespace orrery::serving
