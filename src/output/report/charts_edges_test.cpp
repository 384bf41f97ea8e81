// Charts of small values, whole: nothing is drawn as if it were at least one.
#include <gtest/gtest.h>

#include "output/report/charts_svg.h"

namespace orrery::report {
namespace {

const std::string kHead =
    "font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\" "
    "style=\"max-width:100%;height:auto\">\n";

// 390 of room: the largest takes it all, the other an eighth.
TEST(charts_edges, bars_of_less_than_one) {
  EXPECT_EQ(bars_svg("a & b", std::vector<Bar>{{"x", 0.5, "half"}, {"y", 0.0625, "less"}}),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"68\" "
            "viewBox=\"0 0 720 68\" role=\"img\" aria-label=\"a &amp; b\" " +
                kHead +
                "<text x=\"0.0\" y=\"24.0\">x</text>\n"
                "<rect x=\"200\" y=\"13.0\" width=\"390.0\" height=\"14\" rx=\"2\" "
                "fill=\"#0f8a83\"/>\n"
                "<text x=\"598.0\" y=\"24.0\">half</text>\n"
                "<text x=\"0.0\" y=\"52.0\">y</text>\n"
                "<rect x=\"200\" y=\"41.0\" width=\"48.8\" height=\"14\" rx=\"2\" "
                "fill=\"#0f8a83\"/>\n"
                "<text x=\"256.8\" y=\"52.0\">less</text>\n"
                "</svg>\n");
  EXPECT_EQ(bars_svg("t", std::vector<Bar>{}),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"12\" "
            "viewBox=\"0 0 720 12\" role=\"img\" aria-label=\"t\" " +
                kHead + "</svg>\n");
}

}  // namespace
}  // namespace orrery::report
