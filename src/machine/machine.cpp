#include "machine/machine.h"

#include <utility>

namespace orrery::machine {

std::size_t Machine::index_of(const Fleet& fleet) const {
  return static_cast<std::size_t>(&fleet - fleets.data());
}

const Networks& Machine::networks_of(const Fleet& fleet) const {
  for (const Networks& n : networks) {
    if (n.site == fleet.site) return n;
  }
  return networks.front();
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

Machine build_machine(design::Design design, const Models& models) {
  Machine m{.wanted = std::make_shared<const design::Design>(std::move(design)), .knows = &models};
  const design::Design& d = m.design();
  m.sites = build_sites(d, m.catalog());
  m.fleets = build_fleets(d, m.catalog());
  m.tiers = build_tiers(d, m.catalog(), m.fleets);
  m.networks = build_networks(d, d.fabric, m.catalog(), m.fleets, m.tiers);
  lay_over(m.tiers, models.tiers);
  for (const Fleet& f : m.fleets) m.failures.push_back(failure_source(f, models, f.hosts));
  m.ledger = open_ledger(d, m.fleets);
  return m;
}

}  // namespace orrery::machine
