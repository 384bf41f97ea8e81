// Power swings of synchronous jobs, and energy and carbon as model cards publish them.
#include "layers/facility/swing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/facility/facility_fixture.h"
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
TEST(Swing, 24k_gpu_job_swings_by_megawatts_in_the_critical_band) {
  const Swing s = swing_of(big_job());
  EXPECT_NEAR(s.amplitude / megawatts(1), 9, 1e-9);
  EXPECT_NEAR(s.ramp_mw_per_s, 900, 1e-6);
  EXPECT_NEAR(s.hz, 0.2, 1e-12);
  EXPECT_TRUE(s.in_band);
  // First harmonic of a square wave with duty 0.8: 2A/pi sin(0.8 pi).
  EXPECT_NEAR(s.harmonics[0].amplitude / megawatts(1), 9 * 2 / 3.14159265 * 0.587785, 1e-3);
}

TEST(Swing, floor_reduces_the_swing_at_an_energy_cost) {
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

TEST(Swing, flat_job_does_not_swing) {
  const NodePower node{.nameplate = kilowatts(10), .peak = kilowatts(8), .idle = kilowatts(2)};
  const SwingRequest flat = swing_request(power_phases(node, {.matrix = 1}), 100, seconds(1));
  EXPECT_EQ(swing_of(flat).amplitude, Watts());
  EXPECT_FALSE(swing_of(flat).in_band);
  const auto phases = power_phases(node, {.matrix = 0.7, .communication = 0.3});
  const SwingRequest r = swing_request(phases, 100, seconds(1));
  EXPECT_NEAR(r.duty, 0.7, 1e-9);
}

TEST(Swing, amplitude_ramp_and_harmonics) {
  const Swing s = swing_of(one_megawatt());
  EXPECT_NEAR(s.amplitude / megawatts(1), 1, 1e-12);
  EXPECT_NEAR(s.ramp_mw_per_s, 25, 1e-9);
  EXPECT_NEAR(s.hz, 1, 1e-12);
  EXPECT_EQ(s.ballast, Watts());
  ASSERT_EQ(s.harmonics.size(), 10U);
  for (int k = 1; k <= 10; ++k) {
    const double edge = std::sin(kPi * k * 0.04) / (kPi * k * 0.04);
    const double line = 2 / (kPi * k) * std::abs(std::sin(kPi * k * 0.3)) * edge;
    const Harmonic& h = s.harmonics[static_cast<std::size_t>(k - 1)];
    EXPECT_NEAR(h.hz, k, 1e-12);
    EXPECT_NEAR(h.amplitude / megawatts(1), line, 1e-9) << k;
  }
}

// A floor of 0.6 is 5.4 kW, 1.4 above the low phase, for 0.7 of the time; storage takes a quarter.
TEST(Swing, floor_and_storage_reduce_the_swing) {
  SwingRequest r = one_megawatt();
  r.floor = 0.6;
  r.storage = 0.25;
  const Swing s = swing_of(r);
  EXPECT_NEAR(s.amplitude / kilowatts(1), 200 * 3.6 * 0.75, 1e-9);
  EXPECT_NEAR(s.ballast / kilowatts(1), 200 * 1.4 * 0.7, 1e-9);
  r.floor = 7;  // limited to one: a flat line
  EXPECT_EQ(swing_of(r).amplitude, Watts());
  EXPECT_NEAR(swing_of(r).ballast / kilowatts(1), 200 * 5 * 0.7, 1e-9);
  EXPECT_FALSE(swing_of(r).in_band);
  r.floor = -3;
  r.storage = -3;
  r.low = Watts();
  EXPECT_NEAR(swing_of(r).amplitude / kilowatts(1), 1800, 1e-9);
  r.storage = 3;
  EXPECT_EQ(swing_of(r).amplitude, Watts());
  r = one_megawatt();
  r.floor = 0.6;
  r.duty = 2;
  EXPECT_NEAR(swing_of(r).ballast.base(), 0, 1e-9) << "no low phase";
  r.duty = -1;
  EXPECT_NEAR(swing_of(r).ballast / kilowatts(1), 200 * 1.4, 1e-9) << "nothing else";
  r.low = kilowatts(11);
  EXPECT_EQ(swing_of(r).amplitude, Watts()) << "low above high";
}

// The band is 0.1 to 20 Hz including both ends; a line below a hundredth does not count.
TEST(Swing, critical_band_has_both_ends) {
  const auto in_band = [](double period, double duty) {
    SwingRequest r = one_megawatt();
    r.period = seconds(period);
    r.duty = duty;
    r.edge = microseconds(1);
    return swing_of(r).in_band;
  };
  EXPECT_TRUE(in_band(100, 0.55)) << "the tenth at 0.1 Hz";
  EXPECT_TRUE(in_band(98, 0.55));
  EXPECT_FALSE(in_band(101, 0.55));
  EXPECT_TRUE(in_band(0.05, 0.5)) << "the first at 20 Hz";
  EXPECT_FALSE(in_band(1 / 20.5, 0.5));
  // At 15 Hz only the first harmonic is in the band: 2 / pi sin(pi duty).
  EXPECT_TRUE(in_band(1 / 15.0, 0.00515)) << "0.0103";
  EXPECT_FALSE(in_band(1 / 15.0, 0.00485)) << "0.0097";
}

TEST(Swing, swing_of_phases_keeps_their_mean) {
  const std::vector<catalog::PowerPhase> phases = {{"a", 0.5, kilowatts(8)},
                                                   {"b", 0.3, kilowatts(5)},
                                                   {"c", 0.2, kilowatts(3)},
                                                   {"d", 0, kilowatts(1)}};
  const SwingRequest r = swing_request(phases, 12, seconds(3));
  EXPECT_EQ(r.nodes, 12);
  EXPECT_EQ(r.high, kilowatts(8));
  EXPECT_EQ(r.low, kilowatts(3));
  EXPECT_EQ(r.period, seconds(3));
  EXPECT_NEAR(r.duty, (6.1 - 3) / 5, 1e-12);
  EXPECT_EQ(swing_request(std::vector{phases[0]}, 12, seconds(3)).duty, 1);
}

TEST(Swing, floor_meets_range_and_ramp) {
  const SwingRequest r = one_megawatt();
  // 0.4 MW over 200 nodes leaves 2 kW of swing: 7 of 9.
  EXPECT_NEAR(floor_for(r, {.range = kilowatts(400)}), 7 / 9.0, 1e-12);
  // 15 MW/s for 40 ms are 0.6 MW: 3 kW.
  EXPECT_NEAR(floor_for(r, {.ramp_mw_per_s = 15}), 6 / 9.0, 1e-12);
  EXPECT_NEAR(floor_for(r, {.range = kilowatts(400), .ramp_mw_per_s = 15}), 7 / 9.0, 1e-12);
  EXPECT_NEAR(floor_for(r, {.range = kilowatts(800), .ramp_mw_per_s = 15}), 6 / 9.0, 1e-12);
  EXPECT_EQ(floor_for(r, {}), 0);
  EXPECT_EQ(floor_for(r, {.range = megawatts(1)}), 0) << "it is met as it is";
  SwingRequest stored = r;
  stored.storage = 0.5;  // storage takes half the swing, so 0.8 MW before it become 0.4 MW
  EXPECT_NEAR(floor_for(stored, {.range = kilowatts(400)}), 5 / 9.0, 1e-12);
  stored.storage = 1;
  EXPECT_EQ(floor_for(stored, {.range = kilowatts(400)}), 0);
  stored.storage = -1;
  EXPECT_NEAR(floor_for(stored, {.range = kilowatts(400)}), 7 / 9.0, 1e-12);
  SwingRequest none = r;
  none.nodes = 0;
  EXPECT_EQ(floor_for(none, {.range = kilowatts(1)}), 0);
  none = r;
  none.high = Watts();
  EXPECT_EQ(floor_for(none, {.range = kilowatts(1)}), 0);
}

}  // namespace
}  // namespace orrery::facility
