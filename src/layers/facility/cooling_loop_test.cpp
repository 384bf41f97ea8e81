#include "layers/facility/cooling_loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/facility/cdu.h"
#include "layers/facility/rack.h"

namespace orrery::facility {
namespace {

CoolingPlant four_units(int spares) {
  return {.heat = megawatts(4), .unit = megawatts(1), .spares = spares};
}

TEST(CoolingLoop, spare_unit_carries_the_loss_of_one) {
  const CoolingPlant plant = four_units(1);
  EXPECT_EQ(plant.installed(), 5);
  EXPECT_GE(plant.carries(1, 20).base(), 4e6);
  EXPECT_FALSE(std::isfinite(plant.throttles_after(1, megawatts(4)).base()));
  EXPECT_LT(plant.carries(2, 20).base(), 4e6);
}

// 0.7 L per kW of PG25 at 3.947 kJ/(L K) is 11.05 MJ/K for 4 MW. If one unit of four is missing at
// full load, 1 MW is uncooled: 10 K in 110.5 s; if all are, in 27.6 s.
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
  // Back in service: the loop cools by the plant's surplus.
  loop.set(seconds(5000), megawatts(2), plant.carries(0, 20));
  EXPECT_NEAR(loop.next_turn(seconds(5000)).base(), 55.25, 0.1);
  EXPECT_EQ(loop.warmer_k(seconds(6000)), 0);
  EXPECT_EQ(loop.warmest_k(), kLoopMarginK);
}

TEST(CoolingLoop, plant_loses_its_rating_beyond_the_weather_it_is_sized_for) {
  EXPECT_EQ(weather_share(35, 30), 1);
  EXPECT_DOUBLE_EQ(weather_share(35, 45), 0.5);
  EXPECT_EQ(weather_share(35, 60), 0);
  EXPECT_EQ(weather_share(kHotSideC, 50), 1) << "no weather was given";
}

// 3.5 MW in units of 1 MW: four units of 0.875.
CoolingPlant four_and_two() {
  return {.heat = megawatts(3.5),
          .unit = megawatts(1),
          .spares = 2,
          .litres_per_kw = 0.8,
          .design_c = 35};
}

TEST(CoolingLoop, plant_capacity_by_units) {
  const CoolingPlant p = four_and_two();
  EXPECT_EQ(p.needed(), 4);
  EXPECT_EQ(p.installed(), 6);
  EXPECT_NEAR(p.carries(1, 20) / megawatts(1), 0.875 * 5, 1e-9);
  EXPECT_NEAR(p.carries(3, 40) / megawatts(1), 0.875 * 3 * 0.75, 1e-9);
  EXPECT_EQ(p.carries(6, 20), Watts());
  EXPECT_EQ(p.carries(7, 20), Watts());
  const double per_kelvin = 0.8 * 3500 * 60e3 / 15.2;
  EXPECT_NEAR(p.joules_per_kelvin(), per_kelvin, 1e-3);
  // With three of six units out of service, the rest carry 2.625 MW.
  EXPECT_NEAR(p.throttles_after(3, megawatts(3)).base(), per_kelvin * 10 / 0.375e6, 1e-6);
  EXPECT_TRUE(std::isinf(p.throttles_after(3, megawatts(2.625)).base()));
  EXPECT_TRUE(std::isinf(p.throttles_after(3, megawatts(2)).base()));
  EXPECT_EQ(CoolingPlant{.heat = megawatts(3)}.needed(), 3);
  EXPECT_EQ(CoolingPlant{.heat = megawatts(3)}.installed(), 4);
  EXPECT_EQ(CoolingPlant{}.needed(), 1) << "one at the least";
  EXPECT_NEAR(CoolingPlant{.heat = kilowatts(10)}.joules_per_kelvin(), 7 * 60e3 / 15.2, 1e-6);
}

TEST(CoolingLoop, hot_weather_reduces_capacity) {
  EXPECT_EQ(weather_share(35, 35), 1);
  EXPECT_NEAR(weather_share(35, 36), 0.95, 1e-12);
  EXPECT_NEAR(weather_share(35, 54), 0.05, 1e-12);
  EXPECT_EQ(weather_share(35, 55), 0);
  EXPECT_EQ(weather_share(35, 70), 0);
  EXPECT_EQ(weather_share(55, 60), 1) << "no weather was given";
  EXPECT_EQ(weather_share(60, 65), 1);
}

// One kelvin takes 1 MJ here: 0.1 MW too much is a tenth of a kelvin per second.
TEST(CoolingLoop, temperature_follows_the_heat_balance) {
  CoolingPlant plant{.heat = kilowatts(1000)};
  plant.litres_per_kw = 1e6 / (1000 * 60e3 / 15.2);
  CoolingLoop loop(plant);
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(50)).base()));
  loop.set(seconds(100), kilowatts(1000), kilowatts(900));
  EXPECT_NEAR(loop.warmer_k(seconds(130)), 3, 1e-9);
  EXPECT_NEAR(loop.next_turn(seconds(130)).base(), 70, 1e-6);
  loop.set(seconds(140), kilowatts(1000), kilowatts(800));
  EXPECT_NEAR(loop.warmer_k(seconds(140)), 4, 1e-9);
  EXPECT_NEAR(loop.warmest_k(), 4, 1e-9);
  EXPECT_NEAR(loop.next_turn(seconds(140)).base(), 30, 1e-6);
  loop.set(seconds(150), kilowatts(700), kilowatts(800));
  EXPECT_NEAR(loop.warmer_k(seconds(170)), 4, 1e-9);
  EXPECT_NEAR(loop.next_turn(seconds(170)).base(), 40, 1e-6);
  EXPECT_NEAR(loop.warmest_k(), 6, 1e-9);
  EXPECT_EQ(loop.warmer_k(seconds(500)), 0);
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(500)).base())) << "it stays at its set point";
  loop.set(seconds(500), kilowatts(900), kilowatts(800));
  EXPECT_FALSE(loop.is_hot(seconds(599)));
  EXPECT_TRUE(loop.is_hot(seconds(600)));
  EXPECT_EQ(loop.warmer_k(seconds(900)), 10);
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(900)).base())) << "the throttle holds it";
  loop.set(seconds(900), kilowatts(800), kilowatts(800));
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(900)).base()));
  EXPECT_EQ(loop.warmest_k(), 10);
  CoolingLoop dry{CoolingPlant{}};
  dry.set(Seconds(), kilowatts(5), Watts());
  EXPECT_EQ(dry.warmer_k(seconds(1000)), 0) << "a loop without coolant has no temperature";
}

}  // namespace
}  // namespace orrery::facility
