#include "layers/facility/energy.h"

#include <gtest/gtest.h>

namespace orrery::facility {
namespace {

TEST(Energy, energy_carbon_and_water_of_a_run) {
  const Footprint f = footprint({.it_power = kilowatts(30),
                                 .duration = hours(7),
                                 .pue = 1.3,
                                 .grid = grams_per_kwh(250),
                                 .wue_l_per_kwh = 0.4});
  EXPECT_NEAR(f.it_energy / kwh(1), 210, 1e-9);
  EXPECT_NEAR(f.site_energy / kwh(1), 273, 1e-9);
  EXPECT_NEAR(f.carbon.base(), 68250, 1e-6);
  EXPECT_NEAR(f.water_l, 84, 1e-9);
  const Footprint bare = footprint({.it_power = kilowatts(30), .duration = hours(7)});
  EXPECT_NEAR(bare.site_energy / kwh(1), 210, 1e-9);
  EXPECT_EQ(bare.water_l, 0);
}

// As model cards count: without host and PUE.
Joules tdp_method_energy(double accelerator_hours, Watts tdp) {
  return tdp * hours(accelerator_hours);
}

// Luccioni et al., JMLR 2023: 1,082,990 A100-hours at 400 W are 433 MWh dynamic, and 24.7 t at
// their 57 g/kWh for the French grid.
TEST(Energy, bloom) {
  const Joules energy = tdp_method_energy(1'082'990, watts(400));
  EXPECT_NEAR(energy / mwh(1), 433.2, 0.05);
  EXPECT_NEAR((energy * grams_per_kwh(57)) / tonnes_co2(1), 24.7, 0.05);
}

// Llama 3.1 405B model card: 30.84 M H100-hours at 700 W, 8,930 t location based, 414 g/kWh
// implied. US grid 369 g/kWh (grid_regions/usa) times Meta's fleet PUE 1.08 comes within 4 %.
TEST(Energy, llama_3_1_405b) {
  const Joules energy = tdp_method_energy(30.84e6, watts(700));
  EXPECT_NEAR(energy / mwh(1), 21'588, 0.5);
  const Footprint f = footprint({.it_power = energy / hours(1000),
                                 .duration = hours(1000),
                                 .pue = 1.08,
                                 .grid = grams_per_kwh(369),
                                 .wue_l_per_kwh = 0.2});
  EXPECT_NEAR(f.carbon / tonnes_co2(1), 8930, 0.04 * 8930);
  EXPECT_NEAR(f.site_energy / f.it_energy, 1.08, 1e-12);
  EXPECT_NEAR(f.water_l, 21'588e3 * 0.2, 100);
}

// Llama 2 and 3 cards use the same method: 539 t of 1,324 MWh and 2,290 t of 5,390 MWh.
TEST(Energy, llama_family_implies_one_intensity) {
  EXPECT_NEAR(tdp_method_energy(3'311'616, watts(400)) / mwh(1), 1324, 1);
  EXPECT_NEAR(tdp_method_energy(7.7e6, watts(700)) / mwh(1), 5390, 1);
  EXPECT_NEAR(539.0 / 1324, 2290.0 / 5390, 0.02);
}

}  // namespace
}  // namespace orrery::facility
