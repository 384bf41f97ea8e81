#include "core/base/printable.h"

#include <cstdint>
#include <optional>

namespace orrery {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

// Decodes the first character of `text`; returns nullopt if it is not valid UTF-8.
std::optional<CodePoint> first_of(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return CodePoint{lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return std::nullopt;
  std::uint32_t value = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return std::nullopt;
    value = (value << 6U) | (byte(i) & 0x3fU);
  }
  return CodePoint{value, bytes};
}

// Returns true for control characters, line and paragraph breaks, and characters that change the
// writing direction.
bool is_obeyed(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0x200e ||
         c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

std::string shown(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = c < 0x100 ? "\\x" : "\\u";
  for (int shift = c < 0x100 ? 4 : 12; shift >= 0; shift -= 4) out += kDigits[c >> shift & 0xfU];
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = first_of(text);
    const std::size_t bytes = c ? c->bytes : 1;
    if (!c) {
      out += shown(static_cast<unsigned char>(text.front()));
    } else if (is_obeyed(c->value)) {
      out += shown(c->value);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string printable_lines(std::string_view text, std::string_view indent) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += '\n';
    out += indent;
    text.remove_prefix(end + 1);
  }
}

}  // namespace orrery
