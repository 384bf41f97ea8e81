// The catalog that the tests of this room read designs against, loaded once.
#pragma once

#include "core/catalog/catalog.h"

namespace orrery::design {

inline const catalog::Catalog& catalog() {
  static const catalog::Catalog all = catalog::load_embedded_catalog().value();
  return all;
}

}  // namespace orrery::design
