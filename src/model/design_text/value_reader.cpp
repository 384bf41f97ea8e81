#include "model/design_text/value_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/words.h"
#include "model/design_text/other_names.h"

namespace orrery::design_text {
namespace {

std::string_view noun_of(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "a single value";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a section of keys";
  }
  return "";
}

std::string_view how_to_write(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::list:
      return "write [a, b], or lines that begin with `- `";
    case YamlNode::Kind::map:
      return "write { key: value }, or indented `key: value` lines";
    default:
      return "write one value after the colon";
  }
}

// Returns true for 0777 and 0x1f, which a programmer and a reader of the file may read differently.
bool looks_coded(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] != '.' && text[1] != 'e' && text[1] != 'E' &&
         text[1] != ' ' && text[1] != '%';
}

// Plausible values for a building: a figure outside is a slip of the unit or the exponent.
struct Plausible {
  Dimension dimension;
  double least;  // must be above zero
  double most;
};
constexpr Plausible kPlausible[] = {
    {DimensionOf<Bytes>::value, 1, 1e24},         {DimensionOf<BytesPerSecond>::value, 1e3, 1e18},
    {DimensionOf<Seconds>::value, 1e-9, 3.2e11},  // a nanosecond to ten thousand years
    {DimensionOf<Watts>::value, 1e-3, 1e12},      {DimensionOf<Usd>::value, 1e-6, 1e15},
    {DimensionOf<PerSecond>::value, 1e-12, 1e15}, {DimensionOf<Flops>::value, 1, 1e30},
};

const Plausible* plausible(const Dimension& dimension) {
  for (const Plausible& p : kPlausible) {
    if (p.dimension == dimension) return &p;
  }
  return nullptr;
}

// What a field means, as the reason of a fault in its value.
std::string meaning_of(std::string_view key, const design::Field& field) {
  return fmt::format("`{}` means: {}", key, field.doc);
}

// Returns the text with its unit's letters in another case, if that gives a quantity of the field's
// kind: "700 kW" for "700 kw". Short units only: the combinations double with every letter.
std::optional<std::string> in_other_case(std::string_view text, std::string_view unit) {
  constexpr std::size_t kLettersMax = 8;
  const auto wanted = parse_any_quantity("1 " + std::string(unit));
  std::vector<std::size_t> letters;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char lower = static_cast<char>(text[i] | 0x20);
    if (lower >= 'a' && lower <= 'z') letters.push_back(i);
  }
  if (!wanted || letters.empty() || letters.size() > kLettersMax) return std::nullopt;
  for (unsigned way = 1; way < 1U << letters.size(); ++way) {
    std::string other(text);
    for (std::size_t k = 0; k < letters.size(); ++k) {
      if ((way >> k & 1U) != 0) other[letters[k]] = static_cast<char>(other[letters[k]] ^ 0x20);
    }
    const auto read = parse_any_quantity(other);
    if (read && read->dimension == wanted->dimension) return other;
  }
  return std::nullopt;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return text.size() <= kMost ? std::string(text) : "(a long text)";
}

}  // namespace

void ValueReader::complain(design::Mark at, Fault f) {
  if (full()) return;
  faults_.push_back({.code = std::string(f.code),
                     .place = {file_, at.line, at.column},
                     .what = std::move(f.what),
                     .why = std::move(f.why),
                     .fix = std::move(f.fix)});
}

const std::vector<std::string>& ValueReader::ids(design::Part part) {
  const auto found = ids_.find(part);
  if (found != ids_.end()) return found->second;
  return ids_.emplace(part, design::part_ids(catalog_, part)).first->second;
}

bool ValueReader::expect(const YamlNode& node, YamlNode::Kind kind, std::string_view key) {
  if (node.kind == kind) return true;
  complain(node.mark,
           {"design.type",
            fmt::format("`{}` is {}, but must be {}", key, noun_of(node.kind), noun_of(kind)),
            {},
            std::string(how_to_write(kind))});
  return false;
}

void ValueReader::unknown_key(const YamlNode::Key& key, const std::vector<std::string>& known,
                              std::string_view section) {
  if (full()) return;
  const auto close = nearest(key.text, known);
  std::string fix = close ? "did you mean `" + *close + "`?" : "remove it";
  if (key.text == "<<") fix = "merge keys are not supported: write the fields out";
  complain(key.mark,
           {"design.unknown-key", fmt::format("{} has no field `{}`", section, shown(key.text)),
            "an unknown key would otherwise be ignored without notice", std::move(fix)});
}

void ValueReader::not_yet(design::Mark at, std::string_view key, const design::Field& field) {
  complain(at, {"design.not-yet", fmt::format("`{}` would have no effect yet", key),
                std::string(field.not_yet), "leave it out"});
}

