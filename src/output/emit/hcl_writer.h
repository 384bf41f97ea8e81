// Writes HCL as `terraform fmt` formats it: two blanks per level, aligned `=` in consecutive
// arguments, a blank line between arguments and blocks and between blocks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::emit {

class HclWriter {
 public:
  // Begins a block: `resource "aws_instance" "train" {`
  HclWriter& begin(std::string_view type, const std::vector<std::string>& labels = {});
  HclWriter& end();
  HclWriter& text(std::string_view name, std::string_view value);  // quotes the value
  // Writes an expression of ours: `var.zone`, `true`, `8`. Never pass text of the design.
  HclWriter& expression(std::string_view name, std::string_view value);

  std::string result();

 private:
  void flush();  // writes the collected arguments, aligned
  void blank_before_block();

  std::string out_;
  std::vector<std::pair<std::string, std::string>> arguments_;
  int depth_ = 0;
  bool fresh_ = true;  // true while the block is empty
};

}  // namespace orrery::emit
