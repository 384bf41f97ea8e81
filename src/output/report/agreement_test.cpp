#include "output/report/agreement.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/run_report.h"
#include "output/report/verdict_report.h"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using figures::FigureId;

figures::Figure agreed(FigureId kind, double value, double low, double high) {
  return {.kind = kind, .estimate = {.value = value, .low = low, .high = high}};
}

figures::GoalOutcome goal(const std::string& text, double value, bool met, bool known = true) {
  return {.text = text, .actual = {value, value, value}, .bound = 1, .known = known, .met = met};
}

struct Both {
  verdict::Verdict review;
  run::Run run;
};

Both both() {
  Both b;
  b.review.design = b.run.design = "hall";
  b.review.digest = b.run.digest = "d";
  b.review.goals = {goal("power <= 80 kW", 11e4, false), goal("goodput >= 0.9", 0.95, true),
                    goal("mfu >= 0.4", 0, false, false)};
  b.run.goals = {goal("goodput >= 0.9", 0.97, true)};
  b.run.goals_left_to_plan = {"power <= 80 kW", "mfu >= 0.4"};
  b.review.sections = {
      {.layer = figures::Layer::serving,
       .name = "chat",
       .figures = {agreed(FigureId::ttft_p99, 2, 1.8, 2.2), agreed(FigureId::tpot_p99, 5, 4, 6),
                   agreed(FigureId::failover_served, 1, 1, 1)}}};
  b.run.sections = {{.layer = figures::Layer::serving,
                     .name = "chat",
                     .figures = {agreed(FigureId::ttft_p99, 1, 0.9, 1.1),
                                 agreed(FigureId::tpot_p99, 6.5, 6.02, 7),
                                 agreed(FigureId::failover_answered, 0.5, 0.5, 0.5)}},
                    {.layer = figures::Layer::serving,
                     .name = "other",
                     .figures = {agreed(FigureId::ttft_p99, 9, 9, 9)}}};
  return b;
}

// Figures whose intervals overlap, and other services, are not listed.
TEST(Agreement, differing_figures_have_a_reason) {
  const Both b = both();
  const auto all = differences(b.review, b.run);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].section->name, "chat");
  EXPECT_EQ(all[0].run->kind, FigureId::ttft_p99);
  EXPECT_EQ(all[0].plan->estimate.value, 2);
  EXPECT_FALSE(all[0].because.empty());
}

TEST(Agreement, a_goal_unknown_to_a_run_has_the_answer_of_the_review) {
  const Both b = both();
  const Json j = Json::parse(json_of(b.run, b.review));
  ASSERT_EQ(j["goals"].size(), 3U);
  EXPECT_EQ(j["goals"][0]["outcome"], "missed");
  EXPECT_EQ(j["goals"][0]["said_by"], "review");
  EXPECT_EQ(j["goals"][0]["value"], 11e4);
  EXPECT_EQ(j["goals"][1]["outcome"], "met");
  EXPECT_EQ(j["goals"][1]["said_by"], "run");
  EXPECT_EQ(j["goals"][1]["value"], 0.97);
  EXPECT_EQ(j["goals"][2]["outcome"], "not known");
  EXPECT_TRUE(j["goals"][2]["value"].is_null());
}

TEST(Agreement, plan_and_simulate_print_one_shape) {
  const Both b = both();
  const Json review = Json::parse(json_of(b.review));
  const Json run = Json::parse(json_of(b.run, b.review));
  for (const Json* j : {&review, &run}) {
    EXPECT_EQ((*j)["schema_version"], 2);
    EXPECT_EQ((*j)["design"], "hall");
    EXPECT_EQ((*j)["digest"], "d");
    for (const char* key : {"text", "outcome", "value", "low", "high"}) {
      EXPECT_TRUE((*j)["goals"][0].contains(key)) << key;
    }
    for (const char* key : {"layer", "section", "id", "label", "value", "low", "high", "unit"}) {
      EXPECT_TRUE((*j)["figures"][0].contains(key)) << key;
    }
  }
  Json same = run["figures"][0];
  for (const char* key : {"value", "low", "high"}) same[key] = review["figures"][0][key];
  EXPECT_EQ(review["figures"][0], same);
  const Json& apart = run["differs_from_plan"][0];
  EXPECT_EQ(apart["id"], "ttft_p99");
  EXPECT_EQ(apart["plan"], 2.0);
  EXPECT_EQ(apart["run"], 1.0);
}

// The console asks for the peak draw by the name of schema 1.
TEST(Agreement, the_console_reads_schema_1) {
  verdict::Verdict v;
  v.sections = {{.layer = figures::Layer::facility,
                 .name = "hall",
                 .figures = {agreed(FigureId::draw_nameplate, 5, 4, 6)}}};
  const Json j = Json::parse(console_json_of(v));
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_TRUE(j["sections"][0]["figures"].contains("draw_peak_w"));
  EXPECT_TRUE(Json::parse(json_of(v))["sections"][0]["figures"].contains("draw_nameplate_w"));
  EXPECT_EQ(Json::parse(console_json_of(run::Run{}))["schema_version"], 1);
}

}  // namespace
}  // namespace orrery::report
