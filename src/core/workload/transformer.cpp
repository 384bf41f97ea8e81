#include "core/workload/transformer.h"

#include <algorithm>
#include <tuple>

namespace orrery::workload {
namespace {

constexpr double kHalf = 2;            // bytes of a 16-bit element
constexpr double kSingle = 4;          // bytes of an fp32 element
constexpr double kRouterPasses = 6;    // passes over the scores of all experts, in each direction
constexpr double kScanChunk = 128;     // tokens between two stored states of a scan
constexpr double kScanBackward = 2.5;  // traffic of the backward scan relative to the forward scan

double quantise_traffic(catalog::Precision p, const KernelStyle& style) {
  switch (p) {
    case catalog::Precision::fp32:
    case catalog::Precision::tf32:
    case catalog::Precision::bf16:
    case catalog::Precision::fp16:
    case catalog::Precision::int8:
    case catalog::Precision::int4:
      return 0;
    case catalog::Precision::fp8:
      return style.quantise_tensor;
    case catalog::Precision::fp8_row:
      return style.quantise_row;
    case catalog::Precision::fp8_block:
      return style.quantise_block;
    case catalog::Precision::mxfp8:
      return style.quantise_mx;
    case catalog::Precision::nvfp4:
      return style.quantise_nv;
  }
  return 0;
}

// Fills the operation lists of a layer, or of the model's ends, with the rank's share of tokens.
struct Builder {
  const catalog::ModelShape& m;
  const LayerSplit& split;
  const KernelStyle& style;
  OpList& forward;
  OpList& dgrad;
  OpList& wgrad;
  // Where passes over memory are added: the lists above, or the experts' own.
  OpList* forward_passes;
  OpList* dgrad_passes;
  double tokens = 0;         // inside a tensor-parallel block
  double local_tokens = 0;   // between blocks
  double saved_element = 2;  // bytes per element of a saved product input
  double pointwise = 1;
  double copy_bytes = 1;  // bytes per element of a quantised copy
  double quantise = 0;
  bool adapters = true;  // the products listed next have adapters
  catalog::Dtype dtype = catalog::Dtype::bf16;
  catalog::Dtype wide = catalog::Dtype::bf16;  // format of what stays in 16 bits

  Builder(const catalog::ModelShape& model, const LayerSplit& s, const KernelStyle& st, OpList& f,
          OpList& d, OpList& w)
      : m(model),
        split(s),
        style(st),
        forward(f),
        dgrad(d),
        wgrad(w),
        forward_passes(&f),
        dgrad_passes(&d) {
    tokens = s.microbatch * s.sequence / s.cp;
    local_tokens = s.sequence_parallel ? tokens / s.tp : tokens;
    dtype = product_dtype(s.precision);
    wide = s.precision == catalog::Precision::fp16 ? catalog::Dtype::fp16 : catalog::Dtype::bf16;
    copy_bytes = is_quantised(s.precision) ? bytes_per_element(dtype) : 0;
    saved_element = is_quantised(s.precision) ? copy_bytes : kHalf;
    pointwise = style.pointwise_traffic;
    quantise = quantise_traffic(s.precision, style);
  }

