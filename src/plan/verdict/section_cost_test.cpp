#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

const figures::Figure* figure_in(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return &f;
  }
  return nullptr;
}

review::CostView plain_cost() {
  review::CostView c;
  c.annual = usd(1000);
  c.accelerators = 10;
  c.use = 0.5;
  c.utilisation = 0.8;
  c.goodput = 0.9;
  c.per_useful_hour = usd_per_hour(2.5);
  return c;
}

TEST(SectionCost, rented_designs_have_no_capital) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost = plain_cost();
  r.cost.egress_per_year = usd(30);
  r.cost.wan_per_year = usd(70);
  r.cost.rented.push_back({.fleet = &r.fleets()[design::FleetIndex(0)], .reference = "row"});
  r.cost.rented[0].per_year = usd(600);
  r.cost.tier_rents.push_back({.tier = &r.tiers()[design::TierIndex(0)], .reference = "tiers"});
  r.cost.tier_rents[0].per_year = usd(300);
  r.cost.unpriced = {"a", "b"};
  const figures::Section s = cost_sections(r).at(0);
  const figures::Figure* annual = figure_in(s, "annual");
  ASSERT_NE(annual, nullptr);
  EXPECT_NEAR(annual->estimate.low, 850, 1e-9);
  EXPECT_NEAR(annual->estimate.high, 1150, 1e-9);
  ASSERT_EQ(annual->inputs.size(), 4U);
  EXPECT_TRUE(annual->inputs[0].name.contains("train"));
  EXPECT_TRUE(annual->inputs[1].name.contains("hot"));
  EXPECT_EQ(annual->inputs[2].value, show(70, figures::Unit::usd_per_year));
  EXPECT_EQ(annual->inputs[3].name, "egress");
  EXPECT_EQ(annual->inputs[3].value, show(30, figures::Unit::usd_per_year));
  EXPECT_NEAR(figure_in(s, "running")->estimate.value, 1000, 1e-9);
  EXPECT_EQ(figure_in(s, "capex"), nullptr);
  EXPECT_EQ(figure_in(s, "electricity_share"), nullptr);
  EXPECT_EQ(figure_in(s, "market_hour"), nullptr);
  EXPECT_NE(s.limit, "");
  const figures::Figure* hour = figure_in(s, "useful_hour");
  ASSERT_NE(hour, nullptr);
  EXPECT_NEAR(hour->estimate.value, 2.5, 1e-9);
  r.cost.annual = Usd();
  EXPECT_TRUE(cost_sections(r).empty());
}

// Bars of 3 below and 4 above, and of 4 below: 5 and 4 of a value of 10, half and 0.4 of it.
TEST(SectionCost, owned_designs_show_capital_and_break_even) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost = plain_cost();
  r.cost.owned.emplace();
  r.cost.owned->capital = usd(700);
  r.cost.owned->annual = usd(1000);
  r.cost.owned->items = {{"servers", usd(700), "a"}, {"power", usd(300), "b"}};
  r.cost.owned->electricity_of_total = 0.3;
  r.cost.owned->electricity_of_running = 0.75;
  r.cost.tornado.value = 10;
  r.cost.tornado.bars = {{.name = "years", .at_low = 14, .at_high = 7},
                         {.name = "rate", .at_low = 6, .at_high = 9}};
  r.cost.bill.lines = {{"fleet", "n", "", 2, catalog::PriceRange{usd(80), usd(120)}}};
  r.cost.price_low = 0.8;
  r.cost.price_high = 1.2;
  r.cost.market = cost::MarketPrice{.low = usd_per_hour(1),
                                    .median = usd_per_hour(2),
                                    .high = usd_per_hour(4),
                                    .reference = "m",
                                    .rows = 3};
  r.cost.contract = r.cost.market;
  r.cost.contract->median = usd_per_hour(1.5);
  r.cost.break_even = 0.6;
  r.cost.break_even_low = 0.4;
  r.cost.break_even_high = 0.9;
  r.cost.runs = {{.label = "w", .accelerator_hours = 1234.5, .amount = usd(50)}};
  figures::Section s = cost_sections(r).at(0);
  EXPECT_NEAR(figure_in(s, "capex")->estimate.value, 200, 1e-9);
  EXPECT_NEAR(figure_in(s, "capex")->estimate.low, 160, 1e-9);
  EXPECT_NEAR(figure_in(s, "capex")->estimate.high, 240, 1e-9);
  EXPECT_NEAR(figure_in(s, "annual")->estimate.low, 500, 1e-9);
  EXPECT_NEAR(figure_in(s, "annual")->estimate.high, 1400, 1e-9);
  EXPECT_NEAR(figure_in(s, "running")->estimate.value, 300, 1e-9);
  EXPECT_NEAR(figure_in(s, "electricity_share")->estimate.low, 0.24, 1e-9);
  EXPECT_NEAR(figure_in(s, "electricity_share")->estimate.high, 0.36, 1e-9);
  EXPECT_NEAR(figure_in(s, "run_cost_w")->estimate.high, 70, 1e-9);
  EXPECT_NEAR(figure_in(s, "market_hour")->estimate.high, 4, 1e-9);
  EXPECT_NEAR(figure_in(s, "contract_hour")->estimate.value, 1.5, 1e-9);
  EXPECT_NEAR(figure_in(s, "break_even")->estimate.low, 0.4, 1e-12);
  EXPECT_NEAR(figure_in(s, "break_even")->estimate.high, 0.9, 1e-12);
  EXPECT_NEAR(figure_in(s, "own_use")->estimate.value, 0.4, 1e-12);
  EXPECT_NE(s.limit, "");
  r.cost.break_even = 1.1;
  r.cost.in_nodes = true;
  s = cost_sections(r).at(0);
  r.cost.break_even = 0;
  r.cost.tornado.value = 0;
  r.cost.per_useful_hour = UsdPerSecond();
  s = cost_sections(r).at(0);
  EXPECT_EQ(figure_in(s, "break_even"), nullptr);
  EXPECT_EQ(figure_in(s, "useful_hour"), nullptr);
  EXPECT_NEAR(figure_in(s, "annual")->estimate.low, 800, 1e-9);
  EXPECT_NEAR(figure_in(s, "annual")->estimate.high, 1200, 1e-9);
}

