#include "machine/ledger.h"

#include <algorithm>

namespace orrery::machine {

std::int64_t FleetBook::nodes() const {
  std::int64_t sum = 0;
  for (const Booking& b : bookings) sum += b.nodes;
  return sum;
}

const Booking* FleetBook::largest() const {
  const auto at = std::ranges::max_element(bookings, {}, &Booking::nodes);
  return at == bookings.end() ? nullptr : &*at;
}

Ledger open_ledger(const design::Design& design, const std::vector<Fleet>& fleets) {
  Ledger ledger;
  ledger.fleets.resize(fleets.size());
  for (const design::Workload& w : design.workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    const bool in_zones = serve != nullptr && !serve->zones.empty();
    const Fleet* fleet = fleet_of(fleets, w);
    if (in_zones || !w.terms.nodes || fleet == nullptr) continue;
    ledger.fleets[static_cast<std::size_t>(fleet - fleets.data())].bookings.push_back(
        {.workload = &w, .nodes = *w.terms.nodes});
  }
  return ledger;
}

}  // namespace orrery::machine
