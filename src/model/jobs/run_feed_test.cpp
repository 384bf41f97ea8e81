// What a run reads, by hand: which wall its fetches stand at, how many cores carry them, how long
// it runs, and what storage on the compute network takes from its steps.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "layers/fabric/collective_model.h"
#include "model/design_text/read_design.h"
#include "model/jobs/batch_split.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/jobs/tier_asks.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// 32 accelerators in four hosts; a batch of 3,200 samples.
struct FedRun {
  machine::Machine machine;
  TrainJob job;

  explicit FedRun(const std::string& tier, const std::string& dataset,
                  const std::string& storage_net = "", const std::string& train = "samples: 1M") {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 "
        "}]\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n" +
            storage_net +
            "storage:\n  - { name: t, tier: hot, kind: parallel-fs, capacity: 9 PB, " + tier +
            " }\nworkloads:\n  - train: { network: { params: 300M, forward: 12 GFLOP }, batch: "
            "3200, " +
            train + ", dataset: { tier: t, " + dataset + " } }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
    machine = build_machine(read ? *read : design::Design{}, machine::known());
    job = name_job(machine, machine.design().workloads.at(0));
    fill_step(job, machine);
    fill_costs(job, machine);
  }
};

void expect_fetch(const FedRun& r, double rate, storage::FetchLimit limit) {
  EXPECT_NEAR(r.job.feed.fetch.rate.base(), rate, 1e-9 * rate);
  EXPECT_EQ(r.job.feed.fetch.limit, limit);
}

// Sixteen streams of a host are two of an accelerator: 20 MB in 10 ms and 20 ms.
TEST(RunFeed, StandsAtItsStreams) {
  const std::string shards = "samples: 10M, sample_size: 150 kB, shard_size: 20 MB";
  expect_fetch(
      FedRun("read: 900 GB/s, client_streams: 16, stream_rate: 1 GB/s, first_byte: 10 ms", shards),
      2 * 20e6 / 0.03, storage::FetchLimit::streams);
  // No faster than the host copies into an accelerator's memory.
  expect_fetch(
      FedRun("read: 900 GB/s, client_streams: 4, stream_rate: 99 GB/s, first_byte: 10 ms", shards),
      0.5 * 20e6 / (0.01 + 20e6 / 4.064e9), storage::FetchLimit::streams);
}

TEST(RunFeed, StandsAtTheServersOrItsOwnPorts) {
  const std::string shards = "samples: 10M, sample_size: 150 kB";
  expect_fetch(FedRun("read: 4 GB/s", shards), 4e9 / 32, storage::FetchLimit::server);
  const std::string narrow =
      "  storage: { topology: fat-tree, switch: qm9700, port_rate: 8 Gb/s, ports_per_node: 2 }\n";
  expect_fetch(FedRun("read: 900 GB/s", shards, narrow), 2e9 / 8, storage::FetchLimit::client);
}

// Files of 10 kB: 20,000 are opened a second, by 32.
TEST(RunFeed, StandsAtTheNamesOfItsFiles) {
  const FedRun r("read: 900 GB/s", "samples: 10M, sample_size: 10 kB, format: files");
  expect_fetch(r, 20000 / 32.0 * 10e3, storage::FetchLimit::requests);
  EXPECT_EQ(r.job.feed.object, kilobytes(10));
}

// Every sample by itself, out of shards: 96 disks of 170 reads a second, four fifths of which
// arrive.
TEST(RunFeed, OfSingleSamplesAsksTheDrives) {
  const std::string disks = "device: hdd-cmr24, servers: 4, devices_per_server: 24";
  const FedRun all(disks, "samples: 10M, sample_size: 10 kB, random_access: 1");
  EXPECT_EQ(all.job.feed.by_themselves, 1);
  expect_fetch(all, 96 * 170 * 0.8 / 32 * 10e3, storage::FetchLimit::requests);
  const FedRun none(disks, "samples: 10M, sample_size: 10 kB");
  EXPECT_EQ(none.job.feed.by_themselves, 0);
  const double both = none.job.feed.fetch.rate.base();
  const FedRun some(disks, "samples: 10M, sample_size: 10 kB, random_access: 0.25");
  const double single = 96 * 170 * 0.8 / 32 * 10e3;
  expect_fetch(some, 1 / (0.75 / both + 0.25 / single), storage::FetchLimit::requests);
}

