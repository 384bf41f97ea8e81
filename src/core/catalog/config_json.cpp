#include "core/catalog/config_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/text.h"

namespace orrery::catalog {
namespace {

using Json = nlohmann::json;
using Keys = std::initializer_list<const char*>;

// Bounds far above any published model; a larger figure is a slip or an attack.
constexpr std::int64_t kLayersMax = 2000;
constexpr std::int64_t kHeadsMax = 8192;
constexpr std::int64_t kWidthMax = 4'000'000;
constexpr std::int64_t kVocabMax = 100'000'000;
constexpr std::int64_t kExpertsMax = 100'000;
constexpr std::int64_t kWindowMax = 1'000'000'000;

Place place_at(std::string_view text, std::size_t offset, const std::string& file) {
  Place place{file, 1, 1};
  for (const char c : text.substr(0, std::min(offset, text.size()))) {
    place.column = c == '\n' ? 1 : place.column + 1;
    place.line += c == '\n';
  }
  return place;
}

struct Scan {
  int depth = 0;                 // the deepest nesting
  std::size_t deepest_at = 0;    // where the nesting first exceeds kConfigDepthMax
  std::string with_null_tokens;  // the text with Python's Infinity and NaN written as null
};

// Checks the nesting by a linear scan outside strings before the parser sees the text, because the
// parser recurses. Python writes Infinity and NaN, which JSON lacks. No shape field may be either,
// so they are read as null.
Scan scan_text(std::string_view text) {
  Scan scan;
  scan.with_null_tokens.reserve(text.size());
  bool quoted = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      scan.with_null_tokens += c;
      if (c == '\\' && i + 1 < text.size()) {
        scan.with_null_tokens += text[++i];
      } else if (c == '"') {
        quoted = false;
      }
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') {
      if (++depth > scan.depth) scan.depth = depth;
      if (depth == kConfigDepthMax + 1 && scan.deepest_at == 0) scan.deepest_at = i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
    const std::string_view rest = text.substr(i);
    bool replaced = false;
    for (const std::string_view token : {"-Infinity", "Infinity", "NaN"}) {
      if (c != token[0] || !rest.starts_with(token)) continue;
      scan.with_null_tokens += "null";
      i += token.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) scan.with_null_tokens += c;
  }
  return scan;
}

Result<Json> parse_json(std::string_view text, const std::string& id) {
  if (text.size() > kConfigBytesMax) {
    return fail({.code = "config.size",
                 .place = {id, 0, 0},
                 .what = "the file is larger than 4 MiB",
                 .why = "a config.json has a few kilobytes; this may be the weights"});
  }
  const Scan scan = scan_text(text);
  if (scan.depth > kConfigDepthMax) {
    return fail({.code = "config.depth",
                 .place = place_at(text, scan.deepest_at, id),
                 .what = "brackets nest deeper than 64 levels"});
  }
  try {
    Json parsed = Json::parse(scan.with_null_tokens);
    if (parsed.is_object()) return parsed;
    return fail({.code = "config.not-an-object",
                 .place = {id, 1, 1},
                 .what = "a config.json must be one object in braces"});
  } catch (const Json::parse_error& e) {
    const std::size_t at = e.byte > 0 ? e.byte - 1 : 0;
    return fail({.code = "config.json",
                 .place = place_at(scan.with_null_tokens, at, id),
                 .what = "this is not JSON",
                 .fix = "give the model's config.json as its publisher wrote it"});
  } catch (const std::exception&) {
    return fail({.code = "config.json", .place = {id, 0, 0}, .what = "this JSON cannot be parsed"});
  }
}

// The values of one object. A null counts as absent. Faults are collected, and a faulty value reads
// as 0.
class Fields {
 public:
  Fields(const Json& object, const std::string& id, Diagnostics& faults)
      : object_(object), id_(id), faults_(faults) {}

  const Json* find(Keys keys) const {
    for (const char* key : keys) {
      const auto at = object_.find(key);
      if (at != object_.end() && !at->is_null()) return &*at;
    }
    return nullptr;
  }
  bool has(const char* key) const { return find({key}) != nullptr; }

