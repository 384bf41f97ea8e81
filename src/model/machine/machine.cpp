#include "model/machine/machine.h"

#include <algorithm>
#include <utility>

#include "layers/facility/node_power.h"
#include "layers/facility/rack.h"

namespace orrery::machine {

const Networks& Machine::networks_of(const Fleet& fleet) const {
  return networks[fleet.site_index];
}

const Networks& Machine::main_networks() const {
  for (const Fleet& f : fleets) {
    if (!f.rented()) return networks_of(f);
  }
  return networks.front();
}

const Network& Machine::storage_wires(const Fleet& fleet) const {
  const Networks& here = networks_of(fleet);
  return design().fabric.storage.converged ? here.compute : here.storage;
}

Crossing Machine::crossing_to(const Fleet& fleet, const Tier& tier) const {
  if (fleet.rented() || tier.per_node || !tier.tier->provider.empty()) return {};
  const design::Site* there = find_site(design(), tier.tier->site);
  if (there == nullptr || fleet.site == nullptr || there == fleet.site) return {};
  return {.leaves_site = true, .path = wan_between(design(), fleet.site->name, there->name)};
}

namespace {

// Returns nothing if the power of its nodes or the cooling is unknown.
std::optional<facility::RackFit> rack_of(const Machine& m, const Fleet& f) {
  const auto power = facility::node_power_of(f.node.part, f.accelerator());
  if (!power || f.site == nullptr || m.sites[f.site_index].cooling == nullptr) return std::nullopt;
  return facility::fit_rack({.node_power = power->nameplate,
                             .node_units = static_cast<double>(f.node.part.rack_units.value_or(0)),
                             .rack_limit = f.site->rack.value_or(Watts(0))},
                            *m.sites[f.site_index].cooling);
}

int hosts_per_rack(const Fleet& f, const std::optional<facility::RackFit>& fit) {
  const int hosts_per_node = f.hosts_per_node();
  if (f.fleet->nodes_per_rack) return *f.fleet->nodes_per_rack * hosts_per_node;
  return std::max(1, fit ? fit->nodes : 1) * hosts_per_node;
}

// A node that is a whole rack may slightly exceed its cooling method's rounded maximum.
Watts rack_limit(const std::optional<facility::RackFit>& fit) {
  if (!fit) return {};
  const bool is_whole = fit->bound == facility::RackBound::whole_rack;
  return fit->limit * (is_whole ? 1 + facility::kWholeRackMargin : 1);
}

}  // namespace

SharedParts shared_parts(const Machine& m, const Fleet& f) {
  const Network& compute = m.networks_of(f).compute;
  const auto fit = rack_of(m, f);
  const LeafSet leaf = leaf_set(compute, f.hosts);
  return {.ports = compute.wanted ? compute_ports(*compute.wanted, f) : 0,
          .hosts_per_leaf = leaf.hosts,
          .leaves = std::max(1, leaf.leaves),
          .hosts_per_rack = hosts_per_rack(f, fit),
          .rack_limit = rack_limit(fit)};
}

BytesPerSecond reading_rate(const Machine& m, const Tier& tier, const Fleet& fleet) {
  const BytesPerSecond rate = m.crossing_to(fleet, tier).capped(tier.read);
  const BytesPerSecond wires = m.storage_wires(fleet).per_node();
  return !tier.per_node && wires > BytesPerSecond(0) ? min(rate, wires) : rate;
}

void size_tiers(Machine& m, const std::vector<TierAsk>& asks) {
  const design::Design& d = m.design();
  m.tiers = build_tiers(d, m.catalog(), m.fleets, asks);
  m.networks = build_networks(d, d.fabric, m.catalog(), m.fleets, m.tiers);
  lay_over(m.tiers, m.models().tiers);
}

Machine lay_out(design::Design design, const Models& models) {
  number_workloads(design);
  Machine m{.wanted = std::make_shared<const design::Design>(std::move(design)), .knows = &models};
  const design::Design& d = m.design();
  m.sites = build_sites(d, m.catalog());
  m.fleets = build_fleets(d, m.catalog());
  m.tiers = build_tiers(d, m.catalog(), m.fleets);
  m.networks = build_networks(d, d.fabric, m.catalog(), m.fleets, m.tiers);
  lay_over(m.tiers, models.tiers);
  for (const Fleet& f : m.fleets) {
    m.failures.push_back(failure_source(f, models, f.hosts));
    add_shared_faults(m.failures.back(), f.fleet->failures, shared_parts(m, f));
  }
  m.ledger = open_ledger(d, m.fleets);
  return m;
}

}  // namespace orrery::machine
