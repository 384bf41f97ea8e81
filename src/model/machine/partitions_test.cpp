#include "model/machine/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

using testing::IsEmpty;

design::Design three_fleets() {
  design::Design d;
  const auto add = [&d](const char* name, const char* node, int count, design::Partition whose) {
    d.fleet.push_back({.name = name, .node = node, .count = count});
    d.fleet.back().partition = whose;
  };
  add("pods", "dgx-h100", 4, design::Partition::kubernetes);
  add("racks", "gb200-nvl72", 4, design::Partition::slurm);
  add("hosts", "dgx-h100", 8, design::Partition::slurm);
  d.scheduler.kind = design::SchedulerKind::both;
  return d;
}

// A rack is 18 hosts. Partitions with a node count follow one another, even with others between
// them.
TEST(Partitions, partitions_with_nodes_do_not_overlap) {
  design::Design d = three_fleets();
  d.scheduler.partitions = {{.name = "a", .nodes = 1},
                            {.name = "b", .fleet = "hosts", .nodes = 3},
                            {.name = "all", .fleet = "racks"},
                            {.name = "c", .fleet = "racks", .nodes = 2}};
  const auto fleets = build_fleets(d, known().catalog());
  ASSERT_EQ(fleets.size(), 3U);
  EXPECT_TRUE(partitions_of(d, fleets, fleets[design::FleetIndex(0)]).empty());
  const auto racks = partitions_of(d, fleets, fleets[design::FleetIndex(1)]);
  ASSERT_EQ(racks.size(), 3U);
  EXPECT_EQ(racks[0].partition->name, "a");  // Slurm's first fleet, since it names none
  EXPECT_EQ(racks[0].first, 0);
  EXPECT_EQ(racks[0].hosts, 18);
  EXPECT_EQ(racks[1].first, 0);
  EXPECT_EQ(racks[1].hosts, 72);
  EXPECT_EQ(racks[2].first, 18);
  EXPECT_EQ(racks[2].hosts, 36);
  const auto hosts = partitions_of(d, fleets, fleets[design::FleetIndex(2)]);
  ASSERT_EQ(hosts.size(), 1U);
  EXPECT_EQ(hosts[0].first, 0);
  EXPECT_EQ(hosts[0].hosts, 3);

  design::Workload work;
  EXPECT_EQ(partition_of(racks, work), 0U);
  work.terms.partition = "c";
  EXPECT_EQ(partition_of(racks, work), 2U);
}

TEST(Partitions, hosts_are_numbered_from_the_first) {
  const Machine m = machine_of_two_sites(
      "  - { name: k, node: dgx-h100, count: 2, site: one, partition: kubernetes }\n"
      "  - { name: s, node: gb200-nvl72, count: 3, site: one, partition: slurm }\n",
      "scheduler:\n  kind: both\n  partitions: [{ name: p, nodes: 1 }, { name: q, nodes: 2 }, { "
      "name: all, fleet: s }]\n");
  EXPECT_THAT(partitions_of(m.design(), m.fleets, m.fleets[design::FleetIndex(0)]), IsEmpty());
  const auto parts = partitions_of(m.design(), m.fleets, m.fleets[design::FleetIndex(1)]);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].first, 0);
  EXPECT_EQ(parts[0].hosts, 18);
  EXPECT_EQ(parts[1].first, 18);
  EXPECT_EQ(parts[1].hosts, 36);
  EXPECT_EQ(parts[2].first, 0);
  EXPECT_EQ(parts[2].hosts, 54);
  design::Workload w;
  w.terms.partition = "q";
  EXPECT_EQ(partition_of(parts, w), 1U);
  w.terms.partition = "";
  EXPECT_EQ(partition_of(parts, w), 0U);
  EXPECT_EQ(reserved_fleet(m.design(), m.fleets, {}), &m.fleets[design::FleetIndex(1)]);
  EXPECT_EQ(reserved_fleet(m.design(), m.fleets, {.fleet = "k"}), &m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(reserved_fleet(m.design(), m.fleets, {.fleet = "x"}), nullptr);
}

TEST(Partitions, first_of_two_partitions_with_one_name) {
  const design::SchedulerPartition one{.name = "same", .nodes = 1}, two{.name = "same"};
  design::Workload work;
  work.terms.partition = "same";
  EXPECT_EQ(partition_of({{.partition = &one}, {.partition = &two}}, work), 0U) << "the first";
  design::Design d;
  d.fleet.push_back({.name = "none", .node = "dgx-h100", .count = 0});
  d.scheduler.kind = design::SchedulerKind::slurm;
  d.scheduler.partitions = {one, two};
  const auto fleets = build_fleets(d, known().catalog());
  const auto parts = partitions_of(d, fleets, fleets[design::FleetIndex(0)]);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].hosts, 0) << "a fleet of no nodes";
  EXPECT_EQ(parts[1].hosts, 0);
}

}  // namespace
}  // namespace orrery::machine