  std::optional<std::int64_t> maybe(Keys keys, std::int64_t least, std::int64_t most) {
    const Json* value = find(keys);
    if (!value) return std::nullopt;
    if (!value->is_number_integer()) {
      fault("config.type", name(keys) + " must be a whole number");
      return std::nullopt;
    }
    // An unsigned value above the signed range would wrap, so it counts as out of range.
    const bool huge = value->is_number_unsigned() &&
                      value->get<std::uint64_t>() > static_cast<std::uint64_t>(kWindowMax);
    const std::int64_t v = huge ? most + 1 : value->get<std::int64_t>();
    if (v < least || v > most) {
      fault("config.range", name(keys) + " is outside " + grouped(least) + " to " + grouped(most));
      return std::nullopt;
    }
    return v;
  }
  std::int64_t zero_or(Keys keys, std::int64_t most) { return maybe(keys, 0, most).value_or(0); }
  std::int64_t need(Keys keys, std::int64_t most) {
    if (!find(keys)) fault("config.missing", name(keys) + " is missing");
    return maybe(keys, 1, most).value_or(0);
  }

  std::optional<bool> flag(const char* key) {
    const Json* value = find({key});
    if (!value) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    fault("config.type", std::string(key) + " must be true or false");
    return std::nullopt;
  }
  std::string text(Keys keys) {
    const Json* value = find(keys);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }
  const Json* list(const char* key) const {
    const Json* value = find({key});
    return value && value->is_array() ? value : nullptr;
  }

  void fault(std::string code, std::string what, std::string why = {}) {
    faults_.push_back({.code = std::move(code),
                       .place = {id_, 0, 0},
                       .what = std::move(what),
                       .why = std::move(why)});
  }

 private:
  static std::string name(Keys keys) { return "'" + std::string(*keys.begin()) + "'"; }

  const Json& object_;
  const std::string& id_;
  Diagnostics& faults_;
};

std::int64_t count_of(const Json& list, const char* word) {
  return std::ranges::count_if(list, [&](const Json& v) { return v.is_string() && v == word; });
}

bool family_in(const std::string& type, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return type.starts_with(p); });
}

bool read_gated_mlp(Fields& f, const std::string& type) {
  const std::string activation =
      f.text({"hidden_act", "hidden_activation", "mlp_hidden_act", "activation_function"});
  if (activation.empty()) {
    // The configuration classes of these families default to a gated SiLU.
    if (family_in(type, {"llama", "mistral", "mixtral", "qwen", "deepseek", "step", "kimi"})) {
      return true;
    }
    if (family_in(type, {"mpt", "gpt", "bloom", "opt", "falcon"})) return false;
    f.fault("config.missing", "'hidden_act' is missing",
            "it decides whether the MLP is gated, which is a third of its weights");
    return true;
  }
  static constexpr std::array<std::string_view, 6> kPlain = {
      "relu", "relu2", "gelu", "gelu_new", "gelu_fast", "relu_squared"};
  // StarCoder 2 uses the activation that Gemma gates, but does not gate it.
  return std::ranges::find(kPlain, activation) == kPlain.end() && type != "starcoder2";
}

// Reads the scan's shape: Mamba-2 as Nemotron-H writes it, and the gated delta rule of Qwen3-Next,
// whose products have the same widths. Other kinds of linear attention have no shape here.
void read_scan(Fields& f, ModelShape& m) {
  const auto width = [&](const char* mamba, const char* delta) {
    return static_cast<double>(f.maybe({mamba, delta}, 1, kWidthMax).value_or(0));
  };
  m.scan_heads = width("mamba_num_heads", "linear_num_value_heads");
  m.scan_head_dim = width("mamba_head_dim", "linear_value_head_dim");
  m.scan_state = width("ssm_state_size", "linear_key_head_dim");
  m.scan_groups = width("n_groups", "linear_num_key_heads");
}

