#include "model/machine/tier_size.h"

#include <gtest/gtest.h>

#include "model/design_text/profiles.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/tier_asks.h"
#include "model/machine/known_fixture.h"

namespace orrery::jobs {
namespace {

// A run of a 70B model that reads 200 TB of samples and saves every hour.
design::Design with_tier(const std::string& tier, const std::string& more = "") {
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

// What `tier` lacks of what is asked of it; empty: nothing.
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

// Nothing that durability asks for hides what the run does.
constexpr const char* kBare = ", protection: { data: 1, parity: 0 }";

TEST(tier_size, is_the_fewest_servers_that_give_what_is_asked) {
  const struct {
    const char* name;
    std::string tier;
    Bytes data_set, sample;
    Seconds every;
    const char* bound_by;
  } cases[] = {
      {"room", std::string(kOpen) + kBare, petabytes(3), megabytes(20), hours(1), "capacity"},
      {"reads", std::string(kOpen) + kBare, terabytes(9), gigabytes(5), hours(1), "read bandwidth"},
      {"writes", std::string(kOpen) + kBare, terabytes(9), megabytes(20), minutes(1),
       "write bandwidth: saves of 'big'"},
      {"network", std::string(kOpen) + kBare, terabytes(9), gigabytes(5), hours(1),
       "the servers' network asks for more"},
      {"cores", std::string(kOpen) + kBare + ", encrypted: true, server_cores: 4", terabytes(9),
       gigabytes(5), hours(1), "the servers' cores ask for more"},
      {"codes", kOpen, petabytes(3), megabytes(20), hours(1), "capacity: samples of 'big'"},
  };
  for (const auto& c : cases) {
    design::Design d = with_tier(c.tier);
    design::Train& train = std::get<design::Train>(d.workloads[0].task);
    train.dataset.size = c.data_set;
    train.dataset.sample_size = c.sample;
    train.checkpoint->every = c.every;
    const machine::Machine m = build_machine(d, machine::known());
    const machine::Tier& t = m.tiers[design::TierIndex(0)];
    ASSERT_TRUE(t.need) << c.name;
    EXPECT_NE(t.need->bound_by.find(c.bound_by), std::string::npos)
        << c.name << ": " << t.need->bound_by;
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

// By hand: 200 TB and 4 saves of 988 GB are 203.9 TB; 7.68 TB x 0.64 is 4.9152 TB, so 41.5 drives,
// which 12 a server are four servers; five let one be lost.
TEST(tier_size, of_room_by_hand) {
  const machine::Machine m = build_machine(
      with_tier(std::string(kOpen) + ", read: 1 GB/s, write: 1 GB/s"), machine::known());
  const machine::Tier& t = m.tiers[design::TierIndex(0)];
  ASSERT_TRUE(t.need);
  EXPECT_EQ(t.need->size.limit, storage::TierLimit::capacity);
  EXPECT_NEAR(t.need->size.by_capacity, 203.95 / 4.9152, 0.05);
  EXPECT_EQ(t.need->size.servers, 4);
  EXPECT_TRUE(t.need->for_durability);
  EXPECT_EQ(t.servers, 5);
}

TEST(tier_size, is_the_least_that_outlives_a_server_where_nothing_asks) {
  design::Design d = with_tier(kOpen);
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

// The stall that a goal allows asks for more than a tenth of the interval does.
TEST(tier_size, heeds_the_goal_of_a_save_that_training_waits_for) {
  design::Design d = with_tier(kOpen, "goals: [checkpoint_stall <= 20 s]\n");
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

// Files are opened one by one: more metadata servers than the one that is usual.
TEST(tier_size, counts_metadata_servers_for_small_files) {
  design::Design d = with_tier(kOpen);
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

// Samples of 100 kB out of shards pay a first byte each; drives answer them, not the metadata.
TEST(feed, of_single_samples_is_slower_than_of_shards) {
  const auto feed = [](double random) {
    design::Design d = with_tier(
        "tier: hot, kind: parallel-fs, device: hdd-cmr24, servers: 10, devices_per_server: 24");
    design::Train& train = std::get<design::Train>(d.workloads[0].task);
    train.dataset.sample_size = kilobytes(100);
    train.dataset.random_access = random;
    const machine::Machine m = build_machine(d, machine::known());
    TrainJob job = name_job(m, m.design().workloads[0]);
    fill_step(job, m);
    fill_costs(job, m);
    return job.feed;
  };
  const FeedPlan shards = feed(0);
  const FeedPlan mixed = feed(0.5);
  const FeedPlan single = feed(1);
  EXPECT_GT(shards.fetch.rate, mixed.fetch.rate);
  EXPECT_GT(mixed.fetch.rate, single.fetch.rate);
  // 240 disks of 170 reads a second at 80 %, over 256 accelerators.
  EXPECT_EQ(single.fetch.limit, storage::FetchLimit::requests);
  EXPECT_NEAR(single.fetch.rate.base(), 240 * 170 * 0.8 / 256 * 1e5, 1e3);
}

// Encryption and few cores slow a tier: by hand 4 cores of each of 8 servers decrypt and move
// 4 / 0.2965 GB/s, and write 4 / (0.2965 x 1.25 + 0.048).
TEST(tier_rates, are_held_by_cores_that_encrypt) {
  design::Design d = with_tier(
      "tier: hot, kind: parallel-fs, device: tlc-gen5, servers: 8, devices_per_server: 16");
  const machine::Tier plain = build_machine(d, machine::known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(plain.read_limit, storage::RateLimit::devices);
  EXPECT_NEAR(plain.read / gbytes_per_s(1), 8 * 16 * 14.5 * 0.8, 1e-6);
  d.storage[0].encrypted = true;
  d.storage[0].server_cores = 4;
  const machine::Tier sealed = build_machine(d, machine::known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(sealed.read_limit, storage::RateLimit::cores);
  EXPECT_NEAR(sealed.read / gbytes_per_s(1), 8 * 4 / 0.2965, 0.1);
  EXPECT_NEAR(sealed.write / gbytes_per_s(1), 8 * 4 / (0.2965 * 1.25 + 0.048), 0.1);
  EXPECT_GT(sealed.latency.total, plain.latency.total);
  d.storage[0].read = gbytes_per_s(500);
  d.storage[0].write = gbytes_per_s(10);
  const machine::Tier promised = build_machine(d, machine::known()).tiers[design::TierIndex(0)];
  EXPECT_EQ(promised.read, sealed.read) << "what was promised passes the same cores";
  EXPECT_EQ(promised.write, gbytes_per_s(10));
}

// Wider codes hold more and outlive less.
TEST(tier_durability, follows_the_code) {
  design::Design d = with_tier(
      "tier: hot, kind: parallel-fs, device: tlc-gen4, servers: 20, devices_per_server: 12");
  const auto built = [&](int data, int parity) {
    d.storage[0].protection = design::Protection{.data = data, .parity = parity};
    return build_machine(d, machine::known());
  };
  const auto tier = [&](int data, int parity) {
    return built(data, parity).tiers[design::TierIndex(0)];
  };
  const auto nines = [&](int data, int parity, double failures = 1) {
    const machine::Machine m = built(data, parity);  // which its tiers look into
    return machine::durability_of(m.tiers[design::TierIndex(0)], m.catalog(), failures)
        .value()
        .nines;
  };
  EXPECT_GT(nines(8, 3), nines(8, 2) + 1);
  EXPECT_GT(nines(8, 2), nines(16, 2));
  EXPECT_GT(tier(16, 2).capacity, tier(8, 2).capacity);
  EXPECT_GT(tier(16, 2).write, tier(8, 2).write);
  EXPECT_GT(nines(8, 2, 0.4), nines(8, 2));
}

// A profile is a tier that stands up by itself: it reads, and is what its name says.
TEST(profiles, are_tiers_by_themselves) {
  ASSERT_EQ(machine::known().catalog().storage_profiles.size(), 7U);
  for (const catalog::StorageProfile& p : machine::known().catalog().storage_profiles) {
    const design::Design d = with_tier("profile: " + p.id);
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
