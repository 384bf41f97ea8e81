// For tests of refusals: a diagnostic without its sentences.
#pragma once

#include <string>

#include "core/base/diagnostic.h"

namespace orrery::server {

// Returns "CODE FIELD", or only the code if the message quotes no field.
inline std::string fault_text(const Diagnostic& d) {
  const std::size_t from = d.what.find('`');
  if (from == std::string::npos) return d.code;
  return d.code + ' ' + d.what.substr(from + 1, d.what.find('`', from + 1) - from - 1);
}

}  // namespace orrery::server
