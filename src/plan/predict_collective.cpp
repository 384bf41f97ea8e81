#include "plan/predict_collective.h"

#include <algorithm>

#include "base/math.h"

namespace orrery {
namespace {

// Usable rate of a x16 port, one direction.
BytesPerSecond pcie_rate(int generation) {
  const double gen5 = 55.4;
  return gbytes_per_s(gen5 * math::exp2(generation - 5));
}

}  // namespace

LinkHierarchy link_hierarchy(const CollectiveMachine& m, const CollectiveParameters& parameters) {
  LinkHierarchy l;
  const Accelerator& a = *m.accelerator;
  l.scaleup_rate = a.scaleup_per_direction.value_or(BytesPerSecond(0));
  l.domain = m.domain > 0 ? m.domain : a.scaleup_domain;
  l.scaleup = parameters.scaleup(a.scaleup_link).curve;
  l.protocol = parameters.protocol;
  if (m.network != NetworkKind::none && m.accelerators_per_host > 0) {
    l.network = parameters.network(m.network).curve;
    l.network.has_tree = !m.rccl || parameters.rccl_tree;
    l.nics_per_rank = m.nics_per_host / m.accelerators_per_host;
    const BytesPerSecond port = pcie_rate(a.pcie_generation);
    const BytesPerSecond wanted = m.nic_rate * l.nics_per_rank;
    l.nic_rate = l.nics_per_rank > 0 ? min(wanted, port) / l.nics_per_rank : BytesPerSecond(0);
  }
  l.oversubscription = m.oversubscription;
  l.network_free = m.network_free;
  l.sharp = m.sharp;
  l.in_graph = m.in_graph;
  if (m.torch_timed) l.host_launch = parameters.torch_launch;
  return l;
}

GroupShape packed_group(int ranks, int domain) {
  const int most = std::max(1, std::min(ranks, domain));
  for (int g = most; g > 1; --g) {
    // A split that leaves half of each domain idle is no packing: better uneven.
    if (ranks % g == 0 && 2 * g > most) return {.ranks = ranks, .per_domain = g};
  }
  return {.ranks = ranks, .per_domain = most};
}

bool is_fitted(const CollectiveMachine& m, const CollectiveParameters& parameters) {
  return parameters.scaleup(m.accelerator->scaleup_link).fitted &&
         (m.network == NetworkKind::none || parameters.network(m.network).fitted);
}

CollectivePrediction predict_collective(const LinkHierarchy& links, const CollectiveCall& call,
                                        const CollectiveParameters& parameters,
                                        CollectiveAlgorithm algorithm) {
  CollectivePrediction p;
  p.detail = collective_time(links, call, algorithm);
  const bool network = p.detail.nic_rate > BytesPerSecond(0);
  const CollectiveParameters::Interval i = parameters.interval(network, call.bytes);
  const double t = p.detail.time.base();
  p.seconds = {.value = t,
               .low = t * math::exp(-i.low),
               .high = t * math::exp(i.high),
               .basis = Basis::fitted,
               .reference = "docs/models/collectives.md"};
  return p;
}

}  // namespace orrery
