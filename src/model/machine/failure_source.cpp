#include "model/machine/failure_source.h"

#include <algorithm>

#include "layers/cost/rental.h"
#include "model/figures/assumptions.h"

namespace orrery::machine {
namespace {

using figures::assumptions::kNodeMtbf;
using figures::assumptions::kNodeOfRates;
using figures::assumptions::kSpotTaken;

// Returns how often the market takes one node back.
PerSecond spot_rate_of(const design::Rent& rent, const catalog::Catalog& catalog,
                       const std::string& accelerator) {
  double share = kSpotTaken;
  for (const catalog::SpotBand& band : catalog.spot_bands) {
    if (band.accelerator_id == accelerator && band.low_month && band.high_month) {
      share = (*band.low_month + *band.high_month) / 2;
    }
  }
  return cost::spot_hazard(rent.interruption.value_or(share));
}

}  // namespace

FailureSource failure_source(const Fleet& fleet, const Models& models, int hosts) {
  const design::Failures& own = fleet.fleet->failures;
  FailureSource s{.base = 1.0 / kNodeMtbf, .reference = "assumed: one failure in 264 node-days"};
  const double nodes_of_host = std::max(1, fleet.accelerators_per_host) / kNodeOfRates;
  const failure::PublishedRate published =
      failure::published_rate(models.failure_rates, hosts * nodes_of_host);
  if (published.per_node > PerSecond(0)) {
    s.base = published.per_node * nodes_of_host;
    s.reference = "calibration/node_failure_rates: published runs by size";
    s.low = 1 / published.factor;
    s.high = published.factor;
  }
  if (own.node_mtbf) {
    s.base = 1.0 / *own.node_mtbf;
    s.reference = "the design";
    s.own = true;
    s.high = failure::own_rate_factor(own.observed.value_or(0));
    s.low = 1 / s.high;
  }
  s.shape = own.shape.value_or(1);
  s.rate = failure::mean_node_rate(
      s.base, {.share = own.lemon_share.value_or(0), .multiplier = own.lemon_factor.value_or(1)});
  const auto& rent = fleet.fleet->rent;
  if (rent && rent->contract == catalog::Contract::spot && fleet.accelerator()) {
    s.spot = spot_rate_of(*rent, models.catalog(), fleet.accelerator()->id);
    s.rate += s.spot;
  }
  return s;
}

PerSecond FailureSource::host_rate() const {
  PerSecond sum = base + links + storms;
  for (const SharedFault& f : shared) sum += f.rate;
  return sum;
}

PerSecond FailureSource::shared_rate(int hosts) const {
  PerSecond sum;
  for (const SharedFault& f : shared) {
    const int parts = (hosts + f.hosts - 1) / f.hosts;
    sum += f.rate * parts;
  }
  return sum;
}

void add_shared_faults(FailureSource& s, const design::Failures& own, const SharedParts& parts) {
  if (own.link_mtbf) s.links = static_cast<double>(parts.ports) / *own.link_mtbf;
  if (own.storm_mtbf) s.storms = static_cast<double>(parts.ports) / *own.storm_mtbf;
  s.rate += s.links + s.storms;
  if (own.leaf_mtbf) {
    s.shared.push_back({.part = SharedPart::leaf_switch,
                        .rate = std::max(1, parts.leaves) * (1.0 / *own.leaf_mtbf),
                        .hosts = std::max(1, parts.hosts_per_leaf)});
  }
  if (own.pdu_mtbf) {
    s.shared.push_back(
        {.part = SharedPart::power_unit,
         .rate = 1.0 / *own.pdu_mtbf,
         .hosts = std::max(1, parts.hosts_per_rack * own.racks_per_pdu.value_or(1))});
  }
}

}  // namespace orrery::machine
