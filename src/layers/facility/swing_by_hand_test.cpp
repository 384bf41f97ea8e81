// Swings, their lines and cures, and the footprint of a run, by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "layers/facility/energy.h"
#include "layers/facility/spectrum.h"
#include "layers/facility/swing.h"

namespace orrery::facility {
namespace {

constexpr double kPi = std::numbers::pi;

// 200 nodes between 9 and 4 kW, at 9 for 0.3 of a second: 1 MW.
SwingRequest one_megawatt() {
  return {.nodes = 200,
          .high = kilowatts(9),
          .low = kilowatts(4),
          .duty = 0.3,
          .period = seconds(1),
          .edge = milliseconds(40)};
}

TEST(SwingByHand, amplitude_ramp_and_ten_harmonics) {
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

// A floor of 0.6 holds 5.4 kW, 1.4 over the low phase for 0.7 of the time; storage takes a quarter.
TEST(SwingByHand, a_floor_and_storage) {
  SwingRequest r = one_megawatt();
  r.floor = 0.6;
  r.storage = 0.25;
  const Swing s = swing_of(r);
  EXPECT_NEAR(s.amplitude / kilowatts(1), 200 * 3.6 * 0.75, 1e-9);
  EXPECT_NEAR(s.ballast / kilowatts(1), 200 * 1.4 * 0.7, 1e-9);
  r.floor = 7;  // held at one: a flat line
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

TEST(SwingByHand, what_is_not_said) {
  const Swing s = swing_of({.nodes = 10, .high = kilowatts(2), .period = seconds(2)});
  EXPECT_NEAR(s.amplitude / kilowatts(1), 20, 1e-12);
  EXPECT_NEAR(s.ramp_mw_per_s, 2, 1e-9) << "in 10 ms";
  const double edge = std::sin(kPi * 0.005) / (kPi * 0.005);
  EXPECT_NEAR(s.harmonics[0].amplitude / kilowatts(1), 20 * 2 / kPi * edge, 1e-9) << "half on";
  const Swing timeless = swing_of({.nodes = 10, .high = kilowatts(2), .edge = Seconds()});
  EXPECT_EQ(timeless.ramp_mw_per_s, 0);
  EXPECT_EQ(timeless.hz, 0);
  EXPECT_TRUE(timeless.harmonics.empty());
  EXPECT_FALSE(timeless.in_band);
  EXPECT_EQ(swing_of({}).amplitude, Watts());
  EXPECT_EQ(SwingRequest{}.nodes, 0);
  EXPECT_EQ(Harmonic{}.hz, 0);
  EXPECT_EQ(SwingLimits{}.ramp_mw_per_s, 0);
  EXPECT_EQ(Swing{}.ramp_mw_per_s, 0);
  EXPECT_EQ(Swing{}.hz, 0);
}

// The band is 0.1 to 20 Hz, both ends in it; a line below a hundredth is none.
TEST(SwingByHand, in_the_band_or_not) {
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
  // At 15 Hz the first alone is in the band: 2 / pi sin(pi duty).
  EXPECT_TRUE(in_band(1 / 15.0, 0.00515)) << "0.0103";
  EXPECT_FALSE(in_band(1 / 15.0, 0.00485)) << "0.0097";
}

TEST(SwingByHand, of_phases_keeps_their_mean) {
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

TEST(FloorByHand, meets_range_and_ramp) {
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
  stored.storage = 0.5;  // half the swing is taken: 0.4 MW of it are 0.8 before
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

// Three levels, by the integral of each: 2/T |sum of P (e^-iwb - e^-iwa) / w|.
TEST(LinesByHand, of_three_levels) {
  const std::vector<WaveSegment> wave = {
      {seconds(1), watts(500)}, {seconds(2), watts(900)}, {seconds(5), watts(200)}};
  const auto lines = lines_of(wave, 3, milliseconds(400));
  ASSERT_EQ(lines.size(), 3U);
  for (int k = 1; k <= 3; ++k) {
    const double w = 2 * kPi * k / 8;
    // The jumps: 300 up at 0, 400 up at 1, 700 down at 3.
    const double re = 300 + 400 * std::cos(w) - 700 * std::cos(3 * w);
    const double im = 400 * std::sin(w) - 700 * std::sin(3 * w);
    const double edge = std::sin(kPi * k * 0.05) / (kPi * k * 0.05);
    const Harmonic& h = lines[static_cast<std::size_t>(k - 1)];
    EXPECT_NEAR(h.amplitude.base(), std::hypot(re, im) / (kPi * k) * edge, 1e-9) << k;
    EXPECT_NEAR(h.hz, k / 8.0, 1e-12);
  }
  EXPECT_TRUE(lines_of({}, 3, Seconds()).empty());
  const std::vector<WaveSegment> nil = {{Seconds(), watts(500)}};
  EXPECT_TRUE(lines_of(nil, 3, Seconds()).empty());
}

TEST(LinesByHand, the_strongest_is_looked_for_in_the_band) {
  const std::vector<Harmonic> lines = {{0.09, watts(90)}, {0.1, watts(20)},  {0.104, watts(30)},
                                       {19.9, watts(25)}, {20.5, watts(80)}, {5, watts(30)}};
  EXPECT_NEAR(strongest_in_band(lines).hz, 0.104, 1e-12) << "the first of two alike";
  EXPECT_EQ(strongest_in_band(lines).amplitude, watts(30));
  const std::vector<Harmonic> ends = {{0.1, watts(2)}, {20, watts(3)}};
  EXPECT_EQ(strongest_in_band(ends).hz, 20);
  EXPECT_EQ(strongest_in_band(std::span(ends).first(1)).hz, 0.1);
  EXPECT_EQ(strongest_in_band({}).amplitude, Watts());
}

TEST(CuresByHand, each_with_its_setting_and_cost) {
  const SwingRequest r = one_megawatt();
  EXPECT_TRUE(cures_for(r, megawatts(1), 0.8).empty());
  // 0.7 of the swing is just the range: storage is enough. Off 1.5 kW a node: of 7.2 kW of
  // accelerators, a cap of 0.7917, which takes 0.9 * 0.2083^1.6. A floor at 5.5 kW burns 1.5 kW for
  // 0.7 of the time, of a mean of 5.5 kW.
  const auto cures = cures_for(r, kilowatts(700), 0.8);
  ASSERT_EQ(cures.size(), 3U);
  EXPECT_EQ(cures[0].kind, CureKind::storage);
  EXPECT_EQ(cures[0].setting, 0.3);
  EXPECT_EQ(cures[0].cost, 0);
  EXPECT_EQ(cures[1].kind, CureKind::cap);
  EXPECT_NEAR(cures[1].setting, 1 - 1.5 / 7.2, 1e-12);
  EXPECT_NEAR(cures[1].cost, 0.9 * std::pow(1.5 / 7.2, 1.6), 1e-12);
  EXPECT_EQ(cures[2].kind, CureKind::floor);
  EXPECT_NEAR(cures[2].setting, 5.5 / 9, 1e-12);
  EXPECT_NEAR(cures[2].cost, 1.5 * 0.7 / 5.5, 1e-12);
  EXPECT_EQ(cures_for(r, kilowatts(699), 0.8).size(), 2U) << "storage is not enough";
}

// 4 kW of 5 are to go: of 7.02 kW of accelerators that is a cap of 0.4302, of 6.9 kW 0.4203.
TEST(CuresByHand, no_cap_below_the_lowest_and_none_for_nobody) {
  SwingRequest r = one_megawatt();
  EXPECT_EQ(cures_for(r, kilowatts(200), 7.02 / 9).size(), 2U);
  EXPECT_EQ(cures_for(r, kilowatts(200), 6.9 / 9).size(), 1U);
  r.duty = 0.95;  // a floor for a twentieth of the time is the cheaper
  EXPECT_EQ(cures_for(r, kilowatts(200), 7.02 / 9)[0].kind, CureKind::floor);
  r.nodes = 0;
  EXPECT_TRUE(cures_for(r, Watts(-1), 0.8).empty());
}

TEST(CuresByHand, by_name) {
  EXPECT_STREQ(to_text(CureKind::none), "none");
  EXPECT_STREQ(to_text(CureKind::storage), "storage in the racks");
  EXPECT_STREQ(to_text(CureKind::floor), "a floor under the low phase");
  EXPECT_STREQ(to_text(CureKind::cap), "a cap on the accelerators");
  EXPECT_EQ(Cure{}.setting + Cure{}.cost, 0);
  EXPECT_EQ(Cure{}.kind, CureKind::none);
}

TEST(FootprintByHand, energy_carbon_and_water) {
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
  EXPECT_EQ(Footprint{}.water_l, 0);
}

}  // namespace
}  // namespace orrery::facility
