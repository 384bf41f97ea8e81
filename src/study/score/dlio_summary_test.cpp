#include "study/score/dlio_summary.h"

#include <gtest/gtest.h>

#include "study/score/storage_probe.h"

namespace orrery::score {
namespace {

// As DLIO writes it, less what it says of the hosts.
std::string summary(const std::string& metric, const std::string& more = "") {
  return R"({"start": "2026-11-16T10:00:00", "num_accelerators": 16, "num_hosts": 2, )" + more +
         R"("num_files_train": 168, "num_samples_per_file": 1, "metric": {)" + metric + "}}";
}

constexpr const char* kStarved =
    R"("train_au_percentage": [62.1, 61.9], "train_au_mean_percentage": 62.0,
       "train_au_meet_expectation": "fail", "train_io_mean_MB_per_second": 20000.0,
       "train_io_stdev_MB_per_second": 2000.0)";

TEST(dlio_summary, of_a_starved_run_gives_the_read_rate) {
  const auto c = calibrate_from_dlio(summary(kStarved), "summary.json", "hot");
  ASSERT_TRUE(c) << to_text(c.error());
  EXPECT_DOUBLE_EQ(c->tier.read->base(), 20000.0 * 1024 * 1024) << "its MB are MiB";
  EXPECT_FALSE(c->tier.write);
  EXPECT_NEAR(c->tier.error, 0.128, 1e-9);
  EXPECT_EQ(c->tier.tier, "hot");
  EXPECT_TRUE(looks_like_dlio_summary(summary(kStarved)));
  EXPECT_FALSE(looks_like_dlio_summary(R"({"kind": "storage-probe"})"));
}

// 911.2 GiB in 13 s; the mean of the rates is higher, for fast saves count more in it.
TEST(dlio_summary, of_checkpoints_is_size_over_mean_time) {
  const auto c = calibrate_from_dlio(
      summary(R"("checkpoint_size_GB": 911.2, "save_checkpoint_duration_mean_seconds": 13.0,
                 "save_checkpoint_duration_stdev_seconds": 0.1,
                 "save_checkpoint_io_mean_GB_per_second": 75.0,
                 "load_checkpoint_io_mean_GB_per_second": 83.7)"),
      "summary.json", "hot");
  ASSERT_TRUE(c) << to_text(c.error());
  EXPECT_NEAR(c->tier.write->base(), 911.2 * 1073741824 / 13, 1);
  EXPECT_NEAR(c->tier.read->base(), 83.7 * 1073741824, 1) << "no time is given: the mean of rates";
  EXPECT_DOUBLE_EQ(c->tier.error, 0.05);
}

// What goes out comes in again through `plan --calibration`.
TEST(dlio_summary, is_a_calibration_like_a_probe_s) {
  const auto c = calibrate_from_dlio(summary(kStarved), "summary.json", "hot");
  ASSERT_TRUE(c);
  const auto table = CsvTable::parse(tier_calibration_csv(c->tier), "cal.csv");
  ASSERT_TRUE(table);
  const auto read = read_tier_calibration(*table);
  ASSERT_TRUE(read);
  EXPECT_NEAR(read->front().read->base() / c->tier.read->base(), 1, 1e-3);
}

TEST(dlio_summary, of_a_tier_that_was_not_the_limit_is_refused_with_the_reason) {
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
      summary(kStarved, R"("potential_caching": [1, 1], "epochs": 1, )"), "s.json", "hot"))
      << "what is read once is read from the tier";
}

TEST(dlio_summary, that_is_none_is_refused) {
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"metric": 3, "num_accelerators": 1})",
        R"({"metric": {}, "num_accelerators": 1})", R"({"metric": {"a": NaN}})"}) {
    const auto refused = calibrate_from_dlio(text, "s.json", "hot");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error()[0].code, "calibrate.dlio") << text;
  }
  EXPECT_FALSE(calibrate_from_dlio(std::string(100'000, '['), "s.json", "hot"));
}

}  // namespace
}  // namespace orrery::score
