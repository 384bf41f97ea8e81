// A fault in something the user gave us, as a value: code, place, why, fix.
//
// Errors that a user can cause are collected as Diagnostics, all of them; they are never thrown,
// and never printed where they are found. A code is stable ("unit.unknown"), because tests, the
// console and scripts match on it.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/words.h"

namespace orrery {

enum class Severity { error, warning, note };
inline constexpr Word<Severity> kSeverityWords[] = {
    {Severity::error, "error"}, {Severity::warning, "warning"}, {Severity::note, "note"}};
constexpr WordTable<Severity> words_of(Severity) { return kSeverityWords; }
constexpr std::string_view to_text(Severity s) { return word_of(s); }

// Line and column count from 1; 0 means the file as a whole.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;

  bool operator==(const Place&) const = default;
};

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;
  Place place;
  std::string what;  // the fault, in one sentence
  std::string why;   // why it matters or what was expected; may be empty
  std::string fix;   // what to write instead; may be empty

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

template <class T>
using Result = std::expected<T, Diagnostics>;

inline std::unexpected<Diagnostics> fail(Diagnostic d) {
  return std::unexpected(Diagnostics{std::move(d)});
}

inline bool has_errors(const Diagnostics& all) {
  for (const Diagnostic& d : all) {
    if (d.severity == Severity::error) return true;
  }
  return false;
}

// Returns "file:3:7: error: what [code]", with why and fix indented below.
std::string to_text(const Diagnostic& d);
std::string to_text(const Diagnostics& all);

}  // namespace orrery
