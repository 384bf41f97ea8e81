#include "model/machine/links.h"

#include <algorithm>

#include "core/base/math.h"
#include "model/figures/assumptions.h"

namespace orrery::machine {

BytesPerSecond pcie_rate(int generation) {
  return figures::assumptions::kPcieGen5 * math::exp2(generation - 5);
}

namespace {

fabric::LinkHierarchy link_hierarchy(const Wiring& w,
                                     const fabric::CollectiveParameters& parameters) {
  fabric::LinkHierarchy l;
  const catalog::Accelerator& a = *w.accelerator;
  l.scaleup_rate = a.scaleup_per_direction.value_or(BytesPerSecond(0));
  l.domain = w.domain > 0 ? w.domain : a.scaleup_domain;
  l.scaleup = parameters.scaleup(a.scaleup_link).curve;
  l.scaleup.launch += a.scaleup_extra * 2;  // there and back, for the smallest call
  l.protocol = parameters.protocol;
  if (w.network != catalog::NetworkKind::none && w.accelerators_per_host > 0) {
    l.network = parameters.network(w.network).curve;
    // AMD's library, RCCL, chooses its algorithms differently.
    l.network.has_tree = a.vendor != "AMD" || parameters.rccl_tree;
    l.nics_per_rank = w.nics_per_host / w.accelerators_per_host;
    const BytesPerSecond port = pcie_rate(a.pcie_generation);
    const BytesPerSecond wanted = w.nic_rate * l.nics_per_rank;
    l.nic_rate = l.nics_per_rank > 0 ? min(wanted, port) / l.nics_per_rank : BytesPerSecond(0);
  }
  l.oversubscription = w.oversubscription;
  l.routed = w.routed;
  l.sharp = w.sharp;
  l.in_graph = w.in_graph;
  if (w.torch_timed) l.host_launch = parameters.torch_launch;
  return l;
}

using figures::assumptions::kInNetworkSums;
using figures::assumptions::kUnmeasuredLink;

}  // namespace

Wiring wiring_of(const Fleet& fleet, const Networks& networks) {
  const catalog::Node& part = fleet.node.part;
  const Network& network = networks.compute;
  const bool own_network = !fleet.rented() && network.topology;
  Wiring w{.accelerator = fleet.accelerator(),
           .domain = std::min(fleet.accelerator()->scaleup_domain, part.accelerators),
           .accelerators_per_host = std::max(1, fleet.accelerators_per_host)};
  const double nics = part.compute_nics;
  w.nics_per_host = own_network ? compute_ports(*network.wanted, fleet)
                                : nics * w.accelerators_per_host / std::max(1, part.accelerators);
  w.nic_rate = own_network ? compute_port_rate(network, fleet) : part.nic_rate;
  // Ultra Ethernet sprays packets over RoCE's wires; no measured collectives are published for it.
  w.unmeasured = own_network && network.wanted->protocol == design::Protocol::ultra_ethernet;
  const bool lossy_wires = network.is_roce || w.unmeasured;
  w.network = lossy_wires ? catalog::NetworkKind::roce : catalog::NetworkKind::infiniband;
  w.oversubscription = network.wanted->oversubscription;
  if (own_network && network.routed) {
    w.routed = {.tree = network.routed,
                .hosts_per_domain = static_cast<double>(w.domain) / w.accelerators_per_host,
                .scatter = network.is_scattered ? 1.0 : 0.0};
  }
  w.sharp = network.wanted->sharp;
  return w;
}

workload::GroupShape packed_group(int ranks, int domain) {
  const int most = std::max(1, std::min(ranks, domain));
  for (int g = most; g > 1; --g) {
    // If an even split leaves half of each domain idle, an uneven one is better.
    if (ranks % g == 0 && 2 * g > most) return {.ranks = ranks, .per_domain = g};
  }
  return {.ranks = ranks, .per_domain = most};
}

Links::Links(const Wiring& wiring, const fabric::CollectiveParameters& parameters)
    : parameters_(&parameters),
      built_(link_hierarchy(wiring, parameters)),
      fitted_(!wiring.unmeasured && parameters.scaleup(wiring.accelerator->scaleup_link).fitted &&
              (wiring.network == catalog::NetworkKind::none ||
               parameters.network(wiring.network).fitted)) {}

CollectivePrediction Links::predict(const workload::CollectiveCall& call,
                                    fabric::CollectiveAlgorithm algorithm) const {
  CollectivePrediction p;
  p.detail = time(call, algorithm);
  const bool network = p.detail.nic_rate > BytesPerSecond(0);
  const fabric::CollectiveParameters::Interval i = parameters_->interval(network, call.bytes);
  const bool in_network = p.detail.algorithm == fabric::CollectiveAlgorithm::sharp;
  const bool measured = fitted_ && !in_network;
  const double wider = !fitted_ ? kUnmeasuredLink : in_network ? kInNetworkSums : 1;
  const double t = p.detail.time.base();
  // What routing leaves is uncertain by itself: its bounds widen the interval of the parameters.
  const auto off = [&](fabric::ShareBound bound) {
    const bool is_even = !network || !built_.routed.tree || built_.routed.tree->is_even();
    return is_even ? 0 : math::log(at(bound).time(call, algorithm).time.base() / t);
  };
  const double faster = std::max(0.0, -off(fabric::ShareBound::high));
  const double slower = std::max(0.0, off(fabric::ShareBound::low));
  p.seconds = {.value = t,
               .low = t * math::exp(-math::hypot(i.low * wider, faster)),
               .high = t * math::exp(math::hypot(i.high * wider, slower)),
               .basis = measured ? Basis::fitted : Basis::assumed,
               .reference = "docs/models/collectives.md"};
  return p;
}

Links Links::at(fabric::ShareBound bound) const {
  Links other = *this;
  other.built_.routed.bound = bound;
  return other;
}

Links Links::left(double share) const {
  Links less = *this;
  less.built_.network_free = share;
  return less;
}

}  // namespace orrery::machine
