// Columns of the tables of models, prices, sites and checks: each goes to its own field and unit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;

TEST(FactRows, cooling_method_is_read) {
  const auto c = good_row<CoolingMethod>({{"id", "x-1"},
                                          {"rack_kw_low", "20"},
                                          {"rack_kw_practical_max", "140"},
                                          {"liquid_heat_fraction", "0.8"},
                                          {"supply_temp_c_typ", "32"},
                                          {"pue_low", "1.1"},
                                          {"pue_high", "1.3"},
                                          {"wue_l_per_kwh_low", "0.2"},
                                          {"wue_l_per_kwh_high", "1.4"},
                                          {"capex_usd_per_kw_it_low", "700"},
                                          {"capex_usd_per_kw_it_high", "1500"},
                                          {"retrofit_ease", "hard"},
                                          {"note", "cold plates"}});
  EXPECT_EQ(c.id, "x-1");
  EXPECT_EQ(c.rack_low, kilowatts(20));
  EXPECT_EQ(c.rack_practical_max, kilowatts(140));
  EXPECT_EQ(c.liquid_heat_fraction, 0.8);
  EXPECT_EQ(c.supply_temperature_c, 32);
  EXPECT_EQ(c.pue_low, 1.1);
  EXPECT_EQ(c.pue_high, 1.3);
  EXPECT_EQ(c.wue_low_l_per_kwh, 0.2);
  EXPECT_EQ(c.wue_high_l_per_kwh, 1.4);
  EXPECT_EQ(c.capex_per_kw.low, usd(700));
  EXPECT_EQ(c.capex_per_kw.high, usd(1500));
  EXPECT_EQ(c.retrofit, "hard");
  EXPECT_EQ(c.note, "cold plates");
}

TEST(FactRows, climates_and_ashrae_classes_are_read) {
  const auto a = good_row<AshraeClass>(
      {{"id", "x-1"}, {"kind", "water"}, {"note", "n"}, {"low_c", "2"}, {"high_c", "45"}});
  EXPECT_EQ(a.id, "x-1");
  EXPECT_EQ(a.kind, "water");
  EXPECT_EQ(a.note, "n");
  EXPECT_EQ(a.low_c, 2);
  EXPECT_EQ(a.high_c, 45);
  const auto p = good_row<PueByClimate>({{"id", "x-1"},
                                         {"climate", "cool"},
                                         {"cooling_id", "air"},
                                         {"pue_p10", "1.1"},
                                         {"pue_p50", "1.2"},
                                         {"pue_p90", "1.4"}});
  EXPECT_EQ(p.climate, "cool");
  EXPECT_EQ(p.cooling_id, "air");
  EXPECT_EQ(p.p10, 1.1);
  EXPECT_EQ(p.p50, 1.2);
  EXPECT_EQ(p.p90, 1.4);
}

TEST(FactRows, power_stages_and_redundancies_are_read) {
  const auto s = good_row<PowerStage>({{"id", "x-1"},
                                       {"name", "UPS"},
                                       {"efficiency_low", "0.91"},
                                       {"efficiency_typ", "0.95"},
                                       {"efficiency_high", "0.97"},
                                       {"model", "curve"},
                                       {"redundancy_effect", "half load"}});
  EXPECT_EQ(s.id, "x-1");
  EXPECT_EQ(s.name, "UPS");
  EXPECT_EQ(s.efficiency_low, 0.91);
  EXPECT_EQ(s.efficiency_typical, 0.95);
  EXPECT_EQ(s.efficiency_high, 0.97);
  EXPECT_EQ(s.model, "curve");
  EXPECT_EQ(s.redundancy_effect, "half load");
  const auto r = good_row<Redundancy>({{"id", "x-1"},
                                       {"name", "N+1"},
                                       {"capacity_multiplier", "1.25"},
                                       {"usable_fraction", "0.8"},
                                       {"availability_note", "one may fail"},
                                       {"extra_capex_low", "0.2"},
                                       {"extra_capex_high", "0.3"}});
  EXPECT_EQ(r.id, "x-1");
  EXPECT_EQ(r.name, "N+1");
  EXPECT_EQ(r.capacity_multiplier, 1.25);
  EXPECT_EQ(r.usable_fraction, 0.8);
  EXPECT_EQ(r.note, "one may fail");
  EXPECT_EQ(r.extra_capex_low, 0.2);
  EXPECT_EQ(r.extra_capex_high, 0.3);
}

TEST(FactRows, regions_and_lead_times_are_read) {
  const auto g = good_row<GridRegion>({{"id", "x-1"},
                                       {"aliases", "aws-y|gcp-y"},
                                       {"name", "Yland"},
                                       {"carbon_g_per_kwh", "321"},
                                       {"carbon_year", "2024"},
                                       {"elec_price_low_uscents_per_kwh", "6.5"},
                                       {"elec_price_high_uscents_per_kwh", "9.5"},
                                       {"price_note", "industry"},
                                       {"country", "yla"},
                                       {"climate", "cool"},
                                       {"confidence_price", "high"}});
  EXPECT_EQ(g.id, "x-1");
  EXPECT_THAT(g.aliases, ElementsAre("aws-y", "gcp-y"));
  EXPECT_EQ(g.name, "Yland");
  EXPECT_EQ(g.carbon, grams_per_kwh(321));
  EXPECT_EQ(g.carbon_year, 2024);
  EXPECT_EQ(g.price_low, usd_per_kwh(0.065));
  EXPECT_EQ(g.price_high, usd_per_kwh(0.095));
  EXPECT_EQ(g.price_note, "industry");
  EXPECT_EQ(g.country, "yla");
  EXPECT_EQ(g.climate, "cool");
  EXPECT_EQ(g.price_confidence, Confidence::high);
  const auto t = good_row<LeadTime>({{"id", "x-1"},
                                     {"item", "chiller"},
                                     {"weeks_low", "20"},
                                     {"weeks_typ", "31"},
                                     {"weeks_high", "52"},
                                     {"note", "in 2026"}});
  EXPECT_EQ(t.id, "x-1");
  EXPECT_EQ(t.item, "chiller");
  EXPECT_EQ(t.low, weeks(20));
  EXPECT_EQ(t.typical, weeks(31));
  EXPECT_EQ(t.high, weeks(52));
  EXPECT_EQ(t.note, "in 2026");
}

}  // namespace
}  // namespace orrery::catalog
