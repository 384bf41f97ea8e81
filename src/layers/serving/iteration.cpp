#include "layers/serving/iteration.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/math.h"
#include "core/workload/model_math.h"

namespace orrery::serving {
namespace {

constexpr double kWide = 2;  // bytes of an activation
// Eight-bit checkpoints of models with more experts per token than this (DeepSeek, Qwen3) have one
// scale per block, so a kernel quantises the activations before each product. Other models' (Llama,
// Mixtral) have one scale per tensor, known beforehand.
constexpr int kTensorScaled = 2;

struct Layer {
  const catalog::ModelShape& model;
  const ServingSplit& split;
  const ServingPrecision& precision;
  // Decoding requests of one attention rank.
  double decoding = 0;
  double prompts = 0;
  const Iteration& iteration;
  WorkGroup out;

  double tokens() const {
    return decoding * iteration.tokens_per_step + prompts * iteration.prompt_tokens;
  }
  WorkPart part = WorkPart::tokens;
  bool expert = false;

  void kernel(const workload::Operation& op) {
    out.kernels.push_back(op);
    out.parts.push_back(part);
    out.expert.push_back(expert);
  }
  void product(double rows, double columns, double depth, catalog::Dtype dtype, double groups = 1) {
    if (rows <= 0) return;
    if (dtype == catalog::Dtype::fp8 && model.top_k > kTensorScaled) {
      const double all = rows * groups * depth;
      kernel(workload::MemoryPass{.read = Bytes(kWide * all), .written = Bytes(all)});
    }
    kernel(workload::Gemm{.m = rows, .n = columns, .k = depth, .dtype = dtype, .groups = groups});
  }
  // A product with quantised weights: projections, MLPs, experts.
  void weighted(double rows, double columns, double depth, catalog::Dtype dtype,
                double groups = 1) {
    product(rows, columns, depth, dtype, groups);
    if (rows > 0 && precision.weights_only) {
      std::get<workload::Gemm>(out.kernels.back()).stored = kInt4Stored;
    }
  }
  void pass(double read, double written) {  // counted in elements of 16 bits
    kernel(workload::MemoryPass{.read = Bytes(kWide * read), .written = Bytes(kWide * written)});
  }
  void all_reduce(int ranks) {
    if (ranks <= 1) return;
    out.messages.push_back({.kind = workload::Collective::all_reduce,
                            .bytes = Bytes(kWide * tokens() * model.hidden),
                            .group = {.ranks = ranks, .per_domain = ranks}});
  }
};

void add_attention_kernels(Layer& l, const workload::Attention& decode,
                           const workload::Attention& prefill) {
  l.part = WorkPart::decode;
  if (l.decoding > 0) l.kernel(decode);
  l.part = WorkPart::prefill;
  if (l.prompts > 0) l.kernel(prefill);
  l.part = WorkPart::tokens;
}

workload::Attention decode_kernel(const Layer& l) {
  workload::Attention a;
  a.batch = l.decoding;
  a.q_len = l.iteration.tokens_per_step;
  a.kv_len = std::max(l.iteration.context, a.q_len);
  a.causal = a.q_len > 1;
  a.dtype = l.precision.kv;
  return a;
}

workload::Attention prefill_kernel(const Layer& l) {
  workload::Attention a;
  a.batch = l.prompts;
  a.q_len = l.iteration.prompt_tokens;
  a.kv_len = l.iteration.prompt_cached + a.q_len;
  return a;
}

void add_grouped_query(Layer& l, double window) {
  const catalog::ModelShape& m = l.model;
  const double tp = l.split.tp;
  const double heads = m.heads / tp;
  const double kv_heads = std::max(1.0, m.kv_heads / tp);  // replicated if tp exceeds them
  const double q_width = heads * m.head_dim;
  const double kv_width = kv_heads * m.head_dim;
  const double rows = l.tokens();
  l.weighted(rows, q_width + 2 * kv_width, m.hidden, mixing_format(m, l.precision));
  l.pass(rows * (q_width + 2 * kv_width), rows * (q_width + 2 * kv_width));  // rope, cache write
  workload::Attention decode = decode_kernel(l);
  workload::Attention prefill = prefill_kernel(l);
  for (workload::Attention* a : {&decode, &prefill}) {
    a->q_heads = heads;
    a->kv_heads = kv_heads;
    a->qk_dim = m.head_dim;
    a->v_dim = m.head_dim;
    a->window = window;
  }
  add_attention_kernels(l, decode, prefill);
  l.weighted(rows, m.hidden, q_width, mixed_output_format(m, l.precision));
}

void add_latent(Layer& l) {
  const catalog::ModelShape& m = l.model;
  const double heads = m.heads / static_cast<double>(l.split.tp);
  const double q_dim = m.qk_nope_dim + m.qk_rope_dim;
  const double latent = m.kv_lora_rank + m.qk_rope_dim;
  const double rows = l.tokens();
  const catalog::Dtype d = mixing_format(m, l.precision);
  l.weighted(rows, m.q_lora_rank + latent, m.hidden, d);
  if (m.q_lora_rank > 0) l.weighted(rows, heads * q_dim, m.q_lora_rank, d);
  if (m.q_lora_rank <= 0) l.weighted(rows, heads * q_dim, m.hidden, d);
  l.pass(rows * (heads * q_dim + latent), rows * (heads * q_dim + latent));

  // Decode multiplies the query into the latent space and the result out of it, head by head.
  const double decode_rows = l.decoding * l.iteration.tokens_per_step;
  l.part = WorkPart::decode;
  // A batched product over heads reads their weights at the same rate as one wide product.
  l.product(decode_rows, heads * m.kv_lora_rank, m.qk_nope_dim, catalog::Dtype::bf16);
  workload::Attention decode = decode_kernel(l);
  decode.q_heads = heads;
  decode.qk_dim = latent;
  decode.v_dim = m.kv_lora_rank;
  // Keys and values are a single latent, read once: this is the share of their two widths that is
  // read.
  decode.kv_heads = latent / (latent + m.kv_lora_rank);
  l.product(decode_rows, heads * m.v_head_dim, m.kv_lora_rank, catalog::Dtype::bf16);

  const double prefill_rows = l.prompts * l.iteration.prompt_tokens;
  l.part = WorkPart::prefill;
  l.weighted(prefill_rows, heads * (m.qk_nope_dim + m.v_head_dim), m.kv_lora_rank, d);
  workload::Attention prefill = prefill_kernel(l);
  prefill.q_heads = heads;
  prefill.kv_heads = heads;
  prefill.qk_dim = q_dim;
  prefill.v_dim = m.v_head_dim;
  add_attention_kernels(l, decode, prefill);
  l.weighted(rows, m.hidden, heads * m.v_head_dim, mixed_output_format(m, l.precision));
}

void add_mlp(Layer& l, double width, double tp) {
  const double up = (l.model.gated_mlp ? 2 : 1) * width / tp;
  const double rows = l.tokens();
  l.weighted(rows, up, l.model.hidden, l.precision.products);
  l.pass(rows * up, rows * width / tp);
  l.weighted(rows, l.model.hidden, width / tp, l.precision.products);
}

// Tokens are spread evenly over experts: a rank with more than the mean in some step does not delay
// the others here. Without that delay, models outside the fit are predicted more accurately.
void add_experts(Layer& l) {
  const catalog::ModelShape& m = l.model;
  const double all_tokens = l.tokens() * l.split.attention_dp;  // experts serve all attention ranks
  const double local = m.experts / static_cast<double>(l.split.ep);
  const double pairs = all_tokens * m.top_k / l.split.ep;
  // A group has at least one row; a grouped kernel is used even for a single expert.
  const double missed = math::pow(1 - m.top_k / static_cast<double>(m.experts), all_tokens);
  const double touched = std::clamp(local * (1 - missed), 1.0, std::max(1.0, pairs));
  const double groups = std::max(touched, 1 + 1e-9);
  const double width = m.expert_ffn / l.split.expert_tp();
  const double up = (m.gated_mlp ? 2 : 1) * width;
  l.product(l.tokens(), m.experts, m.hidden, catalog::Dtype::bf16);  // router
  l.expert = true;
  l.weighted(pairs / groups, up, m.hidden, l.precision.experts, groups);
  l.pass(pairs * up, pairs * width);
  l.weighted(pairs / groups, m.hidden, width, l.precision.experts, groups);
  l.expert = false;
  l.pass(pairs * m.hidden, pairs / m.top_k * m.hidden);  // weighted sum
  if (m.shared_experts > 0) {
    const double shared = m.shared_expert_ffn > 0 ? m.shared_expert_ffn : m.expert_ffn;
    add_mlp(l, m.shared_experts * shared, l.split.tp);
  }
}

// Tokens go to the devices of their experts and come back, or partial sums are added. A token is
// sent once to each rank that has one of its experts, in the experts' format, and its sum comes
// back in 16 bits.
void add_expert_messages(Layer& l) {
  const int ranks = l.split.tp * l.split.attention_dp;
  if (l.split.attention_dp <= 1) return l.all_reduce(ranks);
  const double copies = l.split.ep * (1 - math::pow(1 - 1.0 / l.split.ep, l.model.top_k));
  for (const double width : {bytes_per_element(l.precision.experts), kWide}) {
    l.out.messages.push_back(
        {.kind = workload::Collective::all_to_all,
         .bytes = Bytes(width * l.tokens() / l.split.tp * copies * l.model.hidden),
         .group = {.ranks = ranks, .per_domain = ranks}});
  }
}

void add_norms(Layer& l) {
  const double elements = l.tokens() * l.model.hidden;
  for (int i = 0; i < 2; ++i) l.pass(2 * elements, 2 * elements);  // residual and norm
}

// A gated delta or Mamba layer: queries, keys, values and gates in one product; the state of every
// decoding request is read and written whole. Widths are as in Qwen3-Next and Mamba-2: values are
// twice the model's width, with 128 elements of 32-bit state each.
void add_state(Layer& l) {
  const double width = state_width(l.model) / l.split.tp;
  const double rows = l.tokens();
  l.weighted(rows, kStateInputs * width, l.model.hidden, mixing_format(l.model, l.precision));
  l.pass(rows * kStateInputs * width, rows * kStateInputs * width);  // convolution, norms, gates
  const double state = 2 * width * kStateDepth * l.iteration.tokens_per_step;
  l.part = WorkPart::decode;
  if (l.decoding > 0) l.pass(l.decoding * state, l.decoding * state);
  l.part = WorkPart::tokens;
  l.weighted(rows, l.model.hidden, width, mixed_output_format(l.model, l.precision));
}

enum class Mixing { full, windowed, state };

void add_attention_block(Layer& l, Mixing mixing) {
  const double window = mixing == Mixing::windowed ? l.model.sliding_window : 0;
  if (mixing == Mixing::state) {
    add_state(l);
  } else if (l.model.attention == catalog::AttentionKind::mla) {
    add_latent(l);
  } else {
    add_grouped_query(l, window);
  }
  l.all_reduce(l.split.tp);
}

void add_ends(Layer& l) {
  const catalog::ModelShape& m = l.model;
  const double sampled = l.decoding * l.iteration.tokens_per_step + l.prompts;
  l.part = WorkPart::sampled;
  l.product(sampled, m.vocab / l.split.tp, m.hidden, catalog::Dtype::bf16);
  l.pass(2 * sampled * m.vocab, sampled * m.vocab);  // 32-bit logits, sampled
}

}  // namespace

IterationWork iteration_work(const catalog::ModelShape& model, const ServingSplit& split,
                             const ServingPrecision& precision, const Iteration& iteration) {
  const auto layer = [&] {
    return Layer{.model = model,
                 .split = split,
                 .precision = precision,
                 .decoding = iteration.decoding / split.attention_dp,
                 .prompts = iteration.prompts / split.attention_dp,
                 .iteration = iteration,
                 .out = {}};
  };
  IterationWork work;
  const double state_share = model.state_space_layers / std::max(1.0, 1.0 * model.layers);
  const double windowed_share =
      workload::windowed_layer_count(model) / std::max(1.0, 1.0 * model.layers);
  const auto add = [&](double repeats, Mixing mixing, bool moe) {
    if (repeats <= 0) return;
    Layer l = layer();
    add_norms(l);
    add_attention_block(l, mixing);
    if (moe) {
      add_experts(l);
      add_expert_messages(l);
    } else {
      add_mlp(l, model.ffn, split.tp);
      l.all_reduce(split.tp);
    }
    l.out.repeats = repeats / split.pp;
    work.groups.push_back(std::move(l.out));
  };
  for (const bool moe : {false, true}) {
    const double layers =
        moe ? workload::moe_layer_count(model) : workload::dense_layer_count(model);
    add(layers * (1 - windowed_share - state_share), Mixing::full, moe);
    add(layers * windowed_share, Mixing::windowed, moe);
    add(layers * state_share, Mixing::state, moe);
  }
  Layer ends = layer();
  add_ends(ends);
  ends.out.repeats = 1;
  work.groups.push_back(std::move(ends.out));
  return work;
}

}  // namespace orrery::serving
