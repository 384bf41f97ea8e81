#include "study/score/calibrate.h"

#include <gtest/gtest.h>

#include <string>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

Result<CalibrationReport> calibrated(std::string_view text) {
  return calibrate(*CsvTable::parse(text, "probe.csv"),
                   *machine::known().catalog().accelerator("h200-sxm"), machine::known().kernels);
}

// What tools/probe measured on one H200. The shipped bf16 parameters come from other machines, so
// their error here is a check of them; the fit must do better.
TEST(Calibrate, OneH200) {
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
  // The output is a calibration file: it loads where the shipped one does.
  std::vector<catalog::EmbeddedFile> files(catalog::embedded_files().begin(),
                                           catalog::embedded_files().end());
  for (catalog::EmbeddedFile& file : files) {
    if (file.path == "calibration/gemm.csv") file.text = csv;
  }
  const auto loaded = compute::read_calibration(load_knowledge(files).value());
  ASSERT_TRUE(loaded);
  EXPECT_NE(loaded->find("h200-sxm", "", "bf16", "efficiency"), nullptr);
}

TEST(Calibrate, AFileWithoutRowsIsRefused) {
  const auto report = calibrated("gpu,op,dtype,seconds\nNVIDIA H200,idle,,1\n");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().front().code, "calibrate.rows");
}

}  // namespace
}  // namespace orrery::score
