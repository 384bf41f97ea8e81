// Goals compared with figures: which figure answers a word, how one of several is picked, and what
// is met.
#include "model/figures/goals.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "model/design/goals.h"

namespace orrery::figures {
namespace {

Section section_of(FigureId id, double value, double low, double high) {
  Section s{.layer = kind_of(id).layer, .name = "s"};
  s.figures.push_back({.kind = id, .estimate = {.value = value, .low = low, .high = high}});
  return s;
}

GoalOutcome judged(const std::string& text, const std::vector<Section>& sections) {
  design::Design d;
  d.goals.push_back(*design::parse_goal(text));
  return judge_goals(d, sections).at(0);
}

TEST(goals, compare_at_the_bound_as_they_are_written) {
  const std::vector<Section> s{section_of(FigureId::goodput, 0.9, 0.85, 0.95)};
  EXPECT_TRUE(judged("goodput >= 0.9", s).met);
  EXPECT_FALSE(judged("goodput > 0.9", s).met);
  EXPECT_TRUE(judged("goodput <= 0.9", s).met);
  EXPECT_FALSE(judged("goodput < 0.9", s).met);
  EXPECT_FALSE(judged("goodput >= 0.91", s).met);
  EXPECT_TRUE(judged("goodput < 0.91", s).met);
  // A goal is likely if the worse end of the interval meets it.
  EXPECT_TRUE(judged("goodput >= 0.85", s).likely);
  EXPECT_FALSE(judged("goodput >= 0.86", s).likely);
  EXPECT_TRUE(judged("goodput <= 0.95", s).likely);
  EXPECT_FALSE(judged("goodput <= 0.94", s).likely);
}

TEST(goals, take_the_worst_the_first_or_the_sum) {
  const auto two = [](FigureId id) {
    return std::vector<Section>{section_of(id, 3, 2, 4), section_of(id, 5, 5, 5),
                                section_of(id, 1, 1, 1)};
  };
  EXPECT_EQ(judged("goodput >= 0", two(FigureId::goodput)).actual.value, 1);
  EXPECT_EQ(judged("pue <= 9", two(FigureId::pue)).actual.value, 5);
  EXPECT_EQ(judged("step_time <= 9 s", two(FigureId::step_time)).actual.value, 3);
  EXPECT_EQ(judged("power <= 9 W", two(FigureId::draw_nameplate)).actual.value, 9);
  EXPECT_EQ(judged("carbon <= 9 t", two(FigureId::carbon_year)).actual.value, 9);
  EXPECT_EQ(judged("rack_power <= 9 W", two(FigureId::rack_power)).actual.value, 5);
}

TEST(goals, of_money_are_a_year_and_an_hour) {
  EXPECT_TRUE(judged("cost <= 2 MUSD/y", {section_of(FigureId::annual, 2e6, 2e6, 2e6)}).met);
  EXPECT_FALSE(judged("cost <= 1.99 MUSD/y", {section_of(FigureId::annual, 2e6, 2e6, 2e6)}).met);
  const std::vector<Section> hour{section_of(FigureId::useful_hour, 2.5, 2.5, 2.5)};
  EXPECT_TRUE(judged("cost_per_gpu_hour <= 2.5 USD/h", hour).met);
  EXPECT_FALSE(judged("cost_per_gpu_hour <= 2.49 USD/h", hour).met);
}

// The highest draw of a run answers another question than the draw that a contract must cover.
TEST(goals, of_power_are_not_answered_by_what_a_run_saw) {
  const GoalOutcome seen =
      judged("power <= 80 kW", {section_of(FigureId::draw_peak, 5e4, 5e4, 5e4)});
  EXPECT_FALSE(seen.known);
  EXPECT_FALSE(seen.met);
  const GoalOutcome both =
      judged("power <= 80 kW", {section_of(FigureId::draw_peak, 5e4, 5e4, 5e4),
                                section_of(FigureId::draw_nameplate, 11e4, 11e4, 11e4)});
  EXPECT_TRUE(both.known);
  EXPECT_EQ(both.actual.value, 11e4);
  EXPECT_FALSE(both.met);
}

TEST(goals, samples_answer_where_there_are_no_tokens) {
  const GoalOutcome tokens =
      judged("tokens_per_s >= 700 /s", {section_of(FigureId::useful_rate, 700, 700, 700)});
  EXPECT_TRUE(tokens.known && tokens.met && tokens.likely);
  EXPECT_EQ(tokens.unit, Unit::tokens_per_s);
  const GoalOutcome samples =
      judged("tokens_per_s >= 700 /s", {section_of(FigureId::useful_samples, 700, 700, 700)});
  EXPECT_TRUE(samples.known && samples.met);
  EXPECT_EQ(samples.unit, Unit::per_second);
}

// Every word that a design may write has figures that answer it, and no other word has.
TEST(goals, every_word_has_its_figures) {
  std::set<std::string_view> known;
  for (const GoalSource& s : goal_sources()) {
    EXPECT_NE(design::find_goal_metric(s.metric), nullptr) << s.metric;
    EXPECT_FALSE(s.ids.empty()) << s.metric;
    known.insert(s.metric);
    for (const FigureId id : s.ids) {
      EXPECT_NE(kind_of(id).said, Said::run) << s.metric << ": the review must be able to say it";
    }
  }
  for (const design::GoalMetric& m : design::goal_metrics()) EXPECT_TRUE(known.contains(m.name));
  EXPECT_EQ(known.size(), design::goal_metrics().size());
}

// A value that meets the bound in the figure's unit meets it in the goal's.
TEST(goals, bounds_are_in_the_unit_of_the_figure) {
  for (const GoalSource& s : goal_sources()) {
    const design::GoalMetric& m = *design::find_goal_metric(s.metric);
    design::Design d;
    d.goals.push_back(
        {.metric = std::string(m.name), .comparison = design::Comparison::at_most, .bound = 7});
    for (const FigureId id : s.ids) {
      const double bound = 7 / s.to_goal;
      const GoalOutcome at = judge_goals(d, {section_of(id, bound, bound, bound)}).at(0);
      EXPECT_TRUE(at.known && at.met) << m.name;
      EXPECT_NEAR(at.bound, bound, 1e-12 * bound) << m.name;
      EXPECT_FALSE(judge_goals(d, {section_of(id, bound * 1.01, 0, 0)}).at(0).met) << m.name;
    }
    EXPECT_FALSE(judge_goals(d, {}).at(0).known) << m.name;
  }
}

}  // namespace
}  // namespace orrery::figures
