// The units of figures, and how a person and a JSON key name them.
//
// Values are in base units: seconds, bytes, watts, dollars.
#pragma once

#include <string>
#include <string_view>

#include "core/base/estimate.h"

namespace orrery::figures {

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
  usd_per_mtoken,  // dollars per million tokens
  tokens_per_s,
  grams_co2,
  litres_per_min,
  joules_per_token,
  per_second
};

// The end of a JSON key: "_s", "_bytes_per_s" ...; empty for counts.
std::string_view json_suffix(Unit unit);
// "5.81 s", "41.2 %", "1.02 TB".
std::string show(double value, Unit unit, int digits = 3);
// "5.2 s .. 6.4 s"; empty for an exact value.
std::string show_interval(const Estimate& e, Unit unit);

}  // namespace orrery::figures