void read_state_space(Fields& f, ModelShape& m) {
  if (const Json* kinds = f.list("layers_block_type")) {
    m.state_space_layers = static_cast<int>(count_of(*kinds, "mamba"));
    m.mlp_only_layers = static_cast<int>(count_of(*kinds, "moe") + count_of(*kinds, "mlp"));
    if (m.layers == 0) m.layers = static_cast<int>(kinds->size());
  } else if (const Json* types = f.list("layer_types")) {
    m.state_space_layers =
        static_cast<int>(count_of(*types, "linear_attention") + count_of(*types, "mamba"));
  } else if (const std::string pattern = f.text({"hybrid_override_pattern"}); !pattern.empty()) {
    m.state_space_layers = static_cast<int>(std::ranges::count(pattern, 'M'));
    m.mlp_only_layers =
        static_cast<int>(std::ranges::count(pattern, 'E') + std::ranges::count(pattern, '-'));
  } else if (const Json* linear = f.find({"linear_attn_config"}); linear && linear->is_object()) {
    const auto layers = linear->find("kda_layers");
    if (layers != linear->end() && layers->is_array()) {
      m.state_space_layers = static_cast<int>(layers->size());
    }
  } else if (const auto period = f.maybe({"attn_layer_period"}, 1, kLayersMax)) {
    m.state_space_layers = m.layers - m.layers / static_cast<int>(*period);
  } else if (f.has("ssm_state_size") || f.has("state_size")) {
    m.state_space_layers = m.layers;
  }
}

void read_sizes(Fields& f, ModelShape& m, const std::string& type) {
  if (f.has("layers_block_type") && !f.find({"num_hidden_layers"})) {
    read_state_space(f, m);
  } else {
    m.layers = static_cast<int>(f.need({"num_hidden_layers", "n_layer", "n_layers"}, kLayersMax));
    read_state_space(f, m);
  }
  if (m.has_scan()) read_scan(f, m);
  if (m.layers > kLayersMax || m.attention_layers() < 0) {
    f.fault("config.range", "the list of layer kinds is longer than the number of layers");
  }
  m.hidden = static_cast<double>(f.need({"hidden_size", "n_embd", "d_model"}, kWidthMax));
  m.vocab = static_cast<double>(f.need({"vocab_size"}, kVocabMax));
  m.gated_mlp = read_gated_mlp(f, type);
  m.mtp_layers = static_cast<int>(f.zero_or(
      {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}, kLayersMax));
}

void read_heads(Fields& f, ModelShape& m) {
  m.heads = static_cast<int>(f.need({"num_attention_heads", "n_head", "n_heads"}, kHeadsMax));
  // transformers' default: kv_heads = heads.
  m.kv_heads = static_cast<int>(
      f.maybe({"num_key_value_heads", "num_kv_heads"}, 1, kHeadsMax).value_or(m.heads));
  if (m.heads > 0 && m.kv_heads > 0 && m.heads % m.kv_heads != 0) {
    f.fault("config.range", "'num_key_value_heads' does not divide 'num_attention_heads'");
  }
  const std::int64_t latent = f.zero_or({"kv_lora_rank"}, kWidthMax);
  if (latent > 0) {
    m.attention = AttentionKind::mla;
    m.kv_lora_rank = static_cast<double>(latent);
    m.q_lora_rank = static_cast<double>(f.zero_or({"q_lora_rank"}, kWidthMax));
    m.qk_nope_dim = static_cast<double>(f.need({"qk_nope_head_dim"}, kWidthMax));
    m.qk_rope_dim = static_cast<double>(f.need({"qk_rope_head_dim"}, kWidthMax));
    m.v_head_dim = static_cast<double>(f.need({"v_head_dim"}, kWidthMax));
    return;
  }
  if (f.has("q_lora_rank") || f.has("compress_ratios")) {
    f.fault("config.attention", "low-rank queries without 'kv_lora_rank'",
            "there is no model for this kind of attention (compressed, or newer than MLA)");
  }
  const auto given = f.maybe({"head_dim", "attention_head_dim"}, 1, kWidthMax);
  if (given) {
    m.head_dim = static_cast<double>(*given);
  } else if (m.heads > 0 && m.hidden > 0) {
    if (std::fmod(m.hidden, m.heads) != 0) {
      f.fault("config.missing",
              "'head_dim' is missing and hidden_size / heads is not a whole number");
    }
    m.head_dim = m.hidden / m.heads;
  }
}

