// Parameters of a question by their kind: helpers that the rows of several calculators share.
#pragma once

#include "study/calc/calculators.h"

namespace orrery::calc {

// A quantity with a unit, on a logarithmic slider: "5 PB".
inline CalcParameter amount_parameter(std::string_view name, std::string_view label,
                                      std::string_view preset, std::string_view unit, double low,
                                      double high) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::quantity,
          .preset = preset,
          .shown = "AMOUNT",
          .unit = unit,
          .low = low,
          .high = high,
          .log = true};
}

// A whole number, at least one.
inline CalcParameter whole_parameter(std::string_view name, std::string_view label,
                                     std::string_view preset, double high) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::integer,
          .preset = preset,
          .shown = "N",
          .low = 1,
          .high = high};
}

// An id in one of the catalog's tables.
inline CalcParameter part_parameter(std::string_view name, std::string_view table,
                                    std::string_view preset, std::string_view label) {
  return {.name = name,
          .label = label,
          .kind = ParameterKind::id,
          .preset = preset,
          .shown = "ID",
          .table = table};
}

}  // namespace orrery::calc
