#include "layers/storage/checkpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "core/catalog/catalog.h"
#include "core/workload/model_math.h"
#include "layers/storage/durability.h"
#include "layers/storage/guidance.h"
#include "layers/storage/lifecycle.h"
#include "layers/storage/loader.h"
#include "layers/storage/scale_out.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

// MLPerf Storage's checkpoint workloads: 64, 512 and 1024 ranks report 911.2, 5292.2 and 15426.6
// GiB (mlcommons/storage_results_v3.0 summaries). 14 bytes per parameter of the shapes.
TEST(CheckpointSize, reported_sizes_of_the_three_shapes) {
  const auto catalog = catalog::load_embedded_catalog();
  ASSERT_TRUE(catalog.has_value());
  const struct {
    const char* model;
    double reported_gib;
  } rows[] = {{"llama-70b-dlio", 911.2}, {"llama-405b-dlio", 5292.2}, {"llama-1t-dlio", 15426.6}};
  for (const auto& row : rows) {
    const catalog::ModelShape* shape = catalog->model(row.model);
    ASSERT_NE(shape, nullptr) << row.model;
    const double parameters = workload::count_parameters(*shape).total;
    const double size = checkpoint_size(parameters, SavedState::adam_mixed) / gib(1);
    EXPECT_NEAR(size / row.reported_gib, 1, 0.0002) << row.model;
  }
}

TEST(CheckpointSize, bytes_by_state) {
  EXPECT_EQ(state_bytes(SavedState::adam_mixed).total(), 14);
  EXPECT_EQ(state_bytes(SavedState::adam_rederived).total(), 12);
  EXPECT_EQ(state_bytes(SavedState::adam_8bit).total(), 8);
  EXPECT_EQ(state_bytes(SavedState::sgd_momentum).total(), 10);
  EXPECT_EQ(state_bytes(SavedState::weights_only).total(), 2);
  // "70B about 1 TB" (field guide).
  EXPECT_NEAR(checkpoint_size(70e9, SavedState::adam_mixed) / terabytes(1), 0.98, 1e-9);
}

constexpr StateBytes kAdam{.weight = 2, .master = 4, .moments = 8};

TEST(SaveLoad, shards_of_a_small_job) {
  // 64 ranks, TP 8, one node per replica: 70 GB of shards.
  const SaveLayout layout{
      .ranks = 64, .model_shards = 8, .ranks_per_node = 8, .sharding = SaveSharding::zero1};
  const SaveLoad load = save_load(8e9, kAdam, layout);
  EXPECT_DOUBLE_EQ(load.total / gigabytes(1), 112);
  // A rank of the first replica: weights 16/8 and optimizer 96/64.
  EXPECT_DOUBLE_EQ(load.busiest_rank / gigabytes(1), 2 + 1.5);
  EXPECT_DOUBLE_EQ(load.busiest_node / gigabytes(1), 8 * 3.5);
  EXPECT_EQ(load.writers, 64);
  EXPECT_EQ(load.nodes, 8);
  EXPECT_EQ(load.heavy_nodes, 1);
  EXPECT_DOUBLE_EQ(load.other_node / gigabytes(1), 8 * 1.5);
}

TEST(SaveLoad, fully_parallel_saves_are_even_and_the_smallest) {
  for (const int shards : {1, 8, 64}) {
    SaveLayout layout{.ranks = 512, .model_shards = shards, .ranks_per_node = 8};
    layout.sharding = SaveSharding::balanced;
    const SaveLoad even = save_load(70e9, kAdam, layout);
    EXPECT_DOUBLE_EQ(even.busiest_rank / (even.total / 512), 1);
    for (const SaveSharding s : {SaveSharding::replicated, SaveSharding::zero1}) {
      layout.sharding = s;
      const SaveLoad load = save_load(70e9, kAdam, layout);
      EXPECT_GE(load.busiest_rank, even.busiest_rank);
      EXPECT_GE(load.busiest_node, even.busiest_node);
      EXPECT_LE(load.busiest_node, load.total * 1.0000001);
    }
  }
}

SaveLoad terabyte() {
  return {.total = terabytes(1),
          .busiest_rank = gigabytes(20),
          .busiest_node = gigabytes(125),
          .writers = 64};
}

