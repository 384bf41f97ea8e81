// What a site's power carries, by hand.
#include "layers/facility/site_budget.h"

#include <gtest/gtest.h>

#include "layers/facility/rack.h"

namespace orrery::facility {
namespace {

// 1 MW at a PUE of 1.25 leaves 800 kW of IT; 100 kW of it are switches and storage, so that 68
// nodes of 10.2 kW fit, and (100 + 693.6) kW * 1.25 = 992 kW are drawn.
TEST(SiteBudget, NodesTakeWhatOthersLeave) {
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

TEST(Cooling, PlatesWantPlatesAndAirWantsAir) {
  EXPECT_TRUE(suits("direct-to-chip", "direct-to-chip-1p"));
  EXPECT_FALSE(suits("direct-to-chip", "rear-door"));
  EXPECT_FALSE(suits("air", "direct-to-chip-1p"));
  EXPECT_TRUE(suits("air", "rear-door"));
  EXPECT_TRUE(suits("air", "immersion-1p"));
}

}  // namespace
}  // namespace orrery::facility
