// A site's view by hand: what its nodes do all day, how a step swings, which power chain, PUE and
// schedule it has.
#include "plan/review/site_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/facility/climate.h"
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

// Each by the nodes and the time it takes; a service waits on memory for half of its own.
TEST(SiteShares, AreThoseOfAllThatRuns) {
  expect_shares(shares_with(0.6, 0.3), 0.3, 0.12 + 0.15, 0.06, 0.03);
  expect_shares(shares_with(0.6, 0.4), 0.3, 0.12 + 0.2, 0.06, 0.03);
  expect_shares(shares_with(0.8, 0.3, 0.5), 0.2, 0.08 + 0.15, 0.04, 0.02);
  expect_shares(shares_with(0.5, 0.3, 1.6), 0.25, 0.1 + 0.15, 0.05, 0.025);
}

// One and a half times all there is: everything by two thirds.
TEST(SiteShares, AreNeverMoreThanAllTheTime) {
  expect_shares(shares_with(1, 0.5), 0.5 / 1.5, 0.45 / 1.5, 0.1 / 1.5, 0.05 / 1.5);
}

TEST(SiteShares, OfARunThatCannotRunAreAService) {
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
TEST(SiteSwing, IsOfTheNodesThatStepTogether) {
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
  EXPECT_NEAR(swing().amplitude / kilowatts(1), 127 * (8.4 - low), 1e-6) << "no more than stand";
  t.step.exposed_share = 0.2;  // and a tenth idle
  t.hosts = 100;
  EXPECT_NEAR(swing().amplitude / kilowatts(1), 100 * 6.5, 1e-6);
  r.trains.clear();
  EXPECT_FALSE(sites_of(r).at(0).fleets.at(0).swing);
}

// A node of an NVL72 is 18 hosts: 40 of them are three.
TEST(SiteSwing, OfRacksIsByTheRack) {
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

TEST(SiteChain, IsTheUsualOneOrTheSites) {
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

// A computed PUE is a quarter of its overhead either way; a climate of the site's own stands before
// its region's.
TEST(SitePue, FollowsTheClimate) {
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

TEST(SiteSchedule, IsOfWhatIsBuilt) {
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
TEST(SiteSchedule, IsKeptWhereTheBuildIsTheSame) {
  Review r = lab_review("inference-pod");
  r.sites[0].schedule->typical = days(77);
  const auto again = view_sites({*r.machine, r.ledger, r.trains, &r.sites});
  EXPECT_EQ(again.at(0).schedule->typical, days(77));
  EXPECT_NE(sites_of(r).at(0).schedule->typical, days(77));
}

// Of two fleets the one that draws more is what the budget is about; what the site has for the
// others is theirs.
TEST(SiteBudget, IsOfTheFleetThatDrawsMost) {
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

}  // namespace
}  // namespace orrery::review
