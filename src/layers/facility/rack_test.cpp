// Rack density by cooling method: the layouts of published reference architectures.
#include "layers/facility/rack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

const catalog::CoolingMethod& cooling(const char* id) {
  const catalog::CoolingMethod* method = shipped_catalog().cooling(id);
  EXPECT_NE(method, nullptr) << id;
  static const catalog::CoolingMethod none;
  return method != nullptr ? *method : none;
}

// RA-11333-001: 4 DGX H100 per rack draw more than 40 kW; a contained air rack takes two.
TEST(Rack, four_dgx_h100_need_more_than_contained_air) {
  const RackRequest dgx{.node_power = kilowatts(10.2), .node_units = 8};
  const RackFit air = fit_rack(dgx, cooling("air-contained"));
  EXPECT_EQ(air.nodes, 2);
  EXPECT_EQ(air.bound, RackBound::cooling);
  const RackFit door =
      fit_rack({.node_power = kilowatts(10.2), .node_units = 8, .rack_limit = kilowatts(44)},
               cooling("rear-door-active"));
  EXPECT_EQ(door.nodes, 4);
  EXPECT_EQ(door.bound, RackBound::rack_limit);
  EXPECT_NEAR(door.power / kilowatts(1), 40.8, 1e-9);
  EXPECT_EQ(racks_needed(127, door), 32);  // the 127-node SuperPOD has 32 compute racks
}

// 30 kW of contained air, or the site's own limit if that is lower: as many whole nodes as fit.
TEST(Rack, fits_whole_nodes_up_to_the_limit_itself) {
  const auto fit = [](double kw, double limit_kw) {
    return fit_rack(
        {.node_power = kilowatts(kw), .node_units = 4, .rack_limit = kilowatts(limit_kw)},
        cooling("air-contained"));
  };
  EXPECT_EQ(fit(30, 0).nodes, 1);
  EXPECT_EQ(fit(30, 0).bound, RackBound::cooling);
  EXPECT_EQ(fit(30.1, 0).nodes, 0);
  EXPECT_EQ(fit(30.1, 0).bound, RackBound::none_fits);
  EXPECT_EQ(fit(15, 0).nodes, 2);
  EXPECT_EQ(fit(10, 20).nodes, 2);
  EXPECT_EQ(fit(10, 20).bound, RackBound::rack_limit);
  EXPECT_EQ(fit(10, 30).bound, RackBound::rack_limit);
  EXPECT_EQ(fit(10, 40).nodes, 3);
  EXPECT_EQ(fit(10, 40).bound, RackBound::cooling);
  EXPECT_EQ(fit(1, 0).nodes, 10);  // within 42 units
  EXPECT_EQ(fit(1, 0).bound, RackBound::space);
}

TEST(Rack, space_binds_where_cooling_does_not) {
  const RackFit fit =
      fit_rack({.node_power = kilowatts(10.2), .node_units = 8}, cooling("direct-to-chip-1p"));
  EXPECT_EQ(fit.nodes, 5);
  EXPECT_EQ(fit.bound, RackBound::space);
}

TEST(Rack, nvl72_is_a_rack_and_leaves_heat_to_the_air) {
  const RackFit fit =
      fit_rack({.node_power = kilowatts(132), .node_units = 48}, cooling("direct-to-chip-1p"));
  EXPECT_EQ(fit.nodes, 1);
  EXPECT_EQ(fit.bound, RackBound::whole_rack);
  // 10 to 30 % of a hybrid rack; facility.md: 13 to 25 kW, of which 12 kW is a legacy air rack.
  EXPECT_NEAR(fit.air_heat / kilowatts(1), 26.4, 0.1);
  EXPECT_TRUE(fit.air_heat_is_a_legacy_rack);
  EXPECT_EQ(
      fit_rack({.node_power = kilowatts(132), .node_units = 48}, cooling("air-contained")).bound,
      RackBound::none_fits);
  EXPECT_EQ(racks_needed(8, fit_rack({.node_power = kilowatts(132)}, cooling("air-contained"))), 0);
}

TEST(Rack, gb300_rack_fits_the_method_it_was_built_for) {
  EXPECT_EQ(fit_rack({.node_power = kilowatts(142), .node_units = 48}, cooling("direct-to-chip-1p"))
                .nodes,
            1);
  EXPECT_EQ(fit_rack({.node_power = kilowatts(142), .node_units = 48, .rack_limit = kilowatts(140)},
                     cooling("direct-to-chip-1p"))
                .nodes,
            0);
  EXPECT_EQ(fit_rack({.node_power = kilowatts(230), .node_units = 48}, cooling("direct-to-chip-1p"))
                .nodes,
            0);
}

TEST(Rack, method_a_rack_needs_gets_stronger_with_its_power) {
  const auto& methods = shipped_catalog().cooling_methods;
  EXPECT_EQ(method_needed(kilowatts(10), methods)->id, "air-perimeter");
  EXPECT_EQ(method_needed(kilowatts(28), methods)->id, "air-contained");
  EXPECT_EQ(method_needed(kilowatts(41), methods)->id, "rear-door-active");
  EXPECT_EQ(method_needed(kilowatts(132), methods)->id, "direct-to-chip-1p");
  EXPECT_EQ(method_needed(kilowatts(230), methods)->id, "direct-to-chip-100pct");
  EXPECT_EQ(method_needed(kilowatts(600), methods), nullptr);
  std::size_t last = methods.size();
  for (int kw = 5; kw <= 300; kw += 5) {
    const std::size_t carrying = methods_that_carry(kilowatts(kw), methods).size();
    EXPECT_LE(carrying, last) << kw;
    last = carrying;
  }
}

