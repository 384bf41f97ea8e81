// A plain network's run by hand: its step, what feeds it, what breaks it, what saves it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/predict_training.h"
#include "model/jobs/train_job.h"
#include "model/machine/known_fixture.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

// Four nodes of eight H100: 989.4 dense TFLOP/s, 3,350 GB/s of memory, a NIC of 400 Gb/s each.
struct PlainRun {
  design::Design design;
  std::optional<machine::Machine> machine;
  TrainJob job;

  explicit PlainRun(const std::string& train, const std::string& fleet = "",
                    const std::string& more = "",
                    const machine::Models& models = machine::known()) {
    const auto read = design_text::read_design(
        "orrery: 1\nname: t\nsite: { region: usa, cooling: air-contained }\nfleet:\n"
        "  - { name: a, node: dgx-h100, count: 4" +
            fleet +
            " }\nfabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n"
            "storage:\n"
            "  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 12 GB/s, capacity: 1 PB }\n"
            "  - { tier: cold, kind: object, read: 9 GB/s, write: 3 GB/s, capacity: 9 PB }\n" +
            more + "workloads:\n  - train: { " + train + " }\n",
        models.catalog());
    EXPECT_TRUE(read) << to_text(read.error());
    machine = build_machine(read.value(), models);
    job = name_job(*machine, machine->design().workloads[0]);
    fill_step(job, *machine);
  }
  const TrainJob& costs() {
    fill_costs(job, *machine);
    return job;
  }
};

const std::string kNet = "network: { params: 300M, forward: 12 GFLOP, activations: 50 MB }";

void expect_close(double value, double wanted) {
  EXPECT_NEAR(value, wanted, 1e-9 * std::abs(wanted) + 1e-300);
}

// 3200 samples on 32 devices: 100 each, 3 x 12 GFLOP a sample at 0.35 of the peak.
TEST(PlainRun, a_step_is_products_and_what_of_the_reduction_is_not_hidden) {
  const PlainRun r(kNet + ", batch: 3200, samples: 1M");
  const TrainJob& job = r.job;
  ASSERT_TRUE(job.feasible()) << job.infeasible;
  const double compute = 3.0 * 100 * 12e9 / (989.4e12 * 0.35);
  const machine::Links links(machine::wiring_of(*job.fleet, r.machine->main_networks()),
                             machine::known().collectives);
  const double reduce =
      links.time({workload::Collective::all_reduce, Bytes(300e6 * 4), links.group_of(32)})
          .time.base();
  expect_close(job.step.parts.at(0).time.base(), compute);
  EXPECT_EQ(job.step.parts.at(1).time, Seconds(0));
  expect_close(job.step.parts.at(2).time.base(), 0.3 * reduce);
  expect_close(job.step.step.base(), compute + 0.3 * reduce);
  EXPECT_EQ(job.step.layout, "dp32");
  EXPECT_EQ(job.step.replicas, 32);
  EXPECT_EQ(job.step.model_shards, 1);
  EXPECT_EQ(job.step.units_per_step, 3200);
  expect_close(job.step.flops_utilisation, 0.35 * compute / (compute + 0.3 * reduce));
  expect_close(job.step.memory.base(), 300e6 * 16 + 50e6 * 100);
  EXPECT_EQ(job.step.memory_limit, usable_memory(*job.fleet->accelerator()));
  expect_close(job.step.matrix_share, compute / (compute + 0.3 * reduce));
  EXPECT_EQ(job.step.memory_share, 0);
  expect_close(job.step.exposed_share, 0.3 * reduce / (compute + 0.3 * reduce));
  expect_close(job.step.exposed_network_share, job.step.exposed_share);
  EXPECT_EQ(job.step.error, 0.4);
  EXPECT_EQ(job.step.basis, Basis::assumed);
  EXPECT_EQ(job.accelerators, 32);
  EXPECT_EQ(job.hosts, 4);
  expect_close(job.raw_rate(), 3200 / job.step.step.base());
}

// Rows of 64 numbers of 4 bytes, 20 of them a sample: 100 x 20 x 256 B touched, four times.
TEST(PlainRun, tables_are_read_written_and_exchanged) {
  const auto with = [](const std::string& placement) {
    return PlainRun(kNet +
                    ", batch: 3200, samples: 1M, embeddings: { rows: 100M, width: 64, "
                    "precision: fp32, lookups: 20, placement: " +
                    placement + " }");
  };
  const PlainRun r = with("device");
  const double touched = 100.0 * 20 * 256;
  const machine::Links links(machine::wiring_of(*r.job.fleet, r.machine->main_networks()),
                             machine::known().collectives);
  const double exchange =
      links.time({workload::Collective::all_to_all, Bytes(touched), links.group_of(32)})
          .time.base();
  const double time = touched * 4 / 3350e9 + 2 * exchange;
  expect_close(r.job.step.parts.at(1).time.base(), time);
  expect_close(r.job.step.memory_share, time / r.job.step.step.base());
  expect_close(r.job.step.memory.base(), 300e6 * 16 + 50e6 * 100 + 100e6 * 256 * 2 / 32);
  expect_close(with("host").job.step.memory.base(), 300e6 * 16 + 50e6 * 100);
}

