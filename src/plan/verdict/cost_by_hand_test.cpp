// The money of a design by hand: bills, rents, what is owned, the useful hour, and its section.
#include <gtest/gtest.h>

#include <cmath>

#include "plan/review/cost_parts.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

review::CostView cost_of(const review::Review& r) {
  return review::view_cost({*r.machine, r.ledger, r.trains, r.used, r.sites});
}

// One site of 1 MW of 1.5, PUE 1.3; half of 127 nodes are needed; a run of 960 at 0.9.
review::Review half_used(std::vector<design_text::Change> changes = {}) {
  review::Review r = review::edited_review("superpod-h100", changes);
  r.sites[0].it_mean = megawatts(1);
  r.sites[0].it_nameplate = megawatts(1.5);
  r.sites[0].pue.middle = 1.3;
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 100, .needed = 63.5}};
  r.trains[0].goodput = 0.9;
  r.trains[0].accelerators = 960;
  r.trains[0].run_time = days(10);
  return r;
}

TEST(CostByHand, WhatIsOwnedIsAskedOfTheSitesAndTheDesign) {
  const review::CostView v = cost_of(half_used());
  EXPECT_EQ(v.input.accelerators, 1016);
  EXPECT_NEAR(v.input.it_power / megawatts(1), 1, 1e-12);
  EXPECT_NEAR(v.input.contracted / megawatts(1), 1.5, 1e-12);
  EXPECT_NEAR(v.input.pue, 1.3, 1e-12);
  EXPECT_NEAR(v.input.electricity * kwh(1) / usd(1), 0.08, 1e-12);
  EXPECT_EQ(v.input.electricity_reference, "the design");
  EXPECT_NEAR(v.input.years, 5, 1e-12);
  EXPECT_NEAR(v.input.colocation * (kilowatts(1) * months(1)) / usd(1), 160, 1e-9);
  EXPECT_EQ(v.input.hall, UsdPerWatt());
  EXPECT_NEAR(v.use, 0.5, 1e-12);
  EXPECT_EQ(v.utilisation, 0.9);
  EXPECT_NEAR(v.goodput, 0.9, 1e-12);
  EXPECT_NEAR(v.input.goodput, 0.9, 1e-12);
  EXPECT_NEAR(v.input.utilisation, 0.45, 1e-12);
  ASSERT_TRUE(v.owned);
  EXPECT_EQ(v.accelerators, 1016);
  EXPECT_FALSE(v.in_nodes);
  EXPECT_NEAR(v.annual.base(), v.owned->annual.base(), 1e-6);
  EXPECT_NEAR(v.per_useful_hour / usd_per_hour(1),
              v.annual.base() / (1016 * 8760 * 0.5 * 0.9 * 0.9), 1e-9);
  ASSERT_EQ(v.runs.size(), 1U);
  EXPECT_EQ(v.runs[0].label, "pretrain");
  EXPECT_NEAR(v.runs[0].accelerator_hours, 960 * 240, 1e-6);
  EXPECT_NEAR(v.runs[0].amount.base(), 960 * 240 * 0.9 * (v.per_useful_hour / usd_per_hour(1)),
              1e-3);
  EXPECT_EQ(v.runs[0].per_useful_hour, v.per_useful_hour);
}

TEST(CostByHand, EveryTermOfTheDesignStandsBeforeTheCatalogs) {
  const review::CostView v =
      cost_of(half_used({{"economics",
                          "{ horizon: 5 y, depreciation: 4 y, power_price: 0.11 "
                          "USD/kWh, discount_rate: 0.07, residual: 0.2, colocation: "
                          "90 USD/kW/month, staff: 3, staff_cost: 150 kUSD/y, "
                          "utilisation: 0.6, repair: 0.05, egress: 120 TB }"}}));
  EXPECT_NEAR(v.input.years, 4, 1e-12);
  EXPECT_NEAR(v.input.electricity * kwh(1) / usd(1), 0.11, 1e-12);
  EXPECT_EQ(v.input.rate, 0.07);
  EXPECT_EQ(v.input.residual, 0.2);
  EXPECT_NEAR(v.input.colocation * (kilowatts(1) * months(1)) / usd(1), 90, 1e-9);
  EXPECT_EQ(v.input.people, 3);
  EXPECT_NEAR(v.input.salary / kilo_usd(1), 150, 1e-9);
  EXPECT_EQ(v.input.repair, 0.05);
  EXPECT_EQ(v.utilisation, 0.6);
  EXPECT_NEAR(v.input.utilisation, 0.3, 1e-12);
  // Ten terabytes a month at nine cents.
  EXPECT_NEAR(v.egress_per_year.base(), 12 * 900, 1e-6);
  EXPECT_NEAR(v.annual.base(), v.owned->annual.base() + 10800, 1e-6);
}

