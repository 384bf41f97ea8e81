#include "model/design_text/change.h"

#include "model/design_text/write_value.h"

namespace orrery::design_text {
namespace {

constexpr int kDigits = 2;

}  // namespace

std::string rounded_up(double base_units, const Dimension& dimension) {
  // Rounding may end below the amount: adds half a digit's worth until it does not.
  for (const double factor : {1.0, 1.05, 1.1}) {
    std::string text = quantity_to_brief(base_units * factor, dimension, kDigits);
    const auto read = parse_any_quantity(text);
    if (read && read->base_units >= base_units) return text;
  }
  return quantity_to_text(base_units, dimension);
}

std::string name_text(std::string_view name) {
  return yaml_line({.kind = YamlNode::Kind::scalar, .text = std::string(name)});
}

std::string list_text(std::span<const std::string> names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + name_text(name);
  return text + "]";
}

}  // namespace orrery::design_text
