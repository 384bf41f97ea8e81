// A machine's nodes as its scheduler sees them: the tree of switches, and which jobs may pass
// others.
#include "twin/world/fleet_pool.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "model/design/slurm_fleets.h"
#include "model/jobs/build_machine.h"
#include "twin/world/power_gate.h"
#include "twin/world/recorder.h"
#include "twin/world/sample_fixture.h"

namespace orrery::world {

namespace {

std::vector<int> placed_on(const cluster::NodePool& pool, int hosts) {
  std::vector<cluster::NodeShare> where;
  std::vector<int> nodes;
  if (!pool.place({.gpus = 8 * hosts, .per_node = 8}, nullptr, where)) return nodes;
  for (const cluster::NodeShare& s : where) nodes.push_back(s.node);
  return nodes;
}

machine::Machine pooled(int hosts, design::PlacementTopology topology) {
  design::Design d = sample_design();
  d.fleet.front().count = hosts;
  d.scheduler.topology = topology;
  d.workloads.clear();
  return jobs::build_machine(std::move(d), machine::known());
}

// A gang as large as a leaf goes below one leaf, although the leaf before has free hosts.
TEST(FleetPool, a_gang_is_placed_below_the_lowest_switch_that_holds_it) {
  const machine::Machine m = pooled(120, design::PlacementTopology::tree);
  const machine::Fleet& fleet = m.fleets[kFirstFleet];
  cluster::NodePool pool = pool_of_fleet(m, fleet, 3, 8);
  EXPECT_EQ(pool.nodes(), 123);
  EXPECT_EQ(pool.gpus(), 123 * 8);
  EXPECT_EQ(pool.rule(), cluster::PlacementRule::tree);
  const int leaf = machine::leaf_set(m.networks_of(fleet).compute, 123).hosts;
  ASSERT_GT(leaf, 1);
  ASSERT_LT(2 * leaf, 123);
  std::vector<cluster::NodeShare> first = {{.node = 0, .gpus = 8}};
  pool.take(first);
  const std::vector<int> gang = placed_on(pool, leaf);
  ASSERT_EQ(gang.size(), static_cast<std::size_t>(leaf));
  EXPECT_EQ(gang.front(), leaf);
  EXPECT_EQ(gang.back(), 2 * leaf - 1);
  // One host fewer fits the first leaf.
  EXPECT_EQ(placed_on(pool, leaf - 1).back(), leaf - 1);
  const machine::Machine none = pooled(120, design::PlacementTopology::none);
  EXPECT_EQ(pool_of_fleet(none, none.fleets[kFirstFleet], 0, 8).rule(),
            cluster::PlacementRule::pack);
}

TEST(FleetPool, a_pool_of_one_host_has_no_tree) {
  const machine::Machine one = pooled(1, design::PlacementTopology::tree);
  EXPECT_EQ(pool_of_fleet(one, one.fleets[kFirstFleet], 0, 8).rule(), cluster::PlacementRule::pack);
  EXPECT_EQ(pool_of_fleet(one, one.fleets[kFirstFleet], 1, 8).rule(), cluster::PlacementRule::tree);
  EXPECT_EQ(pool_of(one).rule(), cluster::PlacementRule::pack);
  const machine::Machine two = pooled(2, design::PlacementTopology::tree);
  EXPECT_EQ(pool_of(two).rule(), cluster::PlacementRule::tree);
  EXPECT_EQ(pool_of(two).nodes(), 2);
  const machine::Machine plain = pooled(2, design::PlacementTopology::none);
  EXPECT_EQ(pool_of(plain).rule(), cluster::PlacementRule::pack);
}

// If nothing is known of the wires, all hosts are below one switch.
TEST(FleetPool, hosts_of_an_unknown_network_share_one_leaf) {
  machine::Machine m = pooled(40, design::PlacementTopology::tree);
  for (machine::Networks& n : m.networks) n.compute.topology.reset();
  cluster::NodePool pool = pool_of_fleet(m, m.fleets[kFirstFleet], 0, 8);
  std::vector<cluster::NodeShare> first = {{.node = 0, .gpus = 8}};
  pool.take(first);
  EXPECT_EQ(placed_on(pool, 20).front(), 1);
  EXPECT_EQ(placed_on(pool, 20).back(), 20);
}

// Only fleets of a design that Slurm runs and that have accelerators.
TEST(FleetPool, a_replay_uses_the_accelerator_fleets_of_slurm) {
  design::Design d = sample_design();
  d.workloads.clear();
  d.fleet.front().count = 3;
  d.fleet.push_back(d.fleet.front());
  d.fleet.back().name = "pods";
  d.fleet.back().count = 5;
  d.fleet.back().partition = design::Partition::kubernetes;
  d.fleet.push_back(d.fleet.front());
  d.fleet.back().name = "cores";
  d.fleet.back().node = "cpu-2s-server";
  d.fleet.back().count = 7;
  const machine::Machine m = jobs::build_machine(std::move(d), machine::known());
  EXPECT_EQ(pool_of(m).nodes(), 3);
  EXPECT_EQ(pool_of(m).gpus(), 24);
}

TEST(FleetPool, the_design_chooses_the_backfill_variant) {
  EXPECT_EQ(variant_of(design::Backfill::none), cluster::BackfillVariant::fifo);
  EXPECT_EQ(variant_of(design::Backfill::easy), cluster::BackfillVariant::easy);
  EXPECT_EQ(variant_of(design::Backfill::conservative), cluster::BackfillVariant::conservative);
  EXPECT_EQ(variant_of(design::Backfill::slurm), cluster::BackfillVariant::slurm);
  design::Design d = sample_design();
  d.workloads.clear();
  d.scheduler.backfill = design::Backfill::conservative;
  const machine::Machine slurm = jobs::build_machine(d, machine::known());
  EXPECT_EQ(backfill_of(slurm, slurm.fleets[kFirstFleet]), cluster::BackfillVariant::conservative);
  d.scheduler.kind = design::SchedulerKind::kubernetes;
  d.fleet.front().partition = design::Partition::kubernetes;
  const machine::Machine pods = jobs::build_machine(d, machine::known());
  EXPECT_EQ(backfill_of(pods, pods.fleets[kFirstFleet]), cluster::BackfillVariant::best_effort);
}

}  // namespace
}  // namespace orrery::world
