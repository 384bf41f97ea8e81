// For tests: which faults reading a design reports, one line per fault: "code at WORD", where WORD
// is the text at the place of the fault.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "model/design/catalog_fixture.h"
#include "model/design/design.h"
#include "model/design_text/read_design.h"

namespace orrery::design_text {

using Lines = std::vector<std::string>;

inline std::string word_at(std::string_view text, const Place& place) {
  const auto lines = split(text, '\n');
  if (place.line < 1 || static_cast<std::size_t>(place.line) > lines.size()) return "";
  const std::string_view line = lines[static_cast<std::size_t>(place.line) - 1];
  const std::string_view rest = line.substr(static_cast<std::size_t>(place.column) - 1);
  return std::string(rest.substr(0, rest.find_first_of(" ,}]", 1)));
}

inline Lines said_of(std::string_view text, const catalog::ReadFile& files = {}) {
  const auto design = read_design(text, design::catalog(), {.file = "d.yaml", .read_file = files});
  Lines lines;
  if (design) return lines;
  for (const Diagnostic& d : design.error()) {
    lines.push_back(d.code + " at " + word_at(text, d.place));
  }
  return lines;
}

// The faults reported for one site with a fleet of eight nodes.
inline Lines plain_text_said(const std::string& more, const std::string& site = "region: usa",
                             const catalog::ReadFile& files = {}) {
  return said_of("orrery: 1\nname: t\nsite: { " + site +
                     " }\nfleet:\n  - { name: all, node: dgx-h100, count: 8 }\n" + more,
                 files);
}

// Every file has this text.
inline catalog::ReadFile holding(const std::string& text) {
  return [text](std::string_view) -> Result<std::string> { return text; };
}

inline Result<std::string> unreadable(std::string_view path) {
  return fail({.code = "file.read", .what = "cannot read " + std::string(path)});
}

}  // namespace orrery::design_text
