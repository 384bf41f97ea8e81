#include "model/machine/tier_size.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

TEST(TierSize, tier_is_automatic_if_the_design_counts_no_servers) {
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
  EXPECT_FALSE(is_automatic(t.machine.tiers.back())) << "drives in the nodes";
}

struct Sized {
  double devices, servers;
  TierNeed need;
};
Sized sized_for(const std::string& fields, const std::vector<TierAsk>& asks = {}) {
  const design::Design d = one_tier(
      "tier: hot, kind: parallel-fs, device: tlc-gen4, "
      "devices_per_server: 12, " +
      fields);
  const Tiers tiers =
      build_tiers(d, known().catalog(), build_fleets(d, known().catalog()), asks);
  const Tier& tier = tiers.front();
  return {tier.need->size.devices, tier.servers, *tier.need};
}

const std::string kNoCode = "protection: { data: 1, parity: 0 }";

// A drive of 7.68 TB is filled to 80 % and delivers 80 % of 7 GB/s, 4.2 GB/s and a million reads.
TEST(TierSize, size_follows_the_tiers_own_figures) {
  using enum storage::TierLimit;
  using enum storage::ServersFor;
  const struct {
    std::string fields;
    double devices, servers;
    storage::TierLimit limit;
    storage::ServersFor servers_for;
  } rows[] = {
      {kNoCode + ", capacity: 1 PB", 163, 14, capacity, devices},
      {kNoCode + ", read: 300 GB/s", 54, 5, read, devices},
      {kNoCode + ", write: 100 GB/s", 30, 3, write, devices},
      {kNoCode + ", read: 300 GB/s, server_network: 200 Gb/s", 54, 12, read, network},
      {kNoCode + ", read: 300 GB/s, server_cores: 1", 54, 14, read, cores},
  };
  for (const auto& row : rows) {
    const Sized s = sized_for(row.fields);
    EXPECT_EQ(s.devices, row.devices) << row.fields;
    EXPECT_EQ(s.servers, row.servers) << row.fields;
    EXPECT_EQ(s.need.size.limit, row.limit) << row.fields;
    EXPECT_EQ(s.need.size.servers_for, row.servers_for) << row.fields;
    EXPECT_FALSE(s.need.for_durability) << row.fields;
  }
  // A server may be lost with its shards: 8 + 2 needs five servers, 6 + 4 three.
  for (const auto& [code, servers] :
       {std::pair{"{ data: 8, parity: 2 }", 5}, std::pair{"{ data: 6, parity: 4 }", 3}}) {
    const Sized s = sized_for(std::string("protection: ") + code);
    EXPECT_EQ(s.servers, servers) << code;
    EXPECT_TRUE(s.need.for_durability) << code;
  }
}

TierAsk asked_of(const char* what, double tb, double read, double write, double requests) {
  return {.tier = "t",
          .what = what,
          .demand = {.capacity = terabytes(tb),
                     .read = gbytes_per_s(read),
                     .write = gbytes_per_s(write),
                     .requests = PerSecond(requests)},
          .creates = {}};
}

TEST(TierSize, largest_demand_is_named) {
  using enum storage::TierLimit;
  const struct {
    std::vector<TierAsk> asks;
    double devices;
    storage::TierLimit limit;
    const char* most;
  } rows[] = {
      {{asked_of("a", 100, 1, 1, 1), asked_of("b", 300, 1, 1, 1)}, 66, capacity, "b"},
      {{asked_of("a", 1, 100, 1, 1), asked_of("b", 3, 99, 1, 1)}, 36, read, "a"},
      {{asked_of("a", 1, 1, 40, 1), asked_of("b", 1, 1, 60, 1)}, 30, write, "b"},
      {{asked_of("a", 1, 1, 1, 3e7), asked_of("b", 1, 1, 1, 1e7)}, 50, requests, "a"},
      {{asked_of("a", 100, 0, 0, 0), asked_of("b", 100, 0, 0, 0)}, 33, capacity, "a"},
  };
  for (const auto& row : rows) {
    const Sized s = sized_for(kNoCode, row.asks);
    EXPECT_EQ(s.devices, row.devices) << row.most;
    EXPECT_EQ(s.need.size.limit, row.limit);
    EXPECT_TRUE(s.need.bound_by.ends_with(row.most)) << s.need.bound_by;
  }
  TierAsk other = asked_of("c", 900, 900, 900, 1);
  other.tier = "elsewhere";
  EXPECT_EQ(sized_for(kNoCode, {other}).devices, 0) << "an ask of another tier";
  // A figure in the design overrides what workloads ask for.
  EXPECT_EQ(sized_for(kNoCode + ", write: 10 GB/s", {asked_of("a", 0, 0, 90, 0)}).devices, 3);
  EXPECT_EQ(sized_for(kNoCode + ", read: 10 GB/s", {asked_of("a", 0, 90, 0, 0)}).devices, 2);
  EXPECT_EQ(sized_for(kNoCode + ", capacity: 10 TB", {asked_of("a", 90, 0, 0, 0)}).devices, 2);
}

// 20,000 creates per second per server, unless the design gives another rate.
TEST(TierSize, metadata_servers_follow_from_creates) {
  const auto servers = [](const std::string& more, double creates) {
    const design::Design d =
        one_tier("tier: hot, kind: parallel-fs, device: tlc-gen4, " + more + kNoCode);
    TierAsk a = asked_of("a", 1, 1, 1, 1);
    a.creates = PerSecond(creates);
    const auto tiers =
        build_tiers(d, known().catalog(), build_fleets(d, known().catalog()), {a, a});
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
}  // namespace orrery::machine
