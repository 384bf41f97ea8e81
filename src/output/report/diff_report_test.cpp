// A difference of designs, a ranking and found layouts as people and programs read them: signs,
// sides and names.
#include "output/report/diff_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "model/machine/known_fixture.h"
#include "output/report/calculation_report.h"
#include "output/report/claims_report.h"
#include "output/report/layout_report.h"
#include "output/report/rank_report.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

compare::DesignDiff told_diff() {
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

// More has a plus, less its own minus, and a share is in points of a hundred.
TEST(diff_report, an_effect_has_its_sign) {
  const std::string text = to_text(document_of(told_diff()));
  EXPECT_THAT(text, HasSubstr("  fleet           +2 MUSD             +3.1                -0.25\n"));
  EXPECT_THAT(text, HasSubstr("  site            -3 MUSD               -2                 +0.5\n"));
}

TEST(diff_report, a_figure_says_how_far_it_moved_or_that_it_is_new) {
  const std::string text = to_text(document_of(told_diff()));
  EXPECT_THAT(text, HasSubstr("a year  8 MUSD/y  6 MUSD/y   -25 %"));
  EXPECT_THAT(text, HasSubstr("cables         0        12     new"));
}

TEST(diff_report, its_tone_is_of_the_design_as_it_would_be) {
  const auto tone = [](const compare::DesignDiff& d) {
    return std::get<Heading>(document_of(d).blocks.front()).tone;
  };
  compare::DesignDiff d = told_diff();
  EXPECT_EQ(tone(d), Tone::bad) << "it passed before, and does not now";
  d.passed_before = false, d.passes_after = true;
  EXPECT_EQ(tone(d), Tone::good);
  EXPECT_THAT(to_text(document_of(d)), HasSubstr("new against old"));
}

TEST(diff_report, rules_stand_under_what_became_of_them) {
  const std::string text = to_text(document_of(told_diff()));
  const std::size_t broken = text.find("Rules newly broken"), fixed = text.find("no longer broken");
  ASSERT_NE(broken, std::string::npos);
  ASSERT_NE(fixed, std::string::npos);
  EXPECT_EQ(text.find("- broken.rule: is hot"), text.find("  - ", broken) + 2);
  EXPECT_EQ(text.find("- mended.rule: was slow"), text.find("  - ", fixed) + 2);
  EXPECT_THAT(text, HasSubstr("The designs\n-----------\n    - a: 1\n    + a: 2\n"));
}

TEST(diff_report, json_has_every_field_under_its_own_name) {
  const Json j = Json::parse(json_of(told_diff()));
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

struct RankedParts {
  catalog::Accelerator fast, slow, third;
  search::Ranking ranking;
};

std::unique_ptr<RankedParts> told_ranking() {
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

// Each names the other of an undecided pair, and what is not known is not zero.
TEST(rank_report, a_row_names_those_it_is_not_told_apart_from) {
  const auto p = told_ranking();
  const Document d = document_of(p->ranking, "title");
  const Table& t = std::get<Table>(d.blocks[1]);
  ASSERT_EQ(t.rows.size(), 3U);
  EXPECT_EQ(t.rows[0].back(), "slow");
  EXPECT_EQ(t.rows[1].back(), "fast");
  EXPECT_EQ(t.rows[2].back(), "it does not fit");
  EXPECT_THAT(t.rows[0], testing::ElementsAre("fast", "fp8", "4", "400", "300 .. 500", "1.5", "2.5",
                                              "3.5", "slow"));
  EXPECT_EQ(t.rows[1][5], "not known");
  EXPECT_THAT(to_text(d), HasSubstr("0 of 1 pairs are decided"));
  p->ranking.pairs[0].decided = true;
  const Document decided = document_of(p->ranking, "title");
  EXPECT_EQ(std::get<Table>(decided.blocks[1]).rows[0].back(), "none");
  EXPECT_THAT(to_text(decided), HasSubstr("1 of 1 pairs are decided"));
}

TEST(rank_report, json_has_every_field_under_its_own_name) {
  const auto p = told_ranking();
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

search::FoundLayouts found_layouts() {
  const search::LayoutQuestion q{
      .model = "llama-3-8b", .gpus = 8, .batch = 64, .sequence = 4096, .vp = 1};
  const machine::Models& models = machine::known();
  const search::LayoutSearch search(models, query_of(q, models.catalog(), nullptr).value(), 3);
  std::vector<training::SearchResult> parts;
  for (std::int64_t c = 0; c < search.chunks(); ++c) parts.push_back(search.search_chunk(c));
  return search.describe(search.join(parts), true);
}

// The text and the JSON are of the same numbers, and a layout's parts are its step.
TEST(layout_report, a_row_of_the_text_is_the_row_of_the_json) {
  const search::FoundLayouts found = found_layouts();
  ASSERT_GE(found.described.size(), 2U);
  const Json j = Json::parse(json_of("llama-3-8b", std::vector{found}))["searches"][0];
  std::vector<std::string> lines;
  const std::string text = text_of(found);
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  for (std::size_t i = 0; i < found.described.size(); ++i) {
    const jobs::TrainingPrediction& p = found.described[i];
    const Json& row = j["layouts"][i];
    double sum = 0;
    for (const Json& part : row["parts_s"]) sum += part.get<double>();
    EXPECT_NEAR(sum, row["step_time_s"], 1e-9 * sum);
    EXPECT_EQ(row["step_time_low_s"], p.step_time_s.low);
    EXPECT_EQ(row["step_time_high_s"], p.step_time_s.high);
    EXPECT_LT(row["step_time_low_s"], row["step_time_s"]);
    EXPECT_GT(row["step_time_high_s"], row["step_time_s"]);
    EXPECT_NEAR(row["memory_gib"].get<double>() * 1073741824.0, p.memory.peak.base(), 1);
    const std::string& line = lines[i + 2];
    std::vector<std::string> words;
    for (const std::string_view w :
         split_at_blanks(line.substr(line.find(to_text(p.layout)) + to_text(p.layout).size()))) {
      words.emplace_back(w);
    }
    ASSERT_GE(words.size(), 4U) << line;
    EXPECT_NEAR(std::stod(words[0]), row["step_time_s"], 6e-4);
    EXPECT_NEAR(std::stod(words[1]), row["tokens_per_s_per_gpu"], 0.06);
    EXPECT_NEAR(std::stod(words[2]), 100 * row["mfu"].get<double>(), 0.06);
    EXPECT_NEAR(std::stod(words[3]), row["memory_gib"], 0.06);
    EXPECT_EQ(row.contains("why_slower"), i > 0) << "the first is the fastest";
    if (i > 0) {
      EXPECT_THAT(line, HasSubstr(row["why_slower"].get<std::string>()));
      EXPECT_NE(row["why_slower"].get<std::string>().front(), '-') << "slower, not faster";
    }
  }
}

TEST(layout_report, a_search_says_what_became_of_every_candidate) {
  search::FoundLayouts found = found_layouts();
  const Json j = Json::parse(json_of("m", std::vector{found}))["searches"][0];
  EXPECT_EQ(j["candidates"].get<int>(), j["refused"].get<int>() + j["too_large"].get<int>() +
                                            j["bounded"].get<int>() + j["evaluated"].get<int>());
  EXPECT_TRUE(j["complete"]);
  found.whole = false;
  found.described.clear();
  EXPECT_THAT(text_of(found), HasSubstr("(interrupted: the best so far)\nnothing fits\n"));
  EXPECT_FALSE(Json::parse(json_of("m", std::vector{found}))["searches"][0]["complete"]);
}

TEST(calculation_report, the_arithmetic_is_shown_where_there_is_any) {
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

// A claim that holds in one case and not in the other is told case by case, and its verdict is not
// the one that the ledger records.
TEST(claims_report, a_case_says_whether_it_meets_and_the_ledger_keeps_its_own_verdict) {
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
