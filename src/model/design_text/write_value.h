// Writes values as text of the design file; the reader reads each back exactly.
#pragma once

#include <string>

#include "core/base/units.h"
#include "model/design/fields.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

// Writes a quantity in the field's own unit unless another unit is much shorter: 400 Gb/s, not 50
// GB/s.
std::string quantity_text(double base_units, const Dimension& dimension,
                          const design::Field& field);
std::string number_text(double value, const design::Field& field);

// Writes block style, two blanks per level; lists of scalars on one line.
std::string yaml_text(const YamlNode& root);
// Writes everything on one line: { to: [node-nvme, hot], keep: { hot: 3 } }.
std::string yaml_line(const YamlNode& node);

}  // namespace orrery::design_text