void ValueReader::missing(design::Mark at, std::string_view key, std::string_view section,
                          const design::Field& field) {
  complain(at,
           {"design.missing", fmt::format("{} lacks `{}`", section, key), meaning_of(key, field),
            field.example.empty() ? fmt::format("add `{}:`", key)
                                  : fmt::format("add `{}: {}`", key, field.example)});
}

bool ValueReader::in_range(double v, design::Mark at, std::string_view key, std::string_view text,
                           const design::Field& field) {
  std::string_view wanted;
  switch (field.range) {
    case design::Range::any:
      break;
    case design::Range::not_negative:
      if (v < 0) wanted = "0 or more";
      break;
    case design::Range::positive:
      if (v <= 0) wanted = "more than 0";
      break;
    case design::Range::fraction:
      if (v < 0 || v > 1) wanted = "a share between 0 and 1";
      break;
    case design::Range::positive_fraction:
      if (v <= 0 || v > 1) wanted = "a share above 0, at most 1";
      break;
    case design::Range::at_least_one:
      if (v < 1) wanted = "1 or more";
      break;
  }
  if (std::fabs(v) > kLargestNumber) wanted = "a smaller number";
  if (wanted.empty()) return true;
  complain(at, {"design.range", fmt::format("`{}` cannot be {}", key, shown(text)),
                meaning_of(key, field), fmt::format("write {}", wanted)});
  return false;
}

std::optional<double> ValueReader::quantity_fault(const YamlNode& node, std::string_view key,
                                                  const design::Field& field, UnitFault fault) {
  const std::string text = shown(node.text);
  switch (fault) {
    case UnitFault::no_unit:
      complain(node.mark, {"design.unit-missing", fmt::format("`{}` has no unit", key),
                           fmt::format("a bare {} could be in any unit", text),
                           fmt::format("add the unit, such as `{} {}`", text, field.unit)});
      break;
    case UnitFault::unknown_unit:
      if (const auto meant = in_other_case(node.text, field.unit)) {
        complain(node.mark, {"design.unit-unknown",
                             fmt::format("the unit of `{}` in `{}` is not known", text, key),
                             "upper and lower case differ: m is a thousandth, M a million",
                             fmt::format("did you mean `{}`?", *meant)});
        break;
      }
      complain(node.mark, {"design.unit-unknown",
                           fmt::format("the unit of `{}` in `{}` is not known", text, key),
                           fmt::format("{} is given in units such as {}", key, field.unit),
                           fmt::format("write it in {}", field.unit)});
      break;
    case UnitFault::wrong_dimension:
      complain(node.mark, {"design.unit-wrong",
                           fmt::format("`{}` has the wrong kind of unit for `{}`", text, key),
                           fmt::format("{} is given in units such as {}", key, field.unit),
                           fmt::format("write it in {}", field.unit)});
      break;
    case UnitFault::not_a_number:
    case UnitFault::out_of_range:
      complain(node.mark, {"design.type", fmt::format("`{}` is not a quantity for `{}`", text, key),
                           meaning_of(key, field),
                           fmt::format("write a number and a unit: 1 {}", field.unit)});
      break;
  }
  return std::nullopt;
}

std::optional<double> ValueReader::quantity(const YamlNode& node, std::string_view key,
                                            const design::Field& field,
                                            const Dimension& dimension) {
  if (!expect(node, YamlNode::Kind::scalar, key)) return std::nullopt;
  if (looks_coded(node.text)) return quantity_fault(node, key, field, UnitFault::not_a_number);
  const auto any = parse_any_quantity(node.text);
  if (!any) return quantity_fault(node, key, field, any.error());
  if (any->dimension != dimension) {
    return quantity_fault(node, key, field, UnitFault::wrong_dimension);
  }
  if (!in_range(any->base_units, node.mark, key, node.text, field)) return std::nullopt;
  const Plausible* p = plausible(dimension);
  const double size = std::fabs(any->base_units);
  if (p != nullptr && size != 0 && (size < p->least || size > p->most)) {
    complain(node.mark,
             {"design.range", fmt::format("`{}` cannot be {}", key, shown(node.text)),
              meaning_of(key, field),
              fmt::format("write a value between {} and {}", quantity_to_text(p->least, dimension),
                          quantity_to_text(p->most, dimension))});
    return std::nullopt;
  }
  return any->base_units;
}