// Drives in the nodes: eight of 3.84 TB answer the eight accelerators of their host.
TEST(RunFeed, OfDrivesInTheNodesIsOfOneHost) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 }]\n"
      "storage: [{ name: n, tier: node-nvme, kind: local-nvme, client_streams: 100000, first_byte: "
      "1 us, stream_rate: 99 GB/s }]\nworkloads: [{ train: { network: { params: 300M, forward: 12 "
      "GFLOP }, batch: 3200, samples: 1M, dataset: { tier: n, samples: 10M, sample_size: 1 kB, "
      "random_access: 1 } } }]\n",
      machine::known().catalog());
  ASSERT_TRUE(read) << to_text(read.error());
  const machine::Machine m = build_machine(*read, machine::known());
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_costs(job, m);
  ASSERT_TRUE(job.feed.known);
  const double rate = 1e6 * 0.8 * (30.7 / 3.84) / 8 * 1e3;
  EXPECT_NEAR(job.feed.fetch.rate.base(), rate, 1e-9 * rate);
  EXPECT_EQ(job.feed.fetch.limit, storage::FetchLimit::requests);
}

// A run that saves where it is safe asks that tier once.
TEST(RunFeed, ASaveAsksItsTierOnce) {
  const FedRun r("read: 90 GB/s, write: 9 GB/s", "samples: 10M, sample_size: 150 kB", "",
                 "samples: 1M, checkpoint: { to: [t], every: 30 min, keep: { t: 3 } }");
  const std::vector<machine::TierAsk> asks = asks_of(r.job, r.machine);
  ASSERT_EQ(asks.size(), 2U);
  EXPECT_EQ(asks[0].what, "samples of 'train'");
  EXPECT_EQ(asks[1].what, "saves of 'train', 4.2 GB within 3 min");
  EXPECT_NEAR(asks[1].demand.capacity.base(), 4 * 4.2e9, 1);
}

// The weights that are handed on are those of the run above, whatever else stands between.
TEST(RunStages, HandOnWhatWasTrained) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 }]\n"
      "storage:\n  - { name: hot, tier: hot, kind: parallel-fs, read: 9 GB/s, capacity: 9 PB }\n"
      "  - { name: cold, tier: cold, kind: nfs, read: 9 GB/s, capacity: 9 PB }\n"
      "workloads:\n  - train: { name: run, network: { params: 300M, forward: 12 GFLOP }, batch: "
      "3200, samples: 1M }\n  - batch: { name: prep, core_hours: 9 }\n"
      "pipeline:\n  stages:\n    - { stage: train, workload: run }\n    - { stage: prepare, "
      "workload: prep }\n    - { stage: register, from: hot, to: cold }\n",
      machine::known().catalog());
  ASSERT_TRUE(read) << to_text(read.error());
  const machine::Machine m = build_machine(*read, machine::known());
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[2].out, megabytes(600));
  EXPECT_EQ(kept_by(stages[2], m.design().pipeline), megabytes(600)) << "one cycle";
}

// Runs outside the pipeline take their part of a tier, and leave a twentieth.
TEST(RunStages, HaveWhatRunsLeaveOfATier) {
  const FedRun r("read: 90 GB/s, write: 9 GB/s", "samples: 10M, sample_size: 150 kB", "",
                 "samples: 1M, checkpoint: { to: [t], every: 30 min }");
  TrainJob job = r.job;
  job.feed.wanted = gbytes_per_s(40);
  job.feed.loader.utilisation = 0.5;
  job.feed.hit_rate = 0.25;
  job.checkpoint->size = gigabytes(900);
  job.checkpoint->interval = seconds(300);
  const auto left = [&] {
    const TrainJob* runs[] = {&job};
    return tiers_left(r.machine, {}, runs).front();
  };
  EXPECT_NEAR(left().read.base(), 90e9 - 40e9 * 0.5 * 0.75, 1);
  EXPECT_NEAR(left().write.base(), 9e9 - 3e9, 1);
  job.checkpoint->later = {{.tier = &r.machine.tiers[design::TierIndex(0)], .every = seconds(900)}};
  EXPECT_NEAR(left().write.base(), 9e9 - 3e9 - 1e9, 1);
  job.checkpoint->interval = Seconds();
  EXPECT_NEAR(left().write.base(), 9e9, 1) << "nothing is known of its saves";
  job.checkpoint->interval = seconds(1);
  job.feed.wanted = gbytes_per_s(900);
  EXPECT_NEAR(left().write.base(), 9e9 * 0.05, 1);
  EXPECT_NEAR(left().read.base(), 90e9 * 0.05, 1);
  job.infeasible = "no";
  EXPECT_NEAR(left().read.base(), 90e9, 1);
}

