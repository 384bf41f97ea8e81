// Fits parameters of a device to measured kernels: what `orrery calibrate` does with a probe's
// file.
//
//   minimise over p   mean of h(ln(predicted(p) / measured)),   h(e) = |e|, slower beyond 0.3
// by the simplex method of Nelder and Mead (1965), restarted from its best point. A third of the
// samples, drawn by a fixed stream, is held out and gives the stated error. The slower
// growth of h keeps a handful of odd kernels from bending the rest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/workload/operation.h"
#include "layers/compute/calibration.h"

namespace orrery::compute {

// Kernels measured together: an 8-bit product with the pass that quantises its input.
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
  double median_error = 0;  // of the samples held out, as |predicted / measured - 1|
  double p90_error = 0;
};

// `base` gives the parameters that are not fitted, and the device's relative.
FitResult fit_kernels(const catalog::Accelerator& accelerator, const Calibration& base,
                      const DeviceOptions& options, const std::vector<FitParameter>& parameters,
                      std::span<const KernelSample> samples);

// The parameters worth fitting for products of one format, and for passes over memory.
std::vector<FitParameter> gemm_parameters(catalog::Dtype dtype);
std::vector<FitParameter> attention_parameters(AttentionKernel kernel);
std::vector<FitParameter> pass_parameters();

// `values` over those that `base` has of the same accelerator, library, dtype and name.
Calibration with_values(Calibration base, const std::vector<CalibrationValue>& values);

}  // namespace orrery::compute
