#include "core/catalog/provenance.h"

#include <gtest/gtest.h>

#include "core/catalog/bill.h"

namespace orrery::catalog {
namespace {

TEST(Provenance, interval_of_a_fact_follows_its_confidence) {
  const auto of = [](FactBasis basis, Confidence confidence) {
    return fact(200, {.reference = "t/r", .basis = basis, .confidence = confidence});
  };
  const Estimate high = of(FactBasis::seen, Confidence::high);
  EXPECT_DOUBLE_EQ(high.low, 196);
  EXPECT_DOUBLE_EQ(high.high, 204);
  EXPECT_EQ(high.basis, Basis::vendor);
  EXPECT_EQ(high.reference, "t/r");
  const Estimate medium = of(FactBasis::measured, Confidence::medium);
  EXPECT_DOUBLE_EQ(medium.low, 180);
  EXPECT_DOUBLE_EQ(medium.high, 220);
  EXPECT_EQ(medium.basis, Basis::measured);
  const Estimate low = of(FactBasis::derived, Confidence::low);
  EXPECT_DOUBLE_EQ(low.low, 140);
  EXPECT_DOUBLE_EQ(low.high, 260);
  EXPECT_EQ(low.basis, Basis::derived);
  EXPECT_EQ(of(FactBasis::recall, Confidence::low).basis, Basis::vendor);
  const Estimate price = fact(PriceRange{usd(30), usd(50)}, {.reference = "p"});
  EXPECT_DOUBLE_EQ(price.value, 40);
  EXPECT_DOUBLE_EQ(price.low, 30);
  EXPECT_DOUBLE_EQ(price.high, 50);
}

}  // namespace
}  // namespace orrery::catalog
