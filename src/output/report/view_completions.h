// What may stand at each field of a design file, for an editor: every path with its meaning, and
// the values where they are a closed set or ids of the catalog.
//
// Made from design_shape() and the catalog, as the JSON Schema is; the schema has the ids, this has
// a line about each.
#pragma once

#include <string>

#include "core/catalog/catalog.h"

namespace orrery::report {

// Paths as "fleet[].node", "workloads[].train.checkpoint.every", in the order of the file.
std::string completions_json(const catalog::Catalog& catalog);

}  // namespace orrery::report
