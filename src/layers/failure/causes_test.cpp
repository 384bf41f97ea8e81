#include "layers/failure/causes.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/csv.h"

namespace orrery::failure {
namespace {

Result<std::vector<FaultCause>> causes_in(const std::string& rows) {
  const auto table =
      CsvTable::parse("cause,group,weight,scope,keeps_disk,sight\n" + rows, "causes.csv");
  EXPECT_TRUE(table);
  return read_fault_causes(*table);
}

TEST(Causes, cause_shares_follow_the_weights) {
  const auto causes = causes_in(
      "gpu,accelerator,3,host,no,health\nnic,network,1,host,yes,timeout\nbug,software,4,process,"
      "yes,silent\nhang,hang,2,process,yes,timeout\n");
  ASSERT_TRUE(causes);
  EXPECT_DOUBLE_EQ((*causes)[0].share, 0.3);
  EXPECT_DOUBLE_EQ((*causes)[2].share, 0.4);
  EXPECT_FALSE((*causes)[0].keeps_disk);
  EXPECT_TRUE((*causes)[1].keeps_disk);
  EXPECT_DOUBLE_EQ(share_of(*causes, FaultGroup::network), 0.1);
  // Over all draws, each cause appears as often as its share says.
  const auto drawn = [&](bool has_accelerators) {
    std::map<std::string, int> counts;
    for (int i = 0; i < 1000; ++i) {
      ++counts[cause_at(*causes, (i + 0.5) / 1000, has_accelerators).name];
    }
    return counts;
  };
  EXPECT_EQ(drawn(true),
            (std::map<std::string, int>{{"gpu", 300}, {"nic", 100}, {"bug", 400}, {"hang", 200}}));
  // Without accelerators neither of their two causes appears, and the others keep their proportion.
  EXPECT_EQ(drawn(false), (std::map<std::string, int>{{"nic", 200}, {"bug", 800}}));
  for (const char* bad :
       {"x,host,0,host,yes,health\n", "x,host,-1,host,yes,health\n", "x,host,1,host,maybe,health\n",
        "x,moon,1,host,yes,health\n", "x,host,1,hall,yes,health\n", "x,host,1,host,yes,guess\n"}) {
    const auto refused = causes_in(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().front().code, "failure.cause");
  }
}

// Weights 1, 2 and 5 of 8. Without accelerators the first and the last remain: 1 and 5 of 6.
TEST(Causes, draw_selects_the_cause_by_its_share) {
  const std::vector<FaultCause> causes{{.name = "a", .group = FaultGroup::host, .share = 0.125},
                                       {.name = "b", .group = FaultGroup::hang, .share = 0.25},
                                       {.name = "c", .group = FaultGroup::network, .share = 0.625}};
  EXPECT_EQ(cause_at(causes, 0).name, "a");
  EXPECT_EQ(cause_at(causes, 0.1249).name, "a");
  EXPECT_EQ(cause_at(causes, 0.125).name, "b");
  EXPECT_EQ(cause_at(causes, 0.3749).name, "b");
  EXPECT_EQ(cause_at(causes, 0.375).name, "c");
  EXPECT_EQ(cause_at(causes, 1).name, "c");
  EXPECT_EQ(cause_at(causes, 0.1666, false).name, "a");
  EXPECT_EQ(cause_at(causes, 0.1667, false).name, "c");
  EXPECT_EQ(cause_at(causes, 1, false).name, "c");
  EXPECT_EQ(share_of(causes, FaultGroup::software), 0);
}

}  // namespace
}  // namespace orrery::failure
