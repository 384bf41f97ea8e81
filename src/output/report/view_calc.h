// The calculators for a page: their parameters as a form needs them, and an answer with a series
// over a range of one parameter for a chart.
//
// A sweep asks the same question once per point. A point without an answer (seven accelerators
// cannot be divided into two) is null in every series.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "study/calc/calculators.h"

namespace orrery::report {

struct CalcSweep {
  std::string parameter;
  double from = 0;  // in the parameter's unit
  double to = 0;
  int points = 0;
  bool log = false;
};
// Most points of a sweep; a chart is a few hundred pixels wide.
inline constexpr int kMostSweepPoints = 200;

std::string calculators_json();

// Fails with "calc.unknown", "calc.sweep" or the faults of calculate().
Result<std::string> calculation_view_json(std::string_view calculator, const calc::CalcTexts& given,
                                          const std::optional<CalcSweep>& sweep,
                                          const machine::Models& models);

}  // namespace orrery::report
