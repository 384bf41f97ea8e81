// Queues, batches and halls by hand: what jobs hold, how long tasks take, what a site draws.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/facility/rack.h"
#include "model/design_text/read_design.h"
#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

// Eight nodes of eight accelerators and 96 cores.
Review small_pod(const std::string& workloads, const std::string& fleet = "") {
  const std::string text =
      "orrery: 1\nname: a\nsite: { region: usa, pue: 1.2 }\nfleet: [{ name: f, node: dgx-h100, "
      "count: 8" +
      fleet +
      ", custom: { cores: 96, memory: 1 TB } }]\nstorage: [{ name: fast, tier: hot, kind: "
      "parallel-fs, servers: 4, device: tlc-gen4, devices_per_server: 8, read: 40 GB/s, write: 20 "
      "GB/s, capacity: 200 TB }]\nworkloads: [" +
      workloads + "]\n";
  const auto d = design_text::read_design(text, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return run_stages(d ? *d : design::Design{}, machine::known());
}

// Sizes by one over themselves: (1 + 1 + 1) / (1 + 1/2 + 1/4) = 12/7.
TEST(JobsByHand, SizesAndLoad) {
  const Review r =
      small_pod("{ jobs: { name: j, rate: 6 /h, mean_duration: 2 h, sizes: [1, 2, 4] } }");
  const JobsView& j = r.jobs.at(0);
  EXPECT_EQ(j.label, "j");
  EXPECT_FALSE(j.from_trace);
  EXPECT_NEAR(j.mean_size, 12 / 7.0, 1e-12);
  EXPECT_EQ(j.largest, 4);
  EXPECT_NEAR(j.work_units, 6 * 2 * 12 / 7.0, 1e-9);
  EXPECT_NEAR(j.queue.load, 6 * 2 * 12 / 7.0 / 64, 1e-9);
  EXPECT_FALSE(j.clean);
  const Review weighted = small_pod(
      "{ jobs: { name: j, rate: 6 /h, mean_duration: 2 h, sizes: [1, 4], weights: [3, 1] } }");
  EXPECT_NEAR(weighted.jobs[0].mean_size, 7 / 4.0, 1e-12);
  const Review few =
      small_pod("{ jobs: { name: j, nodes: 2, rate: 6 /h, mean_duration: 1 h, sizes: [8] } }");
  EXPECT_NEAR(few.jobs[0].queue.load, 6 * 8 / 16.0, 1e-9);
  const JobsView none;
  EXPECT_EQ(none.mean_size + none.work_units + none.largest, 0);
  EXPECT_FALSE(none.from_trace);
  EXPECT_EQ(CleanView{}.ratio, 1);
}

// 2,000 core-hours in 96 tasks on two nodes of 96 cores: 96 slots, one node of 8.
TEST(BatchByHand, TasksSlotsAndNodes) {
  const Review r = small_pod("{ batch: { name: b, core_hours: 960, tasks: 96 } }");
  const BatchView& b = r.batches.at(0);
  EXPECT_TRUE(b.on_cores);
  EXPECT_EQ(b.at_once, 96);
  EXPECT_NEAR(b.nodes, 1, 1e-12);
  EXPECT_NEAR(b.compute / hours(1), 10, 1e-9);
  EXPECT_EQ(b.duration, b.compute);
  EXPECT_FALSE(b.bound);
  const Review many = small_pod("{ batch: { name: b, nodes: 2, core_hours: 960, tasks: 480 } }");
  EXPECT_EQ(many.batches[0].at_once, 192);
  EXPECT_NEAR(many.batches[0].nodes, 2, 1e-12);
  EXPECT_NEAR(many.batches[0].compute / hours(1), 2 * 2.5, 1e-9) << "two and a half rounds";
  const Review memory =
      small_pod("{ batch: { name: b, core_hours: 960, tasks: 480, memory: 200 GB } }");
  EXPECT_EQ(memory.batches[0].at_once, 40) << "five of 200 GB on each of eight";
  const Review accelerators =
      small_pod("{ batch: { name: b, accelerator_hours: 640, tasks: 640 } }");
  EXPECT_FALSE(accelerators.batches[0].on_cores);
  EXPECT_EQ(accelerators.batches[0].at_once, 64);
  EXPECT_NEAR(accelerators.batches[0].compute / hours(1), 10, 1e-9);
  EXPECT_NEAR(accelerators.batches[0].nodes, 8, 1e-12);
  const BatchView none;
  EXPECT_EQ(none.at_once + none.nodes, 0);
  EXPECT_EQ(none.again, 1);
  EXPECT_FALSE(none.on_cores);
  EXPECT_FALSE(MigView{}.fits);
}

// 144 TB at 40 GB/s is an hour; 144 TB out at 20 GB/s are two.
TEST(BatchByHand, ReadsWritesAndBounds) {
  const std::string data = "dataset: { kind: tabular, size: 144 TB, tier: fast }";
  const Review read = small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, " + data + " } }");
  EXPECT_NEAR(read.batches[0].read / hours(1), 1, 1e-9);
  EXPECT_EQ(read.batches[0].duration, read.batches[0].read);
  EXPECT_EQ(read.batches[0].tier, &read.tiers()[design::TierIndex(0)]);
  const Review write = small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, " + data +
                                 ", output: 144 TB, repeat: { every: 1 d, window: 5 h }, deadline: "
                                 "3 h } }");
  EXPECT_NEAR(write.batches[0].write / hours(1), 2, 1e-9);
  EXPECT_EQ(write.batches[0].duration, write.batches[0].write);
  EXPECT_EQ(write.batches[0].bound, hours(3));
  const Review window = small_pod(
      "{ batch: { name: b, core_hours: 48, tasks: 96, repeat: { every: 1 d, window: 5 h } } }");
  EXPECT_EQ(window.batches[0].bound, hours(5));
  const Review every =
      small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, repeat: { every: 1 d } } }");
  EXPECT_EQ(every.batches[0].bound, days(1));
  const Review deadline =
      small_pod("{ batch: { name: b, core_hours: 48, tasks: 96, deadline: 7 h } }");
  EXPECT_EQ(deadline.batches[0].bound, hours(7));
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
// idle to peak; spares idle.
TEST(SiteByHand, WhatStandsThereDraws) {
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
  EXPECT_EQ(load_share(SiteView{}), 1);
}

