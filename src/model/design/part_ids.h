// Which ids a field of the design file may name, and what messages call them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/fields.h"

namespace orrery::design {

// Returns the ids sorted, with aliases of regions and models.
std::vector<std::string> part_ids(const catalog::Catalog& catalog, Part part);
std::string_view noun_of(Part part);  // "switch"

// Returns true for a region id or alias, a country (ISO 3166 alpha-3, lower case), or `eu` for the
// member states of the European Union.
bool is_residency(std::string_view residency, const catalog::Catalog& catalog);
// Returns true if data that must stay in `residency` may be stored in the region. An unknown region
// is outside.
bool is_inside(std::string_view residency, const catalog::GridRegion* region);

}  // namespace orrery::design
