// A fault of a network that was asked for: no place in a file, since a fabric may come from
// anywhere.
#pragma once

#include <string>
#include <utility>

#include "core/base/diagnostic.h"

namespace orrery::fabric {

inline Diagnostic fault(std::string code, std::string what, std::string fix) {
  return {.severity = Severity::error,
          .code = std::move(code),
          .place = {},
          .what = std::move(what),
          .why = {},
          .fix = std::move(fix)};
}

}  // namespace orrery::fabric
