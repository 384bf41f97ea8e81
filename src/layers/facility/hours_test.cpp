#include "layers/facility/hours.h"

#include <gtest/gtest.h>

namespace orrery::facility {
namespace {

TEST(Hours, steady_draw_emits_the_mean_of_the_products) {
  Hours hours_of_two{.pue = {1.1, 1.5}, .carbon = {grams_per_kwh(100), grams_per_kwh(500)}};
  EXPECT_NEAR(mean_pue(hours_of_two), 1.3, 1e-12);
  EXPECT_NEAR(mean_grams(hours_of_two) / grams_per_kwh(1), (110 + 750) / 2.0, 1e-9);
  const std::vector<Joules> energy = {kwh(1), kwh(2), kwh(3)};  // the third hour is the first again
  EXPECT_NEAR(carbon_of(hours_of_two, energy).base(), 110 + 2 * 750 + 3 * 110, 1e-9);
}

TEST(Hours, hours_wrap_around) {
  EXPECT_EQ(mean_pue({}), 1);
  EXPECT_EQ(mean_grams({}), GramsPerJoule());
  const Hours two{.pue = {1.1, 1.5}, .carbon = {grams_per_kwh(100), grams_per_kwh(500)}};
  EXPECT_EQ(two.pue_at(3), 1.5);
  EXPECT_NEAR(two.carbon_at(2) / grams_per_kwh(1), 100, 1e-12);
  EXPECT_NEAR(two.grams_at(5) / grams_per_kwh(1), 750, 1e-9);
  const double dry[] = {3, 8, 12, -4};
  const auto weather = weather_of(dry);
  ASSERT_EQ(weather.size(), 4U);
  EXPECT_EQ(weather[2].share, 0.25);
  EXPECT_EQ(weather[3].dry_c, -4);
  EXPECT_EQ(weather[1].wet_c, 8);
}

}  // namespace
}  // namespace orrery::facility
