// The canonical text of a design: fields in the order of the table, defaults left out. Equal
// designs have equal texts, and read_design(write_design(d)) == d.
#pragma once

#include <string>

#include "design/design.h"

namespace orrery::design {

std::string write_design(const Design& design);
// SHA-256 of the canonical text: comments, the order of keys and spelt-out defaults do not matter.
std::string design_digest(const Design& design);

}  // namespace orrery::design
