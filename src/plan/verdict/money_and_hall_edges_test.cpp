// The sections of money, halls and runs at their edges: which of several terms makes a figure
// appear, which item is the largest, both sides of an interval.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/units.h"
#include "model/machine/site_load.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

std::vector<figures::Section> hall_with(void (*change)(design::Design&)) {
  design::Design d = review::lab_design("superpod-h100");
  change(d);
  return facility_sections(review::run_stages(std::move(d), machine::known()));
}

// A plant is told where the design says anything of one.
TEST(HallSectionEdges, AnyWordOfAPlantTellsIt) {
  const auto told = [](void (*change)(design::Design&)) {
    return !hand_figure(hall_with(change), "cooling_units").id.empty();
  };
  EXPECT_FALSE(told([](design::Design&) {}));
  EXPECT_TRUE(told([](design::Design& d) { d.sites[0].cooling_unit = kilowatts(500); }));
  EXPECT_TRUE(told([](design::Design& d) { d.sites[0].cooling_spares = 2; }));
  EXPECT_TRUE(told([](design::Design& d) { d.sites[0].cooling_unit_mtbf = hours(900); }));
  EXPECT_TRUE(told([](design::Design& d) { d.sites[0].cooling_design = 35; }));
  const auto spares = hall_with([](design::Design& d) { d.sites[0].cooling_spares = 2; });
  EXPECT_EQ(hand_figure(spares, "cooling_short").id, "") << "nobody says how often they fail";
  EXPECT_EQ(hand_figure(spares, "cooling_hottest").id, "") << "nor how hot it gets";
  EXPECT_EQ(hand_figure(spares, "dark_year").id, "");
}

TEST(HallSectionEdges, BackupAsItIsOrAsItIsAssumed) {
  const auto dark = [](void (*change)(design::Design&)) {
    return hand_figure(hall_with(change), "dark_year");
  };
  const figures::Number given = dark([](design::Design& d) {
    d.sites[0].outage_mtbf = days(50);
    d.sites[0].outage = minutes(20);
    d.sites[0].generator = minutes(2);
  });
  EXPECT_EQ(given.formula, "7.3 outages of 20 min a year, batteries none, generators 2 min");
  expect_ends(given, 0.5, 1);
  const figures::Number assumed =
      dark([](design::Design& d) { d.sites[0].outage_mtbf = days(50); });
  EXPECT_NEAR(assumed.estimate.value, 7.3 * machine::kOutageLength.base(), 1e-6);
  EXPECT_EQ(assumed.formula, "7.3 outages of " + brief(machine::kOutageLength) +
                                 " a year, batteries none, generators none");
}

TEST(HallSectionEdges, PowerUnitsOfSeveralRacks) {
  const auto all = hall_with([](design::Design& d) {
    d.fleet[0].pdu_rating = kilowatts(100);
    d.fleet[0].failures.racks_per_pdu = 2;
  });
  const figures::Number load = hand_figure(all, "pdu_load_train");
  EXPECT_EQ(load.formula, "2 racks on 100 kW");
  EXPECT_NEAR(load.estimate.value, 0.816, 1e-12);
  EXPECT_EQ(load.estimate.basis, Basis::vendor);
  const auto own = hall_with([](design::Design& d) {
    d.fleet[0].custom.emplace();
    d.fleet[0].custom->max_power = kilowatts(9);
    d.fleet[0].pdu_rating = kilowatts(100);
  });
  EXPECT_EQ(hand_figure(own, "pdu_load_train").estimate.basis, Basis::given);
  EXPECT_EQ(hand_figure(own, "rack_power_train").estimate.basis, Basis::given);
  const auto other = hall_with([](design::Design& d) { d.fleet[0].custom.emplace(); });
  EXPECT_EQ(hand_figure(other, "rack_power_train").estimate.basis, Basis::vendor);
}

TEST(HallSectionEdges, WithoutAContractTheRackBinds) {
  review::Review r = review::run_stages(
      [] {
        design::Design d = review::lab_design("superpod-h100");
        d.sites[0].power.reset();
        return d;
      }(),
      machine::known());
  const auto all = facility_sections(r);
  EXPECT_EQ(all.at(0).limit, std::string("the rack: ") + to_text(r.sites[0].fleets[0].rack.bound));
  EXPECT_EQ(hand_figure(all, "draw_nameplate").formula.find(" of "), std::string::npos);
  EXPECT_EQ(hand_figure(all, "nodes_that_fit").id, "");
  EXPECT_EQ(all[0].summary, "gcp-us-east4, rear-door-active cooling, redundancy n+1");
  const figures::Number pue = hand_figure(all, "pue");
  EXPECT_EQ(pue.formula, "1 + (sum of the parts) / IT");
  EXPECT_EQ(pue.inputs.size(), r.sites[0].breakdown->parts.size());
  r.sites[0].breakdown.reset();
  EXPECT_EQ(hand_figure(facility_sections(r), "pue").formula, "");
  r.sites[0].region = nullptr;
  EXPECT_EQ(hand_figure(facility_sections(r), "carbon_year").id, "");
  r.sites[0].schedule.emplace();
  r.sites[0].schedule->critical = {"permit", "hall", "racks"};
  r.sites[0].schedule->typical = days(300);
  const figures::Number ready = hand_figure(facility_sections(r), "ready_in");
  EXPECT_EQ(ready.formula, "critical path: permit > hall > racks");
  EXPECT_EQ(ready.estimate.value, days(300).base());
  r.sites[0].schedule.reset();
  EXPECT_EQ(hand_figure(facility_sections(r), "ready_in").id, "");
}

