#include "base/json_writer.h"

#include <cmath>

#include "base/text.h"

namespace orrery {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_above_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

// The character above ASCII at `at`, or one replacement for bytes that are none together with what
// would continue them: a document with a single bad byte in it is refused whole by its reader.
// Gives back where the next character begins.
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

}  // namespace

std::string json_escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_above_ascii(c)) {
      at = append_character(text, at, out);
      continue;
    }
    ++at;
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
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  return out + '"';
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
  out_ += json_escaped(name);
  out_ += indent_ == 0 ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) { return raw(json_escaped(text)); }
JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(shortest(number)) : null();
}
JsonWriter& JsonWriter::value(bool flag) { return raw(flag ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return raw("null"); }

}  // namespace orrery
