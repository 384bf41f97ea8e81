#include "study/score/dlio_summary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "study/score/rows_fixture.h"
#include "study/score/storage_probe.h"

namespace orrery::score {
namespace {

constexpr const char* kReads =
    R"("train_au_mean_percentage": 62.0, "train_io_mean_MB_per_second": 20000.0)";

std::string dlio(const std::string& metric, const std::string& more = "") {
  return "{" + more + R"("num_accelerators": 16, "metric": {)" + metric + "}}";
}

std::string dlio_text(const std::string& metric, const std::string& more = "") {
  return "{\"num_accelerators\": 16, " + more + "\"metric\": {" + metric + "}}";
}

Result<DlioCalibration> dlio_of(const std::string& metric, const std::string& more = "") {
  return calibrate_from_dlio(dlio_text(metric, more), "s.json", "hot");
}

constexpr const char* kRead = "\"train_io_mean_MB_per_second\": 2000.0";

TEST(DlioSummary, a_busy_accelerator_says_nothing_of_storage) {
  const auto at = [](const char* percent) {
    return dlio_of(std::string(kRead) + ", \"train_au_mean_percentage\": " + percent);
  };
  EXPECT_TRUE(at("89.99"));
  ASSERT_FALSE(at("90"));
  EXPECT_EQ(at("90").error()[0].code, "calibrate.dlio");
  EXPECT_EQ(dlio_of("\"x\": 1").error()[0].code, "calibrate.dlio");
}

TEST(DlioSummary, cached_reads_are_ignored) {
  const auto cached = [](const std::string& more) { return !dlio_of(kRead, more); };
  EXPECT_FALSE(cached(""));
  EXPECT_TRUE(cached("\"potential_caching\": true, "));
  EXPECT_TRUE(cached("\"potential_caching\": 1, "));
  EXPECT_FALSE(cached("\"potential_caching\": false, "));
  EXPECT_FALSE(cached("\"potential_caching\": [0, false], "));
  EXPECT_TRUE(cached("\"potential_caching\": [0, true], "));
  EXPECT_TRUE(cached("\"epochs\": 2, \"potential_caching\": [1], "));
  EXPECT_FALSE(cached("\"epochs\": 1, \"potential_caching\": [1], "));
  EXPECT_TRUE(cached("\"epochs\": \"1\", \"potential_caching\": [1], "));
}

// The widest of the spreads, 1.28 deviations each; loads are not used if there are reads.
TEST(DlioSummary, reads_and_checkpoints_together) {
  const auto c = dlio_of(std::string(kRead) +
                         ", \"train_io_stdev_MB_per_second\": 100.0"
                         ", \"save_checkpoint_io_mean_GB_per_second\": 8.0"
                         ", \"save_checkpoint_io_stdev_GB_per_second\": 2.0"
                         ", \"load_checkpoint_io_mean_GB_per_second\": 9.0"
                         ", \"load_checkpoint_io_stdev_GB_per_second\": 9.0");
  ASSERT_TRUE(c);
  EXPECT_DOUBLE_EQ(c->tier.read->base(), 2000 * 1048576.0);
  EXPECT_DOUBLE_EQ(c->tier.write->base(), 8 * 1073741824.0);
  EXPECT_NEAR(c->tier.error, 1.28 * 0.25, 1e-12);
  EXPECT_EQ(c->tier.source, "orrery calibrate: DLIO, 16 accelerators");
  EXPECT_THAT(dlio_of(kRead, "\"num_hosts\": 2, ")->tier.source,
              HasSubstr("16 accelerators of 2 hosts"));
  EXPECT_EQ(
      calibrate_from_dlio("{\"num_accelerators\": \"x\", \"metric\": {" + std::string(kRead) + "}}",
                          "s.json", "hot")
          ->tier.source,
      "orrery calibrate: DLIO, ? accelerators");
  const auto loads = dlio_of(
      "\"load_checkpoint_io_mean_GB_per_second\": 9.0"
      ", \"load_checkpoint_io_stdev_GB_per_second\": 1.5");
  ASSERT_TRUE(loads);
  EXPECT_DOUBLE_EQ(loads->tier.read->base(), 9 * 1073741824.0);
  EXPECT_NEAR(loads->tier.error, 1.28 * 1.5 / 9, 1e-12);
  // A size without a time is no rate.
  EXPECT_FALSE(dlio_of("\"checkpoint_size_GB\": 10.0"));
  EXPECT_FALSE(dlio_of("\"save_checkpoint_duration_mean_seconds\": 10.0"));
}

TEST(DlioSummary, summary_depth_is_bounded) {
  const auto deep = [](int levels) {
    return dlio_of(kRead, "\"a\": " + std::string(static_cast<std::size_t>(levels), '[') +
                              std::string(static_cast<std::size_t>(levels), ']') + ", ");
  };
  EXPECT_TRUE(deep(7));
  ASSERT_FALSE(deep(8));
  EXPECT_TRUE(looks_like_dlio_summary("  " + dlio_text(kRead)));
  EXPECT_FALSE(looks_like_dlio_summary("[" + dlio_text(kRead) + "]"));
  EXPECT_FALSE(looks_like_dlio_summary("{\"metric\": 1}"));
  EXPECT_FALSE(looks_like_dlio_summary("{\"num_accelerators\": 1}"));
}

// As DLIO writes it, without the part about hosts.
std::string summary(const std::string& metric, const std::string& more = "") {
  return R"({"start": "2026-11-16T10:00:00", "num_accelerators": 16, "num_hosts": 2, )" + more +
         R"("num_files_train": 168, "num_samples_per_file": 1, "metric": {)" + metric + "}}";
}

constexpr const char* kStarved =
    R"("train_au_percentage": [62.1, 61.9], "train_au_mean_percentage": 62.0,
       "train_au_meet_expectation": "fail", "train_io_mean_MB_per_second": 20000.0,
       "train_io_stdev_MB_per_second": 2000.0)";

TEST(DlioSummary, a_starved_run_gives_the_read_rate) {
  const auto c = calibrate_from_dlio(summary(kStarved), "summary.json", "hot");
  ASSERT_TRUE(c) << to_text(c.error());
  EXPECT_DOUBLE_EQ(c->tier.read->base(), 20000.0 * 1024 * 1024);
  EXPECT_FALSE(c->tier.write);
  EXPECT_NEAR(c->tier.error, 0.128, 1e-9);
  EXPECT_EQ(c->tier.tier, "hot");
  EXPECT_TRUE(looks_like_dlio_summary(summary(kStarved)));
  EXPECT_FALSE(looks_like_dlio_summary(R"({"kind": "storage-probe"})"));
}

// 911.2 GiB in 13 s; the mean of the rates is higher, because fast saves count more in it.
TEST(DlioSummary, checkpoint_rate_is_size_over_mean_time) {
  const auto c = calibrate_from_dlio(
      summary(R"("checkpoint_size_GB": 911.2, "save_checkpoint_duration_mean_seconds": 13.0,
                 "save_checkpoint_duration_stdev_seconds": 0.1,
                 "save_checkpoint_io_mean_GB_per_second": 75.0,
                 "load_checkpoint_io_mean_GB_per_second": 83.7)"),
      "summary.json", "hot");
  ASSERT_TRUE(c) << to_text(c.error());
  EXPECT_NEAR(c->tier.write->base(), 911.2 * 1073741824 / 13, 1);
  EXPECT_NEAR(c->tier.read->base(), 83.7 * 1073741824, 1);
  EXPECT_DOUBLE_EQ(c->tier.error, 0.05);
}

// The output can be read again with `plan --calibration`.
TEST(DlioSummary, a_summary_is_a_calibration) {
  const auto c = calibrate_from_dlio(summary(kStarved), "summary.json", "hot");
  ASSERT_TRUE(c);
  const auto table = CsvTable::parse(tier_calibration_csv(c->tier), "cal.csv");
  ASSERT_TRUE(table);
  const auto read = read_tier_calibration(*table);
  ASSERT_TRUE(read);
  EXPECT_NEAR(read->front().read->base() / c->tier.read->base(), 1, 1e-3);
}

TEST(DlioSummary, a_tier_that_was_not_the_limit_is_refused) {
  const std::string busy = R"("train_au_mean_percentage": 97.0,
                              "train_io_mean_MB_per_second": 20000.0)";
  const auto refused = calibrate_from_dlio(summary(busy), "s.json", "hot");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()[0].code, "calibrate.dlio");
  EXPECT_NE(refused.error()[0].why.find("busy 97 %"), std::string::npos);
  const auto cached =
      calibrate_from_dlio(summary(kStarved, R"("potential_caching": [0, 1], )"), "s.json", "hot");
  ASSERT_FALSE(cached);
  EXPECT_NE(cached.error()[0].why.find("memory"), std::string::npos);
  EXPECT_TRUE(calibrate_from_dlio(
      summary(kStarved, R"("potential_caching": [1, 1], "epochs": 1, )"), "s.json", "hot"));
}

