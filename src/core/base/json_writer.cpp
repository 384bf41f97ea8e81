#include "core/base/json_writer.h"

#include <cmath>

#include "core/base/text.h"

namespace orrery {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Returns true if JSON writes the character unescaped.
bool is_plain(char c) {
  return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20 &&
         static_cast<unsigned char>(c) < 0x80;
}

bool is_above_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

// Appends the non-ASCII character at `at`. If the bytes there are not valid UTF-8, appends one
// replacement character for them and their continuation bytes, because a JSON reader refuses a
// whole document for one bad byte. Returns where the next character begins.
std::size_t append_character(std::string_view text, std::size_t at, std::string& out) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::string_view whole = text.substr(at, lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2);
  if (is_valid_utf8(whole)) {
    out += whole;
    return at + whole.size();
  }
  out += kReplacement;
  do {
    ++at;
  } while (at < text.size() && continues(text[at]));
  return at;
}

void append_control(char c, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

void append_escaped(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out += text.substr(at, end - at);
    at = end;
    if (at == text.size()) break;
    if (is_above_ascii(text[at])) {
      at = append_character(text, at, out);
    } else {
      append_control(text[at++], out);
    }
  }
  out += '"';
}

}  // namespace

std::string json_escaped(std::string_view text) {
  std::string out;
  append_escaped(text, out);
  return out;
}

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  out_ += '\n';
  out_.append(has_items_.size() * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
  new_line();
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  before_value();
  out_ += token;
  return *this;
}

JsonWriter& JsonWriter::begin_object() {
  raw("{");
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  raw("[");
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  const bool any = has_items_.back();
  has_items_.pop_back();
  if (any) new_line();
  out_ += '}';
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  const bool any = has_items_.back();
  has_items_.pop_back();
  if (any) new_line();
  out_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  append_escaped(name, out_);
  out_ += indent_ == 0 ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_escaped(text, out_);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(shortest(number)) : null();
}
JsonWriter& JsonWriter::value(bool flag) { return raw(flag ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return raw("null"); }

}  // namespace orrery
