#include "layers/cost/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/cost/cost_fixture.h"
#include "layers/cost/ownership_sensitivity.h"

namespace orrery::cost {
namespace {

TEST(Sensitivity, bars_are_sorted_by_span) {
  // x + 10 y at (2, 3) is 32: x from 0 spans 5, y from 2.5 to 3.5 spans 10, z nothing.
  const std::vector<SensitivityInput> inputs{
      {.name = "x", .value = 2, .high = 5, .reference = "rx"},
      {.name = "y", .low = 2.5, .value = 3, .high = 3.5, .reference = "ry"},
      {.name = "z"},
      {.name = "u"}};
  const Tornado t = tornado(inputs, [](std::span<const double> v) { return v[0] + 10 * v[1]; });
  EXPECT_DOUBLE_EQ(t.value, 32);
  ASSERT_EQ(t.bars.size(), 4U);
  EXPECT_EQ(t.bars[0].name + t.bars[1].name + t.bars[2].name + t.bars[3].name, "yxzu");
  EXPECT_DOUBLE_EQ(t.bars[0].at_low, 27);
  EXPECT_DOUBLE_EQ(t.bars[0].at_high, 37);
  EXPECT_DOUBLE_EQ(t.bars[0].span, 10);
  EXPECT_EQ(t.bars[0].reference, "ry");
  EXPECT_DOUBLE_EQ(t.bars[1].at_low, 30);
  EXPECT_DOUBLE_EQ(t.bars[1].at_high, 35);
  EXPECT_DOUBLE_EQ(t.bars[1].span, 5);
  EXPECT_EQ(t.bars[1].input_low, 0);
  EXPECT_EQ(t.bars[1].input_high, 5);
  EXPECT_EQ(t.bars[2].input_low, 0);
  EXPECT_EQ(t.bars[2].input_high, 0);
}

TEST(Sensitivity, bars_straddle_the_value) {
  const Tornado t = ownership_tornado(worked(325, 7.8, 8), shipped(), {});
  EXPECT_NEAR(t.value, 2.19, 0.005);
  ASSERT_GE(t.bars.size(), 8u);
  for (std::size_t i = 1; i < t.bars.size(); ++i) EXPECT_GE(t.bars[i - 1].span, t.bars[i].span);
  // Utilisation and service life move the cost most; electricity is far down the list.
  EXPECT_EQ(t.bars[0].name, "utilisation");
  EXPECT_EQ(t.bars[1].name, "years");
  std::size_t electricity = 0;
  while (t.bars[electricity].name != "electricity") ++electricity;
  EXPECT_GT(electricity, 2u);
  for (const SensitivityBar& bar : t.bars) EXPECT_FALSE(bar.reference.empty()) << bar.name;
}

TEST(Sensitivity, one_input_at_a_time) {
  const std::vector<SensitivityInput> inputs{{"x", 1, 2, 3, "t"}, {"y", 10, 10, 10, "t"}};
  const Tornado t = tornado(inputs, [](std::span<const double> v) { return v[0] * v[1]; });
  EXPECT_DOUBLE_EQ(t.value, 20);
  EXPECT_DOUBLE_EQ(t.bars[0].at_low, 10);
  EXPECT_DOUBLE_EQ(t.bars[0].at_high, 30);
  EXPECT_DOUBLE_EQ(t.bars[1].span, 0);
}

}  // namespace
}  // namespace orrery::cost