// Bars of 3 and 4 below and of 6 and 8 above a value of 50: a tenth and a fifth.
TEST(SectionCost, tornado_bars_add_up_in_quadrature) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost.tornado.value = 50;
  r.cost.tornado.bars.resize(2);
  r.cost.tornado.bars[0] = {.name = "first", .at_low = 47, .at_high = 56};
  r.cost.tornado.bars[1] = {.name = "second", .at_low = 58, .at_high = 46};
  expect_ends(hand_figure(cost_sections(r), "annual"), 0.1, 0.2);
  expect_ends(hand_figure(cost_sections(r), "running"), 0.1, 0.2);
  r.cost.tornado.bars[0] = {.name = "first", .at_low = 52, .at_high = 53};
  r.cost.tornado.bars[1] = {.name = "second", .at_low = 51, .at_high = 54};
  expect_ends(hand_figure(cost_sections(r), "annual"), 0, 0.1);  // both are above: 3 and 4
  r.cost.tornado.bars[0] = {.name = "first", .at_low = -40, .at_high = 50};
  expect_ends(hand_figure(cost_sections(r), "annual"), 0.9, 0.08);
  r.cost.tornado.value = 0;
  expect_ends(hand_figure(cost_sections(r), "annual"), 0.2, 0.2);
  r.cost.tornado.bars.clear();
  r.cost.annual = Usd();
  EXPECT_TRUE(cost_sections(r).empty());
}

TEST(SectionCost, largest_item_is_the_limit) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost.tornado.bars.clear();
  r.cost.annual = usd(100);
  r.cost.owned->items.resize(2);
  r.cost.owned->items[0].name = "power";
  r.cost.owned->items[0].per_year = usd(30);
  r.cost.owned->items[1].name = "hall";
  r.cost.owned->items[1].per_year = usd(45);
  EXPECT_NE(cost_sections(r).at(0).limit, "");
  r.cost.owned->items[0].per_year = usd(50);
  EXPECT_NE(cost_sections(r).at(0).limit, "");
  r.cost.rented.resize(1);
  r.cost.rented[0].fleet = &r.fleets()[design::FleetIndex(0)];
  r.cost.rented[0].per_year = usd(40);
  EXPECT_NE(cost_sections(r).at(0).limit, "");
  r.cost.rented[0].per_year = usd(60);
  EXPECT_NE(cost_sections(r).at(0).limit, "");
}

TEST(SectionCost, lines_and_egress_are_items_if_they_cost) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost.owned->items.clear();
  const auto items = [&] { return hand_figure(cost_sections(r), "annual").inputs; };
  EXPECT_TRUE(items().empty());
  r.cost.wan_per_year = usd(1000);
  ASSERT_EQ(items().size(), 1U);
  EXPECT_EQ(items()[0].name, "lines between sites");
  EXPECT_EQ(items()[0].value, show(1000, figures::Unit::usd_per_year));
  r.cost.egress_per_year = usd(2000);
  ASSERT_EQ(items().size(), 2U);
  EXPECT_EQ(items()[1].name, "egress");
  EXPECT_EQ(items()[1].value, show(2000, figures::Unit::usd_per_year));
  EXPECT_EQ(hand_figure(cost_sections(r), "capex").id, "capex");
  expect_ends(hand_figure(cost_sections(r), "electricity_share"), 0.2, 0.2);
  r.cost.unpriced = {"a", "b"};
}

// The bars of the tornado in quadrature, what lowers the price apart from what raises it.
TEST(SectionCost, price_interval_is_that_of_the_tornado) {
  const review::Review r = review::Pod{}.review();
  const cost::Tornado& t = r.cost.tornado;
  double below = 0, above = 0;
  for (const cost::SensitivityBar& b : t.bars) {
    const double low = std::min({b.at_low, b.at_high, t.value});
    const double high = std::max({b.at_low, b.at_high, t.value});
    below += (t.value - low) * (t.value - low);
    above += (high - t.value) * (high - t.value);
  }
  ASSERT_NE(below, above);
  for (const char* id : {"annual", "running", "useful_hour"}) {
    const Estimate e = figure_of(r, figures::Layer::cost, id);
    EXPECT_NEAR(e.high / e.value, 1 + std::sqrt(above) / t.value, 1e-9) << id;
    EXPECT_NEAR(e.low / e.value, 1 - std::min(0.9, std::sqrt(below) / t.value), 1e-9) << id;
  }
}

}  // namespace
}  // namespace orrery::verdict
