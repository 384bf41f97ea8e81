#include "layers/storage/tier_sizing.h"

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"

namespace orrery::storage {
namespace {

const catalog::StorageDevice& device_of(const char* id) {
  static const Result<catalog::Catalog> catalog = catalog::load_embedded_catalog();
  static const catalog::StorageDevice none{};
  const catalog::StorageDevice* found = catalog ? catalog->storage_device(id) : nullptr;
  EXPECT_NE(found, nullptr) << id;
  return found == nullptr ? none : *found;
}

// 10 PB at 50 GB/s: 24 TB disks (8 + 2, 80 % full: 15.36 TB usable, 0.228 GB/s delivered) are
// bought for capacity; 500 GB/s buys them for speed.
TEST(TierSizing, CapacityOrBandwidthByHand) {
  TierDemand demand{
      .capacity = petabytes(10), .read = gbytes_per_s(50), .write = {}, .requests = {}};
  TierSize s = size_tier(demand, device_of("hdd-cmr24"), {});
  EXPECT_EQ(s.limit, TierLimit::capacity);
  EXPECT_EQ(s.devices, 652);  // 10000 / 15.36 = 651.04
  EXPECT_EQ(s.servers, 28);   // of 24 drives
  EXPECT_NEAR(s.by_read, 50 / 0.228, 0.01);

  demand.read = gbytes_per_s(500);
  s = size_tier(demand, device_of("hdd-cmr24"), {});
  EXPECT_EQ(s.limit, TierLimit::read);
  EXPECT_NEAR(s.devices, 2193, 1);
  EXPECT_GE(s.usable, demand.capacity);
  EXPECT_GE(s.read, demand.read);
}

TEST(TierSizing, WritesPayForParity) {
  const TierDemand demand{
      .capacity = terabytes(1), .read = {}, .write = gbytes_per_s(100), .requests = {}};
  const TierSize s = size_tier(demand, device_of("qlc-61"), {});
  EXPECT_EQ(s.limit, TierLimit::write);
  // 3.0 GB/s x 0.8 delivered / 1.25 for 8 + 2.
  EXPECT_EQ(s.devices, 53);
}

TEST(TierSizing, RequestsBindDisksNotFlash) {
  const TierDemand demand{
      .capacity = terabytes(100), .read = {}, .write = {}, .requests = PerSecond(20000)};
  EXPECT_EQ(size_tier(demand, device_of("hdd-cmr24"), {}).limit, TierLimit::requests);
  EXPECT_EQ(size_tier(demand, device_of("tlc-gen4"), {}).limit, TierLimit::capacity);
}

TEST(TierSizing, NetworkMayNeedMoreServersThanDrives) {
  const TierDemand demand{
      .capacity = terabytes(100), .read = gbytes_per_s(200), .write = {}, .requests = {}};
  TierOptions options;
  options.server.network = gbits_per_s(100);
  const TierSize s = size_tier(demand, device_of("tlc-gen5"), options);
  EXPECT_EQ(s.servers_for, ServersFor::network);
  EXPECT_EQ(s.servers, 16);
}

// 25 drives read 25 x 14.5 x 0.8 GB/s, but two servers carry 50 GB/s each; of what they take in,
// two shards in ten are parity. A write of 90 GB/s is 112.5 GB/s on the wire, so it takes a third
// one.
TEST(TierSizing, RatesPassTheServersNetwork) {
  TierDemand demand{.capacity = terabytes(122),
                    .read = gbytes_per_s(50),
                    .write = gbytes_per_s(70),
                    .requests = {}};
  TierSize s = size_tier(demand, device_of("tlc-gen5"), {});
  EXPECT_EQ(s.servers, 2);
  EXPECT_TRUE(s.network_limits);
  EXPECT_NEAR(s.read / gbytes_per_s(1), 100, 1e-9);
  EXPECT_NEAR(s.write / gbytes_per_s(1), 80, 1e-9);
  demand.write = gbytes_per_s(90);
  s = size_tier(demand, device_of("tlc-gen5"), {});
  EXPECT_EQ(s.servers, 3);
  EXPECT_EQ(s.servers_for, ServersFor::network);
  EXPECT_GE(s.write, demand.write);
  // Disks are slower than the network in front of them: 28 servers of 24 that read 0.228 GB/s each.
  s = size_tier({.capacity = petabytes(10), .read = {}, .write = {}, .requests = {}},
                device_of("hdd-cmr24"), {});
  EXPECT_FALSE(s.network_limits);
  EXPECT_NEAR(s.read / gbytes_per_s(1), 652 * 0.228, 0.1);
}

// An appliance sells what it delivers: 500 GB/s of AI400X2 at 90 GB/s is 6 of them.
TEST(TierSizing, AppliancesAreTakenAsSold) {
  const TierDemand demand{.capacity = petabytes(2),
                          .read = gbytes_per_s(500),
                          .write = gbytes_per_s(250),
                          .requests = {}};
  const TierSize s = size_tier(demand, device_of("pfs-ddn-ai400x2"), {});
  EXPECT_EQ(s.devices, 6);
  EXPECT_EQ(s.servers, 6);
  EXPECT_EQ(s.limit, TierLimit::read);
}

TEST(TierSizing, FormsBySale) {
  EXPECT_EQ(form_of(device_of("hdd-cmr24")), DeviceForm::drive);
  EXPECT_EQ(form_of(device_of("lto9")), DeviceForm::drive);
  EXPECT_EQ(form_of(device_of("pfs-vast-ebox")), DeviceForm::appliance);
  EXPECT_EQ(form_of(device_of("ontap-a1k")), DeviceForm::appliance);
  // A node of 576 TB raw holds 576 x 0.8 x 8/11 usable under 8 + 3, and is a server by itself.
  ASSERT_EQ(form_of(device_of("obj-hdd-node")), DeviceForm::server);
  TierOptions wide;
  wide.protection = {.data = 8, .parity = 3};
  const TierDemand demand{.capacity = petabytes(20), .read = {}, .write = {}, .requests = {}};
  const TierSize s = size_tier(demand, device_of("obj-hdd-node"), wide);
  EXPECT_EQ(s.devices, 60);  // 20000 / 335.1 = 59.7
  EXPECT_EQ(s.servers, 60);
}

TEST(TierSizing, MoreDemandNeverNeedsLess) {
  double before = 0;
  for (double scale = 0.1; scale < 100; scale *= 1.7) {
    const TierDemand demand{.capacity = petabytes(1) * scale,
                            .read = gbytes_per_s(100) * scale,
                            .write = gbytes_per_s(20) * scale,
                            .requests = PerSecond(1000 * scale)};
    const TierSize s = size_tier(demand, device_of("qlc-122"), {});
    EXPECT_GE(s.devices, before);
    before = s.devices;
  }
}

TEST(TierSizing, DemandsAdd) {
  const TierDemand a{
      .capacity = terabytes(1), .read = gbytes_per_s(10), .write = {}, .requests = {}};
  const TierDemand b{
      .capacity = terabytes(2), .read = gbytes_per_s(30), .write = {}, .requests = {}};
  EXPECT_EQ((a + b).read, gbytes_per_s(40));
}

// What a lost drive held is written anew: half full, in half the time, and so it is lost more
// rarely.
TEST(TierSizing, AFullerDriveIsRebuiltForLonger) {
  TierOptions options;
  const auto lost_a_year = [&](double fill) {
    options.protection.fill = fill;
    return tier_durability({.devices = 120, .servers = 10}, device_of("hdd-cmr24"), options)
        ->loss_a_year;
  };
  const double half = lost_a_year(0.4);
  const double full = lost_a_year(0.8);
  // Two of ten may be lost: the third must fail while two are rebuilt.
  EXPECT_GT(full, 2 * half);
  EXPECT_LT(full, 8 * half);
}

}  // namespace
}  // namespace orrery::storage
