#include "model/jobs/build_machine.h"

#include <gtest/gtest.h>

#include "model/design_text/profiles.h"
#include "model/design_text/read_design.h"
#include "model/jobs/tier_asks.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

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
      machine::known().catalog());
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
  return read.value_or(design::Design{});
}

constexpr const char* kOpen =
    "tier: hot, kind: parallel-fs, device: tlc-gen4, servers: auto, "
    "devices_per_server: 12, server_network: 200 Gb/s";

// What the first tier lacks of the sum of `asks`; empty if nothing.
std::string lacks(const machine::Machine& m, const std::vector<machine::TierAsk>& asks) {
  storage::TierDemand d;
  for (const machine::TierAsk& a : asks) d = d + a.demand;
  const machine::Tier& t = m.tiers[design::TierIndex(0)];
  std::string out;
  if (t.capacity < d.capacity) out += "capacity ";
  if (t.read < d.read) out += "read ";
  if (t.write < d.write) out += "write ";
  return out;
}

// Without a code durability needs no servers, so that the workload decides.
constexpr const char* kBare = ", protection: { data: 1, parity: 0 }";

TEST(BuildMachine, open_tiers_get_the_fewest_servers_that_meet_the_demand) {
  using enum storage::TierLimit;
  using enum storage::ServersFor;
  const struct {
    const char* name;
    std::string tier;
    Bytes data_set, sample;
    Seconds every;
    storage::TierLimit limit;
    storage::ServersFor servers_for;
  } cases[] = {
      {"capacity", std::string(kOpen) + kBare, petabytes(3), megabytes(20), hours(1), capacity,
       devices},
      {"reads", std::string(kOpen) + kBare, terabytes(9), gigabytes(5), hours(1), read, network},
      {"writes", std::string(kOpen) + kBare, terabytes(9), megabytes(20), minutes(1), write,
       network},
      {"cores", std::string(kOpen) + kBare + ", encrypted: true, server_cores: 4", terabytes(9),
       gigabytes(5), hours(1), read, cores},
      {"codes", kOpen, petabytes(3), megabytes(20), hours(1), capacity, devices},
  };
  for (const auto& c : cases) {
    design::Design d = design_with_tier(c.tier);
    design::Train& train = std::get<design::Train>(d.workloads[0].task);
    train.dataset.size = c.data_set;
    train.dataset.sample_size = c.sample;
    train.checkpoint->every = c.every;
    const machine::Machine m = build_machine(d, machine::known());
    const machine::Tier& t = m.tiers[design::TierIndex(0)];
    ASSERT_TRUE(t.need) << c.name;
    EXPECT_EQ(t.need->size.limit, c.limit) << c.name;
    EXPECT_EQ(t.need->size.servers_for, c.servers_for) << c.name;
    const std::vector<machine::TierAsk> asks = asks_of(m);
    EXPECT_EQ(lacks(m, asks), "") << c.name;
    EXPECT_FALSE(t.need->for_durability) << c.name;
    ASSERT_GT(t.servers, 1) << c.name;
    d.storage[0].servers = static_cast<int>(t.servers) - 1;
    EXPECT_NE(lacks(build_machine(d, machine::known()), asks), "") << c.name;
    // As counted, the same machine.
    d.storage[0].servers = static_cast<int>(t.servers);
    const machine::Machine counted = build_machine(d, machine::known());
    EXPECT_EQ(counted.tiers[design::TierIndex(0)].read, t.read);
    EXPECT_EQ(counted.tiers[design::TierIndex(0)].write, t.write);
    EXPECT_EQ(counted.tiers[design::TierIndex(0)].capacity, t.capacity);
  }
}

// 200 TB and 4 saves of 988 GB are 203.9 TB. A drive holds 7.68 TB x 0.64 = 4.9152 TB, so 41.5
// drives, four servers of 12; with five servers one may be lost.
TEST(BuildMachine, servers_for_capacity_by_hand) {
  const machine::Machine m = build_machine(
      design_with_tier(std::string(kOpen) + ", read: 1 GB/s, write: 1 GB/s"), machine::known());
  const machine::Tier& t = m.tiers[design::TierIndex(0)];
  ASSERT_TRUE(t.need);
  EXPECT_EQ(t.need->size.limit, storage::TierLimit::capacity);
  EXPECT_NEAR(t.need->size.by_capacity, 203.95 / 4.9152, 0.05);
  EXPECT_EQ(t.need->size.servers, 4);
  EXPECT_TRUE(t.need->for_durability);
  EXPECT_EQ(t.servers, 5);
}

