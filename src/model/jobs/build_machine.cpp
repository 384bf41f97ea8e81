#include "model/jobs/build_machine.h"

#include <algorithm>
#include <utility>

#include "model/jobs/tier_asks.h"

namespace orrery::jobs {

machine::Machine build_machine(design::Design design, const machine::Models& models) {
  machine::Machine m = machine::lay_out(std::move(design), models);
  if (std::ranges::any_of(m.tiers, machine::is_automatic)) {
    const std::vector<machine::TierAsk> asks = asks_of(m);
    if (!asks.empty()) size_tiers(m, asks);
  }
  return m;
}

}  // namespace orrery::jobs
