#include "output/emit/hcl_writer.h"

#include <algorithm>

#include "output/emit/escape.h"

namespace orrery::emit {

void HclWriter::flush() {
  std::size_t width = 0;
  for (const auto& [name, value] : arguments_) width = std::max(width, name.size());
  for (const auto& [name, value] : arguments_) {
    out_.append(2 * static_cast<std::size_t>(depth_), ' ');
    out_ += name + std::string(width - name.size(), ' ') + " = " + value + '\n';
  }
  if (!arguments_.empty()) fresh_ = false;
  arguments_.clear();
}

void HclWriter::blank_before_block() {
  flush();
  if (!fresh_) out_ += '\n';
}

HclWriter& HclWriter::begin(std::string_view type, const std::vector<std::string>& labels) {
  blank_before_block();
  out_.append(2 * static_cast<std::size_t>(depth_), ' ');
  out_ += type;
  for (const std::string& label : labels) out_ += ' ' + hcl_string(label);
  out_ += " {\n";
  ++depth_;
  fresh_ = true;
  return *this;
}

HclWriter& HclWriter::end() {
  flush();
  --depth_;
  // An empty block closes on its own line, as other blocks do.
  out_.append(2 * static_cast<std::size_t>(depth_), ' ');
  out_ += "}\n";
  fresh_ = false;
  return *this;
}

HclWriter& HclWriter::text(std::string_view name, std::string_view value) {
  arguments_.emplace_back(name, hcl_string(value));
  return *this;
}

HclWriter& HclWriter::expression(std::string_view name, std::string_view value) {
  arguments_.emplace_back(name, value);
  return *this;
}

std::string HclWriter::result() {
  flush();
  return out_;
}

}  // namespace orrery::emit
