// Tiers, saves and pipelines by hand: what a tier is taken for where the design is silent, what a
// save takes and leaves, what a stage moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layers/storage/economics.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/jobs/tier_asks.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

machine::Machine stored(const std::string& storage, const std::string& more = "") {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa, cooling: air-contained }\n  - { "
      "name: two, region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 4, site: one }\n"
      "fabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n  wan:\n    - { between: "
      "[one, two], rate: 16 Gb/s, latency: 30 ms }\nstorage:\n" +
          storage + more,
      machine::known().catalog());
  EXPECT_TRUE(read) << to_text(read.error());
  return build_machine(read.value(), machine::known());
}

void expect_same(double value, double wanted) {
  EXPECT_NEAR(value, wanted, 1e-9 * std::abs(wanted) + 1e-300);
}

TEST(TierDefaults, follow_from_the_kind) {
  const auto tier = [](const std::string& fields) {
    return stored(
               "  - { tier: hot, name: t, site: one, capacity: 1 PB, read: 40 GB/s, write: 10 "
               "GB/s, kind: " +
               fields + " }\n")
        .tiers[design::TierIndex(0)];
  };
  const machine::Tier files = tier("parallel-fs");
  EXPECT_EQ(files.creates, PerSecond(20'000));
  EXPECT_EQ(files.first_byte, milliseconds(1));
  EXPECT_EQ(files.stream_rate, gbytes_per_s(2));
  EXPECT_EQ(files.client_streams, 64);
  EXPECT_EQ(files.rate_error, 0.12);
  EXPECT_EQ(files.rate_basis, "the design");
  EXPECT_TRUE(files.rates_given);
  EXPECT_EQ(files.capacity, petabytes(1));
  EXPECT_EQ(files.path, "storage[0]");
  EXPECT_TRUE(files.durable());
  EXPECT_EQ(tier("nfs").creates, PerSecond(5'000));
  EXPECT_EQ(tier("nfs").first_byte, milliseconds(1));
  EXPECT_EQ(tier("block").creates, PerSecond(50'000));
  const machine::Tier objects = tier("object");
  EXPECT_EQ(objects.creates, PerSecond(3'500));
  EXPECT_EQ(objects.stream_rate, gbytes_per_s(0.1));
  const machine::Tier rented = tier("object, provider: aws");
  EXPECT_EQ(rented.first_byte, milliseconds(100));
  const machine::Tier own =
      tier("object, first_byte: 9 ms, stream_rate: 7 GB/s, client_streams: 5");
  EXPECT_EQ(own.first_byte, milliseconds(9));
  EXPECT_EQ(own.stream_rate, gbytes_per_s(7));
  EXPECT_EQ(own.client_streams, 5);
  const machine::Tier counted = tier("parallel-fs, metadata: { servers: 3, creates: 7000 /s }");
  EXPECT_EQ(counted.metadata_servers, 3);
  EXPECT_EQ(counted.creates, PerSecond(21'000));
}

// One rate without the other: reads are twice the writes.
TEST(TierDefaults, a_rate_follows_from_the_other) {
  const machine::Machine m = stored(
      "  - { tier: hot, site: one, kind: parallel-fs, capacity: 1 PB, read: 40 GB/s }\n"
      "  - { tier: warm, site: one, kind: parallel-fs, capacity: 1 PB, write: 7 GB/s }\n");
  EXPECT_EQ(m.tiers[design::TierIndex(0)].write, gbytes_per_s(20));
  EXPECT_EQ(m.tiers[design::TierIndex(1)].read, gbytes_per_s(14));
  EXPECT_EQ(find_tier(m.tiers, "warm"), &m.tiers[design::TierIndex(1)]);
  EXPECT_EQ(find_tier(m.tiers, "cold"), nullptr);
  const machine::Tier& drives = m.tiers.back();
  EXPECT_EQ(drives.label, "node-nvme");
  EXPECT_TRUE(drives.per_node);
  EXPECT_FALSE(drives.durable());
  EXPECT_EQ(drives.creates, PerSecond(50'000));
  EXPECT_EQ(drives.first_byte, microseconds(100));
  EXPECT_EQ(drives.capacity, terabytes(30.7));
  expect_same(drives.devices, 30.7 / 3.84);
  EXPECT_TRUE(machine::stands_in(drives, m.fleets[design::FleetIndex(0)]));
}

// Servers' networks bind what was promised: 3 servers of 5 GB/s.
TEST(TierDefaults, servers_hold_what_is_promised) {
  const machine::Machine m = stored(
      "  - { tier: hot, site: one, kind: parallel-fs, device: tlc-gen4, servers: 3, "
      "devices_per_server: 8, server_network: 40 Gb/s, capacity: 1 PB, read: 40 GB/s, write: 10 "
      "GB/s }\n");
  EXPECT_EQ(m.tiers[design::TierIndex(0)].read, gbytes_per_s(15));
  EXPECT_EQ(m.tiers[design::TierIndex(0)].read_limit, storage::RateLimit::network);
  EXPECT_EQ(m.tiers[design::TierIndex(0)].write, gbytes_per_s(10));
  const machine::TierServers s =
      machine::servers_of(m.tiers[design::TierIndex(0)], machine::known().catalog());
  EXPECT_EQ(s.each, gbytes_per_s(5));
  const auto bought =
      machine::purchase_of(m.tiers[design::TierIndex(0)], machine::known().catalog());
  ASSERT_TRUE(bought);
  const storage::OwnTerms terms;
  expect_same(bought->power.base(), 18 * (1 + terms.server_power_share));
  expect_same(bought->price.low.base(), 90 * 7.68 * (1 + terms.server_price_share));
  expect_same(bought->price.high.base(), 180 * 7.68 * (1 + terms.server_price_share));
  expect_same(machine::tier_power(m.tiers[design::TierIndex(0)], machine::known().catalog()).base(),
              bought->power.base() * bought->devices);
}

// 90 GB/s and 1,900 W an appliance, which brings its metadata along.
TEST(TierDefaults, an_appliance_is_a_server) {
  const machine::Machine m = stored(
      "  - { tier: hot, site: one, kind: parallel-fs, device: pfs-ddn-ai400x2, servers: 3, "
      "metadata: { servers: 2 } }\n"
      "  - { tier: cold, site: one, kind: object, device: hdd-cmr24, servers: 4, metadata: { "
      "servers: 2 }, capacity: 1 PB }\n");
  const machine::Tier& hot = m.tiers[design::TierIndex(0)];
  const auto bought = machine::purchase_of(hot, machine::known().catalog());
  ASSERT_TRUE(bought);
  EXPECT_EQ(bought->devices, 3);
  EXPECT_EQ(bought->servers, 0);
  EXPECT_EQ(bought->power, watts(1900));
  expect_same(bought->price.low.base(), 350 * 500);
  EXPECT_EQ(metadata_of(hot, machine::known().catalog()).count, 0);
  const machine::TierServers s = machine::servers_of(hot, machine::known().catalog());
  EXPECT_EQ(s.data, 3);
  expect_same(s.each.base(), std::max(hot.read.base(), hot.write.base()) / 3);
  EXPECT_EQ(s.metadata, 0);
  EXPECT_EQ(machine::tier_power(hot, machine::known().catalog()), watts(5700));
  EXPECT_EQ(hot.rate_error, 0.25);
  EXPECT_FALSE(hot.rates_given);
  const machine::MetadataServers names =
      metadata_of(m.tiers[design::TierIndex(1)], machine::known().catalog());
  ASSERT_NE(names.part, nullptr);
  EXPECT_EQ(names.part->id, "cpu-2s-server");
  EXPECT_EQ(names.count, 2);
  const auto drives =
      machine::purchase_of(m.tiers[design::TierIndex(1)], machine::known().catalog());
  expect_same(machine::tier_power(m.tiers[design::TierIndex(1)], machine::known().catalog()).base(),
              drives->power.base() * drives->devices + 2 * 600);
}

const std::string kTwoTiers =
    "  - { tier: hot, site: one, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 PB "
    "}\n  - { tier: cold, site: two, kind: nfs, read: 9 GB/s, write: 3 GB/s, capacity: 9 PB }\n";

struct SavedRun {
  machine::Machine machine;
  TrainJob job;

  explicit SavedRun(const std::string& checkpoint, const std::string& storage = kTwoTiers)
      : machine(stored(storage,
                       "workloads:\n  - train: { network: { params: 300M, forward: 12 "
                       "GFLOP }, batch: 3200, samples: 10B, checkpoint: { " +
                           checkpoint + " } }\n")),
        job(name_job(machine, machine.design().workloads[0])) {
    fill_step(job, machine);
    fill_costs(job, machine);
  }
};

// 14 bytes of 300 M parameters: 4.2 GB, of which the 600 MB of weights are one rank's.
TEST(Saves, go_first_to_the_first_tier_and_are_safe_in_a_durable_one) {
  const SavedRun r("to: [node-nvme, hot, cold], every: 30 min, mode: async");
  ASSERT_TRUE(r.job.checkpoint);
  const SavePlan& v = *r.job.checkpoint;
  EXPECT_EQ(v.first->label, "node-nvme");
  EXPECT_EQ(v.safe->label, "hot");
  expect_same(v.size.base(), 4.2e9);
  EXPECT_EQ(v.interval, minutes(30));
  EXPECT_TRUE(v.interval_given);
  EXPECT_TRUE(v.async);
  const storage::SaveLoad load = storage::save_load(300e6, {.weight = 2, .master = 4, .moments = 8},
                                                    {.ranks = 32,
                                                     .model_shards = 1,
                                                     .ranks_per_node = 8,
                                                     .sharding = storage::SaveSharding::zero1});
  EXPECT_EQ(v.files, load.writers);
  expect_same(v.load.busiest_rank.base(), load.busiest_rank.base());
  const machine::Tier& local = *v.first;
  const storage::WriteTime write = storage::write_time(
      load, load.writers,
      {.node = local.write, .serialise = gbytes_per_s(2), .commit = seconds(2)});
  expect_same(v.write.total.base(), write.total.base());
  const machine::Network& wires = r.machine.storage_wires(*r.job.fleet);
  const storage::WriteTime drain = storage::write_time(load, load.writers,
                                                       {.server = gbytes_per_s(8),
                                                        .node = wires.per_node(),
                                                        .serialise = gbytes_per_s(2),
                                                        .creates = PerSecond(20'000),
                                                        .commit = seconds(2)});
  expect_same(v.drain.total.base(), drain.total.base());
  const storage::SaveStall stall = storage::async_stall({.copy_rate = gbytes_per_s(27),
                                                         .interval = minutes(30),
                                                         .rank_bytes = load.busiest_rank,
                                                         .drain = drain.total});
  expect_same(v.stall.total.base(), stall.total.base());
  expect_same(v.host_memory.base(), storage::snapshot_memory(load.busiest_node, 2).base());
  const storage::RestoreTime restore = storage::restore_time(
      storage::restore_load(300e6, {.weight = 2, .master = 4, .moments = 8},
                            {.save = {.ranks = 32,
                                      .model_shards = 1,
                                      .ranks_per_node = 8,
                                      .sharding = storage::SaveSharding::zero1}}),
      {.server = gbytes_per_s(40), .node = wires.per_node()});
  expect_same(v.restore.total.base(), restore.total.base());
  // All that is saved is kept where no rule says otherwise.
  expect_same(v.kept_on_safe.base(), 4.2e9 * (r.job.raw_time / minutes(30)));
  // To the other site over a line of 2 GB/s and 30 ms.
  ASSERT_EQ(v.later.size(), 1U);
  EXPECT_EQ(v.later[0].tier->label, "cold");
  EXPECT_EQ(v.later[0].every, minutes(30));
  const storage::WriteTime later = storage::write_time(load, load.writers,
                                                       {.server = gbytes_per_s(2),
                                                        .node = wires.per_node(),
                                                        .serialise = gbytes_per_s(2),
                                                        .creates = PerSecond(5'000),
                                                        .commit = seconds(2.03)});
  expect_same(v.later[0].takes.base(), later.total.base());
}

TEST(Saves, are_kept_by_their_rules) {
  const SavedRun r(
      "to: [hot, cold], every: 30 min, keep: { hot: 3, cold: milestones }, mode: sync");
  const SavePlan& v = *r.job.checkpoint;
  EXPECT_FALSE(v.async);
  EXPECT_EQ(v.safe, v.first);
  expect_same(v.drain.total.base(), v.write.total.base());
  expect_same(v.stall.total.base(), storage::sync_stall(v.write.total).total.base());
  EXPECT_EQ(v.host_memory, Bytes(0));
  expect_same(v.kept_on_safe.base(), 4.2e9 * 4);
  ASSERT_EQ(v.later.size(), 1U);
  EXPECT_EQ(v.later[0].every, weeks(1));
  expect_same(v.later[0].kept.base(), 4.2e9 * (1 + r.job.raw_time / weeks(1)));
  const SavedRun own(
      "to: [hot, cold], every: 30 min, keep: { cold: milestones }, milestone: 2 d, "
      "files: 77, bytes_per_param: 2");
  expect_same(own.job.checkpoint->size.base(), 0.6e9);
  EXPECT_EQ(own.job.checkpoint->files, 77);
  EXPECT_EQ(own.job.checkpoint->later[0].every, days(2));
  const SavedRun more("to: [hot], every: 30 min, bytes_per_param: 8");
  expect_same(more.job.checkpoint->size.base(), 2.4e9);
  const SavedRun versions(
      "to: [hot], every: 30 min, keep: { hot: 3 }",
      "  - { tier: hot, site: one, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 "
      "PB, versioned: true }\n");
  const double all = versions.job.raw_time / minutes(30);
  expect_same(versions.job.checkpoint->kept_on_safe.base(), 4.2e9 * (4 + std::min(all, 336.0)));
}

TEST(Asks, of_a_run_are_samples_and_saves) {
  const SavedRun r("to: [node-nvme, hot, cold], every: 30 min, keep: { hot: 3 }");
  std::vector<machine::TierAsk> asks = asks_of(r.job, r.machine);
  std::erase_if(asks, [](const machine::TierAsk& a) { return a.what.starts_with("samples"); });
  ASSERT_EQ(asks.size(), 3U);
  // A tenth of half an hour.
  EXPECT_EQ(asks[0].tier, "node-nvme");
  EXPECT_EQ(asks[0].demand.capacity, Bytes(0));
  expect_same(asks[0].demand.write.base(), 4.2e9 / 180);
  expect_same(asks[0].creates.base(), r.job.checkpoint->files / 180);
  EXPECT_EQ(asks[1].tier, "hot");
  expect_same(asks[1].demand.capacity.base(), 4.2e9 * 4);
  EXPECT_EQ(asks[1].what, "saves of 'train', 4.2 GB within 3 min");
  EXPECT_EQ(asks[2].tier, "cold");
  expect_same(asks[2].demand.write.base(), 4.2e9 / 180);
}

const std::string kStages =
    "workloads:\n  - train: { name: run, network: { params: 300M, forward: 12 GFLOP }, batch: "
    "3200, "
    "samples: 1M, dataset: { samples: 1M, sample_size: 150 kB, tier: hot } }\n"
    "  - batch: { name: prep, core_hours: 9, output: 3 TB, dataset: { size: 7 TB, tier: hot }, "
    "deadline: 2 h }\n"
    "  - serve: { name: ask, model: llama-3-8b, arrivals: { rate: 5 /s, trace: chat, peak: 2 }, "
    "retrieval: { tier: hot, reads: 4, read_size: 8 kB, index: 2 TB } }\n"
    "pipeline:\n  every: 1 d\n  stages:\n"
    "    - { stage: ingest, to: hot, rate: 8 Gb/s, size: 10 TB, keep: 3 d }\n"
    "    - { stage: prepare, workload: prep }\n"
    "    - { stage: train, workload: run, after: [ingest, prepare] }\n"
    "    - { stage: register, from: hot, to: cold }\n"
    "    - { stage: archive, from: hot, to: cold, size: 1 TB, rate: 8 Gb/s, after: [begin] }\n"
    "    - { stage: serve, workload: ask, after: [register] }\n";

TEST(PipelineStages, are_what_they_move_and_wait_for) {
  const machine::Machine m = stored(kTwoTiers, kStages);
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 6U);
  EXPECT_EQ(stages[0].out, terabytes(10));
  EXPECT_EQ(stages[0].in, terabytes(10));
  EXPECT_EQ(stages[0].way, gbytes_per_s(1));
  EXPECT_EQ(stages[0].from, nullptr);
  EXPECT_EQ(stages[0].to->label, "hot");
  EXPECT_EQ(stages[0].path, "pipeline.stages[0]");
  EXPECT_THAT(stages[0].after, IsEmpty());
  EXPECT_EQ(stages[1].in, terabytes(7));
  EXPECT_EQ(stages[1].out, terabytes(3));
  EXPECT_THAT(stages[1].after, ElementsAre(0U));
  EXPECT_EQ(stages[2].in, gigabytes(150));
  EXPECT_EQ(stages[2].out, megabytes(600)) << "two bytes of 300 M weights";
  EXPECT_THAT(stages[2].after, ElementsAre(0U, 1U));
  EXPECT_EQ(stages[3].out, megabytes(600));
  EXPECT_EQ(stages[3].way, gbytes_per_s(2)) << "the line between the sites";
  EXPECT_EQ(stages[4].way, gbytes_per_s(1)) << "the rate given";
  EXPECT_THAT(stages[4].after, IsEmpty());
  EXPECT_TRUE(stages[5].is_served);
  EXPECT_FALSE(stages[3].is_served);
  EXPECT_EQ(stage_of(stages, m.design().workloads[0]), 2);
  EXPECT_EQ(stage_of(stages, m.design().workloads[2]), 5);
  EXPECT_EQ(stage_of({}, m.design().workloads[2]), -1);
  EXPECT_EQ(kept_by(stages[0], m.design().pipeline), terabytes(30)) << "three days of one";
  EXPECT_EQ(kept_by(stages[4], m.design().pipeline), terabytes(1));
  for (const PipelineStage& s : stages) EXPECT_EQ(s.infeasible, "");
  const auto left = tiers_left(m, stages, {});
  EXPECT_EQ(left[design::TierIndex(0)].read, gbytes_per_s(40));
  EXPECT_EQ(left[design::TierIndex(1)].write, gbytes_per_s(3));
  // 1 ms of each tier's first byte; 10 TB at 1 GB/s; 0.6 GB at the line's 2 GB/s.
  expect_same(move_time(stages[0], left).base(), 1e-3 + 10'000);
  expect_same(move_time(stages[3], left).base(), 2e-3 + 0.3);
  TiersLeft busy = left;
  busy[design::TierIndex(1)].write = gbytes_per_s(0.5);
  expect_same(move_time(stages[3], busy).base(), 2e-3 + 1.2);
  busy = left;
  busy[design::TierIndex(0)].read = gbytes_per_s(0.25);
  expect_same(move_time(stages[3], busy).base(), 2e-3 + 2.4);
}

TEST(PipelineStages, ask_tiers_for_room_and_rates) {
  const machine::Machine m = stored(kTwoTiers, kStages);
  const auto asks = asks_of_pipeline(m);
  ASSERT_EQ(asks.size(), 5U) << "ingest one, register and archive two each";
  EXPECT_EQ(asks[0].tier, "hot");
  EXPECT_EQ(asks[0].demand.capacity, terabytes(30));
  EXPECT_EQ(asks[0].demand.write, gbytes_per_s(1));
  EXPECT_EQ(asks[0].what, "stage 'ingest'");
  EXPECT_EQ(asks[1].tier, "cold");
  EXPECT_EQ(asks[1].demand.capacity, megabytes(600));
  EXPECT_EQ(asks[1].demand.write, BytesPerSecond(0));
  EXPECT_EQ(asks[3].demand.write, gbytes_per_s(1));
  EXPECT_EQ(asks[4].tier, "hot");
  EXPECT_EQ(asks[4].demand.read, gbytes_per_s(1));
  const auto indexes = asks_of_indexes(m);
  ASSERT_EQ(indexes.size(), 1U);
  EXPECT_EQ(indexes[0].what, "index of 'ask'");
  EXPECT_EQ(indexes[0].demand.capacity, terabytes(2));
  expect_same(indexes[0].demand.requests.base(), 5 * 2 * 4);  // of the busiest hour
  expect_same(indexes[0].demand.read.base(), 40 * 8e3);
  // 7 TB in and 3 TB out within two hours, a cycle being longer.
  const auto all = asks_of(m);
  const auto batch = std::ranges::find(all, "input and output of 'prep'", &machine::TierAsk::what);
  ASSERT_NE(batch, all.end());
  EXPECT_EQ(batch->demand.capacity, terabytes(10));
  expect_same(batch->demand.read.base(), 7e12 / 7200);
  expect_same(batch->demand.write.base(), 3e12 / 7200);
}

}  // namespace
}  // namespace orrery::jobs
