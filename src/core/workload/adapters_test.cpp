#include "core/workload/adapters.h"

#include <gtest/gtest.h>

#include "core/workload/workload_fixture.h"

namespace orrery::workload {
namespace {

catalog::ModelShape small() {
  return {.id = "small",
          .layers = 2,
          .hidden = 8,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 2,
          .ffn = 20,
          .vocab = 100};
}

TEST(Adapters, count_both_sides_of_every_product) {
  const catalog::ModelShape m = small();
  // qkv: 3 x 8 in, 8 + 2 x 4 out; o: 8 and 8; gate, up and down: 8 + 20 each.
  EXPECT_EQ(adapter_parameters(m, {.qkv = true}, 1), 2 * (24 + 16));
  EXPECT_EQ(adapter_parameters(m, {.o = true}, 1), 2 * 16);
  EXPECT_EQ(adapter_parameters(m, {.mlp = true}, 1), 2 * 3 * 28);
  EXPECT_EQ(adapter_parameters(m, {.qkv = true, .o = true, .mlp = true}, 16),
            16 * 2 * (40 + 16 + 84));
  EXPECT_EQ(adapter_parameters(m, {}, 16), 0);
}

TEST(Adapters, experts_have_their_own) {
  catalog::ModelShape m = small();
  m.experts = 4;
  m.top_k = 2;
  m.expert_ffn = 10;
  EXPECT_EQ(adapter_parameters(m, {.mlp = true}, 1), 2 * 4 * 3 * 18);
  EXPECT_EQ(adapter_parameters(m, {.qkv = true}, 1), 2 * 40);
}

TEST(Adapters, words_of_the_design_file) {
  EXPECT_EQ(adapter_targets({"qkv", "mlp"}), (AdapterTargets{.qkv = true, .mlp = true}));
  EXPECT_EQ(adapter_targets({"o", "embedding"}), AdapterTargets{.o = true});
  EXPECT_FALSE(adapter_targets({}).any());
}

TEST(Adapters, adapted_products_are_listed_with_their_sizes) {
  const auto all = adapted_products(routed_shape(), {.qkv = true, .o = true, .mlp = true});
  ASSERT_EQ(all.size(), 6U);
  const auto is = [&](std::size_t i, double slices, double in, double out, double layers,
                      double experts, bool rows_cut) {
    EXPECT_EQ(all[i].slices, slices) << i;
    EXPECT_EQ(all[i].in, in) << i;
    EXPECT_EQ(all[i].out, out) << i;
    EXPECT_EQ(all[i].layers, layers) << i;
    EXPECT_EQ(all[i].experts, experts) << i;
    EXPECT_EQ(all[i].rows_cut, rows_cut) << i;
    EXPECT_EQ(all[i].sides(), slices * in + out) << i;
  };
  is(0, 3, 48, 60 + 2 * 20, 7, 1, false);
  is(1, 1, 60, 48, 7, 1, true);
  is(2, 1, 48, 130, 2, 1, false);
  is(3, 1, 130, 48, 2, 1, true);
  is(4, 1, 48, 14, 5, 9, false);
  is(5, 1, 14, 48, 5, 9, true);
  catalog::ModelShape gated = routed_shape();
  gated.gated_mlp = true;
  EXPECT_EQ(adapted_products(gated, {.mlp = true})[2].out, 28);
  EXPECT_EQ(adapted_products(plain_shape(), {.mlp = true}).size(), 2U) << "no experts";
  // 5 x (7 (244 + 108) + 2 x 2 x 178 + 5 x 9 x 2 x 62)
  EXPECT_EQ(adapter_parameters(routed_shape(), {.qkv = true, .o = true, .mlp = true}, 5), 43'780);
  EXPECT_TRUE((AdapterTargets{.o = true}).any());
  EXPECT_TRUE((AdapterTargets{.mlp = true}).any());
}

}  // namespace
}  // namespace orrery::workload
