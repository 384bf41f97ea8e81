#include "layers/cost/egress.h"

#include <gtest/gtest.h>

#include "layers/cost/rental.h"

namespace orrery::cost {
namespace {

// AWS's list: 9 c/GB to 10 TB, 8.5 to 50, 7 to 150, 5 above.
TEST(Spend, egress_price_steps) {
  const auto steps = aws_egress_steps();
  const std::vector<std::pair<double, double>> tb_usd = {{0, 0},
                                                         {4, 360},
                                                         {10, 900},
                                                         {30, 900 + 1700},
                                                         {50, 900 + 3400},
                                                         {90, 900 + 3400 + 2800},
                                                         {150, 900 + 3400 + 7000},
                                                         {170, 900 + 3400 + 7000 + 1000}};
  for (const auto& [tb, cost] : tb_usd) {
    EXPECT_NEAR(egress_cost(terabytes(tb), steps).base(), cost, 1e-6) << tb;
  }
  EXPECT_EQ(egress_cost(terabytes(3), {}), Usd());
  const PriceStep one[] = {{terabytes(1), usd(0.02) / gigabytes(1)}};
  EXPECT_NEAR(egress_cost(terabytes(3), one).base(), 60, 1e-9) << "the last goes on";
}

TEST(Spend, run_cost_is_accelerator_hours_times_price) {
  EXPECT_NEAR(run_cost(7, hours(30), usd_per_hour(1.9)).base(), 7 * 30 * 1.9, 1e-9);
}

// DeepSeek-V3 report: 2.788 M H800-hours at 2 USD are 5.576 MUSD.
TEST(Spend, deepseek_v3_run) {
  const Usd cost = run_cost(2048, hours(2.788e6 / 2048), usd_per_hour(2));
  EXPECT_NEAR(cost / mega_usd(1), 5.576, 1e-9);
}

// A step that ends before the one above it begins prices nothing.
TEST(Spend, price_steps_out_of_order_are_safe) {
  const PriceStep steps[] = {{terabytes(10), Usd(0.09) / gigabytes(1)},
                             {terabytes(5), Usd(0.5) / gigabytes(1)},
                             {terabytes(100), Usd(0.05) / gigabytes(1)}};
  EXPECT_NEAR(egress_cost(terabytes(20), steps).base(), 10'000 * 0.09 + 10'000 * 0.05, 1e-6);
}

// Section 5: downloading a 100 TB data set once costs about 7.8 kUSD.
TEST(Spend, egress_of_100_tb) {
  const auto steps = aws_egress_steps();
  EXPECT_NEAR(egress_cost(terabytes(100), steps) / kilo_usd(1), 7.8, 1e-9);
  EXPECT_NEAR(egress_cost(terabytes(10), steps) / usd(1), 900, 1e-9);
  EXPECT_NEAR(egress_cost(terabytes(250), steps) / usd(1), 900 + 3400 + 7000 + 5000, 1e-6);
  Usd last;
  for (double tb = 1; tb < 1000; tb *= 3) {
    EXPECT_GT(egress_cost(terabytes(tb), steps), last);
    last = egress_cost(terabytes(tb), steps);
  }
}

}  // namespace
}  // namespace orrery::cost