TEST(PlainRun, the_batch_is_split_evenly_over_whole_hosts_first) {
  const auto devices = [](int batch) {
    return PlainRun(kNet + ", samples: 1M, batch: " + std::to_string(batch)).job.accelerators;
  };
  EXPECT_EQ(devices(96), 32);
  EXPECT_EQ(devices(72), 24);
  EXPECT_EQ(devices(40), 8);
  EXPECT_EQ(devices(7), 7);
  EXPECT_EQ(devices(11), 1);
  const PlainRun one(kNet + ", samples: 1M, batch: 11");
  EXPECT_EQ(one.job.step.exposed_share, 0) << "nobody to reduce with";
  EXPECT_EQ(one.job.hosts, 1);
  const PlainRun host(kNet + ", samples: 1M, batch: 40");
  EXPECT_GT(host.job.step.exposed_share, 0);
  EXPECT_EQ(host.job.step.exposed_network_share, 0) << "inside one domain";
}

TEST(PlainRun, precisions_have_peaks_of_their_own) {
  const auto compute = [](const char* precision) {
    return PlainRun(kNet + ", samples: 1M, batch: 32, precision: " + std::string(precision))
        .job.step.parts.at(0)
        .time.base();
  };
  const double flop = 3 * 12e9 / 0.35;
  const catalog::Accelerator& a = *machine::known().catalog().accelerator("h100-sxm");
  expect_close(compute("bf16"), flop / a.peak(catalog::Dtype::bf16)->base());
  expect_close(compute("tf32"), flop / a.peak(catalog::Dtype::tf32)->base());
  expect_close(compute("fp32"), flop / a.peak(catalog::Dtype::fp32)->base());
}

TEST(PlainRun, what_does_not_fit_or_is_cut_cannot_run) {
  const PlainRun large("network: { params: 9B, forward: 12 GFLOP }, samples: 1M, batch: 32");
  EXPECT_TRUE(large.job.infeasible.starts_with("it needs 144 GB of ")) << large.job.infeasible;
  const PlainRun cut(kNet + ", samples: 1M, batch: 32", ", mig: { 1g.10gb: 7 }");
  EXPECT_TRUE(cut.job.infeasible.contains("cut into slices")) << cut.job.infeasible;
}

// dp32 on hosts of 8: a unit is a host of eight replicas; at least 9 replicas are two hosts.
TEST(PlainRun, an_elastic_run_shrinks_by_hosts) {
  const auto elastic = [](int least) {
    return PlainRun(kNet + ", batch: 96, samples: 1M, min_replicas: " + std::to_string(least)).job;
  };
  const TrainJob job = elastic(9);
  ASSERT_TRUE(job.elastic) << job.infeasible;
  EXPECT_EQ(job.elastic->unit_hosts, 1);
  EXPECT_EQ(job.elastic->units, 4);
  EXPECT_EQ(job.elastic->least, 2);
  EXPECT_EQ(elastic(8).elastic->least, 1);
  EXPECT_EQ(elastic(32).elastic->least, 4);
  EXPECT_EQ(elastic(33).infeasible, "min_replicas is 33, and its layout has 32");
  EXPECT_DOUBLE_EQ(job.elastic->lost_with(1), 0.25);
  EXPECT_DOUBLE_EQ(job.elastic->lost_with(2), 0.5);
  EXPECT_DOUBLE_EQ(job.elastic->lost_with(3), 1) << "it stands";
  const ElasticPlan pairs{.unit_hosts = 2, .units = 5, .least = 2};
  EXPECT_DOUBLE_EQ(pairs.lost_with(1), 0.2);
  EXPECT_DOUBLE_EQ(pairs.lost_with(2), 0.2);
  EXPECT_DOUBLE_EQ(pairs.lost_with(3), 0.4);
  EXPECT_DOUBLE_EQ(pairs.lost_with(6), 0.6);
  EXPECT_DOUBLE_EQ(pairs.lost_with(7), 1);
  const ElasticPlan plain;
  EXPECT_EQ(plain.unit_hosts, 1);
  EXPECT_EQ(plain.units, 1);
  EXPECT_EQ(plain.least, 1);
}

