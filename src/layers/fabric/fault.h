// An error about a requested network. It has no place in a file, because a fabric need not come
// from a file.
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
