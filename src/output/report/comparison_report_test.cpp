#include "output/report/comparison_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "output/report/view_fixture.h"

namespace orrery::report {
namespace {

using ::testing::HasSubstr;
using testing::HasSubstr;

TEST(ComparisonReport, two_to_eight_designs_are_compared) {
  for (const std::size_t count : {0U, 1U, 9U}) {
    const auto none = compare_designs(std::vector<NamedDesign>(count), machine::Models{});
    ASSERT_FALSE(none) << count;
    EXPECT_EQ(none.error().front().code, "compare.count");
  }
}

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

TEST(ComparisonReport, a_figure_differs_if_shown_differently_or_missing) {
  const Estimate one = plain_estimate(1);
  EXPECT_FALSE(compared_figure({one, one}).differs());
  EXPECT_FALSE(compared_figure({one, plain_estimate(1.0001)}).differs());
  EXPECT_TRUE(compared_figure({one, plain_estimate(2)}).differs());
  EXPECT_TRUE(compared_figure({one, std::nullopt}).differs());
  EXPECT_TRUE(compared_figure({std::nullopt, std::nullopt, one}).differs());
}

// If the designs have different workloads, their figures differ in meaning, and the view says so.
TEST(ComparisonReport, a_design_can_run_the_workload_of_the_first) {
  const design::Design h100 = template_design("superpod-h100");
  const design::Design h200 = template_design("superpod-h200");
  EXPECT_TRUE(does_same_work(h100, h100));
  EXPECT_FALSE(does_same_work(h100, h200));
  const auto changed = with_work_of(h100, h200, machine::known().catalog());
  ASSERT_TRUE(changed);
  EXPECT_TRUE(does_same_work(h100, *changed));
  EXPECT_EQ(changed->fleet, h200.fleet);
}

TEST(ComparisonReport, changes_are_against_the_first_design) {
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

TEST(ComparisonReport, differences_have_a_sign_and_ratios_are_in_points) {
  EXPECT_EQ(signed_text(1e6, figures::Unit::usd_per_year), "+1 MUSD/y");
  EXPECT_EQ(signed_text(-0.01, figures::Unit::ratio), "−1 pp");
  EXPECT_EQ(signed_text(0, figures::Unit::usd_per_hour), "±0 USD/h");
}

TEST(ComparisonReport, csv_has_every_value_of_every_design) {
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

// The same workloads on other machines count as the same; if there are fewer nodes, they take all
// of them.
TEST(ComparisonReport, equal_workloads_are_comparable) {
  const design::Design d = design_of(kTwoRuns);
  design::Design moved = d;
  moved.fleet[0].name = "other";
  for (design::Workload& w : moved.workloads) w.terms.fleet = "other";
  moved.workloads[0].terms.nodes = 5;
  EXPECT_TRUE(does_same_work(d, moved));
  design::Design few = moved;
  few.fleet[0].count = 10;
  few.workloads.clear();
  const auto given = with_work_of(d, few, machine::known().catalog());
  ASSERT_TRUE(given);
  ASSERT_EQ(given->workloads.size(), 2U);
  EXPECT_EQ(given->workloads[0].terms.nodes, 4);
  EXPECT_FALSE(given->workloads[1].terms.nodes);
}

TEST(ComparisonReport, signs_are_plus_minus_or_none) {
  EXPECT_EQ(signed_text(0.0123, figures::Unit::ratio), "+1.23 pp");
  EXPECT_EQ(signed_text(-2, figures::Unit::usd_per_hour), "−2 USD/h");
  EXPECT_EQ(signed_text(0, figures::Unit::ratio), "±0 pp");
}

}  // namespace
}  // namespace orrery::report