TEST(PlainRun, samples_say_how_long_it_runs) {
  PlainRun given(kNet + ", batch: 3200, samples: 1M");
  EXPECT_EQ(given.costs().units, 1e6);
  expect_close(given.job.raw_time.base(), 1e6 / given.job.raw_rate());
  PlainRun of_data(kNet + ", batch: 3200, dataset: { samples: 2M, epochs: 3 }");
  EXPECT_EQ(of_data.costs().units, 6e6);
}

TEST(PlainRun, its_feed_reads_objects_of_a_tier) {
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
  expect_close(feed.wanted.base(), 3200 * 150e3 / r.job.step.step.base());
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
  expect_close(feed.fetch.rate.base(), wanted.rate.base());
  EXPECT_EQ(feed.fetch.limit, wanted.limit);
}

TEST(PlainRun, files_and_kinds_of_samples) {
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
  EXPECT_EQ(shards.job.feed.cores, 10) << "nobody says otherwise";
  PlainRun cores(kNet + ", batch: 3200, samples: 1M, dataset: { size: 1 TB, tier: hot }",
                 ", custom: { cores: 112 }");
  EXPECT_DOUBLE_EQ(cores.costs().feed.cores, 10.5) << "three quarters of 112, over 8";
  machine::Models no_kinds = machine::known();
  no_kinds.dataset_kinds.clear();
  PlainRun unknown(kNet + ", batch: 3200, samples: 1M, dataset: { kind: image, size: 1 TB }", "",
                   "", no_kinds);
  EXPECT_EQ(unknown.costs().feed.sample, kilobytes(100));
  EXPECT_EQ(unknown.job.feed.decode, Seconds(0));
  EXPECT_EQ(unknown.job.feed.tier->label, "hot") << "the first that holds it";
}

// node_mtbf of 100 d, four hosts: 25 d. Noticed after 60 s; hangs wait ten minutes.
TEST(PlainRun, failures_come_back_step_by_step) {
  const std::string mtbf = ", failures: { node_mtbf: 100 d, repair: 2 d }, spares: 1";
  PlainRun r(kNet + ", batch: 3200, samples: 1M", mtbf);
  const FailurePlan& f = r.costs().failure;
  expect_close(f.node_rate.base(), 1 / (100 * 86400.0));
  expect_close(f.mtbf / days(1), 25);
  EXPECT_EQ(f.spot_rate, PerSecond(0));
  EXPECT_EQ(f.shared_rate, PerSecond(0));
  const double hangs = share_of(machine::known().fault_causes, failure::FaultGroup::hang);
  EXPECT_GT(hangs, 0);
  EXPECT_EQ(f.noticed, seconds(60));
  EXPECT_EQ(f.hang, minutes(10));
  expect_close(f.detect.base(), 60 + 540 * hangs);
  expect_close(f.requeue.base(), 147.7);
  expect_close(f.start.base(), 120 + 0.006 * 32);
  expect_close(f.attempts, 1 / 0.9);
  expect_close(f.hands.base(), 1800 * 0.03);
  expect_close(f.restart.base(), f.detect.base() + (147.7 + 120.192) / 0.9 + 54);
  EXPECT_EQ(f.restart_factor, 1.5);
  EXPECT_EQ(f.slow, 1);
  EXPECT_EQ(f.spares, 1);
  EXPECT_EQ(f.repair, days(2));
  const double soft =
      share_of(machine::known().fault_causes, failure::FaultGroup::software) + hangs;
  expect_close(f.mean_in_repair, 4 * (1 - soft) / 100 * 2);
  // More than one of a Poisson number in repair.
  const double mean = f.mean_in_repair;
  EXPECT_NEAR(f.shortfall, 1 - std::exp(-mean) * (1 + mean), 1e-12);
}

TEST(PlainRun, times_that_the_design_gives_are_means_of_what_happened) {
  const std::string own =
      "scheduler: { recovery: { detect: 20 s, requeue: 90 s, restart: 50 s } }\n";
  PlainRun r(kNet + ", batch: 3200, samples: 1M", "", own);
  const FailurePlan& f = r.costs().failure;
  EXPECT_EQ(f.noticed, seconds(20));
  EXPECT_EQ(f.hang, seconds(20));
  EXPECT_EQ(f.attempts, 1);
  EXPECT_EQ(f.hands, Seconds(0));
  expect_close(f.restart.base(), 160);
  EXPECT_EQ(f.restart_factor, 1.15);
  PlainRun person(kNet + ", batch: 3200, samples: 1M", "",
                  "scheduler: { recovery: { automatic: false, operator_response: 10 min, "
                  "hang_timeout: 30 s } }\n");
  const FailurePlan& p = person.costs().failure;
  expect_close(p.requeue.base(), 147.7 + 600);
  EXPECT_EQ(p.hands, Seconds(0));
  EXPECT_EQ(p.hang, seconds(60)) << "no sooner than it is noticed";
  expect_close(p.detect.base(), 60);
}

}  // namespace
}  // namespace orrery::jobs
