// Names that people use for words of the design file and ids of the catalog, such as "weka" for
// parallel-fs and "frankfurt" for gcp-europe-west3, so that an error can name the right one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/catalog.h"

namespace orrery::design_text {

// Returns the known word that `written` probably means: one that differs by a slip of the keyboard,
// or one that has `written` as another name. `known` are the words that the place accepts.
std::optional<std::string> meant_by(std::string_view written,
                                    const std::vector<std::string>& known);

// Returns the first region whose name contains `written` as a word, without regard to case;
// nullptr if there is none.
const catalog::GridRegion* region_named(const catalog::Catalog& catalog, std::string_view written);

}  // namespace orrery::design_text
