#include "plan/review/cost_parts.h"

#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

TEST(CostParts, rented_tiers_by_service_and_usage) {
  catalog::Catalog c;
  const auto row = [&](const char* item, const char* service, double price,
                       const char* unit = "GB-month") {
    catalog::StorageCloudPrice p;
    p.provider = "aws";
    p.item = item;
    p.service = service;
    p.usd = price;
    p.unit = unit;
    p.provenance.reference = item;
    c.storage_prices.push_back(p);
  };
  row("PUT", "requests", 5, "per 1000");
  row("S3 Standard", "object", 0.023);
  row("S3 Glacier Flexible", "archive", 0.0036);
  row("FSx Lustre", "file", 0.14);
  const auto rent = [&](design::StorageTier tier, double used_tb) {
    machine::Tier t;
    t.tier = &tier;
    t.capacity = terabytes(100);
    const auto all = rents_of_tiers({t}, {terabytes(used_tb)}, c);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? TierRent{} : all[0];
  };
  const design::StorageTier hot{.kind = design::TierKind::object, .provider = "aws"};
  EXPECT_NEAR(rent(hot, 40).per_year.base(), 40e3 * 0.023 * 12, 1e-6);
  EXPECT_EQ(rent(hot, 40).reference, "S3 Standard");
  EXPECT_NEAR(rent(hot, 400).per_year.base(), 100e3 * 0.023 * 12, 1e-6) << "what it has";
  EXPECT_NEAR(rent(hot, 0).per_year.base(), 100e3 * 0.023 * 12, 1e-6) << "all, where none is said";
  design::StorageTier cold = hot;
  cold.tier = design::Tier::cold;
  EXPECT_EQ(rent(cold, 40).reference, "S3 Glacier Flexible");
  design::StorageTier files = hot;
  files.kind = design::TierKind::parallel_fs;
  EXPECT_EQ(rent(files, 40).reference, "FSx Lustre");
  design::StorageTier other = hot;
  other.provider = "else";
  EXPECT_NEAR(rent(other, 1).per_year.base(), 1e3 * 0.02 * 12, 1e-6);
  other.kind = design::TierKind::parallel_fs;
  EXPECT_NEAR(rent(other, 1).per_year.base(), 1e3 * 0.145 * 12, 1e-6);
  other.price = usd(1) / gigabytes(1) / years(1);
  EXPECT_NEAR(rent(other, 1).per_year.base(), 1e3, 1e-6);
  EXPECT_EQ(rent(other, 1).reference, "the design");
  design::StorageTier own;
  machine::Tier t;
  t.tier = &own;
  EXPECT_TRUE(rents_of_tiers({t}, {Bytes()}, c).empty());
}

TEST(CostParts, reservation_discounts) {
  catalog::Catalog c;
  c.reserved_discounts.resize(2);
  c.reserved_discounts[0].term = years(1);
  c.reserved_discounts[0].low = 0.1;
  c.reserved_discounts[0].high = 0.3;
  c.reserved_discounts[1].term = years(3);
  c.reserved_discounts[1].low = 0.3;
  c.reserved_discounts[1].high = 0.6;
  EXPECT_NEAR(reserved_discount({}, c), 0.2, 1e-12);
  EXPECT_NEAR(reserved_discount({.term = years(3)}, c), 0.45, 1e-12);
  EXPECT_NEAR(reserved_discount({.term = years(2.9)}, c), 0.2, 1e-12);
  EXPECT_EQ(reserved_discount({.term = years(0.5)}, c), 0);
  EXPECT_EQ(reserved_discount({.discount = 0.55}, c), 0.55);
  // The middle of both is 0.325; the lowest is 0.1, the highest 0.6.
  cost::MarketPrice list;
  list.low = usd_per_hour(1);
  list.median = usd_per_hour(2);
  list.high = usd_per_hour(5);
  list.reference = "list";
  list.rows = 7;
  const auto p = contract_price(list, c);
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->low / usd_per_hour(1), 0.675, 1e-12);
  EXPECT_NEAR(p->median / usd_per_hour(1), 1.35, 1e-12);
  EXPECT_NEAR(p->high / usd_per_hour(1), 1.8, 1e-12);
  EXPECT_EQ(p->reference, "list; reserved_discounts");
  list.low = usd_per_hour(1.9);
  EXPECT_NEAR(contract_price(list, c)->low / usd_per_hour(1), 0.8, 1e-12) << "2 less 0.6 of it";
  EXPECT_FALSE(contract_price(list, {}));
}

TEST(CostParts, egress_by_price_band) {
  design::Design d;
  EXPECT_EQ(egress_of(d), Usd());
  d.economics.egress = terabytes(240);  // twenty a month: ten at 9 cents, ten at 8.5
  EXPECT_NEAR(egress_of(d).base(), 12 * (900 + 850), 1e-6);
  d.economics.egress_price = usd(0.01) / gigabytes(1);
  EXPECT_NEAR(egress_of(d).base(), 2400, 1e-6);
}

}  // namespace
}  // namespace orrery::review
