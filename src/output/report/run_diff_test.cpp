#include "output/report/run_diff.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "output/report/run_fixture.h"
#include "output/report/run_report.h"
#include "output/report/verdict_report.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Returns the same design with half of the lost work moved to saving, and goodput almost unchanged.
run::Run other_run() {
  run::Run run = example_run();
  run.design = "hall 2";
  run.waterfalls[0].steps = {{cluster::Cause::productive, 0.75},
                             {cluster::Cause::lost, 0.05},
                             {cluster::Cause::save, 0.2}};
  run.sections[0].figures = {run_figure(figures::FigureId::goodput, 0.91, 0.86, 0.93)};
  return run;
}

TEST(RunDiff, causes_add_up_to_the_change_of_goodput) {
  const Json j = Json::parse(json_of(example_run(), other_run()));
  const Json& job = j["jobs"][0];
  EXPECT_EQ(job["goodput_before_ratio"], 0.7);
  EXPECT_EQ(job["goodput_after_ratio"], 0.75);
  double gives = 0;
  for (const Json& c : job["causes"]) {
    gives += c["before_ratio"].get<double>() - c["after_ratio"].get<double>();
  }
  EXPECT_NEAR(gives, 0.05, 1e-12);
  ASSERT_EQ(job["causes"].size(), 2U);
  EXPECT_EQ(job["causes"][0]["cause"], "work done again");
  EXPECT_EQ(job["causes"][0]["before_ratio"], 0.2);
  EXPECT_EQ(job["causes"][0]["after_ratio"], 0.05);
}

TEST(RunDiff, only_changed_figures_are_listed) {
  EXPECT_THAT(to_text(document_of(example_run(), example_run())), HasSubstr("None."));
  run::Run before = example_run(), after = example_run();
  before.sections.push_back(before.sections[0]);
  before.sections[1].name = "finetune";
  before.sections[1].figures[0].estimate.value = 0.3;
  after.sections = before.sections;
  after.sections[1].figures[0].estimate.value = 0.31;
  const Json figures = Json::parse(json_of(before, after))["figures"];
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0]["section"], "finetune");
  EXPECT_EQ(figures[0]["before"], 0.3);
  EXPECT_EQ(figures[0]["after"], 0.31);
}

TEST(RunDiff, json_of_two_runs) {
  run::Run after = stopped_run();
  after.design = "hall 2";
  after.simulated = Seconds(700);
  after.seed = 18;
  after.sections[0].figures = {run_figure(figures::FigureId::restart, 9, 6, 11)};
  after.waterfalls[0].steps = {{cluster::Cause::productive, 0.5},
                               {cluster::Cause::lost, 0.125},
                               {cluster::Cause::save, 0.375}};
  run::Run before = stopped_run();
  before.waterfalls.push_back({.job = "gone", .steps = {}});
  EXPECT_EQ(Json::parse(json_of(before, after)), Json::parse(R"({
    "schema_version": 1, "kind": "run_diff", "before": "hall", "after": "hall 2",
    "simulated_s": 700, "seed": 18,
    "jobs": [{"job": "words", "goodput_before_ratio": 0.75, "goodput_after_ratio": 0.5,
              "causes": [
                {"cause": "saving", "before_ratio": 0, "after_ratio": 0.375},
                {"cause": "work done again", "before_ratio": 0.25, "after_ratio": 0.125}]}],
    "figures": [{"layer": "failure", "section": "words", "id": "restart", "unit": "s",
                 "before": 7, "after": 9, "within_intervals": false}]})"));
}

// A value at the end of an interval is within it.
TEST(RunDiff, intervals_include_their_ends) {
  const auto within = [](double value, double low, double high) {
    run::Run after = stopped_run();
    after.sections[0].figures = {run_figure(figures::FigureId::restart, value, low, high)};
    return Json::parse(json_of(stopped_run(), after))["figures"][0]["within_intervals"].get<bool>();
  };
  EXPECT_TRUE(within(8, 7, 9));  // 7 in 5 .. 8
  EXPECT_TRUE(within(5, 4, 7));
  EXPECT_FALSE(within(8.01, 7, 9));
  EXPECT_FALSE(within(4.99, 4, 7));
  EXPECT_FALSE(within(8, 7.01, 9));
  EXPECT_FALSE(within(5, 4, 6.99));
}

// Each value must be within the other's interval, ends included.
TEST(RunDiff, within_both_intervals_is_symmetric) {
  const auto within = [](double low, double high, double value) {
    const run::Run before = run_with({run_figure(figures::FigureId::preemptions, 5, 4, 6)}, 0.5);
    const run::Run after =
        run_with({run_figure(figures::FigureId::preemptions, value, low, high)}, 0.5);
    return Json::parse(json_of(before, after))["figures"][0]["within_intervals"].get<bool>();
  };
  EXPECT_TRUE(within(5, 7, 6));
  EXPECT_TRUE(within(3, 5, 4));
  EXPECT_FALSE(within(5, 7, 6.1));
  EXPECT_FALSE(within(3, 5, 3.9));
  EXPECT_FALSE(within(5.1, 7, 6));
  EXPECT_FALSE(within(3, 4.9, 4));
}

}  // namespace
}  // namespace orrery::report
