#include "model/machine/partitions.h"

#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"

namespace orrery::machine {
namespace {

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

// A rack is 18 hosts. Those with a number lie one after the other, whatever stands between them.
TEST(Partitions, LieApartInTheOrderOfTheFile) {
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

}  // namespace
}  // namespace orrery::machine
