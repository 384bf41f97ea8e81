// The fitted parameters of devices, and the rule that gives parameters to a device without any.
//
// data/calibration/*.csv hold one parameter a row: accelerator, dtype, parameter, value, and how it
// was fitted (rows used, error on rows held out). A device named in gemm_relatives.csv borrows from
// its relative: efficiencies (fractions of its own peak and bandwidth) carry over, times and
// energies of its own do not scale. Its interval is wider by the table's `error`.
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
  std::string dtype;    // empty where the parameter has none
  std::string parameter;
  double value = 0;
};

// What is known of a device beside its datasheet, and whose measurements it borrows.
struct Relative {
  std::string accelerator;
  std::string measured;  // the device whose fit it uses; its own id where it has one
  double units = 1;
  double efficiency = 1;         // times the relative's compute efficiency
  double memory_efficiency = 1;  // times the relative's memory efficiency
  bool same_silicon = true;      // energies carry over too; else only their share of the limit does
  double error = 0;              // added to the relative's, in quadrature
};

struct Calibration {
  std::vector<CalibrationValue> values;  // in the order of their names; add with set()
  std::vector<Relative> relatives;

  // In the place of the value of the same names, where there is one.
  void set(CalibrationValue value);
  const CalibrationValue* find(std::string_view accelerator, std::string_view library,
                               std::string_view dtype, std::string_view parameter) const;
  const Relative* relative(std::string_view accelerator) const;
};

Result<Calibration> read_calibration(const catalog::Knowledge& knowledge);

// Whose kernels run. `products` "vllm": the 8-bit GEMMs of that engine, which choose tiles by rows;
// `attention` "flash2": FlashAttention 2, which older frameworks use on newer devices;
// "flash2-packed": the same over requests of different lengths in one row. "pytorch" (both): what
// tools/probe measured on one H200. A library without rows for a device is the vendor's.
struct DeviceOptions {
  std::string products;
  std::string attention;
};

DeviceModel device_model(const catalog::Accelerator& accelerator, const Calibration& calibration,
                         const DeviceOptions& options = {});

}  // namespace orrery::compute
