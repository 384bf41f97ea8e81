#include "output/report/calculation_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "output/report/claims_report.h"
#include "output/report/diff_report.h"
#include "output/report/layout_report.h"
#include "output/report/rank_report.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

TEST(CalculationReport, formulas_are_shown_if_present) {
  calc::Calculation c{.question = "How?", .answer = "So."};
  c.figures = {{.id = "a",
                .label = "first",
                .unit = figures::Unit::count,
                .estimate = {5, 4, 7},
                .formula = "2 + 3",
                .inputs = {}},
               {.id = "b",
                .label = "second",
                .unit = figures::Unit::count,
                .estimate = {6, 6, 6},
                .formula = "",
                .inputs = {}}};
  const std::string text = to_text(document_of(c));
  EXPECT_THAT(text, HasSubstr("    first = 2 + 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("second =")));
  EXPECT_THAT(text, Not(HasSubstr("Assumptions")));
  const Json j = Json::parse(json_of(c));
  EXPECT_EQ(j["figures"]["a"]["low"], 4);
  EXPECT_EQ(j["figures"]["a"]["high"], 7);
  EXPECT_EQ(j["figures"]["a"]["unit"], "count");
}

}  // namespace
}  // namespace orrery::report
