#include "study/score/training_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

std::map<std::string, std::string> training_fields() {
  return {{"id", "r"},           {"gpu", "h100-sxm"},   {"model", "llama-3-8b"},
          {"n_gpus", "16"},      {"seq", "4096"},       {"gbs", "32"},
          {"precision", "bf16"}, {"certainty", "read"}, {"framework", "nemo"}};
}

std::expected<TrainingRow, std::string> training_row(
    const std::map<std::string, std::string>& more) {
  auto fields = training_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_training_row(table, table.rows().at(0), known_inputs());
}

TEST(TrainingRows, columns_reach_their_fields) {
  const auto r = training_row({{"tokens_per_s_per_gpu", "1234"},
                               {"peak_gib", "55"},
                               {"watts", "600"},
                               {"nic_gbps_per_gpu", "400"},
                               {"release", "25.04"},
                               {"scaleup_gpus", "4"},
                               {"shard_group", "8"},
                               {"tp", "2"},
                               {"pp", "4"},
                               {"cp", "1"},
                               {"mbs", "3"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->query.gpus, 16);
  EXPECT_EQ(r->query.sequence, 4096);
  EXPECT_EQ(r->query.batch, 32);
  EXPECT_EQ(r->query.nic, gbits_per_s(400));
  EXPECT_EQ(r->query.scaleup, 4);
  EXPECT_EQ(r->query.release, "25.04");
  EXPECT_EQ(r->query.shard_group, 8);
  EXPECT_EQ(r->tokens_per_s_per_gpu, 1234);
  EXPECT_EQ(r->peak_gib, 55);
  EXPECT_EQ(r->watts, 600);
  EXPECT_EQ(r->query.layout.tp, 2);
  EXPECT_EQ(r->query.layout.pp, 4);
  EXPECT_EQ(r->query.layout.microbatch, 3);
  EXPECT_EQ(r->query.layout.ep, 1);
  EXPECT_EQ(r->query.layout.vp, 1);
  EXPECT_TRUE(r->query.compiled);
  EXPECT_EQ(r->query.task, training::TrainingTask::pretrain);
}

TEST(TrainingRows, read_and_measured_rows_count) {
  EXPECT_TRUE(training_row({})->counts);
  EXPECT_TRUE(training_row({{"certainty", "measured, own"}})->counts);
  EXPECT_FALSE(training_row({{"certainty", "recalled"}})->counts);
  EXPECT_FALSE(training_row({{"certainty", ""}})->counts);
}

TEST(TrainingRows, flags_and_tasks_are_read) {
  EXPECT_FALSE(training_row({{"compile", "0"}})->query.compiled);
  EXPECT_TRUE(training_row({{"compile", "1"}})->query.compiled);
  EXPECT_TRUE(training_row({{"token_drop", "1"}})->query.padded_experts);
  EXPECT_EQ(training_row({{"task", "lora"}})->query.task, training::TrainingTask::lora);
  EXPECT_EQ(training_row({{"task", "sft"}})->query.task, training::TrainingTask::finetune);
  EXPECT_TRUE(training_row({{"framework", "megatron-core"}})->query.balanced_experts);
  EXPECT_FALSE(training_row({})->query.balanced_experts);
  EXPECT_TRUE(training_row({{"balanced_experts", "1"}})->query.balanced_experts);
  EXPECT_TRUE(training_row({{"lora_targets", "all"}})->query.recipe.lora_on_mlp);
  EXPECT_FALSE(training_row({{"lora_targets", "attention"}})->query.recipe.lora_on_mlp);
  EXPECT_EQ(training_row({{"sequence_parallel", "0"}})->query.layout.sequence_parallel, false);
  EXPECT_FALSE(training_row({})->query.layout.sequence_parallel.has_value());
}

TEST(TrainingRows, an_interleaved_schedule_has_two_chunks_by_default) {
  EXPECT_EQ(training_row({{"schedule", "interleaved"}})->query.layout.vp, 2);
  EXPECT_EQ(training_row({{"schedule", "interleaved"}, {"vp", "4"}})->query.layout.vp, 4);
  EXPECT_FALSE(training_row({})->query.layout.vp.has_value()) << "left open";
}

TEST(TrainingRows, list_items_are_whole_words) {
  const auto graph = [](const char* text) {
    return training_row({{"cuda_graph", text}})->query.recipe.graph;
  };
  EXPECT_FALSE(graph("").told);
  EXPECT_TRUE(graph("none").told);
  EXPECT_FALSE(graph("none").whole_step);
  EXPECT_TRUE(graph("full").whole_step);
  EXPECT_TRUE(graph("layer").mixer && graph("layer").mlp && graph("layer").router);
  EXPECT_TRUE(graph("partial:attn").mixer);
  EXPECT_TRUE(graph("partial:mamba").mixer);
  EXPECT_FALSE(graph("partial:mlp").mixer);
  EXPECT_TRUE(graph("partial:attn+moe_router").router);
  EXPECT_FALSE(graph("partial:moe_router").mlp);
  const auto modules = training_row({{"recompute_modules", "moe_act+mlp"}})->query.recipe.recompute;
  EXPECT_TRUE(modules.named && modules.activation && modules.mlp);
  EXPECT_FALSE(modules.experts);
  EXPECT_FALSE(training_row({})->query.recipe.recompute.named);
}

// A shape of its own if the catalog has no such model: heads of equal width, embeddings tied if the
// MLP is GPT-2's.
TEST(TrainingRows, a_row_may_have_its_own_shape) {
  const std::map<std::string, std::string> shape = {{"model", "own"}, {"hidden", "2048"},
                                                    {"layers", "24"}, {"heads", "16"},
                                                    {"ffn", "8192"},  {"vocab", "50000"}};
  const auto gated = training_row(shape);
  ASSERT_TRUE(gated) << gated.error();
  EXPECT_EQ(gated->query.model.head_dim, 128);
  EXPECT_EQ(gated->query.model.kv_heads, 16);
  EXPECT_EQ(gated->query.model.layers, 24);
  EXPECT_TRUE(gated->query.model.gated_mlp);
  EXPECT_FALSE(gated->query.model.tied_embeddings);
  auto old = shape;
  old["gated_mlp"] = "0";
  EXPECT_TRUE(training_row(old)->query.model.tied_embeddings);
  EXPECT_EQ(training_row({{"layers", "4"}})->query.model.layers, 4) << "a truncated depth";
}

std::expected<TrainingRow, std::string> column_row(const RowFields& more,
                                                   const ScoreInputs& inputs = known_inputs()) {
  const CsvTable table = table_of({with_fields({{"id", "r"},
                                                {"gpu", "h100-sxm"},
                                                {"model", "llama-3-8b"},
                                                {"n_gpus", "16"},
                                                {"seq", "4096"},
                                                {"gbs", "32"},
                                                {"precision", "bf16"},
                                                {"certainty", "read"},
                                                {"framework", "nemo"}},
                                               more)});
  return read_training_row(table, table.rows().at(0), inputs);
}

TEST(TrainingRows, shape_columns_override_the_model) {
  const auto r = column_row({{"layers", "7"},
                             {"dense_layers", "3"},
                             {"hidden", "1536"},
                             {"heads", "12"},
                             {"kv_heads", "6"},
                             {"head_dim", "134.75"},
                             {"ffn", "5120"},
                             {"gated_mlp", "0"},
                             {"vocab", "77777"}});
  ASSERT_TRUE(r) << r.error();
  const catalog::ModelShape& m = r->query.model;
  EXPECT_EQ(m.layers, 7);
  EXPECT_EQ(m.first_dense_layers, 3);
  EXPECT_EQ(m.hidden, 1536);
  EXPECT_EQ(m.heads, 12);
  EXPECT_EQ(m.kv_heads, 6);
  EXPECT_EQ(m.head_dim, 134.75);
  EXPECT_EQ(m.ffn, 5120);
  EXPECT_FALSE(m.gated_mlp);
  EXPECT_EQ(m.vocab, 77777);
  EXPECT_EQ(m.id, "llama-3-8b");
}

TEST(TrainingRows, a_model_may_be_given) {
  ScoreInputs inputs = known_inputs();
  inputs.model = [](std::string_view id) {
    catalog::ModelShape m = *machine::known().catalog().model("llama-3-70b");
    m.id = "given:" + std::string(id);
    return id == "mine" ? std::optional(m) : std::nullopt;
  };
  const auto given = column_row({{"model", "mine"}}, inputs);
  ASSERT_TRUE(given) << given.error();
  EXPECT_EQ(given->query.model.id, "given:mine");
  EXPECT_EQ(given->query.model.layers, 80);
  EXPECT_FALSE(column_row({{"model", "other"}}, inputs));
  EXPECT_EQ(column_row({}, inputs)->query.model.id, "llama-3-8b");
}

TEST(TrainingRows, layout_columns_are_read) {
  const auto wish = [](const RowFields& more) { return column_row(more)->query.layout; };
  const jobs::LayoutWish w = wish({{"tp", "2"},
                                   {"pp", "4"},
                                   {"vp", "5"},
                                   {"cp", "3"},
                                   {"ep", "6"},
                                   {"mbs", "7"},
                                   {"sharding", "fsdp"},
                                   {"recompute", "selective"},
                                   {"schedule", "zero-bubble"},
                                   {"sequence_parallel", "1"},
                                   {"async_tp", "1"}});
  EXPECT_EQ(w.tp, 2);
  EXPECT_EQ(w.pp, 4);
  EXPECT_EQ(w.vp, 5);
  EXPECT_EQ(w.cp, 3);
  EXPECT_EQ(w.ep, 6);
  EXPECT_EQ(w.microbatch, 7);
  EXPECT_EQ(w.sharding, catalog::Sharding::zero3);
  EXPECT_EQ(w.recompute, catalog::Recompute::selective);
  EXPECT_EQ(w.schedule, catalog::Schedule::zero_bubble);
  EXPECT_EQ(w.sequence_parallel, true);
  EXPECT_TRUE(w.async_tp);
  EXPECT_FALSE(wish({}).async_tp);
  EXPECT_FALSE(wish({{"sharding", "auto"}}).sharding);
  EXPECT_FALSE(wish({{"model", "mixtral-8x7b"}}).ep);
  EXPECT_EQ(wish({}).ep, 1);
}

TEST(TrainingRows, graph_and_recompute_parts_are_lists) {
  const auto graph = [](const char* text) {
    return column_row({{"cuda_graph", text}})->query.recipe.graph;
  };
  EXPECT_TRUE(graph("partial:mlp").mlp);
  EXPECT_TRUE(graph("partial:attn+mlp").mlp);
  EXPECT_FALSE(graph("partial:attn").mlp);
  EXPECT_FALSE(graph("partial:attn").router);
  EXPECT_FALSE(graph("partial:attn").whole_step);
  EXPECT_FALSE(graph("full").mixer);
  EXPECT_FALSE(graph("layer").whole_step);
  const auto modules = [](const char* text) {
    return column_row({{"recompute_modules", text}})->query.recipe.recompute;
  };
  const auto count = [](const training::RecomputeModules& m) {
    return m.norms + m.attention_core + m.latent_up + m.mlp + m.activation + m.experts;
  };
  EXPECT_TRUE(modules("layernorm").norms);
  EXPECT_TRUE(modules("core_attn").attention_core);
  EXPECT_TRUE(modules("mla_up_proj").latent_up);
  EXPECT_TRUE(modules("mlp").mlp);
  EXPECT_TRUE(modules("moe_act").activation);
  EXPECT_TRUE(modules("moe").experts);
  for (const char* one : {"layernorm", "core_attn", "mla_up_proj", "mlp", "moe_act", "moe"}) {
    EXPECT_EQ(count(modules(one)), 1) << one;
    EXPECT_TRUE(modules(one).named);
  }
  EXPECT_EQ(count(modules("layernorm+core_attn+moe")), 3);
}

TEST(TrainingRows, a_recipe_sets_its_options) {
  const training::Recipe got = column_row({{"a2a_overlap", "1"},
                                           {"tp_overlap", "0"},
                                           {"dispatcher", "hybridep"},
                                           {"lora_rank", "17"}})
                                   ->query.recipe;
  EXPECT_EQ(got.a2a_overlap, true);
  EXPECT_EQ(got.tp_overlap, false);
  EXPECT_EQ(got.dispatcher, training::Dispatcher::hybridep);
  EXPECT_EQ(got.lora_rank, 17);
  const training::Recipe silent = column_row({})->query.recipe;
  EXPECT_FALSE(silent.a2a_overlap);
  EXPECT_FALSE(silent.tp_overlap);
  EXPECT_EQ(silent.dispatcher, training::Dispatcher::unknown);
  EXPECT_EQ(silent.lora_rank, 0);
}

TEST(TrainingRows, other_columns_describe_the_run) {
  const auto r = column_row({{"fabric", "RoCEv2"}, {"mtp", "1"}, {"certainty", "measured: own"}});
  ASSERT_TRUE(r) << r.error();
  EXPECT_EQ(r->id, "r");
  EXPECT_EQ(r->certainty, "measured: own");
  EXPECT_EQ(r->query.network, catalog::NetworkKind::roce);
  EXPECT_TRUE(r->query.train_mtp);
  EXPECT_FALSE(column_row({{"mtp", "0"}})->query.train_mtp);
  EXPECT_EQ(r->query.framework, "nemo");
  EXPECT_FALSE(r->layout_published);
  EXPECT_FALSE(r->query.padded_experts);
  EXPECT_EQ(r->query.scaleup, 0);
  EXPECT_EQ(r->query.shard_group, 0);
  EXPECT_EQ(r->query.nic, gbits_per_s(0));
  EXPECT_EQ(column_row({{"n_gpus", "1"}, {"seq", "1"}, {"gbs", "1"}})->query.batch, 1);
  EXPECT_EQ(column_row({{"precision", "fp8"}})->query.precision, catalog::Precision::fp8);
}

}  // namespace
}  // namespace orrery::score