std::optional<double> ValueReader::number(const YamlNode& node, std::string_view key,
                                          const design::Field& field) {
  if (!expect(node, YamlNode::Kind::scalar, key)) return std::nullopt;
  std::string_view body = trimmed(node.text);
  std::optional<double> value;
  if (!field.unit.empty()) {  // degrees are no Quantity, because 0 C is not zero heat
    if (parse_number(body)) return quantity_fault(node, key, field, UnitFault::no_unit);
    if (body.ends_with(field.unit)) {
      value = parse_number(trimmed(body.substr(0, body.size() - field.unit.size())));
    }
    if (!value) return quantity_fault(node, key, field, UnitFault::unknown_unit);
  } else if (design::is_share(field.range) && body.ends_with('%')) {
    value = parse_number(trimmed(body.substr(0, body.size() - 1)));
    if (value) *value /= 100;
  } else if (!looks_coded(body)) {
    value = parse_count(body);
  }
  if (!value) {
    complain(node.mark,
             {"design.type", fmt::format("`{}` is not a number for `{}`", shown(node.text), key),
              meaning_of(key, field),
              design::is_share(field.range) ? "write a share such as 0.9"
                                            : "write a plain number such as 1024 or 2T"});
    return std::nullopt;
  }
  if (!in_range(*value, node.mark, key, node.text, field)) return std::nullopt;
  return value;
}

std::optional<int> ValueReader::integer(const YamlNode& node, std::string_view key,
                                        const design::Field& field) {
  if (!expect(node, YamlNode::Kind::scalar, key)) return std::nullopt;
  const std::string_view body = trimmed(node.text);
  const auto value = looks_coded(body) ? std::nullopt : parse_integer(body);
  if (!value) {
    complain(
        node.mark,
        {"design.type", fmt::format("`{}` is not a whole number for `{}`", shown(node.text), key),
         looks_coded(body) ? "a leading 0 may mean octal or hexadecimal" : meaning_of(key, field),
         "write decimal digits, as in 127"});
    return std::nullopt;
  }
  if (!in_range(static_cast<double>(*value), node.mark, key, body, field)) return std::nullopt;
  if (std::abs(*value) > kMostCount) {
    complain(node.mark, {"design.range", fmt::format("`{}` cannot be {}", key, body),
                         "counts end at 10 million", "write a smaller number"});
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

std::optional<bool> ValueReader::boolean(const YamlNode& node, std::string_view key) {
  if (!expect(node, YamlNode::Kind::scalar, key)) return std::nullopt;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  complain(node.mark, {"design.type",
                       fmt::format("`{}` must be true or false, not `{}`", key, shown(node.text)),
                       {},
                       "write true or false"});
  return std::nullopt;
}

std::optional<std::string> ValueReader::text(const YamlNode& node, std::string_view key,
                                             const design::Field& field) {
  if (!expect(node, YamlNode::Kind::scalar, key)) return std::nullopt;
  if (node.text.size() > kLongestText) {
    complain(
        node.mark,
        {"design.range", fmt::format("`{}` is longer than 4096 bytes", key), {}, "shorten it"});
    return std::nullopt;
  }
  // Providers may be unknown if a price is given, and models may be files: check_names.cpp decides.
  const bool checked_later =
      field.part == design::Part::provider || field.part == design::Part::model;
  if (!checked_later && !node.text.empty()) check_part(node.text, node.mark, field.part);
  return node.text;
}

void ValueReader::check_part(const std::string& id, design::Mark at, design::Part part) {
  if (part == design::Part::none || full()) return;
  const auto& known = ids(part);
  if (std::ranges::binary_search(known, id)) return;
  auto close = meant_by(id, known);
  const catalog::GridRegion* region =
      part == design::Part::region && !close ? region_named(catalog_, id) : nullptr;
  if (region != nullptr) close = region->id;
  // Lists of up to this many names are shown in full.
  constexpr std::size_t kNamedMax = 12;
  const std::vector<std::string_view> names(known.begin(), known.end());
  complain(at, {"design.unknown-part",
                fmt::format("the catalog has no {} `{}`", design::noun_of(part), shown(id)),
                known.size() <= kNamedMax ? "it is one of " + listed(names) : std::string(),
                close ? "did you mean `" + *close + "`?" : "see `orrery catalog` for the tables"});
}

std::optional<std::size_t> ValueReader::word(const YamlNode& node, std::string_view key,
                                             std::span<const std::string_view> words) {
  if (!expect(node, YamlNode::Kind::scalar, key)) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == node.text) return i;
  }
  if (full()) return std::nullopt;
  const std::vector<std::string> known(words.begin(), words.end());
  const auto close = meant_by(node.text, known);
  complain(node.mark,
           {"design.unknown-word", fmt::format("`{}` cannot be `{}`", key, shown(node.text)),
            "it is one of " + listed(words),
            close ? "did you mean `" + *close + "`?" : "write one of these words"});
  return std::nullopt;
}

}  // namespace orrery::design_text
