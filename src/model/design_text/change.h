// A change of a design: the text to put at a path of its file.
//
// Findings offer changes, spends try them, the console sends them and edit_text applies them: a
// difference between designs is always expressed like this. The texts below are written as in the
// file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/quantity.h"
#include "core/base/units.h"

namespace orrery::design_text {

struct Change {
  // "site.cooling", "fleet[0].count", "workloads[0].train.checkpoint.every". `sites[0]` also finds
  // `site` if the file has a single one, and the other way round.
  std::string path;
  std::string value;  // YAML on one line; empty removes the key or the entry
};

// Rounds up to two significant digits, not below the amount: 12.83 TB becomes "13 TB".
std::string rounded_up(double base_units, const Dimension& dimension);
template <int... E>
std::string at_least(Quantity<E...> q) {
  return rounded_up(q.base(), {E...});
}

// Writes a name as in the file, quoted if YAML would misread it; the second form writes a list:
// "[node-nvme, hot]".
std::string name_text(std::string_view name);
std::string list_text(std::span<const std::string> names);

}  // namespace orrery::design_text
