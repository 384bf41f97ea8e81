// Combines several sites into one bill. For the price of electricity, a site's weight is its draw
// at the meter; for the hall, it is the power it contracts.
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
  double owned_share = 0;  // share of the nameplate power that is in owned halls
};

// Returns the last site's price if no site draws power, and an empty SiteMix if there are no sites.
SiteMix mix_of(std::span<const SiteBill> sites);

}  // namespace orrery::cost
