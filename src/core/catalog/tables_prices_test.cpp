#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;

TEST(TablesPrices, cloud_prices_are_read) {
  const auto p = good_row<CloudPrice>({{"id", "x-1"},
                                       {"provider", "acme"},
                                       {"accelerator_id", "acme-x"},
                                       {"sku", "x8"},
                                       {"ondemand_min_usd_per_accel_h", "2.1"},
                                       {"ondemand_median_usd_per_accel_h", "3.2"},
                                       {"ondemand_max_usd_per_accel_h", "4.3"},
                                       {"spot_min_usd_per_accel_h", "1.1"},
                                       {"spot_median_usd_per_accel_h", "1.2"},
                                       {"spot_max_usd_per_accel_h", "1.3"},
                                       {"spot_discount_median", "0.625"}});
  EXPECT_EQ(p.id, "x-1");
  EXPECT_EQ(p.provider, "acme");
  EXPECT_EQ(p.accelerator_id, "acme-x");
  EXPECT_EQ(p.sku, "x8");
  EXPECT_EQ(p.on_demand_low, usd_per_hour(2.1));
  EXPECT_EQ(p.on_demand_median, usd_per_hour(3.2));
  EXPECT_EQ(p.on_demand_high, usd_per_hour(4.3));
  EXPECT_EQ(p.spot_low, usd_per_hour(1.1));
  EXPECT_EQ(p.spot_median, usd_per_hour(1.2));
  EXPECT_EQ(p.spot_high, usd_per_hour(1.3));
  EXPECT_EQ(p.spot_discount_median, 0.625);
}

TEST(TablesPrices, discounts_and_storage_prices_are_read) {
  const auto d = good_row<ReservedDiscount>({{"id", "x-1"},
                                             {"term_years", "3"},
                                             {"discount_low", "0.3"},
                                             {"discount_high", "0.55"},
                                             {"note", "prepaid"}});
  EXPECT_EQ(d.id, "x-1");
  EXPECT_EQ(d.term, years(3));
  EXPECT_EQ(d.low, 0.3);
  EXPECT_EQ(d.high, 0.55);
  EXPECT_EQ(d.note, "prepaid");
  const auto s = good_row<StorageCloudPrice>({{"id", "x-1"},
                                              {"provider", "acme"},
                                              {"item", "standard"},
                                              {"service", "object"},
                                              {"usd", "0.023"},
                                              {"unit", "GB-month"},
                                              {"note", "first 50 TB"}});
  EXPECT_EQ(s.id, "x-1");
  EXPECT_EQ(s.provider, "acme");
  EXPECT_EQ(s.item, "standard");
  EXPECT_EQ(s.usd, 0.023);
  EXPECT_EQ(s.unit, "GB-month");
  EXPECT_EQ(s.note, "first 50 TB");
}

TEST(TablesPrices, spot_bands_are_fractions_and_parameters_keep_their_unit) {
  const auto b = good_row<SpotBand>({{"id", "x-1"},
                                     {"family", "p5"},
                                     {"band_low_pct_per_month", "5"},
                                     {"band_high_pct_per_month", "10"},
                                     {"notice_s", "120"},
                                     {"note", "adviser"},
                                     {"accelerator_id", "acme-x"}});
  EXPECT_EQ(b.id, "x-1");
  EXPECT_EQ(b.family, "p5");
  EXPECT_EQ(b.low_month, 0.05);
  EXPECT_EQ(b.high_month, 0.1);
  EXPECT_EQ(b.notice, seconds(120));
  EXPECT_EQ(b.note, "adviser");
  EXPECT_EQ(b.accelerator_id, "acme-x");
  const auto t = good_row<TcoParameter>({{"id", "x-1"},
                                         {"name", "staff"},
                                         {"low", "1.5"},
                                         {"typical", "2.5"},
                                         {"high", "3.5"},
                                         {"unit", "people/MW"},
                                         {"note", "shifts"}});
  EXPECT_EQ(t.id, "x-1");
  EXPECT_EQ(t.name, "staff");
  EXPECT_EQ(t.low, 1.5);
  EXPECT_EQ(t.typical, 2.5);
  EXPECT_EQ(t.high, 3.5);
  EXPECT_EQ(t.unit, "people/MW");
  EXPECT_EQ(t.note, "shifts");
}

TEST(TablesPrices, engines_and_export_rules_are_read) {
  const auto e = good_row<ServingEngine>({{"id", "x-1"},
                                          {"name", "Yserve"},
                                          {"status", "maintenance"},
                                          {"status_since", "2026-01-02"},
                                          {"replaced_by", "zserve"},
                                          {"note", "fixes only"}});
  EXPECT_EQ(e.id, "x-1");
  EXPECT_EQ(e.name, "Yserve");
  EXPECT_EQ(e.status, EngineStatus::maintenance);
  EXPECT_EQ(e.status_since, "2026-01-02");
  EXPECT_EQ(e.replaced_by, "zserve");
  EXPECT_EQ(e.note, "fixes only");
  const auto c = good_row<ExportControl>({{"id", "x-1"},
                                          {"accelerator_id", "acme-x"},
                                          {"rule", "3A090"},
                                          {"countries", "chn  rus"},
                                          {"note", "ask"}});
  EXPECT_EQ(c.id, "x-1");
  EXPECT_EQ(c.accelerator_id, "acme-x");
  EXPECT_EQ(c.rule, "3A090");
  EXPECT_THAT(c.countries, ElementsAre("chn", "rus"));
  EXPECT_TRUE(c.covers("rus"));
  EXPECT_FALSE(c.covers("deu"));
  EXPECT_EQ(c.note, "ask");
}

}  // namespace
}  // namespace orrery::catalog
