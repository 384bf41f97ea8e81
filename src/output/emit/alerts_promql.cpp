// The part of PromQL that the emitters need: strings, and where an expression reads series.
#include <fmt/core.h>

#include <algorithm>

#include "output/emit/alerts.h"

namespace orrery::emit {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

// Returns the position behind the closing quote of the string that opens at `i`.
std::size_t string_end(std::string_view expr, std::size_t i) {
  const char quote = expr[i++];
  while (i < expr.size() && expr[i] != quote) i += expr[i] == '\\' ? 2 : 1;
  return std::min(i + 1, expr.size());
}

// Returns the end of the {...} that opens at `i`; quotes inside may contain braces.
std::size_t braces_end(std::string_view expr, std::size_t i) {
  while (i < expr.size() && expr[i] != '}') {
    i = expr[i] == '\'' || expr[i] == '"' ? string_end(expr, i) : i + 1;
  }
  return std::min(i + 1, expr.size());
}

// Returns true for a metric of the rules. Their prefix occurs in no function, keyword or label.
bool is_metric(std::string_view name) {
  return name.starts_with("DCGM_") || name.starts_with("orrery_") || name.starts_with("orrery:") ||
         name == "up";
}

}  // namespace

std::vector<std::string> selectors_of(std::string_view expr) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < expr.size();) {
    if (expr[i] == '\'' || expr[i] == '"') {
      i = string_end(expr, i);
      continue;
    }
    std::size_t end = i;
    while (end < expr.size() && is_name_char(expr[end])) ++end;
    if (end > i && is_metric(expr.substr(i, end - i))) {
      if (end < expr.size() && expr[end] == '{') end = braces_end(expr, end);
      const std::string selector(expr.substr(i, end - i));
      if (std::ranges::find(found, selector) == found.end()) found.push_back(selector);
    }
    i = std::max(end, i + 1);
  }
  return found;
}

std::string promql_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f || std::string_view("${}").contains(c)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace orrery::emit
