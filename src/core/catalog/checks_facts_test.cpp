#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/checks.h"
#include "core/catalog/checks_fixture.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChecksFacts, model_shape_is_checked) {
  const auto with = [](auto change) {
    return checked(check_models, &Catalog::models,
                   ModelShape{.id = "r",
                              .layers = 1,
                              .hidden = 1,
                              .heads = 6,
                              .kv_heads = 3,
                              .head_dim = 1,
                              .vocab = 1},
                   change);
  };
  const std::string shape = "catalog.model-shape";
  EXPECT_THAT(with([](ModelShape&) {}), IsEmpty());
  EXPECT_THAT(with([](ModelShape& m) { m.layers = 0; }), ElementsAre(shape));
  EXPECT_THAT(with([](ModelShape& m) { m.hidden = 0; }), ElementsAre(shape));
  EXPECT_THAT(with([](ModelShape& m) { m.heads = 0; }), ElementsAre(shape));
  EXPECT_THAT(with([](ModelShape& m) { m.vocab = 0; }), ElementsAre(shape));
  EXPECT_THAT(with([](ModelShape& m) { m.kv_heads = 0; }), ElementsAre(shape));
  EXPECT_THAT(with([](ModelShape& m) { m.kv_heads = 4; }), ElementsAre(shape));
  EXPECT_THAT(with([](ModelShape& m) { m.head_dim = 0; }), ElementsAre(shape));
  const auto moe = [&](int k, double width) {
    return with([&](ModelShape& m) { m.experts = 4, m.top_k = k, m.expert_ffn = width; });
  };
  EXPECT_THAT(moe(4, 1), IsEmpty());
  EXPECT_THAT(moe(5, 1), ElementsAre(shape));
  EXPECT_THAT(moe(0, 1), ElementsAre(shape));
  EXPECT_THAT(moe(1, 0), ElementsAre(shape));
  const auto mla = [&](double kv, double rope, double v) {
    return with([&](ModelShape& m) {
      m.attention = AttentionKind::mla, m.head_dim = 0;
      m.kv_lora_rank = kv, m.qk_rope_dim = rope, m.v_head_dim = v;
    });
  };
  EXPECT_THAT(mla(1, 1, 1), IsEmpty());
  EXPECT_THAT(mla(0, 1, 1), ElementsAre(shape));
  EXPECT_THAT(mla(1, 0, 1), ElementsAre(shape));
  EXPECT_THAT(mla(1, 1, 0), ElementsAre(shape));
}

TEST(ChecksFacts, region_prices_and_carbon_are_bounded) {
  const auto with = [](auto change) {
    return checked(check_site_facts, &Catalog::regions,
                   GridRegion{.id = "r",
                              .country = "usa",
                              .climate = "cool",
                              .carbon = grams_per_kwh(1200),
                              .price_low = usd_per_kwh(0.005),
                              .price_high = usd_per_kwh(0.6)},
                   change);
  };
  const std::string price = "catalog.power-price";
  EXPECT_THAT(with([](GridRegion&) {}), IsEmpty());
  EXPECT_THAT(with([](GridRegion& r) { r.price_low = usd_per_kwh(0.0049); }), ElementsAre(price));
  EXPECT_THAT(with([](GridRegion& r) { r.price_high = usd_per_kwh(0.601); }), ElementsAre(price));
  EXPECT_THAT(with([](GridRegion& r) { r.price_low = usd_per_kwh(0.61); }),
              ElementsAre("catalog.price-order"));
  EXPECT_THAT(with([](GridRegion& r) { r.price_low = r.price_high; }), IsEmpty());
  EXPECT_THAT(with([](GridRegion& r) { r.carbon = grams_per_kwh(1201); }),
              ElementsAre("catalog.carbon"));
  EXPECT_THAT(with([](GridRegion& r) { r.country = "us"; }), ElementsAre("catalog.country"));
  EXPECT_THAT(with([](GridRegion& r) { r.country = "usab"; }).size(), 1U);
  EXPECT_THAT(with([](GridRegion& r) { r.climate = "mild"; }), ElementsAre("catalog.reference"));
}

// Returns the faults of one row in a catalog with an accelerator `x` and a cooling method `air`.
template <class Row, class With>
std::vector<std::string> said_of(void (*check)(const Catalog&, Diagnostics&),
                                 std::vector<Row> Catalog::* table, Row row, With with) {
  Catalog c;
  c.accelerators = {{.id = "x"}};
  c.cooling_methods = {{.id = "air"}};
  row.provenance.reference = "t/r";
  with(row);
  (c.*table).push_back(row);
  Diagnostics faults;
  check(c, faults);
  std::vector<std::string> lines;
  for (const Diagnostic& d : faults) lines.push_back(d.code);
  return lines;
}

