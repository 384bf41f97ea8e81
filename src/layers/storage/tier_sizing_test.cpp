#include "layers/storage/tier_sizing.h"

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/durability.h"
#include "layers/storage/economics.h"
#include "layers/storage/guidance.h"
#include "layers/storage/loader.h"
#include "layers/storage/node_cache.h"
#include "layers/storage/scale_out.h"
#include "layers/storage/storage_fixture.h"

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
// bought for capacity; at 500 GB/s they are bought for speed.
TEST(TierSizing, capacity_or_bandwidth_binds) {
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

TEST(TierSizing, writes_pay_for_parity) {
  const TierDemand demand{
      .capacity = terabytes(1), .read = {}, .write = gbytes_per_s(100), .requests = {}};
  const TierSize s = size_tier(demand, device_of("qlc-61"), {});
  EXPECT_EQ(s.limit, TierLimit::write);
  // 3.0 GB/s x 0.8 delivered / 1.25 for 8 + 2.
  EXPECT_EQ(s.devices, 53);
}

TEST(TierSizing, requests_bind_disks_not_flash) {
  const TierDemand demand{
      .capacity = terabytes(100), .read = {}, .write = {}, .requests = PerSecond(20000)};
  EXPECT_EQ(size_tier(demand, device_of("hdd-cmr24"), {}).limit, TierLimit::requests);
  EXPECT_EQ(size_tier(demand, device_of("tlc-gen4"), {}).limit, TierLimit::capacity);
}

TEST(TierSizing, network_may_need_more_servers_than_drives) {
  const TierDemand demand{
      .capacity = terabytes(100), .read = gbytes_per_s(200), .write = {}, .requests = {}};
  TierOptions options;
  options.server.network = gbits_per_s(100);
  const TierSize s = size_tier(demand, device_of("tlc-gen5"), options);
  EXPECT_EQ(s.servers_for, ServersFor::network);
  EXPECT_EQ(s.servers, 16);
}

// 25 drives read 25 x 14.5 x 0.8 GB/s, but two servers carry 50 GB/s each. Of what servers receive,
// two shards in ten are parity: a write of 90 GB/s is 112.5 GB/s on the wire, which takes a third
// server.
TEST(TierSizing, rates_pass_the_servers_network) {
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
  // Disks are slower than the network in front of them: 28 servers of 24 disks that read 0.228 GB/s
  // each.
  s = size_tier({.capacity = petabytes(10), .read = {}, .write = {}, .requests = {}},
                device_of("hdd-cmr24"), {});
  EXPECT_FALSE(s.network_limits);
  EXPECT_NEAR(s.read / gbytes_per_s(1), 652 * 0.228, 0.1);
}

// An appliance is sold with its delivered rate: 500 GB/s from AI400X2 at 90 GB/s takes 6 of them.
TEST(TierSizing, appliances_are_taken_as_sold) {
  const TierDemand demand{.capacity = petabytes(2),
                          .read = gbytes_per_s(500),
                          .write = gbytes_per_s(250),
                          .requests = {}};
  const TierSize s = size_tier(demand, device_of("pfs-ddn-ai400x2"), {});
  EXPECT_EQ(s.devices, 6);
  EXPECT_EQ(s.servers, 6);
  EXPECT_EQ(s.limit, TierLimit::read);
}

TEST(TierSizing, forms_by_sale) {
  EXPECT_EQ(form_of(device_of("hdd-cmr24")), DeviceForm::drive);
  EXPECT_EQ(form_of(device_of("lto9")), DeviceForm::drive);
  EXPECT_EQ(form_of(device_of("pfs-vast-ebox")), DeviceForm::appliance);
  EXPECT_EQ(form_of(device_of("ontap-a1k")), DeviceForm::appliance);
  // A node of 576 TB raw has 576 x 0.8 x 8/11 usable under 8 + 3, and is a server in itself.
  ASSERT_EQ(form_of(device_of("obj-hdd-node")), DeviceForm::server);
  TierOptions wide;
  wide.protection = {.data = 8, .parity = 3};
  const TierDemand demand{.capacity = petabytes(20), .read = {}, .write = {}, .requests = {}};
  const TierSize s = size_tier(demand, device_of("obj-hdd-node"), wide);
  EXPECT_EQ(s.devices, 60);  // 20000 / 335.1 = 59.7
  EXPECT_EQ(s.servers, 60);
}

TEST(TierSizing, more_demand_never_needs_less) {
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

TEST(TierSizing, demands_add) {
  const TierDemand a{
      .capacity = terabytes(1), .read = gbytes_per_s(10), .write = {}, .requests = {}};
  const TierDemand b{
      .capacity = terabytes(2), .read = gbytes_per_s(30), .write = {}, .requests = {}};
  EXPECT_EQ((a + b).read, gbytes_per_s(40));
}

// A lost drive's data is written again: half full takes half the time, so data is lost more rarely.
TEST(TierSizing, fuller_drive_is_rebuilt_for_longer) {
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

TEST(TierSizing, rates_are_limited_by_drives_network_or_cores) {
  TierOptions o = six_and_three();
  TierRates r = tier_rates({.devices = 5, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 5 * 5.6e9, 1);
  EXPECT_NEAR(r.write.base(), 5 * 4e9 * 0.8 / 1.5, 1);
  EXPECT_EQ(r.read_limit, RateLimit::devices);
  EXPECT_EQ(r.write_limit, RateLimit::devices);
  r = tier_rates({.devices = 20, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 40e9, 1);
  EXPECT_NEAR(r.write.base(), 40e9 / 1.5, 1);
  EXPECT_EQ(r.read_limit, RateLimit::network);
  EXPECT_EQ(r.write_limit, RateLimit::network);
  // Reads take 0.0465 core s/GB; writes 0.0465 x 1.5 + 3 x 0.024 = 0.14175.
  o.server.cores = 1;
  r = tier_rates({.devices = 20, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 40e9, 1);
  EXPECT_NEAR(r.write.base(), 2e9 / 0.14175, 1);
  EXPECT_EQ(r.write_limit, RateLimit::cores);
  EXPECT_EQ(r.read_limit, RateLimit::network);
  o.encrypted = true;  // 0.25 core s/GB more per byte
  r = tier_rates({.devices = 20, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 2e9 / 0.2965, 1);
  EXPECT_NEAR(r.write.base(), 2e9 / (0.2965 * 1.5 + 0.072), 1);
  EXPECT_EQ(r.read_limit, RateLimit::cores);
  EXPECT_STREQ(to_text(RateLimit::devices), "devices");
}

TEST(TierSizing, every_limit_sizes_a_tier) {
  const catalog::StorageDevice drive = plain_drive();
  TierOptions o = six_and_three();
  const TierDemand capacity{.capacity = terabytes(52), .read = gbytes_per_s(30)};
  TierSize s = size_tier(capacity, drive, o);
  EXPECT_NEAR(s.by_capacity, 10.4, 1e-9);
  EXPECT_NEAR(s.by_read, 30 / 5.6, 1e-9);
  EXPECT_EQ(s.by_write, 0);
  EXPECT_EQ(s.by_requests, 0);
  EXPECT_EQ(s.devices, 11);
  EXPECT_EQ(s.servers, 2);
  EXPECT_EQ(s.servers_for, ServersFor::devices);
  EXPECT_NEAR(s.usable.base(), 55e12, 1);
  EXPECT_NEAR(s.power.base(), 165, 1e-9);
  EXPECT_NEAR(s.price.low.base(), 6600, 1e-6);
  EXPECT_NEAR(s.price.high.base(), 11000, 1e-6);
  EXPECT_TRUE(s.network_limits);
  EXPECT_FALSE(s.cores_limit);
  EXPECT_NEAR(s.read.base(), 40e9, 1);
  EXPECT_NEAR(s.write.base(), 11 * 4e9 * 0.8 / 1.5, 1);
  s = size_tier({.capacity = terabytes(1), .write = gbytes_per_s(30)}, drive, o);
  EXPECT_NEAR(s.by_write, 30 * 1.5 / 3.2, 1e-9);
  EXPECT_EQ(s.limit, TierLimit::write);
  EXPECT_EQ(s.devices, 15);
  EXPECT_EQ(s.servers, 3) << "45 GB/s on the wire";
  EXPECT_EQ(s.servers_for, ServersFor::network);
  s = size_tier({.capacity = terabytes(1), .requests = PerSecond(1e6)}, drive, o);
  EXPECT_NEAR(s.by_requests, 1e6 / 4e5, 1e-9);
  EXPECT_EQ(s.limit, TierLimit::requests);
  EXPECT_EQ(s.devices, 3);
}

TEST(TierSizing, cores_may_need_more_servers) {
  TierOptions o = six_and_three();
  o.server.cores = 1;
  o.server.network = gbytes_per_s(40);
  TierSize s = size_tier({.capacity = terabytes(100), .write = gbytes_per_s(25)}, plain_drive(), o);
  EXPECT_EQ(s.servers, 4) << "25 x 0.14175 = 3.54";
  EXPECT_EQ(s.servers_for, ServersFor::cores);
  EXPECT_EQ(s.devices, 20);
  EXPECT_TRUE(s.cores_limit);
  EXPECT_FALSE(s.network_limits);
  EXPECT_NEAR(s.read.base(), 4e9 / 0.0465, 1);
  o.encrypted = true;
  s = size_tier({.capacity = terabytes(10), .read = gbytes_per_s(20)}, plain_drive(), o);
  EXPECT_EQ(s.servers, 6) << "20 x 0.2965 = 5.93";
  EXPECT_EQ(s.servers_for, ServersFor::cores);
  EXPECT_EQ(s.devices, 4) << "drives are not bought with their servers";
  catalog::StorageDevice whole = plain_drive();
  whole.device_class = "object HDD";
  s = size_tier({.capacity = terabytes(10), .read = gbytes_per_s(20)}, whole, o);
  EXPECT_EQ(s.servers, 6);
  EXPECT_EQ(s.devices, 6) << "what is sold as a server is";
  EXPECT_EQ(s.by_capacity, 2);
}

TEST(TierSizing, appliance_rates_are_taken_as_sold) {
  catalog::StorageDevice d = plain_drive();
  d.device_class = "object HDD";
  TierOptions o = six_and_three();
  o.server.network.reset();
  TierRates r = tier_rates({.devices = 20, .servers = 20}, d, o);
  EXPECT_NEAR(r.read.base(), 140e9, 1) << "all of it, and no network before it";
  EXPECT_NEAR(r.write.base(), 80e9, 1);
  d.device_class = "PFS appliance";
  TierSize s = size_tier({.capacity = terabytes(95), .requests = PerSecond(1)}, d, o);
  EXPECT_EQ(s.by_capacity, 9.5) << "usable as sold";
  EXPECT_EQ(s.devices, 10);
  d = plain_drive();
  r = tier_rates({.devices = 100, .servers = 2}, d, o);
  EXPECT_NEAR(r.read.base(), 100e9, 1) << "400 Gb/s of a server of drives";
  d.random_read_iops = 0;
  EXPECT_EQ(size_tier({.capacity = terabytes(9)}, d, o).by_requests, 0);
  d.random_read_iops.reset();
  EXPECT_EQ(size_tier({.requests = PerSecond(9)}, d, o).by_requests, 0);
}

TEST(TierSizing, tier_durability_is_that_of_its_group) {
  TierOptions o = six_and_three();
  const auto got = tier_durability({.devices = 40, .servers = 4}, plain_drive(), o, 1.5);
  // 7.5 TB at a fifth of ten drives' 4 GB/s after ten minutes.
  const Durability by_hand = durability_of({.shards = 9,
                                            .losses = 3,
                                            .drive_failures = PerSecond(0.03 / years(1).base()),
                                            .rebuild = seconds(600 + 7500 / (0.2 * 10 * 4)),
                                            .server_losses = PerSecond(0.001 / years(1).base()),
                                            .shards_on_server = 3,
                                            .rebuild_reads = gigabytes(1)});
  ASSERT_TRUE(got);
  EXPECT_NEAR(got->mean_time_to_loss / by_hand.mean_time_to_loss, 1, 1e-9);
  catalog::StorageDevice unknown = plain_drive();
  unknown.annual_failure_rate.reset();
  EXPECT_FALSE(tier_durability({.devices = 40, .servers = 4}, unknown, o));
}

TEST(TierSizing, tier_is_sized_by_its_binding_limit) {
  TierDemand d = kHundred;
  const catalog::StorageDevice hdd = plain_device("HDD");
  EXPECT_EQ(size_tier(d, hdd, kRaw).devices, 10) << "a hundred by ten is ten, not eleven";
  d.read = gbytes_per_s(10);
  EXPECT_EQ(size_tier(d, hdd, kRaw).limit, TierLimit::capacity) << "the first of two that tie";
  d.read = gbytes_per_s(12);
  d.write = gbytes_per_s(5);
  TierOptions narrow = kRaw;
  narrow.server.network = gbytes_per_s(6);  // per direction: 12 one way, 5 the other
  const TierSize s = size_tier(d, hdd, narrow);
  EXPECT_EQ(s.devices, 12);
  EXPECT_EQ(s.servers, 2);
  EXPECT_EQ(s.servers_for, ServersFor::devices) << "the drives need two as well";
  EXPECT_NEAR(s.price.low.base(), 12 * 10 * 20, 1e-6);
  EXPECT_NEAR(s.price.high.base(), 12 * 10 * 40, 1e-6)
      << "by what is bought, not by what is usable";
  EXPECT_EQ(s.power, watts(120));
  narrow.server.network = gbytes_per_s(5);
  EXPECT_EQ(size_tier(d, hdd, narrow).servers, 3);
  EXPECT_EQ(size_tier(d, hdd, narrow).servers_for, ServersFor::network);
  // Requests through a file system that delivers half of them.
  catalog::StorageDevice iops = hdd;
  iops.random_read_iops = 100;
  TierOptions half = kRaw;
  half.delivered = 0.5;
  TierDemand asks = kHundred;
  asks.requests = PerSecond(1000);
  EXPECT_DOUBLE_EQ(size_tier(asks, iops, half).by_requests, 20);
  // A device that cannot write is fine if nothing is written.
  catalog::StorageDevice read_only = hdd;
  read_only.write = BytesPerSecond(0);
  EXPECT_EQ(size_tier(kHundred, read_only, kRaw).devices, 10);
  EXPECT_EQ(size_tier(kHundred, read_only, kRaw).by_write, 0);
  // Parity is bought but holds no data: for 100 TB in four parts of six, 150 are paid for.
  TierOptions safe = kRaw;
  safe.protection = {.data = 4, .parity = 2, .fill = 1};
  EXPECT_NEAR(size_tier(kHundred, hdd, safe).price.high.base(), 150 * 40, 1e-6);
  const TierDemand other{.capacity = terabytes(1),
                         .read = gbytes_per_s(20),
                         .write = gbytes_per_s(2),
                         .requests = PerSecond(5)};
  EXPECT_EQ((d + other).write, gbytes_per_s(7));
}

}  // namespace
}  // namespace orrery::storage
