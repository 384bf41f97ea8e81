#include "model/machine/tier_purchase.h"

#include <gtest/gtest.h>

#include <string>

#include "layers/storage/economics.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

// Appliances of 500 TB, 90 GB/s read and 65 GB/s write: as many as the most demanding figure needs.
TEST(TierPurchase, usual_device_is_bought_if_none_is_named) {
  const Tiered room(
      "tier: hot, kind: parallel-fs, servers: 3, read: 200 GB/s, write: 50 GB/s, "
      "capacity: 2.2 PB");
  EXPECT_EQ(room.bought().device->id, "pfs-ddn-ai400x2");
  EXPECT_EQ(room.bought().devices, 5);
  EXPECT_FALSE(room.bought().as_counted) << "the design counts servers but names no device";
  EXPECT_EQ(room.bought().limit, storage::TierLimit::capacity);
  EXPECT_EQ(room.bought().servers, 0);
  EXPECT_EQ(room.servers().data, 5);
  EXPECT_NEAR(room.servers().each / gbytes_per_s(1), 40, 1e-9);
  EXPECT_EQ(room.servers().metadata, 0);
  const Tiered reads(
      "tier: hot, kind: parallel-fs, read: 600 GB/s, write: 50 GB/s, capacity: 1 PB");
  EXPECT_EQ(reads.bought().devices, 7);
  EXPECT_EQ(reads.bought().limit, storage::TierLimit::read);
  EXPECT_NEAR(reads.servers().each / gbytes_per_s(1), 600 / 7.0, 1e-9);
  const Tiered writes(
      "tier: hot, kind: parallel-fs, read: 9 GB/s, write: 300 GB/s, capacity: 1 PB");
  EXPECT_EQ(writes.bought().devices, 5);
  EXPECT_EQ(writes.bought().limit, storage::TierLimit::write);
  EXPECT_NEAR(writes.servers().each / gbytes_per_s(1), 60, 1e-9);
  const char* usual[][2] = {{"object", "obj-hdd-node"},
                            {"nfs", "ontap-a1k"},
                            {"block", "tlc-gen4"},
                            {"parallel-fs", "pfs-ddn-ai400x2"}};
  for (const auto& [kind, device] : usual) {
    const Tiered s(std::string("tier: hot, read: 1 GB/s, capacity: 1 PB, kind: ") + kind);
    EXPECT_EQ(s.bought().device->id, device) << kind;
  }
}

// Sixteen drives as counted, whatever the capacity; 100 GB/s need 18.
TEST(TierPurchase, devices_are_as_counted_unless_rates_need_more) {
  const std::string drives =
      "kind: parallel-fs, device: tlc-gen4, servers: 2, devices_per_server: 8";
  const Tiered plain("tier: hot, capacity: 900 TB, " + drives);
  EXPECT_EQ(plain.bought().devices, 16);
  EXPECT_TRUE(plain.bought().as_counted);
  EXPECT_EQ(plain.bought().servers, 2);
  EXPECT_NEAR(plain.bought().power.base(), 18 * 1.5, 1e-9);
  EXPECT_NEAR(plain.bought().price.low.base(), 90 * 7.68 * 1.3, 1e-9);
  EXPECT_NEAR(plain.bought().price.high.base(), 180 * 7.68 * 1.3, 1e-9);
  const Tiered equal("tier: hot, capacity: 900 TB, read: 89.6 GB/s, " + drives);
  EXPECT_TRUE(equal.bought().as_counted) << "16 x 5.6 GB/s";
  const Tiered more("tier: hot, capacity: 900 TB, read: 100 GB/s, " + drives);
  EXPECT_EQ(more.bought().devices, 18);
  EXPECT_FALSE(more.bought().as_counted);
  EXPECT_EQ(more.bought().limit, storage::TierLimit::read);
  EXPECT_EQ(more.bought().servers, 3);
  EXPECT_EQ(more.servers().data, 3);
  EXPECT_NEAR(more.servers().each / gbytes_per_s(1), 100 / 3.0, 1e-9);
  const Tiered wired("tier: hot, capacity: 900 TB, server_network: 200 Gb/s, " + drives);
  EXPECT_EQ(wired.servers().each, gbytes_per_s(25));
}

// A petabyte needs 163 bare drives in 14 servers of 12: 168 are bought.
TEST(TierPurchase, open_servers_are_bought_whole) {
  const Tiered s(
      "tier: hot, kind: parallel-fs, device: tlc-gen4, devices_per_server: 12, "
      "protection: { data: 1, parity: 0 }, capacity: 1 PB, metadata: { servers: 2 }");
  ASSERT_TRUE(s.tier().need);
  EXPECT_EQ(s.bought().devices, 168);
  EXPECT_EQ(s.bought().servers, 14);
  EXPECT_EQ(s.bought().limit, storage::TierLimit::capacity);
  EXPECT_FALSE(s.bought().as_counted);
  EXPECT_EQ(s.servers().data, 14);
  EXPECT_EQ(s.servers().metadata, 2);
  EXPECT_NEAR(tier_power(s.tier(), known().catalog()).base(), 168 * 27 + 2 * 600, 1e-6);
}