TEST(CostByHand, AHallOfOnesOwnIsBoughtAndNotRented) {
  const review::CostView v = cost_of(half_used({{"site.rented_hall", "false"}}));
  EXPECT_EQ(v.input.colocation, UsdPerJoule());
  EXPECT_NEAR(v.input.hall * watts(1) / usd(1), 11.7, 1e-12);
}

TEST(CostByHand, PowerIsTheRegionsWhereTheDesignSaysNothing) {
  const review::Review r = half_used({{"economics.power_price", ""}});
  const review::CostView v = cost_of(r);
  const catalog::GridRegion& region = *r.sites[0].region;
  EXPECT_NEAR(v.input.electricity / ((region.price_low + region.price_high) / 2), 1, 1e-12);
  EXPECT_EQ(v.input.electricity_reference, region.provenance.reference);
  review::Review nowhere = r;
  nowhere.sites[0].region = nullptr;
  EXPECT_NEAR(cost_of(nowhere).input.electricity * kwh(1) / usd(1), 0.08, 1e-12);
  EXPECT_EQ(cost_of(nowhere).input.electricity_reference, "assumed");
  nowhere.sites[0].it_mean = Watts();
  EXPECT_EQ(cost_of(nowhere).input.pue, 1);
}

// 1 MW at a PUE of 1.3 beside 3 MW at 1.1: 1.3 and 3.3 MW at the meter.
TEST(CostByHand, EverySitePaysItsOwnPriceForWhatItDraws) {
  review::Review r = half_used({{"economics.power_price", ""}});
  catalog::GridRegion dear = *r.sites[0].region;
  dear.price_low = usd_per_kwh(0.28);
  dear.price_high = usd_per_kwh(0.32);
  dear.provenance.reference = "elsewhere";
  r.sites.push_back(r.sites[0]);
  r.sites[1].region = &dear;
  r.sites[1].it_mean = megawatts(3);
  r.sites[1].it_nameplate = megawatts(4.5);
  r.sites[1].pue.middle = 1.1;
  const catalog::GridRegion& here = *r.sites[0].region;
  const double cheap = (here.price_low + here.price_high) / 2 * kwh(1) / usd(1);
  const cost::OwnershipInput in = cost_of(r).input;
  EXPECT_NEAR(in.it_power / megawatts(1), 4, 1e-12);
  EXPECT_NEAR(in.contracted / megawatts(1), 6, 1e-12);
  EXPECT_NEAR(in.pue, (1.3 + 3 * 1.1) / 4, 1e-12);
  EXPECT_NEAR(in.electricity * kwh(1) / usd(1), (1.3 * cheap + 3.3 * 0.3) / 4.6, 1e-12);
  EXPECT_EQ(in.electricity_reference, "the sites' own, by what each draws");
  r.sites[1].region = r.sites[0].region;
  EXPECT_NEAR(cost_of(r).input.electricity * kwh(1) / usd(1), cheap, 1e-12);
  EXPECT_EQ(cost_of(r).input.electricity_reference, here.provenance.reference);
}

