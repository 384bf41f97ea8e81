#include "study/score/calibrate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"
#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

Result<CalibrationReport> report_of(const CsvTable& table) {
  return calibrate(table, *machine::known().catalog().accelerator("h200-sxm"),
                   machine::known().kernels);
}

CsvTable probe_table(const std::function<bool(const CsvTable&, const CsvRow&)>& keeps) {
  static const CsvTable all = catalog::embedded_table("validation/h200_probe.csv").value();
  std::string text;
  for (const std::string& c : all.columns()) text += (text.empty() ? "" : ",") + c;
  text += '\n';
  for (const CsvRow& row : all.rows()) {
    if (!keeps(all, row)) continue;
    std::string line;
    for (const std::string& f : row.fields)
      line += (&f == &row.fields.front() ? "" : ",") + csv_field(f);
    text += line + '\n';
  }
  return *CsvTable::parse(text, "probe.csv");
}

Result<CalibrationReport> calibrated(std::string_view text) {
  return calibrate(*CsvTable::parse(text, "probe.csv"),
                   *machine::known().catalog().accelerator("h200-sxm"), machine::known().kernels);
}

// What tools/probe measured on one H200. The shipped bf16 parameters come from other machines, so
// their error here is a check of them; the fit must do better.
TEST(Calibrate, one_h200_is_predicted) {
  const auto report = calibrated(catalog::embedded_text("validation/h200_probe.csv").value());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->gpu, "NVIDIA H200");
  ASSERT_EQ(report->parts.size(), 6u);
  for (const CalibrationPart& part : report->parts) {
    SCOPED_TRACE(part.name);
    EXPECT_LT(part.fit.median_error, 0.07);
    EXPECT_LT(part.median_before, 0.20);
  }
  EXPECT_LT(report->parts[1].median_before, 0.055);  // bf16 products
  EXPECT_GE(report->sustained, 30);
  EXPECT_LT(report->sustained_time_error, 0.04);
  EXPECT_LT(report->sustained_watts_error, 0.04);
  const std::string csv = calibration_csv(*report);
  EXPECT_NE(csv.find("h200-sxm,,bf16,wgrad,"), std::string::npos);
  EXPECT_NE(calibration_text(*report).find("sustained"), std::string::npos);
  // The output is a calibration file: it can be loaded in place of the shipped one.
  std::vector<catalog::EmbeddedFile> files(catalog::embedded_files().begin(),
                                           catalog::embedded_files().end());
  for (catalog::EmbeddedFile& file : files) {
    if (file.path == "calibration/gemm.csv") file.text = csv;
  }
  const auto loaded = compute::read_calibration(load_knowledge(files).value());
  ASSERT_TRUE(loaded);
  EXPECT_NE(loaded->find("h200-sxm", "", "bf16", "efficiency"), nullptr);
}

TEST(Calibrate, a_file_without_rows_is_refused) {
  const auto report = calibrated("gpu,op,dtype,seconds\nNVIDIA H200,idle,,1\n");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().front().code, "calibrate.rows");
}

TEST(Calibrate, eleven_products_fit_no_parameters) {
  int left = 11;
  const auto few = report_of(probe_table([&left](const CsvTable& t, const CsvRow& r) {
    return t.text(r, "op") == "gemm" && t.number(r, "sustained") == 0 && left-- > 0;
  }));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().front().code, "calibrate.rows");
}

TEST(Calibrate, errors_are_reported_before_and_after) {
  CalibrationReport r{.accelerator = "a", .gpu = "G", .parts = {}};
  r.rows = 20, r.used = 15, r.sustained = 3;
  r.sustained_time_error = 0.02, r.sustained_watts_error = 0.03;
  r.parts.push_back({.name = "p", .fit = {}, .median_before = 0.25});
  r.parts[0].fit.fitted_on = 7, r.parts[0].fit.held_out = 4;
  r.parts[0].fit.median_error = 0.05, r.parts[0].fit.p90_error = 0.125;
  const std::string text = calibration_text(r);
  EXPECT_THAT(text, HasSubstr("15 of 20 rows used"));
  EXPECT_THAT(text, HasSubstr("median   5.0 %, p90  12.5 % (shipped parameters: median 25.0 %)"));
  EXPECT_THAT(text, HasSubstr("time 2.0 %, watts 3.0 %"));
}

}  // namespace
}  // namespace orrery::score
