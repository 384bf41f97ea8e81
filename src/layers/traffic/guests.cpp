#include "layers/traffic/guests.h"

#include <algorithm>

namespace orrery::traffic {
namespace {

// Above every conversation name that the fleet itself uses.
constexpr std::uint64_t kGuests = std::uint64_t{1} << 48;

}  // namespace

MixedLoad with_guests(std::vector<Timed> own, std::vector<Timed> guests) {
  MixedLoad load;
  std::size_t o = 0;
  std::size_t g = 0;
  while (o < own.size() || g < guests.size()) {
    const bool is_guest = o == own.size() || (g < guests.size() && guests[g].at < own[o].at);
    load.is_guest.push_back(is_guest);
    load.all.push_back(is_guest ? guests[g++] : own[o++]);
    engines::RequestSpec& spec = load.all.back().spec;
    if (is_guest && spec.content != 0) spec.content |= kGuests;
    if (is_guest && spec.session != 0) spec.session |= kGuests;
  }
  return load;
}

FleetRun records_of(const FleetRun& run, const MixedLoad& load, bool guests) {
  FleetRun part;
  for (const RequestRecord& r : run.records) {
    if (load.is_guest[static_cast<std::size_t>(r.id)] == guests) part.records.push_back(r);
  }
  part.served = static_cast<double>(part.records.size());
  return part;
}

}  // namespace orrery::traffic
