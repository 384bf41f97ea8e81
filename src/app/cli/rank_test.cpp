#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using RankVerb = VerbTest;
using testing::StartsWith;

TEST(Rank, a_ranking_in_each_format) {
  const std::vector<std::string> one = {"rank", "--model", "llama-3-8b", "--accelerator",
                                        "h100-sxm"};
  const Json free = json_said(one);
  ASSERT_EQ(free["rows"].size(), 1U);
  EXPECT_EQ(free["rows"][0]["accelerator"], "h100-sxm");
  EXPECT_EQ(free["rows"][0]["format"], "fp8");
  const double rate = free["rows"][0]["tokens_per_s"];
  EXPECT_GT(rate, 1000);
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = one;
    words.insert(words.end(), more.begin(), more.end());
    return json_said(words)["rows"][0];
  };
  // A bound that can be met lowers the rate; one that cannot be met leaves none.
  EXPECT_LT(with({"--tpot", "8 ms"}).value("tokens_per_s", rate), rate);
  EXPECT_FALSE(with({"--ttft", "40 ms"}).contains("tokens_per_s"));
  EXPECT_FALSE(with({"--tpot", "1 us"}).contains("tokens_per_s"));
  EXPECT_EQ(with({"--precision", "bf16"})["format"], "bf16");
  // Twice the rack power holds twice the nodes.
  EXPECT_NEAR(with({"--rack", "81.6 kW"})["tokens_per_s_per_rack"].get<double>() /
                  with({"--rack", "40.8 kW"})["tokens_per_s_per_rack"].get<double>(),
              2, 1e-9);
  EXPECT_LT(with({"--input", "4096"})["tokens_per_s"].get<double>(), rate);
  EXPECT_NE(with({"--output", "64"})["tokens_per_s"].get<double>(), rate);
  std::vector<std::string> marked = one;
  marked.insert(marked.end(), {"--format", "markdown", "--input", "100", "--output", "7"});
  EXPECT_THAT(spoken(marked).out, StartsWith("# llama-3-8b, 100"));
  EXPECT_EQ(spoken({"rank", "--input", "1", "--output", "1", "--accelerator", "h100-sxm"}).code,
            ExitCode::good);
}

TEST_F(RankVerb, ranking_bounds_are_positive) {
  expect_code({"rank", "--rack", "0 W"}, "usage.value");
  expect_code({"rank", "--rack", "40"}, "usage.value");
  expect_code({"rank", "--ttft", "0 s"}, "usage.value");
  expect_code({"rank", "--tpot", "-1 ms"}, "usage.value");
  expect_code({"rank", "--output", "0"}, "usage.value");
  expect_code({"rank", "--input", "0.5"}, "usage.value");
  expect_code({"rank", "--precision", "fp2"}, "usage.value");
  expect_code({"rank", "--model", "nosuch"}, "usage.value");
  expect_code({"rank", "--accelerator", "nosuch"}, "rank.accelerator");
}

}  // namespace
}  // namespace orrery::cli
