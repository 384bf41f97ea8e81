#include "layers/facility/power_limiter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"

namespace orrery::facility {
namespace {

// The same part idles at 123 W between products, with its clock up.
constexpr Watts kLow = watts(123);

TEST(PowerLimiter, square_waves_on_an_h200_within_five_percent) {
  const CsvTable table = catalog::embedded_table("validation/h200_power_waves.csv").value();
  ASSERT_EQ(table.rows().size(), 10U);
  for (const CsvRow& row : table.rows()) {
    const PowerWave wave{.period = seconds(table.number(row, "period_s").value()),
                         .duty = table.number(row, "duty").value(),
                         .low = kLow};
    const double measured = table.number(row, "mean_w").value();
    EXPECT_NEAR(draw_of(wave, limiter_of(watts(700))).mean.base() / measured, 1, 0.03)
        << wave.period.base() << " s, " << wave.duty;
  }
}

TEST(PowerLimiter, steady_work_is_held_at_the_limit_and_fast_bursts_are_not) {
  const PowerLimiter p = limiter_of(watts(700));
  EXPECT_NEAR(draw_of({.period = seconds(1000), .duty = 1, .low = kLow}, p).mean.base(), 700, 1);
  const WaveDraw fast = draw_of({.period = milliseconds(1), .duty = 0.5, .low = kLow}, p);
  EXPECT_NEAR(fast.mean.base(), (890.0 + 123) / 2, 1e-6);
  EXPECT_EQ(fast.highest, watts(890));
  // Work that never reaches the limit is unaffected.
  EXPECT_NEAR(draw_of({.period = seconds(1), .duty = 0.5, .low = kLow},
                      {.limit = watts(700), .burst = watts(400)})
                  .mean.base(),
              261.5, 1e-9);
}

TEST(PowerLimiter, more_work_never_draws_less) {
  const PowerLimiter p = limiter_of(watts(700));
  for (const double period : {0.01, 0.1, 1.0, 10.0}) {
    Watts last;
    for (int i = 0; i <= 20; ++i) {
      const Watts now = draw_of({.period = seconds(period), .duty = i / 20.0, .low = kLow}, p).mean;
      EXPECT_GE(now.base(), last.base() - 1e-9);
      last = now;
    }
  }
}

// With bursts 10 s apart the average is back at 100 W before each: a burst of 890 W lasts until the
// average reaches 700 from 100, which takes -0.08 ln(190 / 790) s.
TEST(PowerLimiter, slow_waves_burst_until_the_average_meets_the_limit) {
  const PowerLimiter p = limiter_of(watts(700));
  EXPECT_NEAR(p.burst.base(), 890, 1e-9);
  EXPECT_EQ(p.window, milliseconds(80));
  const double until = -0.08 * std::log(190.0 / 790);
  const WaveDraw d = draw_of({.period = seconds(20), .duty = 0.4, .low = watts(100)}, p);
  EXPECT_NEAR(d.above_limit.base(), until, 1e-9);
  EXPECT_NEAR(d.highest.base(), 890, 1e-9);
  EXPECT_NEAR(d.mean.base(), (890 * until + 700 * (8 - until) + 100 * 12) / 20, 1e-9);
}

// 10 of 60 ms at 890 W and the rest at 100: the average stays near 232 W, far below 700.
TEST(PowerLimiter, burst_below_the_limit_is_not_shortened) {
  const WaveDraw d = draw_of({.period = milliseconds(60), .duty = 1.0 / 6, .low = watts(100)},
                             limiter_of(watts(700)));
  EXPECT_NEAR(d.above_limit.base(), 0.01, 1e-12);
  EXPECT_NEAR(d.mean.base(), 890 / 6.0 + 100 * 5 / 6.0, 1e-9);
  EXPECT_NEAR(d.highest.base(), 890, 1e-9);
}

TEST(PowerLimiter, duty_of_zero_and_one) {
  const PowerLimiter p = limiter_of(watts(700));
  for (const double duty : {1.0, 3.0}) {
    const WaveDraw d = draw_of({.period = seconds(1), .duty = duty, .low = watts(100)}, p);
    EXPECT_NEAR(d.mean.base(), 700, 1e-6) << duty;
    EXPECT_NEAR(d.above_limit.base(), 0, 1e-9) << duty;
    const WaveDraw weak = draw_of({.period = seconds(1), .duty = duty, .low = watts(100)},
                                  {.limit = watts(700), .burst = watts(650)});
    EXPECT_NEAR(weak.mean.base(), 650, 1e-9);
    EXPECT_EQ(weak.highest, watts(650));
    EXPECT_EQ(weak.above_limit, Seconds());
  }
  for (const double duty : {0.0, -1.0}) {
    const WaveDraw d = draw_of({.period = seconds(1), .duty = duty, .low = watts(100)}, p);
    EXPECT_EQ(d.mean, watts(100));
    EXPECT_EQ(d.highest, watts(100));
    EXPECT_EQ(d.above_limit, Seconds());
  }
  const WaveDraw at = draw_of({.period = seconds(1), .low = watts(100)},
                              {.limit = watts(700), .burst = watts(700)});
  EXPECT_NEAR(at.mean.base(), 400, 1e-9) << "half of the time, where nothing is said";
  EXPECT_EQ(at.above_limit, Seconds());
}

}  // namespace
}  // namespace orrery::facility
