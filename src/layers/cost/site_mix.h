// Several sites as one bill: each counts by what it draws, at the meter where the price of
// electricity is concerned, and by what it contracts where the hall is.
#pragma once

#include <span>
#include <string>

#include "core/base/quantity.h"

namespace orrery::cost {

struct SiteBill {
  Watts mean;
  Watts nameplate;
  double pue = 1;
  UsdPerJoule price;
  std::string reference;  // where the price comes from
  bool owns_hall = false;
};

struct SiteMix {
  Watts mean;
  Watts nameplate;
  double pue = 1;
  UsdPerJoule price;
  std::string reference;
  double owned_share = 0;  // of the nameplate, in halls of one's own
};

// The last one's price where none draws anything; nothing where there is none.
SiteMix mix_of(std::span<const SiteBill> sites);

}  // namespace orrery::cost
