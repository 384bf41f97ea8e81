// The machine that a design describes: the design with its catalog rows, counted and wired.
//
//   Design + Models -> sites, fleets, networks, tiers, failure sources, ledger
// plan/ reviews it in closed form and twin/ simulates it; both start here, so neither counts a node
// or a link on its own. A machine is built once and never changed: another design needs another
// machine. It owns its design, and copies share it; the Models that it was built from must outlive
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/machine/failure_source.h"
#include "model/machine/fleet.h"
#include "model/machine/ledger.h"
#include "model/machine/models.h"
#include "model/machine/network.h"
#include "model/machine/site.h"
#include "model/machine/tier.h"
#include "model/machine/wan.h"

namespace orrery::machine {

struct Machine {
  std::shared_ptr<const design::Design> wanted;
  const Models* knows = nullptr;
  Sites sites;  // in the design's order, like fleets and tiers
  Fleets fleets;
  IndexedVector<design::SiteIndex, Networks> networks;
  Tiers tiers;
  IndexedVector<design::FleetIndex, FailureSource> failures;  // per host
  Ledger ledger;

  const design::Design& design() const { return *wanted; }
  const Models& models() const { return *knows; }
  const catalog::Catalog& catalog() const { return knows->catalog(); }
  const FailureSource& failures_of(const Fleet& fleet) const { return failures[fleet.index]; }
  const FleetBook& book_of(const Fleet& fleet) const { return ledger.fleets[fleet.index]; }
  // Returns the networks of the fleet's site; for a rented fleet, those of the first site that has
  // machines of its own.
  const Networks& networks_of(const Fleet& fleet) const;
  const Networks& main_networks() const;
  // Returns the network between a fleet's nodes and the shared tiers: the storage network, or the
  // compute network if storage shares it.
  const Network& storage_wires(const Fleet& fleet) const;
  // Returns the path between a fleet and a tier in another site.
  Crossing crossing_to(const Fleet& fleet, const Tier& tier) const;
};

// Returns the parts that hosts of the fleet share.
SharedParts shared_parts(const Machine& machine, const Fleet& fleet);

// Returns the rate at which a host of the fleet reads from a tier: the least of the tier's, the
// line's and the host's network rates.
BytesPerSecond reading_rate(const Machine& machine, const Tier& tier, const Fleet& fleet);

// Lays out everything that does not depend on the workloads: tiers of open size get the fewest
// servers. jobs::build_machine builds the whole machine.
Machine lay_out(design::Design design, const Models& models);
// Builds the tiers of open size, and the networks that join them, for what the workloads need.
void size_tiers(Machine& machine, const std::vector<TierAsk>& asks);

}  // namespace orrery::machine
