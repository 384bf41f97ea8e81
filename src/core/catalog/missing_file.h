// The error for a file that is missing from data/.
#pragma once

#include <string>
#include <string_view>

#include "core/base/diagnostic.h"

namespace orrery::catalog {

inline std::unexpected<Diagnostics> missing_file(std::string_view path) {
  return fail({.code = "data.missing",
               .place = {.file = std::string(path)},
               .what = "this build lacks a file from data/",
               .why = "the build embeds all of them in the binary",
               .fix = "build again"});
}

}  // namespace orrery::catalog