// A quarter of 6 MW is rented, the rest stands in a hall of one's own.
TEST(CostByHand, HallsBoughtAndHallsRentedArePaidByTheirShare) {
  review::Review r = half_used({{"economics.colocation", "100 USD/kW/month"}});
  design::Site own = *r.sites[0].site;
  own.rented_hall = false;
  r.sites.push_back(r.sites[0]);
  r.sites[1].site = &own;
  r.sites[1].it_nameplate = megawatts(4.5);
  const cost::OwnershipInput in = cost_of(r).input;
  EXPECT_NEAR(in.colocation * (kilowatts(1) * months(1)) / usd(1), 25, 1e-9);
  EXPECT_NEAR(in.hall * watts(1) / usd(1), 0.75 * 11.7, 1e-12);
  r.sites[0].site = &own;
  EXPECT_EQ(cost_of(r).input.colocation, UsdPerJoule());
}

TEST(CostByHand, GoodputAndUseAreWeighted) {
  review::Review r = half_used();
  r.trains.push_back(r.trains[0]);
  r.trains[1].accelerators = 40;
  r.trains[1].goodput = 0.5;
  EXPECT_NEAR(cost_of(r).goodput, (960 * 0.9 + 40 * 0.5) / 1000, 1e-12);
  r.trains[1].infeasible = "no";
  EXPECT_NEAR(cost_of(r).goodput, 0.9, 1e-12);
  EXPECT_EQ(cost_of(r).runs.size(), 1U);
  r.trains.clear();
  EXPECT_EQ(cost_of(r).goodput, 1);
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].needed =
      127e-6;  // a millionth, of which 0.9 are used
  EXPECT_EQ(cost_of(r).per_useful_hour, UsdPerSecond());
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].needed = 1.2 * 127e-6;
  EXPECT_GT(cost_of(r).per_useful_hour, UsdPerSecond());
}

TEST(CostByHand, ServersAloneAreCountedThemselves) {
  const review::CostView v = cost_of(review::lab_review("fraud-cpu"));
  EXPECT_TRUE(v.in_nodes);
  EXPECT_EQ(v.accelerators, 24);
  EXPECT_EQ(v.input.accelerators, 24);
  EXPECT_FALSE(v.market);
  // 25 servers of 22 kUSD, drives and switches.
  EXPECT_EQ(v.bill.lines[0].count, 25);
  EXPECT_EQ(v.bill.lines[0].section, "fleet");
  EXPECT_NEAR(v.bill.lines[0].unit_price->middle().base(), 22e3, 1e-6);
}

TEST(CostByHand, BreakEvenIsAgainstTheContract) {
  const review::CostView v = cost_of(half_used());
  ASSERT_TRUE(v.market && v.contract);
  cost::OwnershipInput full = v.input;
  full.utilisation = 1;
  full.goodput = 1;
  const double owned = owned_cost(full).per_accelerator / usd_per_hour(1);
  EXPECT_NEAR(v.break_even, owned / (v.contract->median / usd_per_hour(1)), 1e-9 * v.break_even);
  EXPECT_LT(v.break_even_low, v.break_even);
  EXPECT_GT(v.break_even_high, v.break_even);
  EXPECT_NEAR(v.break_even_earliest, v.price_low * owned / (v.market->high / usd_per_hour(1)),
              1e-9 * v.break_even_earliest);
  EXPECT_LT(v.price_low, 1);
  EXPECT_GT(v.price_high, 1);
  for (const cost::SensitivityBar& b : v.tornado.bars) {
    if (b.name == "utilisation") {
      EXPECT_NEAR(b.input_low, 0.25, 1e-12);
      EXPECT_NEAR(b.input_high, 0.475, 1e-12);
    }
    if (b.name == "capex") {
      EXPECT_NEAR(b.input_low, v.price_low, 1e-12);
      EXPECT_NEAR(b.input_high, v.price_high, 1e-12);
    }
  }
}

review::Review rented(const std::string& rent) {
  review::Review r = review::edited_review("superpod-h100", {{"fleet[0].rent", rent}});
  r.trains.clear();
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 60, .needed = 60, .share = 0.5},
      {.workload = &r.design().workloads[1], .nodes = 10, .needed = 10, .share = 4}};
  return r;
}

