#include "layers/facility/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/base/math.h"
#include "layers/facility/facility_fixture.h"
#include "layers/facility/swing.h"

namespace orrery::facility {
namespace {

// A step of 2 s: 1.5 s of work, half a second of exposed communication.
constexpr WaveSegment kStep[] = {{seconds(1.5), kilowatts(8)}, {seconds(0.5), kilowatts(4)}};

TEST(Spectrum, square_wave_has_its_textbook_lines) {
  const auto lines = lines_of(kStep, 4, Seconds(0));
  for (int k = 1; k <= 4; ++k) {
    const double expected =
        2 * 4000 / (std::numbers::pi * k) * std::abs(std::sin(std::numbers::pi * k * 0.75));
    EXPECT_NEAR(lines[static_cast<std::size_t>(k - 1)].amplitude.base(), expected, 1e-6);
    EXPECT_NEAR(lines[static_cast<std::size_t>(k - 1)].hz, 0.5 * k, 1e-12);
  }
}

TEST(Spectrum, strongest_line_is_at_the_steps_frequency) {
  const Harmonic h = strongest_in_band(lines_of(kStep, 20, milliseconds(10)));
  EXPECT_DOUBLE_EQ(h.hz, 0.5);
  // A plain Fourier sum over samples gives the same.
  double best = 0;
  double best_hz = 0;
  for (int bin = 1; bin <= 200; ++bin) {  // bins of 0.05 Hz, from 20 s sampled every 10 ms
    double re = 0;
    double im = 0;
    for (int i = 0; i < 2000; ++i) {
      const double p = std::fmod(i * 0.01, 2.0) < 1.5 ? 8000 : 4000;
      re += p * std::cos(2 * std::numbers::pi * bin * i / 2000);
      im += p * std::sin(2 * std::numbers::pi * bin * i / 2000);
    }
    if (std::hypot(re, im) > best) best = std::hypot(re, im), best_hz = bin * 0.05;
  }
  EXPECT_NEAR(best_hz, 0.5, 1e-9);
  EXPECT_NEAR(best * 2 / 2000, h.amplitude.base(), 0.01 * h.amplitude.base());
}

TEST(Spectrum, cures_bring_the_swing_under_the_limit_and_the_cheapest_comes_first) {
  const SwingRequest r{
      .nodes = 1000, .high = kilowatts(8), .low = kilowatts(4), .duty = 0.75, .period = seconds(2)};
  EXPECT_TRUE(cures_for(r, megawatts(4), 0.7).empty());
  const auto mild = cures_for(r, megawatts(3), 0.7);  // of 4 MW, capacitors take 30 %
  ASSERT_FALSE(mild.empty());
  EXPECT_EQ(mild.front().kind, CureKind::storage);
  const auto strict = cures_for(r, megawatts(1), 0.7);
  ASSERT_EQ(strict.size(), 2U);
  EXPECT_LE(strict[0].cost, strict[1].cost);
  for (const Cure& c : strict) {
    if (c.kind != CureKind::floor) continue;
    SwingRequest held = r;
    held.floor = c.setting;
    EXPECT_NEAR(swing_of(held).amplitude / megawatts(1), 1, 1e-9);
    EXPECT_NEAR(c.cost, 3000.0 * 0.25 / 7000, 1e-9);  // 3 kW burnt for a quarter of the time
  }
}

// Three levels, by the integral of each: 2/T |sum of P (e^-iwb - e^-iwa) / w|.
TEST(Spectrum, spectrum_of_three_levels) {
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

TEST(Spectrum, strongest_line_within_the_band) {
  const std::vector<Harmonic> lines = {{0.09, watts(90)}, {0.1, watts(20)},  {0.104, watts(30)},
                                       {19.9, watts(25)}, {20.5, watts(80)}, {5, watts(30)}};
  EXPECT_NEAR(strongest_in_band(lines).hz, 0.104, 1e-12) << "the first of two alike";
  EXPECT_EQ(strongest_in_band(lines).amplitude, watts(30));
  const std::vector<Harmonic> ends = {{0.1, watts(2)}, {20, watts(3)}};
  EXPECT_EQ(strongest_in_band(ends).hz, 20);
  EXPECT_EQ(strongest_in_band(std::span(ends).first(1)).hz, 0.1);
  EXPECT_EQ(strongest_in_band({}).amplitude, Watts());
}

TEST(Spectrum, every_mitigation_has_its_setting_and_cost) {
  const SwingRequest r = one_megawatt();
  EXPECT_TRUE(cures_for(r, megawatts(1), 0.8).empty());
  // 0.7 of the swing is exactly the range, so storage is enough. The cap removes 1.5 kW per node:
  // of 7.2 kW of accelerators that is a cap of 0.7917, which costs 0.9 * 0.2083^1.6. A floor at 5.5
  // kW burns 1.5 kW for 0.7 of the time, relative to a mean of 5.5 kW.
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

// 4 kW of 5 must go: with 7.02 kW of accelerators that is a cap of 0.4302, with 6.9 kW 0.4203.
TEST(Spectrum, no_cap_below_the_lowest) {
  SwingRequest r = one_megawatt();
  EXPECT_EQ(cures_for(r, kilowatts(200), 7.02 / 9).size(), 2U);
  EXPECT_EQ(cures_for(r, kilowatts(200), 6.9 / 9).size(), 1U);
  r.duty = 0.95;  // a floor for a twentieth of the time is cheaper
  EXPECT_EQ(cures_for(r, kilowatts(200), 7.02 / 9)[0].kind, CureKind::floor);
  r.nodes = 0;
  EXPECT_TRUE(cures_for(r, Watts(-1), 0.8).empty());
}

}  // namespace
}  // namespace orrery::facility