TEST(WriteTime, names_each_wall) {
  const WritePath open{};
  WritePath p = open;
  p.server = gbytes_per_s(20);
  WriteTime t = write_time(terabyte(), 64, p);
  EXPECT_DOUBLE_EQ(t.total.base(), 50);
  EXPECT_EQ(t.wall, Wall::server_bandwidth);

  p.node = gbytes_per_s(1.25);  // 10 GbE
  t = write_time(terabyte(), 64, p);
  EXPECT_DOUBLE_EQ(t.total.base(), 100);
  EXPECT_EQ(t.wall, Wall::node_network);

  p.serialise = gbytes_per_s(0.1);
  t = write_time(terabyte(), 64, p);
  EXPECT_DOUBLE_EQ(t.total.base(), 200);
  EXPECT_EQ(t.wall, Wall::serialisation);

  p.creates = PerSecond(200);
  t = write_time(terabyte(), 100000, p);
  EXPECT_DOUBLE_EQ(t.total.base(), 700);
  EXPECT_EQ(t.wall, Wall::metadata);

  p.commit = seconds(1000);
  t = write_time(terabyte(), 100000, p);
  EXPECT_DOUBLE_EQ(t.total.base(), 1700);
  EXPECT_EQ(t.wall, Wall::commit);
  EXPECT_STREQ(to_text(Wall::metadata), "metadata");
}

// Eight nodes, one with 28 GB and seven with 12, on 14 GB/s of servers and 4 GB/s of network each:
// all write 12 GB at 14/8 GB/s, then the first writes the other 16 GB at its 4 GB/s.
TEST(WriteTime, nodes_with_more_to_write_end_alone) {
  const SaveLayout layout{.ranks = 64, .model_shards = 8};
  const SaveLoad load = save_load(8e9, kAdam, layout);
  const WritePath path{.server = gbytes_per_s(14), .node = gbytes_per_s(4)};
  const WriteTime t = write_time(load, 0, path);
  EXPECT_DOUBLE_EQ(t.server.base(), 8);
  EXPECT_DOUBLE_EQ(t.network.base(), 7);
  EXPECT_NEAR(t.total.base(), 12 / 1.75 + 16 / 4.0, 1e-9);
  EXPECT_NEAR(t.uneven.base(), t.total.base() - 8, 1e-9);
  // Nothing remains if one limit is far below the other.
  EXPECT_NEAR(write_time(load, 0, {.server = gbytes_per_s(14)}).uneven.base(), 0, 1e-9);
  EXPECT_NEAR(write_time(load, 0, {.node = gbytes_per_s(4)}).uneven.base(), 0, 1e-9);
}

TEST(WriteTime, more_of_anything_never_slows) {
  const WritePath base{.server = gbytes_per_s(10),
                       .node = gbytes_per_s(1),
                       .serialise = gbytes_per_s(0.5),
                       .creates = PerSecond(500),
                       .commit = seconds(1)};
  const Seconds before = write_time(terabyte(), 1000, base).total;
  for (const double more : {1.0, 1.5, 4.0, 100.0}) {
    WritePath p = base;
    p.server *= more;
    EXPECT_LE(write_time(terabyte(), 1000, p).total, before);
    p = base;
    p.node *= more;
    EXPECT_LE(write_time(terabyte(), 1000, p).total, before);
    p = base;
    p.serialise *= more;
    EXPECT_LE(write_time(terabyte(), 1000, p).total, before);
    p = base;
    p.creates *= more;
    EXPECT_LE(write_time(terabyte(), 1000, p).total, before);
  }
}

TEST(WriteTime, fewer_creates_a_second_lengthen_it) {
  const auto time = [](double creates) {
    WritePath p{.server = gbytes_per_s(100)};
    p.creates = PerSecond(creates);
    return write_time(terabyte(), 8192, p).total;
  };
  EXPECT_NEAR((time(1000) - time(4000)).base(), 8.192 * 0.75, 1e-9);
}

TEST(Stall, sync_is_the_write_and_both_clocks_agree) {
  const SaveStall s = sync_stall(seconds(49));
  EXPECT_EQ(s.total, seconds(49));
  EXPECT_EQ(s.stall_end, s.safe);
}

