#include "base/diagnostic.h"

namespace orrery {

std::string to_text(const Diagnostic& d) {
  std::string out;
  if (!d.place.file.empty()) {
    out += d.place.file;
    if (d.place.line > 0) {
      out += ':' + std::to_string(d.place.line) + ':' + std::to_string(d.place.column);
    }
    out += ": ";
  }
  out += to_text(d.severity);
  out += ": " + d.what + " [" + d.code + "]\n";
  if (!d.why.empty()) out += "    why: " + d.why + '\n';
  if (!d.fix.empty()) out += "    fix: " + d.fix + '\n';
  return out;
}

std::string to_text(const Diagnostics& all) {
  std::string out;
  for (const Diagnostic& d : all) out += to_text(d);
  return out;
}

}  // namespace orrery
