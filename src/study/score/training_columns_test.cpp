// Columns of a published training row: shapes, layouts and recipes, field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/score/rows_fixture.h"
#include "study/score/training_rows.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

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

TEST(TrainingColumns, every_column_of_a_shape_overrides_the_model) {
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

TEST(TrainingColumns, a_model_may_be_handed_in) {
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
  EXPECT_EQ(column_row({}, inputs)->query.model.id, "llama-3-8b") << "the catalog's first";
}

TEST(TrainingColumns, a_shape_needs_all_of_its_five_columns) {
  const RowFields shape = {{"model", "own"}, {"hidden", "2048"}, {"layers", "24"},
                           {"heads", "16"},  {"ffn", "8192"},    {"vocab", "50000"}};
  ASSERT_TRUE(column_row(shape));
  EXPECT_EQ(column_row(shape)->query.model.id, "own");
  for (const char* column : {"hidden", "layers", "heads", "ffn", "vocab"}) {
    const auto without = column_row(with_fields(shape, {{column, ""}}));
    ASSERT_FALSE(without) << column;
    EXPECT_THAT(without.error(), HasSubstr("the row has no shape"));
  }
}

TEST(TrainingColumns, layouts_reach_the_wish) {
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
  EXPECT_FALSE(wish({{"model", "mixtral-8x7b"}}).ep) << "left open where there are experts";
  EXPECT_EQ(wish({}).ep, 1);
}

TEST(TrainingColumns, chunks_that_are_not_told_are_one_or_two_or_open) {
  const auto wish = [](const RowFields& more) { return column_row(more)->query.layout; };
  EXPECT_EQ(wish({{"schedule", "1f1b"}}).vp, 1);
  EXPECT_EQ(wish({{"tp", "1"}, {"pp", "2"}, {"mbs", "1"}}).vp, 1);
  EXPECT_FALSE(wish({{"tp", "1"}, {"pp", "2"}}).vp);
  EXPECT_FALSE(wish({{"tp", "1"}, {"mbs", "1"}}).vp);
  EXPECT_FALSE(wish({{"pp", "1"}, {"mbs", "1"}}).vp);
  EXPECT_FALSE(wish({{"schedule", "dualpipe"}}).vp);
  const jobs::LayoutWish interleaved = wish({{"schedule", "interleaved"}});
  EXPECT_EQ(interleaved.vp, 2);
  EXPECT_EQ(interleaved.schedule, catalog::Schedule::one_f_one_b) << "chunks say the rest";
  EXPECT_EQ(wish({{"schedule", "interleaved"}, {"tp", "1"}, {"pp", "2"}, {"mbs", "1"}}).vp, 1)
      << "a layout that is told has the chunks that it tells";
}

TEST(TrainingColumns, parts_in_graphs_and_recomputed_modules_are_named_one_by_one) {
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

TEST(TrainingColumns, a_recipe_says_what_it_is_told) {
  const training::Recipe told = column_row({{"a2a_overlap", "1"},
                                            {"tp_overlap", "0"},
                                            {"dispatcher", "hybridep"},
                                            {"lora_rank", "17"}})
                                    ->query.recipe;
  EXPECT_EQ(told.a2a_overlap, true);
  EXPECT_EQ(told.tp_overlap, false);
  EXPECT_EQ(told.dispatcher, training::Dispatcher::hybridep);
  EXPECT_EQ(told.lora_rank, 17);
  const training::Recipe silent = column_row({})->query.recipe;
  EXPECT_FALSE(silent.a2a_overlap);
  EXPECT_FALSE(silent.tp_overlap);
  EXPECT_EQ(silent.dispatcher, training::Dispatcher::unknown);
  EXPECT_EQ(silent.lora_rank, 0);
}

TEST(TrainingColumns, the_rest_of_a_row_is_the_run_as_it_was) {
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
  EXPECT_EQ(column_row({{"n_gpus", "1"}, {"seq", "1"}, {"gbs", "1"}})->query.batch, 1)
      << "one of each is a run";
  EXPECT_EQ(column_row({{"precision", "fp8"}})->query.precision, catalog::Precision::fp8);
}

}  // namespace
}  // namespace orrery::score
