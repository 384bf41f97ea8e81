// Fits parameters of a device to measured kernels; `orrery calibrate` does this with a probe's
// file.
//
//   minimise over p   mean of h(ln(predicted(p) / measured)),   h(e) = |e|, flatter beyond 0.3
// by the simplex method of Nelder and Mead (1965), restarted from its best point. A third of the
// samples, drawn from a fixed random stream, is held out and gives the stated error. The flatter
// part of h keeps a handful of odd kernels from distorting the fit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/workload/operation.h"
#include "layers/compute/calibration.h"

namespace orrery::compute {

// Kernels that were measured together, such as an 8-bit product and the pass that quantises its
// input.
struct KernelSample {
  std::vector<workload::Operation> kernels;
  Seconds measured;
};

struct FitParameter {
  std::string dtype;
  std::string name;
  double start = 0;
  double step = 0;
  double low = 0;
  double high = 0;
};

struct FitResult {
  std::vector<CalibrationValue> values;
  int fitted_on = 0;
  int held_out = 0;
  double median_error = 0;  // median of |predicted / measured - 1| over the samples held out
  double p90_error = 0;
};

// `base` provides the parameters that are not fitted, and the device's relative.
FitResult fit_kernels(const catalog::Accelerator& accelerator, const Calibration& base,
                      const DeviceOptions& options, const std::vector<FitParameter>& parameters,
                      std::span<const KernelSample> samples);

// Lists the parameters worth fitting for products of one format, and for passes over memory.
std::vector<FitParameter> gemm_parameters(catalog::Dtype dtype);
std::vector<FitParameter> attention_parameters(AttentionKernel kernel);
std::vector<FitParameter> pass_parameters();

// Returns `base` with `values` added; they replace values of the same accelerator, library, dtype
// and name.
Calibration with_values(Calibration base, const std::vector<CalibrationValue>& values);

}  // namespace orrery::compute