TEST(HallSectionEdges, SwingsOfAThousandSecondsAreToldByTheirPeriod) {
  review::Review r = review::lab_review("superpod-h100");
  auto& swing = r.sites[0].fleets[0].swing;
  swing.emplace();
  swing->amplitude = kilowatts(1);
  const auto said = [&](double hz) {
    swing->hz = hz;
    return hand_figure(facility_sections(r), "swing_train").formula;
  };
  EXPECT_EQ(said(0.00123456), "0.00123 Hz");
  EXPECT_EQ(said(0.00101), "0.00101 Hz");
  EXPECT_EQ(said(0.0008), "once in " + brief(seconds(1250)));
}

// Bars of 3 and 4 below and of 6 and 8 above a value of 50: a tenth and a fifth.
TEST(MoneySectionEdges, BarsAddUpInQuadratureOnEachSide) {
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
  EXPECT_TRUE(cost_sections(r).at(0).limit.ends_with("; most sensitive to first"));
  r.cost.tornado.bars.clear();
  EXPECT_EQ(cost_sections(r).at(0).limit.find("most sensitive"), std::string::npos);
  r.cost.annual = Usd();
  EXPECT_TRUE(cost_sections(r).empty());
}

TEST(MoneySectionEdges, TheLargestItemBinds) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost.tornado.bars.clear();
  r.cost.annual = usd(100);
  r.cost.owned->items.resize(2);
  r.cost.owned->items[0].name = "power";
  r.cost.owned->items[0].per_year = usd(30);
  r.cost.owned->items[1].name = "hall";
  r.cost.owned->items[1].per_year = usd(45);
  EXPECT_EQ(cost_sections(r).at(0).limit, "hall, 45 % of the year's cost");
  r.cost.owned->items[0].per_year = usd(50);
  EXPECT_EQ(cost_sections(r).at(0).limit, "power, 50 % of the year's cost");
  r.cost.rented.resize(1);
  r.cost.rented[0].fleet = &r.fleets()[design::FleetIndex(0)];
  r.cost.rented[0].per_year = usd(40);
  EXPECT_EQ(cost_sections(r).at(0).limit, "power, 50 % of the year's cost");
  r.cost.rented[0].per_year = usd(60);
  EXPECT_EQ(cost_sections(r).at(0).limit, "rent of train, 60 % of the year's cost");
}

TEST(MoneySectionEdges, LinesAndBytesAreItemsWhereTheyCost) {
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
  EXPECT_EQ(cost_sections(r).at(0).summary, "without public price, left out: a, b");
}

// A provider's tier costs by what lies in it, by its requests and by what leaves it.
TEST(MoneySectionEdges, ATierIsAnItemForEverythingThatItIsPaidFor) {
  review::Review r = review::lab_review("superpod-h100");
  r.cost.owned->items.clear();
  const auto items = [&] {
    std::string all;
    for (const figures::Input& i : hand_figure(cost_sections(r), "annual").inputs)
      all += i.name + " " + i.value + "; ";
    return all;
  };
  const std::string label = r.tiers()[design::TierIndex(0)].label;
  const auto paid = [&](double amount) { return show(amount, figures::Unit::usd_per_year) + "; "; };
  r.cost.tier_rents.push_back({.tier = &r.tiers().front(), .per_year = usd(3000)});
  EXPECT_EQ(items(), "rent of tier " + label + " " + paid(3000));
  r.cost.tier_rents[0].requests_per_year = usd(200);
  r.cost.tier_rents[0].egress_per_year = usd(10);
  EXPECT_EQ(items(), "rent of tier " + label + " " + paid(3000) + "requests to tier " + label +
                         " " + paid(200) + "egress of tier " + label + " " + paid(10));
}

TEST(RunSectionEdges, CoresThatCarryItsData) {
  review::Review r = review::lab_review("av-vision");
  review::TrainView& v = r.trains.at(0);
  v.feed.moving_cores = 0.0099;
  EXPECT_EQ(hand_figure(training_sections(r), "moving_cores").id, "");
  v.feed.moving_cores = 0.01;
  expect_ends(hand_figure(training_sections(r), "moving_cores"), 0.1, 0.1);
  v.feed.moving_cores = 2;
  v.feed.wanted = gbytes_per_s(64);
  v.hosts = 32;
  const std::string said = hand_figure(training_sections(r), "moving_cores").formula;
  EXPECT_EQ(said.find("2 GB/s a host x "), 0U) << said;
  EXPECT_TRUE(said.ends_with(", copied in the host's memory")) << said;
  v.hosts = 0;
  EXPECT_EQ(hand_figure(training_sections(r), "moving_cores").formula.find("64 GB/s a host x "),
            0U);
  expect_ends(hand_figure(training_sections(r), "accelerator_utilisation"), 0.05, 0);
}

// 3 % of the step and 4 of the goodput are 5 together; on the slow side 12 are with 5 of it 13.
TEST(RunSectionEdges, ARunIsAsUncertainAsItsStepAndItsGoodput) {
  review::Review r = review::lab_review("superpod-h100");
  review::TrainView& v = r.trains.at(0);
  v.step.error = 0.03;
  v.goodput = 0.96;
  v.goodput_high = 1;
  v.goodput_low = 0.96 / 1.04;
  expect_ends(hand_figure(training_sections(r), "run_time"), 0.05, 0.05);
  expect_ends(hand_figure(training_sections(r), "accelerator_hours"), 0.05, 0.05);
  v.goodput_low = 0;
  v.goodput_high = 0;
  expect_ends(hand_figure(training_sections(r), "run_time"), 0.03, std::hypot(0.03, 1));
  v.goodput_low = 2;
  v.goodput_high = 0.5;
  expect_ends(hand_figure(training_sections(r), "run_time"), 0.03, 0.03);
}

}  // namespace
}  // namespace orrery::verdict
