// What a site's power can supply, computed by hand.
#include "layers/facility/site_budget.h"

#include <gtest/gtest.h>

#include "layers/facility/rack.h"
#include "layers/facility/site_power.h"

namespace orrery::facility {
namespace {

// 1 MW at a PUE of 1.25 leaves 800 kW of IT; 100 kW of it are switches and storage, so 68 nodes of
// 10.2 kW fit, and (100 + 693.6) kW * 1.25 = 992 kW are drawn.
TEST(SiteBudget, nodes_take_what_others_leave) {
  const SiteBudgetRequest request{.site_power = kilowatts(1000),
                                  .pue = 1.25,
                                  .other_it = kilowatts(100),
                                  .power_per_node = kilowatts(10.2)};
  const SiteBudget budget = site_budget(request);
  EXPECT_NEAR(budget.it_power / kilowatts(1), 800, 1e-9);
  EXPECT_EQ(budget.nodes, 68);
  EXPECT_NEAR(site_draw(request, 68) / kilowatts(1), 992, 1e-9);
  EXPECT_NEAR(budget.headroom / kilowatts(1), 8, 1e-9);
}

TEST(Cooling, plates_want_plates_and_air_wants_air) {
  EXPECT_TRUE(suits("direct-to-chip", "direct-to-chip-1p"));
  EXPECT_FALSE(suits("direct-to-chip", "rear-door"));
  EXPECT_FALSE(suits("air", "direct-to-chip-1p"));
  EXPECT_TRUE(suits("air", "rear-door"));
  EXPECT_TRUE(suits("air", "immersion-1p"));
}

TEST(SiteBudget, pue_below_one_counts_as_one) {
  const SiteBudgetRequest r{.site_power = kilowatts(100),
                            .pue = 0.5,
                            .other_it = kilowatts(7),
                            .power_per_node = kilowatts(9)};
  const SiteBudget b = site_budget(r);
  EXPECT_NEAR(b.it_power / kilowatts(1), 100, 1e-9);
  EXPECT_EQ(b.nodes, 10);
  EXPECT_NEAR(b.headroom / kilowatts(1), 3, 1e-9);
  EXPECT_NEAR(site_draw(r, 4) / kilowatts(1), 43, 1e-9);
  EXPECT_EQ(site_budget({.site_power = kilowatts(107),
                         .pue = 1,
                         .other_it = kilowatts(7),
                         .power_per_node = kilowatts(10)})
                .nodes,
            10)
      << "what just fits, fits";
  const SiteBudget none = site_budget({.site_power = kilowatts(100), .other_it = kilowatts(30)});
  EXPECT_EQ(none.nodes, 0);
  EXPECT_NEAR(none.headroom / kilowatts(1), 70, 1e-9);
  const SiteBudget tiny =
      site_budget({.site_power = megawatts(1000), .power_per_node = watts(1e-9)});
  EXPECT_EQ(tiny.nodes, 1'000'000'000) << "as many as a number holds";
}

// A less efficient cooling method under the same 2 MW fits fewer nodes: floor(2000 / 1.4 / 10.2) =
// 140 and floor(2000 / 1.1 / 10.2) = 178.
TEST(SiteBudget, higher_pue_shrinks_the_fleet) {
  const SiteBudget air =
      site_budget({.site_power = megawatts(2), .pue = 1.4, .power_per_node = kilowatts(10.2)});
  const SiteBudget liquid =
      site_budget({.site_power = megawatts(2), .pue = 1.1, .power_per_node = kilowatts(10.2)});
  EXPECT_EQ(air.nodes, 140);
  EXPECT_EQ(liquid.nodes, 178);
  EXPECT_GE(air.headroom, Watts());
  EXPECT_LT(air.headroom, kilowatts(10.2) * 1.4);
  EXPECT_EQ(site_budget({.site_power = kilowatts(5),
                         .pue = 1.2,
                         .other_it = kilowatts(9),
                         .power_per_node = kilowatts(1)})
                .nodes,
            0);
}

}  // namespace
}  // namespace orrery::facility