// Returns n if every n-th layer is full, that is, if the full layers are equally spaced (with any
// offset).
std::optional<int> period_of_full(const Json& types) {
  std::optional<std::size_t> last;
  std::size_t step = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_string() || types[i] != "full_attention") continue;
    if (!last) first = i;
    if (last && step == 0) step = i - *last;
    if (last && i - *last != step) return std::nullopt;
    last = i;
  }
  if (!last) return 0;
  if (step == 0) step = std::max(first + 1, types.size() - first);
  const bool ends = first < step && types.size() - *last <= step;
  return ends ? std::optional<int>(static_cast<int>(step)) : std::nullopt;
}

void read_window(Fields& f, ModelShape& m, const std::string& type) {
  if (type.starts_with("llama4")) {
    // Chunked attention in three layers out of four: the family's no_rope_layer_interval is 4.
    m.sliding_window = static_cast<double>(f.zero_or({"attention_chunk_size"}, kWindowMax));
    m.full_attention_every = static_cast<int>(
        f.maybe({"no_rope_layer_interval"}, 1, kLayersMax).value_or(m.sliding_window > 0 ? 4 : 0));
    return;
  }
  if (f.flag("use_sliding_window") == false) return;
  const std::int64_t window = f.zero_or({"sliding_window"}, kWindowMax);
  if (window == 0) return;
  const Json* types = f.list("layer_types");
  if (types && count_of(*types, "sliding_attention") == 0) return;
  m.sliding_window = static_cast<double>(window);
  if (f.has("hybrid_layer_pattern") || f.has("swa_head_dim")) {
    f.fault("config.layers-differ", "windowed and full layers have different heads");
  } else if (types) {
    const auto period = period_of_full(*types);
    if (!period || types->size() != static_cast<std::size_t>(m.layers)) {
      f.fault("config.layers-differ", "the full layers in 'layer_types' are not evenly spaced");
    }
    m.full_attention_every = period.value_or(0);
  } else if (f.flag("use_sliding_window") == true) {
    // Qwen 2: the first max_window_layers are full, the rest use the window.
    const std::int64_t full = f.zero_or({"max_window_layers"}, kLayersMax);
    if (full >= m.layers) m.sliding_window = 0;
    if (full > 0 && full < m.layers) {
      f.fault("config.layers-differ", "only the layers after 'max_window_layers' have a window");
    }
  } else {
    m.full_attention_every =
        static_cast<int>(f.zero_or({"sliding_window_pattern", "full_attention_every"}, kLayersMax));
  }
}

// Returns how many layers have a plain MLP; their positions among the expert layers are not kept.
int dense_layers(Fields& f, const ModelShape& m) {
  if (const Json* freq = f.list("moe_layer_freq")) {
    return static_cast<int>(std::ranges::count_if(
        *freq, [](const Json& v) { return v.is_number_integer() && v == 0; }));
  }
  if (const Json* only = f.list("mlp_only_layers"); only && !only->empty()) {
    return static_cast<int>(
        std::min<std::size_t>(only->size(), static_cast<std::size_t>(m.layers)));
  }
  const std::int64_t first = f.zero_or({"first_k_dense_replace"}, kLayersMax);
  const std::int64_t step =
      f.maybe({"interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq"}, 1, kLayersMax)
          .value_or(1);
  return static_cast<int>(first + (m.layers - m.layers / step));
}

void read_shared_experts(Fields& f, ModelShape& m, const std::string& type) {
  m.shared_experts =
      static_cast<int>(f.zero_or({"n_shared_experts", "num_shared_experts"}, kExpertsMax));
  const std::int64_t width = f.zero_or({"shared_expert_intermediate_size",
                                        "moe_shared_expert_intermediate_size", "share_expert_dim"},
                                       kWidthMax);
  if (width > 0) m.shared_experts = std::max(m.shared_experts, 1);
  if (static_cast<double>(width) != m.expert_ffn) m.shared_expert_ffn = static_cast<double>(width);
  if (type.starts_with("llama4")) m.shared_experts = 1;  // the family always has one
}