TEST(BuildMachine, tiers_without_demand_survive_the_loss_of_a_server) {
  design::Design d = design_with_tier(kOpen);
  d.workloads.clear();
  const machine::Tier t = build_machine(d, machine::known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(t.servers, 5);
  EXPECT_EQ(t.devices, 60);
  ASSERT_TRUE(t.need);
  EXPECT_TRUE(t.need->for_durability);
  d.storage[0].protection = design::Protection{.data = 1, .parity = 0};
  EXPECT_EQ(build_machine(d, machine::known()).tiers[design::TierIndex(0)].servers, 1);
  d.storage[0].device = "pfs-ddn-ai400x2";
  d.storage[0].protection.reset();
  d.storage[0].devices_per_server = 1;
  EXPECT_EQ(build_machine(d, machine::known()).tiers[design::TierIndex(0)].servers, 1);
}

// Small files are opened one by one and need more than one metadata server.
TEST(BuildMachine, small_files_need_more_metadata_servers) {
  design::Design d = design_with_tier(kOpen);
  design::Train& train = std::get<design::Train>(d.workloads[0].task);
  EXPECT_LE(build_machine(d, machine::known()).tiers[design::TierIndex(0)].metadata_servers, 1);
  train.dataset.format = design::DataFormat::files;
  train.dataset.sample_size = kilobytes(20);
  train.network = design::PlainNetwork{.params = 25e6, .forward = Flops(4e9)};
  train.model.clear();
  train.batch = 8192;
  const machine::Machine m = build_machine(d, machine::known());
  const machine::Tier& t = m.tiers[design::TierIndex(0)];
  PerSecond asked{0};
  for (const machine::TierAsk& a : asks_of(m)) asked += a.creates;
  EXPECT_GT(asked, PerSecond(20'000));
  EXPECT_GE(t.creates, asked);
  EXPECT_LT(t.creates - asked, PerSecond(20'000));
}

// A goal for the stall of a save asks for more bandwidth than a tenth of the interval does.
TEST(BuildMachine, goal_for_the_stall_of_a_synchronous_save_sizes_the_tier) {
  design::Design d = design_with_tier(kOpen, "goals: [checkpoint_stall <= 20 s]\n");
  const auto write_of = [](const machine::Machine& m) {
    BytesPerSecond most{0};
    for (const machine::TierAsk& a : asks_of(m)) most = max(most, a.demand.write);
    return most;
  };
  const BytesPerSecond async = write_of(build_machine(d, machine::known()));
  std::get<design::Train>(d.workloads[0].task).checkpoint->mode = design::CheckpointMode::sync;
  const BytesPerSecond sync = write_of(build_machine(d, machine::known()));
  EXPECT_NEAR(sync / async, 360.0 / 20, 0.01);
}

// Every storage profile is a complete tier that meets what the workload asks for.
TEST(BuildMachine, every_storage_profile_is_a_complete_tier) {
  ASSERT_EQ(machine::known().catalog().storage_profiles.size(), 7U);
  for (const catalog::StorageProfile& p : machine::known().catalog().storage_profiles) {
    const design::Design d = design_with_tier("profile: " + p.id);
    ASSERT_EQ(d.storage.size(), 1U) << p.id;
    const machine::Machine m = build_machine(d, machine::known());
    const machine::Tier& t = m.tiers[design::TierIndex(0)];
    EXPECT_TRUE(t.need) << p.id << " leaves the count to the workloads";
    EXPECT_EQ(lacks(m, asks_of(m)), "") << p.id;
    EXPECT_LE(t.latency.total, machine::latency_target(t.tier->tier) * 2) << p.id;
    for (const design_text::ProfileField& f :
         design_text::profile_fields(d.storage[0], machine::known().catalog())) {
      EXPECT_TRUE(f.followed()) << p.id << ' ' << f.key;
    }
  }
}

}  // namespace
}  // namespace orrery::jobs
