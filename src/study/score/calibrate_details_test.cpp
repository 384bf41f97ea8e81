// Which rows of a probe are used, what sustained ones check, and the files that fits of kernels and
// of training parameters write.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "layers/compute/power.h"
#include "study/score/calibrate.h"
#include "study/score/rows_fixture.h"
#include "study/score/storage_score.h"
#include "study/score/training_refit.h"
#include "study/score/training_score.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

const catalog::Accelerator& h200() { return *machine::known().catalog().accelerator("h200-sxm"); }
compute::DeviceModel shipped_device() { return device_model(h200(), machine::known().kernels); }

RowFields probed(const RowFields& more) {
  return with_fields({{"gpu", "G"},
                      {"op", "pass"},
                      {"dtype", ""},
                      {"pass", ""},
                      {"m", ""},
                      {"n", ""},
                      {"k", ""},
                      {"batch", ""},
                      {"q_heads", ""},
                      {"kv_heads", ""},
                      {"head_dim", ""},
                      {"q_len", ""},
                      {"kv_len", ""},
                      {"bytes", ""},
                      {"seconds", "0.001"},
                      {"sustained", "0"},
                      {"watts", ""}},
                     more);
}

// A read and a write of so many bytes, as long as the device's own parameters say, by a factor.
RowFields pass_row(double bytes, double factor, const RowFields& more = {}) {
  const workload::MemoryPass op{.read = Bytes(bytes), .written = Bytes(bytes)};
  const double seconds = kernel_time(shipped_device(), op).base();
  return probed(with_fields(
      {{"bytes", fmt::format("{}", bytes)}, {"seconds", fmt::format("{}", factor * seconds)}},
      more));
}

// Four passes, two of them a quarter slower than planned; three sustained ones; products and
// attention, and what says too little of either.
std::vector<RowFields> probe_rows() {
  std::vector<RowFields> rows = {pass_row(1e7, 1), pass_row(4e7, 1.25), pass_row(1.6e8, 1),
                                 pass_row(6.4e8, 1.25)};
  const compute::DeviceModel device = shipped_device();
  const workload::MemoryPass op{.read = Bytes(4e9), .written = Bytes(4e9)};
  const compute::Throttled t = throttle(device, kernel_cost(device, op));
  for (const double factor : {1.0, 2.0, 4.0}) {
    rows.push_back(
        pass_row(4e9, 1,
                 {{"sustained", "1"},
                  {"seconds", fmt::format("{}", factor * t.time.base())},
                  {"watts", factor == 4 ? std::string() : fmt::format("{}", 2 * t.power.base())}}));
  }
  const RowFields gemm = {
      {"op", "gemm"}, {"dtype", "bf16"}, {"m", "512"}, {"n", "512"}, {"k", "512"}};
  const RowFields attention = {{"op", "attention"}, {"batch", "1"},      {"q_heads", "32"},
                               {"kv_heads", "8"},   {"head_dim", "128"}, {"q_len", "64"},
                               {"kv_len", "64"}};
  for (const RowFields& used : {RowFields{}, RowFields{{"pass", "forward"}},
                                RowFields{{"pass", "dgrad"}}, RowFields{{"pass", "wgrad"}}}) {
    rows.push_back(probed(with_fields(gemm, used)));
  }
  for (const RowFields& used :
       {RowFields{}, RowFields{{"pass", "backward"}}, RowFields{{"q_len", "1"}}}) {
    rows.push_back(probed(with_fields(attention, used)));
  }
  for (const auto& [column, value] : {std::pair{"m", ""},
                                      {"n", ""},
                                      {"k", ""},
                                      {"dtype", ""},
                                      {"seconds", ""},
                                      {"seconds", "0"},
                                      {"pass", "sideways"},
                                      {"op", "sort"}}) {
    rows.push_back(probed(with_fields(gemm, {{column, value}})));
  }
  for (const auto& [column, value] :
       {std::pair{"kv_len", "63"}, {"batch", "0"}, {"kv_heads", "0"}, {"q_len", "0"}}) {
    rows.push_back(probed(with_fields(attention, {{column, value}})));
  }
  rows.push_back(probed({{"op", "pass"}}));  // of no bytes
  return rows;
}

