// The machine as it would stand: a design with its catalog rows, counted out and wired up.
//
//   Design + Models -> sites, fleets, networks, tiers, failure sources, ledger
// plan/ reviews it in closed form and twin/ runs it in time; both start here, so that neither
// counts a node or a link in a way of its own. A machine is built once and never changed: whoever
// wants another design builds another machine. It owns its design, and copies share it; the Models
// it was built from must outlive it.
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
  Sites sites;  // in the design's order, as fleets and tiers
  Fleets fleets;
  IndexedVector<design::SiteIndex, Networks> networks;
  Tiers tiers;
  IndexedVector<design::FleetIndex, FailureSource> failures;  // of a host
  Ledger ledger;

  const design::Design& design() const { return *wanted; }
  const Models& models() const { return *knows; }
  const catalog::Catalog& catalog() const { return knows->catalog(); }
  const FailureSource& failures_of(const Fleet& fleet) const { return failures[fleet.index]; }
  const FleetBook& book_of(const Fleet& fleet) const { return ledger.fleets[fleet.index]; }
  // Of the site where a fleet stands; of the first that has machines of its own.
  const Networks& networks_of(const Fleet& fleet) const;
  const Networks& main_networks() const;
  // The wires between a fleet's nodes and the shared tiers: the storage network, or the compute
  // network where they are one.
  const Network& storage_wires(const Fleet& fleet) const;
  // The way between a fleet and a tier that stands in another site.
  Crossing crossing_to(const Fleet& fleet, const Tier& tier) const;
};

// What a host of the fleet hangs on.
SharedParts shared_parts(const Machine& machine, const Fleet& fleet);

// Returns the rate at which a host of the fleet reads from a tier: the tier's own, the line's and
// the host's wires'.
BytesPerSecond reading_rate(const Machine& machine, const Tier& tier, const Fleet& fleet);

// Lays out all but what depends on the workloads: tiers whose servers the design leaves open have
// their least. jobs::build_machine builds the whole machine.
Machine lay_out(design::Design design, const Models& models);
// Builds tiers whose servers the design leaves open, and the networks that join them, for what the
// workloads ask of them.
void size_tiers(Machine& machine, const std::vector<TierAsk>& asks);

}  // namespace orrery::machine
