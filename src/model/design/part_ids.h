// Which ids a field of the design file may name, and what they are called in messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/fields.h"

namespace orrery::design {

// Sorted; aliases of regions and models among them.
std::vector<std::string> part_ids(const catalog::Catalog& catalog, Part part);
std::string_view noun_of(Part part);  // "switch"

// A region id or alias, a country (ISO 3166 alpha-3, lower case), or `eu` for the member states of
// the European Union.
bool is_residency(std::string_view residency, const catalog::Catalog& catalog);
// Whether what must stay in `residency` may lie in a region; nowhere known is outside.
bool is_inside(std::string_view residency, const catalog::GridRegion* region);

}  // namespace orrery::design