TEST(ChecksFacts, cooling_pue_rises_from_one) {
  const auto with = [](auto change) {
    return said_of(check_site_facts, &Catalog::cooling_methods,
                   CoolingMethod{.id = "r",
                                 .rack_low = kilowatts(9),
                                 .rack_practical_max = kilowatts(9),
                                 .liquid_heat_fraction = 1,
                                 .pue_low = 1,
                                 .pue_high = 2.99},
                   change);
  };
  const std::string pue = "catalog.fraction";
  EXPECT_THAT(with([](CoolingMethod&) {}), IsEmpty());
  EXPECT_THAT(with([](CoolingMethod& m) { m.pue_low = 0.99; }), ElementsAre(pue));
  EXPECT_THAT(with([](CoolingMethod& m) { m.pue_high = 3; }), ElementsAre(pue));
  EXPECT_THAT(with([](CoolingMethod& m) { m.pue_low = 2.99; }), IsEmpty());
  EXPECT_THAT(with([](CoolingMethod& m) { m.pue_low = 2.995; }), ElementsAre(pue));
  EXPECT_THAT(with([](CoolingMethod& m) { m.liquid_heat_fraction = 1.01; }),
              ElementsAre("catalog.fraction"));
  EXPECT_THAT(with([](CoolingMethod& m) { m.rack_low = kilowatts(9.1); }),
              ElementsAre("catalog.order"));
  EXPECT_THAT(with([](CoolingMethod& m) { m.capex_per_kw = {usd(2), usd(1)}; }),
              ElementsAre("catalog.price-order"));
}

TEST(ChecksFacts, climate_quantiles_rise_and_name_a_cooling_method) {
  const auto with = [](double p10, double p50, double p90, const char* cooling = "air") {
    return said_of(check_site_facts, &Catalog::pue_by_climate,
                   PueByClimate{.climate = "cool", .cooling_id = cooling},
                   [&](PueByClimate& p) { p.p10 = p10, p.p50 = p50, p.p90 = p90; });
  };
  const std::string order = "catalog.order";
  EXPECT_THAT(with(1, 1, 1), IsEmpty());
  EXPECT_THAT(with(1.1, 1.2, 1.3), IsEmpty());
  EXPECT_THAT(with(0.99, 1.2, 1.3), ElementsAre(order));
  EXPECT_THAT(with(1.3, 1.2, 1.4), ElementsAre(order));
  EXPECT_THAT(with(1.1, 1.4, 1.3), ElementsAre(order));
  EXPECT_THAT(with(1.1, 1.2, 1.3, "fan"), ElementsAre("catalog.reference"));
}

TEST(ChecksFacts, power_stage_efficiency_is_between_half_and_one) {
  const auto with = [](double low, double typical, double high) {
    return said_of(check_site_facts, &Catalog::power_stages, PowerStage{.id = "r"},
                   [&](PowerStage& s) {
                     s.efficiency_low = low, s.efficiency_typical = typical;
                     s.efficiency_high = high;
                   });
  };
  const std::string fraction = "catalog.fraction";
  EXPECT_THAT(with(0.51, 0.6, 1), IsEmpty());
  EXPECT_THAT(with(0.5, 0.6, 1), ElementsAre(fraction));
  EXPECT_THAT(with(0.9, 0.95, 1.01), ElementsAre(fraction));
  EXPECT_THAT(with(0.96, 0.95, 0.97), ElementsAre(fraction));
  EXPECT_THAT(with(0.9, 0.98, 0.97), ElementsAre(fraction));
}

// 0.8 of 1.25 is exactly 1; a deviation of a hundredth is accepted.
TEST(ChecksFacts, usable_fraction_is_the_inverse_of_the_multiplier) {
  const auto with = [](double usable, double multiplier) {
    return said_of(
        check_site_facts, &Catalog::redundancies, Redundancy{.id = "r"},
        [&](Redundancy& r) { r.usable_fraction = usable, r.capacity_multiplier = multiplier; });
  };
  EXPECT_THAT(with(0.8, 1.25), IsEmpty());
  EXPECT_THAT(with(0.807, 1.25), IsEmpty()) << "1.00875";
  EXPECT_THAT(with(0.809, 1.25), ElementsAre("catalog.redundancy")) << "1.01125";
  EXPECT_EQ(with(0.791, 1.25).size(), 1U) << "0.98875";
  EXPECT_THAT(with(0.793, 1.25), IsEmpty());
}

TEST(ChecksFacts, lead_times_rise) {
  const auto with = [](double low, double typical, double high) {
    return said_of(check_site_facts, &Catalog::lead_times, LeadTime{.id = "r"}, [&](LeadTime& t) {
      t.low = weeks(low), t.typical = weeks(typical), t.high = weeks(high);
    });
  };
  EXPECT_THAT(with(1, 1, 1), IsEmpty());
  EXPECT_THAT(with(2, 1, 3), ElementsAre("catalog.order"));
  EXPECT_EQ(with(1, 3, 2).size(), 1U);
}

