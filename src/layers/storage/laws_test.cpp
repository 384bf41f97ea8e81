// Laws of the closed forms by hand: layouts that do not fit, ties, bounds, and who pays for what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/storage/checkpoint.h"
#include "layers/storage/dataset.h"
#include "layers/storage/drive_lives.h"
#include "layers/storage/economics.h"
#include "layers/storage/exposure.h"
#include "layers/storage/guidance.h"
#include "layers/storage/loader.h"
#include "layers/storage/node_cache.h"
#include "layers/storage/scale_out.h"

namespace orrery::storage {
namespace {

constexpr StateBytes kMixed{.weight = 2, .master = 4, .moments = 8};

// Whoever writes what, the nodes together write the whole once.
TEST(StorageLaws, the_nodes_of_a_save_write_the_whole_once) {
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
        EXPECT_LE(load.writers, ranks) << "nobody writes who is not there";
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

// Twelve shards on nodes of eight: the second node has four of them, and is one of the others.
TEST(StorageLaws, a_node_with_few_of_the_shards_is_no_heavy_one) {
  const SaveLoad load = save_load(
      1.2e9, kMixed,
      {.ranks = 24, .model_shards = 12, .ranks_per_node = 8, .sharding = SaveSharding::replicated});
  EXPECT_EQ(load.heavy_nodes, 1);
  EXPECT_NEAR(load.busiest_node / gigabytes(1), 16.8 * 8 / 12, 1e-9);
  EXPECT_NEAR(load.other_node / gigabytes(1), 16.8 * 4 / 12 / 2, 1e-9);
}

TEST(StorageLaws, of_equal_walls_the_first_is_named_and_serialising_holds_the_others_back) {
  SaveLoad load{.total = terabytes(1),
                .busiest_rank = gigabytes(10),
                .busiest_node = gigabytes(100),
                .writers = 100,
                .nodes = 10,
                .heavy_nodes = 10};
  const WriteTime tie = write_time(load, 0, {.server = gbytes_per_s(20), .node = gbytes_per_s(2)});
  EXPECT_EQ(tie.wall, Wall::server_bandwidth);
  EXPECT_EQ(tie.total, seconds(50));
  // One node of ten has all but a tenth: alone at the end it is held by how fast it serialises.
  load = {.total = gigabytes(200),
          .busiest_rank = gigabytes(100),
          .busiest_node = gigabytes(100),
          .writers = 11,
          .nodes = 11,
          .heavy_nodes = 1,
          .other_node = gigabytes(10)};
  const WriteTime slow =
      write_time(load, 0, {.server = gbytes_per_s(11), .serialise = gbytes_per_s(4)});
  // All write 10 GB at 1 GB/s, then one 90 GB at its own 4 GB/s.
  EXPECT_NEAR(slow.total.base(), 10 + 90 / 4.0, 1e-9);
}

TEST(StorageLaws, a_drain_as_long_as_the_interval_is_not_late) {
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
TEST(StorageLaws, what_a_restore_reads_by_who_holds_what) {
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

TEST(StorageLaws, kinds_of_data_have_sizes_and_no_negative_work) {
  const auto kinds = [](const std::string& row) {
    const auto table = CsvTable::parse(
        "id,sample_bytes,object_bytes,decode_core_ms,decoded_bytes,source,basis\n" + row + "\n",
        "k.csv");
    return table && read_dataset_kinds(*table).has_value();
  };
  EXPECT_TRUE(kinds("x,1,1,0,1,s,b"));
  EXPECT_FALSE(kinds("x,1,0,1,1,s,b"));
  EXPECT_FALSE(kinds("x,1,1,-1,1,s,b"));
}

// A pair whose rebuild takes D: 1/(2 lambda p) + 1/lambda, p = 1 - e^(-lambda D); the chain, whose
// rebuilds are exponential, has (3 lambda + mu) / (2 lambda^2).
TEST(StorageLaws, rebuilds_of_one_length_lose_a_pair_in_their_own_time) {
  DriveTrial trial{.group = {.shards = 2,
                             .losses = 1,
                             .drive_failures = PerSecond(1 / days(20).base()),
                             .rebuild = days(10)},
                   .losses = 20'000};
  EXPECT_NEAR(live_through(trial).mean_time_to_loss / days(1), 50, 1.5);
  trial.rebuilds_alike = true;
  EXPECT_NEAR(live_through(trial).mean_time_to_loss / days(1), 10 / (1 - std::exp(-0.5)) + 20, 1.4);
}

// With two losses survived, a sector that cannot be read costs nothing while one drive is gone.
TEST(StorageLaws, an_unreadable_sector_costs_only_the_last_redundancy) {
  DurabilityQuestion q{.shards = 6,
                       .losses = 2,
                       .drive_failures = PerSecond(0.05 / years(1).base()),
                       .rebuild = hours(24),
                       .rebuild_reads = terabytes(1000)};
  // Every rebuild from the last state fails: lost when two are gone and one is rebuilt, so that the
  // rate of loss is that of two gone: 6 x 5 lambda^2 rebuild.
  const double lambda = 0.05, rebuild = 1.0 / 365;
  EXPECT_NEAR(durability_of(q).loss_a_year / (6 * 5 * lambda * lambda * rebuild), 1, 0.02);
}

catalog::StorageDevice plain_device(const char* device_class) {
  catalog::StorageDevice d;
  d.device_class = device_class;
  d.capacity = terabytes(10);
  d.read = gbytes_per_s(1);
  d.write = gbytes_per_s(0.5);
  d.active_power = watts(10);
  d.idle_power = watts(4);
  d.annual_failure_rate = 0.02;
  d.price_per_tb = {usd(20), usd(40)};
  return d;
}
const TierOptions kRaw{
    .protection = kApplianceProtection, .server = {.devices = 10}, .delivered = 1};
const TierDemand kHundred{.capacity = terabytes(100), .read = {}, .write = {}, .requests = {}};

// Ten drives of 10 TB at 30 USD/TB (a half between 20 and 40), 5 years.
TEST(StorageLaws, a_tier_costs_drives_servers_replacements_and_power) {
  OwnTerms terms{.life = years(5), .tariff = usd_per_kwh(0.10), .pue = 1.5, .active_share = 0.25};
  const HoldingCost c = holding_cost(kHundred, plain_device("HDD"), kRaw, terms);
  EXPECT_NEAR(c.usd_per_tb, 30 * 1.3, 1e-9) << "0.3 of chassis for each dollar of drives";
  EXPECT_NEAR(in_usd_per_tb_month(c.capital), 39.0 / 60, 1e-9);
  // 2 % a year over 5 years: a tenth of the drives, without their chassis.
  EXPECT_NEAR(in_usd_per_tb_month(c.replacement), 30 * 0.02 * 5 / 60, 1e-9);
  // A quarter of the time 10 W, else 4 W; half as much again for the servers.
  EXPECT_NEAR(c.watts_per_tb, (0.25 * 10 + 0.75 * 4) * 1.5 / 10, 1e-9);
  EXPECT_NEAR(in_usd_per_tb_month(c.energy), 0.825e-3 * 730 * 0.10 * 1.5, 1e-6);
  // An appliance is a server by itself.
  const HoldingCost whole = holding_cost(kHundred, plain_device("appliance"), kRaw, terms);
  EXPECT_NEAR(whole.usd_per_tb, 30, 1e-9);
  EXPECT_NEAR(whole.watts_per_tb, 0.55, 1e-9);
  EXPECT_NEAR(in_usd_per_tb_month(whole.replacement), 30 * 0.1 / 60, 1e-9);
  terms.price_position = 1;
  EXPECT_NEAR(holding_cost(kHundred, plain_device("HDD"), kRaw, terms).usd_per_tb, 52, 1e-9);
}

TEST(StorageLaws, a_tier_is_sized_by_what_binds_and_by_no_more) {
  TierDemand d = kHundred;
  const catalog::StorageDevice hdd = plain_device("HDD");
  EXPECT_EQ(size_tier(d, hdd, kRaw).devices, 10) << "a hundred by ten is ten, not eleven";
  d.read = gbytes_per_s(10);
  EXPECT_EQ(size_tier(d, hdd, kRaw).limit, TierLimit::capacity) << "the first of two that tie";
  d.read = gbytes_per_s(12);
  d.write = gbytes_per_s(5);
  TierOptions narrow = kRaw;
  narrow.server.network = gbytes_per_s(6);  // per direction: 12 in one, 5 in the other
  const TierSize s = size_tier(d, hdd, narrow);
  EXPECT_EQ(s.devices, 12);
  EXPECT_EQ(s.servers, 2);
  EXPECT_EQ(s.servers_for, ServersFor::devices) << "the drives need two as well";
  EXPECT_NEAR(s.price.low.base(), 12 * 10 * 20, 1e-6);
  EXPECT_NEAR(s.price.high.base(), 12 * 10 * 40, 1e-6)
      << "by what is bought, not by what is usable";
  EXPECT_EQ(s.power, watts(120));
  narrow.server.network = gbytes_per_s(5);
  EXPECT_EQ(size_tier(d, hdd, narrow).servers, 3);
  EXPECT_EQ(size_tier(d, hdd, narrow).servers_for, ServersFor::network);
  // Requests through a file system that delivers half.
  catalog::StorageDevice iops = hdd;
  iops.random_read_iops = 100;
  TierOptions half = kRaw;
  half.delivered = 0.5;
  TierDemand asks = kHundred;
  asks.requests = PerSecond(1000);
  EXPECT_DOUBLE_EQ(size_tier(asks, iops, half).by_requests, 20);
  // A device that cannot write is fine where nothing is written.
  catalog::StorageDevice read_only = hdd;
  read_only.write = BytesPerSecond(0);
  EXPECT_EQ(size_tier(kHundred, read_only, kRaw).devices, 10);
  EXPECT_EQ(size_tier(kHundred, read_only, kRaw).by_write, 0);
  // Parity is bought and holds nothing: of 100 TB in four parts of six, 150 are paid for.
  TierOptions safe = kRaw;
  safe.protection = {.data = 4, .parity = 2, .fill = 1};
  EXPECT_NEAR(size_tier(kHundred, hdd, safe).price.high.base(), 150 * 40, 1e-6);
  const TierDemand other{.capacity = terabytes(1),
                         .read = gbytes_per_s(20),
                         .write = gbytes_per_s(2),
                         .requests = PerSecond(5)};
  EXPECT_EQ((d + other).write, gbytes_per_s(7));
}

// Pairs: both of one of 50 pairs must die within the window.
TEST(StorageLaws, a_save_with_two_holders_is_lost_with_both) {
  const ExposureProblem p{.nodes = 100,
                          .node_mtbf = hours(100),
                          .drain = hours(1),
                          .interval = minutes(30),
                          .holders = 2};
  const Exposure e = expose(p);
  const double q = 1 - std::exp(-0.01);
  EXPECT_NEAR(e.loss_per_save, 1 - std::pow(1 - q * q, 50), 1e-12);
  EXPECT_EQ(e.share_exposed, 1) << "never more than all of the time";
}

TEST(StorageLaws, a_loader_waits_for_the_slowest_of_its_stages) {
  LoaderProblem p{.batch = 10,
                  .sample = kilobytes(100),
                  .compute = seconds(0.1),
                  .fetch = gbytes_per_s(1),
                  .cores = 2,
                  .decode = milliseconds(10),
                  .moving = milliseconds(30),
                  .decoded_sample = megabytes(1),
                  .to_device = gbytes_per_s(20)};
  // Two cores at 40 ms a sample: 50 a second, half of what the step asks for.
  EXPECT_NEAR(load_rate(p).samples_per_s, 50, 1e-9);
  EXPECT_EQ(load_rate(p).limit, LoaderLimit::decode);
  EXPECT_NEAR(load_rate(p).utilisation, 0.5, 1e-9);
  p.cores = 100;
  p.to_device = megabytes(20) / seconds(1);  // of what is decoded, ten times what is stored
  EXPECT_NEAR(load_rate(p).samples_per_s, 20, 1e-9);
  EXPECT_EQ(load_rate(p).limit, LoaderLimit::device_copy);
  const FetchPath path{.first_byte = milliseconds(10),
                       .stream = gbytes_per_s(1),
                       .streams = 4,
                       .client = gbytes_per_s(100),
                       .server = gbytes_per_s(100),
                       .requests = PerSecond(50)};
  // An object as large as what comes in its first-byte time has half the rate.
  EXPECT_NEAR(stream_rate(megabytes(10), path.first_byte, path.stream).base(), 0.5e9, 1e-3);
  EXPECT_NEAR(fetch_rate(kilobytes(10), path).rate.base(), 50 * 10'000, 1e-6);
  EXPECT_EQ(rate_through_cache(1.5, gbytes_per_s(4), gbytes_per_s(1)), gbytes_per_s(4));
}

TEST(StorageLaws, an_epoch_reads_every_item_once_in_the_order_of_its_number) {
  for (const int buffer : {0, 1, 5, 30, 100}) {
    const EpochOptions options{.items = 30, .shuffle_buffer = buffer, .seed = 5};
    EpochReader reader(options);
    std::vector<std::int64_t> next(30, -1);
    for (int epoch = 0; epoch < 4; ++epoch) {
      const std::vector<int> order = epoch_order(options, epoch);
      std::vector<bool> seen(30, false);
      for (int at = 0; at < 30; ++at) {
        const EpochRead read = reader.next();
        EXPECT_EQ(read.item, order[static_cast<std::size_t>(at)]) << "a resumed run reads the same";
        EXPECT_EQ(read.number, 30 * epoch + at);
        EXPECT_FALSE(seen[static_cast<std::size_t>(read.item)]);
        seen[static_cast<std::size_t>(read.item)] = true;
        if (epoch > 0) {
          EXPECT_EQ(next[static_cast<std::size_t>(read.item)], read.number) << "as it was said";
        }
        next[static_cast<std::size_t>(read.item)] = read.next_use;
        // From a buffer of b items none comes more than b - 1 places early.
        if (buffer > 0 && buffer < 30) {
          EXPECT_LE(read.item, at + buffer - 1);
        }
        if (buffer <= 1) {
          EXPECT_EQ(read.item, at);
        }
      }
    }
  }
  // A shuffle may leave an item where it was: one in thirty does.
  int fixed = 0;
  for (int epoch = 0; epoch < 400; ++epoch) {
    const auto order = epoch_order({.items = 30, .shuffle_buffer = 30, .seed = 5}, epoch);
    for (int i = 0; i < 30; ++i) fixed += order[static_cast<std::size_t>(i)] == i ? 1 : 0;
  }
  EXPECT_NEAR(fixed, 400, 80);
}

TEST(StorageLaws, scale_out_by_hand) {
  ScaleOut system{.servers = 10, .per_server = gbytes_per_s(10), .efficiency = 0.5};
  ScaleOutRate r = scale_out(gigabytes(500), system);
  EXPECT_EQ(r.time, seconds(10)) << "half of 100 GB/s";
  EXPECT_DOUBLE_EQ(r.of_linear, 0.5);
  system.fixed = seconds(11);
  EXPECT_EQ(scale_out(gigabytes(500), system).limit, ScaleOutLimit::fixed_cost);
  system.fixed = seconds(9);
  EXPECT_EQ(scale_out(gigabytes(500), system).limit, ScaleOutLimit::servers);
  // Rows that grow faster than in proportion have no fixed cost: never less than none.
  const ScaleOutRow fast[] = {{.size = gigabytes(100), .servers = 1, .time = seconds(10)},
                              {.size = gigabytes(200), .servers = 1, .time = seconds(21)}};
  EXPECT_EQ(fit_scale_out(fast).fixed, Seconds(0));
  EXPECT_NEAR(fit_scale_out(fast).per_server / gbytes_per_s(1), 9.77, 0.01);
  // Which side binds is a matter of servers a client: rows of 5 GB/s a server and 20 a client.
  std::vector<ScaleOutRow> rows;
  for (const auto& [servers, clients] :
       {std::pair{4.0, 8.0}, {40.0, 4.0}, {32.0, 64.0}, {12.0, 1.0}}) {
    const double rate = std::min(5 * servers, 20 * clients);
    rows.push_back({.size = gigabytes(1000),
                    .servers = servers,
                    .time = seconds(1000 / rate),
                    .clients = clients});
  }
  const ClientBoundFit fit = fit_client_bound(rows);
  EXPECT_NEAR(fit.per_server / gbytes_per_s(1), 5, 1e-9);
  EXPECT_NEAR(fit.per_client / gbytes_per_s(1), 20, 1e-9);
}

TEST(StorageLaws, guidance_is_of_rates_by_their_own_metric) {
  const auto table = CsvTable::parse(
      "arch,scope,metric,unit,good,better,best,source\nA,1 SU aggregate,read,ports,1,2,3,s\n"
      "A,1 SU aggregate,write,GB/s,4,5,6,s\nA,1 SU aggregate,read,GB/s,7,8,9,s\n",
      "g.csv");
  ASSERT_TRUE(table);
  const auto all = read_storage_guidance(*table);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2u);
  EXPECT_EQ(guided_rate(*all, {"A", "read", 1, GuidanceLevel::good}), gbytes_per_s(7));
}

}  // namespace
}  // namespace orrery::storage
