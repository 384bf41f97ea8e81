// Tiers by hand: what a small read waits for, how many servers are asked for and by whom, what is
// bought, and how long data outlives its drives.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/tier_size.h"

namespace orrery::jobs {
namespace {

// Four nodes with drives, one tier of the name "t", nothing that runs.
design::Design one_tier(const std::string& fields) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: a\nsite: { name: one, region: usa }\nfleet: [{ name: f, node: dgx-h100, "
      "count: 4 }]\nstorage: [{ name: t, " +
          fields + " }]\n",
      machine::known().catalog());
  EXPECT_TRUE(read) << fields << (read ? "" : to_text(read.error()));
  return read ? *read : design::Design{};
}

// A machine with its tier, which points into it.
struct Tiered {
  explicit Tiered(const std::string& fields)
      : machine(build_machine(one_tier(fields), machine::known())) {}
  machine::Machine machine;
  const machine::Tier& tier() const { return machine.tiers.front(); }
  const machine::Tier* operator->() const { return &tier(); }
};

const std::string kDrives =
    "kind: parallel-fs, device: tlc-gen4, servers: 4, devices_per_server: 8";

TEST(TierAccess, IsMediaNetworkAndService) {
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

// Past the kernel and the host's memory: 60 + 5 + 10 us, and no copy.
TEST(TierAccess, DirectlyHasNoCopyAndNoKernel) {
  const Tiered t(
      "tier: gpu-direct, kind: parallel-fs, device: tlc-gen5, servers: 4, devices_per_server: 8");
  EXPECT_EQ(t->gpu_path, storage::GpuPath::direct);
  EXPECT_NEAR(t->latency.service / microseconds(1), 10, 1e-9);
  EXPECT_NEAR(t->first_byte / microseconds(1), 75, 1e-9);
  EXPECT_LT(t->latency.host_copy, microseconds(0.001));
}

// 32 drives of 7 and 4.2 GB/s, four fifths of which arrive; of writes eight in ten are data.
TEST(TierRatesByHand, OfDrivesInServers) {
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
  EXPECT_EQ(t->creates, PerSecond(20'000)) << "one answers for names wherever it runs";
  const Tiered narrow("tier: hot, server_network: 80 Gb/s, " + kDrives);
  EXPECT_NEAR(narrow->read / gbytes_per_s(1), 40, 1e-9);
  EXPECT_NEAR(narrow->write / gbytes_per_s(1), 32, 1e-9) << "parity crosses it too";
  EXPECT_EQ(narrow->read_limit, storage::RateLimit::network);
  EXPECT_EQ(narrow->write_limit, storage::RateLimit::network);
  const Tiered usual("tier: hot, kind: parallel-fs, servers: 2");
  EXPECT_NEAR(usual->read / gbytes_per_s(1), 180, 1e-9);
  EXPECT_EQ(usual->rate_basis, usual->device->provenance.reference +
                                   ", the usual one of its kind: the design names none");
  EXPECT_EQ(usual->capacity, terabytes(1000)) << "an appliance sells what can be used";
}

// What was promised passes the servers' network and their cores, each way by itself.
TEST(TierRatesByHand, PromisesAreHeldByServers) {
  const auto rates = [](const std::string& more) {
    const Tiered t("tier: hot, read: 150 GB/s, write: 90 GB/s, capacity: 1 PB, " + more + kDrives);
    return std::vector<double>{t->read / gbytes_per_s(1), t->write / gbytes_per_s(1)};
  };
  EXPECT_EQ(rates(""), (std::vector<double>{150, 90})) << "as the design says";
  EXPECT_EQ(rates("server_network: 240 Gb/s, "), (std::vector<double>{120, 90}));
  EXPECT_EQ(rates("server_network: 160 Gb/s, "), (std::vector<double>{80, 80}));
  // A core moves 1 / 0.0465 GB/s; of writes ten for eight, and two parities of 0.024 s a GB.
  const auto few = rates("server_cores: 1, ");
  EXPECT_NEAR(few[0], 4 / 0.0465, 1e-6);
  EXPECT_LT(few[1], 4 / (0.0465 * 1.25));
  EXPECT_GT(few[1], 20);
}

TEST(TierSizeByHand, IsAutomaticWhereNobodyCounts) {
  const struct {
    const char* fields;
    bool automatic;
  } rows[] = {{"tier: hot, kind: parallel-fs, device: tlc-gen4", true},
              {"tier: hot, kind: parallel-fs", true},
              {"tier: hot, kind: parallel-fs, device: tlc-gen4, servers: 2", false},
              {"tier: hot, kind: parallel-fs, read: 9 GB/s, capacity: 1 PB", false},
              {"tier: hot, kind: object, provider: aws, device: tlc-gen4", false},
              {"tier: node-nvme, kind: local-nvme, device: tlc-gen4", false}};
  for (const auto& row : rows) {
    EXPECT_EQ(is_automatic(Tiered(row.fields).tier()), row.automatic) << row.fields;
  }
  const Tiered t("tier: hot, kind: parallel-fs, device: tlc-gen4, servers: 2");
  EXPECT_EQ(t.machine.tiers.back().label, "node-nvme");
  EXPECT_FALSE(is_automatic(t.machine.tiers.back())) << "implied by the nodes";
}

struct Sized {
  double devices, servers;
  std::string bound_by;
};
Sized sized_for(const std::string& fields, const std::vector<machine::TierAsk>& asks = {}) {
  const design::Design d = one_tier(
      "tier: hot, kind: parallel-fs, device: tlc-gen4, "
      "devices_per_server: 12, " +
      fields);
  const machine::Tiers tiers = machine::build_tiers(
      d, machine::known().catalog(), machine::build_fleets(d, machine::known().catalog()), asks);
  return {tiers.front().need->size.devices, tiers.front().servers, tiers.front().need->bound_by};
}

const std::string kNoCode = "protection: { data: 1, parity: 0 }";

// A drive of 7.68 TB is filled to four fifths and gives four fifths of 7, 4.2 GB/s and a million
// reads.
TEST(TierSizeByHand, FollowsTheTiersOwnLines) {
  const struct {
    std::string fields;
    double devices, servers;
    const char* bound_by;
  } rows[] = {
      {"protection: { data: 8, parity: 2 }", 0, 5,
       "durability: one of 5 servers may be lost with its shards of 8 + 2"},
      {"protection: { data: 6, parity: 4 }", 0, 3,
       "durability: one of 3 servers may be lost with its shards of 6 + 4"},
      {kNoCode + ", capacity: 1 PB", 163, 14, "capacity: the tier's own line"},
      {kNoCode + ", read: 300 GB/s", 54, 5, "read bandwidth: the tier's own line"},
      {kNoCode + ", write: 100 GB/s", 30, 3, "write bandwidth: the tier's own line"},
      {kNoCode + ", read: 300 GB/s, server_network: 200 Gb/s", 54, 12,
       "read bandwidth: the tier's own line; the servers' network asks for more of them than the "
       "drives"},
      {kNoCode + ", read: 300 GB/s, server_cores: 1", 54, 14,
       "read bandwidth: the tier's own line; the servers' cores ask for more of them than the "
       "drives"},
  };
  for (const auto& row : rows) {
    const Sized s = sized_for(row.fields);
    EXPECT_EQ(s.devices, row.devices) << row.fields;
    EXPECT_EQ(s.servers, row.servers) << row.fields;
    EXPECT_EQ(s.bound_by, row.bound_by);
  }
}

machine::TierAsk asked_of(const char* what, double tb, double read, double write, double requests) {
  return {.tier = "t",
          .what = what,
          .demand = {.capacity = terabytes(tb),
                     .read = gbytes_per_s(read),
                     .write = gbytes_per_s(write),
                     .requests = PerSecond(requests)},
          .creates = {}};
}

TEST(TierSizeByHand, NamesWhoAsksForMost) {
  const struct {
    std::vector<machine::TierAsk> asks;
    double devices;
    const char* bound_by;
  } rows[] = {
      {{asked_of("a", 100, 1, 1, 1), asked_of("b", 300, 1, 1, 1)}, 66, "capacity: b"},
      {{asked_of("a", 1, 100, 1, 1), asked_of("b", 3, 99, 1, 1)}, 36, "read bandwidth: a"},
      {{asked_of("a", 1, 1, 40, 1), asked_of("b", 1, 1, 60, 1)}, 30, "write bandwidth: b"},
      {{asked_of("a", 1, 1, 1, 3e7), asked_of("b", 1, 1, 1, 1e7)}, 50, "requests: a"},
      {{asked_of("a", 100, 0, 0, 0), asked_of("b", 100, 0, 0, 0)}, 33, "capacity: a"},
  };
  for (const auto& row : rows) {
    const Sized s = sized_for(kNoCode, row.asks);
    EXPECT_EQ(s.devices, row.devices) << row.bound_by;
    EXPECT_EQ(s.bound_by, row.bound_by);
  }
  machine::TierAsk other = asked_of("c", 900, 900, 900, 1);
  other.tier = "elsewhere";
  EXPECT_EQ(sized_for(kNoCode, {other}).devices, 0) << "of another tier";
  // A line of its own stands before what workloads want.
  EXPECT_EQ(sized_for(kNoCode + ", write: 10 GB/s", {asked_of("a", 0, 0, 90, 0)}).devices, 3);
  EXPECT_EQ(sized_for(kNoCode + ", read: 10 GB/s", {asked_of("a", 0, 90, 0, 0)}).devices, 2);
  EXPECT_EQ(sized_for(kNoCode + ", capacity: 10 TB", {asked_of("a", 90, 0, 0, 0)}).devices, 2);
}

// 20,000 names a second each, or as many as the design says.
TEST(TierSizeByHand, CountsWhoAnswersForNames) {
  const auto servers = [](const std::string& more, double creates) {
    const design::Design d =
        one_tier("tier: hot, kind: parallel-fs, device: tlc-gen4, " + more + kNoCode);
    machine::TierAsk a = asked_of("a", 1, 1, 1, 1);
    a.creates = PerSecond(creates);
    const auto tiers =
        machine::build_tiers(d, machine::known().catalog(),
                             machine::build_fleets(d, machine::known().catalog()), {a, a});
    EXPECT_EQ(tiers[design::TierIndex(0)].creates / PerSecond(1) >= 2 * creates, true);
    return tiers[design::TierIndex(0)].metadata_servers;
  };
  EXPECT_EQ(servers("", 0), 0);
  EXPECT_EQ(servers("", 10'000), 1);
  EXPECT_EQ(servers("", 10'001), 2);
  EXPECT_EQ(servers("", 30'000), 3);
  EXPECT_EQ(servers("metadata: { creates: 7000 /s }, ", 7000), 2);
  EXPECT_EQ(servers("metadata: { servers: 9 }, ", 30'000), 9);
}

}  // namespace
}  // namespace orrery::jobs
