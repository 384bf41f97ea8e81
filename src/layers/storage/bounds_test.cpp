// Storage by hand at its edges: saves and tiers with numbers of their own, caches of one item,
// drives that only fail, and defaults that callers count on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/storage/checkpoint.h"
#include "layers/storage/drive_lives.h"
#include "layers/storage/durability.h"
#include "layers/storage/economics.h"
#include "layers/storage/guidance.h"
#include "layers/storage/loader.h"
#include "layers/storage/node_cache.h"
#include "layers/storage/scale_out.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

// 24 ranks on three nodes of eight hold sixteen shards of the weights: two nodes have them.
TEST(SaveBounds, heavy_and_other_nodes_by_hand) {
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

TEST(SaveBounds, one_rank_is_one_node_with_all_of_it) {
  const SaveLoad load = save_load(1e9, state_bytes(SavedState::adam_mixed), SaveLayout{});
  EXPECT_EQ(load.busiest_rank, gigabytes(14));
  EXPECT_EQ(load.busiest_node, gigabytes(14));
  EXPECT_EQ(load.writers, 1);
  EXPECT_EQ(load.nodes, 1);
  EXPECT_EQ(load.heavy_nodes, 1);
  EXPECT_FALSE(SaveStall{}.drain_outlasts_interval);
}

TEST(SaveBounds, states_and_walls_have_their_names) {
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
  EXPECT_STREQ(to_text(Wall::server_bandwidth), "server bandwidth");
  EXPECT_STREQ(to_text(Wall::node_network), "node network");
  EXPECT_STREQ(to_text(Wall::serialisation), "serialisation");
  EXPECT_STREQ(to_text(Wall::commit), "commit barrier");
}

// Drives of 10 TB, 7 and 4 GB/s, 500,000 reads a second.
catalog::StorageDevice plain_drive() {
  catalog::StorageDevice d;
  d.device_class = "TLC NVMe";
  d.capacity = terabytes(10);
  d.read = gbytes_per_s(7);
  d.write = gbytes_per_s(4);
  d.random_read_iops = 500'000;
  d.active_power = watts(15);
  d.idle_power = watts(5);
  d.annual_failure_rate = 0.02;
  d.price_per_tb = {usd(60), usd(100)};
  return d;
}

// 6 + 3, three quarters full: half of what is bought is usable, 1.5 bytes are written for one.
TierOptions six_and_three() {
  TierOptions o;
  o.protection = {.data = 6, .parity = 3, .fill = 0.75};
  o.server.devices = 10;
  o.server.network = gbytes_per_s(20);
  return o;
}

TEST(TierBounds, rates_are_those_of_drives_network_and_cores) {
  TierOptions o = six_and_three();
  TierRates r = tier_rates({.devices = 5, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 5 * 5.6e9, 1);
  EXPECT_NEAR(r.write.base(), 5 * 4e9 * 0.8 / 1.5, 1);
  EXPECT_EQ(r.read_limit, RateLimit::devices);
  EXPECT_EQ(r.write_limit, RateLimit::devices);
  r = tier_rates({.devices = 20, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 40e9, 1);
  EXPECT_NEAR(r.write.base(), 40e9 / 1.5, 1);
  EXPECT_EQ(r.read_limit, RateLimit::network);
  EXPECT_EQ(r.write_limit, RateLimit::network);
  // Reads take 0.0465 core s/GB; writes 0.0465 x 1.5 + 3 x 0.024 = 0.14175.
  o.server.cores = 1;
  r = tier_rates({.devices = 20, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 40e9, 1);
  EXPECT_NEAR(r.write.base(), 2e9 / 0.14175, 1);
  EXPECT_EQ(r.write_limit, RateLimit::cores);
  EXPECT_EQ(r.read_limit, RateLimit::network);
  o.encrypted = true;  // 0.25 core s/GB more of every byte
  r = tier_rates({.devices = 20, .servers = 2}, plain_drive(), o);
  EXPECT_NEAR(r.read.base(), 2e9 / 0.2965, 1);
  EXPECT_NEAR(r.write.base(), 2e9 / (0.2965 * 1.5 + 0.072), 1);
  EXPECT_EQ(r.read_limit, RateLimit::cores);
  EXPECT_STREQ(to_text(RateLimit::devices), "devices");
  EXPECT_STREQ(to_text(RateLimit::network), "the servers' network");
  EXPECT_STREQ(to_text(RateLimit::cores), "the servers' cores");
}

TEST(TierBounds, a_tier_of_every_limit_by_hand) {
  const catalog::StorageDevice drive = plain_drive();
  TierOptions o = six_and_three();
  const TierDemand capacity{.capacity = terabytes(52), .read = gbytes_per_s(30)};
  TierSize s = size_tier(capacity, drive, o);
  EXPECT_NEAR(s.by_capacity, 10.4, 1e-9);
  EXPECT_NEAR(s.by_read, 30 / 5.6, 1e-9);
  EXPECT_EQ(s.by_write, 0);
  EXPECT_EQ(s.by_requests, 0);
  EXPECT_EQ(s.devices, 11);
  EXPECT_EQ(s.servers, 2);
  EXPECT_EQ(s.servers_for, ServersFor::devices);
  EXPECT_NEAR(s.usable.base(), 55e12, 1);
  EXPECT_NEAR(s.power.base(), 165, 1e-9);
  EXPECT_NEAR(s.price.low.base(), 6600, 1e-6);
  EXPECT_NEAR(s.price.high.base(), 11000, 1e-6);
  EXPECT_TRUE(s.network_limits);
  EXPECT_FALSE(s.cores_limit);
  EXPECT_NEAR(s.read.base(), 40e9, 1);
  EXPECT_NEAR(s.write.base(), 11 * 4e9 * 0.8 / 1.5, 1);
  s = size_tier({.capacity = terabytes(1), .write = gbytes_per_s(30)}, drive, o);
  EXPECT_NEAR(s.by_write, 30 * 1.5 / 3.2, 1e-9);
  EXPECT_EQ(s.limit, TierLimit::write);
  EXPECT_EQ(s.devices, 15);
  EXPECT_EQ(s.servers, 3) << "45 GB/s on the wire";
  EXPECT_EQ(s.servers_for, ServersFor::network);
  s = size_tier({.capacity = terabytes(1), .requests = PerSecond(1e6)}, drive, o);
  EXPECT_NEAR(s.by_requests, 1e6 / 4e5, 1e-9);
  EXPECT_EQ(s.limit, TierLimit::requests);
  EXPECT_EQ(s.devices, 3);
}

TEST(TierBounds, cores_take_servers_of_their_own) {
  TierOptions o = six_and_three();
  o.server.cores = 1;
  o.server.network = gbytes_per_s(40);
  TierSize s = size_tier({.capacity = terabytes(100), .write = gbytes_per_s(25)}, plain_drive(), o);
  EXPECT_EQ(s.servers, 4) << "25 x 0.14175 = 3.54";
  EXPECT_EQ(s.servers_for, ServersFor::cores);
  EXPECT_EQ(s.devices, 20);
  EXPECT_TRUE(s.cores_limit);
  EXPECT_FALSE(s.network_limits);
  EXPECT_NEAR(s.read.base(), 4e9 / 0.0465, 1);
  o.encrypted = true;
  s = size_tier({.capacity = terabytes(10), .read = gbytes_per_s(20)}, plain_drive(), o);
  EXPECT_EQ(s.servers, 6) << "20 x 0.2965 = 5.93";
  EXPECT_EQ(s.servers_for, ServersFor::cores);
  EXPECT_EQ(s.devices, 4) << "drives are not bought with their servers";
  catalog::StorageDevice whole = plain_drive();
  whole.device_class = "object HDD";
  s = size_tier({.capacity = terabytes(10), .read = gbytes_per_s(20)}, whole, o);
  EXPECT_EQ(s.servers, 6);
  EXPECT_EQ(s.devices, 6) << "what is sold as a server is";
  EXPECT_EQ(s.by_capacity, 2);
}

TEST(TierBounds, what_is_sold_whole_has_its_rates_as_they_are) {
  catalog::StorageDevice d = plain_drive();
  d.device_class = "object HDD";
  TierOptions o = six_and_three();
  o.server.network.reset();
  TierRates r = tier_rates({.devices = 20, .servers = 20}, d, o);
  EXPECT_NEAR(r.read.base(), 140e9, 1) << "all of it, and no network before it";
  EXPECT_NEAR(r.write.base(), 80e9, 1);
  d.device_class = "PFS appliance";
  TierSize s = size_tier({.capacity = terabytes(95), .requests = PerSecond(1)}, d, o);
  EXPECT_EQ(s.by_capacity, 9.5) << "usable as sold";
  EXPECT_EQ(s.devices, 10);
  d = plain_drive();
  r = tier_rates({.devices = 100, .servers = 2}, d, o);
  EXPECT_NEAR(r.read.base(), 100e9, 1) << "400 Gb/s of a server of drives";
  d.random_read_iops = 0;
  EXPECT_EQ(size_tier({.capacity = terabytes(9)}, d, o).by_requests, 0);
  d.random_read_iops.reset();
  EXPECT_EQ(size_tier({.requests = PerSecond(9)}, d, o).by_requests, 0);
}

TEST(TierBounds, demands_add_in_every_part) {
  const TierDemand a{terabytes(1), gbytes_per_s(2), gbytes_per_s(3), PerSecond(4)};
  const TierDemand b{terabytes(10), gbytes_per_s(20), gbytes_per_s(30), PerSecond(40)};
  const TierDemand sum = a + b;
  EXPECT_EQ(sum.capacity, terabytes(11));
  EXPECT_EQ(sum.read, gbytes_per_s(22));
  EXPECT_EQ(sum.write, gbytes_per_s(33));
  EXPECT_EQ(sum.requests, PerSecond(44));
  const Protection p{.data = 6, .parity = 3};
  EXPECT_EQ(p.shards_on_one(4), 3);
  EXPECT_EQ(p.shards_on_one(9), 1);
  EXPECT_EQ(p.shards_on_one(8), 2);
  EXPECT_EQ(p.least_servers(), 3);
  EXPECT_EQ((Protection{.data = 8, .parity = 3}.least_servers()), 4);
  EXPECT_EQ((Protection{.data = 8, .parity = 0}.least_servers()), 1);
}

// One parity shard: MTTDL of the chain 0 -> 1 -> loss is (a + b + mu) / (a b).
TEST(TierBounds, drives_and_servers_both_lose_shards) {
  const double lambda = 0.03, sigma = 0.01, mu = 200;  // a year
  const auto a_year = [](double v) { return PerSecond(v / years(1).base()); };
  const Durability d = durability_of({.shards = 3,
                                      .losses = 1,
                                      .drive_failures = a_year(lambda),
                                      .rebuild = years(1 / mu),
                                      .server_losses = a_year(sigma)});
  const double a = 3 * (lambda + sigma), b = 2 * (lambda + sigma);
  EXPECT_NEAR(d.mean_time_to_loss / years(1) / ((a + b + mu) / (a * b)), 1, 1e-9);
  EXPECT_NEAR(d.loss_a_year, -std::expm1(-a * b / (a + b + mu)), 1e-15);
  EXPECT_NEAR(d.nines, -std::log10(d.loss_a_year), 1e-9);
}

TEST(TierBounds, the_durability_of_a_tier_is_that_of_its_group) {
  TierOptions o = six_and_three();
  const auto got = tier_durability({.devices = 40, .servers = 4}, plain_drive(), o, 1.5);
  // 7.5 TB at a fifth of ten drives' 4 GB/s after ten minutes.
  const Durability by_hand = durability_of({.shards = 9,
                                            .losses = 3,
                                            .drive_failures = PerSecond(0.03 / years(1).base()),
                                            .rebuild = seconds(600 + 7500 / (0.2 * 10 * 4)),
                                            .server_losses = PerSecond(0.001 / years(1).base()),
                                            .shards_on_server = 3,
                                            .rebuild_reads = gigabytes(1)});
  ASSERT_TRUE(got);
  EXPECT_NEAR(got->mean_time_to_loss / by_hand.mean_time_to_loss, 1, 1e-9);
  catalog::StorageDevice unknown = plain_drive();
  unknown.annual_failure_rate.reset();
  EXPECT_FALSE(tier_durability({.devices = 40, .servers = 4}, unknown, o));
}

// 52 TB in 11 drives of 10 TB: 60 + 0.25 x 40 = 70 USD/TB, 1.3 with the chassis; 2 % a year die.
TEST(TierBounds, holding_cost_with_every_share_by_hand) {
  OwnTerms terms{.life = years(4),
                 .tariff = usd_per_kwh(0.1),
                 .pue = 1.2,
                 .active_share = 0.6,
                 .price_position = 0.25};
  const TierDemand demand{.capacity = terabytes(52)};
  const HoldingCost c = holding_cost(demand, plain_drive(), six_and_three(), terms);
  const double price = 70 * 110 * 1.3, held = 52e12, life = 4 * years(1).base();
  const double power = (15 * 0.6 + 5 * 0.4) * 11 * 1.5;
  EXPECT_NEAR(c.usd_per_tb, price / 52, 1e-9);
  EXPECT_NEAR(c.watts_per_tb, power / 52, 1e-12);
  EXPECT_NEAR(c.capital.base() / (price / held / life), 1, 1e-12);
  EXPECT_NEAR(c.replacement.base() / (70 * 110 * 0.08 / held / life), 1, 1e-12);
  EXPECT_NEAR(c.energy.base() / (power * 0.1 / 3.6e6 * 1.2 / held), 1, 1e-12);
  EXPECT_NEAR(c.total.base(), c.capital.base() + c.replacement.base() + c.energy.base(), 1e-30);
  catalog::StorageDevice appliance = plain_drive();
  appliance.device_class = "PFS appliance";
  const HoldingCost sold = holding_cost(demand, appliance, six_and_three(), terms);
  EXPECT_NEAR(sold.usd_per_tb, 70 * 60 / 52.0, 1e-9) << "six of them, chassis and all";
  EXPECT_NEAR(sold.watts_per_tb, 11 * 6 / 52.0, 1e-12);
}

TEST(TierBounds, of_equal_drives_neither_is_cheaper) {
  const TierDemand demand{.capacity = terabytes(52)};
  const catalog::StorageDevice one = plain_drive();
  const DeviceComparison same = compare_devices(demand, one, one, six_and_three(), {});
  EXPECT_EQ(same.per_byte, Cheaper::tie);
  EXPECT_EQ(same.per_watt, Cheaper::tie);
  EXPECT_FALSE(same.tie_tariff) << "at every tariff";
  ASSERT_TRUE(same.tie_price_second);
  EXPECT_NEAR(*same.tie_price_second, 80, 1e-9);
  catalog::StorageDevice free = one;
  free.price_per_tb = {usd(0), usd(0)};
  EXPECT_FALSE(compare_devices(demand, one, free, six_and_three(), {}).tie_price_second);
  EXPECT_EQ(compare_devices(demand, one, free, six_and_three(), {}).per_byte, Cheaper::second);
  catalog::StorageDevice hot = one;
  hot.active_power = watts(20);
  EXPECT_EQ(compare_devices(demand, one, hot, six_and_three(), {}).per_watt, Cheaper::first);
  EXPECT_FALSE(compare_devices(demand, one, hot, six_and_three(), {}).tie_tariff)
      << "as dear and hungrier: no tariff above none";
}

// 20 to 5 USD/TB-month; an object of 1 GB costs 0.01 USD to move, a TB 2 and 10 to read half back.
TEST(TierBounds, a_move_pays_after_its_cost_is_earned) {
  const auto rent = [](double v) { return UsdPerByteSecond(v / 1e12 / 2628000.0); };
  Transition t{.from = rent(20),
               .to = rent(5),
               .object = gigabytes(1),
               .per_object = usd(0.01),
               .per_byte = UsdPerByte(2e-12),
               .retrieval = UsdPerByte(10e-12),
               .minimum_stay = {}};
  const auto months = [&] { return break_even_age(t)->base() / 2628000.0; };
  EXPECT_NEAR(months(), (10 + 2) / 15.0, 1e-9) << "nobody reads it back by default";
  t.read_back = 0.5;
  EXPECT_NEAR(months(), (10 + 2 + 5) / 15.0, 1e-9);
  t.minimum_stay = Seconds(2 * 2628000.0);
  EXPECT_NEAR(months(), 2 * 5 / 20.0 + 17 / 20.0, 1e-9) << "what is owed for two months";
  t.to = rent(20);
  EXPECT_FALSE(break_even_age(t));
}

// The first row is held by its server, the others by their clients.
TEST(ScaleOutBounds, one_row_of_servers_and_two_of_clients) {
  const auto row = [](double servers, double rate) {
    return ScaleOutRow{
        .size = gigabytes(100), .servers = servers, .time = seconds(100 / rate), .clients = 4};
  };
  const ClientBoundFit fit = fit_client_bound({row(8, 12), row(1, 5), row(4, 12)});
  EXPECT_NEAR(fit.per_server.base(), 5e9, 1);
  EXPECT_NEAR(fit.per_client.base(), 3e9, 1);
  EXPECT_STREQ(to_text(ScaleOutLimit::servers), "servers");
  EXPECT_STREQ(to_text(ScaleOutLimit::clients), "clients");
  EXPECT_STREQ(to_text(ScaleOutLimit::fixed_cost), "fixed cost");
}

TEST(CacheBounds, a_cache_of_one_holds_the_last) {
  for (const auto policy : {catalog::EvictionPolicy::random, catalog::EvictionPolicy::lru}) {
    NodeCache cache(policy, 2, 1, 5);
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_FALSE(cache.read({.item = static_cast<int>(i % 2), .number = i}));
    }
    EXPECT_TRUE(cache.read({.item = 1, .number = 6}));
    NodeCache none(policy, 2, 0, 5);
    EXPECT_FALSE(none.read({.item = 1, .number = 0}));
    EXPECT_FALSE(none.read({.item = 1, .number = 1}));
  }
}

// An item is read at most so many places before its own, since the buffer is filled in file order.
TEST(CacheBounds, a_shuffle_buffer_moves_items_a_little) {
  const std::vector<int> order = epoch_order({.items = 60, .shuffle_buffer = 4}, 0);
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  int moved = 0;
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
    EXPECT_LE(order[static_cast<std::size_t>(i)], i + 3);
    moved += order[static_cast<std::size_t>(i)] != i ? 1 : 0;
  }
  EXPECT_GT(moved, 20);
  EXPECT_NE(epoch_order({.items = 60, .shuffle_buffer = 4}, 1), order);
  for (const int buffer : {0, 1}) {
    const std::vector<int> fixed = epoch_order({.items = 5, .shuffle_buffer = buffer}, 3);
    EXPECT_EQ(fixed, (std::vector<int>{0, 1, 2, 3, 4}));
  }
}

// Every event is a failure, and every failure a loss.
TEST(DriveBounds, events_and_losses_are_counted_to_the_last) {
  const DurabilityQuestion bare{
      .shards = 1, .drive_failures = PerSecond(1 / days(20).base()), .rebuild = days(1)};
  DriveOutcome o = live_through({.group = bare, .losses = 100, .events_most = 5});
  EXPECT_EQ(o.failures, 5u);
  EXPECT_EQ(o.losses, 5);
  EXPECT_FALSE(o.is_whole);
  o = live_through({.group = bare, .losses = 4, .events_most = 5});
  EXPECT_EQ(o.failures, 4u);
  EXPECT_TRUE(o.is_whole);
  const DriveOutcome one = live_through({.group = bare, .losses = 50, .seed = 1});
  EXPECT_EQ(live_through({.group = bare, .losses = 50}).mean_time_to_loss, one.mean_time_to_loss);
  EXPECT_NE(live_through({.group = bare, .losses = 50, .seed = 2}).mean_time_to_loss,
            one.mean_time_to_loss);
  EXPECT_EQ(DriveTrial{}.events_most, 20'000'000u);
  EXPECT_EQ(DriveTrial{}.losses, 1000);
}

TEST(GuidanceBounds, units_are_those_of_the_architecture) {
  EXPECT_EQ(gpus_per_unit("SuperPOD H100"), 256);
  EXPECT_EQ(gpus_per_unit("SuperPOD B300"), 256);
  EXPECT_EQ(gpus_per_unit("SuperPOD GB200"), 576);
  EXPECT_EQ(gpus_per_unit("SuperPOD A100"), 160);
  const std::vector<StorageGuidance> all = {{.architecture = "x",
                                             .scope = "1 SU aggregate",
                                             .metric = "read",
                                             .better = gbytes_per_s(7)}};
  EXPECT_EQ(guided_rate(all, {"x", "read"}), gbytes_per_s(7)) << "one unit, better, by default";
  EXPECT_EQ(guided_rate(all, {"x", "read", 3.9}), gbytes_per_s(7) * 3.9);
  EXPECT_FALSE(guided_rate(all, {"x", "read", 4}));
  EXPECT_STREQ(to_text(GuidanceLevel::good), "good");
  EXPECT_STREQ(to_text(GuidanceLevel::better), "better");
  EXPECT_STREQ(to_text(GuidanceLevel::best), "best");
}

TEST(LoaderBounds, a_loader_is_by_default_of_one_core_and_one_sample) {
  const LoaderRate r = load_rate({.sample = bytes(10),
                                  .compute = seconds(0.5),
                                  .fetch = BytesPerSecond(100),
                                  .decode = seconds(0.6),
                                  .moving = seconds(0.2),
                                  .decoded_sample = bytes(20),
                                  .to_device = BytesPerSecond(60)});
  EXPECT_DOUBLE_EQ(r.storage_samples_per_s, 10);
  EXPECT_DOUBLE_EQ(r.decode_samples_per_s, 1.25);
  EXPECT_DOUBLE_EQ(r.copy_samples_per_s, 3);
  EXPECT_DOUBLE_EQ(r.demand_samples_per_s, 2);
  EXPECT_DOUBLE_EQ(r.samples_per_s, 1.25);
  EXPECT_EQ(r.limit, LoaderLimit::decode);
  EXPECT_DOUBLE_EQ(r.stall.base(), 0.8 - 0.5);
  EXPECT_DOUBLE_EQ(r.utilisation, 0.5 / 0.8);
}

}  // namespace
}  // namespace orrery::storage
