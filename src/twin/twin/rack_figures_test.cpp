// Racks in a run: together they draw what the site does, and those above their limit are named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "model/design_text/read_design.h"
#include "twin/twin/run_fixture.h"

namespace orrery::twin {
namespace {

design::Design template_design(const char* name) {
  return design_text::read_design(design_text::find_template(name)->text,
                                  machine::known().catalog())
      .value();
}

void expect_sums(const Simulated& s, const std::string& name) {
  const twin::Run run = s.simulation.run_of(s.done);
  std::vector<double> sums(s.machine.sites.size());
  for (std::size_t f = 0; f < s.done[0].racks.size(); ++f) {
    const FleetPart& part = s.simulation.scenario().fleets[f];
    int hosts = 0;
    for (const cluster::RackDraw& r : s.done[0].racks[f]) {
      hosts += r.hosts;
      sums[part.site] += r.energy.base() + (part.host_power.idle * r.hosts * run.simulated).base();
      EXPECT_LE(r.highest, (part.host_power.peak - part.host_power.idle) * (r.hosts * 1.000001));
      EXPECT_GE(r.highest * run.simulated * 1.000001, r.energy);
    }
    EXPECT_EQ(hosts, part.all_hosts()) << name;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (s.done[0].sites[i].it_energy <= Joules(0)) continue;
    EXPECT_NEAR(sums[i] / s.done[0].sites[i].it_energy.base(), 1, 1e-9) << name;
  }
}

// Windows of requests take long without optimisation: the templates with services run in full.
TEST(Racks, draw_together_what_their_site_draws) {
  std::vector<const char*> names = {"recommender"};
  if (std::getenv("ORRERY_FULL") != nullptr)
    names = {"superpod-h100", "small-lab", "chatbot-zones"};
  for (const char* name : names) {
    expect_sums(Simulated(template_design(name), {.horizon = days(10)}), name);
  }
}

// Runs that shrink and grow, and jobs that are preempted, leave racks and come back.
TEST(Racks, draw_together_what_their_site_draws_under_faults) {
  design::Design d = sample_design();
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

// Four nodes of 10.2 kW to a rack of 30 kW: steps of the run are at 8.4 kW a node.
TEST(Racks, above_their_limit_are_named) {
  const auto limits = [](std::optional<Watts> rack) {
    design::Design d = sample_design();
    d.fleet.front().nodes_per_rack = 4;
    d.fleet.front().failures.racks_per_pdu = 2;
    d.sites.front().rack = rack;
    const Simulated s(d, {.horizon = days(1)});
    const twin::Run run = s.simulation.run_of(s.done);
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
  EXPECT_NE(said.find("racks pass 30 kW at their highest: 0 (33"), std::string::npos) << said;
}

}  // namespace
}  // namespace orrery::twin
