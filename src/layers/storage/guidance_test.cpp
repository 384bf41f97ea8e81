#include "layers/storage/guidance.h"

#include <gtest/gtest.h>

#include "core/catalog/shipped_fixture.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/loader.h"
#include "layers/storage/scale_out.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

std::vector<StorageGuidance> published() {
  auto all = read_storage_guidance(catalog::shipped().table("catalog/refarch_storage.csv").value());
  EXPECT_TRUE(all.has_value());
  return all.value_or(std::vector<StorageGuidance>{});
}

double gbs(const std::vector<StorageGuidance>& all, const GuidanceAsk& ask) {
  const auto rate = guided_rate(all, ask);
  EXPECT_TRUE(rate.has_value());
  return rate.value_or(BytesPerSecond(0)) / gbytes_per_s(1);
}

// RA-11333-001 V11 table 6.
TEST(Guidance, published_rows) {
  const auto all = published();
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 1, GuidanceLevel::good}), 15);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 1, GuidanceLevel::best}), 125);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "write", 4, GuidanceLevel::good}), 30);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 4, GuidanceLevel::better}), 160);
  EXPECT_EQ(gbs(all, {"SuperPOD H100", "read", 8, GuidanceLevel::best}), 1000);
  EXPECT_EQ(gbs(all, {"SuperPOD GB200", "write", 1, GuidanceLevel::best}), 62);
  EXPECT_FALSE(guided_rate(all, {"SuperPOD GB200", "read", 1, GuidanceLevel::good}).has_value());
  EXPECT_FALSE(guided_rate(all, {"Colossus", "read", 1, GuidanceLevel::best}).has_value());
}

TEST(Guidance, scalable_units_follow_the_architecture) {
  EXPECT_EQ(gpus_per_unit("SuperPOD H100"), 256);
  EXPECT_EQ(gpus_per_unit("SuperPOD B300"), 256);
  EXPECT_EQ(gpus_per_unit("SuperPOD GB200"), 576);
  EXPECT_EQ(gpus_per_unit("SuperPOD A100"), 160);
  const std::vector<StorageGuidance> all = {{.architecture = "x",
                                             .scope = "1 SU aggregate",
                                             .metric = "read",
                                             .better = gbytes_per_s(7)}};
  EXPECT_EQ(guided_rate(all, {"x", "read"}), gbytes_per_s(7)) << "one unit, better, by default";
  EXPECT_EQ(guided_rate(all, {"x", "read", 3.9}), gbytes_per_s(7) * 3.9);
  EXPECT_FALSE(guided_rate(all, {"x", "read", 4}));
  EXPECT_STREQ(to_text(GuidanceLevel::good), "good");
  EXPECT_STREQ(to_text(GuidanceLevel::better), "better");
  EXPECT_STREQ(to_text(GuidanceLevel::best), "best");
}

TEST(Guidance, guidance_reads_rates_only) {
  const auto table = CsvTable::parse(
      "arch,scope,metric,unit,good,better,best,source\nA,1 SU aggregate,read,ports,1,2,3,s\n"
      "A,1 SU aggregate,write,GB/s,4,5,6,s\nA,1 SU aggregate,read,GB/s,7,8,9,s\n",
      "g.csv");
  ASSERT_TRUE(table);
  const auto all = read_storage_guidance(*table);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2u);
  EXPECT_EQ(guided_rate(*all, {"A", "read", 1, GuidanceLevel::good}), gbytes_per_s(7));
}

}  // namespace
}  // namespace orrery::storage
