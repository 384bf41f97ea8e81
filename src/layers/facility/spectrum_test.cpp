#include "layers/facility/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/base/math.h"

namespace orrery::facility {
namespace {

// A step of 2 s: 1.5 at work, half a second of exposed communication.
constexpr WaveSegment kStep[] = {{seconds(1.5), kilowatts(8)}, {seconds(0.5), kilowatts(4)}};

TEST(Spectrum, a_square_wave_has_its_textbook_lines) {
  const auto lines = lines_of(kStep, 4, Seconds(0));
  for (int k = 1; k <= 4; ++k) {
    const double expected =
        2 * 4000 / (std::numbers::pi * k) * std::abs(std::sin(std::numbers::pi * k * 0.75));
    EXPECT_NEAR(lines[static_cast<std::size_t>(k - 1)].amplitude.base(), expected, 1e-6);
    EXPECT_NEAR(lines[static_cast<std::size_t>(k - 1)].hz, 0.5 * k, 1e-12);
  }
}

TEST(Spectrum, the_strongest_line_is_at_the_steps_frequency) {
  const Harmonic h = strongest_in_band(lines_of(kStep, 20, milliseconds(10)));
  EXPECT_DOUBLE_EQ(h.hz, 0.5);
  // And so says a plain Fourier sum over samples.
  double best = 0;
  double best_hz = 0;
  for (int bin = 1; bin <= 200; ++bin) {  // 0.05 Hz each, of 20 s in 10 ms
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
  const auto mild = cures_for(r, megawatts(3), 0.7);  // 4 MW, 30 % of it in capacitors
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
    EXPECT_NEAR(c.cost, 3000.0 * 0.25 / 7000, 1e-9);  // 3 kW burnt in a quarter of the time
  }
}

}  // namespace
}  // namespace orrery::facility
