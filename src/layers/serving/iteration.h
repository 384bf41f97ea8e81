// One iteration of an engine as kernels and messages: some requests decode a token each, and some
// prompts (or chunks of them) are prefilled in the same step.
//
//   products    with T = decoding requests + prompt tokens rows; weights split over tp
//   attention   decode reads the cache of every request; prefill attends within its prompt
//   MoE         E (1 - (1 - k/E)^T) experts are used, spread evenly over ep ranks; each reads
//               its weights once
//   MLA         decode works on the latent itself (the up projections absorbed); prefill expands it
//   quantising  8-bit products with block scales read their input again in a separate kernel;
//               4-bit weights of 16-bit products are read as stored
//   messages    two all-reduces of T h per layer over tp; spread experts: dispatch and combine
//   state       layers without attention (Mamba, gated delta): projections in and out, and a state
//               of fixed size per request, which decode reads and writes whole, prefill per chunk
// Source: the engines' model code (vLLM, SGLang), DeepSeek-V2 (arXiv 2405.04434) for absorption.
// adapters.h adds the cost of LoRA adapters. Left out: vision towers.
#pragma once

#include <vector>

#include "core/catalog/model_shape.h"
#include "core/workload/message.h"
#include "core/workload/operation.h"

namespace orrery::serving {

// How one replica is distributed over its devices. attention_dp ranks share the requests; tp splits
// attention and dense layers; moe_tp and ep split the experts. Devices = tp * attention_dp * pp.
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
  // 4-bit weights that are expanded to 16 bits inside the product (GPTQ, AWQ; Marlin, arXiv
  // 2408.11743): they take a quarter of the time to read and are multiplied no faster.
  bool weights_only = false;
  // A checkpoint with 4-bit experts whose attention output projection is 4-bit too: DeepSeek's
  // second one (nvidia/DeepSeek-R1-0528-NVFP4-v2).
  bool narrow_output = false;
};

// Returns the format of the projections of attention and of layers with a state. Four-bit
// checkpoints of mixtures of experts leave these in 16 bits (NVIDIA's checkpoints of Kimi K2,
// Qwen3.5, DeepSeek and Gemma 4 list them as not quantised); those of dense models do not.
inline catalog::Dtype mixing_format(const catalog::ModelShape& m, const ServingPrecision& p) {
  return m.is_moe() && p.products == catalog::Dtype::fp4 ? catalog::Dtype::bf16 : p.products;
}
inline catalog::Dtype mixed_output_format(const catalog::ModelShape& m, const ServingPrecision& p) {
  return p.narrow_output ? p.products : mixing_format(m, p);
}

// Four bits, and a 2-byte scale per 128 weights.
inline constexpr double kInt4Stored = 0.5 + 2.0 / 128;

// The work of one replica in one step.
struct Iteration {
  double decoding = 0;         // requests that advance by one token
  double context = 0;          // tokens in the cache per decoding request, on average
  double prompts = 0;          // number of prompts prefilled
  double prompt_tokens = 0;    // tokens per prompt in this step
  double prompt_cached = 0;    // tokens per prompt already in the cache
  double tokens_per_step = 1;  // tokens checked per request and step: more than 1 with speculation
  // Distinct adapters (adapters.h), in addition to the model's own kernels.
  double adapters = 0;
};

// What a kernel's size depends on: all tokens of the step, the decoding requests, the prompts, or
// the sampled tokens. StepClock keeps the costs of each separate.
enum class WorkPart { tokens, decode, prefill, sampled };

// The kernels of one layer (or of both ends) on one device, and the number of such layers.
struct WorkGroup {
  std::vector<workload::Operation> kernels;
  std::vector<WorkPart> parts;  // one per kernel
  std::vector<bool> expert;     // one per kernel: it works on the routed experts
  std::vector<workload::CollectiveCall> messages;
  double repeats = 0;
};

// The work of one device of a pipeline stage: dense layers, MoE layers, ends (embedding, head,
// sampling).
struct IterationWork {
  std::vector<WorkGroup> groups;
};

// Layers without attention: the width of their values, and the composition of their input product.
// Values, gates, queries and keys, as multiples of the width.
inline constexpr double kStateInputs = 2.5;
inline constexpr double kStateDepth = 128;  // state elements per value
inline double state_width(const catalog::ModelShape& m) { return 2 * m.hidden; }

// Messages name only their ranks; the callee knows how many of them share a scale-up domain.
IterationWork iteration_work(const catalog::ModelShape& model, const ServingSplit& split,
                             const ServingPrecision& precision, const Iteration& iteration);

}  // namespace orrery::serving
