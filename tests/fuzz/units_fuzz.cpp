// The quantity parser never crashes, and what it accepts is written and read back to the bit.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/units.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto count = orrery::parse_count(text); count && !std::isfinite(*count)) std::abort();
  const auto parsed = orrery::parse_any_quantity(text);
  if (!parsed) return 0;
  if (!std::isfinite(parsed->base_units)) std::abort();
  // "4 B/W" is a product (B s/J), which has no unit in this grammar.
  int numerators = 0;
  for (const int exponent : parsed->dimension) numerators += exponent > 0 ? exponent : 0;
  if (numerators > 1) return 0;
  const auto printed = orrery::quantity_to_text(parsed->base_units, parsed->dimension);
  const auto again = orrery::parse_any_quantity(printed);
  if (!again || again->base_units != parsed->base_units || again->dimension != parsed->dimension) {
    std::abort();
  }
  return 0;
}
