// Power swings of synchronous jobs, and energy and carbon as model cards publish them.
#include "layers/facility/swing.h"

#include <gtest/gtest.h>

#include "layers/facility/energy.h"
#include "layers/facility/node_power.h"

namespace orrery::facility {
namespace {

SwingRequest big_job() {
  return {.nodes = 3000,
          .high = kilowatts(8.4),
          .low = kilowatts(5.4),
          .duty = 0.8,
          .period = seconds(5)};
}

// arXiv 2508.14318: amplitude grows with the job, tens of MW for tens of thousands of GPUs, in a
// band of 0.1 to 20 Hz.
TEST(Swing, a_24k_gpu_job_swings_by_megawatts_in_the_critical_band) {
  const Swing s = swing_of(big_job());
  EXPECT_NEAR(s.amplitude / megawatts(1), 9, 1e-9);
  EXPECT_NEAR(s.ramp_mw_per_s, 900, 1e-6);
  EXPECT_NEAR(s.hz, 0.2, 1e-12);
  EXPECT_TRUE(s.in_band);
  // First harmonic of a square wave with duty 0.8: 2A/pi sin(0.8 pi).
  EXPECT_NEAR(s.harmonics[0].amplitude / megawatts(1), 9 * 2 / 3.14159265 * 0.587785, 1e-3);
}

TEST(Swing, a_floor_buys_a_smaller_swing_with_energy) {
  SwingRequest r = big_job();
  const SwingLimits limits{.range = megawatts(3)};
  r.floor = floor_for(r, limits);
  const Swing s = swing_of(r);
  EXPECT_NEAR(s.amplitude / megawatts(1), 3, 1e-6);
  EXPECT_NEAR(s.ballast / megawatts(1), (9 - 3) * 0.2, 1e-6);
  EXPECT_EQ(floor_for(big_job(), {.range = megawatts(100)}), 0);
}

TEST(Swing, rack_storage_takes_up_to_30_percent) {
  SwingRequest r = big_job();
  r.storage = kRackStorageShare;
  EXPECT_NEAR(swing_of(r).amplitude / megawatts(1), 6.3, 1e-9);
  const double ramp = swing_of(r).ramp_mw_per_s;
  r.edge = seconds(1);
  EXPECT_LT(swing_of(r).ramp_mw_per_s, ramp);
}

TEST(Swing, a_flat_job_does_not_swing) {
  const NodePower node{.nameplate = kilowatts(10), .peak = kilowatts(8), .idle = kilowatts(2)};
  const SwingRequest flat = swing_request(power_phases(node, {.matrix = 1}), 100, seconds(1));
  EXPECT_EQ(swing_of(flat).amplitude, Watts());
  EXPECT_FALSE(swing_of(flat).in_band);
  const auto phases = power_phases(node, {.matrix = 0.7, .communication = 0.3});
  const SwingRequest r = swing_request(phases, 100, seconds(1));
  EXPECT_NEAR(r.duty, 0.7, 1e-9);
}

// As model cards count: no host, no PUE.
Joules tdp_method_energy(double accelerator_hours, Watts tdp) {
  return tdp * hours(accelerator_hours);
}

// Luccioni et al., JMLR 2023: 1,082,990 A100-hours at 400 W are 433 MWh dynamic, and 24.7 t at the
// 57 g/kWh of the French grid that they use.
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
TEST(Energy, the_llama_family_implies_one_intensity) {
  EXPECT_NEAR(tdp_method_energy(3'311'616, watts(400)) / mwh(1), 1324, 1);
  EXPECT_NEAR(tdp_method_energy(7.7e6, watts(700)) / mwh(1), 5390, 1);
  EXPECT_NEAR(539.0 / 1324, 2290.0 / 5390, 0.02);
}

}  // namespace
}  // namespace orrery::facility