// A fit takes seconds under the sanitizers: it is made once, for the one test that looks at it.
const CalibrationReport& reported() {
  static const CalibrationReport kReport =
      calibrate(table_of(probe_rows()), h200(), machine::known().kernels).value();
  return kReport;
}

void rows_are_used_where_they_say_all_of_their_kernel() {
  EXPECT_EQ(reported().rows, 4 + 3 + 4 + 3 + 8 + 4 + 1);
  EXPECT_EQ(reported().used, 4 + 3 + 4 + 3);
  EXPECT_EQ(reported().accelerator, "h200-sxm");
  EXPECT_EQ(reported().gpu, "G");
  ASSERT_EQ(reported().parts.size(), 1U) << "too few rows of the others";
  EXPECT_EQ(reported().parts[0].name, "passes");
}

// A quarter longer than planned is missed by a fifth; the middle of four is the upper one.
void the_shipped_parameters_miss_what_is_slower() {
  EXPECT_NEAR(reported().parts[0].median_before, 0.2, 1e-6);
}

void the_file_has_every_value_of_the_fit() {
  const CalibrationReport& r = reported();
  const CsvTable file = CsvTable::parse(calibration_csv(r), "c.csv").value();
  ASSERT_EQ(file.rows().size(), r.parts[0].fit.values.size());
  for (std::size_t i = 0; i < file.rows().size(); ++i) {
    const CsvRow& row = file.rows()[i];
    const compute::CalibrationValue& v = r.parts[0].fit.values[i];
    EXPECT_EQ(file.text(row, "accelerator"), v.accelerator);
    EXPECT_EQ(file.text(row, "parameter"), v.parameter);
    EXPECT_NEAR(*file.number(row, "value") / v.value, 1, 1e-3);
    EXPECT_EQ(file.text(row, "fit"), "orrery calibrate: passes of one G");
    EXPECT_EQ(file.number(row, "rows"), r.parts[0].fit.fitted_on);
    EXPECT_NEAR(*file.number(row, "held_out_median"), r.parts[0].fit.median_error, 6e-4);
    EXPECT_NEAR(*file.number(row, "held_out_p90"), r.parts[0].fit.p90_error, 6e-4);
  }
}

// The middle one of the sustained rows takes twice the time and all draw twice the power: they are
// missed by half, less what the fit moves.
void sustained_rows_check_the_clock_and_the_power() {
  EXPECT_EQ(reported().sustained, 3);
  EXPECT_NEAR(reported().sustained_time_error, 0.5, 0.15);
  EXPECT_NEAR(reported().sustained_watts_error, 0.5, 0.15);
  EXPECT_THAT(calibration_text(reported()), HasSubstr("3 rows under the power limit"));
  CalibrationReport short_ones = reported();
  short_ones.sustained = 0;
  EXPECT_THAT(calibration_text(short_ones), testing::Not(HasSubstr("power limit")));
}

TEST(CalibrateDetails, what_a_fit_tells_of_itself) {
  rows_are_used_where_they_say_all_of_their_kernel();
  the_shipped_parameters_miss_what_is_slower();
  the_file_has_every_value_of_the_fit();
  sustained_rows_check_the_clock_and_the_power();
}

RowFields step_row(const std::string& id, const RowFields& more) {
  return training_fields(with_fields({{"id", id}, {"source", "x"}}, more));
}

