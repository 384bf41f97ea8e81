// Rented hours: spot gangs, discounts off the price table, tokens, runs and egress.
#include "layers/cost/rental.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/catalog/catalog.h"

namespace orrery::cost {
namespace {

// models/facility, section 5: 64 nodes at 15 % per month are interrupted every 69 h on average.
TEST(Spot, gang_of_64_at_15_percent_lives_69_hours) {
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

TEST(Rental, slower_restart_raises_the_price_of_a_useful_hour) {
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

// Section 5: AWS 6.9 to 7.4 USD on demand, spot 63 % off; prices for the same chip vary about
// fivefold.
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

TEST(Rental, spot_hazard_from_the_monthly_share) {
  EXPECT_NEAR(spot_hazard(0.2) * hours(720), -std::log(0.8), 1e-12);
  EXPECT_EQ(spot_hazard(-0.1), PerSecond());
  // A share of one would mean certain interruption at once; it is limited to a trillionth below
  // one.
  EXPECT_NEAR(spot_hazard(1) * hours(720), 12 * std::log(10), 1e-3);
  EXPECT_NEAR(spot_hazard(7) / spot_hazard(1), 1, 1e-12);
}

TEST(Rental, spot_hazard_grows_with_independent_nodes) {
  const Seconds mean =
      mean_time_between_interruptions({.nodes = 3, .monthly_share = 0.2, .correlation = 0.6});
  EXPECT_NEAR(mean / hours(1), 720 / (-std::log(0.8) * 3 * 0.6), 1e-9);
  const Seconds one = mean_time_between_interruptions({.monthly_share = 0.2});
  EXPECT_NEAR(one / hours(1), 720 / -std::log(0.8), 1e-9);
  EXPECT_TRUE(std::isinf(mean_time_between_interruptions({}).base()));
}

TEST(Rental, goodput_loses_half_an_interval_and_a_restart) {
  const GoodputAt usual = simple_goodput({});
  EXPECT_NEAR(usual(hours(10)), 3600.0 / 3630 / (1 + (0.5 + 1.0 / 6) / 10), 1e-12);
  const GoodputAt own = simple_goodput(
      {.checkpoint_interval = minutes(20), .checkpoint_stall = minutes(3), .restart = minutes(7)});
  EXPECT_NEAR(own(minutes(50)), 20.0 / 23 / (1 + 17.0 / 50), 1e-12);
}

TEST(Rental, price_of_an_hour_by_contract) {
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

TEST(Rental, given_goodput_is_used) {
  RentalInput in = five_an_hour(catalog::Contract::spot);
  in.spot_goodput = [](Seconds mtbi) { return mtbi > hours(100) ? 0.5 : 0.25; };
  EXPECT_NEAR(rented_cost(in).goodput, 0.45, 1e-12);
  in.gang.nodes = 300;
  EXPECT_NEAR(rented_cost(in).goodput, 0.225, 1e-12);
}

TEST(Rental, unused_rental_has_no_useful_price) {
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

TEST(Rental, market_price_is_the_median_of_all_rows) {
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

TEST(Rental, market_price_of_one_provider) {
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
}

}  // namespace
}  // namespace orrery::cost