// Three nodes of 10.2 kW a rack of 35: ten nodes with their spares are four racks.
TEST(SiteByHand, RacksAndTheirHeat) {
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
  EXPECT_FALSE(air.sites[0].fleets[0].rack.air_heat_is_a_legacy_rack) << "all of it is air";
}

// Accelerators held to 500 of 700 W: 1.6 kW off the nameplate.
TEST(SiteByHand, ACapTakesOffTheNameplate) {
  const Review r = hall("pue: 1.25", ", power_cap: 500 W");
  EXPECT_NEAR(r.sites[0].fleets[0].node.nameplate / kilowatts(1), 8.6, 1e-9);
}

TEST(SiteByHand, NodesUnderASitesPower) {
  const Review probe = hall("pue: 1.25");
  const SiteView& v = probe.sites[0];
  const double per_node = 10.2 + v.fabric / kilowatts(1) / 10;
  const double other = v.it_nameplate / kilowatts(1) - 10 * per_node;
  const auto nodes = [&](double kw) {
    const Review r = hall("pue: 1.25, power: " + std::to_string(kw) + " kW");
    EXPECT_EQ(r.sites[0].budget_fleet.value(), 0U);
    return r.sites[0].budget->nodes;
  };
  for (const double kw : {60.0, 100.0, 400.0, 900.0}) {
    const double fit = std::floor((kw / 1.25 - other) / per_node);
    const bool stands = v.draw_peak / kilowatts(1) <= kw;
    EXPECT_EQ(nodes(kw), std::max(stands ? 10 : 0, static_cast<int>(fit * 0.99))) << kw;
  }
}

}  // namespace
}  // namespace orrery::review
