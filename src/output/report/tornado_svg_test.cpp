#include "output/report/tornado_svg.h"

#include <gmock/gmock.h>

#include "output/report/drawing_fixture.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using testing::HasSubstr;
using ::testing::Not;
using testing::Not;

// Returns the bars of the text as numbers: x and width of each.
std::vector<std::pair<double, double>> bars_in(const std::string& svg) {
  std::vector<std::pair<double, double>> found;
  for (std::size_t at = svg.find("<rect x=\""); at != std::string::npos;
       at = svg.find("<rect x=\"", at + 1)) {
    const double x = std::stod(svg.substr(at + 9));
    found.emplace_back(x, std::stod(svg.substr(svg.find("width=\"", at) + 7)));
  }
  return found;
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

// If a higher input lowers the answer, the end of the scale is the answer at the high input.
TEST(TornadoSvg, the_scale_reaches_the_lowest_answer) {
  const std::string svg = tornado_svg(upside_down(), figures::Unit::usd_per_hour);
  const auto x = drawn(svg, "rect", "x"), width = drawn(svg, "rect", "width");
  ASSERT_EQ(x.size(), 2U);
  const double left = 130, right = 720 - 14;
  EXPECT_NEAR(x[1], left, 0.11);
  EXPECT_NEAR(x[0] + width[0], right, 0.11);
  EXPECT_NEAR(width[1], 3 * width[0], 0.2);
  EXPECT_THAT(svg, HasSubstr(">1 USD/h</text>"));
  EXPECT_THAT(svg, HasSubstr(">5 USD/h</text>"));
}

TEST(TornadoSvg, a_bar_names_its_input_and_has_the_colour_of_its_side) {
  const std::string svg = tornado_svg(upside_down(), figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("fill=\"#b5531b\"><title>price at 11: 5 USD/h</title>"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#0f8a83\"><title>price at 22: 1 USD/h</title>"));
}

TEST(TornadoSvg, bars_meet_at_the_answer_and_the_widest_fills_the_scale) {
  const cost::Tornado t{.value = 3,
                        .bars = {{.name = "power & <price>", .at_low = 2, .at_high = 6, .span = 4},
                                 {.name = "staff", .at_low = 3.5, .at_high = 2.5, .span = 1}}};
  const std::string svg = tornado_svg(t, figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("power &amp; &lt;price&gt;"));
  EXPECT_THAT(svg, HasSubstr(">3 USD/h</text>"));
  const auto bars = bars_in(svg);
  ASSERT_EQ(bars.size(), 4U);
  const double middle = bars[1].first;  // where the upper half of the first input begins
  EXPECT_NEAR(bars[0].first + bars[0].second, middle, 0.11);
  EXPECT_NEAR(bars[2].first, middle, 0.11);
  EXPECT_NEAR(bars[3].first + bars[3].second, middle, 0.11);
  EXPECT_NEAR(bars[1].second / bars[0].second, 3, 0.01) << "in proportion";
}

TEST(TornadoSvg, a_tornado_without_bars_is_still_a_drawing) {
  const std::string svg = tornado_svg({.value = 2}, figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("2 USD/h"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace orrery::report