// Switches whose optics are in their package are sold with them.
TEST(RunStages, OpticsInTheSwitchAreNotBought) {
  const auto lines = [](const char* part) {
    const auto read = design_text::read_design(
        std::string("orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: "
                    "dgx-b300, count: 64 }]\nfabric: { compute: { topology: fat-tree, switch: ") +
            part + " } }\n",
        machine::known().catalog());
    EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
    const machine::Machine m = build_machine(*read, machine::known());
    int optics = 0;
    for (const catalog::BillLine& l : m.main_networks().compute.bill.lines) {
      optics += l.item.find("switch optics") != std::string::npos ? 1 : 0;
    }
    return optics;
  };
  EXPECT_EQ(lines("q3450-cpo"), 0);
  EXPECT_GT(lines("q3400"), 0);
}

// 0.2445 core seconds a GB of what a host reads.
TEST(RunFeed, CoresCarryItToAccelerators) {
  const FedRun r("read: 4 GB/s", "samples: 10M, sample_size: 150 kB");
  const FeedPlan& f = r.job.feed;
  EXPECT_NEAR(f.wanted.base(), 3200 * 150e3 / r.job.step.step.base(), 1e-3);
  EXPECT_LT(f.loader.utilisation, 1);
  EXPECT_NEAR(f.moving_cores, f.wanted.base() * f.loader.utilisation / 4 * 0.2445e-9, 1e-9);
  EXPECT_EQ(f.cores, 10) << "nobody says";
  EXPECT_EQ(f.data_set, terabytes(1.5));
  EXPECT_EQ(f.cache, nullptr);
  EXPECT_EQ(f.hit_rate, 0);
}

TEST(RunFeed, UnitsOfARun) {
  const std::string data = "samples: 10M, sample_size: 150 kB";
  const FedRun given("read: 4 GB/s", data, "", "samples: 7M");
  EXPECT_EQ(given.job.units, 7e6);
  EXPECT_NEAR(given.job.raw_time.base(), 7e6 / 3200 * given.job.step.step.base(), 1e-6);
  const FedRun epochs("read: 4 GB/s", data + ", epochs: 3", "", "name: e");
  EXPECT_EQ(epochs.job.units, 3e7);
}

// The compute network of a host carries 400 GB/s; what reads leave of it, collectives have.
TEST(RunFeed, OnTheComputeNetworkSlowsTheSteps) {
  const FedRun r("read: 900 GB/s", "samples: 10M, sample_size: 3 MB",
                 "  storage: { converged: true }\n");
  const TrainJob& j = r.job;
  ASSERT_GT(j.step.exposed_network_share, 0);
  const BytesPerSecond feed = j.feed.wanted / 4;
  const double left = fabric::free_share({.capacity = gbytes_per_s(400), .storage = feed});
  EXPECT_LT(left, 1);
  EXPECT_NEAR(j.contended.feeding, j.step.exposed_network_share * (1 / left - 1), 1e-12);
  EXPECT_EQ(j.contended.draining, j.contended.feeding) << "nothing is saved";
  const FedRun own("read: 900 GB/s", "samples: 10M, sample_size: 3 MB");
  EXPECT_EQ(own.job.contended.feeding, 0);
}

TEST(RunFeed, NothingIsKnownOfIt) {
  const FeedPlan none;
  EXPECT_EQ(none.by_themselves + none.cores + none.moving_cores + none.hit_rate, 0);
  EXPECT_EQ(none.tier, nullptr);
  EXPECT_FALSE(machine::TierPurchase{}.as_counted);
  EXPECT_EQ(machine::TierPurchase{}.devices + machine::TierPurchase{}.servers, 0);
  EXPECT_EQ(machine::MetadataServers{}.count, 0);
  EXPECT_EQ(machine::TierServers{}.data + machine::TierServers{}.metadata, 0);
  EXPECT_EQ(machine::Tier{}.devices + machine::Tier{}.servers + machine::Tier{}.metadata_servers,
            0);
}

// Half of what is there at the least: 48 of 96.
TEST(RunBatch, LeavesNoMoreThanHalfIdle) {
  const FedRun r("read: 4 GB/s", "samples: 10M, sample_size: 150 kB");
  TrainJob job = r.job;
  design::Train train = *job.train;
  job.train = &train;
  job.model = nullptr;
  const auto counts = [&](int batch, int available) {
    train.batch = batch;
    return counts_to_try(job, available);
  };
  EXPECT_EQ(counts(48, 96), std::vector<int>{48});
  EXPECT_EQ(counts(40, 96), std::vector<int>{});
  EXPECT_EQ(counts(96 * 88, 96), (std::vector<int>{96, 88}));
  EXPECT_EQ(counts(96 * 88 * 5, 96), (std::vector<int>{96, 88})) << "no more than two";
  EXPECT_EQ(counts(56, 97), std::vector<int>{}) << "steps of a host from 97 on";
  EXPECT_EQ(counts(57, 97), std::vector<int>{57});
}

}  // namespace
}  // namespace orrery::jobs
