#include "output/report/claims_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/machine/known_fixture.h"
#include "output/report/calculation_report.h"
#include "output/report/diff_report.h"
#include "output/report/explain_report.h"
#include "output/report/layout_report.h"
#include "output/report/page_fixture.h"
#include "output/report/rank_report.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

std::vector<calc::ClaimCheck> checks() { return calc::check_claims(machine::known()).value(); }

TEST(ClaimsReport, the_page_in_docs_is_current) {
  expect_page("docs/claims.md", to_markdown(document_of(checks(), ClaimsView{.details = true})));
}

// A claim that holds in one case and not in the other is shown case by case; its verdict is not the
// recorded one.
TEST(ClaimsReport, cases_and_ledger_have_their_own_verdicts) {
  calc::ClaimCheck c;
  c.claim = {.id = "x", .claim = "so", .figure = "2", .recorded = calc::ClaimVerdict::wrong};
  c.verdict = calc::ClaimVerdict::holds_only_if;
  c.finding.cases = {{{.id = "a", .label = "case a", .unit = figures::Unit::count}, true},
                     {{.id = "b", .label = "case b", .unit = figures::Unit::count}, false}};
  const Document d = document_of(c);
  const Table& t = std::get<Table>(d.blocks.back());
  EXPECT_EQ(t.rows[0][2], "yes");
  EXPECT_EQ(t.rows[1][2], "no");
  const Json j = Json::parse(json_of(std::vector{c}));
  EXPECT_EQ(j["claims"][0]["verdict"], "holds-only-if");
  EXPECT_EQ(j["claims"][0]["recorded"], "wrong");
  EXPECT_EQ(j["counts"]["holds-only-if"], 1);
  EXPECT_EQ(j["counts"]["wrong"], 0);
}

}  // namespace
}  // namespace orrery::report
