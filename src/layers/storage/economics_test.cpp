#include "layers/storage/economics.h"

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/node_cache.h"
#include "layers/storage/storage_fixture.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

const catalog::StorageDevice& device(const char* id) {
  static const Result<catalog::Catalog> catalog = catalog::load_embedded_catalog();
  static const catalog::StorageDevice none{};
  const catalog::StorageDevice* found = catalog ? catalog->storage_device(id) : nullptr;
  EXPECT_NE(found, nullptr) << id;
  return found == nullptr ? none : *found;
}

TierDemand cold(double read_gbs) {
  return {.capacity = petabytes(50), .read = gbytes_per_s(read_gbs), .write = {}, .requests = {}};
}

TEST(Economics, holding_cost_of_a_disk_tier) {
  // One kind of drive, no servers, no PUE: 50 PB in 24 TB disks at 17 USD/TB.
  OwnTerms terms;
  terms.pue = 1;
  terms.server_power_share = 0;
  terms.server_price_share = 0;
  const HoldingCost c = holding_cost(cold(1), device("hdd-cmr24"), {}, terms);
  // 0.64 of the raw capacity is usable: 26.56 USD and 0.579 W per TB kept.
  EXPECT_NEAR(c.usd_per_tb, 17 / 0.64, 0.02);
  EXPECT_NEAR(c.watts_per_tb, 8.9 / (24 * 0.64), 0.001);
  EXPECT_NEAR(in_usd_per_tb_month(c.capital), 17 / 0.64 / 60, 0.001);
  EXPECT_NEAR(in_usd_per_tb_month(c.energy), 0.5794e-3 * 730 * 0.08, 1e-4);
  EXPECT_NEAR(in_usd_per_tb_month(c.total),
              in_usd_per_tb_month(c.capital + c.replacement + c.energy), 1e-12);
  EXPECT_NEAR(in_usd_per_tb_month(usd_per_tb_month(23)), 23, 1e-12);
}

// The order is computed, and it can change: disk is cheaper for cold bytes at today's prices, flash
// draws less per byte, and a tier that must also be fast reverses the cost.
TEST(Economics, disk_or_flash_depends_on_what_is_asked) {
  const DeviceComparison idle =
      compare_devices(cold(10), device("hdd-hamr32"), device("qlc-245"), {}, {});
  EXPECT_EQ(idle.per_byte, Cheaper::first);
  EXPECT_EQ(idle.per_watt, Cheaper::second);
  const DeviceComparison fast =
      compare_devices(cold(4000), device("hdd-hamr32"), device("qlc-61"), {}, {});
  EXPECT_EQ(fast.per_byte, Cheaper::second);
  // Not with every flash drive: the 245 TB drive has less than half of the bandwidth per byte.
  const DeviceComparison large =
      compare_devices(cold(8000), device("hdd-hamr32"), device("qlc-245"), {}, {});
  EXPECT_EQ(large.per_byte, Cheaper::first);
}

// Scality's 2023 analysis (blocksandfiles.com, 2023-08-08): a 22 TB disk reads at 9.4 W, a 30.72 TB
// QLC drive at 15 W: 0.427 against 0.488 W/TB, disk ahead. The 245 TB drive of 2026 at 30 W: 0.122.
TEST(Economics, watts_per_terabyte_flip_with_the_generation) {
  const auto watts = [](double tb, double w) {
    catalog::StorageDevice d = device("hdd-cmr24");
    d.capacity = terabytes(tb);
    d.active_power = orrery::watts(w);
    OwnTerms terms;
    terms.server_power_share = 0;
    TierOptions raw;
    raw.protection = kApplianceProtection;
    return holding_cost(cold(0), d, raw, terms).watts_per_tb;
  };
  EXPECT_NEAR(watts(22, 9.4), 0.427, 0.001);
  EXPECT_NEAR(watts(30.72, 15), 0.488, 0.001);
  EXPECT_NEAR(watts(245.76, 30), 0.122, 0.001);
}

