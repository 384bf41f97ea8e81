#include "core/base/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "core/base/text.h"

namespace orrery {
namespace {

enum class Prefixes { none, decimal, decimal_and_binary };

struct Symbol {
  std::string_view text;
  double factor;
  Dimension dimension;
  Prefixes prefixes;
};

constexpr Dimension kByte = {1, 0, 0, 0, 0, 0, 0};
constexpr Dimension kSecond = {0, 1, 0, 0, 0, 0, 0};
constexpr Dimension kFlop = {0, 0, 1, 0, 0, 0, 0};
constexpr Dimension kJoule = {0, 0, 0, 1, 0, 0, 0};
constexpr Dimension kWatt = {0, -1, 0, 1, 0, 0, 0};
constexpr Dimension kUsd = {0, 0, 0, 0, 1, 0, 0};
constexpr Dimension kGram = {0, 0, 0, 0, 0, 1, 0};
constexpr Dimension kKelvin = {0, 0, 0, 0, 0, 0, 1};

// Exact matches come before prefixed ones, so that "min" is a minute and "d" a day.
constexpr Symbol kSymbols[] = {
    {"B", 1, kByte, Prefixes::decimal_and_binary},
    {"b", 0.125, kByte, Prefixes::decimal_and_binary},
    {"bit", 0.125, kByte, Prefixes::decimal_and_binary},
    {"s", 1, kSecond, Prefixes::decimal},
    {"min", 60, kSecond, Prefixes::none},
    {"h", 3600, kSecond, Prefixes::none},
    {"d", 86400, kSecond, Prefixes::none},
    {"week", 604800, kSecond, Prefixes::none},
    {"month", 2628000, kSecond, Prefixes::none},
    {"y", 31536000, kSecond, Prefixes::none},
    {"FLOP", 1, kFlop, Prefixes::decimal},
    {"J", 1, kJoule, Prefixes::decimal},
    {"Wh", 3600, kJoule, Prefixes::decimal},
    {"W", 1, kWatt, Prefixes::decimal},
    {"USD", 1, kUsd, Prefixes::decimal},
    {"g", 1, kGram, Prefixes::decimal},
    {"t", 1e6, kGram, Prefixes::none},
    {"K", 1, kKelvin, Prefixes::none},
};

struct Prefix {
  std::string_view text;
  double factor;
  bool binary;
};

constexpr Prefix kPrefixes[] = {
    {"Ki", 0x1p10, true}, {"Mi", 0x1p20, true}, {"Gi", 0x1p30, true}, {"Ti", 0x1p40, true},
    {"Pi", 0x1p50, true}, {"Ei", 0x1p60, true}, {"n", 1e-9, false},   {"u", 1e-6, false},
    {"m", 1e-3, false},   {"k", 1e3, false},    {"M", 1e6, false},    {"G", 1e9, false},
    {"T", 1e12, false},   {"P", 1e15, false},   {"E", 1e18, false},
};

struct Factor {
  double factor;
  Dimension dimension;
};

std::optional<Factor> parse_factor(std::string_view text) {
  for (const Symbol& s : kSymbols) {
    if (text == s.text) return Factor{s.factor, s.dimension};
  }
  for (const Prefix& p : kPrefixes) {
    if (!text.starts_with(p.text)) continue;
    const std::string_view rest = text.substr(p.text.size());
    for (const Symbol& s : kSymbols) {
      const bool allowed = s.prefixes == Prefixes::decimal_and_binary ||
                           (s.prefixes == Prefixes::decimal && !p.binary);
      if (allowed && rest == s.text) return Factor{p.factor * s.factor, s.dimension};
    }
  }
  return std::nullopt;
}

// Multiplying and dividing factors are kept apart, so that "0.08 USD/kWh" is 0.08 / 3.6e6 to the
// last bit, just as usd_per_kwh(0.08) computes it.
struct Unit {
  double multiply = 1;
  double divide = 1;
  Dimension dimension{};

