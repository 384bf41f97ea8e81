// The calculators as data: each question with its parameters, and one way to ask it by text.
//
// `orrery calc` makes its options from this table and the console its sliders, so both offer the
// same parameters with the same defaults, read them by the same rules and refuse them with the same
// words. Limits of a slider are suggestions; a value that a formula cannot take is refused when it
// is read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"
#include "model/machine/models.h"
#include "study/calc/calculation.h"

namespace orrery::calc {

enum class ParameterKind {
  number,    // without a unit: 0.4
  integer,   // without a unit, whole
  count,     // with K, M, B, T: 2T
  quantity,  // with a unit: 40 GB/s
  choice,    // one of `choices`
  id,        // an id in the catalog's `table`
  flag       // true or false
};
std::string_view to_text(ParameterKind kind);

struct CalcParameter {
  std::string_view name;   // the option without its dashes: "write"
  std::string_view label;  // "write rate of the storage"
  ParameterKind kind = ParameterKind::number;
  std::string_view preset;     // default as text; empty: no default, and it may stay empty
  std::string_view shown;      // shown in --help instead of the value: "RATE"
  std::string_view unit = {};  // unit of the slider: "GB/s"; empty if there is none
  double low = 0;              // limits of a slider; both 0: no slider
  double high = 0;
  bool log = false;
  std::vector<std::string_view> choices = {};
  std::string_view table = {};

  bool optional() const { return preset.empty(); }
  bool can_sweep() const { return kind < ParameterKind::choice; }
};

class CalcValues;

struct Calculator {
  std::string_view name;  // "checkpoint"
  std::string_view summary;
  std::string_view example;  // a whole command line
  std::vector<CalcParameter> parameters;
  Result<Calculation> (*ask)(CalcValues& values, const machine::Models& models);
};

// Returns all calculators in display order; the rows are in calculator_table.cpp and next to their
// arithmetic.
std::vector<Calculator> every_calculator();
Calculator durability_calculator();
Calculator tier_calculator();
Calculator serve_calculator();
Calculator kv_tier_calculator();
Calculator tier_size_calculator();
// The same, built only once.
std::span<const Calculator> calculators();
const Calculator* find_calculator(std::string_view name);  // nullptr if there is none
const CalcParameter* find_parameter(const Calculator& calculator, std::string_view name);

// Parameters by name, as text. An absent or empty one has its preset. All faults are reported at
// once: "calc.parameter" for names, "usage.value" and "usage.part" for values.
using CalcTexts = std::map<std::string, std::string, std::less<>>;
Result<Calculation> calculate(const Calculator& calculator, const CalcTexts& given,
                              const machine::Models& models);

// Returns the command line that asks this; presets are left out.
std::string command_of(const Calculator& calculator, const CalcTexts& given);

}  // namespace orrery::calc