TEST(Stall, async_stalls_for_the_snapshot_only) {
  // 14 GB per rank at 20 GB/s.
  AsyncPath path{.copy_rate = gbytes_per_s(20),
                 .interval = minutes(10),
                 .rank_bytes = gigabytes(14),
                 .drain = seconds(60),
                 .interference = 0};
  SaveStall s = async_stall(path);
  EXPECT_DOUBLE_EQ(s.total.base(), 0.7);
  EXPECT_DOUBLE_EQ(s.stall_end.base(), 0.7);
  EXPECT_DOUBLE_EQ(s.safe.base(), 60.7);
  EXPECT_FALSE(s.drain_outlasts_interval);

  path.interference = 0.05;
  s = async_stall(path);
  EXPECT_DOUBLE_EQ(s.total.base(), 0.7 + 3);
  EXPECT_DOUBLE_EQ(s.stall_end.base(), 0.7);

  path.interval = seconds(40);
  s = async_stall(path);
  EXPECT_TRUE(s.drain_outlasts_interval);
  EXPECT_DOUBLE_EQ(s.wait.base(), 20);
}

TEST(Stall, host_memory_for_two_snapshots) {
  EXPECT_EQ(snapshot_memory(gigabytes(112), 2), gigabytes(224));
}

TEST(Restore, replicas_read_the_weights_again_unless_broadcast) {
  const SaveLayout save{
      .ranks = 64, .model_shards = 8, .ranks_per_node = 8, .sharding = SaveSharding::zero1};
  const RestoreLoad once = restore_load(8e9, kAdam, {.save = save, .broadcast = true});
  const RestoreLoad each = restore_load(8e9, kAdam, {.save = save, .broadcast = false});
  EXPECT_DOUBLE_EQ(once.total / gigabytes(1), 112);
  EXPECT_DOUBLE_EQ(each.total / gigabytes(1), 96 + 16 * 8);
  EXPECT_DOUBLE_EQ(once.node / gigabytes(1), 16 + 12);
}

TEST(Restore, time_and_its_wall) {
  const RestoreLoad load{.total = gigabytes(1000), .node = gigabytes(50)};
  RestoreTime t = restore_time(
      load, {.server = gbytes_per_s(40), .node = gbytes_per_s(10), .start = seconds(20)});
  EXPECT_DOUBLE_EQ(t.total.base(), 45);
  EXPECT_EQ(t.wall, Wall::server_bandwidth);
  t = restore_time(load, {.server = gbytes_per_s(40), .node = gbytes_per_s(1), .start = {}});
  EXPECT_EQ(t.wall, Wall::node_network);
}

// 24 ranks on three nodes of eight hold sixteen shards of the weights: two nodes have them.
TEST(Checkpoint, heavy_nodes_hold_the_weights) {
  const StateBytes state{.weight = 2, .master = 4, .moments = 6};
  SaveLayout layout{.ranks = 24, .model_shards = 16, .ranks_per_node = 8};
  SaveLoad load = save_load(3e9, state, layout);  // 6 GB of weights, 30 GB of optimizer state
  EXPECT_NEAR(load.total.base(), 36e9, 1);
  EXPECT_NEAR(load.busiest_rank.base(), 6e9 / 16 + 30e9 / 24, 1);
  EXPECT_NEAR(load.busiest_node.base(), 8 * 1.625e9, 1);
  EXPECT_EQ(load.writers, 24);
  EXPECT_EQ(load.nodes, 3);
  EXPECT_EQ(load.heavy_nodes, 2);
  EXPECT_NEAR(load.other_node.base(), 10e9, 1);
  layout.sharding = SaveSharding::replicated;
  load = save_load(3e9, state, layout);
  EXPECT_NEAR(load.busiest_rank.base(), 2.25e9, 1);
  EXPECT_NEAR(load.busiest_node.base(), 18e9, 1);
  EXPECT_EQ(load.writers, 16);
  EXPECT_EQ(load.heavy_nodes, 2);
  EXPECT_EQ(load.other_node, Bytes(0));
  for (const SaveSharding s : {SaveSharding::zero3, SaveSharding::balanced}) {
    layout.sharding = s;
    load = save_load(3e9, state, layout);
    EXPECT_NEAR(load.busiest_rank.base(), 1.5e9, 1);
    EXPECT_NEAR(load.busiest_node.base(), 12e9, 1);
    EXPECT_EQ(load.writers, 24);
    EXPECT_EQ(load.heavy_nodes, 3);
    EXPECT_EQ(load.other_node, Bytes(0)) << "there are no others";
  }
}

