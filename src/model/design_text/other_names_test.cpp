#include "model/design_text/other_names.h"

#include <gtest/gtest.h>

#include "model/design/catalog_fixture.h"

namespace orrery::design_text {
namespace {

TEST(OtherNames, a_product_means_its_kind_where_the_kind_is_accepted) {
  EXPECT_EQ(meant_by("Weka", {"parallel-fs", "object"}), "parallel-fs");
  EXPECT_EQ(meant_by("dlc", {"air-contained", "direct-to-chip-1p"}), "direct-to-chip-1p");
  EXPECT_EQ(meant_by("weka", {"slurm", "kubernetes"}), std::nullopt);
  EXPECT_EQ(meant_by("objetc", {"parallel-fs", "object"}), "object") << "a slip";
}

TEST(OtherNames, a_city_means_its_region) {
  const catalog::Catalog& catalog = design::catalog();
  const catalog::GridRegion* found = region_named(catalog, "frankfurt");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, "gcp-europe-west3");
  EXPECT_EQ(region_named(catalog, "atlantis"), nullptr);
}

}  // namespace
}  // namespace orrery::design_text
