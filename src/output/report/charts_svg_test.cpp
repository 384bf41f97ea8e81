// Drawings are in proportion: what is twice as much is drawn twice as long, on the right side of
// what it is held against.
#include "output/report/charts_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "output/report/tornado_svg.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The numbers behind `attribute="` of every `<element`, in their order.
std::vector<double> drawn(const std::string& svg, const std::string& element,
                          const std::string& attribute) {
  std::vector<double> all;
  for (std::size_t at = svg.find('<' + element + ' '); at != std::string::npos;
       at = svg.find('<' + element + ' ', at + 1)) {
    const std::size_t from = svg.find(' ' + attribute + "=\"", at);
    all.push_back(std::stod(svg.substr(from + attribute.size() + 3)));
  }
  return all;
}

figures::GoalOutcome goal_between(double low, double value, double high, double bound, bool met) {
  return {.text = "goodput >= 90 %",
          .unit = figures::Unit::ratio,
          .actual = {.value = value, .low = low, .high = high},
          .bound = bound,
          .met = met};
}

TEST(goals_svg, the_stroke_of_a_goal_stands_where_its_bound_does) {
  const std::string svg = goals_svg(std::vector{goal_between(10, 20, 40, 50, false)});
  const auto from = drawn(svg, "line", "x1"), to = drawn(svg, "line", "x2");
  const auto middle = drawn(svg, "circle", "cx");
  ASSERT_EQ(from.size(), 2U);
  ASSERT_EQ(middle.size(), 1U);
  // 10 .. 40 is the interval, 20 the value, 50 the bound: on one scale.
  const double unit = (to[0] - from[0]) / 30;
  EXPECT_GT(unit, 1) << "wide enough to be seen";
  EXPECT_NEAR(middle[0], from[0] + 10 * unit, 0.2);
  EXPECT_NEAR(from[1], from[0] + 40 * unit, 0.2);
  EXPECT_NEAR(to[1], from[1], 1e-9) << "a stroke";
  EXPECT_THAT(svg, HasSubstr("goodput &gt;= 90 %"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 40\"")) << "a row of 28 and 6 above and below";
}

TEST(goals_svg, a_goal_that_is_met_has_another_colour_than_one_that_is_missed) {
  const std::string met = goals_svg(std::vector{goal_between(1, 2, 3, 1, true)});
  const std::string missed = goals_svg(std::vector{goal_between(1, 2, 3, 4, false)});
  EXPECT_THAT(met, HasSubstr("fill=\"#0f8a83\""));
  EXPECT_THAT(met, Not(HasSubstr("#b5531b")));
  EXPECT_THAT(missed, HasSubstr("fill=\"#b5531b\""));
}

TEST(goals_svg, an_exact_figure_on_its_bound_is_drawn_in_the_middle) {
  const std::string svg = goals_svg(std::vector{goal_between(5, 5, 5, 5, true)});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_NEAR(drawn(svg, "circle", "cx")[0], 200 + (720 - 200 - 130) / 2.0, 0.11);
}

TEST(bars_svg, bars_are_as_long_as_their_values_and_their_numbers_stand_behind) {
  const std::string svg =
      bars_svg("What & why",
               std::vector<Bar>{{"a", 30, "30 USD"}, {"b", 60, "60 USD"}, {"c", 15, "15 USD"}});
  const auto length = drawn(svg, "rect", "width"), x = drawn(svg, "rect", "x");
  ASSERT_EQ(length.size(), 3U);
  EXPECT_NEAR(length[1], 2 * length[0], 0.11);
  EXPECT_NEAR(length[0], 2 * length[2], 0.11);
  EXPECT_NEAR(length[1], 720 - 200 - 130, 0.11) << "the longest fills the room";
  const auto text = drawn(svg, "text", "x");  // label and number of each, in turn
  ASSERT_EQ(text.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(text[2 * i + 1], x[i] + length[i] + 8, 0.11);
  EXPECT_THAT(svg, HasSubstr("aria-label=\"What &amp; why\""));
  EXPECT_THAT(bars_svg("none", std::vector<Bar>{{"a", 0, "0"}}), Not(HasSubstr("nan")));
}

cost::Tornado upside_down() {
  return {.value = 4,
          .bars = {{.name = "price",
                    .at_low = 5,
                    .at_high = 1,
                    .input_low = 11,
                    .input_high = 22,
                    .span = 4}}};
}

// More of a price that is saved lowers the answer: the end of the scale is the answer at high.
TEST(tornado_svg, the_scale_reaches_to_the_least_answer_whichever_input_gives_it) {
  const std::string svg = tornado_svg(upside_down(), figures::Unit::usd_per_hour);
  const auto x = drawn(svg, "rect", "x"), width = drawn(svg, "rect", "width");
  ASSERT_EQ(x.size(), 2U);
  const double left = 130, right = 720 - 14;
  EXPECT_NEAR(x[1], left, 0.11);
  EXPECT_NEAR(x[0] + width[0], right, 0.11);
  EXPECT_NEAR(width[1], 3 * width[0], 0.2) << "1 .. 4 is three times 4 .. 5";
  EXPECT_THAT(svg, HasSubstr(">1 USD/h</text>"));
  EXPECT_THAT(svg, HasSubstr(">5 USD/h</text>"));
}

TEST(tornado_svg, a_bar_says_its_input_and_has_the_colour_of_its_side) {
  const std::string svg = tornado_svg(upside_down(), figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("fill=\"#b5531b\"><title>price at 11: 5 USD/h</title>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#0f8a83\"><title>price at 22: 1 USD/h</title>"));
}

}  // namespace
}  // namespace orrery::report
