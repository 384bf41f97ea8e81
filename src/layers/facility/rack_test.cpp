// Rack density against cooling: the layouts of published reference architectures.
#include "layers/facility/rack.h"

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

const catalog::CoolingMethod& cooling(const char* id) {
  const catalog::CoolingMethod* method = shipped_catalog().cooling(id);
  EXPECT_NE(method, nullptr) << id;
  static const catalog::CoolingMethod none;
  return method != nullptr ? *method : none;
}

// RA-11333-001: 4 DGX H100 a rack draw more than 40 kW; a contained air rack takes two.
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

// 30 kW of contained air, or the site's own limit where that is lower: as many as go in whole.
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
  EXPECT_EQ(fit(1, 0).nodes, 10);  // of 42 units
  EXPECT_EQ(fit(1, 0).bound, RackBound::space);
}

TEST(Rack, space_binds_where_cooling_does_not) {
  const RackFit fit =
      fit_rack({.node_power = kilowatts(10.2), .node_units = 8}, cooling("direct-to-chip-1p"));
  EXPECT_EQ(fit.nodes, 5);
  EXPECT_EQ(fit.bound, RackBound::space);
}

TEST(Rack, an_nvl72_is_a_rack_of_its_own_and_leaves_a_legacy_rack_of_heat_to_the_air) {
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

TEST(Rack, a_gb300_rack_fits_the_method_it_was_built_for) {
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

TEST(Rack, the_method_a_rack_needs_gets_stronger_with_its_power) {
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

}  // namespace
}  // namespace orrery::facility