TEST(TierPurchase, nothing_is_bought_for_nodes_or_providers) {
  const Tiered rented(
      "tier: warm, kind: object, provider: aws, capacity: 1 PB, metadata: { "
      "servers: 3 }");
  EXPECT_EQ(rented.servers().data, 0);
  EXPECT_EQ(rented.servers().each, BytesPerSecond(0));
  EXPECT_EQ(rented.servers().metadata, 0);
  EXPECT_EQ(metadata_of(rented.tier(), known().catalog()).part, nullptr);
  const Tiered local("tier: node-nvme, kind: local-nvme");
  EXPECT_EQ(local.servers().data, 0);
  EXPECT_EQ(metadata_of(local.tier(), known().catalog()).part, nullptr);
  EXPECT_TRUE(local.tier().per_node);
  EXPECT_EQ(local.tier().capacity, terabytes(30.7));
  EXPECT_NEAR(local.tier().devices, 30.7 / 3.84, 1e-12);
  EXPECT_EQ(local.machine.tiers.size(), 1U) << "no second tier is implied";
}

// The servers' networks limit a given rate: 3 servers of 5 GB/s.
TEST(TierPurchase, servers_and_their_price_and_power) {
  const Machine m = with_storage(
      "  - { tier: hot, site: one, kind: parallel-fs, device: tlc-gen4, servers: 3, "
      "devices_per_server: 8, server_network: 40 Gb/s, capacity: 1 PB, read: 40 GB/s, write: 10 "
      "GB/s }\n");
  EXPECT_EQ(m.tiers[design::TierIndex(0)].read, gbytes_per_s(15));
  EXPECT_EQ(m.tiers[design::TierIndex(0)].read_limit, storage::RateLimit::network);
  EXPECT_EQ(m.tiers[design::TierIndex(0)].write, gbytes_per_s(10));
  const TierServers s = servers_of(m.tiers[design::TierIndex(0)], known().catalog());
  EXPECT_EQ(s.each, gbytes_per_s(5));
  const auto bought = purchase_of(m.tiers[design::TierIndex(0)], known().catalog());
  ASSERT_TRUE(bought);
  const storage::OwnTerms terms;
  expect_close(bought->power.base(), 18 * (1 + terms.server_power_share));
  expect_close(bought->price.low.base(), 90 * 7.68 * (1 + terms.server_price_share));
  expect_close(bought->price.high.base(), 180 * 7.68 * (1 + terms.server_price_share));
  expect_close(tier_power(m.tiers[design::TierIndex(0)], known().catalog()).base(),
               bought->power.base() * bought->devices);
}

// An appliance has 90 GB/s, 1,900 W and its own metadata service.
TEST(TierPurchase, appliance_is_its_own_server) {
  const Machine m = with_storage(
      "  - { tier: hot, site: one, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 3, "
      "metadata: { servers: 2 } }\n"
      "  - { tier: cold, site: one, kind: object, device: hdd-cmr24, servers: 4, metadata: { "
      "servers: 2 }, capacity: 1 PB }\n");
  const Tier& hot = m.tiers[design::TierIndex(0)];
  const auto bought = purchase_of(hot, known().catalog());
  ASSERT_TRUE(bought);
  EXPECT_EQ(bought->devices, 3);
  EXPECT_EQ(bought->servers, 0);
  EXPECT_EQ(bought->power, watts(1900));
  expect_close(bought->price.low.base(), 350 * 500);
  EXPECT_EQ(metadata_of(hot, known().catalog()).count, 0);
  const TierServers s = servers_of(hot, known().catalog());
  EXPECT_EQ(s.data, 3);
  expect_close(s.each.base(), std::max(hot.read.base(), hot.write.base()) / 3);
  EXPECT_EQ(s.metadata, 0);
  EXPECT_EQ(tier_power(hot, known().catalog()), watts(5700));
  EXPECT_EQ(hot.rate_error, 0.25);
  EXPECT_FALSE(hot.rates_given);
  const MetadataServers names = metadata_of(m.tiers[design::TierIndex(1)], known().catalog());
  ASSERT_NE(names.part, nullptr);
  EXPECT_EQ(names.part->id, "cpu-2s-server");
  EXPECT_EQ(names.count, 2);
  const auto drives = purchase_of(m.tiers[design::TierIndex(1)], known().catalog());
  expect_close(tier_power(m.tiers[design::TierIndex(1)], known().catalog()).base(),
               drives->power.base() * drives->devices + 2 * 600);
}

}  // namespace
}  // namespace orrery::machine
