#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/row_fixture.h"

namespace orrery::catalog {
namespace {

using testing::HasSubstr;

TEST(TablesChecks, check_tables_are_read) {
  const auto r = good_row<DenseRatio>({{"id", "x-1"},
                                       {"vendor", "Acme"},
                                       {"accelerator_id", "acme-x"},
                                       {"dtype", "fp4"},
                                       {"of_dtype", "fp8"},
                                       {"ratio", "1.5"},
                                       {"reason", "so said"}});
  EXPECT_EQ(r.id, "x-1");
  EXPECT_EQ(r.vendor, "Acme");
  EXPECT_EQ(r.accelerator_id, "acme-x");
  EXPECT_EQ(r.dtype, Dtype::fp4);
  EXPECT_EQ(r.of, Dtype::fp8);
  EXPECT_EQ(r.ratio, 1.5);
  EXPECT_EQ(r.reason, "so said");
  const auto c = good_row<DenseCeiling>({{"id", "x-1"},
                                         {"vendor", "Acme"},
                                         {"from_year", "2021"},
                                         {"to_year", "2025"},
                                         {"bf16_tflops_per_w_max", "1.7"},
                                         {"reason", "best"}});
  EXPECT_EQ(c.id, "x-1");
  EXPECT_EQ(c.vendor, "Acme");
  EXPECT_EQ(c.from_year, 2021);
  EXPECT_EQ(c.to_year, 2025);
  EXPECT_EQ(c.tflops_per_watt, 1.7);
  EXPECT_EQ(c.reason, "best");
  const auto l = good_row<LinkRate>(
      {{"id", "x-1"}, {"link", "XLink"}, {"gbs_per_dir_max", "450"}, {"reason", "18 links"}});
  EXPECT_EQ(l.id, "x-1");
  EXPECT_EQ(l.link, "XLink");
  EXPECT_EQ(l.per_direction, gbytes_per_s(450));
  EXPECT_EQ(l.reason, "18 links");
}

TEST(TablesChecks, unknown_dtype_is_refused) {
  Diagnostics faults;
  const auto r = row_of_table<DenseRatio>({{"id", "x-1"},
                                           {"vendor", "Acme"},
                                           {"accelerator_id", ""},
                                           {"dtype", "fp5"},
                                           {"of_dtype", "bf16"},
                                           {"ratio", "2"},
                                           {"reason", "r"}},
                                          faults);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].code, "catalog.dtype");
  EXPECT_THAT(faults[0].what, HasSubstr("'dtype'"));
  EXPECT_EQ(r.of, Dtype::bf16);
}

}  // namespace
}  // namespace orrery::catalog
