#include "layers/facility/cooling_loop.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::facility {
namespace {

CoolingPlant four_units(int spares) {
  return {.heat = megawatts(4), .unit = megawatts(1), .spares = spares};
}

TEST(CoolingLoop, a_spare_unit_carries_the_loss_of_one) {
  const CoolingPlant plant = four_units(1);
  EXPECT_EQ(plant.installed(), 5);
  EXPECT_GE(plant.carries(1, 20).base(), 4e6);
  EXPECT_FALSE(std::isfinite(plant.throttles_after(1, megawatts(4)).base()));
  EXPECT_LT(plant.carries(2, 20).base(), 4e6);
}

// 0.7 L a kW of PG25 at 3.947 kJ/(L K) is 11.05 MJ/K for 4 MW. One
// unit of four short at full load is 1 MW over: 10 K in 110.5 s; all of them, in 27.6 s.
TEST(CoolingLoop, warms_by_what_is_not_carried) {
  const CoolingPlant plant = four_units(0);
  EXPECT_NEAR(plant.joules_per_kelvin(), 11.05e6, 0.01e6);
  EXPECT_NEAR(plant.throttles_after(1, megawatts(4)).base(), 110.5, 0.1);
  EXPECT_NEAR(plant.throttles_after(4, megawatts(4)).base(), 27.6, 0.1);
  CoolingLoop loop(plant);
  loop.set(seconds(100), megawatts(4), plant.carries(1, 20));
  EXPECT_NEAR(loop.next_turn(seconds(100)).base(), 110.5, 0.1);
  EXPECT_NEAR(loop.warmer_k(seconds(155.25)), 5, 0.01);
  EXPECT_FALSE(loop.is_hot(seconds(200)));
  EXPECT_TRUE(loop.is_hot(seconds(211)));
  EXPECT_NEAR(loop.warmer_k(seconds(5000)), kLoopMarginK, 1e-9) << "the throttle holds it there";
  // Back in service: it cools by what the plant has to spare.
  loop.set(seconds(5000), megawatts(2), plant.carries(0, 20));
  EXPECT_NEAR(loop.next_turn(seconds(5000)).base(), 55.25, 0.1);
  EXPECT_EQ(loop.warmer_k(seconds(6000)), 0);
  EXPECT_EQ(loop.warmest_k(), kLoopMarginK);
}

TEST(CoolingLoop, a_plant_loses_its_rating_beyond_the_weather_it_is_sized_for) {
  EXPECT_EQ(weather_share(35, 30), 1);
  EXPECT_DOUBLE_EQ(weather_share(35, 45), 0.5);
  EXPECT_EQ(weather_share(35, 60), 0);
  EXPECT_EQ(weather_share(kHotSideC, 50), 1) << "no weather was given";
}

}  // namespace
}  // namespace orrery::facility