  OpList& passes_of(OpList& list) {
    if (&list == &forward) return *forward_passes;
    return &list == &dgrad ? *dgrad_passes : list;
  }
  void pass(OpList& list, double read, double written) {
    passes_of(list).add(MemoryPass{Bytes(read * pointwise), Bytes(written * pointwise)});
  }
  // Reads 16-bit values and writes the tensor and its transpose in the product's format.
  void quantise_tensor(OpList& list, double elements) {
    if (quantise <= 0) return;
    passes_of(list).add(MemoryPass{Bytes(elements * kHalf * quantise),
                                   Bytes(elements * 2 * copy_bytes * quantise)});
  }
  void linear(double rows, double in, double out, double groups = 1, bool input_quantised = false) {
    const catalog::Dtype d = dtype;
    if (!input_quantised) quantise_tensor(forward, rows * in * groups);
    forward.add(Gemm{rows, out, in, d, GemmPass::forward, groups});
    quantise_tensor(dgrad, rows * out * groups);
    dgrad.add(Gemm{rows, in, out, d, GemmPass::dgrad, groups});
    if (!split.frozen) {
      wgrad.add(Gemm{in, out, rows, d, GemmPass::wgrad, groups});
    } else if (adapters) {
      adapter(rows * groups, in, out);
    }
  }
  // Low-rank adapters are so thin that only memory limits them: the input is read again, and the
  // output is read and written. The backward pass does likewise.
  void adapter(double rows, double in, double out) {
    pass(forward, rows * (in + out) * kHalf, rows * out * kHalf);
    pass(dgrad, rows * (2 * in + out) * kHalf, rows * in * kHalf);
  }
  // NVFP4 recipes for hybrids leave attention and the latent projections in 16 bits and a scan's
  // output in 8 (Nemotron 3; arXiv 2509.25149); those for plain transformers quantise all products.
  void linear_in(catalog::Precision p, double rows, double in, double out) {
    if (split.precision != catalog::Precision::nvfp4 || !m.has_scan()) return linear(rows, in, out);
    const auto before = std::tuple(dtype, copy_bytes, quantise);
    dtype = product_dtype(p);
    copy_bytes = bytes_per_element(dtype);
    quantise = quantise_traffic(p, style);
    linear(rows, in, out);
    std::tie(dtype, copy_bytes, quantise) = before;
  }
  void plain_linear(double rows, double in, double out) {
    forward.add(Gemm{rows, out, in, wide, GemmPass::forward, 1});
    dgrad.add(Gemm{rows, in, out, wide, GemmPass::dgrad, 1});
    if (!split.frozen) wgrad.add(Gemm{in, out, rows, wide, GemmPass::wgrad, 1});
  }
  void norm(double rows, double width) {
    const double e = rows * width * kHalf;
    pass(forward, e, e);
    pass(dgrad, 2 * e, e);
  }
  void residual(double rows) {
    const double e = rows * m.hidden * kHalf;
    pass(forward, 2 * e, e);
    pass(dgrad, 2 * e, e);
  }
  void activation(double elements) {
    const double inputs = m.gated_mlp ? 2 : 1;
    const double e = elements * kHalf;
    pass(forward, inputs * e, e);
    if (!style.fused_pointwise && m.gated_mlp) pass(forward, e, e);  // silu is a separate kernel
    pass(dgrad, (inputs + 1) * e, inputs * e);
  }
  double mlp_inputs() const { return m.gated_mlp ? 2 : 1; }
};

struct Heads {
  double query;
  double kv;
};

Heads heads_of_rank(const catalog::ModelShape& m, const LayerSplit& split) {
  // With fewer KV heads than ranks, each rank keeps a whole copy of one head.
  return {static_cast<double>(m.heads) / split.tp,
          std::max(1.0, static_cast<double>(m.kv_heads) / split.tp)};
}

// Attention with the scores written to memory, as before flash attention: two batched products over
// the whole square, a masked softmax between them, and dropout after it.
void unfused_attention(Builder& b, double heads, double head_dim, LayerWork& work) {
  const double s = b.split.sequence;
  const double groups = heads * b.split.microbatch / b.split.cp;
  const double scores = groups * s * s * kHalf;
  const auto list = [&](OpList& to) {
    to.add(Gemm{s, s, head_dim, b.wide, GemmPass::forward, groups});
    b.pass(to, scores, scores);
    if (b.style.dropout) b.pass(to, scores, 1.5 * scores);
    to.add(Gemm{s, head_dim, s, b.wide, GemmPass::forward, groups});
  };
  list(b.forward);
  list(work.attention_core);
  b.dgrad.add(Gemm{s, s, head_dim, b.wide, GemmPass::dgrad, groups});
  b.dgrad.add(Gemm{s, head_dim, s, b.wide, GemmPass::wgrad, groups});
  if (b.style.dropout) b.pass(b.dgrad, 1.5 * scores, scores);
  b.pass(b.dgrad, 2 * scores, scores);
  b.dgrad.add(Gemm{s, head_dim, s, b.wide, GemmPass::dgrad, groups});
  b.dgrad.add(Gemm{s, head_dim, s, b.wide, GemmPass::wgrad, groups});
  // Korthikanti et al.: softmax output and its dropped-out copy, 2 bytes each, and the mask.
  work.saved[Saved::attention_scores] += (b.style.dropout ? 2.5 : 1) * scores;
}

void attention_core(Builder& b, double q_heads, double kv_heads, double qk_dim, double v_dim,
                    bool windowed, LayerWork& work) {
  if (!b.style.fused_attention) return unfused_attention(b, q_heads, qk_dim, work);
  // Context-parallel ranks share the causal triangle evenly: each does 1/c of every sequence's
  // work.
  Attention a;
  a.batch = b.split.microbatch / b.split.cp;
  a.q_heads = q_heads;
  a.kv_heads = kv_heads;
  a.qk_dim = qk_dim;
  a.v_dim = v_dim;
  a.q_len = b.split.sequence;
  a.kv_len = b.split.sequence;
  a.window = windowed ? b.m.sliding_window : 0;
  a.dtype = b.wide;
  b.forward.add(a);
  work.attention_core.add(a);
  a.backward = true;
  b.dgrad.add(a);
  // The log-sum-exp of each query.
  work.saved[Saved::attention_scores] += b.tokens * q_heads * kSingle;
}

void gqa_attention(Builder& b, bool windowed, LayerWork& work) {
  const Heads heads = heads_of_rank(b.m, b.split);
  const double d = b.m.head_dim;
  const double t = b.tokens;
  const double qkv = (heads.query + 2 * heads.kv) * d;
  b.linear_in(catalog::Precision::bf16, t, b.m.hidden, qkv);
  if (b.m.gated_mlp) {  // families with gated MLPs use rotary embeddings for queries and keys
    const double rotated = t * (heads.query + heads.kv) * d * kHalf;
    b.pass(b.forward, rotated, rotated);
    b.pass(b.dgrad, rotated, rotated);
  }
  attention_core(b, heads.query, heads.kv, d, d, windowed, work);
  b.linear_in(catalog::Precision::bf16, t, heads.query * d, b.m.hidden);
  work.saved[Saved::qkv] += t * qkv * kHalf;
  // Both flash attention and the next product need its output: one tensor in 16 bits, and a
  // quantised copy for the product.
  work.saved[Saved::attention_output] +=
      t * heads.query * d * (kHalf + (b.copy_bytes > 0 ? b.copy_bytes : 0));
}

void mla_attention(Builder& b, LayerWork& work) {
  const catalog::ModelShape& m = b.m;
  const double heads = static_cast<double>(m.heads) / b.split.tp;
  const double qk = m.qk_nope_dim + m.qk_rope_dim;
  const double t = b.tokens;
  if (m.q_lora_rank > 0) {
    b.linear(b.local_tokens, m.hidden, m.q_lora_rank);
    b.norm(b.local_tokens, m.q_lora_rank);
    b.linear(t, m.q_lora_rank, heads * qk);
  } else {
    b.linear(t, m.hidden, heads * qk);
  }
  b.linear(b.local_tokens, m.hidden, m.kv_lora_rank + m.qk_rope_dim, 1, true);
  b.norm(b.local_tokens, m.kv_lora_rank);
  b.linear(t, m.kv_lora_rank, heads * (m.qk_nope_dim + m.v_head_dim));
  if (m.q_lora_rank > 0) {
    work.latent_up.add(Gemm{t, heads * qk, m.q_lora_rank, b.dtype, GemmPass::forward, 1});
  }
  work.latent_up.add(Gemm{t, heads * (m.qk_nope_dim + m.v_head_dim), m.kv_lora_rank, b.dtype,
                          GemmPass::forward, 1});
  // Rotary embedding of part of each head, then the whole queries and keys are assembled.
  const double assembled = 2 * t * heads * qk * kHalf;
  b.pass(b.forward, assembled, assembled);
  b.pass(b.dgrad, assembled, assembled);
  attention_core(b, heads, heads, qk, m.v_head_dim, false, work);
  b.linear(t, heads * m.v_head_dim, m.hidden);
  work.saved[Saved::qkv] += t * heads * (2 * qk + m.v_head_dim) * kHalf +
                            2 * b.local_tokens * (m.q_lora_rank + m.kv_lora_rank) * kHalf;
  work.saved[Saved::attention_output] += t * heads * m.v_head_dim * (kHalf + b.copy_bytes);
}

// Adds a dense or shared-expert MLP; `width` is this rank's share.
void mlp(Builder& b, double rows, double width, bool input_quantised, SavedBytes& saved) {
  const double up = b.mlp_inputs() * width;
  b.linear(rows, b.m.hidden, up, 1, input_quantised);
  b.activation(rows * width);
  b.linear(rows, width, b.m.hidden);
  saved[Saved::mlp_up] += rows * up * kHalf;
  if (!b.style.fused_pointwise && b.m.gated_mlp) saved[Saved::mlp_up] += rows * width * kHalf;
  saved[Saved::mlp_activation] += rows * width * b.saved_element;
}

void scan_mixer(Builder& b, LayerWork& work) {
  const catalog::ModelShape& m = b.m;
  const double t = b.tokens;
  const double heads = m.scan_heads / b.split.tp;
  const double inner = heads * m.scan_head_dim;
  const double shared = 2 * std::max(1.0, m.scan_groups / b.split.tp) * m.scan_state;
  const double in = 2 * inner + shared + heads;
  b.linear(t, m.hidden, in);
  const double mixed = t * (inner + shared) * kHalf;
  b.pass(b.forward, mixed, mixed);
  b.pass(b.dgrad, 2 * mixed, mixed);
  // Chunk states are computed, passed on and read again; both steps read the inputs.
  const double x = t * inner * kHalf;
  const double states = t / kScanChunk * inner * m.scan_state * kSingle;
  const double read = (2 * (x + t * shared * kHalf) + 2 * states) * b.style.scan_traffic;
  const double written = (x + 2 * states) * b.style.scan_traffic;
  b.forward.add(MemoryPass{Bytes(read), Bytes(written)});
  b.dgrad.add(MemoryPass{Bytes(read * kScanBackward), Bytes(written * kScanBackward)});
  b.pass(b.forward, 2 * x, x);  // gating and norm
  b.pass(b.dgrad, 3 * x, 2 * x);
  b.linear_in(catalog::Precision::mxfp8, t, inner, m.hidden);
  work.saved[Saved::qkv] += t * in * kHalf + mixed;
  work.saved[Saved::attention_output] += x * (1 + b.copy_bytes / kHalf);
}

void experts(Builder& b, LayerWork& work) {
  const catalog::ModelShape& m = b.m;
  const double width_in = m.expert_hidden > 0 ? m.expert_hidden : m.hidden;
  const double tokens = b.tokens / b.split.tp;  // each rank routes its own share of the tokens
  const double rows = tokens * m.top_k * b.split.imbalance;
  const double local = std::max(1.0, static_cast<double>(m.experts) / b.split.ep);
  b.forward_passes = &work.expert_forward;
  b.dgrad_passes = &work.expert_dgrad;
  b.plain_linear(tokens, m.hidden, m.experts);
  const double scores = tokens * m.experts * kSingle;
  // fp32 scores, their bias, the choice of experts, the dispatch map and the balance loss are each
  // a pass over tokens x experts.
  b.pass(b.forward, kRouterPasses * scores, kRouterPasses * scores);
  b.pass(b.dgrad, kRouterPasses * scores, kRouterPasses * scores);
  if (m.expert_hidden > 0) {
    b.linear_in(catalog::Precision::bf16, tokens, m.hidden, width_in);
    b.linear_in(catalog::Precision::bf16, tokens, width_in, m.hidden);
  }
  // Tokens are permuted for dispatch and sorted by expert on arrival; both happen again on the way
  // back.
  const double moved = rows * width_in * kHalf * b.style.permute_traffic;
  for (int i = 0; i < 2; ++i) {
    work.expert_forward.add(MemoryPass{Bytes(moved), Bytes(moved)});
    work.expert_dgrad.add(MemoryPass{Bytes(moved), Bytes(moved)});
  }
  const double up = b.mlp_inputs() * m.expert_ffn;
  b.linear(rows / local, width_in, up, local);
  b.activation(rows * m.expert_ffn);
  const double activated = rows * m.expert_ffn * kHalf * b.pointwise;
  work.expert_activation.add(MemoryPass{Bytes(b.mlp_inputs() * activated), Bytes(activated)});
  if (m.biased_experts) {
    // Adds the bias after the up product, clamps, and adds the bias after the down product; the
    // backward pass sums each bias gradient.
    const double wide = rows * up * kHalf;
    const double narrow = rows * width_in * kHalf;
    b.pass(b.forward, 2 * wide + narrow, 2 * wide + narrow);
    b.pass(b.dgrad, 3 * wide + 2 * narrow, wide + narrow);
  }
  b.linear(rows / local, m.expert_ffn, width_in, local);
  work.saved[Saved::routed_tokens] += rows * width_in * b.saved_element;
  work.saved[Saved::mlp_up] += rows * up * kHalf;
  work.saved[Saved::mlp_activation] += rows * m.expert_ffn * b.saved_element;
  b.forward_passes = &b.forward;
  b.dgrad_passes = &b.dgrad;
  if (m.shared_experts > 0) {
    const double width = m.shared_expert_ffn > 0 ? m.shared_expert_ffn : m.expert_ffn;
    mlp(b, b.tokens, m.shared_experts * width / b.split.tp, false, work.saved);
  }
  work.messages.ep_tensor = Bytes(rows * width_in * kHalf);
}

}  // namespace

catalog::Precision modelled(catalog::Precision p) {
  switch (p) {
    case catalog::Precision::fp32:
    case catalog::Precision::tf32:
    case catalog::Precision::int8:
    case catalog::Precision::int4:
      return catalog::Precision::bf16;
    default:
      return p;
  }
}

std::optional<catalog::Precision> precision_from(std::string_view text) {
  const auto p = from_any_word<catalog::Precision>(text);
  return p && modelled(*p) == *p && to_text(*p) == text ? p : std::nullopt;
}

catalog::Dtype product_dtype(catalog::Precision p) {
  switch (p) {
    case catalog::Precision::fp8:
    case catalog::Precision::fp8_row:
    case catalog::Precision::fp8_block:
    case catalog::Precision::mxfp8:
      return catalog::Dtype::fp8;
    case catalog::Precision::nvfp4:
    case catalog::Precision::int4:
      return catalog::Dtype::fp4;
    case catalog::Precision::int8:
      return catalog::Dtype::int8;
    case catalog::Precision::fp16:
      return catalog::Dtype::fp16;
    case catalog::Precision::fp32:
    case catalog::Precision::tf32:
    case catalog::Precision::bf16:
      return catalog::Dtype::bf16;
  }
  return catalog::Dtype::bf16;
}

bool is_quantised(catalog::Precision p) {
  return modelled(p) != catalog::Precision::bf16 && p != catalog::Precision::fp16;
}

const char* to_text(Saved s) {
  constexpr std::array<const char*, kSavedCount> kNames = {
      "layer input",   "norm output",  "queries, keys, values", "attention output",
      "softmax",       "MLP input",    "MLP up projection",     "MLP activation",
      "routed tokens", "dropout masks"};
  return kNames[static_cast<std::size_t>(s)];
}

double SavedBytes::total() const {
  double sum = 0;
  for (double b : bytes) sum += b;
  return sum;
}

std::array<LayerShare, 3> hybrid_parts(const catalog::ModelShape& m, LayerKind kind) {
  const double feeding = m.mlp_only_layers > 0 ? m.mlp_only_layers : m.layers;
  return {{{LayerKind::state_space, static_cast<double>(m.state_space_layers)},
           {LayerKind::attention, static_cast<double>(m.attention_layers())},
           {kind == LayerKind::moe ? LayerKind::experts : LayerKind::mlp, feeding}}};
}

void fill_layer_work(const catalog::ModelShape& model, LayerKind kind, bool windowed,
                     const LayerSplit& split, const KernelStyle& style, LayerWork& work) {
  work.forward.clear();
  work.dgrad.clear();
  work.wgrad.clear();
  work.attention_core.clear();
  work.latent_up.clear();
  work.norms.clear();
  work.expert_activation.clear();
  work.expert_forward.clear();
  work.expert_dgrad.clear();
  work.saved = {};
  work.messages = {};
  Builder b(model, split, style, work.forward, work.dgrad, work.wgrad);
  const double stream = b.local_tokens * model.hidden;
  const bool routed = kind == LayerKind::moe || kind == LayerKind::experts;
  const bool mixes = kind != LayerKind::mlp && kind != LayerKind::experts;
  const bool feeds = kind != LayerKind::state_space && kind != LayerKind::attention;
  const double blocks = mixes && feeds ? 2 : 1;
  if (mixes) {
    b.norm(b.local_tokens, model.hidden);
    if (kind == LayerKind::state_space) {
      scan_mixer(b, work);
    } else if (model.attention == catalog::AttentionKind::mla) {
      mla_attention(b, work);
    } else {
      gqa_attention(b, windowed, work);
    }
    b.residual(b.local_tokens);
    work.saved[Saved::norm_output] = stream * b.saved_element;
  }
  work.mixer_forward = work.forward.size();
  work.mixer_dgrad = work.dgrad.size();
  work.mixer_wgrad = work.wgrad.size();
  const double norm = stream * kHalf * b.pointwise;
  for (int i = 0; i < static_cast<int>(blocks); ++i) {
    work.norms.add(MemoryPass{Bytes(norm), Bytes(norm)});
  }
  if (feeds) {
    b.adapters = split.adapters_on_mlp;
    b.norm(b.local_tokens, model.hidden);
    if (routed) {
      experts(b, work);
    } else {
      mlp(b, b.tokens, model.ffn / split.tp, false, work.saved);
    }
    b.residual(b.local_tokens);
    work.saved[Saved::mlp_input] = stream * b.saved_element;
  }
  work.saved[Saved::layer_input] = blocks * stream * kHalf;  // the input of each norm
  if (style.dropout) work.saved[Saved::dropout_masks] = blocks * stream;
  work.messages.tp_tensor = Bytes(b.tokens * model.hidden * kHalf);
  work.messages.tp_exchanges = routed && model.shared_experts == 0 ? blocks - 1 : blocks;
  if (!mixes || kind == LayerKind::state_space) return;
  const Heads heads = heads_of_rank(model, split);
  work.messages.cp_tensor = Bytes(2 * b.tokens * heads.kv * model.head_dim * kHalf);
  if (model.attention == catalog::AttentionKind::mla) {
    work.messages.cp_tensor = Bytes(b.tokens * heads.query * kHalf *
                                    (model.qk_nope_dim + model.qk_rope_dim + model.v_head_dim));
  }
}

void fill_embedding_work(const catalog::ModelShape& model, const LayerSplit& split, EndWork& work) {
  work.forward.clear();
  work.dgrad.clear();
  work.wgrad.clear();
  const double tokens = split.microbatch * split.sequence / split.cp;
  const double e = tokens * model.hidden * kHalf;
  work.forward.add(MemoryPass{Bytes(e), Bytes(e)});
  work.dgrad.add(MemoryPass{Bytes(2 * e), Bytes(e)});
  work.logits = Bytes(0);
}

void fill_head_work(const catalog::ModelShape& model, const LayerSplit& split,
                    const KernelStyle& style, EndWork& work) {
  work.forward.clear();
  work.dgrad.clear();
  work.wgrad.clear();
  Builder b(model, split, style, work.forward, work.dgrad, work.wgrad);
  b.norm(b.local_tokens, model.hidden);
  b.plain_linear(b.tokens, model.hidden, model.vocab / split.tp);
  const double logits = b.tokens * model.vocab / split.tp;
  // A third of the loss's traffic is in the forward pass: a read for the maximum and the sum of
  // exponentials.
  work.forward.add(MemoryPass{Bytes(logits * style.loss_bytes / 3), Bytes(0)});
  work.dgrad.add(
      MemoryPass{Bytes(logits * style.loss_bytes / 3), Bytes(logits * style.loss_bytes / 3)});
  work.logits = Bytes(logits * kHalf);
}

}  // namespace orrery::workload
