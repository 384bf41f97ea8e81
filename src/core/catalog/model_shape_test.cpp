#include "core/catalog/model_shape.h"

#include <gtest/gtest.h>

namespace orrery::catalog {
namespace {

ModelShape scanning() {
  ModelShape m;
  m.layers = 12;
  m.state_space_layers = 7;
  m.mlp_only_layers = 2;
  m.scan_heads = 4;
  m.scan_head_dim = 64;
  m.scan_state = 128;
  return m;
}

TEST(ModelShape, scan_is_modelled_only_when_its_shape_is_complete) {
  EXPECT_TRUE(scanning().scan_is_modelled());
  ModelShape m = scanning();
  m.scan_heads = 0;
  EXPECT_FALSE(m.scan_is_modelled());
  m = scanning();
  m.scan_head_dim = 0;
  EXPECT_FALSE(m.scan_is_modelled());
  m = scanning();
  m.scan_state = 0;
  EXPECT_FALSE(m.scan_is_modelled());
  m.state_space_layers = 0;
  EXPECT_TRUE(m.scan_is_modelled()) << "there is none";
}

TEST(ModelShape, attention_layers_are_the_rest) {
  EXPECT_EQ(scanning().attention_layers(), 12 - 7 - 2);
  EXPECT_TRUE(scanning().has_scan());
  ModelShape one = scanning();
  one.state_space_layers = 1;
  EXPECT_TRUE(one.has_scan());
  one.state_space_layers = 0;
  EXPECT_FALSE(one.has_scan());
  EXPECT_EQ(one.attention_layers(), 10);
  EXPECT_FALSE(one.is_moe());
  one.experts = 1;
  EXPECT_TRUE(one.is_moe());
}

}  // namespace
}  // namespace orrery::catalog
