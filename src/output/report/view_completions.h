// The completions for an editor of design files: every path with its meaning, and its values if
// they are a closed set or ids of the catalog.
//
// Made from design_shape() and the catalog, as the JSON Schema is. The schema has the ids; this has
// a line about each.
#pragma once

#include <string>

#include "core/catalog/catalog.h"

namespace orrery::report {

// Returns paths such as "fleet[].node" and "workloads[].train.checkpoint.every", in the order of
// the file.
std::string completions_json(const catalog::Catalog& catalog);

}  // namespace orrery::report
