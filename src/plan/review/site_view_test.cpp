// A site by hand: what its nodes do all day, how a step's power swings, its power chain, PUE and
// schedule.
#include "plan/review/site_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/facility/climate.h"
#include "layers/facility/rack.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

std::vector<SiteView> sites_of(const Review& r) {
  return view_sites({*r.machine, r.ledger, r.trains});
}

// A run that takes `run` of the nodes' time and a service that takes `service`.
facility::PhaseShares shares_with(double run, double service, double share = 1) {
  Review r = lab_review("superpod-h100");
  r.trains[0].phases = {.matrix = 0.5, .memory = 0.2, .communication = 0.1, .checkpoint = 0.05};
  const auto& w = r.design().workloads;
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &w[0], .nodes = 127, .needed = 127 * run, .share = share},
      {.workload = &w[1], .nodes = 127, .needed = 127 * service}};
  return sites_of(r).at(0).fleets.at(0).shares;
}

void expect_shares(const facility::PhaseShares& s, double matrix, double memory,
                   double communication, double checkpoint) {
  EXPECT_NEAR(s.matrix, matrix, 1e-12);
  EXPECT_NEAR(s.memory, memory, 1e-12);
  EXPECT_NEAR(s.communication, communication, 1e-12);
  EXPECT_NEAR(s.checkpoint, checkpoint, 1e-12);
}

// Each counts with its nodes and its time; a service waits on memory for half of its own time.
TEST(SiteView, phase_shares_add_up_over_workloads) {
  expect_shares(shares_with(0.6, 0.3), 0.3, 0.12 + 0.15, 0.06, 0.03);
  expect_shares(shares_with(0.6, 0.4), 0.3, 0.12 + 0.2, 0.06, 0.03);
  expect_shares(shares_with(0.8, 0.3, 0.5), 0.2, 0.08 + 0.15, 0.04, 0.02);
  expect_shares(shares_with(0.5, 0.3, 1.6), 0.25, 0.1 + 0.15, 0.05, 0.025);
}

// One and a half times all the time there is: each share is scaled by two thirds.
TEST(SiteView, phase_shares_are_capped_at_all_the_time) {
  expect_shares(shares_with(1, 0.5), 0.5 / 1.5, 0.45 / 1.5, 0.1 / 1.5, 0.05 / 1.5);
}

TEST(SiteView, infeasible_run_counts_as_a_service) {
  Review r = lab_review("superpod-h100");
  r.trains[0].infeasible = "no";
  const auto& w = r.design().workloads;
  r.ledger.fleets[design::FleetIndex(0)].bookings = {
      {.workload = &w[0], .nodes = 127, .needed = 63.5}};
  expect_shares(sites_of(r).at(0).fleets.at(0).shares, 0, 0.25, 0, 0);
  EXPECT_FALSE(sites_of(r).at(0).fleets.at(0).swing);
}

// Three phases of a step of two seconds: from 8.4 kW of matrix work down to communication, 0.57 of
// the way up from idle.
TEST(SiteView, swing_is_that_of_nodes_stepping_together) {
  Review r = lab_review("superpod-h100");
  TrainView& t = r.trains[0];
  t.hosts = 100;
  t.step.step = seconds(2);
  t.step.matrix_share = 0.7;
  t.step.memory_share = 0;
  t.step.exposed_share = 0.3;
  const auto swing = [&] { return *sites_of(r).at(0).fleets.at(0).swing; };
  const double low = 1.9 + 0.57 * 6.5;
  EXPECT_NEAR(swing().amplitude / kilowatts(1), 100 * (8.4 - low), 1e-6);
  EXPECT_NEAR(swing().hz, 0.5, 1e-12);
  EXPECT_TRUE(swing().in_band);
  t.hosts = 900;
  EXPECT_NEAR(swing().amplitude / kilowatts(1), 127 * (8.4 - low), 1e-6)
      << "at most all nodes of the fleet";
  t.step.exposed_share = 0.2;  // and a tenth idle
  t.hosts = 100;
  EXPECT_NEAR(swing().amplitude / kilowatts(1), 100 * 6.5, 1e-6);
  r.trains.clear();
  EXPECT_FALSE(sites_of(r).at(0).fleets.at(0).swing);
}

