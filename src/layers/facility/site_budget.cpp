#include "layers/facility/site_budget.h"

#include <algorithm>
#include <cmath>

namespace orrery::facility {

SiteBudget site_budget(const SiteBudgetRequest& request) {
  SiteBudget budget;
  budget.it_power = request.site_power / std::max(1.0, request.pue);
  if (request.power_per_node > Watts()) {
    const double fit = (budget.it_power - request.other_it) / request.power_per_node;
    budget.nodes = std::max(0, static_cast<int>(std::floor(std::min(fit + 1e-9, 1e9))));
  }
  budget.headroom = request.site_power - site_draw(request, budget.nodes);
  return budget;
}

Watts site_draw(const SiteBudgetRequest& request, int nodes) {
  return (request.other_it + request.power_per_node * nodes) * std::max(1.0, request.pue);
}

}  // namespace orrery::facility
