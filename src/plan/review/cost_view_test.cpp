// The money of a design by hand: bills, rents, what is owned, and the cost per useful hour.
#include "plan/review/cost_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/stages.h"

namespace orrery::review {
namespace {

CostView cost_of(const Review& r) {
  return view_cost({*r.machine, r.ledger, r.trains, r.used, r.sites});
}

// One site of 1 MW out of 1.5, PUE 1.3; half of 127 nodes are needed; a run of 960 accelerators at
// goodput 0.9.
Review half_used(std::vector<design_text::Change> changes = {}) {
  Review r = edited_review("superpod-h100", changes);
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

TEST(CostView, ownership_input_comes_from_sites_and_design) {
  const CostView v = cost_of(half_used());
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

TEST(CostView, terms_of_the_design_override_the_catalog) {
  const CostView v = cost_of(half_used({{"economics",
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
  // Ten terabytes per month at nine cents.
  EXPECT_NEAR(v.egress_per_year.base(), 12 * 900, 1e-6);
  EXPECT_NEAR(v.annual.base(), v.owned->annual.base() + 10800, 1e-6);
}

TEST(CostView, own_hall_is_bought) {
  const CostView v = cost_of(half_used({{"site.rented_hall", "false"}}));
  EXPECT_EQ(v.input.colocation, UsdPerJoule());
  EXPECT_NEAR(v.input.hall * watts(1) / usd(1), 11.7, 1e-12);
}

TEST(CostView, power_price_defaults_to_the_region) {
  const Review r = half_used({{"economics.power_price", ""}});
  const CostView v = cost_of(r);
  const catalog::GridRegion& region = *r.sites[0].region;
  EXPECT_NEAR(v.input.electricity / ((region.price_low + region.price_high) / 2), 1, 1e-12);
  EXPECT_EQ(v.input.electricity_reference, region.provenance.reference);
  Review nowhere = r;
  nowhere.sites[0].region = nullptr;
  EXPECT_NEAR(cost_of(nowhere).input.electricity * kwh(1) / usd(1), 0.08, 1e-12);
  EXPECT_EQ(cost_of(nowhere).input.electricity_reference, "assumed");
  nowhere.sites[0].it_mean = Watts();
  EXPECT_EQ(cost_of(nowhere).input.pue, 1);
}

// 1 MW at a PUE of 1.3 and 3 MW at 1.1: 1.3 and 3.3 MW at the meter.
TEST(CostView, each_site_pays_its_own_power_price) {
  Review r = half_used({{"economics.power_price", ""}});
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
  r.sites[1].region = r.sites[0].region;
  EXPECT_NEAR(cost_of(r).input.electricity * kwh(1) / usd(1), cheap, 1e-12);
  EXPECT_EQ(cost_of(r).input.electricity_reference, here.provenance.reference);
}

// A quarter of 6 MW is rented, the rest is in an owned hall.
TEST(CostView, rented_and_owned_halls_are_weighted_by_power) {
  Review r = half_used({{"economics.colocation", "100 USD/kW/month"}});
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

TEST(CostView, goodput_is_weighted_by_accelerators) {
  Review r = half_used();
  r.trains.push_back(r.trains[0]);
  r.trains[1].accelerators = 40;
  r.trains[1].goodput = 0.5;
  EXPECT_NEAR(cost_of(r).goodput, (960 * 0.9 + 40 * 0.5) / 1000, 1e-12);
  r.trains[1].infeasible = "no";
  EXPECT_NEAR(cost_of(r).goodput, 0.9, 1e-12);
  EXPECT_EQ(cost_of(r).runs.size(), 1U);
  r.trains.clear();
  EXPECT_EQ(cost_of(r).goodput, 1);
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].needed = 127e-6;  // a millionth, of which 0.9 are used
  EXPECT_EQ(cost_of(r).per_useful_hour, UsdPerSecond());
  r.ledger.fleets[design::FleetIndex(0)].bookings[0].needed = 1.2 * 127e-6;
  EXPECT_GT(cost_of(r).per_useful_hour, UsdPerSecond());
}

TEST(CostView, designs_without_accelerators_count_servers) {
  const CostView v = cost_of(lab_review("fraud-cpu"));
  EXPECT_TRUE(v.in_nodes);
  EXPECT_EQ(v.accelerators, 24);
  EXPECT_EQ(v.input.accelerators, 24);
  EXPECT_FALSE(v.market);
  // 25 servers of 22 kUSD, drives and switches.
  EXPECT_EQ(v.bill.lines[0].count, 25);
  EXPECT_EQ(v.bill.lines[0].section, "fleet");
  EXPECT_NEAR(v.bill.lines[0].unit_price->middle().base(), 22e3, 1e-6);
}

TEST(CostView, break_even_compares_with_the_contract_price) {
  const CostView v = cost_of(half_used());
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

Review rented_fleet(const std::string& rent) {
  Review r = edited_review("superpod-h100", {{"fleet[0].rent", rent}});
  r.trains.clear();
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &r.design().workloads[0], .nodes = 60, .needed = 60, .share = 0.5},
      {.workload = &r.design().workloads[1], .nodes = 10, .needed = 10, .share = 4}};
  return r;
}

// Sixty nodes for half of the time and ten for all of it are forty nodes of eight accelerators.
TEST(CostView, on_demand_pays_held_hours_and_reservations_all_hours) {
  const CostView v = cost_of(rented_fleet("{ provider: aws, price: 3 USD/h }"));
  EXPECT_FALSE(v.owned);
  ASSERT_EQ(v.rented.size(), 1U);
  EXPECT_EQ(v.rented[0].reference, "the design");
  EXPECT_NEAR(v.rented[0].input.list / usd_per_hour(1), 3, 1e-12);
  EXPECT_NEAR(v.rented[0].per_year.base(), 3 * 1.03 * 8760 * 40 * 8, 1e-3);
  EXPECT_NEAR(v.annual.base(), v.rented[0].per_year.base(), 1e-6);
  EXPECT_TRUE(v.bill.lines.empty() || v.bill.lines[0].section != "fleet");
  const CostView all = cost_of(rented_fleet(
      "{ provider: aws, price: 3 USD/h, contract: reserved, discount: 0.4, term: 1 y }"));
  EXPECT_NEAR(all.rented[0].per_year.base(), 3 * 0.6 * 1.03 * 8760 * 127 * 8, 1e-3);
  Review none = rented_fleet("{ provider: aws, price: 3 USD/h }");
  none.ledger.fleets[design::FleetIndex(0)].bookings.clear();
  EXPECT_NEAR(cost_of(none).rented[0].per_year.base(), 3 * 1.03 * 8760 * 127 * 8, 1e-3);
  none.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &none.design().workloads[0], .nodes = 900, .needed = 900}};
  EXPECT_NEAR(cost_of(none).rented[0].per_year.base(), 3 * 1.03 * 8760 * 127 * 8, 1e-3)
      << "no more than there are";
}

TEST(CostView, rent_defaults_to_the_market_price) {
  const catalog::Catalog& c = machine::known().catalog();
  const auto list = [&](const char* rent) {
    return cost_of(rented_fleet(rent)).rented[0].input.list / usd_per_hour(1);
  };
  const auto market = [&](const char* provider, bool spot) {
    return cost::market_price(c.cloud_prices, "h100-sxm", provider, spot)->median / usd_per_hour(1);
  };
  EXPECT_NEAR(list("{ provider: aws }"), market("aws", false), 1e-12);
  EXPECT_NEAR(list("{ provider: aws, contract: spot }"), market("aws", true), 1e-12);
  const CostView spot =
      cost_of(rented_fleet("{ provider: aws, contract: spot, interruption: 0.2 }"));
  EXPECT_EQ(spot.rented[0].rental.goodput, 1) << "interruptions are counted where it runs";
}

TEST(CostView, parts_without_a_price_are_assumed) {
  Review r = edited_review("fraud-cpu", {{"fleet[0].rent", "{ provider: aws }"}});
  const CostView v = cost_of(r);
  EXPECT_NEAR(v.rented[0].input.list / usd_per_hour(1), 4, 1e-12);
}

TEST(CostView, annual_cost_is_the_sum_of_its_parts) {
  for (const char* name : {"superpod-h100", "cloud-rental", "fraud-cpu"}) {
    const design::Design d = lab_design(name);
    const Review r = reviewed(d);
    const CostView& c = r.cost;
    double sum = c.egress_per_year.base();
    if (c.owned) {
      for (const cost::CostItem& i : c.owned->items) sum += i.per_year.base();
    }
    for (const RentedFleet& f : c.rented) sum += f.per_year.base();
    for (const TierRent& t : c.tier_rents) sum += t.total().base();
    EXPECT_NEAR(c.annual.base(), sum, 1e-6 * sum) << name;
    EXPECT_NEAR(c.per_useful_hour.base() * 3600,
                sum / (c.accelerators * 8760 * c.use * c.utilisation * c.goodput), 1e-6)
        << name;
  }
}

TEST(CostView, hourly_rent_is_paid_while_nodes_are_held) {
  design::Design d = lab_design("cloud-rental");
  for (design::Fleet& f : d.fleet) f.rent->contract = catalog::Contract::on_demand;
  d.workloads.resize(1);
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.repeat.reset();
  train.runs.reset();
  const Review always = run_stages(d, machine::known());
  train.runs = 1;
  const Review once = run_stages(d, machine::known());
  const double share = once.trains[0].run_time / years(1);
  EXPECT_NEAR(once.cost.rented[0].per_year / always.cost.rented[0].per_year, share, 1e-9);
  for (design::Fleet& f : d.fleet) f.rent->contract = catalog::Contract::reserved;
  const Review reserved = run_stages(d, machine::known());
  EXPECT_NEAR(reserved.cost.rented[0].per_year / (reserved.cost.rented[0].rental.billed * years(1)),
              reserved.fleets()[design::FleetIndex(0)].accelerators, 1e-6);
}

// Ten times the nodes for the same 120 nodes of the run cost nearly ten times as much per useful
// hour.
TEST(CostView, idle_machines_raise_the_price_of_a_useful_hour) {
  design::Design few = lab_design("superpod-h100");
  few.workloads.resize(1);  // 120 of 127 nodes
  design::Design many = few;
  many.fleet[0].count = 1270;
  many.sites[0].power.reset();
  many.sites[0].racks.reset();
  const Review a = run_stages(few, machine::known());
  const Review b = run_stages(many, machine::known());
  EXPECT_NEAR(a.cost.use, 120.0 / 127, 1e-9);
  EXPECT_NEAR(b.cost.use, 120.0 / 1270, 1e-9);
  const double yearly = b.cost.annual / a.cost.annual;
  EXPECT_NEAR(b.cost.per_useful_hour / a.cost.per_useful_hour,
              yearly * a.cost.goodput / b.cost.goodput, 1e-6)
      << "the same useful hours, a larger bill";
  EXPECT_GT(yearly, 5);
}

TEST(CostView, runs_per_year_set_the_use) {
  design::Design d = lab_design("superpod-h100");
  d.workloads.resize(1);
  const Review always = run_stages(d, machine::known());
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.runs = 1;
  const Review once = run_stages(d, machine::known());
  train.runs = 2;
  const Review twice = run_stages(d, machine::known());
  const double share = once.trains[0].run_time / years(1);
  ASSERT_LT(2 * share, 1);
  EXPECT_NEAR(once.cost.use / always.cost.use, share, 1e-9);
  EXPECT_NEAR(twice.cost.use / once.cost.use, 2, 1e-9);
  EXPECT_NEAR(once.cost.per_useful_hour / twice.cost.per_useful_hour,
              2 * (once.cost.annual / twice.cost.annual), 1e-6);
  EXPECT_LT(once.sites[0].it_mean, always.sites[0].it_mean) << "idle nodes draw less";
}

}  // namespace
}  // namespace orrery::review
