#include "model/design_text/write_value.h"

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"

namespace orrery::design_text {
namespace {

std::size_t digits_of(const std::string& quantity) { return quantity.find(' '); }

bool is_plain(std::string_view text) {
  constexpr std::string_view kFirst =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./";
  constexpr std::string_view kInside =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._/+%<>=()-";
  if (text.empty() || text.back() == ' ' || kFirst.find(text.front()) == std::string::npos) {
    return false;
  }
  if (text.find_first_not_of(kInside) != std::string::npos) return false;
  return lowered(text) != "null" && !text.starts_with("---") && !text.starts_with("...");
}

std::string scalar(std::string_view text) {
  return is_plain(text) ? std::string(text) : json_escaped(text);
}

bool fits_a_line(const YamlNode& n) {
  return std::ranges::all_of(
      n.items, [](const YamlNode& item) { return item.kind == YamlNode::Kind::scalar; });
}

void put_map(const YamlNode& n, std::size_t indent, bool first_in_place, std::string& out);

// After "key:" or "-", a value that fits stays on the line.
void put_value(const YamlNode& n, std::size_t indent, std::string& out) {
  if (n.kind == YamlNode::Kind::scalar) {
    out += ' ' + scalar(n.text) + '\n';
  } else if (n.kind == YamlNode::Kind::list && fits_a_line(n)) {
    out += " [";
    for (std::size_t i = 0; i < n.items.size(); ++i) {
      out += (i > 0 ? ", " : "") + scalar(n.items[i].text);
    }
    out += "]\n";
  } else if (n.kind == YamlNode::Kind::list) {
    out += '\n';
    for (const YamlNode& item : n.items) {
      out.append(indent, ' ') += "- ";
      put_map(item, indent + 2, true, out);
    }
  } else if (n.items.empty()) {
    out += " {}\n";
  } else {
    out += '\n';
    put_map(n, indent, false, out);
  }
}

void put_map(const YamlNode& n, std::size_t indent, bool first_in_place, std::string& out) {
  if (n.items.empty()) out += "{}\n";
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    if (i > 0 || !first_in_place) out.append(indent, ' ');
    out += scalar(n.keys[i].text) + ':';
    put_value(n.items[i], indent + 2, out);
  }
}

void put_line(const YamlNode& n, std::string& out) {
  if (n.kind == YamlNode::Kind::scalar) {
    out += scalar(n.text);
    return;
  }
  const bool map = n.kind == YamlNode::Kind::map;
  out += map ? "{" : "[";
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    out += i > 0 ? ", " : map ? " " : "";
    if (map) out += scalar(n.keys[i].text) + ": ";
    put_line(n.items[i], out);
  }
  out += !map ? "]" : n.items.empty() ? "}" : " }";
}

}  // namespace

std::string quantity_text(double base_units, const Dimension& dimension,
                          const design::Field& field) {
  std::string best = quantity_to_text(base_units, dimension);
  const auto one = parse_any_quantity("1 " + std::string(field.unit));
  if (!one) return best;
  const std::string own = shortest(base_units / one->base_units) + ' ' + std::string(field.unit);
  const auto again = parse_any_quantity(own);
  const bool exact = again && again->base_units == base_units;
  return exact && digits_of(own) <= digits_of(best) + 1 ? own : best;
}

std::string number_text(double value, const design::Field& field) {
  if (!field.unit.empty()) return shortest(value) + ' ' + std::string(field.unit);
  std::string plain = shortest(value);
  struct Suffix {
    double factor;
    char letter;
  };
  for (const Suffix s : {Suffix{1e12, 'T'}, Suffix{1e9, 'B'}, Suffix{1e6, 'M'}}) {
    if (value < s.factor) continue;
    const std::string brief = shortest(value / s.factor) + s.letter;
    const bool exact = parse_count(brief) == value;
    return exact && brief.size() < plain.size() ? brief : plain;
  }
  return plain;
}

std::string yaml_text(const YamlNode& root) {
  std::string out;
  put_map(root, 0, false, out);
  return out;
}

std::string yaml_line(const YamlNode& node) {
  std::string out;
  put_line(node, out);
  return out;
}

}  // namespace orrery::design_text
