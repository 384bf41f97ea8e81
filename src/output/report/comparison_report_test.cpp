#include "output/report/comparison_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/csv.h"
#include "output/report/tornado_svg.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using testing::HasSubstr;
using testing::Not;

const Comparison& compared_samples() {
  static const auto* all =
      new Comparison(compare_designs({{"a|b", template_design("superpod-h100")},
                                      {"<c>, \"d\"", template_design("cloud-rental")}},
                                     machine::known())
                         .value());
  return *all;
}

ComparedFigure compared_figure(std::vector<std::optional<Estimate>> values) {
  return {.layer = figures::Layer::cost,
          .section = "",
          .id = "x",
          .label = "x",
          .unit = figures::Unit::usd,
          .values = std::move(values)};
}

Estimate plain_estimate(double value) { return {.value = value, .low = value, .high = value}; }

TEST(comparison_report, a_figure_differs_where_it_is_shown_otherwise_or_missing) {
  const Estimate one = plain_estimate(1);
  EXPECT_FALSE(compared_figure({one, one}).differs());
  EXPECT_FALSE(compared_figure({one, plain_estimate(1.0001)}).differs()) << "both are 1 USD";
  EXPECT_TRUE(compared_figure({one, plain_estimate(2)}).differs());
  EXPECT_TRUE(compared_figure({one, std::nullopt}).differs());
  EXPECT_TRUE(compared_figure({std::nullopt, std::nullopt, one}).differs());
}

// The same work in both, or the figures are of different things and the view says so.
TEST(comparison_report, a_design_can_be_given_the_first_ones_work) {
  const design::Design h100 = template_design("superpod-h100");
  const design::Design h200 = template_design("superpod-h200");
  EXPECT_TRUE(does_same_work(h100, h100));
  EXPECT_FALSE(does_same_work(h100, h200));
  const auto changed = with_work_of(h100, h200, machine::known().catalog());
  ASSERT_TRUE(changed);
  EXPECT_TRUE(does_same_work(h100, *changed));
  EXPECT_EQ(changed->fleet, h200.fleet);
}

TEST(comparison_report, a_change_is_against_the_first_design) {
  const ComparedFigure f =
      compared_figure({plain_estimate(100), plain_estimate(103.4), plain_estimate(50),
                       plain_estimate(100.01), std::nullopt});
  EXPECT_EQ(f.change(0), "");
  EXPECT_EQ(f.change(1), "+3.4 %");
  EXPECT_EQ(f.change(2), "−50 %");
  EXPECT_EQ(f.change(3), "");
  EXPECT_EQ(f.change(4), "");
  EXPECT_EQ(compared_figure({plain_estimate(0), plain_estimate(1)}).change(1), "");
}

TEST(comparison_report, differences_have_their_sign_and_ratios_are_in_points) {
  EXPECT_EQ(signed_text(1e6, figures::Unit::usd_per_year), "+1 MUSD/y");
  EXPECT_EQ(signed_text(-0.01, figures::Unit::ratio), "−1 pp");
  EXPECT_EQ(signed_text(0, figures::Unit::usd_per_hour), "±0 USD/h");
}

TEST(comparison_report, markdown_has_the_summary_what_did_it_and_what_differs) {
  const Comparison& c = compared_samples();
  const std::string text = to_markdown(document_of(c));
  EXPECT_THAT(text, HasSubstr("|  | a\\|b | &lt;c>, \"d\" |\n| --- | ---: | ---: |\n"));
  EXPECT_THAT(text, HasSubstr("| verdict | passes | passes |"));
  EXPECT_THAT(text,
              HasSubstr("## &lt;c>, \"d\" against a|b\n\n" + c.differences[0].verdict + "\n"));
  EXPECT_THAT(text, HasSubstr("| fleet | −"));
  EXPECT_THAT(text, HasSubstr("## Figures that differ"));
  EXPECT_THAT(text, HasSubstr(" | – |")) << "a figure that one of them does not have";
  EXPECT_THAT(text, Not(HasSubstr("Cost of")));
}

TEST(comparison_report, designs_that_say_the_same_have_no_table_of_differences) {
  const std::vector<NamedDesign> twins = {{"a", template_design("single-node")},
                                          {"b", template_design("single-node")}};
  const auto c = compare_designs(twins, machine::known());
  const std::string text = to_markdown(document_of(c.value()));
  EXPECT_THAT(text, HasSubstr("The designs say the same."));
  EXPECT_THAT(text, Not(HasSubstr("changed section")));
  EXPECT_THAT(text, Not(HasSubstr("Figures that differ")));
}

TEST(comparison_report, csv_has_a_cell_for_every_value_of_every_design) {
  const Comparison& c = compared_samples();
  const auto table = CsvTable::parse(csv_of(c), "comparison.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->columns(), testing::SizeIs(10));
  EXPECT_EQ(table->columns()[8], "<c>, \"d\" low");
  ASSERT_EQ(table->rows().size(), c.figures.size());
  for (std::size_t i = 0; i < c.figures.size(); ++i) {
    const auto value = table->number(table->rows()[i], "a|b");
    ASSERT_EQ(value.has_value(), c.figures[i].values[0].has_value());
    if (!value) continue;
    EXPECT_EQ(*value, c.figures[i].values[0]->value);
  }
}

TEST(comparison_report, html_stands_alone_and_has_drawings_and_cost_trees) {
  const std::string html = to_html(document_of(compared_samples(), {.whole = true}));
  EXPECT_THAT(html, HasSubstr("<h2>Cost of &lt;c&gt;, &quot;d&quot;</h2>"));
  EXPECT_THAT(html, HasSubstr("<svg xmlns="));
  EXPECT_THAT(html, HasSubstr(" *</td>")) << "what is assumed is starred";
  for (const char* outside : {"src=", "href=", "<script"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
}

// The bars of the text, as numbers: x and width of each.
std::vector<std::pair<double, double>> bars_in(const std::string& svg) {
  std::vector<std::pair<double, double>> found;
  for (std::size_t at = svg.find("<rect x=\""); at != std::string::npos;
       at = svg.find("<rect x=\"", at + 1)) {
    const double x = std::stod(svg.substr(at + 9));
    found.emplace_back(x, std::stod(svg.substr(svg.find("width=\"", at) + 7)));
  }
  return found;
}

TEST(tornado_svg, bars_meet_at_the_answer_and_the_widest_fills_the_scale) {
  const cost::Tornado t{.value = 3,
                        .bars = {{.name = "power & <price>", .at_low = 2, .at_high = 6, .span = 4},
                                 {.name = "staff", .at_low = 3.5, .at_high = 2.5, .span = 1}}};
  const std::string svg = tornado_svg(t, figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("power &amp; &lt;price&gt;"));
  EXPECT_THAT(svg, HasSubstr(">3 USD/h</text>"));
  const auto bars = bars_in(svg);
  ASSERT_EQ(bars.size(), 4U);
  const double middle = bars[1].first;  // where the first input's upper half begins
  EXPECT_NEAR(bars[0].first + bars[0].second, middle, 0.11);
  EXPECT_NEAR(bars[2].first, middle, 0.11) << "low input, high answer";
  EXPECT_NEAR(bars[3].first + bars[3].second, middle, 0.11);
  EXPECT_NEAR(bars[1].second / bars[0].second, 3, 0.01) << "in proportion";
}

TEST(tornado_svg, a_tornado_without_bars_is_still_a_drawing) {
  const std::string svg = tornado_svg({.value = 2}, figures::Unit::usd_per_hour);
  EXPECT_THAT(svg, HasSubstr("2 USD/h"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace orrery::report
