#include <gtest/gtest.h>

#include <string>

#include "layers/fabric/collective_model.h"
#include "layers/storage/cache.h"
#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/train_job.h"
#include "model/jobs/train_job_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

TEST(TrainFeed, feed_reads_objects_of_its_tier) {
  PlainRun r(kNet +
             ", batch: 3200, samples: 1M, dataset: { kind: image, sample_size: 150 kB, size: 20 "
             "TB, tier: hot, decode: 7 ms, loader_cores: 6, shard_size: 100 MB }");
  const FeedPlan& feed = r.costs().feed;
  ASSERT_TRUE(feed.known);
  EXPECT_EQ(feed.tier->label, "hot");
  EXPECT_EQ(feed.sample, kilobytes(150));
  EXPECT_EQ(feed.object, megabytes(100));
  EXPECT_EQ(feed.decode, milliseconds(7));
  EXPECT_EQ(feed.cores, 6);
  EXPECT_EQ(feed.data_set, terabytes(20));
  EXPECT_EQ(feed.by_themselves, 0);
  EXPECT_EQ(feed.cache, nullptr);
  machine::expect_close(feed.wanted.base(), 3200 * 150e3 / r.job.step.step.base());
  // One of 32 readers has an eighth of its host's 64 streams and a thirty-second of the tier.
  const machine::Network& wires = r.machine->storage_wires(*r.job.fleet);
  const storage::FetchRate wanted = storage::fetch_rate(
      megabytes(100),
      {.first_byte = milliseconds(1),
       .stream = storage::stream_into_gpu(gbytes_per_s(2), storage::GpuPath::pinned),
       .streams = 8,
       .client = wires.per_node() / 8,
       .server = gbytes_per_s(40) / 32,
       .requests = PerSecond(20000) / 32});
  machine::expect_close(feed.fetch.rate.base(), wanted.rate.base());
  EXPECT_EQ(feed.fetch.limit, wanted.limit);
}

TEST(TrainFeed, format_and_kind_decide_object_size_and_cores) {
  PlainRun files(kNet +
                 ", batch: 3200, samples: 1M, dataset: { format: files, sample_size: 150 "
                 "kB, size: 1 TB, tier: hot }");
  EXPECT_EQ(files.costs().feed.object, kilobytes(150)) << "a file is a sample";
  PlainRun shards(kNet +
                  ", batch: 3200, samples: 1M, dataset: { sample_size: 150 kB, samples: 2M, "
                  "tier: hot, random_access: 0.3 }");
  EXPECT_EQ(shards.costs().feed.object, megabytes(256));
  EXPECT_EQ(shards.job.feed.by_themselves, 0.3);
  EXPECT_EQ(shards.job.feed.data_set, gigabytes(300));
  EXPECT_EQ(shards.job.feed.cores, 10) << "the default";
  PlainRun cores(kNet + ", batch: 3200, samples: 1M, dataset: { size: 1 TB, tier: hot }",
                 ", custom: { cores: 112 }");
  EXPECT_DOUBLE_EQ(cores.costs().feed.cores, 10.5) << "three quarters of 112, over 8";
  machine::Models no_kinds = machine::known();
  no_kinds.dataset_kinds.clear();
  PlainRun unknown(kNet + ", batch: 3200, samples: 1M, dataset: { kind: image, size: 1 TB }", "",
                   "", no_kinds);
  EXPECT_EQ(unknown.costs().feed.sample, kilobytes(100));
  EXPECT_EQ(unknown.job.feed.decode, Seconds(0));
  EXPECT_EQ(unknown.job.feed.tier->label, "hot") << "the first tier with enough capacity";
}

void expect_fetch(const FedRun& r, double rate, storage::FetchLimit limit) {
  EXPECT_NEAR(r.job.feed.fetch.rate.base(), rate, 1e-9 * rate);
  EXPECT_EQ(r.job.feed.fetch.limit, limit);
}

// Sixteen streams per host are two per accelerator: 20 MB take 10 ms to the first byte and 20 ms
// more.
TEST(TrainFeed, streams_limit_the_fetch_rate) {
  const std::string shards = "samples: 10M, sample_size: 150 kB, shard_size: 20 MB";
  expect_fetch(
      FedRun("read: 900 GB/s, client_streams: 16, stream_rate: 1 GB/s, first_byte: 10 ms", shards),
      2 * 20e6 / 0.03, storage::FetchLimit::streams);
  // A stream is no faster than the host copies into the accelerator's memory.
  expect_fetch(
      FedRun("read: 900 GB/s, client_streams: 4, stream_rate: 99 GB/s, first_byte: 10 ms", shards),
      0.5 * 20e6 / (0.01 + 20e6 / 4.064e9), storage::FetchLimit::streams);
}

TEST(TrainFeed, servers_or_ports_limit_the_fetch_rate) {
  const std::string shards = "samples: 10M, sample_size: 150 kB";
  expect_fetch(FedRun("read: 4 GB/s", shards), 4e9 / 32, storage::FetchLimit::server);
  const std::string narrow =
      "  storage: { topology: fat-tree, switch: qm9700, port_rate: 8 Gb/s, ports_per_node: 2 }\n";
  expect_fetch(FedRun("read: 900 GB/s", shards, narrow), 2e9 / 8, storage::FetchLimit::client);
}

// Files of 10 kB: 20,000 opens per second shared by 32 accelerators.
TEST(TrainFeed, file_opens_limit_the_fetch_rate) {
  const FedRun r("read: 900 GB/s", "samples: 10M, sample_size: 10 kB, format: files");
  expect_fetch(r, 20000 / 32.0 * 10e3, storage::FetchLimit::requests);
  EXPECT_EQ(r.job.feed.object, kilobytes(10));
}

