// Text to quantity and back: "40 GB/s", "2 MW", "0.08 USD/kWh", "12 MUSD/y", "500 ms", "40 /s".
//
// A unit is a list of factors joined by '/': the first multiplies, the rest divide. A factor is a
// symbol with an optional prefix. Decimal prefixes are k M G T P E and n u m; binary ones Ki Mi Gi
// Ti Pi Ei (bytes and bits only). B is always a byte and b always a bit. A bare number has no unit
// and is refused. The exact printer round-trips: parse(to_text(q)) == q, bit for bit.
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/quantity.h"

namespace orrery {

// Exponents of byte, second, FLOP, joule, USD, gram, kelvin.
using Dimension = std::array<int, 7>;

template <class Q>
struct DimensionOf;
template <int... E>
struct DimensionOf<Quantity<E...>> {
  static constexpr Dimension value = {E...};
};

struct AnyQuantity {
  double base_units = 0;
  Dimension dimension{};
};

enum class UnitFault { not_a_number, no_unit, unknown_unit, wrong_dimension, out_of_range };

// A longer text is refused as a quantity before it is parsed, which keeps hostile input cheap.
inline constexpr std::size_t kLongestQuantity = 128;

std::expected<AnyQuantity, UnitFault> parse_any_quantity(std::string_view text);

template <class Q>
std::expected<Q, UnitFault> parse_quantity(std::string_view text) {
  const auto any = parse_any_quantity(text);
  if (!any) return std::unexpected(any.error());
  if (any->dimension != DimensionOf<Q>::value) return std::unexpected(UnitFault::wrong_dimension);
  return Q(any->base_units);
}

// Parses a pure number such as "2T", "15 B", "1024" or "1.5M", with K, M, B (or G), T for 1e3, 1e6,
// 1e9, 1e12.
std::optional<double> parse_count(std::string_view text);

// Prints the quantity exactly, in the largest unit that keeps the number at or above 1.
std::string quantity_to_text(double base_units, const Dimension& dimension);
// Prints the quantity for reading, with `digits` significant digits and the same choice of unit.
std::string quantity_to_brief(double base_units, const Dimension& dimension, int digits);
std::string count_to_brief(double count, int digits = 3);

template <int... E>
std::string to_text(Quantity<E...> q) {
  return quantity_to_text(q.base(), {E...});
}
template <int... E>
std::string brief(Quantity<E...> q, int digits = 3) {
  return quantity_to_brief(q.base(), {E...}, digits);
}

// Lists the units accepted for this dimension, for messages: "GB/s, MB/s or Gb/s".
std::string example_units(const Dimension& dimension);

}  // namespace orrery
