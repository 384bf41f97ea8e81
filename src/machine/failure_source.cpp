#include "machine/failure_source.h"

#include <algorithm>

#include "cost/rental.h"

namespace orrery::machine {
namespace {

// Between the published fleets (Llama 3: 3.79, Meta RSC: 2.34 to 6.50 failures per 1000 node-days);
// the largest and best documented run is the default.
constexpr const char* kDefaultRate = "llama3";

// How often the market takes one node back.
PerSecond spot_rate_of(const design::Rent& rent, const catalog::Catalog& catalog,
                       const std::string& accelerator) {
  double share = 0.10;  // where no band is published: the middle of those that are
  for (const catalog::SpotBand& band : catalog.spot_bands) {
    if (band.accelerator_id == accelerator && band.low_month && band.high_month) {
      share = (*band.low_month + *band.high_month) / 2;
    }
  }
  return cost::spot_hazard(rent.interruption.value_or(share));
}

}  // namespace

FailureSource failure_source(const Fleet& fleet, const Models& models) {
  const design::Failures& own = fleet.fleet->failures;
  FailureSource s{.base = 1.0 / days(264), .reference = "assumed: one failure in 264 node-days"};
  if (const failure::NodeFailureRate* published = find_rate(models.failure_rates, kDefaultRate)) {
    s.base = scaled_to_host(*published, std::max(1, fleet.accelerators_per_host));
    s.reference = "calibration/node_failure_rates: " + published->source;
    s.low = published->low / published->per_node;
    s.high = published->high / published->per_node;
  }
  if (own.node_mtbf) {
    s.base = 1.0 / *own.node_mtbf;
    s.reference = "the design";
    s.low = s.high = 1;
  }
  s.rate = failure::mean_node_rate(
      s.base, {.share = own.lemon_share.value_or(0), .multiplier = own.lemon_factor.value_or(1)});
  const auto& rent = fleet.fleet->rent;
  if (rent && rent->contract == catalog::Contract::spot && fleet.accelerator()) {
    s.spot = spot_rate_of(*rent, models.catalog(), fleet.accelerator()->id);
    s.rate += s.spot;
  }
  return s;
}

}  // namespace orrery::machine