TEST(ChecksFacts, part_price_ranges_must_rise) {
  const auto swapped = [](auto& row) { row.price = PriceRange{usd(2), usd(1)}; };
  const std::string order = "catalog.price-order";
  EXPECT_THAT(said_of(check_prices, &Catalog::accelerators, Accelerator{}, swapped),
              ElementsAre(order));
  EXPECT_THAT(said_of(check_prices, &Catalog::nodes, Node{}, swapped), ElementsAre(order));
}

TEST(ChecksFacts, cloud_prices_rise_and_name_a_part) {
  const auto with = [](auto change) {
    return said_of(check_prices, &Catalog::cloud_prices,
                   CloudPrice{.id = "r",
                              .accelerator_id = "x",
                              .on_demand_low = usd_per_hour(1),
                              .on_demand_median = usd_per_hour(2),
                              .on_demand_high = usd_per_hour(3),
                              .spot_low = usd_per_hour(1),
                              .spot_median = usd_per_hour(2),
                              .spot_high = usd_per_hour(3)},
                   change);
  };
  const std::string order = "catalog.price-order";
  EXPECT_THAT(with([](CloudPrice&) {}), IsEmpty());
  EXPECT_THAT(with([](CloudPrice& p) { p.on_demand_low = usd_per_hour(2.5); }), ElementsAre(order));
  EXPECT_THAT(with([](CloudPrice& p) { p.on_demand_high = usd_per_hour(1.5); }),
              ElementsAre(order));
  EXPECT_THAT(with([](CloudPrice& p) { p.spot_low = usd_per_hour(2.5); }), ElementsAre(order));
  EXPECT_THAT(with([](CloudPrice& p) { p.spot_high = usd_per_hour(1.5); }), ElementsAre(order));
  EXPECT_THAT(with([](CloudPrice& p) { p.spot_median.reset(), p.spot_high = usd_per_hour(0.5); }),
              ElementsAre(order))
      << "what is missing is left out";
  EXPECT_THAT(with([](CloudPrice& p) { p.spot_median.reset(); }), IsEmpty());
  EXPECT_THAT(with([](CloudPrice& p) { p.on_demand_median.reset(); }), IsEmpty());
  EXPECT_THAT(with([](CloudPrice& p) { p.on_demand_median.reset(), p.spot_median.reset(); }),
              ElementsAre("catalog.missing"));
  EXPECT_THAT(with([](CloudPrice& p) { p.accelerator_id = "y"; }),
              ElementsAre("catalog.reference"));
  EXPECT_THAT(with([](CloudPrice& p) { p.accelerator_id = "unspecified"; }), IsEmpty());
}

TEST(ChecksFacts, spot_bands_stay_within_the_month) {
  const auto with = [](double low, double high, const char* part = "") {
    return said_of(check_prices, &Catalog::spot_bands, SpotBand{.id = "r"}, [&](SpotBand& s) {
      s.low_month = low, s.high_month = high, s.accelerator_id = part;
    });
  };
  const std::string order = "catalog.order";
  EXPECT_THAT(with(0.5, 1), IsEmpty());
  EXPECT_THAT(with(0.5, 1.01), ElementsAre(order));
  EXPECT_THAT(with(0.5, 0.4), ElementsAre(order));
  EXPECT_THAT(with(0.5, 0.6, "x"), IsEmpty());
  EXPECT_THAT(with(0.5, 0.6, "y"), ElementsAre("catalog.reference"));
}

TEST(ChecksFacts, discounts_and_parameters_rise) {
  const auto discount = [](double low, double high) {
    return said_of(check_prices, &Catalog::reserved_discounts, ReservedDiscount{.id = "r"},
                   [&](ReservedDiscount& d) { d.low = low, d.high = high; });
  };
  const std::string order = "catalog.order";
  EXPECT_THAT(discount(0.3, 0.99), IsEmpty());
  EXPECT_THAT(discount(0.3, 1), ElementsAre(order));
  EXPECT_THAT(discount(0.3, 0.2), ElementsAre(order));
  const auto parameter = [](double low, double typical, double high) {
    return said_of(check_prices, &Catalog::tco_parameters, TcoParameter{.id = "r"},
                   [&](TcoParameter& t) { t.low = low, t.typical = typical, t.high = high; });
  };
  EXPECT_THAT(parameter(1, 2, 3), IsEmpty());
  EXPECT_THAT(parameter(1, 4, 3), ElementsAre("catalog.order"));
  EXPECT_EQ(parameter(3, 2, 4).size(), 1U);
}

TEST(ChecksFacts, export_rule_names_a_part_and_countries) {
  const auto with = [](const char* part, std::vector<std::string> countries) {
    return said_of(check_prices, &Catalog::export_controls, ExportControl{.id = "r"},
                   [&](ExportControl& e) { e.accelerator_id = part, e.countries = countries; });
  };
  EXPECT_THAT(with("x", {"chn"}), IsEmpty());
  EXPECT_THAT(with("y", {"chn"}), ElementsAre("catalog.reference"));
  EXPECT_THAT(with("x", {}), ElementsAre("catalog.missing"));
}

}  // namespace
}  // namespace orrery::catalog