  double to_base(double v) const { return v * multiply / divide; }
  double from_base(double v) const { return v * divide / multiply; }
};

// No quantity has more divisors ("USD/GB/s/y" would have three), either as written or in base
// units, where a watt is a joule divided by a second.
constexpr int kDivisorsMost = 3;

int divisors_of(const Dimension& dimension) {
  int count = 0;
  for (const int exponent : dimension) count -= std::min(exponent, 0);
  return count;
}

std::optional<Unit> parse_unit(std::string_view text) {
  Unit unit;
  bool first = true;
  bool has_dimension = false;
  if (std::ranges::count(text, '/') > kDivisorsMost) return std::nullopt;
  for (std::string_view part : split(text, '/')) {
    part = trimmed(part);
    if (first && part.empty()) {  // "/s": one per second
      first = false;
      continue;
    }
    const auto factor = parse_factor(part);
    if (!factor) return std::nullopt;
    (first ? unit.multiply : unit.divide) *= factor->factor;
    has_dimension = has_dimension || factor->dimension != Dimension{};
    for (std::size_t i = 0; i < unit.dimension.size(); ++i) {
      unit.dimension[i] += first ? factor->dimension[i] : -factor->dimension[i];
    }
    first = false;
  }
  // "4 s/s" is really a bare number, so it is refused.
  if (has_dimension && unit.dimension == Dimension{}) return std::nullopt;
  if (divisors_of(unit.dimension) > kDivisorsMost) return std::nullopt;
  return unit;
}

// How each dimension is shown: its units from small to large, each written as parse_unit reads it.
struct Display {
  Dimension dimension;
  std::span<const std::string_view> units;
};

constexpr std::string_view kShowBytes[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
constexpr std::string_view kShowRate[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
constexpr std::string_view kShowSeconds[] = {"ns", "us", "ms", "s", "min", "h", "d", "y"};
constexpr std::string_view kShowFlops[] = {"FLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
constexpr std::string_view kShowFlopRate[] = {"FLOP/s",  "MFLOP/s", "GFLOP/s",
                                              "TFLOP/s", "PFLOP/s", "EFLOP/s"};
constexpr std::string_view kShowIntensity[] = {"FLOP/B"};
constexpr std::string_view kShowWatts[] = {"W", "kW", "MW", "GW"};
constexpr std::string_view kShowJoules[] = {"J", "kJ", "MJ", "kWh", "MWh", "GWh"};
constexpr std::string_view kShowUsd[] = {"USD", "kUSD", "MUSD", "GUSD"};
constexpr std::string_view kShowUsdRate[] = {"USD/y", "kUSD/y", "MUSD/y", "GUSD/y"};
constexpr std::string_view kShowTariff[] = {"USD/kWh"};
constexpr std::string_view kShowUsdByte[] = {"USD/GB"};
constexpr std::string_view kShowUsdByteTime[] = {"USD/GB/month"};
constexpr std::string_view kShowUsdWatt[] = {"USD/W"};
constexpr std::string_view kShowGrams[] = {"g", "kg", "t"};
constexpr std::string_view kShowIntensityCo2[] = {"g/kWh"};
constexpr std::string_view kShowPerSecond[] = {"/s", "/ms"};
constexpr std::string_view kShowKelvin[] = {"K"};

constexpr Display kDisplays[] = {
    {kByte, kShowBytes},
    {kSecond, kShowSeconds},
    {kFlop, kShowFlops},
    {kJoule, kShowJoules},
    {kUsd, kShowUsd},
    {kGram, kShowGrams},
    {kKelvin, kShowKelvin},
    {DimensionOf<BytesPerSecond>::value, kShowRate},
    {DimensionOf<FlopsPerSecond>::value, kShowFlopRate},
    {DimensionOf<FlopsPerByte>::value, kShowIntensity},
    {kWatt, kShowWatts},
    {DimensionOf<UsdPerSecond>::value, kShowUsdRate},
    {DimensionOf<UsdPerJoule>::value, kShowTariff},
    {DimensionOf<UsdPerByte>::value, kShowUsdByte},
    {DimensionOf<UsdPerByteSecond>::value, kShowUsdByteTime},
    {DimensionOf<UsdPerWatt>::value, kShowUsdWatt},
    {DimensionOf<GramsPerJoule>::value, kShowIntensityCo2},
    {DimensionOf<PerSecond>::value, kShowPerSecond},
};

struct ShownUnit {
  std::string_view text;
  Unit unit;
};

// Parsed only once, because a report shows hundreds of quantities.
std::span<const ShownUnit> units_of(const Dimension& dimension) {
  static const auto kShown = [] {
    std::array<std::vector<ShownUnit>, std::size(kDisplays)> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const std::string_view u : kDisplays[i].units) all[i].push_back({u, *parse_unit(u)});
    }
    return all;
  }();
  for (std::size_t i = 0; i < kShown.size(); ++i) {
    if (kDisplays[i].dimension == dimension) return kShown[i];
  }
  return {};
}

std::string join_unit(std::string number, std::string_view unit) {
  number += ' ';
  number += unit;
  return number;
}

// Returns the largest unit in which the value is at least 1, or the smallest unit if there is none.
const ShownUnit& fitting_unit(double base_units, std::span<const ShownUnit> units) {
  if (base_units == 0) {
    const auto base = std::ranges::find_if(units, [](auto& u) { return u.unit.to_base(1) == 1; });
    return base == units.end() ? units.front() : *base;
  }
  const ShownUnit* chosen = &units.front();
  for (const ShownUnit& u : units) {
    // A value a hair below 1 is still shown as 1: "1 h" reads better than "59.99 min".
    if (std::fabs(base_units) >= u.unit.to_base(1) * (1 - 1e-9)) chosen = &u;
  }
  return *chosen;
}

// Dimensions without a row in the table are shown in base units, so that every quantity can be
// printed.
std::string base_unit_text(const Dimension& dimension) {
  static constexpr std::string_view kNames[] = {"B", "s", "FLOP", "J", "USD", "g", "K"};
  std::string above;
  std::string below;
  for (std::size_t i = 0; i < dimension.size(); ++i) {
    for (int k = 0; k < dimension[i]; ++k)
      above += (above.empty() ? "" : "*") + std::string(kNames[i]);
    for (int k = 0; k > dimension[i]; --k) below += '/' + std::string(kNames[i]);
  }
  return above + below;
}

}  // namespace

std::expected<AnyQuantity, UnitFault> parse_any_quantity(std::string_view text) {
  text = trimmed(text);
  if (text.size() > kLongestQuantity) return std::unexpected(UnitFault::not_a_number);
  // The number ends at the first character that cannot belong to one. An 'e' counts only if a
  // digit, or a sign and a digit, follows, so that both "3 EB" and "3e9 B" are read correctly.
  std::size_t end = 0;
  const auto digit_at = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  while (end < text.size()) {
    const char c = text[end];
    const bool sign_first = end == 0 && (c == '-' || c == '+');
    const bool exponent = (c == 'e' || c == 'E') && end > 0 &&
                          (digit_at(end + 1) ||
                           (end + 1 < text.size() &&
                            (text[end + 1] == '-' || text[end + 1] == '+') && digit_at(end + 2)));
    if (exponent) {
      end += 2;
    } else if (digit_at(end) || c == '.' || sign_first) {
      ++end;
    } else {
      break;
    }
  }
  const auto number = parse_number(text.substr(0, end));
  if (!number) return std::unexpected(UnitFault::not_a_number);
  const std::string_view unit_text = trimmed(text.substr(end));
  if (unit_text.empty()) return std::unexpected(UnitFault::no_unit);
  const auto unit = parse_unit(unit_text);
  if (!unit) return std::unexpected(UnitFault::unknown_unit);
  const double value = unit->to_base(*number);
  if (!std::isfinite(value)) return std::unexpected(UnitFault::out_of_range);
  return AnyQuantity{value, unit->dimension};
}

std::optional<double> parse_count(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text.size() > kLongestQuantity) return std::nullopt;
  double factor = 1;
  switch (text.back()) {
    case 'k':
    case 'K':
      factor = 1e3;
      break;
    case 'M':
      factor = 1e6;
      break;
    case 'G':
    case 'B':
      factor = 1e9;
      break;
    case 'T':
      factor = 1e12;
      break;
    default:
      break;
  }
  if (factor != 1) text = trimmed(text.substr(0, text.size() - 1));
  const auto number = parse_number(text);
  if (!number || !std::isfinite(*number * factor)) return std::nullopt;
  return *number * factor;
}

std::string quantity_to_text(double base_units, const Dimension& dimension) {
  const auto units = units_of(dimension);
  if (units.empty()) return join_unit(shortest(base_units), base_unit_text(dimension));
  const auto reads_back = [&](const std::string& text) {
    const auto again = parse_any_quantity(text);
    return again && again->base_units == base_units;
  };
  const auto in = [base_units](const ShownUnit& u) {
    return join_unit(shortest(u.unit.from_base(base_units)), u.text);
  };
  std::string text = in(fitting_unit(base_units, units));
  if (reads_back(text)) return text;
  // Dividing by the factor and multiplying again may change the last digit; then another unit gives
  // an exact result.
  for (const ShownUnit& u : units) {
    std::string other = in(u);
    if (reads_back(other)) return other;
  }
  return join_unit(shortest(base_units), base_unit_text(dimension));
}

std::string quantity_to_brief(double base_units, const Dimension& dimension, int digits) {
  const auto units = units_of(dimension);
  if (units.empty()) return join_unit(significant(base_units, digits), base_unit_text(dimension));
  const ShownUnit* shown = &fitting_unit(base_units, units);
  // Less than a thousandth of the smallest unit is shown as zero: "2.15e-10 ns" becomes "0 s".
  if (std::fabs(shown->unit.from_base(base_units)) < 1e-3) {
    base_units = 0;
    shown = &fitting_unit(0, units);
  }
  std::string number = significant(shown->unit.from_base(base_units), digits);
  // 999.7 kW rounds to 1 MW, not to 1000 kW.
  const auto read = parse_number(number);
  const double rounded = read ? shown->unit.to_base(*read) : base_units;
  const ShownUnit& larger = fitting_unit(rounded, units);
  if (&larger == shown) return join_unit(std::move(number), shown->text);
  return join_unit(significant(larger.unit.from_base(rounded), digits), larger.text);
}

std::string count_to_brief(double count, int digits) {
  struct Step {
    double factor;
    const char* suffix;
  };
  constexpr Step kSteps[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
  for (const Step& s : kSteps) {
    if (std::fabs(count) >= s.factor) return significant(count / s.factor, digits) + s.suffix;
  }
  return significant(count, std::fabs(count) >= 1000 ? 6 : digits);
}

std::string example_units(const Dimension& dimension) {
  const auto units = units_of(dimension);
  if (units.empty()) return base_unit_text(dimension);
  const std::size_t middle = units.size() / 2;
  std::string out(units[middle].text);
  if (middle > 0) out = std::string(units[middle - 1].text) + " or " + out;
  return out;
}

}  // namespace orrery
