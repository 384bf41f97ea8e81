// Any bytes given as a quantity are refused or read, and what was read survives printing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/units.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::parse_count(text);
  const auto first = orrery::parse_any_quantity(text);
  if (!first) return 0;
  const std::string printed = orrery::quantity_to_text(first->base_units, first->dimension);
  const auto second = orrery::parse_any_quantity(printed);
  if (!second || second->base_units != first->base_units || second->dimension != first->dimension) {
    std::abort();
  }
  orrery::quantity_to_brief(first->base_units, first->dimension, 3);
  return 0;
}
