#include "output/report/rank_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/calculation_report.h"
#include "output/report/claims_report.h"
#include "output/report/diff_report.h"
#include "output/report/layout_report.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

struct RankedParts {
  catalog::Accelerator fast, slow, third;
  search::Ranking ranking;
};

std::unique_ptr<RankedParts> example_ranking() {
  auto p = std::make_unique<RankedParts>();
  p->fast.id = "fast", p->slow.id = "slow", p->third.id = "third";
  p->ranking.rows = {{.accelerator = &p->fast,
                      .devices = 4,
                      .tokens_per_s = {400, 300, 500},
                      .per_watt = 1.5,
                      .per_rack = 2.5,
                      .per_usd = 3.5},
                     {.accelerator = &p->slow, .devices = 2, .tokens_per_s = {200, 150, 260}},
                     {.accelerator = &p->third, .refused = "it does not fit"}};
  p->ranking.pairs = {{.faster = 0, .slower = 1, .ratio = 2, .factor = 1.25, .decided = false}};
  return p;
}

TEST(RankReport, json_has_every_field) {
  const auto p = example_ranking();
  const Json j = Json::parse(json_of(p->ranking));
  EXPECT_EQ(j["rows"][0], Json({{"accelerator", "fast"},
                                {"format", "fp8"},
                                {"devices", 4},
                                {"tokens_per_s", 400},
                                {"low", 300},
                                {"high", 500},
                                {"tokens_per_s_per_w", 1.5},
                                {"tokens_per_s_per_rack", 2.5},
                                {"tokens_per_usd", 3.5}}));
  EXPECT_EQ(j["rows"][2], Json({{"accelerator", "third"}, {"refused", "it does not fit"}}));
  EXPECT_EQ(j["pairs"][0], Json({{"faster", "fast"},
                                 {"slower", "slow"},
                                 {"ratio", 2},
                                 {"ratio_factor", 1.25},
                                 {"decided", false}}));
}

}  // namespace
}  // namespace orrery::report
