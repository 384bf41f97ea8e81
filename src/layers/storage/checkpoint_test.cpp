#include "layers/storage/checkpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "core/catalog/catalog.h"
#include "core/workload/model_math.h"

namespace orrery::storage {
namespace {

// MLPerf Storage's checkpoint workloads: 64, 512 and 1024 ranks report 911.2, 5292.2 and 15426.6
// GiB (mlcommons/storage_results_v3.0 summaries). Fourteen bytes for each parameter of the shapes.
TEST(CheckpointSize, ReportedSizesOfTheThreeShapes) {
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

TEST(CheckpointSize, BytesByState) {
  EXPECT_EQ(state_bytes(SavedState::adam_mixed).total(), 14);
  EXPECT_EQ(state_bytes(SavedState::adam_rederived).total(), 12);
  EXPECT_EQ(state_bytes(SavedState::adam_8bit).total(), 8);
  EXPECT_EQ(state_bytes(SavedState::sgd_momentum).total(), 10);
  EXPECT_EQ(state_bytes(SavedState::weights_only).total(), 2);
  // "70B about 1 TB" (field guide).
  EXPECT_NEAR(checkpoint_size(70e9, SavedState::adam_mixed) / terabytes(1), 0.98, 1e-9);
}

constexpr StateBytes kAdam{.weight = 2, .master = 4, .moments = 8};

TEST(SaveLoad, ShardsByHand) {
  // 64 ranks, TP 8, one node is one replica: 70 GB of shards.
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

TEST(SaveLoad, FullyParallelSavesAreEvenAndTheSmallest) {
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

TEST(WriteTime, NamesEachWall) {
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

// Eight nodes, of which one has 28 GB and seven 12, on 14 GB/s of servers and wires of 4 GB/s: all
// write 12 GB at 14/8 GB/s, then the first the other 16 GB at its wires' 4.
TEST(WriteTime, NodesWithMoreToWriteEndAlone) {
  const SaveLayout layout{.ranks = 64, .model_shards = 8};
  const SaveLoad load = save_load(8e9, kAdam, layout);
  const WritePath path{.server = gbytes_per_s(14), .node = gbytes_per_s(4)};
  const WriteTime t = write_time(load, 0, path);
  EXPECT_DOUBLE_EQ(t.server.base(), 8);
  EXPECT_DOUBLE_EQ(t.network.base(), 7);
  EXPECT_NEAR(t.total.base(), 12 / 1.75 + 16 / 4.0, 1e-9);
  EXPECT_NEAR(t.uneven.base(), t.total.base() - 8, 1e-9);
  // Nothing is left over where one wall is far in front of the other.
  EXPECT_NEAR(write_time(load, 0, {.server = gbytes_per_s(14)}).uneven.base(), 0, 1e-9);
  EXPECT_NEAR(write_time(load, 0, {.node = gbytes_per_s(4)}).uneven.base(), 0, 1e-9);
}

TEST(WriteTime, MoreOfAnythingNeverSlows) {
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

TEST(WriteTime, FewerCreatesASecondLengthenIt) {
  const auto time = [](double creates) {
    WritePath p{.server = gbytes_per_s(100)};
    p.creates = PerSecond(creates);
    return write_time(terabyte(), 8192, p).total;
  };
  EXPECT_NEAR((time(1000) - time(4000)).base(), 8.192 * 0.75, 1e-9);
}

TEST(Stall, SyncIsTheWriteAndBothClocksAgree) {
  const SaveStall s = sync_stall(seconds(49));
  EXPECT_EQ(s.total, seconds(49));
  EXPECT_EQ(s.stall_end, s.safe);
}

TEST(Stall, AsyncStallsForTheSnapshotOnly) {
  // 14 GB a rank at 20 GB/s.
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

TEST(Stall, HostMemoryForTwoSnapshots) {
  EXPECT_EQ(snapshot_memory(gigabytes(112), 2), gigabytes(224));
}

TEST(Restore, ReplicasReadTheWeightsAgainUnlessBroadcast) {
  const SaveLayout save{
      .ranks = 64, .model_shards = 8, .ranks_per_node = 8, .sharding = SaveSharding::zero1};
  const RestoreLoad once = restore_load(8e9, kAdam, {.save = save, .broadcast = true});
  const RestoreLoad each = restore_load(8e9, kAdam, {.save = save, .broadcast = false});
  EXPECT_DOUBLE_EQ(once.total / gigabytes(1), 112);
  EXPECT_DOUBLE_EQ(each.total / gigabytes(1), 96 + 16 * 8);
  EXPECT_DOUBLE_EQ(once.node / gigabytes(1), 16 + 12);
}

TEST(Restore, TimeAndItsWall) {
  const RestoreLoad load{.total = gigabytes(1000), .node = gigabytes(50)};
  RestoreTime t = restore_time(
      load, {.server = gbytes_per_s(40), .node = gbytes_per_s(10), .start = seconds(20)});
  EXPECT_DOUBLE_EQ(t.total.base(), 45);
  EXPECT_EQ(t.wall, Wall::server_bandwidth);
  t = restore_time(load, {.server = gbytes_per_s(40), .node = gbytes_per_s(1), .start = {}});
  EXPECT_EQ(t.wall, Wall::node_network);
}

}  // namespace
}  // namespace orrery::storage
