// Writes YAML with keys in the order given: blocks of two blanks a level, texts quoted unless they
// can only be read as what they are. "1", "yes" and "null" stay texts; no text opens a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::emit {

class YamlWriter {
 public:
  YamlWriter& begin(std::string_view key);  // "key:", then its fields or items
  YamlWriter& end();
  YamlWriter& blank(std::string_view key);  // "key: {}"
  YamlWriter& item();                       // "- ", then its fields
  YamlWriter& end_item();

  YamlWriter& text(std::string_view key, std::string_view value);
  YamlWriter& number(std::string_view key, std::int64_t value);
  YamlWriter& decimal(std::string_view key, double value);  // four digits
  YamlWriter& flag(std::string_view key, bool value);
  YamlWriter& texts(std::string_view key, const std::vector<std::string>& values);  // [a, b]
  // A literal block, line by line. The text must have no control characters but newlines.
  YamlWriter& block(std::string_view key, std::string_view lines);
  YamlWriter& comment(std::string_view line);  // ours; never a name of the design
  YamlWriter& document();                      // "---"

  const std::string& result() const { return out_; }

 private:
  void line(std::string_view text);

  std::string out_;
  int depth_ = 0;
  bool after_dash_ = false;
};

// As a plain scalar where that is unmistakable, else in double quotes.
std::string yaml_text(std::string_view text);

}  // namespace orrery::emit
