#include "layers/storage/economics.h"

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"

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

TEST(Economics, HoldingCostByHand) {
  // One kind of drive, no servers, no PUE: 50 PB in 24 TB disks at 17 USD/TB.
  OwnTerms terms;
  terms.pue = 1;
  terms.server_power_share = 0;
  terms.server_price_share = 0;
  const HoldingCost c = holding_cost(cold(1), device("hdd-cmr24"), {}, terms);
  // usable 0.64 of raw: 26.56 USD and 0.579 W for each TB kept.
  EXPECT_NEAR(c.usd_per_tb, 17 / 0.64, 0.02);
  EXPECT_NEAR(c.watts_per_tb, 8.9 / (24 * 0.64), 0.001);
  EXPECT_NEAR(in_usd_per_tb_month(c.capital), 17 / 0.64 / 60, 0.001);
  EXPECT_NEAR(in_usd_per_tb_month(c.energy), 0.5794e-3 * 730 * 0.08, 1e-4);
  EXPECT_NEAR(in_usd_per_tb_month(c.total),
              in_usd_per_tb_month(c.capital + c.replacement + c.energy), 1e-12);
  EXPECT_NEAR(in_usd_per_tb_month(usd_per_tb_month(23)), 23, 1e-12);
}

// The order is computed, and it flips: disk is cheaper to hold cold bytes at today's prices, flash
// draws less for each byte, and a tier that must also be fast turns the cost around.
TEST(Economics, DiskOrFlashDependsOnWhatIsAsked) {
  const DeviceComparison idle =
      compare_devices(cold(10), device("hdd-hamr32"), device("qlc-245"), {}, {});
  EXPECT_EQ(idle.per_byte, Cheaper::first);
  EXPECT_EQ(idle.per_watt, Cheaper::second);
  const DeviceComparison fast =
      compare_devices(cold(4000), device("hdd-hamr32"), device("qlc-61"), {}, {});
  EXPECT_EQ(fast.per_byte, Cheaper::second);
  // Not with any flash: the 245 TB drive has less than half of the bandwidth for each byte.
  const DeviceComparison large =
      compare_devices(cold(8000), device("hdd-hamr32"), device("qlc-245"), {}, {});
  EXPECT_EQ(large.per_byte, Cheaper::first);
}

// Scality's 2023 analysis (blocksandfiles.com, 2023-08-08): a 22 TB disk reads at 9.4 W, a 30.72 TB
// QLC drive at 15 W: 0.427 against 0.488 W/TB, disk ahead. The 245 TB drive of 2026 at 30 W: 0.122.
TEST(Economics, WattsPerTerabyteFlipWithTheGeneration) {
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

TEST(Economics, TiePointsAreTies) {
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

// S3 Standard 23 to Glacier Deep Archive 0.99 USD/TB-month; 0.05 USD for 1000 objects.
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

TEST(Economics, SmallObjectsTakeLongerToPayForTheirMove) {
  const auto big = break_even_age(to_deep_archive(gigabytes(1)));
  const auto small = break_even_age(to_deep_archive(kilobytes(10)));
  ASSERT_TRUE(big.has_value() && small.has_value());
  // 5e-5 USD an object over 22.01 USD/TB-month: 0.0023 months for 1 GB, 227 months for 10 kB.
  EXPECT_NEAR(*big / months(1), 0.05 / 22.01, 1e-5);
  EXPECT_NEAR(*small / months(1), 5000 / 22.01, 0.1);
}

TEST(Economics, AMinimumStayAndReadsMoveTheBreakEven) {
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

}  // namespace
}  // namespace orrery::storage