// Sixty nodes for half of the time and ten for all of it are forty of eight accelerators.
TEST(RentByHand, HoursThatAreHeldAndAllOfAReservation) {
  const review::CostView v = cost_of(rented("{ provider: aws, price: 3 USD/h }"));
  EXPECT_FALSE(v.owned);
  ASSERT_EQ(v.rented.size(), 1U);
  EXPECT_EQ(v.rented[0].reference, "the design");
  EXPECT_NEAR(v.rented[0].input.list / usd_per_hour(1), 3, 1e-12);
  EXPECT_NEAR(v.rented[0].per_year.base(), 3 * 1.03 * 8760 * 40 * 8, 1e-3);
  EXPECT_NEAR(v.annual.base(), v.rented[0].per_year.base(), 1e-6);
  EXPECT_TRUE(v.bill.lines.empty() || v.bill.lines[0].section != "fleet");
  const review::CostView all = cost_of(
      rented("{ provider: aws, price: 3 USD/h, contract: reserved, discount: 0.4, term: 1 y }"));
  EXPECT_NEAR(all.rented[0].per_year.base(), 3 * 0.6 * 1.03 * 8760 * 127 * 8, 1e-3);
  review::Review none = rented("{ provider: aws, price: 3 USD/h }");
  none.ledger.fleets[design::FleetIndex(0)].bookings.clear();
  EXPECT_NEAR(cost_of(none).rented[0].per_year.base(), 3 * 1.03 * 8760 * 127 * 8, 1e-3);
  none.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &none.design().workloads[0], .nodes = 900, .needed = 900}};
  EXPECT_NEAR(cost_of(none).rented[0].per_year.base(), 3 * 1.03 * 8760 * 127 * 8, 1e-3)
      << "no more than there are";
}

TEST(RentByHand, PricesAreTheMarkets) {
  const catalog::Catalog& c = machine::known().catalog();
  const auto list = [&](const char* rent) {
    return cost_of(rented(rent)).rented[0].input.list / usd_per_hour(1);
  };
  const auto market = [&](const char* provider, bool spot) {
    return cost::market_price(c.cloud_prices, "h100-sxm", provider, spot)->median / usd_per_hour(1);
  };
  EXPECT_NEAR(list("{ provider: aws }"), market("aws", false), 1e-12);
  EXPECT_NEAR(list("{ provider: aws, contract: spot }"), market("aws", true), 1e-12);
  const review::CostView spot =
      cost_of(rented("{ provider: aws, contract: spot, interruption: 0.2 }"));
  EXPECT_EQ(spot.rented[0].rental.goodput, 1) << "interruptions are counted where it runs";
}

TEST(RentByHand, APartWithoutARowIsAssumed) {
  review::Review r = review::edited_review("fraud-cpu", {{"fleet[0].rent", "{ provider: aws }"}});
  const review::CostView v = cost_of(r);
  EXPECT_NEAR(v.rented[0].input.list / usd_per_hour(1), 4, 1e-12);
  EXPECT_EQ(v.rented[0].reference, "assumed: no row in the price table");
}

