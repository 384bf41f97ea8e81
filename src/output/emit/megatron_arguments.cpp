#include "output/emit/megatron_arguments.h"

#include <fmt/format.h>

#include <map>

#include "core/base/text.h"

namespace orrery::emit {
namespace {

// Splits a text at quotes, line continuations and '=', which shells and scripts put between words.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\' || c == '"' || c == '\'' ||
        c == '=') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

struct MegatronArguments {
  std::map<std::string, std::string, std::less<>> values;  // "" for a switch

  bool has(std::string_view name) const { return values.find(name) != values.end(); }
  std::optional<double> number(std::string_view name) const {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : parse_number(at->second);
  }
  std::optional<int> whole(std::string_view name) const {
    const auto n = number(name);
    return n ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
  }
};

MegatronArguments arguments_of(std::string_view text) {
  MegatronArguments a;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const bool valued = i + 1 < words.size() && !words[i + 1].starts_with("--");
    a.values[words[i].substr(2)] = valued ? words[i + 1] : "";
  }
  return a;
}

void read_model(const MegatronArguments& a, catalog::ModelShape& m) {
  m.id = "megatron";
  m.layers = a.whole("num-layers").value_or(0);
  m.hidden = a.number("hidden-size").value_or(0);
  m.heads = a.whole("num-attention-heads").value_or(0);
  m.kv_heads = a.has("group-query-attention") ? a.whole("num-query-groups").value_or(1) : m.heads;
  m.head_dim = a.number("kv-channels").value_or(m.heads > 0 ? m.hidden / m.heads : 0);
  m.gated_mlp = a.has("swiglu");
  m.ffn = a.number("ffn-hidden-size").value_or(4 * m.hidden);
  m.vocab = a.number("padded-vocab-size").value_or(a.number("vocab-size").value_or(51200));
  m.tied_embeddings = !a.has("untie-embeddings-and-output-weights");
  m.experts = a.whole("num-experts").value_or(0);
  m.top_k = m.experts > 0 ? a.whole("moe-router-topk").value_or(2) : 0;
  m.expert_ffn = a.number("moe-ffn-hidden-size").value_or(m.ffn);
  m.mtp_layers = a.whole("mtp-num-layers").value_or(0);
  if (const auto shared = a.number("moe-shared-expert-intermediate-size")) {
    m.shared_experts = 1;
    m.shared_expert_ffn = *shared;
  }
  if (!a.has("multi-latent-attention")) return;
  m.attention = catalog::AttentionKind::mla;
  m.q_lora_rank = a.number("q-lora-rank").value_or(0);
  m.kv_lora_rank = a.number("kv-lora-rank").value_or(32);
  m.qk_nope_dim = a.number("qk-head-dim").value_or(128);
  m.qk_rope_dim = a.number("qk-pos-emb-head-dim").value_or(64);
  m.v_head_dim = a.number("v-head-dim").value_or(128);
}

void read_layout(const MegatronArguments& a, const catalog::ModelShape& m, jobs::LayoutWish& w) {
  w.tp = a.whole("tensor-model-parallel-size").value_or(1);
  w.pp = a.whole("pipeline-model-parallel-size").value_or(1);
  w.cp = a.whole("context-parallel-size").value_or(1);
  w.ep = a.whole("expert-model-parallel-size").value_or(1);
  w.microbatch = a.whole("micro-batch-size");
  w.vp = 1;
  if (const auto chunk = a.whole("num-layers-per-virtual-pipeline-stage"); chunk && *chunk > 0) {
    w.vp = std::max(1, m.layers / *w.pp / *chunk);
  }
  w.sequence_parallel = a.has("sequence-parallel");
  w.sharding =
      a.has("use-distributed-optimizer") ? catalog::Sharding::zero1 : catalog::Sharding::none;
  w.recompute = catalog::Recompute::none;
  if (const auto at = a.values.find("recompute-granularity"); at != a.values.end()) {
    w.recompute = at->second == "full" ? catalog::Recompute::full : catalog::Recompute::selective;
  }
}

}  // namespace

Result<jobs::TrainingQuery> query_from_megatron(std::string_view text, const std::string& file) {
  const MegatronArguments a = arguments_of(text);
  Diagnostics faults;
  for (const char* name :
       {"num-layers", "hidden-size", "num-attention-heads", "seq-length", "micro-batch-size"}) {
    const auto n = a.number(name);
    if (n && *n >= 1) continue;
    faults.push_back({.severity = Severity::error,
                      .code = "megatron.missing",
                      .place = {.file = file, .line = 0, .column = 0},
                      .what = fmt::format("--{} is missing or not a number", name),
                      .why = "a step cannot be estimated without it",
                      .fix = fmt::format("add --{} N", name)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  jobs::TrainingQuery q;
  read_model(a, q.model);
  read_layout(a, q.model, q.layout);
  q.sequence = *a.number("seq-length");
  q.batch = a.whole("global-batch-size").value_or(*q.layout.microbatch);
  q.precision = a.has("fp8-format") ? catalog::Precision::fp8
                : a.has("fp16")     ? catalog::Precision::fp16
                                    : catalog::Precision::bf16;
  q.framework = "megatron-core";
  return q;
}

}  // namespace orrery::emit
