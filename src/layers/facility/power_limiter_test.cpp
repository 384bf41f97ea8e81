#include "layers/facility/power_limiter.h"

#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"

namespace orrery::facility {
namespace {

// The same part idles at 123 W between products, its clock up.
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
  // Work that never reaches the limit is not touched.
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

}  // namespace
}  // namespace orrery::facility
