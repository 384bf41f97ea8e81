// What is bought for a tier and what hangs on its networks, by hand; options of its parts, and how
// long its data lasts.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/tier_size.h"

namespace orrery::jobs {
namespace {

struct Stand {
  explicit Stand(const std::string& fields) {
    const auto read = design_text::read_design(
        "orrery: 1\nname: a\nsite: { name: one, region: usa }\nfleet: [{ name: f, node: dgx-h100, "
        "count: 4 }]\nstorage: [{ name: t, " +
            fields + " }]\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << fields << (read ? "" : to_text(read.error()));
    machine = build_machine(read ? *read : design::Design{}, machine::known());
  }
  const machine::Tier& tier() const { return machine.tiers.front(); }
  machine::TierPurchase bought() const {
    return machine::purchase_of(tier(), machine::known().catalog()).value();
  }
  machine::TierServers servers() const {
    return machine::servers_of(tier(), machine::known().catalog());
  }

  machine::Machine machine;
};

// Of appliances of 500 TB, 90 and 65 GB/s, as many as the most of what is asked for takes.
TEST(TierBought, WithoutADeviceIsTheUsualOne) {
  const Stand room(
      "tier: hot, kind: parallel-fs, servers: 3, read: 200 GB/s, write: 50 GB/s, "
      "capacity: 2.2 PB");
  EXPECT_EQ(room.bought().device->id, "pfs-ddn-ai400x2");
  EXPECT_EQ(room.bought().devices, 5);
  EXPECT_FALSE(room.bought().as_counted) << "servers of nobody knows what";
  EXPECT_EQ(room.bought().limit, storage::TierLimit::capacity);
  EXPECT_EQ(room.bought().servers, 0);
  EXPECT_EQ(room.servers().data, 5);
  EXPECT_NEAR(room.servers().each / gbytes_per_s(1), 40, 1e-9);
  EXPECT_EQ(room.servers().metadata, 0);
  const Stand reads("tier: hot, kind: parallel-fs, read: 600 GB/s, write: 50 GB/s, capacity: 1 PB");
  EXPECT_EQ(reads.bought().devices, 7);
  EXPECT_EQ(reads.bought().limit, storage::TierLimit::read);
  EXPECT_NEAR(reads.servers().each / gbytes_per_s(1), 600 / 7.0, 1e-9);
  const Stand writes("tier: hot, kind: parallel-fs, read: 9 GB/s, write: 300 GB/s, capacity: 1 PB");
  EXPECT_EQ(writes.bought().devices, 5);
  EXPECT_EQ(writes.bought().limit, storage::TierLimit::write);
  EXPECT_NEAR(writes.servers().each / gbytes_per_s(1), 60, 1e-9);
  const char* usual[][2] = {{"object", "obj-hdd-node"},
                            {"nfs", "ontap-a1k"},
                            {"block", "tlc-gen4"},
                            {"parallel-fs", "pfs-ddn-ai400x2"}};
  for (const auto& [kind, device] : usual) {
    const Stand s(std::string("tier: hot, read: 1 GB/s, capacity: 1 PB, kind: ") + kind);
    EXPECT_EQ(s.bought().device->id, device) << kind;
  }
}

// Sixteen drives are counted, whatever the capacity; 18 give 100 GB/s.
TEST(TierBought, AsCountedUnlessRatesTakeMore) {
  const std::string drives =
      "kind: parallel-fs, device: tlc-gen4, servers: 2, devices_per_server: 8";
  const Stand plain("tier: hot, capacity: 900 TB, " + drives);
  EXPECT_EQ(plain.bought().devices, 16);
  EXPECT_TRUE(plain.bought().as_counted);
  EXPECT_EQ(plain.bought().servers, 2);
  EXPECT_NEAR(plain.bought().power.base(), 18 * 1.5, 1e-9);
  EXPECT_NEAR(plain.bought().price.low.base(), 90 * 7.68 * 1.3, 1e-9);
  EXPECT_NEAR(plain.bought().price.high.base(), 180 * 7.68 * 1.3, 1e-9);
  const Stand equal("tier: hot, capacity: 900 TB, read: 89.6 GB/s, " + drives);
  EXPECT_TRUE(equal.bought().as_counted) << "16 x 5.6";
  const Stand more("tier: hot, capacity: 900 TB, read: 100 GB/s, " + drives);
  EXPECT_EQ(more.bought().devices, 18);
  EXPECT_FALSE(more.bought().as_counted);
  EXPECT_EQ(more.bought().limit, storage::TierLimit::read);
  EXPECT_EQ(more.bought().servers, 3);
  EXPECT_EQ(more.servers().data, 3);
  EXPECT_NEAR(more.servers().each / gbytes_per_s(1), 100 / 3.0, 1e-9);
  const Stand wired("tier: hot, capacity: 900 TB, server_network: 200 Gb/s, " + drives);
  EXPECT_EQ(wired.servers().each, gbytes_per_s(25));
}

// A petabyte on bare drives is 163 of them, in 14 servers of 12: 168 are bought.
TEST(TierBought, WhereTheServersAreOpen) {
  const Stand s(
      "tier: hot, kind: parallel-fs, device: tlc-gen4, devices_per_server: 12, "
      "protection: { data: 1, parity: 0 }, capacity: 1 PB, metadata: { servers: 2 }");
  ASSERT_TRUE(s.tier().need);
  EXPECT_EQ(s.bought().devices, 168);
  EXPECT_EQ(s.bought().servers, 14);
  EXPECT_EQ(s.bought().limit, storage::TierLimit::capacity);
  EXPECT_FALSE(s.bought().as_counted);
  EXPECT_EQ(s.servers().data, 14);
  EXPECT_EQ(s.servers().metadata, 2);
  EXPECT_NEAR(machine::tier_power(s.tier(), machine::known().catalog()).base(), 168 * 27 + 2 * 600,
              1e-6);
}

TEST(TierBought, NothingOfNodesAndProviders) {
  const Stand rented(
      "tier: warm, kind: object, provider: aws, capacity: 1 PB, metadata: { "
      "servers: 3 }");
  EXPECT_EQ(rented.servers().data, 0);
  EXPECT_EQ(rented.servers().each, BytesPerSecond(0));
  EXPECT_EQ(rented.servers().metadata, 0);
  EXPECT_EQ(metadata_of(rented.tier(), machine::known().catalog()).part, nullptr);
  const Stand local("tier: node-nvme, kind: local-nvme");
  EXPECT_EQ(local.servers().data, 0);
  EXPECT_EQ(metadata_of(local.tier(), machine::known().catalog()).part, nullptr);
  EXPECT_TRUE(local.tier().per_node);
  EXPECT_EQ(local.tier().capacity, terabytes(30.7));
  EXPECT_NEAR(local.tier().devices, 30.7 / 3.84, 1e-12);
  EXPECT_EQ(local.machine.tiers.size(), 1U) << "the nodes' drives are this tier";
}

TEST(TierParts, OptionsFollowFromWhatIsSaid) {
  const std::string drives = "tier: hot, kind: parallel-fs, device: tlc-gen4, servers: 8";
  const storage::TierOptions plain = options_of(Stand(drives).tier());
  EXPECT_EQ(plain.protection.data, 8);
  EXPECT_EQ(plain.protection.parity, 2);
  EXPECT_EQ(plain.protection.fill, 0.8);
  EXPECT_EQ(plain.server.devices, 24);
  EXPECT_EQ(plain.server.cores, 64);
  EXPECT_EQ(plain.server.network, storage::kUnlimitedRate);
  EXPECT_EQ(plain.delivered, 0.8);
  EXPECT_FALSE(plain.encrypted);
  const storage::TierOptions said = options_of(
      Stand(drives + ", protection: { data: 6, parity: 3 }, usable: 0.5, server_cores: 12, "
                     "server_network: 200 Gb/s, devices_per_server: 10, encrypted: true")
          .tier());
  EXPECT_EQ(said.protection.data, 6);
  EXPECT_EQ(said.protection.parity, 3);
  EXPECT_NEAR(said.protection.fill, 0.75, 1e-12) << "half of all is what six of nine leave";
  EXPECT_EQ(said.server.cores, 12);
  EXPECT_EQ(said.server.devices, 10);
  EXPECT_EQ(said.server.network, gbytes_per_s(25));
  EXPECT_TRUE(said.encrypted);
  const storage::TierOptions left = options_of(Stand(drives + ", usable: 0.6").tier());
  EXPECT_EQ(left.protection.data, 1);
  EXPECT_EQ(left.protection.parity, 0);
  EXPECT_EQ(left.protection.fill, 0.6);
  const storage::TierOptions sold =
      options_of(Stand("tier: hot, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 2").tier());
  EXPECT_EQ(sold.server.cores, 0);
  EXPECT_EQ(sold.server.devices, 1);
  const storage::TierOptions lent = options_of(
      Stand("tier: hot, kind: object, provider: aws, device: tlc-gen4, capacity: 1 PB").tier());
  EXPECT_EQ(lent.server.cores, 0);
  const storage::TierOptions local = options_of(Stand("tier: node-nvme, kind: local-nvme").tier());
  EXPECT_EQ(local.server.cores, 0);
  EXPECT_EQ(local.delivered, 1);
  EXPECT_EQ(local.protection.data, 1);
  EXPECT_EQ(local.protection.parity, 0);
  EXPECT_EQ(local.protection.fill, 1);
}

TEST(TierParts, RoomThatCanBeUsed) {
  const auto capacity = [](const std::string& fields) {
    return Stand("tier: hot, " + fields).tier().capacity / terabytes(1);
  };
  const std::string drives =
      "kind: parallel-fs, device: tlc-gen4, servers: 2, devices_per_server: 5";
  EXPECT_NEAR(capacity(drives), 76.8 * 0.64, 1e-9);
  EXPECT_NEAR(capacity(drives + ", usable: 0.5"), 38.4, 1e-9);
  EXPECT_NEAR(capacity(drives + ", capacity: 44 TB"), 44, 1e-9);
  EXPECT_NEAR(capacity("kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 3"), 1500, 1e-9);
  EXPECT_NEAR(capacity("kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 3, usable: 0.9"), 1350,
              1e-9);
  EXPECT_EQ(capacity("kind: object, provider: aws"), 0) << "without a bound";
  EXPECT_GT(capacity("kind: object, provider: aws, device: tlc-gen4"), 0);
}

// The same drives, code and servers asked of the law itself.
TEST(TierParts, DataOutlivesDrives) {
  const auto nines = [](const std::string& fields, double failures = 1) -> double {
    const Stand s("tier: hot, " + fields);
    const auto d = machine::durability_of(s.tier(), machine::known().catalog(), failures);
    return d ? d->nines : 0;
  };
  const auto law = [](const char* device, double devices, double servers, int data, int parity,
                      int each, double failures = 1) {
    storage::TierOptions o{.protection = {.data = data, .parity = parity}};
    o.server.network = storage::kUnlimitedRate;
    o.server.devices = each;
    o.server.cores = 64;
    return storage::tier_durability({devices, servers},
                                    *machine::known().catalog().storage_device(device), o, failures)
        ->nines;
  };
  const std::string drives = "kind: parallel-fs, device: tlc-gen4, devices_per_server: 12, ";
  EXPECT_NEAR(nines(drives + "servers: 6"), law("tlc-gen4", 72, 6, 8, 2, 12), 1e-9);
  EXPECT_NEAR(nines(drives + "servers: 6", 2.5), law("tlc-gen4", 72, 6, 8, 2, 12, 2.5), 1e-9);
  EXPECT_NEAR(nines(drives + "servers: 9, protection: { data: 4, parity: 2 }"),
              law("tlc-gen4", 108, 9, 4, 2, 12), 1e-9);
  EXPECT_GT(nines(drives + "servers: 5"), 0);
  EXPECT_EQ(nines(drives + "servers: 4"), 0) << "8 + 2 is spread over five at the least";
  EXPECT_GT(nines(drives + "servers: 4, protection: { data: 2, parity: 1 }"), 0);
  // An object node is 24 disks of 24 TB.
  EXPECT_NEAR(nines("kind: object, device: obj-hdd-node, servers: 8"),
              law("hdd-cmr24", 8, 8, 8, 2, 24), 1e-9);
  EXPECT_EQ(nines("kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 9"), 0);
  EXPECT_EQ(nines("kind: object, provider: aws, device: tlc-gen4, servers: 9"), 0);
  const Stand local("tier: node-nvme, kind: local-nvme");
  EXPECT_FALSE(machine::durability_of(local.tier(), machine::known().catalog()));
}

}  // namespace
}  // namespace orrery::jobs
