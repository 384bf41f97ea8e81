// What racks and power units draw, and which exceed their limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>

#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/site_load.h"
#include "twin/run/hand_made_fixture.h"
#include "twin/run/over_replications.h"
#include "twin/run/run_figures.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"

namespace orrery::run {

using cluster::at;

namespace {

using figures::Layer;

design::Design template_design(const char* name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

void expect_sums(const Simulated& s, const std::string& name) {
  const run::Run run = s.simulation.run_of(s.done);
  IndexedVector<design::SiteIndex, double> sums(s.machine.sites.size());
  for (const design::FleetIndex f : s.done[0].racks.indices()) {
    const world::FleetPart& part = s.simulation.scenario().fleets[f];
    int hosts = 0;
    for (const cluster::RackDraw& r : s.done[0].racks[f]) {
      hosts += r.hosts;
      sums[part.site] += r.energy.base() + (part.host_power.idle * r.hosts * run.simulated).base();
      EXPECT_LE(r.highest, (part.host_power.peak - part.host_power.idle) * (r.hosts * 1.000001));
      EXPECT_GE(r.highest * run.simulated * 1.000001, r.energy);
    }
    EXPECT_EQ(hosts, part.all_hosts()) << name;
  }
  for (const design::SiteIndex i : sums.indices()) {
    if (s.done[0].sites[i].it_energy <= Joules(0)) continue;
    EXPECT_NEAR(sums[i] / s.done[0].sites[i].it_energy.base(), 1, 1e-9) << name;
  }
}

// Windows of requests take long without optimisation: templates with services run only in the full
// suite.
TEST(RackFigures, racks_together_draw_what_their_site_draws) {
  std::vector<const char*> names = {"recommender"};
  if (std::getenv("ORRERY_FULL") != nullptr)
    names = {"superpod-h100", "small-lab", "chatbot-zones"};
  for (const char* name : names) {
    expect_sums(Simulated(template_design(name), {.horizon = days(10)}), name);
  }
}

// Runs that shrink and grow, and jobs that are preempted, leave racks and come back.
TEST(RackFigures, racks_together_draw_what_their_site_draws_under_faults) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 16;
  d.fleet.front().spares = 1;
  d.fleet.front().failures.node_mtbf = days(10);
  d.fleet.front().failures.repair = hours(20);
  d.scheduler.preemption = design::Preemption::requeue;
  design::Jobs j{.rate = PerSecond(200.0 / 86400), .mean_duration = hours(1)};
  d.workloads.front().terms.nodes = 8;
  d.workloads.front().terms.priority = 5;
  d.workloads.push_back({.terms = {.name = "others"}, .task = j});
  expect_sums(Simulated(d, {.horizon = days(30)}), "faults");
}

// Four nodes of 10.2 kW in a rack of 30 kW: steps of the run draw 8.4 kW per node.
TEST(RackFigures, a_rack_above_its_limit_is_named) {
  const auto limits = [](std::optional<Watts> rack) {
    design::Design d = world::sample_design();
    d.fleet.front().nodes_per_rack = 4;
    d.fleet.front().failures.racks_per_pdu = 2;
    d.sites.front().rack = rack;
    const Simulated s(d, {.horizon = days(1)});
    const run::Run run = s.simulation.run_of(s.done);
    EXPECT_EQ(run.racks.size(), 32U);  // of 127 nodes
    EXPECT_EQ(run.pdus.size(), 16U);
    EXPECT_EQ(run.racks.back().hosts, 3);
    EXPECT_NEAR(run.pdus[0].mean.base(), (run.racks[0].mean + run.racks[1].mean).base(), 1e-6);
    const auto found = std::ranges::find_if(
        run.sections, [](const figures::Section& x) { return x.name.starts_with("racks of"); });
    return found == run.sections.end() ? std::string("none") : found->limit;
  };
  EXPECT_EQ(limits(kilowatts(60)), "");
  const std::string said = limits(kilowatts(30));
  EXPECT_NE(said.find("racks exceed 30 kW at their highest: 0 (33"), std::string::npos) << said;
}

TEST(RackFigures, rack_power_is_the_mean_and_the_highest_of_its_hosts) {
  HandMadeRun m;
  world::FleetPart& part = m.scenario.fleets[world::kFirstFleet];
  part.racks_per_pdu = 2;
  part.host_power.idle = Watts(1000);
  part.rack_limit = Watts(9000);
  m.done[0].racks.resize(m.scenario.fleets.size());
  for (const double kw : {1.0, 6.0, 4.0}) {
    m.done[0].racks[world::kFirstFleet].push_back(
        {.energy = kilowatts(kw / 2) * hours(1), .highest = kilowatts(kw), .hosts = 4});
  }
  m.done[0].stories[part.site].dark_ns = 900 * kSecondNs;  // a quarter of the hour
  m.tell_all();
  ASSERT_EQ(m.run.racks.size(), 3u);
  EXPECT_NEAR(m.run.racks[1].mean.base(), 4000 * 0.75 + 3000, 1e-6);
  EXPECT_NEAR(m.run.racks[1].highest.base(), 4000 + 6000, 1e-6);
  ASSERT_EQ(m.run.pdus.size(), 2u);
  EXPECT_NEAR(m.run.pdus[0].highest.base(), 5000 + 10000, 1e-6);
  EXPECT_NEAR(m.run.pdus[0].mean.base(), 3500 + 6000, 1e-6);
  EXPECT_NEAR(m.run.pdus[0].limit.base(), 18000, 1e-6);
  EXPECT_EQ(m.run.pdus[0].hosts, 8);
  EXPECT_EQ(m.run.pdus[1].hosts, 4);
  const std::string racks = "racks of " + part.fleet->fleet->name;
  const auto value = [&](const char* id) { return m.value(Layer::facility, racks, id); };
  EXPECT_NEAR(value("rack_mean"), 6000, 1e-6);
  EXPECT_NEAR(value("rack_highest"), 10000, 1e-6);
  EXPECT_NEAR(value("pdu_mean"), 9500, 1e-6);
  EXPECT_NEAR(value("pdu_highest"), 15000, 1e-6);
  EXPECT_NEAR(value("rack_limit"), 9000, 1e-6);
  EXPECT_TRUE(m.section(Layer::facility, racks)->limit.starts_with("1 of 3 racks exceed 9 kW"))
      << m.section(Layer::facility, racks)->limit;
  part.pdu_rating = kilowatts(18.75);
  m.tell_all();
  EXPECT_NEAR(value("pdu_limit"), 15000, 1e-6) << "four fifths of the rating";
  EXPECT_EQ(m.section(Layer::facility, racks)->limit.find("power unit"), std::string::npos)
      << "just carried";
  part.pdu_rating = kilowatts(18.7);
  m.tell_all();
  EXPECT_NE(m.section(Layer::facility, racks)->limit.find("; 1 of 2 power units exceed"),
            std::string::npos);
}

TEST(RackFigures, the_worst_racks_above_their_limit_come_first) {
  HandMadeRun t;
  world::FleetPart& part = t.scenario.fleets[world::kFirstFleet];
  part.rack_limit = kilowatts(9);
  part.host_power.idle = Watts(0);
  t.first().racks.resize(1);
  for (const double kw : {11.0, 9.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0}) {
    t.first().racks[world::kFirstFleet].push_back(
        {.energy = Joules(0), .highest = kilowatts(kw), .hosts = 4});
  }
  t.tell_all();
  const figures::Section* s = t.section(Layer::facility, "racks of " + part.fleet->fleet->name);
  ASSERT_NE(s, nullptr);
  EXPECT_THAT(s->limit, testing::StartsWith("7 of 8 racks exceed 9 kW"));
  EXPECT_THAT(s->limit,
              testing::HasSubstr("7 (17 kW), 6 (16 kW), 5 (15 kW), 4 (14 kW), 3 (13 kW)"));
  part.host_power.peak = Watts(0);
  t.tell_all();
  EXPECT_EQ(t.section(Layer::facility, "racks of " + part.fleet->fleet->name), nullptr);
  EXPECT_TRUE(t.run.racks.empty());
}

// Two racks of 10 kW on a unit of 20 kW, which carries 80 % of that continuously.
TEST(RackFigures, a_power_unit_may_pass_its_limit_while_its_racks_do_not) {
  HandMadeRun t;
  world::FleetPart& part = t.scenario.fleets[world::kFirstFleet];
  part.rack_limit = kilowatts(12);
  part.racks_per_pdu = 2;
  part.pdu_rating = kilowatts(20);
  part.host_power.idle = Watts(0);
  t.first().racks = {{{.energy = Joules(0), .highest = kilowatts(10), .hosts = 4},
                      {.energy = Joules(0), .highest = kilowatts(10), .hosts = 4}}};
  t.tell_all();
  const std::string name = "racks of " + part.fleet->fleet->name;
  const figures::Section* s = t.section(figures::Layer::facility, name);
  ASSERT_NE(s, nullptr);
  EXPECT_THAT(s->limit, testing::StartsWith("1 of 1 power units exceed 16 kW"));
  EXPECT_THAT(s->limit, testing::HasSubstr("0 (20 kW)"));
  part.pdu_rating = kilowatts(25);
  t.tell_all();
  EXPECT_EQ(t.section(figures::Layer::facility, name)->limit, "") << "20 kW, to the watt";
}

}  // namespace
}  // namespace orrery::run
