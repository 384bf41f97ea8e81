// A tier by hand: rates, latency, capacity, durability, and what a measurement replaces.
#include "model/machine/tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/design_text/value_reader.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"
#include "model/machine/wan.h"

namespace orrery::machine {
namespace {

using testing::IsEmpty;

TEST(Tier, defaults_follow_from_the_kind) {
  const auto tier = [](const std::string& fields) {
    return with_storage(
               "  - { tier: hot, name: t, site: one, capacity: 1 PB, read: 40 GB/s, write: 10 "
               "GB/s, kind: " +
               fields + " }\n")
        .tiers[design::TierIndex(0)];
  };
  const Tier files = tier("parallel-fs");
  EXPECT_EQ(files.creates, PerSecond(20'000));
  EXPECT_EQ(files.first_byte, milliseconds(1));
  EXPECT_EQ(files.stream_rate, gbytes_per_s(2));
  EXPECT_EQ(files.client_streams, 64);
  EXPECT_EQ(files.rate_error, 0.12);
  EXPECT_TRUE(files.rates_given);
  EXPECT_EQ(files.capacity, petabytes(1));
  EXPECT_EQ(files.path, "storage[0]");
  EXPECT_TRUE(files.durable());
  EXPECT_EQ(tier("nfs").creates, PerSecond(5'000));
  EXPECT_EQ(tier("nfs").first_byte, milliseconds(1));
  EXPECT_EQ(tier("block").creates, PerSecond(50'000));
  const Tier objects = tier("object");
  EXPECT_EQ(objects.creates, PerSecond(3'500));
  EXPECT_EQ(objects.stream_rate, gbytes_per_s(0.1));
  const Tier rented = tier("object, provider: aws");
  EXPECT_EQ(rented.first_byte, milliseconds(100));
  const Tier own = tier("object, first_byte: 9 ms, stream_rate: 7 GB/s, client_streams: 5");
  EXPECT_EQ(own.first_byte, milliseconds(9));
  EXPECT_EQ(own.stream_rate, gbytes_per_s(7));
  EXPECT_EQ(own.client_streams, 5);
  const Tier counted = tier("parallel-fs, metadata: { servers: 3, creates: 7000 /s }");
  EXPECT_EQ(counted.metadata_servers, 3);
  EXPECT_EQ(counted.creates, PerSecond(21'000));
}

// If only one rate is given, reads are taken to be twice the writes.
TEST(Tier, missing_rate_follows_from_the_other) {
  const Machine m = with_storage(
      "  - { tier: hot, site: one, kind: parallel-fs, capacity: 1 PB, read: 40 GB/s }\n"
      "  - { tier: warm, site: one, kind: parallel-fs, capacity: 1 PB, write: 7 GB/s }\n");
  EXPECT_EQ(m.tiers[design::TierIndex(0)].write, gbytes_per_s(20));
  EXPECT_EQ(m.tiers[design::TierIndex(1)].read, gbytes_per_s(14));
  EXPECT_EQ(find_tier(m.tiers, "warm"), &m.tiers[design::TierIndex(1)]);
  EXPECT_EQ(find_tier(m.tiers, "cold"), nullptr);
  const Tier& drives = m.tiers.back();
  EXPECT_EQ(drives.label, "node-nvme");
  EXPECT_TRUE(drives.per_node);
  EXPECT_FALSE(drives.durable());
  EXPECT_EQ(drives.creates, PerSecond(50'000));
  EXPECT_EQ(drives.first_byte, microseconds(100));
  EXPECT_EQ(drives.capacity, terabytes(30.7));
  expect_close(drives.devices, 30.7 / 3.84);
  EXPECT_TRUE(stands_in(drives, m.fleets[design::FleetIndex(0)]));
}

const std::string kDrives =
    "kind: parallel-fs, device: tlc-gen4, servers: 4, devices_per_server: 8";

TEST(Tier, small_read_is_media_network_and_service) {
  const struct {
    std::string fields;
    double media, network, service, first_byte;  // microseconds
    double stream;                               // GB/s
  } rows[] = {
      {"tier: hot, " + kDrives, 75, 5, 100, 1000, 2},
      {"tier: hot, encrypted: true, " + kDrives, 75, 5, 101.024, 1000, 2},
      {"tier: hot, first_byte: 3 ms, " + kDrives, 3000, 0, 0, 3000, 2},
      {"tier: hot, stream_rate: 5 GB/s, " + kDrives, 75, 5, 100, 1000, 5},
      {"tier: hot, kind: block, device: tlc-gen5, servers: 4", 60, 5, 100, 1000, 2},
      {"tier: hot, kind: object, device: tlc-gen4, servers: 4", 75, 5, 2000, 2080, 0.1},
      {"tier: warm, kind: object, servers: 4", 15000, 5, 0, 15005, 0.1},
      {"tier: hot, kind: object, provider: aws, capacity: 1 PB", 1e5, 0, 0, 1e5, 0.1},
      {"tier: hot, kind: parallel-fs, provider: aws, capacity: 1 PB", 100, 5, 0, 1000, 2},
      {"tier: hot, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 2", 100, 5, 0, 1000, 2},
      {"tier: hot, kind: nfs, read: 9 GB/s, capacity: 1 PB", 200, 5, 0, 1000, 2},
      {"tier: cold, kind: object, device: lto9, servers: 4", 6e7, 5, 2000, 6e7 + 2005, 0.1},
      {"tier: node-nvme, kind: local-nvme", 75, 0, 15, 100, 2},
  };
  for (const auto& row : rows) {
    const Tiered t(row.fields);
    const storage::AccessLatency& l = t->latency;
    EXPECT_NEAR(l.media / microseconds(1), row.media, 1e-9 * row.media) << row.fields;
    EXPECT_NEAR(l.network / microseconds(1), row.network, 1e-9) << row.fields;
    EXPECT_NEAR(l.service / microseconds(1), row.service, 1e-9) << row.fields;
    EXPECT_NEAR(l.transfer.base(), 4096 / (row.stream * 1e9), 1e-12) << row.fields;
    EXPECT_NEAR(l.host_copy.base(), 4096 / 4.064e9, 1e-12) << row.fields;
    EXPECT_NEAR(t->first_byte / microseconds(1), row.first_byte, 1e-9 * row.first_byte)
        << row.fields;
    EXPECT_EQ(t->gpu_path, storage::GpuPath::pinned);
  }
}

// GPUDirect bypasses the kernel and the host's memory: 60 + 5 + 10 us, and no copy.
TEST(Tier, gpu_direct_skips_the_copy_and_the_kernel) {
  const Tiered t(
      "tier: gpu-direct, kind: parallel-fs, device: tlc-gen5, servers: 4, devices_per_server: 8");
  EXPECT_EQ(t->gpu_path, storage::GpuPath::direct);
  EXPECT_NEAR(t->latency.service / microseconds(1), 10, 1e-9);
  EXPECT_NEAR(t->first_byte / microseconds(1), 75, 1e-9);
  EXPECT_LT(t->latency.host_copy, microseconds(0.001));
}

// 32 drives of 7 and 4.2 GB/s, 80 % of which is delivered; 80 % of what is written is data.
TEST(Tier, rates_of_drives_in_servers) {
  const Tiered t("tier: hot, " + kDrives);
  EXPECT_EQ(t->devices, 32);
  EXPECT_EQ(t->servers, 4);
  EXPECT_FALSE(t->need);
  EXPECT_NEAR(t->read / gbytes_per_s(1), 32 * 7 * 0.8, 1e-9);
  EXPECT_NEAR(t->write / gbytes_per_s(1), 32 * 4.2 * 0.8 * 0.8, 1e-9);
  EXPECT_EQ(t->read_limit, storage::RateLimit::devices);
  EXPECT_NEAR(t->capacity / terabytes(1), 32 * 7.68 * 0.8 * 0.8, 1e-9);
  EXPECT_FALSE(t->rates_given);
  EXPECT_EQ(t->rate_error, 0.25);
  EXPECT_EQ(t->rate_basis, t->device->provenance.reference);
  EXPECT_EQ(t->metadata_servers, 0);
  EXPECT_EQ(t->creates, PerSecond(20'000)) << "one metadata service on the data servers";
  const Tiered narrow("tier: hot, server_network: 80 Gb/s, " + kDrives);
  EXPECT_NEAR(narrow->read / gbytes_per_s(1), 40, 1e-9);
  EXPECT_NEAR(narrow->write / gbytes_per_s(1), 32, 1e-9) << "parity crosses the network too";
  EXPECT_EQ(narrow->read_limit, storage::RateLimit::network);
  EXPECT_EQ(narrow->write_limit, storage::RateLimit::network);
  const Tiered usual("tier: hot, kind: parallel-fs, servers: 2");
  EXPECT_NEAR(usual->read / gbytes_per_s(1), 180, 1e-9);
  EXPECT_TRUE(usual->rate_basis.starts_with(usual->device->provenance.reference));
  EXPECT_EQ(usual->capacity, terabytes(1000)) << "an appliance is sold by usable capacity";
}

// Given rates are limited by the servers' network and cores, reads and writes separately.
TEST(Tier, servers_limit_given_rates) {
  const auto rates = [](const std::string& more) {
    const Tiered t("tier: hot, read: 150 GB/s, write: 90 GB/s, capacity: 1 PB, " + more + kDrives);
    return std::vector<double>{t->read / gbytes_per_s(1), t->write / gbytes_per_s(1)};
  };
  EXPECT_EQ(rates(""), (std::vector<double>{150, 90})) << "as given";
  EXPECT_EQ(rates("server_network: 240 Gb/s, "), (std::vector<double>{120, 90}));
  EXPECT_EQ(rates("server_network: 160 Gb/s, "), (std::vector<double>{80, 80}));
  // A core moves 1 / 0.0465 GB/s. Writes move ten bytes per eight and compute two parities, 0.024 s
  // per GB each.
  const auto few = rates("server_cores: 1, ");
  EXPECT_NEAR(few[0], 4 / 0.0465, 1e-6);
  EXPECT_LT(few[1], 4 / (0.0465 * 1.25));
  EXPECT_GT(few[1], 20);
}

// A run of a 70B model that reads 200 TB of samples and saves every hour.
design::Design design_with_tier(const std::string& tier, const std::string& more = "") {
  const auto read = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\n"
      "fleet: [{ name: f, node: dgx-h100, count: 32 }]\n"
      "fabric: { storage: { topology: fat-tree, switch: qm9700, port_rate: 400 Gb/s } }\n"
      "storage: [{ name: data, " +
          tier + " }]\n" +
          "workloads:\n  - train:\n      name: big\n      model: llama-3-70b\n      tokens: 1T\n"
          "      batch: 1024\n      dataset: { size: 200 TB, sample_size: 20 MB }\n"
          "      checkpoint: { every: 1 h, to: [data], keep: { data: 3 } }\n" +
          more,
      known().catalog());
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
  return read.value_or(design::Design{});
}

// Encryption with few cores slows a tier: 4 cores of each of 8 servers read 4 / 0.2965 GB/s and
// write 4 / (0.2965 x 1.25 + 0.048) GB/s.
TEST(Tier, encrypting_cores_limit_the_rates) {
  design::Design d = design_with_tier(
      "tier: hot, kind: parallel-fs, device: tlc-gen5, servers: 8, devices_per_server: 16");
  const Tier plain = lay_out(d, known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(plain.read_limit, storage::RateLimit::devices);
  EXPECT_NEAR(plain.read / gbytes_per_s(1), 8 * 16 * 14.5 * 0.8, 1e-6);
  d.storage[0].encrypted = true;
  d.storage[0].server_cores = 4;
  const Tier sealed = lay_out(d, known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(sealed.read_limit, storage::RateLimit::cores);
  EXPECT_NEAR(sealed.read / gbytes_per_s(1), 8 * 4 / 0.2965, 0.1);
  EXPECT_NEAR(sealed.write / gbytes_per_s(1), 8 * 4 / (0.2965 * 1.25 + 0.048), 0.1);
  EXPECT_GT(sealed.latency.total, plain.latency.total);
  d.storage[0].read = gbytes_per_s(500);
  d.storage[0].write = gbytes_per_s(10);
  const Tier promised = lay_out(d, known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(promised.read, sealed.read) << "a given rate is limited by the same cores";
  EXPECT_EQ(promised.write, gbytes_per_s(10));
}

TEST(Tier, options_follow_from_the_design) {
  const std::string drives = "tier: hot, kind: parallel-fs, device: tlc-gen4, servers: 8";
  const storage::TierOptions plain = options_of(Tiered(drives).tier());
  EXPECT_EQ(plain.protection.data, 8);
  EXPECT_EQ(plain.protection.parity, 2);
  EXPECT_EQ(plain.protection.fill, 0.8);
  EXPECT_EQ(plain.server.devices, 24);
  EXPECT_EQ(plain.server.cores, 64);
  EXPECT_EQ(plain.server.network, storage::kUnlimitedRate);
  EXPECT_EQ(plain.delivered, 0.8);
  EXPECT_FALSE(plain.encrypted);
  const storage::TierOptions said = options_of(
      Tiered(drives + ", protection: { data: 6, parity: 3 }, usable: 0.5, server_cores: 12, "
                      "server_network: 200 Gb/s, devices_per_server: 10, encrypted: true")
          .tier());
  EXPECT_EQ(said.protection.data, 6);
  EXPECT_EQ(said.protection.parity, 3);
  EXPECT_NEAR(said.protection.fill, 0.75, 1e-12)
      << "half of the raw capacity is 75 % of what 6 + 3 leaves";
  EXPECT_EQ(said.server.cores, 12);
  EXPECT_EQ(said.server.devices, 10);
  EXPECT_EQ(said.server.network, gbytes_per_s(25));
  EXPECT_TRUE(said.encrypted);
  const storage::TierOptions left = options_of(Tiered(drives + ", usable: 0.6").tier());
  EXPECT_EQ(left.protection.data, 1);
  EXPECT_EQ(left.protection.parity, 0);
  EXPECT_EQ(left.protection.fill, 0.6);
  const storage::TierOptions sold = options_of(
      Tiered("tier: hot, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 2").tier());
  EXPECT_EQ(sold.server.cores, 0);
  EXPECT_EQ(sold.server.devices, 1);
  const storage::TierOptions lent = options_of(
      Tiered("tier: hot, kind: object, provider: aws, device: tlc-gen4, capacity: 1 PB").tier());
  EXPECT_EQ(lent.server.cores, 0);
  const storage::TierOptions local = options_of(Tiered("tier: node-nvme, kind: local-nvme").tier());
  EXPECT_EQ(local.server.cores, 0);
  EXPECT_EQ(local.delivered, 1);
  EXPECT_EQ(local.protection.data, 1);
  EXPECT_EQ(local.protection.parity, 0);
  EXPECT_EQ(local.protection.fill, 1);
}

TEST(Tier, usable_capacity) {
  const auto capacity = [](const std::string& fields) {
    return Tiered("tier: hot, " + fields).tier().capacity / terabytes(1);
  };
  const std::string drives =
      "kind: parallel-fs, device: tlc-gen4, servers: 2, devices_per_server: 5";
  EXPECT_NEAR(capacity(drives), 76.8 * 0.64, 1e-9);
  EXPECT_NEAR(capacity(drives + ", usable: 0.5"), 38.4, 1e-9);
  EXPECT_NEAR(capacity(drives + ", capacity: 44 TB"), 44, 1e-9);
  EXPECT_NEAR(capacity("kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 3"), 1500, 1e-9);
  EXPECT_NEAR(capacity("kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 3, usable: 0.9"), 1350,
              1e-9);
  EXPECT_EQ(capacity("kind: object, provider: aws"), 0) << "unlimited";
  EXPECT_GT(capacity("kind: object, provider: aws, device: tlc-gen4"), 0);
}

// The same drives, code and servers in the durability model itself.
TEST(Tier, durability_agrees_with_its_model) {
  const auto nines = [](const std::string& fields, double failures = 1) -> double {
    const Tiered s("tier: hot, " + fields);
    const auto d = durability_of(s.tier(), known().catalog(), failures);
    return d ? d->nines : 0;
  };
  const auto law = [](const char* device, double devices, double servers, int data, int parity,
                      int each, double failures = 1) {
    storage::TierOptions o{.protection = {.data = data, .parity = parity}};
    o.server.network = storage::kUnlimitedRate;
    o.server.devices = each;
    o.server.cores = 64;
    return storage::tier_durability({devices, servers}, *known().catalog().storage_device(device),
                                    o, failures)
        ->nines;
  };
  const std::string drives = "kind: parallel-fs, device: tlc-gen4, devices_per_server: 12, ";
  EXPECT_NEAR(nines(drives + "servers: 6"), law("tlc-gen4", 72, 6, 8, 2, 12), 1e-9);
  EXPECT_NEAR(nines(drives + "servers: 6", 2.5), law("tlc-gen4", 72, 6, 8, 2, 12, 2.5), 1e-9);
  EXPECT_NEAR(nines(drives + "servers: 9, protection: { data: 4, parity: 2 }"),
              law("tlc-gen4", 108, 9, 4, 2, 12), 1e-9);
  EXPECT_GT(nines(drives + "servers: 5"), 0);
  EXPECT_EQ(nines(drives + "servers: 4"), 0) << "8 + 2 needs at least five servers";
  EXPECT_GT(nines(drives + "servers: 4, protection: { data: 2, parity: 1 }"), 0);
  // An object node has 24 disks of 24 TB.
  EXPECT_NEAR(nines("kind: object, device: obj-hdd-node, servers: 8"),
              law("hdd-cmr24", 8, 8, 8, 2, 24), 1e-9);
  EXPECT_EQ(nines("kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 9"), 0);
  EXPECT_EQ(nines("kind: object, provider: aws, device: tlc-gen4, servers: 9"), 0);
  const Tiered local("tier: node-nvme, kind: local-nvme");
  EXPECT_FALSE(durability_of(local.tier(), known().catalog()));
}

// Wider codes hold more data and survive fewer failures.
TEST(Tier, wider_codes_hold_more_and_survive_less) {
  design::Design d = design_with_tier(
      "tier: hot, kind: parallel-fs, device: tlc-gen4, servers: 20, devices_per_server: 12");
  const auto built = [&](int data, int parity) {
    d.storage[0].protection = design::Protection{.data = data, .parity = parity};
    return lay_out(d, known());
  };
  const auto tier = [&](int data, int parity) { return built(data, parity).tiers[design::TierIndex(0)]; };
  const auto nines = [&](int data, int parity, double failures = 1) {
    const Machine m = built(data, parity);  // which its tiers point into
    return durability_of(m.tiers[design::TierIndex(0)], m.catalog(), failures).value().nines;
  };
  EXPECT_GT(nines(8, 3), nines(8, 2) + 1);
  EXPECT_GT(nines(8, 2), nines(16, 2));
  EXPECT_GT(tier(16, 2).capacity, tier(8, 2).capacity);
  EXPECT_GT(tier(16, 2).write, tier(8, 2).write);
  EXPECT_GT(nines(8, 2, 0.4), nines(8, 2));
}

// 30.7 TB are eight drives of 3.84 TB. The catalog gives the drives of a whole NVL72 rack: a host
// has an eighteenth of them.
TEST(Tier, drives_in_the_nodes_are_counted_per_host) {
  const auto local = [](std::string_view name) {
    const Machine m = lay_out(
        design_text::read_design(design_text::find_template(name)->text, known().catalog()).value(),
        known());
    return *find_tier(m.tiers, "node-nvme");
  };
  const catalog::StorageDevice& drive = *known().catalog().storage_device("tlc-gen4");
  const Tier h100 = local("superpod-h100");
  EXPECT_NEAR(h100.read.base(), 30.7 / 3.84 * drive.read.base(), 1);
  EXPECT_NEAR(h100.write.base(), 30.7 / 3.84 * drive.write.base(), 1);
  const Tier rack = local("superpod-gb200");
  const double of_host = known().catalog().node("gb200-nvl72")->local_nvme->base() / 18;
  EXPECT_NEAR(rack.capacity.base(), of_host, 1);
  EXPECT_NEAR(rack.read.base(), of_host / 3.84e12 * drive.read.base(), 1);
}

TEST(Tier, nodes_without_drives_have_no_tier) {
  const Machine bare =
      lay_out(small_design("", "custom: { accelerators: 0, cores: 8, sockets: 1 }"), known());
  EXPECT_THAT(bare.tiers, IsEmpty());
  const Machine drives = lay_out(small_design(""), known());
  ASSERT_EQ(drives.tiers.size(), 1U);
  EXPECT_EQ(drives.tiers[design::TierIndex(0)].label, "node-nvme");
  EXPECT_TRUE(drives.tiers[design::TierIndex(0)].implied);
  // A fleet without drives does not change the tier of a fleet with drives.
  const auto both = small_design(
      "  - { name: c, count: 2, custom: { accelerators: 0, cores: 8, sockets: 1 } }\n");
  const Machine mixed = lay_out(both, known());
  EXPECT_EQ(mixed.tiers[design::TierIndex(0)].devices, drives.tiers[design::TierIndex(0)].devices);
  EXPECT_FALSE(durability_of(drives.tiers[design::TierIndex(0)], known().catalog(), 1));
  EXPECT_EQ(servers_of(drives.tiers[design::TierIndex(0)], known().catalog()).metadata, 0);
}

// Measured values replace computed ones. A tier with a measured read or write rate takes over the
// error of the measurement.
TEST(Tier, measurements_replace_computed_values) {
  const Machine m = lay_out(template_design("superpod-h100"), known());
  Tiers tiers = m.tiers;
  const Tier before = tiers.front();
  const auto laid = [&](TierMeasurement measured) {
    measured.tier = before.label;
    measured.error = 0.07;
    measured.source = "a probe";
    tiers = m.tiers;
    lay_over(tiers, {measured});
    return tiers.front();
  };
  const Tier written = laid({.write = gbytes_per_s(3)});
  EXPECT_EQ(written.write, gbytes_per_s(3));
  EXPECT_EQ(written.read, before.read);
  EXPECT_TRUE(written.measured);
  EXPECT_EQ(written.rate_error, 0.07);
  EXPECT_EQ(written.rate_basis, "a probe");
  const Tier read = laid({.read = gbytes_per_s(5)});
  EXPECT_EQ(read.read, gbytes_per_s(5));
  EXPECT_TRUE(read.measured);
  const Tier answers = laid({.creates = PerSecond(77),
                             .first_byte = milliseconds(3),
                             .stream_rate = megabytes(9) / seconds(1)});
  EXPECT_FALSE(answers.measured) << "neither a read nor a write rate";
  EXPECT_EQ(answers.rate_error, before.rate_error);
  EXPECT_EQ(answers.creates, PerSecond(77));
  EXPECT_EQ(answers.first_byte, milliseconds(3));
  EXPECT_EQ(answers.stream_rate, megabytes(9) / seconds(1));
  EXPECT_GE(answers.latency.total, milliseconds(3));
  EXPECT_LT(answers.latency.total, milliseconds(4));
  lay_over(tiers, {{.tier = "other", .read = gbytes_per_s(1)}});
  EXPECT_NE(tiers.front().read, gbytes_per_s(1));
}

TEST(Tier, tapes_must_be_mounted) {
  catalog::StorageDevice device;
  Tier tier;
  EXPECT_EQ(mount_time(tier), Seconds(0));
  tier.device = &device;
  EXPECT_EQ(mount_time(tier), Seconds(0));
  device.read_latency = milliseconds(12);
  EXPECT_EQ(mount_time(tier), Seconds(0)) << "a drive needs no mounting";
  device.read_latency = seconds(1);
  EXPECT_EQ(mount_time(tier), seconds(1));
  device.read_latency = seconds(90);
  EXPECT_EQ(mount_time(tier), seconds(90));
}

TEST(Tier, latency_target_by_tier) {
  EXPECT_EQ(latency_target(design::Tier::gpu_direct), microseconds(50));
  EXPECT_EQ(latency_target(design::Tier::node_nvme), microseconds(200));
  EXPECT_EQ(latency_target(design::Tier::hot), milliseconds(1));
  EXPECT_EQ(latency_target(design::Tier::warm), milliseconds(200));
  EXPECT_EQ(latency_target(design::Tier::cold), hours(12));
}

}  // namespace
}  // namespace orrery::machine
