// How much IT fits under a site's power.
//
//   IT that fits    = site power / PUE
//   nodes that fit  = floor((IT that fits - other IT) / node power)
//
// `other IT` is IT that does not scale with the nodes (storage, management); what does scale (their
// switches and optics) belongs in power per node. A method with a higher PUE reduces the fleet that
// fits. Node power is a choice: nameplate for a contract, sustained peak if caps guard the
// difference.
#pragma once

#include "core/base/quantity.h"

namespace orrery::facility {

struct SiteBudgetRequest {
  Watts site_power;
  double pue = 1;
  Watts other_it;
  Watts power_per_node;
};

struct SiteBudget {
  Watts it_power;
  int nodes = 0;
  Watts headroom;  // the site's unused power with that many nodes
};

SiteBudget site_budget(const SiteBudgetRequest& request);

// Returns the site's draw with `nodes` nodes.
Watts site_draw(const SiteBudgetRequest& request, int nodes);

}  // namespace orrery::facility
