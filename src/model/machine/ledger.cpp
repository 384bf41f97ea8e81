#include "model/machine/ledger.h"

#include <algorithm>

namespace orrery::machine {
namespace {

// Shares of accelerators add up to whole nodes only up to rounding.
constexpr double kRounding = 1e-9;

}  // namespace

double FleetBook::asked() const {
  double sum = 0;
  for (const Booking& b : bookings) sum += b.given ? b.nodes : 0;
  return sum;
}

double FleetBook::held() const {
  double sum = 0;
  for (const Booking& b : bookings) sum += b.held() ? b.nodes : 0;
  return sum;
}

double FleetBook::in_turn() const {
  double largest = 0;
  double node_time = 0;
  for (const Booking& b : bookings) {
    if (b.held()) continue;
    largest = std::max(largest, b.nodes);
    node_time += b.nodes * b.share;
  }
  return std::max(largest, node_time);
}

double FleetBook::idle() const {
  const double left = count - booked();
  return left > kRounding * count ? left : 0;
}

double FleetBook::over() const {
  const double more = booked() - count;
  return more > kRounding * count ? more : 0;
}

double FleetBook::used() const {
  double sum = 0;
  for (const Booking& b : bookings) sum += std::min(b.needed, b.nodes) * std::min(1.0, b.share);
  return std::min(sum, static_cast<double>(count));
}

double FleetBook::held_beside(const design::Workload& workload) const {
  double sum = 0;
  for (const Booking& b : bookings) sum += b.held() && b.workload != &workload ? b.nodes : 0;
  return sum;
}

const Booking* FleetBook::find(const design::Workload& workload) const {
  const auto at = std::ranges::find(bookings, &workload, &Booking::workload);
  return at == bookings.end() ? nullptr : &*at;
}

const Booking* FleetBook::largest_given() const {
  const Booking* largest = nullptr;
  for (const Booking& b : bookings) {
    if (b.given && (largest == nullptr || b.nodes > largest->nodes)) largest = &b;
  }
  return largest;
}

Ledger open_ledger(const design::Design& design, const Fleets& fleets) {
  Ledger ledger;
  for (const Fleet& f : fleets) ledger.fleets.push_back({.count = f.fleet->count, .bookings = {}});
  for (const design::Workload& w : design.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    const bool in_zones = serve != nullptr && !serve->zones.empty();
    const Fleet* fleet = fleet_of(fleets, w);
    if (in_zones || !w.terms.nodes || fleet == nullptr) continue;
    const double nodes = *w.terms.nodes;
    ledger.fleets[fleet->index].bookings.push_back(
        {.workload = &w, .nodes = nodes, .needed = nodes, .given = true});
  }
  return ledger;
}

void book(FleetBook& fleet, const Booking& booking) {
  for (Booking& b : fleet.bookings) {
    if (b.workload != booking.workload || !b.given) continue;
    b.needed = booking.needed;
    b.share = booking.share;
    return;
  }
  fleet.bookings.push_back(booking);
}

double units_per_node(const Fleet& fleet) {
  if (fleet.node.part.accelerators > 0) return fleet.node.part.accelerators;
  return static_cast<double>(fleet.hosts) / std::max(1, fleet.fleet->count);
}

}  // namespace orrery::machine