TEST(Economics, tie_points_are_ties) {
  const catalog::StorageDevice& hdd = device("hdd-cmr24");
  catalog::StorageDevice qlc = device("qlc-122");
  OwnTerms terms;
  DeviceComparison c = compare_devices(cold(10), hdd, qlc, {}, terms);
  ASSERT_TRUE(c.tie_price_second.has_value());
  ASSERT_TRUE(c.tie_tariff.has_value());

  terms.tariff = *c.tie_tariff;
  const DeviceComparison at_tariff = compare_devices(cold(10), hdd, qlc, {}, terms);
  EXPECT_NEAR(at_tariff.first.total.base() / at_tariff.second.total.base(), 1, 1e-9);

  terms = {};
  qlc.price_per_tb = {usd(*c.tie_price_second), usd(*c.tie_price_second)};
  const DeviceComparison at_price = compare_devices(cold(10), hdd, qlc, {}, terms);
  EXPECT_NEAR(at_price.first.total.base() / at_price.second.total.base(), 1, 1e-9);
}

// S3 Standard at 23 to Glacier Deep Archive at 0.99 USD/TB-month; 0.05 USD per 1000 objects.
Transition to_deep_archive(Bytes object) {
  return {.from = usd_per_tb_month(23),
          .to = usd_per_tb_month(0.99),
          .object = object,
          .per_object = usd(0.05 / 1000),
          .per_byte = {},
          .retrieval = {},
          .read_back = 0,
          .minimum_stay = {}};
}

TEST(Economics, small_objects_take_longer_to_pay_for_their_move) {
  const auto big = break_even_age(to_deep_archive(gigabytes(1)));
  const auto small = break_even_age(to_deep_archive(kilobytes(10)));
  ASSERT_TRUE(big.has_value() && small.has_value());
  // 5e-5 USD per object over 22.01 USD/TB-month: 0.0023 months for 1 GB, 227 months for 10 kB.
  EXPECT_NEAR(*big / months(1), 0.05 / 22.01, 1e-5);
  EXPECT_NEAR(*small / months(1), 5000 / 22.01, 0.1);
}

TEST(Economics, minimum_stay_and_reads_move_the_break_even) {
  Transition t = to_deep_archive(gigabytes(1));
  t.minimum_stay = months(6);
  // Deleted at the break-even age: 23 x age = 0.05 + 0.99 x 6.
  EXPECT_NEAR(*break_even_age(t) / months(1), (0.05 + 0.99 * 6) / 23, 1e-9);
  t.minimum_stay = {};
  t.retrieval = UsdPerByte(0.02e-9);
  t.read_back = 3;
  EXPECT_NEAR(*break_even_age(t) / months(1), (0.05 + 60) / 22.01, 1e-6);
  t.to = t.from;
  EXPECT_FALSE(break_even_age(t).has_value());
}

// 52 TB on 11 drives of 10 TB: 60 + 0.25 x 40 = 70 USD/TB, times 1.3 with the chassis; 2 % fail per
// year.
TEST(Economics, holding_cost_adds_every_share) {
  OwnTerms terms{.life = years(4),
                 .tariff = usd_per_kwh(0.1),
                 .pue = 1.2,
                 .active_share = 0.6,
                 .price_position = 0.25};
  const TierDemand demand{.capacity = terabytes(52)};
  const HoldingCost c = holding_cost(demand, plain_drive(), six_and_three(), terms);
  const double price = 70 * 110 * 1.3, held = 52e12, life = 4 * years(1).base();
  const double power = (15 * 0.6 + 5 * 0.4) * 11 * 1.5;
  EXPECT_NEAR(c.usd_per_tb, price / 52, 1e-9);
  EXPECT_NEAR(c.watts_per_tb, power / 52, 1e-12);
  EXPECT_NEAR(c.capital.base() / (price / held / life), 1, 1e-12);
  EXPECT_NEAR(c.replacement.base() / (70 * 110 * 0.08 / held / life), 1, 1e-12);
  EXPECT_NEAR(c.energy.base() / (power * 0.1 / 3.6e6 * 1.2 / held), 1, 1e-12);
  EXPECT_NEAR(c.total.base(), c.capital.base() + c.replacement.base() + c.energy.base(), 1e-30);
  catalog::StorageDevice appliance = plain_drive();
  appliance.device_class = "PFS appliance";
  const HoldingCost sold = holding_cost(demand, appliance, six_and_three(), terms);
  EXPECT_NEAR(sold.usd_per_tb, 70 * 60 / 52.0, 1e-9) << "six of them, chassis and all";
  EXPECT_NEAR(sold.watts_per_tb, 11 * 6 / 52.0, 1e-12);
}

