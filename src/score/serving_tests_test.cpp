#include "score/serving_tests.h"

#include <gtest/gtest.h>

namespace orrery::score {
namespace {

constexpr std::string_view kTests =
    "accelerator,engine,release,model,precision,isl,osl,prefill_replicas,prefill_devices,"
    "prefill_ep,prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,clients\n"
    "gb200,trtllm,1.0,DeepSeek,fp4,1024,1024,1,4,4,1,4,8,8,0,3,4 8 12\n"
    "gb200,trtllm,1.0,DeepSeek,fp4,1024,1024,1,4,4,1,4,8,8,0,0,8 16\n"
    "gb200,trtllm,1.1,DeepSeek,fp4,1024,1024,1,4,4,1,5,8,8,0,0,12\n";

std::vector<TestSetting> asked(double clients, std::string_view release, int prefill, int decode) {
  const CsvTable tests = CsvTable::parse(kTests, "tests.csv").value();
  return settings_for(tests, {.accelerator = "gb200",
                              .engine = "trtllm",
                              .release = release,
                              .model = "deepseek-ai/DeepSeek-R1",
                              .precision = "fp4",
                              .input = 1024,
                              .output = 1024,
                              .clients = clients,
                              .prefill_devices = prefill,
                              .prefill_ep = 4,
                              .decode_devices = decode});
}

TEST(ServingTests, ARowFitsByOneReplicaByAllOfThemOrByBothRoles) {
  for (const int devices : {8, 32}) {
    const auto fitting = asked(4, "1.0", 4, devices);
    ASSERT_EQ(fitting.size(), 1u) << devices;
    EXPECT_EQ(fitting[0].guesses, 3);
    EXPECT_EQ(fitting[0].decode.replicas, 4);
    EXPECT_TRUE(fitting[0].prefill.by_rank);
  }
  EXPECT_EQ(asked(4, "1.0", 36, 36).size(), 1u);
  EXPECT_TRUE(asked(4, "1.0", 4, 16).empty());
  EXPECT_TRUE(asked(5, "1.0", 4, 8).empty());
}

TEST(ServingTests, WhereSeveralFitTheOneWithoutGuessesIsFirst) {
  const auto fitting = asked(8, "1.0", 4, 8);
  ASSERT_EQ(fitting.size(), 2u);
  EXPECT_EQ(fitting[0].guesses, 0);
}

TEST(ServingTests, TheReleaseDecidesWhereItIsKnown) {
  EXPECT_EQ(asked(12, "1.1", 4, 8).size(), 1u);
  EXPECT_EQ(asked(12, "1.1", 4, 8)[0].decode.replicas, 5);
  EXPECT_EQ(asked(12, "", 4, 8).size(), 2u);
}

}  // namespace
}  // namespace orrery::score
