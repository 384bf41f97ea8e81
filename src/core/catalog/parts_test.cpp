#include "core/catalog/parts.h"

#include <gtest/gtest.h>

namespace orrery::catalog {
namespace {

TEST(Parts, names_round_trip) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto d = static_cast<Dtype>(i);
    EXPECT_EQ(from_word<Dtype>(to_text(d)), d);
  }
  EXPECT_EQ(from_word<Dtype>("BF16"), std::nullopt);
  EXPECT_DOUBLE_EQ(bytes_per_element(Dtype::fp4), 0.5);
}

TEST(Parts, bytes_per_element_are_exact) {
  EXPECT_EQ(bytes_per_element(Dtype::fp64), 8);
  EXPECT_EQ(bytes_per_element(Dtype::fp32), 4);
  EXPECT_EQ(bytes_per_element(Dtype::tf32), 4);
  EXPECT_EQ(bytes_per_element(Dtype::bf16), 2);
  EXPECT_EQ(bytes_per_element(Dtype::fp16), 2);
  EXPECT_EQ(bytes_per_element(Dtype::fp8), 1);
  EXPECT_EQ(bytes_per_element(Dtype::int8), 1);
  EXPECT_EQ(bytes_per_element(Dtype::fp4), 0.5);
}

}  // namespace
}  // namespace orrery::catalog
