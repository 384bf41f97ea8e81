// What holds where nobody says otherwise: the defaults of plants, saves and reads.
#include <gtest/gtest.h>

#include <vector>

#include "twin/storage/storage_plant.h"
#include "twin/storage/storage_reads.h"
#include "twin/storage/storage_run.h"
#include "twin/storage/storage_saves.h"

namespace orrery::twin_storage {
namespace {

using Plain = std::vector<double>;

template <class... Values>
Plain plain(Values... values) {
  return {static_cast<double>(values)...};
}

TEST(Unsaid, of_storage_plant) {
  const PlantTier plant_tier{};
  EXPECT_EQ(plain(plant_tier.in_hosts, plant_tier.servers, plant_tier.stripes), (Plain{0, 1, 0}));
  EXPECT_EQ(plant_tier.requests, storage::kUnlimitedCreates);
  EXPECT_EQ(plant_tier.client, storage::kUnlimitedRate);
  const PlantHosts plant_hosts{};
  EXPECT_EQ(plain(plant_hosts.many), (Plain{1}));
  const PlantShape plant_shape{};
  EXPECT_EQ(plain(plant_shape.seed), (Plain{1}));
  const Spot spot{};
  EXPECT_EQ(spot.host, Spot::kNone);
  EXPECT_EQ(spot.tier, Spot::kNone);
  const Transfer transfer{};
  EXPECT_EQ(plain(transfer.files, transfer.tag), (Plain{0, 0}));
  EXPECT_EQ(transfer.at_most, storage::kUnlimitedRate);
  const Stream stream{};
  EXPECT_EQ(plain(stream.tier, stream.host, stream.hosts, stream.tag), (Plain{0, 0, 1, 0}));
  const TierUse tier_use{};
  EXPECT_EQ(plain(tier_use.requests, tier_use.transfers, tier_use.most_at_once), (Plain{0, 0, 0}));
}

TEST(Unsaid, of_storage_reads) {
  const ReadShape read_shape{};
  EXPECT_EQ(plain(read_shape.host, read_shape.tier, read_shape.cached, read_shape.depth,
                  read_shape.reads, read_shape.warm_up),
            (Plain{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(read_shape.cache_tier, Spot::kNone);
  EXPECT_EQ(read_shape.policy, catalog::EvictionPolicy::lru);
  const ReadOutcome read_outcome{};
  EXPECT_EQ(plain(read_outcome.reads, read_outcome.hits), (Plain{0, 0}));
  const StreamShape stream_shape{};
  EXPECT_EQ(
      plain(stream_shape.first_host, stream_shape.hosts, stream_shape.tier, stream_shape.is_joined),
      (Plain{0, 1, 0, 0}));
}

TEST(Unsaid, of_storage_run) {
  const StopTimes stop_times{};
  EXPECT_EQ(plain(stop_times.saves), (Plain{0}));
  const SaveTimes save_times{};
  EXPECT_EQ(plain(save_times.saves), (Plain{0}));
  const JobStorage job_storage{};
  EXPECT_EQ(plain(job_storage.starved, job_storage.hit_rate, job_storage.hit_reads,
                  job_storage.all_reduce, job_storage.ring_alone, job_storage.is_converged),
            (Plain{0, 0, 0, 1, 1, 0}));
  const TierLoad tier_load{};
  EXPECT_EQ(plain(tier_load.read_share, tier_load.write_share), (Plain{0, 0}));
  const StorageRun storage_run{};
  EXPECT_EQ(plain(storage_run.events), (Plain{0}));
  const StorageWork storage_work{};
  EXPECT_EQ(storage_work.machine, nullptr);
  const StorageOptions storage_options{};
  EXPECT_EQ(plain(storage_options.seed), (Plain{1}));
  EXPECT_EQ(storage_options.span, days(1));
  EXPECT_EQ(storage_options.transfers_most, kTransfersMost);
}

TEST(Unsaid, of_storage_saves) {
  const SaveStop save_stop{};
  EXPECT_EQ(plain(save_stop.tier, save_stop.is_durable, save_stop.every), (Plain{0, 0, 1}));
  EXPECT_EQ(save_stop.at_most, storage::kUnlimitedRate);
  const SaveShape save_shape{};
  EXPECT_EQ(plain(save_shape.first_host, save_shape.hosts, save_shape.heavy_hosts, save_shape.files,
                  save_shape.is_async, save_shape.replicas),
            (Plain{0, 1, 0, 0, 1, 1}));
  EXPECT_EQ(save_shape.serialise, storage::kUnlimitedRate);
  const SaveRecord save_record{};
  EXPECT_EQ(save_record.stall_end, sim::SimTime::never());
  EXPECT_EQ(save_record.peer, sim::SimTime::never());
  EXPECT_EQ(save_record.safe, sim::SimTime::never());
}

}  // namespace
}  // namespace orrery::twin_storage