void read_mlp(Fields& f, ModelShape& m, const std::string& type) {
  const bool llama4 = type.starts_with("llama4");
  const auto plain = llama4 ? f.maybe({"intermediate_size_mlp"}, 1, kWidthMax)
                            : f.maybe({"intermediate_size", "n_inner", "ffn_dim"}, 1, kWidthMax);
  m.experts = static_cast<int>(
      f.zero_or({"n_routed_experts", "num_local_experts", "num_experts"}, kExpertsMax));
  if (m.experts == 0) {
    if (!plain) f.fault("config.missing", "'intermediate_size' is missing");
    m.ffn = static_cast<double>(plain.value_or(0));
    return;
  }
  m.top_k = static_cast<int>(f.need(
      {"num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk"}, kExpertsMax));
  if (m.top_k > m.experts) f.fault("config.range", "more experts per token than there are experts");
  // Mixtral, GPT-OSS and Llama 4 give the expert's width as intermediate_size.
  m.expert_ffn = static_cast<double>(f.need(
      {"moe_intermediate_size", "expert_intermediate_size", "intermediate_size"}, kWidthMax));
  if (m.state_space_layers == 0 && f.find({"moe_latent_size", "routed_expert_hidden_size"})) {
    f.fault("config.experts", "the experts' inputs and outputs are narrower than the model",
            "serving would overestimate their weights");
  }
  m.expert_hidden = static_cast<double>(
      f.maybe({"moe_latent_size", "routed_expert_hidden_size"}, 1, kWidthMax).value_or(0));
  m.first_dense_layers = dense_layers(f, m);
  if (m.first_dense_layers > m.layers) f.fault("config.range", "more dense layers than layers");
  if (!plain && m.first_dense_layers > 0) {
    f.fault("config.missing", "'intermediate_size' is missing", "some layers are dense");
  }
  m.ffn = plain ? static_cast<double>(*plain) : m.expert_ffn;
  read_shared_experts(f, m, type);
  if (f.flag("enable_moe_block") == true) {
    // Gemma 4 runs the plain MLP beside the experts in every layer: we call that a shared expert.
    m.shared_experts = 1;
    m.shared_expert_ffn = m.ffn;
  }
}

void refuse_unlike_layers(Fields& f) {
  if (f.has("block_configs")) {
    f.fault("config.layers-differ", "'block_configs' gives every layer a different shape");
  }
  if (f.has("global_head_dim") || f.has("num_global_key_value_heads")) {
    f.fault("config.layers-differ", "full layers have a different head size");
  }
}

bool read_tied(Fields& f, Fields& outer, const std::string& type) {
  for (Fields* level : {&f, &outer}) {
    if (level->has("tie_word_embeddings")) {
      return level->flag("tie_word_embeddings").value_or(false);
    }
  }
  // The families whose configuration class ties the embeddings by default.
  return family_in(type, {"gemma", "gpt2", "mpt", "bloom", "opt", "falcon"});
}

}  // namespace

Result<ModelShape> model_from_config_json(std::string_view text, const std::string& id) {
  const auto parsed = parse_json(text, id);
  if (!parsed) return std::unexpected(parsed.error());
  // A multimodal model's file has its language model one level down.
  const Json* inner = &*parsed;
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const auto at = parsed->find(key);
    if (at != parsed->end() && at->is_object()) inner = &*at;
  }
  Diagnostics faults;
  Fields outer(*parsed, id, faults);
  Fields fields(*inner, id, faults);
  ModelShape m;
  m.id = id;
  const std::string type = fields.text({"model_type"});
  read_sizes(fields, m, type);
  read_heads(fields, m);
  read_window(fields, m, type);
  read_mlp(fields, m, type);
  refuse_unlike_layers(fields);
  m.tied_embeddings = read_tied(fields, outer, type);
  m.provenance = {.reference = id + " (config.json)",
                  .source = "config.json of the model",
                  .date = {},
                  .basis = FactBasis::seen,
                  .confidence = Confidence::high};
  if (fields.has("index_topk")) {
    m.provenance.source += "; its sparse index over keys is not modelled";
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return m;
}

}  // namespace orrery::catalog
