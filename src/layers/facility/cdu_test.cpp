// Coolant flow compared with the OCP design point, and what follows from temperatures.
#include "layers/facility/cdu.h"

#include <gtest/gtest.h>

#include "layers/facility/cooling_loop.h"
#include "layers/facility/rack.h"
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
TEST(Cdu, flow_constant_follows_from_water) {
  const double k = 60.0 / (0.997 * 4.18);
  EXPECT_NEAR(coolant_rise(kilowatts(1), 1, Coolant::water).base(), k, 0.01 * k);
}

TEST(Cdu, water_class_follows_the_supply_less_its_approach) {
  const auto& classes = shipped_catalog().ashrae_classes;
  EXPECT_EQ(plan_cdu({.heat = kilowatts(100), .supply_c = 32}, classes).water_class, "w27");
  EXPECT_EQ(plan_cdu({.heat = kilowatts(100), .supply_c = 45}, classes).water_class, "w40");
  EXPECT_EQ(plan_cdu({.heat = kilowatts(100), .supply_c = 18}, classes).water_class, "");
}

// After loss of flow racks trip within seconds: 10 to 60 s at most (cdu_sizing, redundancy).
TEST(Cdu, rides_through_tens_of_seconds) {
  const CduPlan plan = plan_cdu({.heat = megawatts(3)}, shipped_catalog().ashrae_classes);
  EXPECT_GT(plan.ride_through, seconds(10));
  EXPECT_LT(plan.ride_through, seconds(60));
  EXPECT_EQ(plan.units, 3);
  EXPECT_EQ(plan.units_installed, 4);
}

TEST(Cdu, flow_outside_the_guideline_is_flagged) {
  EXPECT_TRUE(plan_cdu({.heat = kilowatts(130), .flow_l_per_min_per_kw = 1.35}, {}).flow_in_range);
  EXPECT_FALSE(plan_cdu({.heat = kilowatts(130), .flow_l_per_min_per_kw = 1.0}, {}).flow_in_range);
  EXPECT_EQ(plan_cdu({}, {}).units, 0);
}

// 2.3 MW of plates at 1.6 L/min per kW, in units of 0.8 MW.
TEST(Cdu, cdu_plan_from_given_terms) {
  const std::vector<catalog::AshraeClass> classes = {
      {.id = "w17", .kind = "facility water", .high_c = 17},
      {.id = "w27", .kind = "facility water", .high_c = 27},
      {.id = "a1", .kind = "air", .high_c = 20},
      {.id = "w32", .kind = "facility water", .high_c = 32}};
  const CduPlan plan = plan_cdu({.heat = megawatts(2.3),
                                 .flow_l_per_min_per_kw = 1.6,
                                 .coolant = Coolant::water,
                                 .supply_c = 30,
                                 .approach = kelvins(3),
                                 .unit_capacity = megawatts(0.8),
                                 .spare_units = 2,
                                 .parasitic = 0.017,
                                 .loop_l_per_kw = 0.9,
                                 .margin = kelvins(8)},
                                classes);
  EXPECT_NEAR(plan.flow_l_per_min, 3680, 1e-9);
  EXPECT_NEAR(plan.rise.base(), 14.3 / 1.6, 1e-9);
  EXPECT_EQ(plan.units, 3);
  EXPECT_EQ(plan.units_installed, 5);
  EXPECT_NEAR(plan.power / kilowatts(1), 39.1, 1e-9);
  EXPECT_NEAR(plan.facility_water_c, 27, 1e-12);
  EXPECT_EQ(plan.water_class, "w27") << "27 C and no warmer";
  EXPECT_NEAR(plan.ride_through.base(), 0.9 * 60 / 14.3 * 8, 1e-9);
  EXPECT_TRUE(plan.flow_in_range);
}

// 1.5 L/min per kW of PG25 at 32 C, 4 K above the water, one spare of 1 MW, 1.5 % of parasitics,
// 0.7 L per kW and a margin of 10 K.
TEST(Cdu, cdu_plan_from_typical_terms) {
  const CduPlan plan = plan_cdu({.heat = megawatts(2)}, {});
  EXPECT_NEAR(plan.flow_l_per_min, 3000, 1e-9);
  EXPECT_NEAR(plan.rise.base(), 15.2 / 1.5, 1e-9);
  EXPECT_NEAR(plan.facility_water_c, 28, 1e-12);
  EXPECT_EQ(plan.units, 2) << "two megawatts are two units";
  EXPECT_EQ(plan.units_installed, 3);
  EXPECT_NEAR(plan.power / kilowatts(1), 30, 1e-9);
  EXPECT_NEAR(plan.ride_through.base(), 0.7 * 60 / 15.2 * 10, 1e-9);
  EXPECT_EQ(plan.water_class, "");
}

TEST(Cdu, no_heat_needs_no_flow) {
  const CduPlan none = plan_cdu({}, {});
  EXPECT_EQ(none.flow_l_per_min, 0);
  EXPECT_EQ(none.rise, Kelvins());
  EXPECT_EQ(none.units_installed, 0);
  EXPECT_EQ(none.ride_through, Seconds());
  EXPECT_NEAR(none.facility_water_c, 28, 1e-12);
}

TEST(Cdu, flow_range_of_the_guideline) {
  const auto in_range = [](double flow) {
    return plan_cdu({.flow_l_per_min_per_kw = flow}, {}).flow_in_range;
  };
  EXPECT_FALSE(in_range(1.24));
  EXPECT_TRUE(in_range(1.25));
  EXPECT_TRUE(in_range(1.3));
  EXPECT_TRUE(in_range(2.0));
  EXPECT_FALSE(in_range(2.05));
}

}  // namespace
}  // namespace orrery::facility
