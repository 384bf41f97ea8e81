#include "model/design/goals.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::design {
namespace {

TEST(Goals, every_goal_reads_back_as_it_was) {
  for (const GoalMetric& m : goal_metrics()) {
    const std::string text =
        std::string(m.name) + " <= 0.3" + (m.unit.empty() ? "" : " " + std::string(m.unit));
    const auto goal = parse_goal(text);
    ASSERT_TRUE(goal) << text << goal.error().what;
    EXPECT_TRUE(parse_goal(to_text(*goal)) == *goal) << to_text(*goal);
  }
  EXPECT_EQ(parse_goal("goodput >= 90 %")->bound, 0.9);
  EXPECT_EQ(parse_goal("goodput = 0.9").error().code, "goal.syntax");
  EXPECT_EQ(parse_goal("goodput >= 0.9 s").error().code, "goal.unit");
  EXPECT_EQ(parse_goal("cost <= 12").error().code, "goal.unit");
  EXPECT_TRUE(parse_goal("goodptu >= 0.9").error().fix.contains("`goodput`"));
}

std::string goal_said(const std::string& text) {
  const auto read = parse_goal(text);
  if (read) return to_text(*read);
  return read.error().code;
}

TEST(Goals, goals_are_read_or_refused_by_code) {
  EXPECT_EQ(goal_said("goodput>=90 %"), "goodput >= 0.9");
  EXPECT_EQ(goal_said("mfu > 0.4"), "mfu > 0.4");
  EXPECT_EQ(goal_said("cost <= 12 MUSD/y"), "cost <= 12 MUSD/y");
  EXPECT_EQ(goal_said("cost_per_gpu_hour < 3 USD/h"), "cost_per_gpu_hour < 3 USD/h");
  EXPECT_EQ(goal_said("ttft_p99 <= 500 ms"), "ttft_p99 <= 500 ms");
  for (const char* bad : {"goodput", "goodput = 0.9", "goodput >=", "goodput => 0.9", ""}) {
    EXPECT_EQ(goal_said(bad), "goal.syntax");
  }
  EXPECT_EQ(goal_said("godput >= 0.9"), "goal.metric");
  EXPECT_EQ(goal_said("happiness >= 0.9"), "goal.metric");
  EXPECT_EQ(goal_said("goodput >= 0.9 s"), "goal.unit");
  EXPECT_EQ(goal_said("goodput >= x %"), "goal.unit");
  EXPECT_EQ(goal_said("power <= 3"), "goal.unit");
  EXPECT_EQ(goal_said("power <= 3 s"), "goal.unit");
}

}  // namespace
}  // namespace orrery::design
