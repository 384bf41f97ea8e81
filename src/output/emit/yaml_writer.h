// Writes YAML with keys in the order given: two blanks per level, texts quoted unless they can be
// read in one way only. "1", "yes" and "null" stay texts; no text begins a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::emit {

class YamlWriter {
 public:
  YamlWriter& begin(std::string_view key);  // writes "key:"; its fields or items follow
  YamlWriter& end();
  YamlWriter& blank(std::string_view key);  // writes "key: {}"
  YamlWriter& item();                       // writes "- "; its fields follow
  YamlWriter& end_item();

  YamlWriter& text(std::string_view key, std::string_view value);
  YamlWriter& number(std::string_view key, std::int64_t value);
  YamlWriter& decimal(std::string_view key, double value);  // writes four digits
  YamlWriter& flag(std::string_view key, bool value);
  YamlWriter& texts(std::string_view key, const std::vector<std::string>& values);  // writes [a, b]
  // Writes a literal block, line by line. The text must have no control characters except newlines.
  YamlWriter& block(std::string_view key, std::string_view lines);
  YamlWriter& comment(std::string_view line);  // text of ours; never a name of the design
  YamlWriter& document();                      // writes "---"

  const std::string& result() const { return out_; }

 private:
  void line(std::string_view text);

  std::string out_;
  int depth_ = 0;
  bool after_dash_ = false;
};

// Returns a plain scalar if it is unmistakable, else a double-quoted one.
std::string yaml_text(std::string_view text);

}  // namespace orrery::emit