TEST(Checkpoint, bytes_by_saved_state) {
  const std::pair<SavedState, const char*> states[] = {
      {SavedState::adam_mixed, "adam-mixed"},
      {SavedState::adam_rederived, "adam-rederived"},
      {SavedState::adam_8bit, "adam-8bit"},
      {SavedState::sgd_momentum, "sgd-momentum"},
      {SavedState::weights_only, "weights-only"}};
  const double totals[] = {14, 12, 8, 10, 2};
  const double optimizer[] = {12, 12, 6, 8, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_STREQ(to_text(states[i].first), states[i].second);
    EXPECT_EQ(state_bytes(states[i].first).total(), totals[i]);
    EXPECT_EQ(state_bytes(states[i].first).optimizer(), optimizer[i]);
    EXPECT_EQ(checkpoint_size(5e9, states[i].first), gigabytes(5 * totals[i]));
  }
  EXPECT_STREQ(to_text(Wall::serialisation), "serialisation");
}

constexpr StateBytes kMixed{.weight = 2, .master = 4, .moments = 8};

// Whichever ranks write, the nodes together write the whole exactly once.
TEST(Checkpoint, nodes_write_the_checkpoint_exactly_once) {
  for (const int ranks : {1, 7, 8, 20, 24, 64}) {
    for (const int shards : {1, 3, 8, 12, 100}) {
      for (const SaveSharding sharding : {SaveSharding::replicated, SaveSharding::zero1,
                                          SaveSharding::zero3, SaveSharding::balanced}) {
        const SaveLoad load = save_load(
            1e9, kMixed,
            {.ranks = ranks, .model_shards = shards, .ranks_per_node = 8, .sharding = sharding});
        SCOPED_TRACE(std::to_string(ranks) + ' ' + std::to_string(shards) + ' ' +
                     std::to_string(static_cast<int>(sharding)));
        EXPECT_EQ(load.nodes, (ranks + 7) / 8);
        EXPECT_GE(load.heavy_nodes, 1);
        EXPECT_LE(load.heavy_nodes, load.nodes);
        EXPECT_LE(load.writers, ranks) << "at most all ranks write";
        EXPECT_LE(load.other_node, load.busiest_node);
        EXPECT_LE(load.busiest_rank, load.busiest_node * (1 + 1e-12));
        const Bytes heavy = load.busiest_node * load.heavy_nodes;
        EXPECT_LE(heavy / load.total, 1 + 1e-9) << "the heavy alone write no more than there is";
        const Bytes written = heavy + load.other_node * (load.nodes - load.heavy_nodes);
        if (ranks % 8 == 0 || load.nodes == 1) {
          EXPECT_NEAR(written / load.total, 1, 1e-9);
        }
      }
    }
  }
}

// Twelve shards on nodes of eight: the second node has four of them and counts as one of the
// others.
TEST(Checkpoint, node_with_few_shards_is_not_heavy) {
  const SaveLoad load = save_load(
      1.2e9, kMixed,
      {.ranks = 24, .model_shards = 12, .ranks_per_node = 8, .sharding = SaveSharding::replicated});
  EXPECT_EQ(load.heavy_nodes, 1);
  EXPECT_NEAR(load.busiest_node / gigabytes(1), 16.8 * 8 / 12, 1e-9);
  EXPECT_NEAR(load.other_node / gigabytes(1), 16.8 * 4 / 12 / 2, 1e-9);
}

