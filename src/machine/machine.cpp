#include "machine/machine.h"

#include <utility>

namespace orrery::machine {

std::size_t Machine::index_of(const Fleet& fleet) const {
  return static_cast<std::size_t>(&fleet - fleets.data());
}

const Network& Machine::storage_wires() const {
  return design().fabric.storage.converged ? networks.compute : networks.storage;
}

Machine build_machine(design::Design design, const Models& models) {
  Machine m{.wanted = std::make_shared<const design::Design>(std::move(design)), .knows = &models};
  const design::Design& d = m.design();
  m.sites = build_sites(d, m.catalog());
  m.fleets = build_fleets(d, m.catalog());
  m.networks = build_networks(d, m.catalog(), m.fleets);
  m.tiers = build_tiers(d, m.catalog(), m.fleets);
  lay_over(m.tiers, models.tiers);
  for (const Fleet& f : m.fleets) m.failures.push_back(failure_source(f, models));
  m.ledger = open_ledger(d, m.fleets);
  return m;
}

}  // namespace orrery::machine
