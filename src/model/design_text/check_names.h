// Checks between the fields of a design: names that must exist in the file, fields that belong
// together, files that the design names.
#pragma once

#include "model/design/design.h"
#include "model/design_text/value_reader.h"

namespace orrery::design_text {

// Reports faults through `values`; reads the config.json files that the design names into
// design.local_models.
void check_names(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file);

}  // namespace orrery::design_text
