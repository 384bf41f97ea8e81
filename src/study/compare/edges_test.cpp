// Comparisons at their edges: designs that say the same, an order of nothing, and how a verdict is
// worded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "study/compare/diff.h"
#include "study/search/rank.h"

namespace orrery::compare {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

design::Design of_nodes(const char* name, int count) {
  return design_text::read_design("orrery: 1\nname: " + std::string(name) +
                                      "\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, "
                                      "count: " +
                                      std::to_string(count) + " }]\n",
                                  machine::known().catalog())
      .value();
}

TEST(SearchEdges, the_same_design_differs_in_nothing) {
  const DesignDiff d = compare(of_nodes("a", 3), of_nodes("a", 3), machine::known());
  EXPECT_EQ(d.verdict, "The designs say the same.");
  EXPECT_TRUE(d.lines.empty());
  EXPECT_TRUE(d.effects.empty());
  EXPECT_TRUE(d.figures.empty());
  EXPECT_EQ(d.before_digest, d.after_digest);
}

// Twice the nodes cost twice as much; an hour of one costs the same.
TEST(SearchEdges, more_nodes_cost_more_and_an_hour_of_one_does_not) {
  const DesignDiff d = compare(of_nodes("a", 2), of_nodes("b", 4), machine::known());
  EXPECT_THAT(d.verdict, StartsWith("a -> b: +"));
  EXPECT_THAT(d.verdict, HasSubstr(" a year, goodput 100 % -> 100 %, a useful hour "));
  EXPECT_EQ(d.before_name, "a");
  EXPECT_EQ(d.after_name, "b");
  EXPECT_NE(d.before_digest, d.after_digest);
  // Nodes of 10.2 kW at nameplate.
  const auto power = std::ranges::find(d.figures, "IT power, nameplate", &FigureChange::label);
  ASSERT_NE(power, d.figures.end());
  EXPECT_EQ(power->before, 20'400);
  EXPECT_EQ(power->after, 40'800);
  EXPECT_EQ(power->relative(), 1);
  EXPECT_EQ(power->layer, figures::Layer::facility);
  EXPECT_EQ(power->section, "main");
  EXPECT_EQ(power->unit, figures::Unit::watts);
  ASSERT_EQ(d.effects.size(), 1U) << "one section alone leaves no remainder";
  EXPECT_EQ(d.effects[0].section, "fleet");
  EXPECT_GT(d.effects[0].cost_usd_per_year, 0);
  EXPECT_NEAR(d.effects[0].unit_cost_usd, 0, 0.01);
  const DesignDiff back = compare(of_nodes("b", 4), of_nodes("a", 2), machine::known());
  EXPECT_THAT(back.verdict, StartsWith("b -> a: -"));
  EXPECT_THAT(back.verdict, EndsWith("."));
}

TEST(SearchEdges, lines_are_taken_out_and_put_in_and_no_more) {
  const DesignDiff d = compare(of_nodes("a", 2), of_nodes("a", 4), machine::known());
  int out = 0, in = 0;
  for (const std::string& line : d.lines) {
    out += line.starts_with("- ");
    in += line.starts_with("+ ");
  }
  EXPECT_EQ(out, 1);
  EXPECT_EQ(in, 1);
  EXPECT_EQ(d.lines.size(), 2U) << "what is the same is not shown";
  EXPECT_THAT(d.lines.front(), HasSubstr("2"));
  EXPECT_THAT(d.lines.back(), HasSubstr("4"));
}

TEST(SearchEdges, nothing_is_not_faster_than_something) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(search::ratio_error({0, 0, 0}, {100, 80, 125}, false), never);
  EXPECT_EQ(search::ratio_error({100, 80, 125}, {0, 0, 0}, false), never);
  EXPECT_FALSE(search::is_decided({0, 0, 0}, {100, 80, 125}, false));
  EXPECT_FALSE(search::is_decided({0, 0, 0}, {0, 0, 0}, true));
}

TEST(SearchEdges, a_change_of_nothing_has_no_share) {
  EXPECT_EQ((FigureChange{.before = 0, .after = 5}.relative()), 0);
  EXPECT_DOUBLE_EQ((FigureChange{.before = 4, .after = 5}.relative()), 0.25);
  EXPECT_DOUBLE_EQ((FigureChange{.before = 4, .after = 3}.relative()), -0.25);
}

}  // namespace
}  // namespace orrery::compare
