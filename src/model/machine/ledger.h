// Which workload holds how much of each fleet, and for how long: the one ledger that cost, power,
// spares and queues read.
//
//   held     nodes held all the time: given by number, services, runs without an end
//   in turn  runs and batches that need nodes for a share of the time follow one another, and need
//            max(largest, sum of nodes x share) of what is not held
//   booked   held + in turn;   idle = count - booked;   over = booked - count
//   used     sum of needed x share: the node time that workloads need
//
// open_ledger books what workloads ask for by number; a review adds what they turn out to need. A
// service in zones books in each zone's fleet. Nodes are not whole numbers here: a service of two
// accelerators holds a quarter of a node of eight. Wrong if a gang in turn cannot be interrupted:
// its unused time is then not available to others.
#pragma once

#include <cstdint>
#include <vector>

#include "model/design/design.h"
#include "model/machine/fleet.h"

namespace orrery::machine {

struct Booking {
  const design::Workload* workload = nullptr;
  double nodes = 0;    // held while it runs
  double needed = 0;   // part of `nodes` that would suffice
  double share = 1;    // share of time in which it runs
  bool given = false;  // given by number in the design: kept for it even while it does not run

  bool held() const { return given || share >= 1; }
};

struct FleetBook {
  int count = 0;                  // nodes in service
  std::vector<Booking> bookings;  // given ones first, in the design's order

  double asked() const;  // nodes of all bookings that are given by number
  double held() const;
  double in_turn() const;
  double booked() const { return held() + in_turn(); }
  double idle() const;
  double over() const;
  double used() const;
  // Returns the nodes held by workloads other than this one.
  double held_beside(const design::Workload& workload) const;
  const Booking* find(const design::Workload& workload) const;
  // Returns the booking that gives way first: the largest given one; the first of equals.
  const Booking* largest_given() const;
};

struct Ledger {
  IndexedVector<design::FleetIndex, FleetBook> fleets;
};

Ledger open_ledger(const design::Design& design, const Fleets& fleets);

// Adds a booking; for one that was given by number, sets what it needs and for how long.
void book(FleetBook& fleet, const Booking& booking);

// Returns accelerators per node, or hosts if it has none: the unit in which cost and use are
// counted.
double units_per_node(const Fleet& fleet);

}  // namespace orrery::machine