// A node of an NVL72 is 18 hosts: 40 hosts are three nodes.
TEST(SiteView, swing_of_racks_counts_racks) {
  Review r = lab_review("superpod-gb200");
  TrainView& t = r.trains.at(0);
  ASSERT_TRUE(t.feasible()) << t.infeasible;
  t.step.matrix_share = 0.7;
  t.step.memory_share = 0;
  t.step.exposed_share = 0.2;
  t.hosts = 40;
  const FleetPower p = sites_of(r).at(0).fleets.at(0);
  ASSERT_TRUE(p.swing);
  EXPECT_NEAR(p.swing->amplitude / (p.node.peak - p.node.idle), 3, 1e-9);
}

facility::ChainResult chain_by(const Review& r, const std::vector<const char*>& ids,
                               double multiplier) {
  std::vector<facility::StageCurve> stages;
  for (const char* id : ids) stages.push_back(facility::stage_curve(*r.catalog().power_stage(id)));
  return run_chain(stages, {.design = r.sites[0].it_nameplate,
                            .load = r.sites[0].it_mean,
                            .capacity_multiplier = multiplier});
}

TEST(SiteView, power_chain_is_the_usual_one_or_the_sites) {
  const std::vector<const char*> usual = {"utility-transformer-mv", "ups-double-conversion",
                                          "pdu-transformer", "busway"};
  const auto with = [](void (*change)(design::Site&)) {
    design::Design d = lab_design("inference-pod");
    change(d.sites[0]);
    return run_stages(std::move(d), machine::known());
  };
  const auto multiplier = [](const Review& r) {
    return r.catalog().redundancy(r.design().sites[0].redundancy)->capacity_multiplier;
  };
  const Review plain = with([](design::Site& s) { s.redundancy = "n"; });
  ASSERT_EQ(plain.sites[0].chain.stages.size(), 4U);
  EXPECT_EQ(multiplier(plain), 1);
  EXPECT_NEAR(plain.sites[0].chain.loss / chain_by(plain, usual, 1).loss, 1, 1e-12);
  const Review twice = with([](design::Site& s) { s.redundancy = "2n"; });
  EXPECT_EQ(multiplier(twice), 2);
  EXPECT_NEAR(twice.sites[0].chain.loss / chain_by(twice, usual, 2).loss, 1, 1e-12);
  EXPECT_NE(twice.sites[0].chain.loss, plain.sites[0].chain.loss);
  const Review own = with([](design::Site& s) {
    s.redundancy = "n";
    s.power_chain = {"utility-transformer-mv", "busway"};
  });
  EXPECT_EQ(own.sites[0].chain.stages.size(), 2U);
  EXPECT_NEAR(own.sites[0].chain.loss / chain_by(own, {"utility-transformer-mv", "busway"}, 1).loss,
              1, 1e-12);
}

// The interval of a computed PUE is a quarter of its overhead either way; a climate of the site
// overrides
// its region's.
TEST(SiteView, pue_follows_the_climate) {
  const auto with = [](void (*change)(design::Site&)) {
    design::Design d = lab_design("inference-pod");
    change(d.sites[0]);
    return run_stages(std::move(d), machine::known());
  };
  const Review usual = with([](design::Site&) {});
  const SiteView& region = usual.sites[0];
  ASSERT_TRUE(region.breakdown);
  const double over = region.breakdown->pue - 1;
  EXPECT_NEAR(region.pue.middle, 1 + over, 1e-12);
  EXPECT_NEAR(region.pue.low, 1 + 0.75 * over, 1e-12);
  EXPECT_NEAR(region.pue.high, 1 + 1.25 * over, 1e-12);
  EXPECT_EQ(region.pue.reference, "docs/models/pue.md, climate " + region.region->climate);
  const Review humid = with([](design::Site& s) { s.climate = "hot-humid"; });
  const SiteView& hot = humid.sites[0];
  EXPECT_EQ(hot.pue.reference, "docs/models/pue.md, climate hot-humid");
  const auto expected = compute_pue(
      {.it = hot.it_mean, .electrical_loss = hot.chain.loss, .supply_c = hot.site->supply_c},
      *hot.cooling, weather_of(*facility::climate_of("hot-humid")));
  EXPECT_NEAR(hot.pue.middle, expected.pue, 1e-12);
  EXPECT_GT(hot.pue.middle, region.pue.middle);
  EXPECT_NEAR(hot.draw_peak / hot.it_nameplate, hot.pue.middle, 1e-12);
  EXPECT_NEAR(hot.year.site_energy / (hot.it_mean * years(1)), hot.pue.middle, 1e-9);
  EXPECT_NEAR(hot.year.water_l, expected.wue_l_per_kwh * (hot.it_mean * years(1) / kwh(1)),
              1e-6 * hot.year.water_l);
}

