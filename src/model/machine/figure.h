// A figure of the review: a named number with its unit, interval, origin and the arithmetic behind
// it.
//
// Values are in base units (seconds, bytes, watts, dollars); the unit says how a person and a JSON
// key name them. `--explain` and the console's "why?" print formula and inputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/estimate.h"

namespace orrery::machine {

enum class Unit {
  ratio,   // shown as a percentage
  factor,  // shown as 1.25x
  count,
  seconds,
  bytes,
  bytes_per_s,
  flops_per_s,
  watts,
  joules,
  usd,
  usd_per_year,
  usd_per_hour,
  usd_per_mtoken,  // dollars for a million tokens
  tokens_per_s,
  grams_co2,
  litres_per_min,
  joules_per_token,
  per_second
};

// "_s", "_bytes_per_s" ...: what a JSON key ends in; empty for counts.
std::string_view json_suffix(Unit unit);
// "5.81 s", "41.2 %", "1.02 TB".
std::string show(double value, Unit unit, int digits = 3);
// "5.2 s .. 6.4 s"; empty where the figure is exact.
std::string show_interval(const Estimate& e, Unit unit);

struct Input {
  std::string name;
  std::string value;      // as shown
  std::string reference;  // catalog row, line of the design, or rule
};

struct Figure {
  std::string id;  // "step_time"; unique within its section
  std::string label;
  Unit unit = Unit::count;
  Estimate estimate;
  std::string formula;  // with the numbers in it
  std::vector<Input> inputs;
};

}  // namespace orrery::machine
