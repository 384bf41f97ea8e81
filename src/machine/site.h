// A site of the design with its catalog rows.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "design/design.h"

namespace orrery {

struct Site {
  const design::Site* site = nullptr;
  std::string path;                        // "site" or "sites[0]", as the file has it
  const GridRegion* region = nullptr;      // nullptr where the catalog has none
  const CoolingMethod* cooling = nullptr;  // likewise
};

std::vector<Site> build_sites(const design::Design& design, const Catalog& catalog);

}  // namespace orrery