TEST(SiteView, schedule_depends_on_what_is_built) {
  const auto expect_scope = [](const SiteView& v, const facility::BuildScope& scope) {
    const auto items = build_items(machine::known().catalog().lead_times, scope);
    const auto wanted = plan_schedule(items);
    ASSERT_TRUE(wanted && v.schedule);
    EXPECT_EQ(v.schedule->typical, wanted->typical);
    EXPECT_EQ(v.schedule->critical, wanted->critical);
    EXPECT_EQ(v.schedule->high, wanted->high);
  };
  const auto with = [](const char* name, void (*change)(design::Site&)) {
    design::Design d = lab_design(name);
    d.workloads.clear();
    change(d.sites[0]);
    return run_stages(std::move(d), machine::known()).sites[0];
  };
  expect_scope(with("superpod-h100", [](design::Site& s) { s.rented_hall = true; }),
               {.new_utility = false, .new_shell = false, .liquid = true, .generators = false});
  expect_scope(with("superpod-h100", [](design::Site& s) { s.rented_hall = false; }),
               {.new_utility = true, .new_shell = true, .liquid = true, .generators = true});
  expect_scope(with("superpod-h100",
                    [](design::Site& s) {
                      s.rented_hall = true;
                      s.cooling = "air-contained";
                    }),
               {.new_utility = false, .new_shell = false, .liquid = false, .generators = false});
  expect_scope(with("superpod-gb200", [](design::Site& s) { s.rented_hall = true; }),
               {.new_utility = false,
                .new_shell = false,
                .liquid = true,
                .generators = false,
                .rack_scale = true});
}

// Equal schedules are not drawn again.
TEST(SiteView, schedule_is_kept_if_the_build_is_the_same) {
  Review r = lab_review("inference-pod");
  r.sites[0].schedule->typical = days(77);
  const auto again = view_sites({*r.machine, r.ledger, r.trains, &r.sites});
  EXPECT_EQ(again.at(0).schedule->typical, days(77));
  EXPECT_NE(sites_of(r).at(0).schedule->typical, days(77));
}

// The budget is for the fleet that draws more; the power for the others is set aside.
TEST(SiteView, power_budget_is_for_the_largest_fleet) {
  design::Design d = lab_design("small-lab");
  const Review r = run_stages(d, machine::known());
  ASSERT_EQ(r.sites[0].fleets.size(), 2U);
  EXPECT_EQ(r.sites[0].budget_fleet.value(), 0U);
  d.fleet[1].count = 9;
  d.sites[0].power = kilowatts(400);
  const Review more = run_stages(d, machine::known());
  EXPECT_EQ(more.sites[0].budget_fleet.value(), 1U);
  d.sites[0].power.reset();
  const Review open = run_stages(d, machine::known());
  EXPECT_FALSE(open.sites[0].budget);
}

