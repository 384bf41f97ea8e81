// Drawings and changes in per cent to the last digit: margins, the shortest bar, signs and
// rounding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "output/report/charts_svg.h"
#include "output/report/comparison.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;

// From 10 to 50 with a tenth of 40 on either side: 6 .. 54 on 390 from 200 on.
TEST(drawn_edges, a_goal_has_a_tenth_of_room_on_either_side) {
  const figures::GoalOutcome goal{.text = "g",
                                  .unit = figures::Unit::count,
                                  .actual = {.value = 20, .low = 10, .high = 40},
                                  .bound = 50};
  const std::string svg = goals_svg(std::vector{goal});
  // 10, 40, 20 and 50: 4, 34, 14 and 44 of 48.
  EXPECT_THAT(svg, HasSubstr("<line x1=\"232.5\" x2=\"476.2\" y1=\"20.0\" y2=\"20.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"313.8\" cy=\"20.0\" r=\"5\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"557.5\" x2=\"557.5\" y1=\"10.0\" y2=\"30.0\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"0.0\" y=\"24.0\">g</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"598.0\" y=\"24.0\">20</text>"));
}

TEST(drawn_edges, goals_that_nothing_gives_have_no_row) {
  figures::GoalOutcome known{.text = "k",
                             .unit = figures::Unit::count,
                             .actual = {.value = 2, .low = 1, .high = 3},
                             .bound = 2};
  figures::GoalOutcome unknown = known;
  unknown.text = "u";
  unknown.known = false;
  const std::string svg = goals_svg(std::vector{known, unknown, known});
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 68\"")) << "two rows of 28 and 6 on either side";
  EXPECT_THAT(svg, testing::Not(HasSubstr(">u<")));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"395.0\" cy=\"20.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"395.0\" cy=\"48.0\""));
}

// 390 for the largest; what is next to nothing is a stroke of one, with its number behind it.
TEST(drawn_edges, the_shortest_bar_can_be_seen) {
  const std::string svg =
      bars_svg("t", std::vector<Bar>{{"a", 100, "A"}, {"b", 0, "B"}, {"c", 0.1, "C"}});
  EXPECT_THAT(svg, HasSubstr("width=\"390.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"1.0\""));
  EXPECT_THAT(svg, testing::Not(HasSubstr("width=\"0.")));
  EXPECT_THAT(svg, HasSubstr("<text x=\"598.0\" y=\"24.0\">A</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"208.0\" y=\"52.0\">B</text>"));
  EXPECT_THAT(svg, HasSubstr("<text x=\"208.4\" y=\"80.0\">C</text>"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 720 96\""));
}

std::string changed(std::optional<double> first, std::optional<double> other) {
  ComparedFigure f;
  for (const std::optional<double>& v : {first, other}) {
    f.values.push_back(v ? std::optional<Estimate>({.value = *v}) : std::nullopt);
  }
  return f.change(1);
}

TEST(drawn_edges, a_change_has_its_sign_and_a_digit_below_ten) {
  EXPECT_EQ(changed(100, 100.5), "+0.5 %");
  EXPECT_EQ(changed(100, 99.5), "−0.5 %");
  EXPECT_EQ(changed(100, 100.04), "") << "nothing that is seen";
  EXPECT_EQ(changed(100, 100.06), "+0.1 %");
  EXPECT_EQ(changed(100, 109.9), "+9.9 %");
  EXPECT_EQ(changed(100, 112.6), "+13 %");
  EXPECT_EQ(changed(100, 50), "−50 %");
  EXPECT_EQ(changed(0, 5), "");
  EXPECT_EQ(changed(std::nullopt, 5), "");
  EXPECT_EQ(changed(5, std::nullopt), "");
}

}  // namespace
}  // namespace orrery::report
