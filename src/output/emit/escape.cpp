#include "output/emit/escape.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "core/base/text.h"

namespace orrery::emit {
namespace {

constexpr std::size_t kNameChars = 63;  // RFC 1123; Slurm itself stops at 255

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

struct Rune {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

// Returns the code point at `at`; a byte that is not UTF-8 counts as U+FFFD.
Rune rune_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || at + bytes > text.size() || !is_valid_utf8(text.substr(at, bytes))) {
    return {0xfffd, 1};
  }
  std::uint32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  return {code, bytes};
}

std::string hex_escape(std::uint32_t code) {
  return code > 0xffff ? fmt::format("\\U{:08x}", code) : fmt::format("\\u{:04x}", code);
}

// Returns true for characters that a quoted scalar must escape: control characters of both blocks,
// line breaks that only some readers know, the byte order mark.
bool needs_escape(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         code == 0xfeff || code == 0xfffd || (code & 0xffff) >= 0xfffe;
}

template <class Escape>
std::string quoted(std::string_view text, Escape escape) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const Rune rune = rune_at(text, at);
    const std::string special = escape(rune.code, at);
    out += special.empty() ? std::string(text.substr(at, rune.bytes)) : special;
    at += rune.bytes;
  }
  return out + '"';
}

std::string named_escape(std::uint32_t code) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return needs_escape(code) ? hex_escape(code) : std::string();
  }
}

bool is_inner(char c, NameRule rule) {
  if (is_digit(c) || is_lower(c) || c == '-') return true;
  if (rule == NameRule::dns_label) return false;
  return is_letter(c) || c == '_' || (rule == NameRule::slurm && c == '.');
}

// Returns true for words that the target reads as something else.
bool is_reserved(std::string_view text, NameRule rule) {
  if (rule != NameRule::slurm) return false;
  const std::string low = lowered(text);
  return low == "default" || low == "all" || low == "none" || low == "unlimited";
}

std::string_view alphabet_of(NameRule rule) {
  switch (rule) {
    case NameRule::slurm:
      return "Slurm accepts letters, digits, `_`, `.` and `-`, beginning with a letter or digit, "
             "at most 63 characters; `default`, `all` and `none` have a special meaning";
    case NameRule::dns_label:
      return "it becomes a host or object name: lower-case letters, digits and `-`, beginning and "
             "ending with a letter or digit, at most 63 characters";
    case NameRule::hcl:
      return "Terraform accepts letters, digits, `_` and `-`, beginning with a letter, at most 63 "
             "characters";
  }
  return "";
}

}  // namespace

std::string comment_text(std::string_view text, std::size_t most) {
  std::size_t written = 0;
  std::size_t end = 0;
  while (end < text.size() && written < most) {
    end += rune_at(text, end).bytes;
    ++written;
  }
  std::string out = quoted(text.substr(0, end), [](std::uint32_t code, std::size_t) {
    return code > 0x7e ? hex_escape(code) : named_escape(code);
  });
  if (end < text.size()) out.insert(out.size() - 1, "...");
  return out;
}

std::string comment_words(std::string_view text) {
  std::string out(text);
  std::erase_if(out, is_control);
  return out;
}

std::string yaml_string(std::string_view text) {
  return quoted(text, [](std::uint32_t code, std::size_t) { return named_escape(code); });
}

std::string hcl_string(std::string_view text) {
  return quoted(text, [text](std::uint32_t code, std::size_t at) -> std::string {
    const bool opens = (code == '$' || code == '%') && at + 1 < text.size() && text[at + 1] == '{';
    if (opens) return std::string(2, static_cast<char>(code));
    return named_escape(code);
  });
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("_-./:,+@%=").contains(c);
  };
  // A leading dash would be an option; a leading = or ~ expands in some shells.
  if (!text.empty() && (is_letter(text[0]) || is_digit(text[0]) || text[0] == '/') &&
      std::ranges::all_of(text, is_plain)) {
    return std::string(text);
  }
  const bool dollar = std::ranges::any_of(text, is_control);
  std::string out = dollar ? "$'" : "'";
  for (const char c : text) {
    if (c == '\0') continue;
    if (dollar && is_control(c)) {
      out += fmt::format("\\{:03o}", static_cast<unsigned>(c));
    } else if (c == '\'') {
      out += dollar ? "\\'" : "'\\''";
    } else if (dollar && c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

bool is_name(std::string_view text, NameRule rule) {
  if (text.empty() || text.size() > kNameChars || is_reserved(text, rule)) return false;
  const char first = text.front();
  const bool opens = rule == NameRule::hcl ? is_letter(first) || first == '_'
                                           : is_letter(first) || is_digit(first);
  if (!opens) return false;
  if (rule == NameRule::dns_label && text.back() == '-') return false;
  return std::ranges::all_of(text, [rule](char c) { return is_inner(c, rule); });
}

std::string nearest_name(std::string_view text, NameRule rule) {
  std::string out;
  for (const char c : lowered(text)) {
    if (out.size() == kNameChars) break;
    if (is_inner(c, rule)) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && (out.back() == '-' || out.back() == '.')) out.pop_back();
  while (!out.empty() && !is_letter(out.front()) &&
         (rule == NameRule::hcl || !is_digit(out.front())))
    out.erase(0, 1);
  return is_name(out, rule) ? out : "name-1";
}

Result<std::string> checked_name(std::string_view text, NameRule rule, const NamedThing& thing) {
  if (is_name(text, rule)) return std::string(text);
  return fail({.code = "emit.name",
               .place = thing.place,
               .what = fmt::format("{} {} cannot be written as a name there", thing.noun,
                                   comment_text(text, 40)),
               .why = std::string(alphabet_of(rule)),
               .fix = fmt::format("call it `{}`, or use another name of these characters",
                                  nearest_name(text, rule))});
}

}  // namespace orrery::emit
