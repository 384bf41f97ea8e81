// Values as the text of the design file; the reader reads each back exactly.
#pragma once

#include <string>

#include "core/base/units.h"
#include "model/design/fields.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

// In the field's own unit where that is about as short as the best one: 400 Gb/s, not 50 GB/s.
std::string quantity_text(double base_units, const Dimension& dimension,
                          const design::Field& field);
std::string number_text(double value, const design::Field& field);

// Block style, two blanks a level; lists of scalars on one line.
std::string yaml_text(const YamlNode& root);
// All on one line: { to: [node-nvme, hot], keep: { hot: 3 } }.
std::string yaml_line(const YamlNode& node);

}  // namespace orrery::design_text
