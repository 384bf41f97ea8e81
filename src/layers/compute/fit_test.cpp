#include "layers/compute/fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/catalog/shipped_fixture.h"

namespace orrery::compute {
namespace {

const CalibrationValue* value_of(const FitResult& r, std::string_view name) {
  for (const CalibrationValue& v : r.values) {
    if (v.parameter == name) return &v;
  }
  return nullptr;
}

// Times made by the model itself with known parameters are found again.
TEST(Fit, FindsTheParametersThatMadeTheTimes) {
  const catalog::Catalog catalog = *catalog::load_embedded_catalog();
  const Calibration base = read_calibration(catalog::shipped()).value();
  const catalog::Accelerator h100 = *catalog.accelerator("h100-sxm");
  const Calibration known = with_values(base, {{.accelerator = "h100-sxm",
                                                .library = "",
                                                .dtype = "bf16",
                                                .parameter = "efficiency",
                                                .value = 0.7},
                                               {.accelerator = "h100-sxm",
                                                .library = "",
                                                .dtype = "bf16",
                                                .parameter = "memory_efficiency",
                                                .value = 0.6}});
  const DeviceModel truth = device_model(h100, known);
  std::vector<KernelSample> samples;
  for (const double m : {1.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0}) {
    for (const double n : {512.0, 2048.0, 8192.0, 16384.0}) {
      for (const double k : {512.0, 1024.0, 4096.0, 16384.0}) {
        const workload::Gemm g{.m = m, .n = n, .k = k};
        samples.push_back({.kernels = {g}, .measured = kernel_time(truth, g)});
      }
    }
  }
  const FitResult r = fit_kernels(h100, base, {}, gemm_parameters(catalog::Dtype::bf16), samples);
  EXPECT_EQ(r.fitted_on + r.held_out, static_cast<int>(samples.size()));
  EXPECT_LT(r.median_error, 0.01);
  EXPECT_NEAR(value_of(r, "efficiency")->value, 0.7, 0.03);
  EXPECT_NEAR(value_of(r, "memory_efficiency")->value, 0.6, 0.03);
}

TEST(Fit, ABadRowIsRefused) {
  std::vector<catalog::EmbeddedFile> files;
  for (catalog::EmbeddedFile file : catalog::embedded_files()) {
    if (file.path.starts_with("calibration/")) {
      file.text = file.path.ends_with("relatives.csv")
                      ? "accelerator,measured,units\nx,,0\n"
                      : "accelerator,library,dtype,parameter,value\nh100-sxm,,bf16,tail,much\n";
    }
    files.push_back(file);
  }
  const auto loaded = read_calibration(load_knowledge(files).value());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().size(), 5u);  // one a file
  EXPECT_EQ(loaded.error()[0].code, "calibration.row");
}

}  // namespace
}  // namespace orrery::compute
