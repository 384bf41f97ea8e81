// For tests of searches: the shipped catalog and models.
#pragma once

#include "model/machine/known_fixture.h"

namespace orrery::search {

inline const catalog::Catalog& parts_shelf() { return machine::known().catalog(); }

inline const catalog::Catalog& shelf() { return machine::known().catalog(); }

}  // namespace orrery::search
