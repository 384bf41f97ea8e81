// Summaries of DLIO, calibrations of tiers and published storage rows at their edges, and what is
// said where a table of the shipped knowledge is missing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/catalog/embedded.h"
#include "study/score/collectives_fit.h"
#include "study/score/dlio_summary.h"
#include "study/score/log_standing.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_probe.h"
#include "study/score/storage_score.h"
#include "study/score/training_refit.h"

namespace orrery::score {
namespace {

std::string dlio_text(const std::string& metric, const std::string& more = "") {
  return "{\"num_accelerators\": 16, " + more + "\"metric\": {" + metric + "}}";
}

Result<DlioCalibration> dlio_of(const std::string& metric, const std::string& more = "") {
  return calibrate_from_dlio(dlio_text(metric, more), "s.json", "hot");
}

constexpr const char* kRead = "\"train_io_mean_MB_per_second\": 2000.0";

TEST(CalibrationEdges, a_busy_accelerator_was_not_held_up) {
  const auto at = [](const char* percent) {
    return dlio_of(std::string(kRead) + ", \"train_au_mean_percentage\": " + percent);
  };
  EXPECT_TRUE(at("89.99"));
  ASSERT_FALSE(at("90"));
  EXPECT_EQ(at("90").error()[0].what, "nothing in this summary says what the tier gives at most");
  EXPECT_EQ(at("90").error()[0].why,
            "read 2.1 GB/s: accelerators were busy 90 % of the time, so the tier gives at least "
            "that; more of them show what it gives at most");
  EXPECT_EQ(at("90").error()[0].fix,
            "DLIO and MLPerf Storage write summary.json into the folder of their results");
  EXPECT_EQ(dlio_of("\"x\": 1").error()[0].why, "it has neither reads nor checkpoints");
}

TEST(CalibrationEdges, what_is_read_twice_may_come_out_of_memory) {
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

// The widest of the spreads, 1.28 deviations each; loads say nothing where reads do.
TEST(CalibrationEdges, reads_and_saves_together) {
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
  EXPECT_EQ(dlio_of(kRead, "\"num_hosts\": 2, ")->tier.source,
            "orrery calibrate: DLIO, 16 accelerators of 2 hosts");
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

TEST(CalibrationEdges, a_summary_is_no_deeper_than_eight) {
  const auto deep = [](int levels) {
    return dlio_of(kRead, "\"a\": " + std::string(static_cast<std::size_t>(levels), '[') +
                              std::string(static_cast<std::size_t>(levels), ']') + ", ");
  };
  EXPECT_TRUE(deep(7));
  ASSERT_FALSE(deep(8));
  EXPECT_EQ(deep(8).error()[0].what, "this is too large or too deep for a summary");
  EXPECT_TRUE(looks_like_dlio_summary("  " + dlio_text(kRead)));
  EXPECT_FALSE(looks_like_dlio_summary("[" + dlio_text(kRead) + "]"));
  EXPECT_FALSE(looks_like_dlio_summary("{\"metric\": 1}"));
  EXPECT_FALSE(looks_like_dlio_summary("{\"num_accelerators\": 1}"));
}

RowFields tier_row(const RowFields& more) {
  return with_fields({{"tier", "hot"},
                      {"parameter", "read_bytes_per_s"},
                      {"value", "7"},
                      {"error", "0.2"},
                      {"fit", "a probe"}},
                     more);
}

TEST(CalibrationEdges, a_tier_is_told_by_rows_of_its_parameters) {
  machine::TierMeasurement m{.tier = "hot", .error = 0.2, .source = "a, probe"};
  m.read = BytesPerSecond(7e9);
  m.write = BytesPerSecond(5e9);
  m.creates = PerSecond(300);
  m.first_byte = Seconds(0.0025);
  m.stream_rate = BytesPerSecond(2e9);
  const std::string text = tier_calibration_csv(m);
  const auto read = read_tier_calibration(CsvTable::parse(text, "t.csv").value());
  ASSERT_TRUE(read) << text;
  ASSERT_EQ(read->size(), 1U);
  const machine::TierMeasurement& back = read->front();
  EXPECT_EQ(back.tier, "hot");
  EXPECT_EQ(back.read, m.read);
  EXPECT_EQ(back.write, m.write);
  EXPECT_EQ(back.creates, m.creates);
  EXPECT_EQ(back.first_byte, m.first_byte);
  EXPECT_EQ(back.stream_rate, m.stream_rate);
  EXPECT_EQ(back.error, 0.2);
  EXPECT_EQ(back.source, "a, probe");
}

TEST(CalibrationEdges, rows_of_a_tier_that_say_nothing) {
  const std::string parameter = [] {
    machine::TierMeasurement m{.tier = "hot"};
    m.read = BytesPerSecond(1);
    const CsvTable t = CsvTable::parse(tier_calibration_csv(m), "t.csv").value();
    return std::string(t.text(t.rows()[0], "parameter"));
  }();
  const auto read = [&](const RowFields& more) {
    return read_tier_calibration(
        table_of({tier_row(with_fields({{"parameter", parameter}}, more))}));
  };
  ASSERT_TRUE(read({}));
  EXPECT_EQ(read({})->front().read, BytesPerSecond(7));
  EXPECT_EQ(read({{"error", "-1"}})->front().error, 0);
  EXPECT_EQ(read({{"error", "3"}})->front().error, 0.9);
  EXPECT_EQ(read({{"error", ""}})->front().error, 0.1);
  for (const RowFields& bad : {RowFields{{"tier", ""}},
                               {{"value", "0"}},
                               {{"value", "-2"}},
                               {{"value", "x"}},
                               {{"parameter", "speed"}}}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused) << bad.begin()->first;
    ASSERT_EQ(refused.error().size(), 1U);
    const Diagnostic& d = refused.error()[0];
    EXPECT_EQ(d.code, "calibration.row");
    EXPECT_EQ(d.what, "a row names a tier, one of its parameters and a number above 0");
    EXPECT_EQ(d.fix, "`orrery calibrate PROBE.json --tier NAME` writes such a file");
    EXPECT_EQ(d.place.file, "rows.csv");
    EXPECT_EQ(d.place.line, 2);
    EXPECT_EQ(d.place.column, 1);
  }
}

// 3 x 400 records of 114,660 bytes in 0.224 s each at nine tenths, in MiB.
TEST(CalibrationEdges, a_published_rate_is_the_mark_s) {
  const Score score = score_storage(table_of({{{"submitter", "s"},
                                               {"system_path", "p"},
                                               {"model", "resnet50"},
                                               {"accelerator", "h100"},
                                               {"num_accelerators", "3"},
                                               {"MiB_per_s", "540"}},
                                              {{"submitter", "s"},
                                               {"system_path", "q"},
                                               {"model", "resnet50"},
                                               {"accelerator", "h100"},
                                               {"num_accelerators", ""}}}),
                                    known_inputs())
                          .value();
  ASSERT_EQ(score.series[0].rows.size(), 1U);
  const ScoredRow& r = score.series[0].rows[0];
  const double mark = 3 * 400 * 114660 / 0.224 / 1048576 * 0.9;
  EXPECT_EQ(r.id, "s/p");
  EXPECT_NEAR(r.predicted.value, 1.017 * mark, 1e-9 * mark);
  EXPECT_NEAR(r.predicted.low, 0.986 * mark, 1e-9 * mark);
  EXPECT_NEAR(r.predicted.high, 1.078 * mark, 1e-9 * mark);
  EXPECT_EQ(r.measured, 540);
  EXPECT_EQ(r.groups, (std::vector<std::string>{"workload=resnet50", "accelerator=h100"}));
  ASSERT_EQ(score.skipped.size(), 1U);
  EXPECT_EQ(score.skipped[0].reason, "no number of accelerators");
}

// The shipped models, but for one file of what they were read from.
machine::Models without_file(std::string_view path) {
  static std::vector<std::unique_ptr<std::vector<catalog::EmbeddedFile>>> kept;
  auto files = std::make_unique<std::vector<catalog::EmbeddedFile>>(
      catalog::embedded_files().begin(), catalog::embedded_files().end());
  std::erase_if(*files, [&](const catalog::EmbeddedFile& f) { return f.path == path; });
  EXPECT_EQ(files->size() + 1, catalog::embedded_files().size()) << path;
  machine::Models models = machine::known();
  auto knowledge = std::make_shared<catalog::Knowledge>(*models.knowledge);
  kept.push_back(std::move(files));
  knowledge->files = *kept.back();
  models.knowledge = knowledge;
  return models;
}

TEST(CalibrationEdges, a_table_that_is_missing_is_a_fault_with_its_name) {
  const CsvTable rows = table_of({{{"id", "a"}, {"system", "s"}, {"num_accelerators", "1"}}});
  const CsvTable saves = table_of({{{"system", "s"}, {"checkpoint_GiB", "1"}}});
  using Ask = std::function<Diagnostics(const ScoreInputs&)>;
  const auto faults = [](const auto& result) { return result ? Diagnostics() : result.error(); };
  const std::pair<const char*, Ask> asks[] = {
      {"calibration/mlperf_storage_workloads.csv",
       [&](const ScoreInputs& in) { return faults(score_storage(rows, in)); }},
      {"validation/checkpoint_truth.csv",
       [&](const ScoreInputs& in) { return faults(score_storage(saves, in)); }},
      {"calibration/collectives.csv",
       [&](const ScoreInputs& in) { return faults(score_collectives_held_out(rows, in)); }},
      {"calibration/collective_priors.csv",
       [&](const ScoreInputs& in) { return faults(score_collectives_held_out(rows, in)); }},
      {"calibration/collectives.csv",
       [&](const ScoreInputs& in) { return faults(collectives_markdown(rows, in)); }},
      {"calibration/collective_priors.csv",
       [&](const ScoreInputs& in) { return faults(fitted_collectives(rows, in)); }},
      {"calibration/training_priors.csv",
       [&](const ScoreInputs& in) {
         return faults(training_fit_parameters(*in.models.knowledge));
       }},
      {"calibration/training_releases.csv",
       [&](const ScoreInputs& in) {
         return faults(training_fit_parameters(*in.models.knowledge));
       }},
      {"calibration/training_frameworks.csv",
       [&](const ScoreInputs& in) { return faults(refitted_files(rows, in, "r.csv")); }}};
  for (const auto& [path, ask] : asks) {
    const machine::Models models = without_file(path);
    const Diagnostics told = ask({.models = models, .model = {}});
    ASSERT_FALSE(told.empty()) << path;
    EXPECT_NE(to_text(told).find(path), std::string::npos) << to_text(told);
    EXPECT_TRUE(ask(known_inputs()).empty()) << path;
  }
}

TEST(CalibrationEdges, domains_of_hosts) {
  catalog::Accelerator a{.id = "x"};
  const auto domain = [&a](int of_link, int per_host) {
    a.scaleup_domain = of_link;
    return domain_of_host(a, per_host);
  };
  EXPECT_EQ(domain(8, 16), 8);
  EXPECT_EQ(domain(8, 4), 4);
  EXPECT_EQ(domain(9, 4), 9);
  EXPECT_EQ(domain(72, 4), 72);
  LogLine line;
  line.measured.time_us = 2e6;
  line.expected.seconds = {.value = 1.5, .low = 2, .high = 2};
  EXPECT_FALSE(line.slow());
  EXPECT_FALSE(line.fast());
  line.expected.seconds = {.value = 1.5, .low = 2.1, .high = 1.9};
  EXPECT_TRUE(line.slow());
  EXPECT_TRUE(line.fast());
}

}  // namespace
}  // namespace orrery::score
