#include "study/score/training_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::score {
namespace {

struct Fields {
  const CsvTable& table;
  const CsvRow& row;

  std::string_view text(std::string_view column) const { return table.text(row, column); }
  std::optional<double> number(std::string_view column) const { return table.number(row, column); }
  std::optional<int> whole(std::string_view column) const {
    const auto n = table.integer(row, column);
    return n ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
  }
  std::optional<bool> flag(std::string_view column) const {
    const std::string_view t = text(column);
    if (t == "1") return true;
    if (t == "0") return false;
    return std::nullopt;
  }
};

void override_shape(const Fields& f, catalog::ModelShape& m) {
  if (auto v = f.whole("layers")) m.layers = *v;
  if (auto v = f.whole("dense_layers")) m.first_dense_layers = *v;
  if (auto v = f.number("hidden")) m.hidden = *v;
  if (auto v = f.whole("heads")) m.heads = *v;
  if (auto v = f.whole("kv_heads")) m.kv_heads = *v;
  if (auto v = f.number("head_dim")) m.head_dim = *v;
  if (auto v = f.number("ffn")) m.ffn = *v;
  if (auto v = f.flag("gated_mlp")) m.gated_mlp = *v;
  if (auto v = f.number("vocab")) m.vocab = *v;
}

std::expected<catalog::ModelShape, std::string> shape_of(const Fields& f,
                                                         const ScoreInputs& inputs) {
  const std::string_view id = f.text("model");
  catalog::ModelShape m;
  if (const catalog::ModelShape* known = inputs.catalog().model(id)) {
    m = *known;
  } else if (auto given = inputs.model ? inputs.model(id) : std::nullopt) {
    m = *given;
  } else if (f.number("hidden") && f.whole("layers") && f.whole("heads") && f.number("ffn") &&
             f.number("vocab")) {
    m.id = std::string(id);
    m.kv_heads = *f.whole("heads");
    m.head_dim = *f.number("hidden") / *f.whole("heads");
    m.gated_mlp = f.flag("gated_mlp").value_or(true);
    m.tied_embeddings = !m.gated_mlp;  // GPT-2's models tie them, Llama's do not
  } else {
    return std::unexpected(
        fmt::format("model {} is not in the catalog, the row has no shape, and --models has no "
                    "config.json that can be modelled",
                    id));
  }
  override_shape(f, m);
  return m;
}

bool names(std::string_view list, std::string_view item) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find('+', at), list.size());
    if (list.substr(at, end - at) == item) return true;
    at = end + 1;
  }
  return false;
}

training::GraphScope graph_of_row(std::string_view text) {
  if (text.empty()) return {};
  constexpr std::string_view kPartial = "partial:";
  training::GraphScope g{.told = true, .whole_step = text == "full"};
  if (text == "layer") g.mixer = g.mlp = g.router = true;
  if (!text.starts_with(kPartial)) return g;
  text.remove_prefix(kPartial.size());
  g.mixer = names(text, "attn") || names(text, "mamba");
  g.mlp = names(text, "mlp");
  g.router = names(text, "moe_router");
  return g;
}

training::RecomputeModules modules_of_row(std::string_view text) {
  return {.named = !text.empty(),
          .norms = names(text, "layernorm"),
          .attention_core = names(text, "core_attn"),
          .latent_up = names(text, "mla_up_proj"),
          .mlp = names(text, "mlp"),
          .activation = names(text, "moe_act"),
          .experts = names(text, "moe")};
}

training::Recipe recipe_of_row(const Fields& f) {
  return {.graph = graph_of_row(f.text("cuda_graph")),
          .recompute = modules_of_row(f.text("recompute_modules")),
          .a2a_overlap = f.flag("a2a_overlap"),
          .tp_overlap = f.flag("tp_overlap"),
          .dispatcher = from_word<training::Dispatcher>(f.text("dispatcher"))
                            .value_or(training::Dispatcher::unknown),
          .lora_rank = f.number("lora_rank").value_or(0),
          .lora_on_mlp = f.text("lora_targets") == "all"};
}

