#include "output/report/charts_svg.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "output/report/drawing_fixture.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using testing::HasSubstr;
using ::testing::Not;

figures::GoalOutcome goal_between(double low, double value, double high, double bound, bool met) {
  return {.text = "goodput >= 90 %",
          .unit = figures::Unit::ratio,
          .actual = {.value = value, .low = low, .high = high},
          .bound = bound,
          .met = met};
}

TEST(ChartsSvg, a_goal_line_is_at_its_bound) {
  const std::string svg = goals_svg(std::vector{goal_between(10, 20, 40, 50, false)});
  const auto from = drawn(svg, "line", "x1"), to = drawn(svg, "line", "x2");
  const auto middle = drawn(svg, "circle", "cx");
  ASSERT_EQ(from.size(), 2U);
  ASSERT_EQ(middle.size(), 1U);
  // 10 .. 40 is the interval, 20 the value, 50 the bound, all on one scale.
  const double unit = (to[0] - from[0]) / 30;
  EXPECT_GT(unit, 1);
  EXPECT_NEAR(middle[0], from[0] + 10 * unit, 0.2);
  EXPECT_NEAR(from[1], from[0] + 40 * unit, 0.2);
  EXPECT_NEAR(to[1], from[1], 1e-9) << "a stroke";
  EXPECT_THAT(svg, HasSubstr("goodput &gt;= 90 %"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 40\""));
}

TEST(ChartsSvg, bar_length_follows_the_value) {
  const std::string svg =
      bars_svg("What & why",
               std::vector<Bar>{{"a", 30, "30 USD"}, {"b", 60, "60 USD"}, {"c", 15, "15 USD"}});
  const auto length = drawn(svg, "rect", "width"), x = drawn(svg, "rect", "x");
  ASSERT_EQ(length.size(), 3U);
  EXPECT_NEAR(length[1], 2 * length[0], 0.11);
  EXPECT_NEAR(length[0], 2 * length[2], 0.11);
  EXPECT_NEAR(length[1], 720 - 200 - 130, 0.11);
  const auto text = drawn(svg, "text", "x");  // label and number of each row, in turn
  ASSERT_EQ(text.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(text[2 * i + 1], x[i] + length[i] + 8, 0.11);
  EXPECT_THAT(svg, HasSubstr("aria-label=\"What &amp; why\""));
  EXPECT_THAT(bars_svg("none", std::vector<Bar>{{"a", 0, "0"}}), Not(HasSubstr("nan")));
}

TEST(ChartsSvg, unknown_goals_have_no_row) {
  figures::GoalOutcome known{.text = "k",
                             .unit = figures::Unit::count,
                             .actual = {.value = 2, .low = 1, .high = 3},
                             .bound = 2};
  figures::GoalOutcome unknown = known;
  unknown.text = "u";
  unknown.known = false;
  const std::string svg = goals_svg(std::vector{known, unknown, known});
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 68\""));
  EXPECT_THAT(svg, testing::Not(HasSubstr(">u<")));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"395.0\" cy=\"20.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"395.0\" cy=\"48.0\""));
}

// A row is 28 high below a margin of 6: its middle is at 20, its text 4 below that.
TEST(ChartsSvg, chart_rows_do_not_overlap) {
  const std::string bars = bars_svg("b", std::vector<Bar>{{"a", 30, "x"}, {"b", 0, "y"}});
  EXPECT_THAT(bars, HasSubstr("<text x=\"0.0\" y=\"24.0\">a</text>"));
  EXPECT_THAT(bars, HasSubstr("<text x=\"0.0\" y=\"52.0\">b</text>"));
  EXPECT_THAT(bars, HasSubstr("<rect x=\"200\" y=\"13.0\" width=\"390.0\" height=\"14\""));
  EXPECT_THAT(bars, HasSubstr("<rect x=\"200\" y=\"41.0\" width=\"1.0\" height=\"14\""));
  EXPECT_THAT(bars, HasSubstr("<text x=\"208.0\" y=\"52.0\">y</text>"));
  const figures::GoalOutcome goal{.text = "g",
                                  .unit = figures::Unit::ratio,
                                  .actual = {.value = 2, .low = 1, .high = 3},
                                  .bound = 4,
                                  .met = true};
  figures::GoalOutcome unknown = goal;
  unknown.known = false;
  const std::string goals = goals_svg(std::vector{goal, unknown, goal});
  EXPECT_THAT(goals, HasSubstr("viewBox=\"0 0 720 68\""));
  EXPECT_THAT(goals, HasSubstr("y1=\"10.0\" y2=\"30.0\" stroke=\"currentColor\""));
  EXPECT_THAT(goals, HasSubstr("y1=\"38.0\" y2=\"58.0\" stroke=\"currentColor\""));
  EXPECT_THAT(goals, HasSubstr("cy=\"48.0\" r=\"5\""));
  EXPECT_THAT(goals, HasSubstr("<text x=\"598.0\" y=\"24.0\">"));
  // 1 .. 4 with a tenth of 3 on either side: 2 is at 1.3 / 3.6 of 390, offset by 200.
  EXPECT_THAT(goals, HasSubstr("cx=\"340.8\" cy=\"20.0\""));
}

}  // namespace
}  // namespace orrery::report
