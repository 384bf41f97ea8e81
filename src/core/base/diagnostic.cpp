#include "core/base/diagnostic.h"

#include "core/base/printable.h"

namespace orrery {
namespace {

constexpr const char* kIndent = "         ";

}  // namespace

std::string to_text(const Diagnostic& d) {
  std::string out;
  if (!d.place.file.empty()) {
    out += printable(d.place.file);
    if (d.place.line > 0) {
      out += ':' + std::to_string(d.place.line) + ':' + std::to_string(d.place.column);
    }
    out += ": ";
  }
  out += to_text(d.severity);
  out += ": " + printable(d.what) + " [" + d.code + "]\n";
  if (!d.why.empty()) out += "    why: " + printable_lines(d.why, kIndent) + '\n';
  if (!d.fix.empty()) out += "    fix: " + printable_lines(d.fix, kIndent) + '\n';
  return out;
}

std::string to_text(const Diagnostics& all) {
  std::string out;
  for (const Diagnostic& d : all) out += to_text(d);
  return out;
}

}  // namespace orrery
