#include "layers/storage/loader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "layers/storage/guidance.h"
#include "layers/storage/tier_sizing.h"

namespace orrery::storage {
namespace {

// mlcommons/storage configs: batch x record / compute time, in MiB/s per accelerator.
TEST(Loader, ideal_rates_of_mlperf_storage) {
  const CsvTable table =
      catalog::embedded_table("calibration/mlperf_storage_workloads.csv").value();
  int checked = 0;
  for (const CsvRow& row : table.rows()) {
    const auto batch = table.number(row, "batch");
    if (!batch) continue;  // checkpoint workloads have no batch
    const BytesPerSecond ideal = ideal_read_rate(*batch, bytes(*table.number(row, "record_bytes")),
                                                 seconds(*table.number(row, "compute_s_per_step")));
    EXPECT_NEAR(ideal.base() / mib(1).base() / *table.number(row, "ideal_MiB_s_per_acc"), 1, 0.001)
        << table.text(row, "workload") << ' ' << table.text(row, "accelerator");
    ++checked;
  }
  EXPECT_EQ(checked, 7);
}

// All 132 v1.0 reports: the measured rate divided by the ideal one is the utilisation. Submitters
// add accelerators until it approaches the pass mark (0.90; CosmoFlow 0.70), so the median is just
// above the mark and no row is far below. The lowest reported, 0.752 for a mark of 0.90, includes
// ramp-up that AU excludes.
TEST(Loader, utilisation_of_every_published_row) {
  const CsvTable workloads =
      catalog::embedded_table("calibration/mlperf_storage_workloads.csv").value();
  std::map<std::string, BytesPerSecond> ideal;
  for (const CsvRow& row : workloads.rows()) {
    if (!workloads.number(row, "batch")) continue;
    ideal[std::string(workloads.text(row, "workload")) + "/" +
          std::string(workloads.text(row, "accelerator"))] =
        ideal_read_rate(*workloads.number(row, "batch"),
                        bytes(*workloads.number(row, "record_bytes")),
                        seconds(*workloads.number(row, "compute_s_per_step")));
  }
  const CsvTable table =
      catalog::embedded_table("validation/mlperf_storage_v1.0_training.csv").value();
  ASSERT_EQ(table.rows().size(), 132u);
  std::vector<double> over_mark;
  int well_below = 0;
  for (const CsvRow& row : table.rows()) {
    const std::string key =
        std::string(table.text(row, "model")) + "/" + std::string(table.text(row, "accelerator"));
    const BytesPerSecond all = ideal.at(key) * *table.number(row, "num_accelerators");
    const double au = mib(*table.number(row, "MiB_per_s")).base() / all.base();
    EXPECT_NEAR(au, *table.number(row, "implied_AU"), 0.001) << table.text(row, "source");
    EXPECT_GT(au, *table.number(row, "AU_threshold") - 0.15);
    EXPECT_LT(au, 1.0);
    over_mark.push_back(au / *table.number(row, "AU_threshold"));
    if (au < *table.number(row, "AU_threshold") - 0.02) ++well_below;
  }
  std::nth_element(over_mark.begin(), over_mark.begin() + 66, over_mark.end());
  EXPECT_NEAR(over_mark[66], 1.017, 0.001);
  EXPECT_EQ(well_below, 7);
}

// Three v3.0 systems with 5715, 5655 and 5588 MiB/s per accelerator report AU of 94.65, 93.71 and
// 92.57 % (mlcommons/storage_results_v3.0): the loader model gives the AU from the rate.
TEST(Loader, utilisation_from_rate) {
  const struct {
    double mib_s;
    double au;
  } rows[] = {{5714.6, 0.9465}, {5655.4, 0.9371}, {5588.0, 0.9257}};
  for (const auto& row : rows) {
    const LoaderRate r = load_rate({.batch = 7,
                                    .sample = bytes(146600628),
                                    .compute = seconds(0.162),
                                    .fetch = BytesPerSecond(mib(row.mib_s).base()),
                                    .cores = 8,
                                    .decode = {},
                                    .decoded_sample = {},
                                    .to_device = gbytes_per_s(50)});
    EXPECT_NEAR(r.utilisation, row.au, 0.001);
    EXPECT_EQ(r.limit, LoaderLimit::storage);
  }
}

FetchPath rgw() {
  // ceph radosgw 16.2.15, one thread: 4 KiB GET in 2.11 ms at the median and 277 op/s, 64 MiB at
  // 142.5 MiB/s.
  return {.first_byte = seconds(1.0 / 277),
          .stream = BytesPerSecond(mib(142.5).base()),
          .streams = 1,
          .client = gbytes_per_s(10),
          .server = gbytes_per_s(10),
          .requests = PerSecond(1e6)};
}

TEST(Fetch, small_objects_are_130_times_slower_on_the_measured_gateway) {
  EXPECT_NEAR(fetch_rate(mib(64), rgw()).rate / fetch_rate(kib(4), rgw()).rate, 130, 5);
  // 1 MiB in between was measured at 127.6 MiB/s: the formula says 94, 26 % low, because the
  // first-byte time of one run under load was used for all.
  EXPECT_NEAR(fetch_rate(mib(1), rgw()).rate.base() / mib(127.6).base(), 1, 0.3);
}

// Seagate gives 1.8 MiB as the size at which a disk with 285 MB/s reaches half its rate, which
// means 6.6 ms to the first byte.
TEST(Fetch, half_the_rate_where_the_first_byte_takes_as_long_as_the_rest) {
  const BytesPerSecond disk(285e6);
  EXPECT_NEAR(stream_rate(mib(1.8), milliseconds(6.6), disk) / disk, 0.5, 0.01);
}

TEST(Fetch, names_its_limit) {
  FetchPath p = rgw();
  EXPECT_EQ(fetch_rate(mib(1), p).limit, FetchLimit::streams);
  p.streams = 1000;
  EXPECT_EQ(fetch_rate(mib(64), p).limit, FetchLimit::client);
  p.server = gbytes_per_s(1);
  EXPECT_EQ(fetch_rate(mib(64), p).limit, FetchLimit::server);
  p.requests = PerSecond(3500);
  EXPECT_EQ(fetch_rate(kib(4), p).limit, FetchLimit::requests);
}

TEST(Fetch, more_never_slows) {
  double before = 0;
  for (double streams = 1; streams < 300; streams *= 2) {
    FetchPath p = rgw();
    p.streams = streams;
    const double rate = fetch_rate(mib(1), p).rate.base();
    EXPECT_GE(rate, before);
    before = rate;
  }
  before = 0;
  for (double size = 1; size < 1e9; size *= 4) {
    const double rate = fetch_rate(bytes(size), rgw()).rate.base();
    EXPECT_GE(rate, before);
    before = rate;
  }
}

TEST(Loader, decode_binds) {
  // 400 images per step of 0.224 s are 1,786 per second; 4 cores at 223 images/s give 892.
  const LoaderRate r = load_rate({.batch = 400,
                                  .sample = bytes(114660),
                                  .compute = seconds(0.224),
                                  .fetch = gbytes_per_s(1),
                                  .cores = 4,
                                  .decode = seconds(1.0 / 223),
                                  .decoded_sample = bytes(150528),
                                  .to_device = gbytes_per_s(20)});
  EXPECT_EQ(r.limit, LoaderLimit::decode);
  EXPECT_NEAR(r.samples_per_s, 892, 0.5);
  EXPECT_NEAR(r.utilisation, 892 / (400 / 0.224), 0.001);
  EXPECT_NEAR(decode_cores_needed(400, seconds(1.0 / 223), seconds(0.224)), 8.0, 0.01);
}

TEST(Loader, compute_binds_when_loading_is_fast) {
  const LoaderRate r = load_rate({.batch = 1,
                                  .sample = bytes(1000),
                                  .compute = seconds(1),
                                  .fetch = gbytes_per_s(1),
                                  .cores = 1,
                                  .decode = {},
                                  .decoded_sample = bytes(1000),
                                  .to_device = gbytes_per_s(1)});
  EXPECT_EQ(r.limit, LoaderLimit::compute);
  EXPECT_EQ(r.stall, Seconds(0));
  EXPECT_EQ(r.utilisation, 1);
}

TEST(Loader, cache_and_store_side_by_side) {
  const BytesPerSecond cache = gbytes_per_s(10);
  const BytesPerSecond store = gbytes_per_s(1);
  EXPECT_EQ(rate_through_cache(0, cache, store), store);
  EXPECT_EQ(rate_through_cache(1, cache, store), cache);
  EXPECT_NEAR(rate_through_cache(0.5, cache, store) / gbytes_per_s(1), 2, 1e-12);
}

// By hand: 100 MB/s for nine tenths and 10 MB/s for one tenth take 0.019 s per MB, mostly for the
// tenth.
TEST(Loader, mixed_reads_add_their_times) {
  const FetchRate shards{.rate = gbytes_per_s(100e-3), .limit = FetchLimit::server};
  const FetchRate samples{.rate = gbytes_per_s(10e-3), .limit = FetchLimit::streams};
  const FetchRate mixed = mixed_rate(shards, samples, 0.1);
  EXPECT_NEAR(mixed.rate / gbytes_per_s(1e-3), 1 / 0.019, 1e-9);
  EXPECT_EQ(mixed.limit, FetchLimit::streams);
  EXPECT_EQ(mixed_rate(shards, samples, 0.05).limit, FetchLimit::server);
  EXPECT_EQ(mixed_rate(shards, samples, 0).rate, shards.rate);
  EXPECT_EQ(mixed_rate(shards, samples, 1).rate, samples.rate);
}

TEST(Loader, rates_of_every_stage) {
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

TEST(Loader, slowest_stage_limits_the_loader) {
  LoaderProblem p{.batch = 10,
                  .sample = kilobytes(100),
                  .compute = seconds(0.1),
                  .fetch = gbytes_per_s(1),
                  .cores = 2,
                  .decode = milliseconds(10),
                  .moving = milliseconds(30),
                  .decoded_sample = megabytes(1),
                  .to_device = gbytes_per_s(20)};
  // Two cores at 40 ms per sample: 50 per second, half of what the step needs.
  EXPECT_NEAR(load_rate(p).samples_per_s, 50, 1e-9);
  EXPECT_EQ(load_rate(p).limit, LoaderLimit::decode);
  EXPECT_NEAR(load_rate(p).utilisation, 0.5, 1e-9);
  p.cores = 100;
  p.to_device = megabytes(20) / seconds(1);  // decoded data, ten times the stored size
  EXPECT_NEAR(load_rate(p).samples_per_s, 20, 1e-9);
  EXPECT_EQ(load_rate(p).limit, LoaderLimit::device_copy);
  const FetchPath path{.first_byte = milliseconds(10),
                       .stream = gbytes_per_s(1),
                       .streams = 4,
                       .client = gbytes_per_s(100),
                       .server = gbytes_per_s(100),
                       .requests = PerSecond(50)};
  // An object that takes as long to transfer as its first-byte time gets half the rate.
  EXPECT_NEAR(stream_rate(megabytes(10), path.first_byte, path.stream).base(), 0.5e9, 1e-3);
  EXPECT_NEAR(fetch_rate(kilobytes(10), path).rate.base(), 50 * 10'000, 1e-6);
  EXPECT_EQ(rate_through_cache(1.5, gbytes_per_s(4), gbytes_per_s(1)), gbytes_per_s(4));
}

}  // namespace
}  // namespace orrery::storage
