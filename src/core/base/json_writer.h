// Writes JSON with keys in the order given and numbers in their shortest exact form, so that equal
// values give equal bytes on every build. JSON is read elsewhere (catalog/config_json.cpp).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

class JsonWriter {
 public:
  // Indent 0 writes everything on one line; otherwise each level is indented by that many blanks.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // not-a-number and infinity, which JSON lacks, become null
  JsonWriter& value(bool flag);
  JsonWriter& null();
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }

  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  const std::string& text() const { return out_; }

 private:
  JsonWriter& raw(std::string_view token);
  void before_value();
  void new_line();

  std::string out_;
  int indent_;
  bool after_key_ = false;
  std::vector<bool> has_items_;  // one entry per level
};

std::string json_escaped(std::string_view text);  // includes the quotes

}  // namespace orrery
