// A day of a design's storage, and loaders compared with published hit rates.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "model/jobs/build_machine.h"
#include "twin/run/run_fixture.h"
#include "twin/storage/storage_reads.h"
#include "twin/storage/storage_run.h"

namespace orrery::run {
using twin_storage::JobStorage;
using twin_storage::ReadOutcome;
using twin_storage::ReadProcess;
using twin_storage::ReadStream;
using twin_storage::SaveTimes;
using twin_storage::StoragePlant;
using twin_storage::StorageRun;
using twin_storage::TransferObserver;
namespace {

// All rows with ORRERY_FULL; otherwise the fraction one half with every policy.
bool is_sampled(double share) { return std::getenv("ORRERY_FULL") != nullptr || share == 0.5; }

double simulated_hit_rate(catalog::EvictionPolicy policy, bool shuffled, double share) {
  constexpr int kItems = 2000;
  sim::Kernel kernel;
  StoragePlant plant(
      kernel, {.hosts = {{.many = 1, .wires = gbytes_per_s(10), .compute = gbytes_per_s(50)}},
               .tiers = {{.label = "node-nvme",
                          .in_hosts = true,
                          .read = gbytes_per_s(20),
                          .write = gbytes_per_s(10)},
                         {.label = "warm", .read = gbytes_per_s(5), .write = gbytes_per_s(5)}}});
  ReadProcess reads(kernel, plant,
                    {.host = 0,
                     .tier = 1,
                     .cache_tier = 0,
                     .policy = policy,
                     .epochs = {.items = kItems, .shuffle_buffer = shuffled ? kItems : 0},
                     .cached = static_cast<int>(std::lround(share * kItems)),
                     .object = megabytes(256),
                     .use = milliseconds(100),
                     .reads = std::int64_t{9} * kItems,
                     .warm_up = std::int64_t{5} * kItems});
  kernel.run();
  return reads.outcome().hit_rate();
}

TEST(StorageReads, hit_rates_match_published_ones_within_a_point) {
  const CsvTable table = catalog::embedded_table("validation/cache_policy_hit_rates.csv").value();
  using enum catalog::EvictionPolicy;
  const std::pair<catalog::EvictionPolicy, const char*> columns[] = {
      {lru, "lru"}, {random, "random_evict"}, {pin, "pin_no_evict"}, {belady, "belady"}};
  int rows = 0;
  for (const CsvRow& row : table.rows()) {
    const bool shuffled = table.text(row, "shuffle") == "full";
    const double share = table.number(row, "cache_fraction").value();
    if (!is_sampled(share)) continue;
    for (const auto& [policy, column] : columns) {
      EXPECT_NEAR(simulated_hit_rate(policy, shuffled, share), table.number(row, column).value(),
                  0.01)
          << column << " " << share << (shuffled ? " shuffled" : " in order");
      ++rows;
    }
  }
  EXPECT_GE(rows, 8);
}

// If the tier delivers less than the steps need, they wait for the difference: accelerator
// utilisation = rate / needed rate.
TEST(StorageReads, steps_wait_for_a_slow_tier) {
  sim::Kernel kernel;
  StoragePlant plant(
      kernel, {.hosts = {{.many = 1, .wires = gbytes_per_s(10), .compute = {}}},
               .tiers = {{.label = "warm", .read = gbytes_per_s(2), .write = gbytes_per_s(2)}}});
  ReadProcess reads(kernel, plant,
                    {.epochs = {.items = 100},
                     .object = megabytes(200),
                     .use = milliseconds(50),  // 4 GB/s
                     .reads = 1000,
                     .warm_up = 100});
  kernel.run();
  const ReadOutcome& o = reads.outcome();
  EXPECT_NEAR(o.waited / o.spent, 0.5, 0.01);
}

TEST(StorageReads, a_stream_is_starved_by_a_burst) {
  struct Nobody final : TransferObserver {
    void on_arrived(sim::Kernel&, std::uint64_t) override {}
  } nobody;
  sim::Kernel kernel;
  StoragePlant plant(
      kernel, {.hosts = {{.many = 2, .wires = gbytes_per_s(10), .compute = {}}},
               .tiers = {{.label = "hot", .read = gbytes_per_s(4), .write = gbytes_per_s(4)}}});
  ReadStream stream(kernel, plant, {.hosts = 1, .of_host = gbytes_per_s(3), .span = seconds(100)});
  // A restore of the other host reads 20 GB: each gets half of the tier for 10 s.
  plant.start({.from = {.tier = 0}, .to = {.host = 1}, .bytes = gigabytes(20)}, nobody);
  kernel.run(sim::SimTime::from(seconds(100)));
  EXPECT_NEAR(stream.starved(), 10.0 * 1 / (3 * 100), 1e-6);
}

// Five hosts whose streams share a tier with saves that are read back at the same time.
double starved_of(bool is_joined, BytesPerSecond wires) {
  struct Nobody final : TransferObserver {
    void on_arrived(sim::Kernel&, std::uint64_t) override {}
  } nobody;
  sim::Kernel kernel;
  StoragePlant plant(
      kernel, {.hosts = {{.many = 5, .wires = wires, .compute = gbytes_per_s(50)},
                         {.many = 3, .wires = gbytes_per_s(2), .compute = gbytes_per_s(50)}},
               .tiers = {{.label = "hot", .read = gbytes_per_s(9), .write = gbytes_per_s(4)}}});
  ReadStream stream(
      kernel, plant,
      {.hosts = 5, .of_host = gbytes_per_s(1.7), .span = seconds(1000), .is_joined = is_joined});
  for (int h = 0; h < 4; ++h) {  // the first host's loader reads too
    plant.start(
        {.from = {.tier = 0}, .to = {.host = h == 0 ? 0 : 4 + h}, .bytes = gigabytes(20 + h)},
        nobody);
  }
  kernel.run(sim::SimTime::from(seconds(100)));
  return stream.starved();
}

TEST(StorageReads, joined_streams_get_the_sum_of_single_ones) {
  for (const double wires : {1.0, 1.75, 10.0}) {
    const double each = starved_of(false, gbytes_per_s(wires));
    EXPECT_GT(each, 0.01) << wires;
    EXPECT_NEAR(starved_of(true, gbytes_per_s(wires)) / each, 1, 1e-9) << wires;
  }
}

design::Design day_design(bool converged) {
  design::Design d = world::sample_design();
  d.fabric.storage.converged = converged;
  for (design::StorageTier& t : d.storage) {
    if (t.tier == design::Tier::hot) t.write = gbytes_per_s(5000);
  }
  world::train_of(d).checkpoint =
      design::Checkpoint{.every = hours(1), .mode = design::CheckpointMode::async, .to = {"hot"}};
  return d;
}

JobStorage day_of(const design::Design& d) {
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, days(1));
  const StorageRun run = run_storage(scenario.storage_work(), {.span = hours(3)});
  EXPECT_EQ(run.jobs.size(), scenario.trains.size());
  return run.jobs.front();
}

// A host with 50 GB/s of links, of which a save takes its share of the 800 GB/s that the servers
// write.
TEST(StorageRun, a_burst_slows_collectives_on_the_wires_they_share) {
  const auto narrow = [](bool converged) {
    design::Design d = day_design(converged);
    d.fabric.compute.port_rate = gbits_per_s(50);
    return day_of(d);
  };
  EXPECT_NEAR(narrow(false).all_reduce, 1, 1e-6);
  EXPECT_NEAR(narrow(true).all_reduce, 50 / (50 - 800.0 / 120), 0.005);
}

TEST(StorageRun, a_run_of_very_many_hosts_keeps_the_closed_form) {
  const machine::Machine m = jobs::build_machine(day_design(false), machine::known());
  processes::Scenario scenario = processes::scenario_of(m, days(1));
  const Seconds safe = scenario.trains.front().checkpoint->stall.safe;
  scenario.trains.front().hosts = twin_storage::kStorageHostsMost + 1;
  const StorageRun none = run_storage(scenario.storage_work(), {.span = hours(3)});
  lay_over(scenario.trains, none);
  EXPECT_EQ(none.span, Seconds(0));
  EXPECT_EQ(scenario.trains.front().checkpoint->stall.safe, safe);
}

// One run alone on its storage, whose hosts share the servers evenly in both models.
TEST(StorageRun, a_single_run_saves_as_the_closed_form_says) {
  for (const auto mode : {design::CheckpointMode::sync, design::CheckpointMode::async}) {
    design::Design d = day_design(false);
    world::train_of(d).checkpoint->mode = mode;
    world::train_of(d).dataset = {};
    const machine::Machine m = jobs::build_machine(d, machine::known());
    const processes::Scenario scenario = processes::scenario_of(m, days(1));
    const StorageRun run = run_storage(scenario.storage_work(), {.span = hours(4)});
    const jobs::SavePlan& plan = *scenario.trains.front().checkpoint;
    ASSERT_TRUE(run.jobs.front().saves.has_value());
    const SaveTimes& got = *run.jobs.front().saves;
    EXPECT_GE(got.saves, 3U);
    EXPECT_NEAR(got.safe / plan.stall.safe, 1, 0.01);
    if (plan.async) {
      EXPECT_NEAR(got.stall / plan.stall.total, 1, 1e-6);
    }
  }
}

TEST(StorageRun, the_same_seed_is_the_same_day) {
  const JobStorage a = day_of(day_design(true));
  const JobStorage b = day_of(day_design(true));
  EXPECT_EQ(a.all_reduce, b.all_reduce);
  EXPECT_EQ(a.saves->safe, b.saves->safe);
}

}  // namespace
}  // namespace orrery::run
