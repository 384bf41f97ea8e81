// Writes HCL as `terraform fmt` lays it out: two blanks a level, the `=` of neighbouring arguments
// in one column, a blank line between arguments and blocks and between blocks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::emit {

class HclWriter {
 public:
  // `resource "aws_instance" "train" {`
  HclWriter& begin(std::string_view type, const std::vector<std::string>& labels = {});
  HclWriter& end();
  HclWriter& text(std::string_view name, std::string_view value);  // quoted
  // An expression of our own making: `var.zone`, `true`, `8`. Never a text of the design.
  HclWriter& expression(std::string_view name, std::string_view value);

  std::string result();

 private:
  void flush();  // writes the arguments gathered so far, aligned
  void blank_before_block();

  std::string out_;
  std::vector<std::pair<std::string, std::string>> arguments_;
  int depth_ = 0;
  bool fresh_ = true;  // nothing stands in this block yet
};

}  // namespace orrery::emit