TEST(RentByHand, OfTiers) {
  catalog::Catalog c;
  const auto row = [&](const char* item, double price, const char* unit = "GB-month") {
    catalog::StorageCloudPrice p;
    p.provider = "aws";
    p.item = item;
    p.usd = price;
    p.unit = unit;
    p.provenance.reference = item;
    c.storage_prices.push_back(p);
  };
  row("PUT", 5, "per 1000");
  row("S3 Standard", 0.023);
  row("S3 Glacier Flexible", 0.0036);
  row("FSx Lustre", 0.14);
  const auto rent = [&](design::StorageTier tier, double used_tb) {
    machine::Tier t;
    t.tier = &tier;
    t.capacity = terabytes(100);
    const auto all = review::rents_of_tiers({t}, {terabytes(used_tb)}, c);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? review::TierRent{} : all[0];
  };
  const design::StorageTier hot{.kind = design::TierKind::object, .provider = "aws"};
  EXPECT_NEAR(rent(hot, 40).per_year.base(), 40e3 * 0.023 * 12, 1e-6);
  EXPECT_EQ(rent(hot, 40).reference, "S3 Standard");
  EXPECT_NEAR(rent(hot, 400).per_year.base(), 100e3 * 0.023 * 12, 1e-6) << "what it has";
  EXPECT_NEAR(rent(hot, 0).per_year.base(), 100e3 * 0.023 * 12, 1e-6) << "all, where none is said";
  design::StorageTier cold = hot;
  cold.tier = design::Tier::cold;
  EXPECT_EQ(rent(cold, 40).reference, "S3 Glacier Flexible");
  design::StorageTier files = hot;
  files.kind = design::TierKind::parallel_fs;
  EXPECT_EQ(rent(files, 40).reference, "FSx Lustre");
  design::StorageTier other = hot;
  other.provider = "else";
  EXPECT_NEAR(rent(other, 1).per_year.base(), 1e3 * 0.02 * 12, 1e-6);
  EXPECT_EQ(rent(other, 1).reference, "assumed: no row for else");
  other.kind = design::TierKind::parallel_fs;
  EXPECT_NEAR(rent(other, 1).per_year.base(), 1e3 * 0.145 * 12, 1e-6);
  other.price = usd(1) / gigabytes(1) / years(1);
  EXPECT_NEAR(rent(other, 1).per_year.base(), 1e3, 1e-6);
  EXPECT_EQ(rent(other, 1).reference, "the design");
  design::StorageTier own;
  machine::Tier t;
  t.tier = &own;
  EXPECT_TRUE(review::rents_of_tiers({t}, {Bytes()}, c).empty());
}

TEST(RentByHand, OfReservations) {
  catalog::Catalog c;
  c.reserved_discounts.resize(2);
  c.reserved_discounts[0].term = years(1);
  c.reserved_discounts[0].low = 0.1;
  c.reserved_discounts[0].high = 0.3;
  c.reserved_discounts[1].term = years(3);
  c.reserved_discounts[1].low = 0.3;
  c.reserved_discounts[1].high = 0.6;
  EXPECT_NEAR(review::reserved_discount({}, c), 0.2, 1e-12);
  EXPECT_NEAR(review::reserved_discount({.term = years(3)}, c), 0.45, 1e-12);
  EXPECT_NEAR(review::reserved_discount({.term = years(2.9)}, c), 0.2, 1e-12);
  EXPECT_EQ(review::reserved_discount({.term = years(0.5)}, c), 0);
  EXPECT_EQ(review::reserved_discount({.discount = 0.55}, c), 0.55);
  // The middle of both is 0.325; the least 0.1, the most 0.6.
  cost::MarketPrice list;
  list.low = usd_per_hour(1);
  list.median = usd_per_hour(2);
  list.high = usd_per_hour(5);
  list.reference = "list";
  list.rows = 7;
  const auto p = review::contract_price(list, c);
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->low / usd_per_hour(1), 0.675, 1e-12);
  EXPECT_NEAR(p->median / usd_per_hour(1), 1.35, 1e-12);
  EXPECT_NEAR(p->high / usd_per_hour(1), 1.8, 1e-12);
  EXPECT_EQ(p->reference, "list; reserved_discounts");
  list.low = usd_per_hour(1.9);
  EXPECT_NEAR(review::contract_price(list, c)->low / usd_per_hour(1), 0.8, 1e-12)
      << "2 less 0.6 of it";
  EXPECT_FALSE(review::contract_price(list, {}));
}

TEST(RentByHand, OfBytesThatLeave) {
  design::Design d;
  EXPECT_EQ(review::egress_of(d, {}), Usd());
  d.economics.egress = terabytes(240);  // twenty a month: ten at 9 cents, ten at 8.5
  EXPECT_NEAR(review::egress_of(d, {}).base(), 12 * (900 + 850), 1e-6);
  d.economics.egress_price = usd(0.01) / gigabytes(1);
  EXPECT_NEAR(review::egress_of(d, {}).base(), 2400, 1e-6);
}

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

