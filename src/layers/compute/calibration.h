// The fitted parameters of devices, and how a device without a fit gets its parameters.
//
// data/calibration/*.csv hold one parameter per row: accelerator, dtype, parameter, value, and how
// it was fitted (rows used, error on rows held out). A device named in gemm_relatives.csv borrows
// from its relative: efficiencies (fractions of its own peak and bandwidth) carry over unchanged,
// while times and energies are not scaled. Its interval is wider by the table's `error`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/knowledge.h"
#include "layers/compute/kernel.h"

namespace orrery::compute {

struct CalibrationValue {
  std::string accelerator;
  std::string library;  // empty: the vendor's; or "vllm", "flash2"
  std::string dtype;    // empty if the parameter has none
  std::string parameter;
  double value = 0;
};

// What is known about a device besides its datasheet, and whose measurements it borrows.
struct Relative {
  std::string accelerator;
  std::string measured;  // the device whose fit it uses; its own id if it has a fit
  double units = 1;
  double efficiency = 1;         // multiplies the relative's compute efficiency
  double memory_efficiency = 1;  // multiplies the relative's memory efficiency
  bool same_silicon = true;      // energies carry over too; otherwise only their share of the limit
  double error = 0;              // added to the relative's, in quadrature
};

struct Calibration {
  std::vector<CalibrationValue> values;  // sorted by name; add with set()
  std::vector<Relative> relatives;

  // Adds the value, or replaces the one with the same names.
  void set(CalibrationValue value);
  const CalibrationValue* find(std::string_view accelerator, std::string_view library,
                               std::string_view dtype, std::string_view parameter) const;
  const Relative* relative(std::string_view accelerator) const;
};

Result<Calibration> read_calibration(const catalog::Knowledge& knowledge);

// Which library's kernels run. `products` "vllm": that engine's 8-bit GEMMs, which choose tiles by
// the number of rows. `attention` "flash2": FlashAttention 2, which older frameworks use on newer
// devices; "flash2-packed": the same for requests of different lengths packed into one row.
// "pytorch" (both): what tools/probe measured on one H200. If a library has no rows for a device,
// the vendor's are used.
struct DeviceOptions {
  std::string products;
  std::string attention;
};

DeviceModel device_model(const catalog::Accelerator& accelerator, const Calibration& calibration,
                         const DeviceOptions& options = {});

}  // namespace orrery::compute