jobs::LayoutWish wish_of_row(const Fields& f, const catalog::ModelShape& m) {
  jobs::LayoutWish w;
  w.tp = f.whole("tp");
  w.pp = f.whole("pp");
  w.vp = f.whole("vp");
  w.cp = f.whole("cp");
  w.ep = f.whole("ep");
  if (!w.ep && !m.is_moe()) w.ep = 1;
  w.microbatch = f.whole("mbs");
  w.sharding = from_any_word<catalog::Sharding>(f.text("sharding"));
  w.recompute = from_any_word<catalog::Recompute>(f.text("recompute"));
  w.schedule = from_any_word<catalog::Schedule>(f.text("schedule"));
  w.sequence_parallel = f.flag("sequence_parallel");
  w.async_tp = f.flag("async_tp").value_or(false);
  const bool is_complete = w.tp && w.pp && w.microbatch;
  if (!w.vp && (is_complete || w.schedule == catalog::Schedule::one_f_one_b)) w.vp = 1;
  if (!w.vp && w.schedule == catalog::Schedule::interleaved) w.vp = 2;
  if (w.schedule == catalog::Schedule::interleaved) w.schedule = catalog::Schedule::one_f_one_b;
  return w;
}

}  // namespace

std::expected<TrainingRow, std::string> read_training_row(const CsvTable& table, const CsvRow& row,
                                                          const ScoreInputs& inputs) {
  const Fields f{table, row};
  TrainingRow r;
  r.id = std::string(f.text("id"));
  r.certainty = std::string(f.text("certainty"));
  r.counts = r.certainty.starts_with("read") || r.certainty.starts_with("measured");
  jobs::TrainingQuery& q = r.query;
  q.accelerator = inputs.catalog().accelerator(f.text("gpu"));
  if (q.accelerator == nullptr) {
    return std::unexpected(fmt::format("accelerator {} is not in the catalog", f.text("gpu")));
  }
  auto shape = shape_of(f, inputs);
  if (!shape) return std::unexpected(shape.error());
  q.model = std::move(*shape);
  const auto gpus = f.whole("n_gpus");
  const auto sequence = f.number("seq");
  const auto batch = f.whole("gbs");
  if (!gpus || !sequence || !batch || *gpus < 1 || *sequence < 1 || *batch < 1) {
    return std::unexpected("GPU count, sequence or batch is missing");
  }
  q.gpus = *gpus;
  q.sequence = *sequence;
  q.batch = *batch;
  q.scaleup = f.whole("scaleup_gpus").value_or(0);
  q.nic = gbits_per_s(f.number("nic_gbps_per_gpu").value_or(0));
  q.network = fabric::network_kind_from(f.text("fabric"), q.accelerator->scaleup_link);
  const auto precision = workload::precision_from(f.text("precision"));
  if (!precision)
    return std::unexpected(fmt::format("precision {} is not known", f.text("precision")));
  q.precision = *precision;
  q.layout = wish_of_row(f, q.model);
  r.layout_published = q.layout.complete();
  q.task = f.text("task") == "lora"  ? training::TrainingTask::lora
           : f.text("task") == "sft" ? training::TrainingTask::finetune
                                     : training::TrainingTask::pretrain;
  q.framework = std::string(f.text("framework"));
  q.release = std::string(f.text("release"));
  q.balanced_experts =
      f.flag("balanced_experts").value_or(false) || f.text("framework") == "megatron-core";
  q.train_mtp = f.flag("mtp").value_or(framework_of(inputs.models, q).trains_mtp);
  q.padded_experts = f.flag("token_drop").value_or(false);
  q.compiled = f.flag("compile").value_or(true);
  q.shard_group = f.number("shard_group").value_or(0);
  q.recipe = recipe_of_row(f);
  r.tokens_per_s_per_gpu = f.number("tokens_per_s_per_gpu");
  r.peak_gib = f.number("peak_gib");
  r.watts = f.number("watts");
  return r;
}

}  // namespace orrery::score
