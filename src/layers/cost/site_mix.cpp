#include "layers/cost/site_mix.h"

#include "core/base/statistics.h"

namespace orrery::cost {

SiteMix mix_of(std::span<const SiteBill> sites) {
  SiteMix mix;
  WeightedMean<double> pue;
  WeightedMean<UsdPerJoule> price;
  WeightedMean<double> owned;
  for (const SiteBill& s : sites) {
    mix.mean += s.mean;
    mix.nameplate += s.nameplate;
    pue.add(s.pue, s.mean.base());
    price.add(s.price, s.pue * s.mean.base());
    owned.add(s.owns_hall ? 1 : 0, s.nameplate.base());
    mix.price = s.price;
    const bool is_same = mix.reference.empty() || mix.reference == s.reference;
    mix.reference = is_same ? s.reference : "the sites' own prices, weighted by draw";
  }
  mix.pue = pue.value_or(1);
  mix.price = price.value_or(mix.price);
  mix.owned_share = owned.value_or(0);
  return mix;
}

}  // namespace orrery::cost