TEST(DlioSummary, other_files_are_refused) {
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"metric": 3, "num_accelerators": 1})",
        R"({"metric": {}, "num_accelerators": 1})", R"({"metric": {"a": NaN}})"}) {
    const auto refused = calibrate_from_dlio(text, "s.json", "hot");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error()[0].code, "calibrate.dlio") << text;
  }
  EXPECT_FALSE(calibrate_from_dlio(std::string(100'000, '['), "s.json", "hot"));
}

TEST(DlioSummary, a_summary_gives_the_error_of_its_rates) {
  const auto c = calibrate_from_dlio(
      dlio(std::string(kReads) +
           R"(, "train_io_stdev_MB_per_second": 1000.0, "checkpoint_size_GB": 100.0,
              "save_checkpoint_duration_mean_seconds": 8.0,
              "save_checkpoint_duration_stdev_seconds": 1.0,
              "load_checkpoint_io_mean_GB_per_second": 50.0)"),
      "s.json", "hot");
  ASSERT_TRUE(c) << to_text(c.error());
  EXPECT_NEAR(c->tier.write->base(), 100 * 1073741824.0 / 8, 1);
  EXPECT_NEAR(c->tier.error, 1.28 / 8, 1e-12);
  EXPECT_DOUBLE_EQ(c->tier.read->base(), 20000.0 * 1048576);
  EXPECT_EQ(c->tier.source, "orrery calibrate: DLIO, 16 accelerators");
  const auto loads = calibrate_from_dlio(dlio(R"("load_checkpoint_io_mean_GB_per_second": 50.0,
              "load_checkpoint_io_stdev_GB_per_second": 10.0)",
                                              R"("num_hosts": 3, )"),
                                         "s.json", "hot");
  ASSERT_TRUE(loads);
  EXPECT_NEAR(loads->tier.error, 0.256, 1e-12);
  EXPECT_NEAR(loads->tier.read->base(), 50 * 1073741824.0, 1);
  EXPECT_FALSE(loads->tier.write);
  EXPECT_THAT(loads->tier.source, HasSubstr("16 accelerators of 3 hosts"));
}

}  // namespace
}  // namespace orrery::score
