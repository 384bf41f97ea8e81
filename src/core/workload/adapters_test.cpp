#include "core/workload/adapters.h"

#include <gtest/gtest.h>

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

TEST(Adapters, CountBothSidesOfEveryProduct) {
  const catalog::ModelShape m = small();
  // qkv: 3 x 8 in, 8 + 2 x 4 out; o: 8 and 8; gate, up and down: 8 + 20 each.
  EXPECT_EQ(adapter_parameters(m, {.qkv = true}, 1), 2 * (24 + 16));
  EXPECT_EQ(adapter_parameters(m, {.o = true}, 1), 2 * 16);
  EXPECT_EQ(adapter_parameters(m, {.mlp = true}, 1), 2 * 3 * 28);
  EXPECT_EQ(adapter_parameters(m, {.qkv = true, .o = true, .mlp = true}, 16),
            16 * 2 * (40 + 16 + 84));
  EXPECT_EQ(adapter_parameters(m, {}, 16), 0);
}

TEST(Adapters, ExpertsHaveTheirOwn) {
  catalog::ModelShape m = small();
  m.experts = 4;
  m.top_k = 2;
  m.expert_ffn = 10;
  EXPECT_EQ(adapter_parameters(m, {.mlp = true}, 1), 2 * 4 * 3 * 18);
  EXPECT_EQ(adapter_parameters(m, {.qkv = true}, 1), 2 * 40);
}

TEST(Adapters, WordsOfTheDesignFile) {
  EXPECT_EQ(adapter_targets({"qkv", "mlp"}), (AdapterTargets{.qkv = true, .mlp = true}));
  EXPECT_EQ(adapter_targets({"o", "embedding"}), AdapterTargets{.o = true});
  EXPECT_FALSE(adapter_targets({}).any());
}

}  // namespace
}  // namespace orrery::workload
