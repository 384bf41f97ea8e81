// What draws power at a site besides the hosts in time: switches and storage, which draw the same
// all day, and what chain and cooling are sized for.
#pragma once

#include <cstddef>

#include "facility/site_power.h"
#include "machine/machine.h"

namespace orrery::machine {

struct SiteLoad {
  const Site* site = nullptr;
  Watts hosts_nameplate;  // of owned fleets
  Watts constant;         // networks and storage
  std::string climate;

  // The site's chain and plant at a mean IT draw.
  facility::SitePowerRequest request(Watts it_mean) const;
};

SiteLoad load_of(const Machine& machine, std::size_t site);

}  // namespace orrery::machine