// A reader's own rows move what they are of, and add it to what was seen.
TEST(CalibrateDetails, files_of_a_reader_s_rows_keep_what_they_do_not_touch) {
  const auto files =
      refitted_files(table_of({step_row("a", {})}), known_inputs(), "mine.csv", FitFrom::shipped);
  ASSERT_TRUE(files) << to_text(files.error());
  ASSERT_EQ(files->size(), 4U);
  EXPECT_EQ((*files)[0].path, "calibration/training_frameworks.csv");
  EXPECT_EQ((*files)[3].path, "calibration/training_seen.csv");
  for (std::size_t i = 0; i < 3; ++i) {
    const CsvTable after = CsvTable::parse((*files)[i].text, "after.csv").value();
    const CsvTable before = machine::known().knowledge->table((*files)[i].path).value();
    ASSERT_EQ(after.rows().size(), before.rows().size());
    for (std::size_t k = 0; k < after.rows().size(); ++k) {
      const CsvRow& row = after.rows()[k];
      const bool fitted = after.text(row, "origin") == "fitted";
      const bool own = i == 0   ? after.text(row, "framework") == "nemo"
                       : i == 1 ? after.text(row, "accelerator") == "h100-sxm"
                                : after.text(row, "framework") == "nemo" &&
                                      after.text(row, "release") == "25.04";
      if (fitted && own) {
        EXPECT_EQ(after.text(row, "source"), "fit on its 1 rows of mine.csv") << k;
      } else if (after.text(row, "origin") != "carried") {
        EXPECT_EQ(row.fields, before.rows()[k].fields) << k;
      }
    }
  }
  const CsvTable seen = CsvTable::parse((*files)[3].text, "seen.csv").value();
  const CsvTable known = machine::known().knowledge->table("calibration/training_seen.csv").value();
  std::vector<std::string> lines, all;
  for (const CsvRow& row : known.rows()) {
    lines.push_back(std::string(known.text(row, "subject")) + " " +
                    std::string(known.text(row, "id")));
  }
  for (const CsvRow& row : seen.rows()) {
    all.push_back(std::string(seen.text(row, "subject")) + " " + std::string(seen.text(row, "id")));
    EXPECT_EQ(seen.text(row, "source"), "mine.csv");
  }
  for (const char* thing :
       {"model llama-3-8b", "framework nemo", "release nemo 25.04", "accelerator h100-sxm"}) {
    EXPECT_EQ(std::ranges::count(all, thing), 1) << thing;
  }
  for (const std::string& line : lines) EXPECT_EQ(std::ranges::count(all, line), 1) << line;
}

TEST(CalibrateDetails, a_prior_of_its_own_stands_apart_from_that_of_all) {
  const auto parameters = training_fit_parameters(*machine::known().knowledge);
  ASSERT_TRUE(parameters);
  const CsvTable priors =
      machine::known().knowledge->table("calibration/training_priors.csv").value();
  const auto prior = [&](const TrainingFitParameter& p, std::string_view of) -> const CsvRow* {
    for (const CsvRow& row : priors.rows()) {
      if (priors.text(row, "subject") == word_of(p.subject) && priors.text(row, "of") == of &&
          priors.text(row, "parameter") == (p.name.empty() ? "factor" : p.name)) {
        return &row;
      }
    }
    return nullptr;
  };
  int apart = 0;
  for (const TrainingFitParameter& p : *parameters) {
    const CsvRow* all = prior(p, "");
    const CsvRow* own = prior(p, p.id);
    ASSERT_NE(all, nullptr) << p.id << ' ' << p.name;
    const CsvRow& row = own != nullptr ? *own : *all;
    EXPECT_EQ(p.prior, priors.number(row, "prior")) << p.id << ' ' << p.name;
    EXPECT_EQ(p.width, priors.number(row, "width")) << p.id << ' ' << p.name;
    EXPECT_EQ(p.least, priors.number(row, "least")) << p.id << ' ' << p.name;
    EXPECT_EQ(p.most, priors.number(row, "most")) << p.id << ' ' << p.name;
    EXPECT_DOUBLE_EQ(p.apart, p.prior / *priors.number(*all, "prior")) << p.id << ' ' << p.name;
    apart += own != nullptr ? 1 : 0;
  }
  EXPECT_GT(apart, 0) << "something is known of one alone";
}

