// The assumptions: one row per number in assumptions.def, each with its source and its plausible
// range. The rooms of the model, the review, the run and the emitted files define no number with a
// unit, and no assumed share or factor, of their own.
//
// A value is used by its name, `figures::assumptions::kReplicaLoad`, with its own type.
#pragma once

#include <string_view>

#include "core/base/quantity.h"
#include "model/figures/unit.h"

namespace orrery::figures {

namespace assumptions {
#define ASSUMPTION(name, type, unit, value, low, high, what, source) \
  inline constexpr type name = static_cast<type>(value);
#include "model/figures/assumptions.def"
#undef ASSUMPTION
}  // namespace assumptions

struct Assumption {
  std::string_view name;  // "kReplicaLoad"
  Unit unit;
  double value;  // in base units, like low and high
  double low;
  double high;
  std::string_view what;    // "share of its capacity that a replica is loaded to"
  std::string_view source;  // "assumed: ...", "measured: ..."
};

constexpr double base_of(double value) { return value; }
template <class Q>
  requires requires(Q q) { q.base(); }
constexpr double base_of(Q value) {
  return value.base();
}

inline constexpr Assumption kAssumptions[] = {
#define ASSUMPTION(name, type, unit, value, low, high, what, source) \
  {#name, Unit::unit, base_of(assumptions::name), low, high, what, source},
#include "model/figures/assumptions.def"
#undef ASSUMPTION
};

}  // namespace orrery::figures
