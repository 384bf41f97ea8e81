#include "output/emit/yaml_writer.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "output/emit/escape.h"

namespace orrery::emit {
namespace {

bool is_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kWords = {"true", "false", "yes", "no", "on",
                                                              "off",  "null",  "y",   "n",  "nan"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || std::string_view("_./-").contains(c);
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_inner) &&
         std::ranges::find(kWords, lowered(text)) == kWords.end();
}

}  // namespace

std::string yaml_text(std::string_view text) {
  return is_plain(text) ? std::string(text) : yaml_string(text);
}

void YamlWriter::line(std::string_view text) {
  if (!after_dash_) out_.append(2 * static_cast<std::size_t>(depth_), ' ');
  after_dash_ = false;
  out_.append(text);
  out_ += '\n';
}

YamlWriter& YamlWriter::begin(std::string_view key) {
  line(yaml_text(key) + ':');
  ++depth_;
  return *this;
}

YamlWriter& YamlWriter::blank(std::string_view key) {
  line(yaml_text(key) + ": {}");
  return *this;
}

YamlWriter& YamlWriter::end() {
  --depth_;
  return *this;
}

YamlWriter& YamlWriter::item() {
  out_.append(2 * static_cast<std::size_t>(depth_), ' ');
  out_ += "- ";
  after_dash_ = true;
  ++depth_;
  return *this;
}

YamlWriter& YamlWriter::end_item() { return end(); }

YamlWriter& YamlWriter::text(std::string_view key, std::string_view value) {
  line(yaml_text(key) + ": " + yaml_text(value));
  return *this;
}

YamlWriter& YamlWriter::number(std::string_view key, std::int64_t value) {
  line(yaml_text(key) + ": " + std::to_string(value));
  return *this;
}

YamlWriter& YamlWriter::decimal(std::string_view key, double value) {
  line(yaml_text(key) + ": " + significant(value, 4));
  return *this;
}

YamlWriter& YamlWriter::flag(std::string_view key, bool value) {
  line(yaml_text(key) + (value ? ": true" : ": false"));
  return *this;
}

YamlWriter& YamlWriter::texts(std::string_view key, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& v : values) list += (list.empty() ? "" : ", ") + yaml_text(v);
  line(yaml_text(key) + ": [" + list + ']');
  return *this;
}

YamlWriter& YamlWriter::block(std::string_view key, std::string_view lines) {
  line(yaml_text(key) + ": |");
  ++depth_;
  while (lines.ends_with('\n')) lines.remove_suffix(1);
  for (const std::string_view one : split(lines, '\n')) line(one);
  --depth_;
  return *this;
}

YamlWriter& YamlWriter::comment(std::string_view text) {
  line("# " + std::string(text));
  return *this;
}

YamlWriter& YamlWriter::document() {
  out_ += "---\n";
  return *this;
}

}  // namespace orrery::emit