TEST(Economics, equal_drives_tie) {
  const TierDemand demand{.capacity = terabytes(52)};
  const catalog::StorageDevice one = plain_drive();
  const DeviceComparison same = compare_devices(demand, one, one, six_and_three(), {});
  EXPECT_EQ(same.per_byte, Cheaper::tie);
  EXPECT_EQ(same.per_watt, Cheaper::tie);
  EXPECT_FALSE(same.tie_tariff) << "at every tariff";
  ASSERT_TRUE(same.tie_price_second);
  EXPECT_NEAR(*same.tie_price_second, 80, 1e-9);
  catalog::StorageDevice free = one;
  free.price_per_tb = {usd(0), usd(0)};
  EXPECT_FALSE(compare_devices(demand, one, free, six_and_three(), {}).tie_price_second);
  EXPECT_EQ(compare_devices(demand, one, free, six_and_three(), {}).per_byte, Cheaper::second);
  catalog::StorageDevice hot = one;
  hot.active_power = watts(20);
  EXPECT_EQ(compare_devices(demand, one, hot, six_and_three(), {}).per_watt, Cheaper::first);
  EXPECT_FALSE(compare_devices(demand, one, hot, six_and_three(), {}).tie_tariff)
      << "as dear and hungrier: no tariff above none";
}

// From 20 to 5 USD/TB-month; an object of 1 GB costs 0.01 USD to move, a TB 2, and 10 to read half
// back.
TEST(Economics, move_pays_off_once_its_cost_is_recovered) {
  const auto rent = [](double v) { return UsdPerByteSecond(v / 1e12 / 2628000.0); };
  Transition t{.from = rent(20),
               .to = rent(5),
               .object = gigabytes(1),
               .per_object = usd(0.01),
               .per_byte = UsdPerByte(2e-12),
               .retrieval = UsdPerByte(10e-12),
               .minimum_stay = {}};
  const auto months = [&] { return break_even_age(t)->base() / 2628000.0; };
  EXPECT_NEAR(months(), (10 + 2) / 15.0, 1e-9) << "by default it is not read back";
  t.read_back = 0.5;
  EXPECT_NEAR(months(), (10 + 2 + 5) / 15.0, 1e-9);
  t.minimum_stay = Seconds(2 * 2628000.0);
  EXPECT_NEAR(months(), 2 * 5 / 20.0 + 17 / 20.0, 1e-9) << "what is owed for two months";
  t.to = rent(20);
  EXPECT_FALSE(break_even_age(t));
}

// Ten drives of 10 TB at 30 USD/TB (half way between 20 and 40), 5 years.
TEST(Economics, holding_cost_includes_chassis_and_replacements) {
  OwnTerms terms{.life = years(5), .tariff = usd_per_kwh(0.10), .pue = 1.5, .active_share = 0.25};
  const HoldingCost c = holding_cost(kHundred, plain_device("HDD"), kRaw, terms);
  EXPECT_NEAR(c.usd_per_tb, 30 * 1.3, 1e-9) << "0.3 of chassis for each dollar of drives";
  EXPECT_NEAR(in_usd_per_tb_month(c.capital), 39.0 / 60, 1e-9);
  // 2 % per year over 5 years: a tenth of the drives, without their chassis.
  EXPECT_NEAR(in_usd_per_tb_month(c.replacement), 30 * 0.02 * 5 / 60, 1e-9);
  // 10 W for a quarter of the time, otherwise 4 W; half as much again for the servers.
  EXPECT_NEAR(c.watts_per_tb, (0.25 * 10 + 0.75 * 4) * 1.5 / 10, 1e-9);
  EXPECT_NEAR(in_usd_per_tb_month(c.energy), 0.825e-3 * 730 * 0.10 * 1.5, 1e-6);
  // An appliance is a server in itself.
  const HoldingCost whole = holding_cost(kHundred, plain_device("appliance"), kRaw, terms);
  EXPECT_NEAR(whole.usd_per_tb, 30, 1e-9);
  EXPECT_NEAR(whole.watts_per_tb, 0.55, 1e-9);
  EXPECT_NEAR(in_usd_per_tb_month(whole.replacement), 30 * 0.1 / 60, 1e-9);
  terms.price_position = 1;
  EXPECT_NEAR(holding_cost(kHundred, plain_device("HDD"), kRaw, terms).usd_per_tb, 52, 1e-9);
}

}  // namespace
}  // namespace orrery::storage
