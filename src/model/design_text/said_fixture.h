// For tests: what reading a design says, one line a fault: "code at WORD: what", where WORD is what
// stands at the fault's place in the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"

namespace orrery::design_text {

inline std::string word_at(std::string_view text, const Place& place) {
  const auto lines = split(text, '\n');
  if (place.line < 1 || static_cast<std::size_t>(place.line) > lines.size()) return "";
  const std::string_view line = lines[static_cast<std::size_t>(place.line) - 1];
  const std::string_view rest = line.substr(static_cast<std::size_t>(place.column) - 1);
  return std::string(rest.substr(0, rest.find_first_of(" ,}]", 1)));
}

inline std::vector<std::string> said_of(std::string_view text,
                                        const catalog::ReadFile& files = {}) {
  const auto design = read_design(text, design::catalog(), {.file = "d.yaml", .read_file = files});
  std::vector<std::string> lines;
  if (design) return lines;
  for (const Diagnostic& d : design.error()) {
    lines.push_back(d.code + " at " + word_at(text, d.place) + ": " + d.what);
  }
  return lines;
}

}  // namespace orrery::design_text
