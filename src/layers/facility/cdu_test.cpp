// Coolant flow against the OCP design point, and what follows from temperatures.
#include "layers/facility/cdu.h"

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

// OCP RPU: 150 L/min for 100 kW; the guideline's 1.5 L/min per kW holds a rise of about 10 K.
TEST(Cdu, hundred_kilowatts_take_150_litres_a_minute) {
  const CduPlan plan = plan_cdu({.heat = kilowatts(100)}, shipped_catalog().ashrae_classes);
  EXPECT_DOUBLE_EQ(plan.flow_l_per_min, 150);
  EXPECT_NEAR(plan.rise.base(), 10.1, 0.1);
  EXPECT_NEAR(coolant_rise(kilowatts(100), 143, Coolant::water).base(), 10, 1e-9);
  EXPECT_NEAR(coolant_rise(kilowatts(100), 152, Coolant::pg25).base(), 10, 1e-9);
  EXPECT_EQ(plan.units, 1);
  EXPECT_EQ(plan.units_installed, 2);
  EXPECT_NEAR(plan.power / kilowatts(1), 1.5, 1e-9);
}

// Water: 60 s/min over density times heat capacity, 997 g/L and 4.18 J/gK at 25 C.
TEST(Cdu, the_flow_constant_is_physics) {
  const double k = 60.0 / (0.997 * 4.18);
  EXPECT_NEAR(coolant_rise(kilowatts(1), 1, Coolant::water).base(), k, 0.01 * k);
}

TEST(Cdu, water_class_follows_the_supply_less_its_approach) {
  const auto& classes = shipped_catalog().ashrae_classes;
  EXPECT_EQ(plan_cdu({.heat = kilowatts(100), .supply_c = 32}, classes).water_class, "w27");
  EXPECT_EQ(plan_cdu({.heat = kilowatts(100), .supply_c = 45}, classes).water_class, "w40");
  EXPECT_EQ(plan_cdu({.heat = kilowatts(100), .supply_c = 18}, classes).water_class, "");
}

// Loss of flow trips in seconds: 10 to 60 s at most (cdu_sizing, redundancy).
TEST(Cdu, rides_through_tens_of_seconds) {
  const CduPlan plan = plan_cdu({.heat = megawatts(3)}, shipped_catalog().ashrae_classes);
  EXPECT_GT(plan.ride_through, seconds(10));
  EXPECT_LT(plan.ride_through, seconds(60));
  EXPECT_EQ(plan.units, 3);
  EXPECT_EQ(plan.units_installed, 4);
}

TEST(Cdu, flow_outside_the_guideline_is_said) {
  EXPECT_TRUE(plan_cdu({.heat = kilowatts(130), .flow_l_per_min_per_kw = 1.35}, {}).flow_in_range);
  EXPECT_FALSE(plan_cdu({.heat = kilowatts(130), .flow_l_per_min_per_kw = 1.0}, {}).flow_in_range);
  EXPECT_EQ(plan_cdu({}, {}).units, 0);
}

}  // namespace
}  // namespace orrery::facility
