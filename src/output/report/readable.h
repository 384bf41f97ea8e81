// Figures as people read them: three significant digits, and none below what matters.
//
// A value too small to matter is written as a bound ("under 1 s", "under 0.1 %"), because more
// digits would only look precise. Smallest values that are written out:
//
//   shares   0.1 %; probabilities have no limit, because a small one may still matter
//   times    1 s in the layers cluster, failure and facility, 1 us in all others
//   money    1 USD
//   counts   0.01
//
// Rates from a thousand to a million, and estimated counts, are rounded to three digits too:
// 810,000 tokens/s. Counts without an interval are exact: 1,016 GPUs. Zero is written as zero. An
// interval whose two ends read the same is left out. JSON and CSV have the exact values.
#pragma once

#include <string>

#include "model/figures/figure.h"
#include "model/figures/goals.h"
#include "model/figures/section.h"

namespace orrery::report {

// Returns a value: "5.81 s", "41.2 %", "under 0.1 %".
std::string readable(double value, figures::Unit unit);
std::string readable(const figures::Figure& figure);
// Returns an estimate, however small: three digits if it has an interval, exact otherwise.
std::string readable(const Estimate& e, figures::Unit unit);
// Returns a number without a unit, with three digits: "12,500".
std::string readable_number(double value);

// Returns true if readable() writes the value as a bound.
bool is_written_as_bound(double value, figures::Unit unit);

// Returns "5.2 s .. 6.4 s"; empty if the value is exact or both ends read the same.
std::string readable_interval(const Estimate& e, figures::Unit unit);
std::string readable_interval(const figures::Figure& figure);

// Returns true if a section tells readers nothing: all its figures are zero, or it has none, and it
// names no limit.
bool is_silent(const figures::Section& section);

}  // namespace orrery::report
