// Who holds which nodes: for each fleet, the workloads that ask for nodes of it by number.
//
// A workload without a number takes what is left or what it needs, which only a review or a run
// can tell; a service in zones asks in each zone and is not in one fleet's book.
#pragma once

#include <cstdint>
#include <vector>

#include "design/design.h"
#include "machine/fleet.h"

namespace orrery::machine {

struct Booking {
  const design::Workload* workload = nullptr;
  int nodes = 0;
};

struct FleetBook {
  std::vector<Booking> bookings;  // in the design's order

  std::int64_t nodes() const;      // of all bookings
  const Booking* largest() const;  // the first of equals; nullptr where there is none
};

struct Ledger {
  std::vector<FleetBook> fleets;  // one a fleet of the machine
};

Ledger open_ledger(const design::Design& design, const std::vector<Fleet>& fleets);

}  // namespace orrery::machine
