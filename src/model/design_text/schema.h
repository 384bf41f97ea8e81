// What editors and people are told of the file format; both are made from design_shape().
#pragma once

#include <string>

#include "core/catalog/catalog.h"

namespace orrery::design_text {

// JSON Schema, draft 2020-12, with the catalog's ids, for completion and checks while typing.
std::string design_schema(const catalog::Catalog& catalog);
// The reference page docs/guide/design-file.md, whole.
std::string design_reference();

}  // namespace orrery::design_text