// Rows 10 % off a framework's prediction: its width is that, and at least 0.03.
TEST(CalibrateDetails, a_framework_s_width_is_what_four_fifths_of_its_rows_stay_within) {
  std::vector<RowFields> rows;
  for (const char* rate : {"8000", "9000", "10000", "11000", "12000", "13000"}) {
    rows.push_back(step_row(rate, {{"tokens_per_s_per_gpu", rate}}));
  }
  const CsvTable table = table_of(rows);
  const auto parameters = training_fit_parameters(*machine::known().knowledge);
  const machine::Models fitted =
      refit_training(machine::known(), rows_to_fit(table, known_inputs()), *parameters);
  const double rate = predict_training(fitted, rows_to_fit(table, known_inputs())[0].query)
                          ->tokens_per_s_per_gpu.value;
  std::vector<double> misses;
  for (const double measured : {8e3, 9e3, 10e3, 11e3, 12e3, 13e3}) {
    misses.push_back(std::abs(std::log(rate / measured)));
  }
  std::ranges::sort(misses);
  const auto files = refitted_files(table, known_inputs(), "t.csv");
  ASSERT_TRUE(files);
  const CsvTable file = CsvTable::parse((*files)[0].text, "f.csv").value();
  int widths = 0;
  for (const CsvRow& row : file.rows()) {
    if (file.text(row, "origin") != "width" || file.text(row, "framework") != "nemo") continue;
    EXPECT_NEAR(*file.number(row, "value"), misses[4], 6e-4);
    ++widths;
  }
  EXPECT_EQ(widths, 1);
}

TEST(CalibrateDetails, the_page_of_training_scores_names_its_lines) {
  const CsvTable table = table_of({step_row("kor22_a", {}), step_row("simumax_b", {}),
                                   step_row("h200_c", {}), step_row("other", {})});
  const Score s = score_training(table, known_inputs()).value();
  const double ape = 100 * s.series[0].rows[0].ape();
  const std::string errors = fmt::format("{:.1f} % | {:.1f} % | {:.1f} % |\n", ape, ape, ape);
  EXPECT_THAT(s.preface, HasSubstr("| Orrery | all that count | 4 | " + errors));
  EXPECT_THAT(s.preface, HasSubstr("| Orrery | Korthikanti 2022, 8 A100 rows | 1 | " + errors));
  EXPECT_THAT(s.preface, HasSubstr("| Orrery, time | SimuMax 1.2, 8 x B200 | 1 | " + errors));
  EXPECT_THAT(s.preface, HasSubstr("| Orrery, peak memory | SimuMax 1.2, 8 x B200 | 0 |"));
  EXPECT_THAT(s.preface, HasSubstr("| Orrery | one H200 | 1 | " + errors));
  EXPECT_THAT(s.preface, HasSubstr("| one MFU a chip and precision (spreadsheet) | dense rows | 4"
                                   " | 0.0 % | 0.0 % | 0.0 % |\n"));
  EXPECT_THAT(s.series[0].rows[0].note, HasSubstr("; "));
  EXPECT_THAT(s.series[0].rows[0].note, testing::Not(testing::StartsWith(";")));
}

TEST(CalibrateDetails, a_checkpoint_s_size_is_exact_to_half_a_thousandth) {
  const Score s =
      score_storage(CsvTable::parse("system,config,model,checkpoint_GiB,write_s,clients,"
                                    "write_GiB_s,read_s\n"
                                    "own,12 data nodes,llama3-8b,105,,,,\n",
                                    "c.csv")
                        .value(),
                    known_inputs())
          .value();
  const Estimate& e = s.series[1].rows.at(0).predicted;
  EXPECT_NEAR(e.high / e.value, 1.0005, 1e-9);
  EXPECT_NEAR(e.low / e.value, 0.9995, 1e-9);
  EXPECT_EQ(s.series[1].rows[0].id, "own/llama3-8b/12 data nodes");
}

}  // namespace
}  // namespace orrery::score
