// Fits a device's kernel parameters to a probe's file: what `orrery calibrate` does.
//
// Columns as tools/probe writes them: gpu, op (gemm, attention, pass), dtype, pass, m, n, k, batch,
// q_heads, kv_heads, head_dim, q_len, kv_len, bytes, seconds, sustained, watts. Short rows fix the
// kernels; sustained rows check the clock that the power model gives. Rows with an op or a format
// that the device's model lacks are counted and left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "layers/compute/fit.h"
#include "model/machine/models.h"

namespace orrery::score {

struct CalibrationPart {
  std::string name;  // "bf16 products", "passes", "decode attention"
  compute::FitResult fit;
  double median_before = 0;  // error of the shipped parameters on the same rows
};

struct CalibrationReport {
  std::string accelerator;
  std::string gpu;  // as the driver names it
  std::vector<CalibrationPart> parts;
  int rows = 0;
  int used = 0;
  // Sustained rows under the power limit, with the new parameters: errors of time and power.
  int sustained = 0;
  double sustained_time_error = 0;  // median
  double sustained_watts_error = 0;
};

Result<CalibrationReport> calibrate(const CsvTable& probe, const catalog::Accelerator& accelerator,
                                    const compute::Calibration& shipped);

// Applies what `orrery calibrate` wrote to the models: parameters of a device's kernels or rates of
// storage tiers, as its columns say. `file` is for messages.
Result<void> lay_calibration_over(std::string_view text, const std::string& file,
                                  machine::Models& models);

// Returns the report in the format of data/calibration/*.csv.
std::string calibration_csv(const CalibrationReport& report);
std::string calibration_text(const CalibrationReport& report);

}  // namespace orrery::score
