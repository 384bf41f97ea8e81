// A site of the design with its catalog rows.
#pragma once

#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/design.h"
#include "model/design/indices.h"

namespace orrery::machine {

struct Site {
  design::SiteIndex index;
  const design::Site* site = nullptr;
  std::string path;                                 // "site" or "sites[0]", as the file has it
  const catalog::GridRegion* region = nullptr;      // nullptr if the catalog has none
  const catalog::CoolingMethod* cooling = nullptr;  // nullptr if the catalog has none
  const catalog::SiteHours* hours = nullptr;        // nullptr if the design names none
};

using Sites = IndexedVector<design::SiteIndex, Site>;

Sites build_sites(const design::Design& design, const catalog::Catalog& catalog);

}  // namespace orrery::machine