// Samples read one by one out of shards: 96 disks of 170 reads per second, 80 % of which are
// delivered.
TEST(TrainFeed, random_samples_are_limited_by_the_drives) {
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

// Drives in the nodes: eight drives of 3.84 TB serve the eight accelerators of their host.
TEST(TrainFeed, drives_in_the_nodes_serve_their_own_host) {
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

// 0.2445 core seconds per GB that a host reads.
TEST(TrainFeed, cores_move_data_to_accelerators) {
  const FedRun r("read: 4 GB/s", "samples: 10M, sample_size: 150 kB");
  const FeedPlan& f = r.job.feed;
  EXPECT_NEAR(f.wanted.base(), 3200 * 150e3 / r.job.step.step.base(), 1e-3);
  EXPECT_LT(f.loader.utilisation, 1);
  EXPECT_NEAR(f.moving_cores, f.wanted.base() * f.loader.utilisation / 4 * 0.2445e-9, 1e-9);
  EXPECT_EQ(f.data_set, terabytes(1.5));
  EXPECT_EQ(f.cache, nullptr);
  EXPECT_EQ(f.hit_rate, 0);
}

// Two billion tokens of four bytes in two epochs are a data set of 4 GB. Drives in the nodes are
// large enough, but not shared by all nodes.
TEST(TrainFeed, samples_are_in_the_first_shared_tier_that_holds_them) {
  HandRun r(kLlama + ", dataset: { epochs: 2 }, layout: { tp: 8, pp: 2, mbs: 1 }", "",
            "  - { tier: node-nvme, kind: local-nvme }\n");
  fill_costs(r.job, r.machine);
  EXPECT_DOUBLE_EQ(r.job.feed.data_set.base(), 2e9 * 4 / 2);
  ASSERT_NE(r.job.feed.tier, nullptr);
  EXPECT_EQ(r.job.feed.tier->label, "hot");
  EXPECT_EQ(r.job.feed.cache, nullptr);
  EXPECT_DOUBLE_EQ(r.job.feed.sample.base(), 4096 * 4);
}

// The drives of four hosts in front of a data set ten times as large as one host's drives.
TEST(TrainFeed, cache_in_the_nodes_combines_all_hosts) {
  HandRun r(kPlainNetwork + ", batch: 3200, dataset: { tier: hot, size: 307 TB, epochs: 3 }", "",
            "  - { tier: node-nvme, kind: local-nvme, caches: hot }\n");
  fill_costs(r.job, r.machine);
  ASSERT_NE(r.job.feed.cache, nullptr);
  const machine::Tier& cache = *r.job.feed.cache;
  const double share = std::min(1.0, cache.capacity.base() * 4 / 307e12);
  EXPECT_NEAR(share, 0.4, 1e-3);
  const auto order =
      r.job.train->dataset.shuffle ? storage::EpochOrder::shuffled : storage::EpochOrder::fixed;
  EXPECT_NEAR(r.job.feed.hit_rate,
              storage::mean_hit_rate(hit_rate(cache.tier->policy, order, share), 3), 1e-12);
  EXPECT_GT(r.job.feed.hit_rate, 0);
}

design::Design plain_design(const std::string& storage) {
  return design_text::read_design(
             "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, "
             "count: 4 }\nstorage:\n  - { tier: hot, kind: parallel-fs, " +
                 storage +
                 " }\nworkloads:\n  - train: { model: llama-3-8b, tokens: 1B, batch: 64, sequence: "
                 "4096, dataset: { kind: image, size: 1 TB, tier: hot } }\n",
             machine::known().catalog())
      .value();
}

// A sample of a transformer is its tokens of four bytes, plus the image that comes with them.
TEST(TrainFeed, sample_of_a_transformer_is_its_tokens) {
  machine::Models no_kinds = machine::known();
  no_kinds.dataset_kinds.clear();
  design::Design d = plain_design("read: 40 GB/s, capacity: 1 PB");
  const machine::Machine m = build_machine(d, no_kinds);
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_feed(job, m);
  EXPECT_EQ(job.feed.sample, kilobytes(100) + Bytes(4096 * 4));
  auto& train = std::get<design::Train>(d.workloads[0].task);
  train.dataset.kind = design::DataKind::text;
  const machine::Machine text = build_machine(d, machine::known());
  TrainJob words = name_job(text, text.design().workloads[0]);
  fill_step(words, text);
  fill_feed(words, text);
  EXPECT_EQ(words.feed.sample, Bytes(4096 * 4));
  EXPECT_EQ(words.feed.decode, Seconds(0));
  train.model.clear();
  const machine::Machine none = build_machine(d, machine::known());
  EXPECT_EQ(name_job(none, none.design().workloads[0]).parameters, 0);
}

TEST(TrainFeed, events_are_kept_for_their_retention_or_until_the_next_run) {
  design::Train train;
  EXPECT_EQ(features_kept(train), Bytes(0));
  train.features.emplace();
  train.features->rate = PerSecond(100);
  train.features->size = bytes(50);
  EXPECT_EQ(features_kept(train), Bytes(0)) << "neither a retention nor a repetition is given";
  train.repeat = design::Recurrence{.every = hours(1)};
  EXPECT_DOUBLE_EQ(features_kept(train).base(), 5000.0 * 3600);
  train.features->retention = hours(2);
  EXPECT_DOUBLE_EQ(features_kept(train).base(), 5000.0 * 7200);
}

}  // namespace
}  // namespace orrery::jobs
