#include "output/report/diff_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "output/report/calculation_report.h"
#include "output/report/claims_report.h"
#include "output/report/layout_report.h"
#include "output/report/rank_report.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

compare::DesignDiff example_diff() {
  compare::DesignDiff d{.before_name = "old",
                        .after_name = "new",
                        .before_digest = "111",
                        .after_digest = "222",
                        .verdict = "Costs more."};
  d.lines = {"- a: 1", "+ a: 2"};
  d.effects = {
      {.section = "fleet", .cost_usd_per_year = 2e6, .goodput = 0.031, .unit_cost_usd = -0.25},
      {.section = "site", .cost_usd_per_year = -3e6, .goodput = -0.02, .unit_cost_usd = 0.5}};
  d.figures = {{.layer = figures::Layer::cost,
                .section = "s",
                .label = "a year",
                .unit = figures::Unit::usd_per_year,
                .before = 8e6,
                .after = 6e6},
               {.layer = figures::Layer::fabric,
                .section = "t",
                .label = "cables",
                .unit = figures::Unit::count,
                .before = 0,
                .after = 12}};
  d.fixed = {{.rule = "mended.rule", .what = "was slow"}};
  d.broken = {{.rule = "broken.rule", .what = "is hot"}};
  d.passed_before = true;
  return d;
}

// An increase has a plus sign, a decrease its minus sign, and a share is in percentage points.
TEST(DiffReport, an_effect_has_its_sign) {
  const std::string text = to_text(document_of(example_diff()));
  EXPECT_THAT(text,
              HasSubstr("  fleet          +2 MUSD             +3.1                    -0.25\n"));
  EXPECT_THAT(text,
              HasSubstr("  site           -3 MUSD               -2                     +0.5\n"));
}

TEST(DiffReport, json_has_every_field) {
  const Json j = Json::parse(json_of(example_diff()));
  EXPECT_EQ(j["before"], "old");
  EXPECT_EQ(j["before_digest"], "111");
  EXPECT_EQ(j["after"], "new");
  EXPECT_EQ(j["after_digest"], "222");
  EXPECT_TRUE(j["passed_before"]);
  EXPECT_FALSE(j["passes_after"]);
  EXPECT_EQ(j["effects"][0], Json({{"section", "fleet"},
                                   {"cost_usd_per_year", 2e6},
                                   {"goodput_ratio", 0.031},
                                   {"unit_cost_usd_per_hour", -0.25}}));
  EXPECT_EQ(j["figures"][0]["before"], 8e6);
  EXPECT_EQ(j["figures"][0]["after"], 6e6);
  EXPECT_EQ(j["figures"][0]["unit"], "usd_per_year");
  EXPECT_EQ(j["figures"][1]["unit"], "count");
  EXPECT_EQ(j["broken"][0]["rule"], "broken.rule");
  EXPECT_EQ(j["fixed"][0]["rule"], "mended.rule");
  EXPECT_EQ(j["lines"], Json({"- a: 1", "+ a: 2"}));
}

}  // namespace
}  // namespace orrery::report