catalog::CoolingMethod carrying(const char* id, double kw, double liquid, double usd_kw = 1) {
  catalog::CoolingMethod m;
  m.id = id;
  m.rack_practical_max = kilowatts(kw);
  m.liquid_heat_fraction = liquid;
  m.capex_per_kw = {usd(usd_kw), usd(usd_kw * 2)};
  return m;
}

TEST(Rack, whole_rack_node_may_exceed_its_method_by_five_percent) {
  const auto bound = [](double kw, double limit_kw) {
    return fit_rack(
               {.node_power = kilowatts(kw), .node_units = 48, .rack_limit = kilowatts(limit_kw)},
               carrying("m", 100, 0.5))
        .bound;
  };
  EXPECT_EQ(bound(104.9, 0), RackBound::whole_rack);
  EXPECT_EQ(bound(105.1, 0), RackBound::none_fits);
  EXPECT_EQ(bound(104.9, 200), RackBound::whole_rack);
  EXPECT_EQ(bound(100.1, 100), RackBound::none_fits) << "the site's own limit has no margin";
  EXPECT_EQ(bound(100, 100), RackBound::whole_rack);
  const auto space = [](double units) {
    return fit_rack({.node_power = kilowatts(1), .node_units = units}, carrying("m", 100, 0.5));
  };
  EXPECT_EQ(space(42).bound, RackBound::space);
  EXPECT_EQ(space(42).nodes, 1);
  EXPECT_EQ(space(43).bound, RackBound::whole_rack);
  EXPECT_EQ(space(14).nodes, 3);
  EXPECT_EQ(space(0).nodes, 100) << "units that are not known are not counted";
}

TEST(Rack, heat_splits_between_liquid_and_air) {
  const RackFit fit = fit_rack({.node_power = kilowatts(9)}, carrying("m", 40, 0.6));
  EXPECT_EQ(fit.nodes, 4);
  EXPECT_NEAR(fit.limit / kilowatts(1), 40, 1e-9);
  EXPECT_NEAR(fit.power / kilowatts(1), 36, 1e-9);
  EXPECT_NEAR(fit.liquid_heat / kilowatts(1), 21.6, 1e-9);
  EXPECT_NEAR(fit.air_heat / kilowatts(1), 14.4, 1e-9);
  EXPECT_TRUE(fit.air_heat_is_a_legacy_rack);
  const auto legacy = [](double kw, double liquid) {
    return fit_rack({.node_power = kilowatts(kw)}, carrying("m", kw, liquid))
        .air_heat_is_a_legacy_rack;
  };
  EXPECT_FALSE(legacy(24, 0.5)) << "12 kW and no more";
  EXPECT_TRUE(legacy(24.1, 0.5));
  EXPECT_FALSE(legacy(30, 0)) << "all of it is air";
  const RackFit none = fit_rack({.rack_limit = kilowatts(7)}, carrying("m", 40, 0.6));
  EXPECT_EQ(none.nodes, 0);
  EXPECT_EQ(none.bound, RackBound::none_fits);
  EXPECT_NEAR(none.limit / kilowatts(1), 7, 1e-9);
}

TEST(Rack, rack_count_of_a_fleet) {
  const RackFit three{.nodes = 3};
  EXPECT_EQ(racks_needed(7, three), 3);
  EXPECT_EQ(racks_needed(6, three), 2);
  EXPECT_EQ(racks_needed(1, three), 1);
  EXPECT_EQ(racks_needed(0, three), 0);
  EXPECT_EQ(racks_needed(-4, three), 0);
  EXPECT_EQ(racks_needed(5, RackFit{}), 0);
}

TEST(Rack, cheapest_sufficient_cooling_is_chosen) {
  const std::vector<catalog::CoolingMethod> all = {
      carrying("dear", 50, 0, 9), carrying("weak", 20, 0, 1), carrying("fair", 40, 0, 5),
      carrying("same", 45, 0, 5)};
  const auto ids = [&](double kw) {
    std::string text;
    for (const auto* m : methods_that_carry(kilowatts(kw), all)) text += m->id + " ";
    return text;
  };
  EXPECT_EQ(ids(20.1), "fair same dear ");
  EXPECT_EQ(ids(50), "dear ");
  EXPECT_EQ(ids(50.1), "");
  EXPECT_EQ(method_needed(kilowatts(30), all), &all[2]);
  EXPECT_EQ(method_needed(kilowatts(60), all), nullptr);
  EXPECT_TRUE(suits("", "direct-to-chip-1p"));
  EXPECT_TRUE(suits("", "air-contained"));
  EXPECT_TRUE(suits("direct-to-chip", "immersion-2p"));
  EXPECT_TRUE(wants_air("air, front to back"));
  EXPECT_FALSE(wants_air("direct-to-chip + air"));
}

}  // namespace
}  // namespace orrery::facility
