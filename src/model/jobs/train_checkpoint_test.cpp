#include <gtest/gtest.h>

#include "model/jobs/storage_fixture.h"
#include "model/jobs/train_job.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

// 14 bytes for each of 300 M parameters are 4.2 GB, of which one rank writes the 600 MB of weights.
TEST(TrainCheckpoint, save_is_safe_in_the_first_durable_tier) {
  const SavedRun r("to: [node-nvme, hot, cold], every: 30 min, mode: async");
  ASSERT_TRUE(r.job.checkpoint);
  const SavePlan& v = *r.job.checkpoint;
  EXPECT_EQ(v.first->label, "node-nvme");
  EXPECT_EQ(v.safe->label, "hot");
  machine::expect_close(v.size.base(), 4.2e9);
  EXPECT_EQ(v.interval, minutes(30));
  EXPECT_TRUE(v.interval_given);
  EXPECT_TRUE(v.async);
  const storage::SaveLoad load = storage::save_load(300e6, {.weight = 2, .master = 4, .moments = 8},
                                                    {.ranks = 32,
                                                     .model_shards = 1,
                                                     .ranks_per_node = 8,
                                                     .sharding = storage::SaveSharding::zero1});
  EXPECT_EQ(v.files, load.writers);
  machine::expect_close(v.load.busiest_rank.base(), load.busiest_rank.base());
  const machine::Tier& local = *v.first;
  const storage::WriteTime write = storage::write_time(
      load, load.writers,
      {.node = local.write, .serialise = gbytes_per_s(2), .commit = seconds(2)});
  machine::expect_close(v.write.total.base(), write.total.base());
  const machine::Network& wires = r.machine.storage_wires(*r.job.fleet);
  const storage::WriteTime drain = storage::write_time(load, load.writers,
                                                       {.server = gbytes_per_s(8),
                                                        .node = wires.per_node(),
                                                        .serialise = gbytes_per_s(2),
                                                        .creates = PerSecond(20'000),
                                                        .commit = seconds(2)});
  machine::expect_close(v.drain.total.base(), drain.total.base());
  const storage::SaveStall stall = storage::async_stall({.copy_rate = gbytes_per_s(27),
                                                         .interval = minutes(30),
                                                         .rank_bytes = load.busiest_rank,
                                                         .drain = drain.total});
  machine::expect_close(v.stall.total.base(), stall.total.base());
  machine::expect_close(v.host_memory.base(),
                        storage::snapshot_memory(load.busiest_node, 2).base());
  const storage::RestoreTime restore = storage::restore_time(
      storage::restore_load(300e6, {.weight = 2, .master = 4, .moments = 8},
                            {.save = {.ranks = 32,
                                      .model_shards = 1,
                                      .ranks_per_node = 8,
                                      .sharding = storage::SaveSharding::zero1}}),
      {.server = gbytes_per_s(40), .node = wires.per_node()});
  machine::expect_close(v.restore.total.base(), restore.total.base());
  // Without a keep rule every save is kept.
  machine::expect_close(v.kept_on_safe.base(), 4.2e9 * (r.job.raw_time / minutes(30)));
  // To the other site, over a line of 2 GB/s and 30 ms.
  ASSERT_EQ(v.later.size(), 1U);
  EXPECT_EQ(v.later[0].tier->label, "cold");
  EXPECT_EQ(v.later[0].every, minutes(30));
  const storage::WriteTime later = storage::write_time(load, load.writers,
                                                       {.server = gbytes_per_s(2),
                                                        .node = wires.per_node(),
                                                        .serialise = gbytes_per_s(2),
                                                        .creates = PerSecond(5'000),
                                                        .commit = seconds(2.03)});
  machine::expect_close(v.later[0].takes.base(), later.total.base());
}

TEST(TrainCheckpoint, keep_rules_decide_what_is_kept) {
  const SavedRun r(
      "to: [hot, cold], every: 30 min, keep: { hot: 3, cold: milestones }, mode: sync");
  const SavePlan& v = *r.job.checkpoint;
  EXPECT_FALSE(v.async);
  EXPECT_EQ(v.safe, v.first);
  machine::expect_close(v.drain.total.base(), v.write.total.base());
  machine::expect_close(v.stall.total.base(), storage::sync_stall(v.write.total).total.base());
  EXPECT_EQ(v.host_memory, Bytes(0));
  machine::expect_close(v.kept_on_safe.base(), 4.2e9 * 4);
  ASSERT_EQ(v.later.size(), 1U);
  EXPECT_EQ(v.later[0].every, weeks(1));
  machine::expect_close(v.later[0].kept.base(), 4.2e9 * (1 + r.job.raw_time / weeks(1)));
  const SavedRun own(
      "to: [hot, cold], every: 30 min, keep: { cold: milestones }, milestone: 2 d, "
      "files: 77, bytes_per_param: 2");
  machine::expect_close(own.job.checkpoint->size.base(), 0.6e9);
  EXPECT_EQ(own.job.checkpoint->files, 77);
  EXPECT_EQ(own.job.checkpoint->later[0].every, days(2));
  const SavedRun more("to: [hot], every: 30 min, bytes_per_param: 8");
  machine::expect_close(more.job.checkpoint->size.base(), 2.4e9);
  const SavedRun versions(
      "to: [hot], every: 30 min, keep: { hot: 3 }",
      "  - { tier: hot, site: one, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 "
      "PB, versioned: true }\n");
  const double all = versions.job.raw_time / minutes(30);
  machine::expect_close(versions.job.checkpoint->kept_on_safe.base(),
                        4.2e9 * (4 + std::min(all, 336.0)));
}

}  // namespace
}  // namespace orrery::jobs
