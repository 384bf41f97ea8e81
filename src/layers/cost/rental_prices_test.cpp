// Rented hours by hand for every kind of contract, the prices of a market, and egress by step.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/cost/rental.h"
#include "layers/cost/spend.h"

namespace orrery::cost {
namespace {

RentalInput five_an_hour(catalog::Contract kind) {
  return {.kind = kind,
          .list = usd_per_hour(5),
          .discount = 0.36,
          .support = 0.07,
          .utilisation = 0.8,
          .goodput = 0.9,
          .gang = {.nodes = 3, .monthly_share = 0.2, .correlation = 0.6}};
}

double dollars(UsdPerSecond price) { return price / usd_per_hour(1); }

TEST(SpotHazard, is_the_share_of_a_month_of_720_hours) {
  EXPECT_NEAR(spot_hazard(0.2) * hours(720), -std::log(0.8), 1e-12);
  EXPECT_EQ(spot_hazard(-0.1), PerSecond());
  // A share of one would be certain death at once; it is held a trillionth below.
  EXPECT_NEAR(spot_hazard(1) * hours(720), 12 * std::log(10), 1e-3);
  EXPECT_NEAR(spot_hazard(7) / spot_hazard(1), 1, 1e-12);
}

TEST(SpotHazard, grows_with_nodes_that_go_alone) {
  const Seconds mean =
      mean_time_between_interruptions({.nodes = 3, .monthly_share = 0.2, .correlation = 0.6});
  EXPECT_NEAR(mean / hours(1), 720 / (-std::log(0.8) * 3 * 0.6), 1e-9);
  const Seconds one = mean_time_between_interruptions({.monthly_share = 0.2});
  EXPECT_NEAR(one / hours(1), 720 / -std::log(0.8), 1e-9);
  EXPECT_TRUE(std::isinf(mean_time_between_interruptions({}).base()));
}

TEST(SimpleGoodput, loses_half_an_interval_a_restart_and_the_writing) {
  const GoodputAt usual = simple_goodput({});
  EXPECT_NEAR(usual(hours(10)), 3600.0 / 3630 / (1 + (0.5 + 1.0 / 6) / 10), 1e-12);
  const GoodputAt own = simple_goodput(
      {.checkpoint_interval = minutes(20), .checkpoint_stall = minutes(3), .restart = minutes(7)});
  EXPECT_NEAR(own(minutes(50)), 20.0 / 23 / (1 + 17.0 / 50), 1e-12);
}

TEST(RentedHour, by_hand_for_each_contract) {
  const Rental on_demand = rented_cost(five_an_hour(catalog::Contract::on_demand));
  EXPECT_NEAR(dollars(on_demand.billed), 5 * 1.07, 1e-12);
  EXPECT_NEAR(dollars(on_demand.useful), 5 * 1.07 / (0.8 * 0.9), 1e-12);
  EXPECT_EQ(on_demand.goodput, 0.9);
  EXPECT_FALSE(on_demand.between_interruptions);

  const Rental reserved = rented_cost(five_an_hour(catalog::Contract::reserved));
  EXPECT_NEAR(dollars(reserved.billed), 5 * 0.64 * 1.07, 1e-12);
  EXPECT_NEAR(dollars(reserved.useful), 5 * 0.64 * 1.07 / (0.8 * 0.9), 1e-12);
  EXPECT_EQ(reserved.goodput, 0.9);
  EXPECT_FALSE(reserved.between_interruptions);

  const Rental spot = rented_cost(five_an_hour(catalog::Contract::spot));
  const double mtbi = 720 / (-std::log(0.8) * 3 * 0.6);
  const double goodput = 0.9 * 3600 / 3630 / (1 + (0.5 + 1.0 / 6) / mtbi);
  ASSERT_TRUE(spot.between_interruptions);
  EXPECT_NEAR(*spot.between_interruptions / hours(1), mtbi, 1e-9);
  EXPECT_NEAR(spot.goodput, goodput, 1e-12);
  EXPECT_NEAR(dollars(spot.billed), 5 * 0.64 * 1.07, 1e-12);
  EXPECT_NEAR(dollars(spot.useful), 5 * 0.64 * 1.07 / (0.8 * goodput), 1e-9);
}

TEST(RentedHour, asks_the_callers_own_goodput) {
  RentalInput in = five_an_hour(catalog::Contract::spot);
  in.spot_goodput = [](Seconds mtbi) { return mtbi > hours(100) ? 0.5 : 0.25; };
  EXPECT_NEAR(rented_cost(in).goodput, 0.45, 1e-12);
  in.gang.nodes = 300;
  EXPECT_NEAR(rented_cost(in).goodput, 0.225, 1e-12);
}

// On demand, 3 % of support, all of it used and useful.
TEST(RentedHour, what_is_not_said_is_assumed) {
  const Rental r = rented_cost({.list = usd_per_hour(2), .discount = 0.5});
  EXPECT_NEAR(dollars(r.billed), 2.06, 1e-12);
  EXPECT_NEAR(dollars(r.useful), 2.06, 1e-12);
  EXPECT_EQ(r.goodput, 1);
  EXPECT_EQ(Rental{}.goodput, 1);
  const Rental reserved =
      rented_cost({.kind = catalog::Contract::reserved, .list = usd_per_hour(2)});
  EXPECT_NEAR(dollars(reserved.billed), 2.06, 1e-12) << "no discount";
}

TEST(RentedHour, that_is_never_used_has_no_price) {
  RentalInput in = five_an_hour(catalog::Contract::on_demand);
  in.utilisation = 0;
  EXPECT_EQ(rented_cost(in).useful, UsdPerSecond());
  EXPECT_NEAR(dollars(rented_cost(in).billed), 5.35, 1e-12);
}

catalog::CloudPrice price_row(const char* provider, const char* part, double median) {
  catalog::CloudPrice p;
  p.provider = provider;
  p.accelerator_id = part;
  p.on_demand_median = usd_per_hour(median);
  p.provenance.reference = std::string("cloud_prices/") + provider;
  return p;
}

std::vector<catalog::CloudPrice> small_market() {
  std::vector<catalog::CloudPrice> rows = {price_row("none", "chip", 0), price_row("a", "chip", 4),
                                           price_row("b", "chip", 3), price_row("c", "other", 1),
                                           price_row("d", "chip", 7)};
  rows[1].on_demand_low = usd_per_hour(3.5);
  rows[1].on_demand_high = usd_per_hour(5);
  rows[2].on_demand_low = usd_per_hour(2.5);
  rows[4].on_demand_high = usd_per_hour(9);
  rows[1].spot_median = usd_per_hour(1.5);
  rows[2].spot_median = usd_per_hour(1.1);
  rows[2].spot_low = usd_per_hour(0.9);
  rows[2].spot_high = usd_per_hour(1.9);
  return rows;
}

TEST(MarketPrice, is_the_median_between_the_ends_of_all_rows) {
  const auto all = market_price(small_market(), "chip", "", false);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->rows, 3);
  EXPECT_NEAR(dollars(all->low), 2.5, 1e-12);
  EXPECT_NEAR(dollars(all->median), 4, 1e-12);
  EXPECT_NEAR(dollars(all->high), 9, 1e-12);
  EXPECT_EQ(all->reference, "cloud_prices/a");
  const auto spot = market_price(small_market(), "chip", "", true);
  ASSERT_TRUE(spot);
  EXPECT_EQ(spot->rows, 2);
  EXPECT_NEAR(dollars(spot->low), 0.9, 1e-12);
  EXPECT_NEAR(dollars(spot->median), 1.3, 1e-12);
  EXPECT_NEAR(dollars(spot->high), 1.9, 1e-12);
  const auto first = market_price(small_market(), "chip", "a", true);
  ASSERT_TRUE(first);
  EXPECT_NEAR(dollars(first->low), 1.5, 1e-12) << "its median, where it has no other";
  EXPECT_NEAR(dollars(first->high), 1.5, 1e-12);
}

TEST(MarketPrice, of_one_provider_or_of_none) {
  const auto b = market_price(small_market(), "chip", "b", false);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->rows, 1);
  EXPECT_NEAR(dollars(b->low), 2.5, 1e-12);
  EXPECT_NEAR(dollars(b->median), 3, 1e-12);
  EXPECT_NEAR(dollars(b->high), 3, 1e-12);
  EXPECT_EQ(b->reference, "cloud_prices/b");
  EXPECT_FALSE(market_price(small_market(), "chip", "none", false)) << "a price of nil is none";
  EXPECT_FALSE(market_price(small_market(), "chip", "d", true));
  EXPECT_FALSE(market_price(small_market(), "chip", "c", false));
  EXPECT_EQ(MarketPrice{}.rows, 0);
}

// AWS's list: 9 c/GB to 10 TB, 8.5 to 50, 7 to 150, 5 above.
TEST(Egress, by_hand_at_and_between_the_steps) {
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

TEST(RunCost, is_accelerators_times_hours_times_price) {
  EXPECT_NEAR(run_cost(7, hours(30), usd_per_hour(1.9)).base(), 7 * 30 * 1.9, 1e-9);
}

}  // namespace
}  // namespace orrery::cost