TEST(Checkpoint, serialisation_delays_the_heavy_nodes) {
  SaveLoad load{.total = terabytes(1),
                .busiest_rank = gigabytes(10),
                .busiest_node = gigabytes(100),
                .writers = 100,
                .nodes = 10,
                .heavy_nodes = 10};
  const WriteTime tie = write_time(load, 0, {.server = gbytes_per_s(20), .node = gbytes_per_s(2)});
  EXPECT_EQ(tie.wall, Wall::server_bandwidth);
  EXPECT_EQ(tie.total, seconds(50));
  // One node of ten has all but a tenth: alone at the end, it is limited by its serialisation rate.
  load = {.total = gigabytes(200),
          .busiest_rank = gigabytes(100),
          .busiest_node = gigabytes(100),
          .writers = 11,
          .nodes = 11,
          .heavy_nodes = 1,
          .other_node = gigabytes(10)};
  const WriteTime slow =
      write_time(load, 0, {.server = gbytes_per_s(11), .serialise = gbytes_per_s(4)});
  // All write 10 GB at 1 GB/s, then one writes 90 GB at its own 4 GB/s.
  EXPECT_NEAR(slow.total.base(), 10 + 90 / 4.0, 1e-9);
}

TEST(Checkpoint, drain_as_long_as_the_interval_does_not_stall) {
  AsyncPath path{.copy_rate = gbytes_per_s(10),
                 .interval = seconds(60),
                 .rank_bytes = gigabytes(5),
                 .drain = seconds(60),
                 .interference = 0.1};
  EXPECT_FALSE(async_stall(path).drain_outlasts_interval);
  EXPECT_EQ(async_stall(path).wait, Seconds(0));
  path.drain = seconds(90);
  const SaveStall s = async_stall(path);
  EXPECT_TRUE(s.drain_outlasts_interval);
  EXPECT_DOUBLE_EQ(s.interference.base(), 6) << "beside the steps of one interval at the most";
  EXPECT_DOUBLE_EQ(s.total.base(), 0.5 + 30 + 6);
  EXPECT_DOUBLE_EQ(s.stall_end.base(), 30.5);
  EXPECT_DOUBLE_EQ(s.safe.base(), 30.5 + 90);
}

// 8e9 parameters: 16 GB of weights, 96 GB of optimizer; 64 ranks, 8 shards, 8 replicas.
TEST(Checkpoint, restore_reads_follow_the_sharding) {
  const auto load = [](SaveSharding sharding, bool broadcast) {
    const RestoreLoad r = restore_load(
        8e9, kMixed,
        {.save = {.ranks = 64, .model_shards = 8, .ranks_per_node = 8, .sharding = sharding},
         .broadcast = broadcast});
    return std::pair(r.total / gigabytes(1), r.node / gigabytes(1));
  };
  EXPECT_EQ(load(SaveSharding::zero3, true), std::pair(112.0, 14.0));
  EXPECT_EQ(load(SaveSharding::zero3, false), std::pair(112.0, 14.0)) << "each reads its own part";
  EXPECT_EQ(load(SaveSharding::replicated, true), std::pair(112.0, 112.0));
  EXPECT_EQ(load(SaveSharding::replicated, false), std::pair(8 * 112.0, 112.0));
  EXPECT_EQ(load(SaveSharding::zero1, false), std::pair(8 * 16.0 + 96, 28.0));
}

// A model split in eight on four ranks counts as split in four: each reads a quarter of everything.
TEST(Checkpoint, shards_read_are_at_most_the_ranks) {
  const StateBytes each{.weight = 2, .master = 4, .moments = 8};
  const auto load = [&](int shards, SaveSharding sharding) {
    return restore_load(
        1e9, each,
        {.save = {.ranks = 4, .model_shards = shards, .ranks_per_node = 2, .sharding = sharding},
         .broadcast = false});
  };
  for (const int shards : {4, 8}) {
    EXPECT_EQ(load(shards, SaveSharding::replicated).node, gigabytes(7)) << "two of 14 / 4";
    EXPECT_EQ(load(shards, SaveSharding::replicated).total, gigabytes(14));
    EXPECT_EQ(load(shards, SaveSharding::zero1).node, gigabytes(7));
  }
  // Split in two: the weights are read twice, and each rank reads half of them.
  EXPECT_EQ(load(2, SaveSharding::zero1).total, gigabytes(2 * 2 + 12));
  EXPECT_EQ(load(2, SaveSharding::zero1).node, gigabytes(2 * (1 + 3)));
  EXPECT_EQ(load(2, SaveSharding::replicated).total, gigabytes(2 * 14));
  EXPECT_EQ(load(2, SaveSharding::replicated).node, gigabytes(2 * 7));
}

}  // namespace
}  // namespace orrery::storage