TEST(CostSection, OfWhatIsRentedAlone) {
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
  EXPECT_EQ(annual->inputs[0].name.find("rent of train ("), 0U);
  EXPECT_EQ(annual->inputs[1].name, "rent of tier hot");
  EXPECT_EQ(annual->inputs[2].name, "lines between sites");
  EXPECT_EQ(annual->inputs[2].value, show(70, figures::Unit::usd_per_year));
  EXPECT_EQ(annual->inputs[3].name, "egress");
  EXPECT_EQ(annual->inputs[3].value, show(30, figures::Unit::usd_per_year));
  EXPECT_NEAR(figure_in(s, "running")->estimate.value, 1000, 1e-9);
  EXPECT_EQ(figure_in(s, "capex"), nullptr);
  EXPECT_EQ(figure_in(s, "electricity_share"), nullptr);
  EXPECT_EQ(figure_in(s, "market_hour"), nullptr);
  EXPECT_EQ(s.summary, "without public price, left out: a, b");
  EXPECT_EQ(s.limit, "rent of train, 60 % of the year's cost");
  const figures::Figure* hour = figure_in(s, "useful_hour");
  ASSERT_NE(hour, nullptr);
  EXPECT_NEAR(hour->estimate.value, 2.5, 1e-9);
  EXPECT_EQ(hour->title(), "cost of a useful hour, of an accelerator");
  EXPECT_EQ(hour->formula, show(1000, figures::Unit::usd_per_year) +
                               " / (10 accelerators x 8760 h x needed 50 % x in use 80 % x goodput "
                               "90 %)");
  r.cost.annual = Usd();
  EXPECT_TRUE(cost_sections(r).empty());
}

// Bars of 3 below and 4 above, and of 4 below: 5 and 4 of a value of 10, half and 0.4 of it.
TEST(CostSection, OfWhatIsOwned) {
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
  EXPECT_EQ(figure_in(s, "electricity_share")->formula,
            "75 % of the running cost, depreciation left out");
  EXPECT_EQ(figure_in(s, "run_cost_w")->formula, "1,235 accelerator-hours");
  EXPECT_NEAR(figure_in(s, "run_cost_w")->estimate.high, 70, 1e-9);
  EXPECT_NEAR(figure_in(s, "market_hour")->estimate.high, 4, 1e-9);
  EXPECT_NEAR(figure_in(s, "contract_hour")->estimate.value, 1.5, 1e-9);
  EXPECT_NEAR(figure_in(s, "break_even")->estimate.low, 0.4, 1e-12);
  EXPECT_NEAR(figure_in(s, "break_even")->estimate.high, 0.9, 1e-12);
  EXPECT_EQ(figure_in(s, "break_even")->formula, "owned " +
                                                     show(1000, figures::Unit::usd_per_year) +
                                                     " a year / (accelerators x 8760 h x rent)");
  EXPECT_NEAR(figure_in(s, "own_use")->estimate.value, 0.4, 1e-12);
  EXPECT_EQ(figure_in(s, "own_use")->formula, "needed 50 % x in use 80 %");
  EXPECT_EQ(s.limit, "servers, 70 % of the year's cost; most sensitive to years");
  EXPECT_EQ(s.summary, "");
  r.cost.break_even = 1.1;
  r.cost.in_nodes = true;
  s = cost_sections(r).at(0);
  EXPECT_EQ(figure_in(s, "break_even")->formula,
            "above 100 %: a contract is cheaper however much it is used");
  EXPECT_EQ(figure_in(s, "useful_hour")->note, "of a node");
  r.cost.break_even = 0;
  r.cost.tornado.value = 0;
  r.cost.per_useful_hour = UsdPerSecond();
  s = cost_sections(r).at(0);
  EXPECT_EQ(figure_in(s, "break_even"), nullptr);
  EXPECT_EQ(figure_in(s, "useful_hour"), nullptr);
  EXPECT_NEAR(figure_in(s, "annual")->estimate.low, 800, 1e-9);
  EXPECT_NEAR(figure_in(s, "annual")->estimate.high, 1200, 1e-9);
}

}  // namespace
}  // namespace orrery::verdict
