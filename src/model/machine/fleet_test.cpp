#include "model/machine/fleet.h"

#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

// A host has two sockets, 600 GB/s of memory bandwidth, 400 TFLOP/s and 2 TB unless the design says
// otherwise.
TEST(Fleet, host_without_accelerators_is_a_device) {
  const Machine m = machine_of_two_sites(
      "  - { name: c, node: cpu-2s-server, count: 3, site: two }\n"
      "  - { name: d, count: 5, site: one, custom: { accelerators: 0, cores: 64, sockets: 4, "
      "memory: 1 TB, memory_bandwidth: 900 GB/s, matrix_rate: 50 TFLOP/s } }\n"
      "  - { name: n, node: gb200-nvl72, count: 2, site: one }\n");
  const Fleet& plain = m.fleets[design::FleetIndex(0)];
  ASSERT_NE(plain.host, nullptr);
  EXPECT_EQ(plain.host->id, "cpu");
  EXPECT_EQ(plain.host->memory, terabytes(2));
  EXPECT_EQ(plain.host->memory_bandwidth, gbytes_per_s(600));
  EXPECT_EQ(plain.host->peak(catalog::Dtype::bf16), tflops_per_s(400));
  EXPECT_EQ(plain.host->scaleup_link, "none");
  EXPECT_EQ(plain.host->pcie_generation, 5);
  EXPECT_EQ(plain.host->tdp, kilowatts(0.8));
  EXPECT_EQ(plain.host->idle, kilowatts(0.25));
  EXPECT_EQ(plain.host->provenance.reference, "nodes/cpu-2s-server");
  EXPECT_EQ(plain.devices(), 3);
  EXPECT_EQ(plain.device(), plain.host.get());
  EXPECT_EQ(plain.hosts, 3);
  EXPECT_EQ(plain.accelerators, 0);
  EXPECT_EQ(plain.path, "fleet[0]");
  EXPECT_EQ(plain.site->name, "two");
  EXPECT_EQ(plain.region, known().catalog().region("deu"));
  const Fleet& own = m.fleets[design::FleetIndex(1)];
  EXPECT_EQ(own.host->memory, terabytes(1));
  EXPECT_EQ(own.host->memory_bandwidth, gbytes_per_s(900));
  EXPECT_EQ(own.host->peak(catalog::Dtype::bf16), tflops_per_s(50));
  const Fleet& racks = m.fleets[design::FleetIndex(2)];
  EXPECT_EQ(racks.host, nullptr);
  EXPECT_EQ(racks.accelerators, 144);
  EXPECT_EQ(racks.accelerators_per_host, 4);
  EXPECT_EQ(racks.hosts, 36);
  EXPECT_EQ(racks.devices(), 144);
  EXPECT_EQ(units_per_node(racks), 72);
  EXPECT_EQ(units_per_node(plain), 1);
  EXPECT_EQ(find_fleet(m.fleets, "d"), &m.fleets[design::FleetIndex(1)]);
  EXPECT_EQ(find_fleet(m.fleets, ""), &m.fleets[design::FleetIndex(0)]);
  EXPECT_EQ(find_fleet(m.fleets, "x"), nullptr);
}

TEST(Fleet, slices_are_counted_per_accelerator) {
  const Machine m = machine_of_two_sites(
      "  - { name: a, node: dgx-h100, count: 2, mig: { 1g.10gb: 7, 2g.20gb: 3 } }\n");
  ASSERT_EQ(m.fleets[design::FleetIndex(0)].slices.size(), 2U);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].slice()->profile->id, "h100-sxm-1g.10gb");
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].slice()->each, 7);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].slices[1].each, 3);
}

}  // namespace
}  // namespace orrery::machine
