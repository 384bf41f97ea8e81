// The machine that a design describes.
#include "model/machine/machine.h"

#include <gtest/gtest.h>

#include "model/design_text/value_reader.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

TEST(Machine, superpod_matches_its_reference_architecture) {
  const Machine m = lay_out(template_design("superpod-h100"), known());
  ASSERT_EQ(m.fleets.size(), 1U);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].hosts, 127);
  EXPECT_EQ(m.fleets[design::FleetIndex(0)].accelerators, 1016);
  ASSERT_EQ(m.sites.size(), 1U);
  EXPECT_EQ(m.sites[design::SiteIndex(0)].path, "site");
  EXPECT_NE(m.sites[design::SiteIndex(0)].cooling, nullptr);
  // 8 GPUs of a host share NVLink, and each has a NIC of 400 Gb/s.
  const Wiring w = wiring_of(m.fleets[design::FleetIndex(0)], m.main_networks());
  EXPECT_EQ(w.domain, 8);
  EXPECT_DOUBLE_EQ(w.nics_per_host, 8);
  EXPECT_DOUBLE_EQ(w.nic_rate.base(), 50e9);
  EXPECT_EQ(w.network, catalog::NetworkKind::infiniband);
  EXPECT_TRUE(w.sharp);
}

TEST(Machine, copy_outlives_the_original) {
  std::optional<Machine> copy;
  {
    const Machine first = lay_out(template_design("chatbot-zones"), known());
    copy = first;
  }
  ASSERT_EQ(copy->sites.size(), 3U);
  for (const Fleet& f : copy->fleets) EXPECT_FALSE(f.fleet->name.empty());
}

// An NVL72 rack has 18 hosts. An unknown cooling method gives no limit for a rack.
TEST(Machine, hosts_per_rack_and_its_power_limit) {
  design::Design d = small_design("", "node: gb200-nvl72, nodes_per_rack: 2");
  const Machine racks = lay_out(d, known());
  EXPECT_EQ(shared_parts(racks, racks.fleets[design::FleetIndex(0)]).hosts_per_rack, 36);
  d.fleet[0].nodes_per_rack.reset();
  d.sites[0].cooling = "unheard-of";
  const Machine odd = lay_out(d, known());
  EXPECT_EQ(shared_parts(odd, odd.fleets[design::FleetIndex(0)]).hosts_per_rack, 18);
  EXPECT_EQ(shared_parts(odd, odd.fleets[design::FleetIndex(0)]).rack_limit, Watts(0));
}

TEST(Machine, tiers_of_another_site_are_reached_over_a_line) {
  const Machine m = machine_of_two_sites(
      "  - { name: a, node: dgx-h100, count: 2, site: one }\n"
      "  - { name: r, node: dgx-h100, count: 2, site: one, rent: { provider: aws } }\n",
      "fabric:\n  wan: [{ between: [one, two], rate: 8 Gb/s, latency: 30 ms }]\n  storage: { "
      "converged: true }\nstorage:\n  - { tier: hot, site: one, kind: parallel-fs, read: 9 GB/s, "
      "write: 9 GB/s, capacity: 1 PB }\n  - { tier: warm, site: two, kind: nfs, read: 9 GB/s, "
      "write: 9 GB/s, capacity: 1 PB }\n  - { tier: cold, site: two, kind: object, provider: aws, "
      "capacity: 1 PB }\n");
  const Fleet& own = m.fleets[design::FleetIndex(0)];
  EXPECT_FALSE(m.crossing_to(own, m.tiers[design::TierIndex(0)]).leaves_site);
  const Crossing away = m.crossing_to(own, m.tiers[design::TierIndex(1)]);
  EXPECT_TRUE(away.leaves_site);
  ASSERT_TRUE(away.path);
  EXPECT_EQ(away.path->rate, gbytes_per_s(1));
  EXPECT_EQ(away.latency(), milliseconds(30));
  EXPECT_FALSE(m.crossing_to(own, m.tiers[design::TierIndex(2)]).leaves_site) << "reached through its provider";
  EXPECT_FALSE(m.crossing_to(m.fleets[design::FleetIndex(1)], m.tiers[design::TierIndex(1)]).leaves_site) << "a rented fleet";
  Tier inside = m.tiers[design::TierIndex(1)];
  inside.per_node = true;
  EXPECT_FALSE(m.crossing_to(own, inside).leaves_site);
  EXPECT_EQ(&m.storage_wires(own), &m.networks[design::SiteIndex(0)].compute) << "converged: one network for both";
}

}  // namespace
}  // namespace orrery::machine
