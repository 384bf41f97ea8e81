// The JSON Schema and the reference page of the file format; both are generated from
// design_shape().
#pragma once

#include <string>

#include "core/catalog/catalog.h"

namespace orrery::design_text {

// Returns the JSON Schema, draft 2020-12, with the catalog's ids, for completion and checks while
// typing.
std::string design_schema(const catalog::Catalog& catalog);
// Returns the whole reference page docs/guide/design-file.md.
std::string design_reference();

}  // namespace orrery::design_text
