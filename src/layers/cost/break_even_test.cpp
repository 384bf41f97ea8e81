#include "layers/cost/break_even.h"

#include <gtest/gtest.h>

#include "layers/cost/cost_fixture.h"
#include "layers/cost/ownership.h"

namespace orrery::cost {
namespace {

// The cost per useful hour of the owned machine in full use, times its utilisation.
TEST(BreakEven, break_even_utilisation_is_owned_cost_over_rent) {
  OwnershipInput full = small_hall();
  full.utilisation = 1;
  EXPECT_NEAR(*break_even_utilisation(small_hall(), usd_per_hour(7)), hourly(full) / 7, 1e-12);
  EXPECT_FALSE(break_even_utilisation(small_hall(), usd_per_hour(0)));
  OwnershipInput never = small_hall();
  never.availability = 0;
  EXPECT_FALSE(break_even_utilisation(never, usd_per_hour(7)));
}

TEST(BreakEven, at_the_break_even_use_both_cost_the_same) {
  const OwnershipInput in = worked(325, 7.8, 8);
  for (double price : {2.2, 3.0, 4.3, 6.9}) {
    const auto u = break_even_utilisation(in, usd_per_hour(price));
    ASSERT_TRUE(u) << price;
    OwnershipInput at = in;
    at.utilisation = *u;
    EXPECT_NEAR(hourly(at), price, 1e-9);
  }
  EXPECT_GT(break_even_utilisation(in, usd_per_hour(1.5)).value(), 1) << "owning never pays";
  EXPECT_FALSE(break_even_utilisation(in, UsdPerSecond()));
}

}  // namespace
}  // namespace orrery::cost
