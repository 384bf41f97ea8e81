// A change of a design: the text to put at a path of its file.
//
// Findings offer changes, spends try them, the console sends them and edit_text applies them: there
// is no other way to say that a design should differ. The texts below are written as the file has
// them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/quantity.h"
#include "core/base/units.h"

namespace orrery::design_text {

struct Change {
  // "site.cooling", "fleet[0].count", "workloads[0].train.checkpoint.every". `sites[0]` finds
  // `site` where the file has a single one, and the other way round.
  std::string path;
  std::string value;  // YAML of one line; empty takes the key or the entry away
};

// Two significant digits, not below the amount: 12.83 TB is "13 TB".
std::string rounded_up(double base_units, const Dimension& dimension);
template <int... E>
std::string at_least(Quantity<E...> q) {
  return rounded_up(q.base(), {E...});
}

// A name as the file writes it, quoted where YAML would misread it; and "[node-nvme, hot]".
std::string name_text(std::string_view name);
std::string list_text(std::span<const std::string> names);

}  // namespace orrery::design_text
