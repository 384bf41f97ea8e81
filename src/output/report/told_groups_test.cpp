// Two runs beside each other where one lacks what the other has, and findings of one rule that
// share some of their words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/document_fixture.h"
#include "output/report/run_diff.h"
#include "output/report/run_report.h"
#include "output/report/verdict_report.h"

namespace orrery::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using Json = nlohmann::json;

figures::Figure moved_figure(figures::FigureId kind, double value, double low, double high) {
  return {.kind = kind,
          .estimate = {.value = value, .low = low, .high = high},
          .formula = {},
          .inputs = {}};
}

run::Run run_with(std::vector<figures::Figure> figures, double productive) {
  run::Run run{.design = "hall", .digest = "d", .simulated = Seconds(60), .seed = 3};
  run.sections = {{.layer = figures::Layer::failure, .name = "job", .figures = std::move(figures)}};
  run.waterfalls = {{.job = "job",
                     .steps = {{cluster::Cause::productive, productive},
                               {cluster::Cause::lost, 1 - productive}}}};
  return run;
}

// 71.23456 % in four digits; a figure that only one of the two has did not move.
TEST(told_groups, figures_that_both_runs_have) {
  const run::Run before = run_with({moved_figure(figures::FigureId::preemptions, 5, 4, 6),
                                    moved_figure(figures::FigureId::holds, 1, 0, 2),
                                    moved_figure(figures::FigureId::shrinks, 5, 4, 6),
                                    moved_figure(figures::FigureId::grows, 7, 6, 8)},
                                   0.7123456);
  const run::Run after = run_with({moved_figure(figures::FigureId::preemptions, 6, 5, 7),
                                   moved_figure(figures::FigureId::shrinks, 8, 4, 9),
                                   moved_figure(figures::FigureId::grows, 7, 1, 9),
                                   moved_figure(figures::FigureId::lemons_found, 1, 0, 2)},
                                  0.8765432);
  const auto lines = lines_of(document_of(before, after));
  EXPECT_THAT(lines, Contains("h2: Goodput of job: 71.23 % -> 87.65 %"));
  const std::vector<std::string> tail(lines.end() - 3, lines.end());
  EXPECT_THAT(
      tail, ElementsAre(
                "t LLLRRL: layer | of | figure | before | after | ",
                "  failure | job | preempted by a higher priority | 5 | 6 | within both intervals",
                "  failure | job | went on with fewer replicas | 5 | 8 | "));
  const Json figures = Json::parse(json_of(before, after))["figures"];
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0]["within_intervals"], true);
  EXPECT_EQ(figures[1]["within_intervals"], false) << "8 is outside 4 .. 6";
  EXPECT_EQ(figures[1]["before"], 5);
  EXPECT_EQ(figures[1]["after"], 8);
}

// Each value must lie in the other's interval, ends included.
TEST(told_groups, within_both_intervals_is_so_both_ways) {
  const auto within = [](double low, double high, double value) {
    const run::Run before = run_with({moved_figure(figures::FigureId::preemptions, 5, 4, 6)}, 0.5);
    const run::Run after =
        run_with({moved_figure(figures::FigureId::preemptions, value, low, high)}, 0.5);
    return Json::parse(json_of(before, after))["figures"][0]["within_intervals"].get<bool>();
  };
  EXPECT_TRUE(within(5, 7, 6));
  EXPECT_TRUE(within(3, 5, 4));
  EXPECT_FALSE(within(5, 7, 6.1));
  EXPECT_FALSE(within(3, 5, 3.9));
  EXPECT_FALSE(within(5.1, 7, 6));
  EXPECT_FALSE(within(3, 4.9, 4));
}

TEST(told_groups, a_run_that_booked_nothing_has_no_shares) {
  const auto lines = lines_of(document_of(run_with({}, 0.5)));
  int rows = 0;
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("nan"), std::string::npos) << line;
    rows += line.ends_with(" | 0 | 0 %") ? 1 : 0;
  }
  EXPECT_EQ(static_cast<std::size_t>(rows), words_of(cluster::Share{}).rows().size());
}

rules::Finding told_finding(std::string what, std::string why, std::string fix) {
  return {.severity = Severity::warning,
          .rule = "r",
          .place = {},
          .what = std::move(what),
          .why = std::move(why),
          .fix = std::move(fix)};
}

std::vector<std::string> told_rule(std::vector<rules::Finding> findings) {
  verdict::Verdict v{.design = "d", .summary = "s"};
  v.findings = std::move(findings);
  const auto lines = lines_of(document_of(v, {.brief = true}));
  return {lines.begin() + 4, lines.end()};
}

TEST(told_groups, what_findings_of_a_rule_share_is_said_once) {
  EXPECT_THAT(told_rule({told_finding("a", "w", "f"), told_finding("b", "w", "f")}),
              ElementsAre("- a", "- b", "- why: w", "- fix: f"));
  EXPECT_THAT(told_rule({told_finding("a", "w", "f"), told_finding("b", "", "g")}),
              ElementsAre("- a; why: w; fix: f", "- b; fix: g"));
  EXPECT_THAT(told_rule({told_finding("a", "", "f"), told_finding("b", "", "")}),
              ElementsAre("- a; fix: f", "- b"));
  EXPECT_THAT(told_rule({told_finding("a", "w", ""), told_finding("b", "v", "")}),
              ElementsAre("- a; why: w", "- b; why: v"));
  EXPECT_THAT(told_rule({told_finding("a", "", ""), told_finding("b", "", "")}),
              ElementsAre("- a", "- b"));
}

}  // namespace
}  // namespace orrery::report