Review hall(const std::string& site, const std::string& fleet = "") {
  const std::string text =
      "orrery: 1\nname: a\nsite: { region: usa, " + site +
      " }\nfleet: [{ name: f, node: dgx-h100, count: 8, spares: 2" + fleet +
      " }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 }, storage: { topology: "
      "fat-tree, switch: qm9700 }, management: { topology: fat-tree, switch: oob-sn2201 } "
      "}\nstorage: [{ name: fast, tier: hot, kind: parallel-fs, servers: 4, device: tlc-gen4, "
      "devices_per_server: 8, read: 40 GB/s, capacity: 200 TB }]\n";
  const auto d = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

// Without workloads a fleet is taken to serve: half of its time on memory, 0.57 of the way from
// idle to peak; spares are idle.
TEST(SiteView, draw_of_an_idle_hall) {
  const Review r = hall("pue: 1.25");
  const SiteView& v = r.sites.at(0);
  const FleetPower& p = v.fleets.at(0);
  const double idle = p.node.idle / kilowatts(1);
  const double peak = p.node.peak / kilowatts(1);
  const double mean = idle + 0.5 * 0.57 * (peak - idle);
  EXPECT_NEAR(p.shares.memory, 0.5, 1e-12);
  EXPECT_NEAR(p.mean / kilowatts(1), mean, 1e-9);
  EXPECT_NEAR(p.all / kilowatts(1), 8 * mean + 2 * idle, 1e-9);
  EXPECT_NEAR(v.fleet_nameplate / kilowatts(1), 102, 1e-9);
  const machine::Networks& n = r.networks();
  EXPECT_NEAR(v.fabric.base(),
              (n.compute.bill.power() + n.storage.bill.power() + n.management.bill.power()).base(),
              1e-6);
  EXPECT_GT(n.management.bill.power(), Watts());
  EXPECT_GT(v.storage, Watts());
  EXPECT_NEAR(v.it_nameplate.base(), v.fleet_nameplate.base() + (v.fabric + v.storage).base(),
              1e-6);
  EXPECT_NEAR(v.it_mean.base(), p.all.base() + (v.fabric + v.storage).base(), 1e-6);
  EXPECT_NEAR(v.draw_peak / v.it_nameplate, 1.25, 1e-12);
  EXPECT_NEAR(v.draw_mean / v.it_mean, 1.25, 1e-12);
  EXPECT_EQ(v.pue.reference, "the design");
  EXPECT_FALSE(v.breakdown);
  EXPECT_FALSE(v.budget);
  EXPECT_FALSE(p.swing);
  EXPECT_NEAR(v.year.it_energy / (v.it_mean * years(1)), 1, 1e-12);
  EXPECT_NEAR(v.year.carbon / (v.draw_mean * years(1) * v.region->carbon), 1, 1e-12);
  EXPECT_NEAR(load_share(v), v.it_mean / v.it_nameplate, 1e-12);
}

// Three nodes of 10.2 kW per rack of 35 kW: ten nodes with their spares need four racks.
TEST(SiteView, racks_and_their_heat) {
  const Review r = hall("pue: 1.25, cooling: rear-door-passive, rack: 35 kW");
  const FleetPower& p = r.sites[0].fleets[0];
  EXPECT_EQ(p.rack.nodes, 3);
  EXPECT_EQ(p.racks, 4);
  EXPECT_EQ(r.sites[0].racks, 4);
  EXPECT_NEAR(p.rack.air_heat / kilowatts(1), 3.06, 1e-9);
  const Review given =
      hall("pue: 1.25, cooling: rear-door-passive, rack: 35 kW", ", nodes_per_rack: 2");
  const FleetPower& two = given.sites[0].fleets[0];
  EXPECT_EQ(two.rack.nodes, 2);
  EXPECT_EQ(two.racks, 5);
  EXPECT_NEAR(two.rack.power / kilowatts(1), 20.4, 1e-9);
  EXPECT_NEAR(two.rack.liquid_heat / kilowatts(1), 18.36, 1e-9);
  EXPECT_NEAR(two.rack.air_heat / kilowatts(1), 2.04, 1e-9);
  EXPECT_FALSE(two.rack.air_heat_is_a_legacy_rack);
  ASSERT_TRUE(given.sites[0].cdu);
  EXPECT_NEAR(given.sites[0].cdu->flow_l_per_min,
              1.5 * 0.9 * (given.sites[0].it_nameplate / kilowatts(1)), 1e-6);
  EXPECT_NEAR(given.sites[0].cdu->facility_water_c, 16, 1e-9);
  const Review air = hall("pue: 1.25, cooling: air-contained", ", nodes_per_rack: 2");
  EXPECT_FALSE(air.sites[0].cdu);
  EXPECT_FALSE(air.sites[0].fleets[0].rack.air_heat_is_a_legacy_rack) << "air-cooled anyway";
}

// Accelerators held to 500 of 700 W: 1.6 kW off the nameplate.
TEST(SiteView, power_cap_lowers_the_nameplate) {
  const Review r = hall("pue: 1.25", ", power_cap: 500 W");
  EXPECT_NEAR(r.sites[0].fleets[0].node.nameplate / kilowatts(1), 8.6, 1e-9);
}

TEST(SiteView, nodes_that_fit_under_the_sites_power) {
  const Review probe = hall("pue: 1.25");
  const SiteView& v = probe.sites[0];
  const double per_node = 10.2 + v.fabric / kilowatts(1) / 10;
  const double other = v.it_nameplate / kilowatts(1) - 10 * per_node;
  const auto nodes = [&](double kw) {
    const Review r = hall("pue: 1.25, power: " + std::to_string(kw) + " kW");
    EXPECT_EQ(r.sites[0].budget_fleet, design::FleetIndex(0));
    return r.sites[0].budget->nodes;
  };
  for (const double kw : {60.0, 100.0, 400.0, 900.0}) {
    const double fit = std::floor((kw / 1.25 - other) / per_node);
    const bool fits = v.draw_peak / kilowatts(1) <= kw;
    EXPECT_EQ(nodes(kw), std::max(fits ? 10 : 0, static_cast<int>(fit * 0.99))) << kw;
  }
}

Review owned_and_rented(const std::string& more) {
  return hand_review(
      "site: { region: usa, pue: 1.25 }\nfleet:\n  - { name: own, node: dgx-h100, count: 8 }\n" +
      more);
}

const std::string kRentedFleet =
    "  - { name: let, node: dgx-h100, count: 40, rent: { provider: aws, price: 2 USD/h } }\n";

TEST(SiteView, rented_fleets_draw_no_power_here) {
  const Review r = owned_and_rented(kRentedFleet);
  const SiteView& v = r.sites.at(0);
  ASSERT_EQ(v.fleets.size(), 1U);
  EXPECT_EQ(v.fleets[0].fleet->fleet->name, "own");
  EXPECT_NEAR(v.fleet_nameplate / kilowatts(1), 8 * 10.2, 1e-9);
  const Review alone = owned_and_rented("");
  EXPECT_EQ(v.racks, alone.sites[0].racks);
  EXPECT_NEAR(v.draw_peak.base(), alone.sites[0].draw_peak.base(), 1e-6);
  EXPECT_NEAR(v.it_mean.base(), alone.sites[0].it_mean.base(), 1e-6);
}

TEST(SiteView, site_without_owned_fleets_has_no_machines) {
  const Review r =
      hand_review("site: { region: usa, power: 10 kW, racks: 1 }\nfleet:\n" + kRentedFleet);
  EXPECT_FALSE(r.sites.at(0).has_machines());
  EXPECT_EQ(r.sites[0].draw_peak, Watts());
}

TEST(SiteView, each_site_counts_its_own_fleets) {
  const Review r = hand_review(
      "sites: [{ name: here, region: usa, pue: 1.25 }, { name: there, region: usa, pue: 1.5 "
      "}]\nfleet: [{ name: a, node: dgx-h100, count: 4, site: here }, { name: b, node: dgx-h100, "
      "count: 6, site: there }]\n");
  ASSERT_EQ(r.sites.size(), 2U);
  EXPECT_NEAR(r.sites[0].fleet_nameplate / kilowatts(1), 40.8, 1e-9);
  EXPECT_NEAR(r.sites[1].fleet_nameplate / kilowatts(1), 61.2, 1e-9);
  EXPECT_NEAR(r.sites[0].draw_peak / r.sites[0].it_nameplate, 1.25, 1e-12);
  EXPECT_NEAR(r.sites[1].draw_peak / r.sites[1].it_nameplate, 1.5, 1e-12);
}

// A site with a tier and no machines has nothing to power.
TEST(SiteView, site_with_only_a_tier_has_no_machines) {
  const Review r = hand_review(
      "sites: [{ name: here, region: usa }, { name: there, region: usa }]\nfleet: [{ name: f, "
      "node: dgx-h100, count: 2, site: here }]\nstorage: [{ name: t, tier: hot, kind: parallel-fs, "
      "site: there, device: tlc-gen4, servers: 2, devices_per_server: 8 }]\n");
  ASSERT_EQ(r.sites.size(), 2U);
  EXPECT_FALSE(r.sites[1].has_machines());
  EXPECT_EQ(r.sites[1].storage, Watts());
  EXPECT_EQ(r.sites[1].it_nameplate, Watts());
  EXPECT_EQ(r.sites[1].draw_peak, Watts());
  EXPECT_FALSE(r.sites[1].schedule);
  EXPECT_EQ(r.sites[0].storage, Watts()) << "the tier is at the other site";
}

TEST(SiteView, mild_cap_leaves_the_sustained_draw) {
  design::Design d = lab_design("superpod-h100");
  const Review free = reviewed(d);
  d.fleet[0].power_cap = watts(650);
  const Review mild = reviewed(d);
  // 50 W x 8 off the nameplate; 8.4 of 10.2 kW is 576 W per accelerator, below the cap.
  EXPECT_NEAR(
      (free.sites[0].fleets[0].node.nameplate - mild.sites[0].fleets[0].node.nameplate).base(), 400,
      1e-6);
  EXPECT_DOUBLE_EQ(free.sites[0].fleets[0].node.peak.base(),
                   mild.sites[0].fleets[0].node.peak.base());
}

// 9 racks of 132 kW: a swing of more than 1.2 MW would exceed the nameplate.
TEST(SiteView, swing_is_below_the_nameplate) {
  const Review r = reviewed(lab_design("superpod-gb200"));
  const FleetPower& p = r.sites[0].fleets[0];
  ASSERT_TRUE(p.swing);
  EXPECT_LE(p.swing->amplitude.base(), 8 * p.node.nameplate.base());
  EXPECT_GT(p.swing->amplitude.base(), 0.05 * 8 * p.node.nameplate.base());
}

TEST(SiteView, heat_of_a_rack_follows_its_nodes) {
  design::Design d = lab_design("superpod-h100");
  d.fleet[0].nodes_per_rack = 8;
  d.sites[0].cooling = "direct-to-chip-1p";
  const Review r = reviewed(d);
  const facility::RackFit& rack = r.sites[0].fleets[0].rack;
  EXPECT_NEAR(rack.power.base(), 8 * 10.2e3, 1);
  EXPECT_NEAR(rack.air_heat.base(), 0.2 * 8 * 10.2e3, 1);
  EXPECT_TRUE(rack.air_heat_is_a_legacy_rack);
}

// The part of a PUE above one is known to a quarter, either way; a given PUE is exact.
TEST(SiteView, pue_interval_is_a_quarter_of_its_overhead) {
  Pod pod;
  const facility::PueRange computed = pod.review().sites[0].pue;
  EXPECT_NEAR((computed.high - 1) / (computed.middle - 1), 1.25, 1e-9);
  EXPECT_NEAR((computed.low - 1) / (computed.middle - 1), 0.75, 1e-9);
  pod.site = "region: usa, pue: 1.31";
  const facility::PueRange given = pod.review().sites[0].pue;
  EXPECT_EQ(given.low, 1.31);
  EXPECT_EQ(given.middle, 1.31);
  EXPECT_EQ(given.high, 1.31);
}

}  // namespace
}  // namespace orrery::review
