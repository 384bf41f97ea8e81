// Rented hours: spot gangs, discounts off the price table, tokens, runs and egress.
#include "layers/cost/rental.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/catalog/catalog.h"
#include "layers/cost/spend.h"

namespace orrery::cost {
namespace {

// models/facility, section 5: 64 nodes at 15 % a month are interrupted every 69 h on average.
TEST(Spot, a_gang_of_64_at_15_percent_lives_69_hours) {
  const Gang gang{.nodes = 64, .monthly_share = 0.15};
  EXPECT_NEAR(mean_time_between_interruptions(gang) / hours(1), 69.2, 0.1);
  // A month in which 15 % are interrupted: 0.85 = exp(-720 h / mean).
  const Seconds one = mean_time_between_interruptions({.nodes = 1, .monthly_share = 0.15});
  EXPECT_NEAR(std::exp(-(hours(720) / one)), 0.85, 1e-12);
}

TEST(Spot, larger_gangs_are_interrupted_more_often) {
  Seconds last = mean_time_between_interruptions({.nodes = 1, .monthly_share = 0.1});
  for (int nodes = 2; nodes <= 1024; nodes *= 2) {
    const Seconds between = mean_time_between_interruptions({.nodes = nodes, .monthly_share = 0.1});
    EXPECT_NEAR(between / last, 0.5, 1e-12);
    last = between;
  }
  EXPECT_TRUE(std::isinf(mean_time_between_interruptions({.nodes = 8}).base()));
  EXPECT_GT(
      mean_time_between_interruptions({.nodes = 64, .monthly_share = 0.15, .correlation = 0.5}),
      mean_time_between_interruptions({.nodes = 64, .monthly_share = 0.15}));
}

RentalInput h100(catalog::Contract kind) {
  return {.kind = kind,
          .list = usd_per_hour(7.36),
          .discount = 0.63,
          .support = 0,
          .gang = {.nodes = 64, .monthly_share = 0.15}};
}

// By hand: mtbi 69.2 h, an hour between checkpoints of 30 s, 10 min to restart: goodput
// 3600/3630 / (1 + (0.5 + 1/6) / 69.2) = 0.982.
TEST(Rental, spot_costs_more_per_useful_hour_than_its_price) {
  const Rental spot = rented_cost(h100(catalog::Contract::spot));
  EXPECT_NEAR(spot.billed / usd_per_hour(1), 2.72, 0.01);
  EXPECT_NEAR(spot.goodput, 0.982, 0.001);
  EXPECT_NEAR(spot.useful / spot.billed, 1 / 0.982, 0.001);
  const Rental on_demand = rented_cost(h100(catalog::Contract::on_demand));
  EXPECT_LT(spot.useful, on_demand.useful);
  EXPECT_FALSE(on_demand.between_interruptions);
}

TEST(Rental, a_slower_restart_raises_the_price_of_a_useful_hour) {
  double last = 0;
  for (double m : {1.0, 10.0, 60.0, 600.0}) {
    RentalInput in = h100(catalog::Contract::spot);
    in.spot_goodput = simple_goodput({.restart = minutes(m)});
    const double useful = rented_cost(in).useful / usd_per_hour(1);
    EXPECT_GT(useful, last);
    last = useful;
  }
}

TEST(Rental, reserved_is_billed_whether_used_or_not) {
  RentalInput in = h100(catalog::Contract::reserved);
  in.discount = 0.4;
  in.utilisation = 0.5;
  EXPECT_NEAR(rented_cost(in).useful / usd_per_hour(1), 7.36 * 0.6 / 0.5, 1e-9);
}

// Section 5: AWS 6.9 to 7.4 USD on demand, spot 63 % off; the same chip spreads about fivefold.
TEST(Rental, market_prices_of_the_h100) {
  const auto catalog = catalog::load_embedded_catalog();
  ASSERT_TRUE(catalog);
  const auto aws = market_price(catalog->cloud_prices, "h100-sxm", "aws", false);
  ASSERT_TRUE(aws);
  EXPECT_NEAR(aws->median / usd_per_hour(1), 7.36, 0.01);
  const auto spot = market_price(catalog->cloud_prices, "h100-sxm", "aws", true);
  ASSERT_TRUE(spot);
  EXPECT_NEAR(1 - spot->median / aws->median, 0.63, 0.02);
  const auto all = market_price(catalog->cloud_prices, "h100-sxm", "", false);
  ASSERT_TRUE(all);
  EXPECT_GT(all->high / all->low, 4);
  EXPECT_FALSE(market_price(catalog->cloud_prices, "no-such", "", false));
}

// DeepSeek-V3 report: 2.788 M H800-hours at 2 USD are 5.576 MUSD.
TEST(Spend, deepseek_v3_run) {
  const Usd cost = run_cost(2048, hours(2.788e6 / 2048), usd_per_hour(2));
  EXPECT_NEAR(cost / mega_usd(1), 5.576, 1e-9);
}

// A step that ends before the one above it has nothing left to price.
TEST(Spend, a_step_out_of_order_gives_nothing_back) {
  const PriceStep steps[] = {{terabytes(10), Usd(0.09) / gigabytes(1)},
                             {terabytes(5), Usd(0.5) / gigabytes(1)},
                             {terabytes(100), Usd(0.05) / gigabytes(1)}};
  EXPECT_NEAR(egress_cost(terabytes(20), steps).base(), 10'000 * 0.09 + 10'000 * 0.05, 1e-6);
}

// Section 5: a 100 TB dataset pulled once costs about 7.8 kUSD.
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
