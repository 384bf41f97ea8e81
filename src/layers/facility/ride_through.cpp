#include "layers/facility/ride_through.h"

#include <algorithm>

#include "core/base/math.h"

namespace orrery::facility {
namespace {

Seconds ride_of(const BackupPower& backup, double load_share) {
  return backup.battery.value_or(Seconds(0)) / std::clamp(load_share, 0.05, 1.0);
}

}  // namespace

Outage live_through(const BackupPower& backup, Seconds length, double load_share) {
  const Seconds carried = backup.generator ? min(*backup.generator, length) : length;
  return {.dark_from = min(ride_of(backup, load_share), carried),
          .dark_to = carried,
          .cooled_from = carried};
}

Seconds dark_a_year(const BackupPower& backup, double outages, Seconds mean_length,
                    double load_share, Seconds until) {
  const auto beyond = [&](Seconds t) { return mean_length * math::exp(-(t / mean_length)); };
  const Seconds ride = ride_of(backup, load_share);
  if (until >= kWhole && !backup.generator) return outages * beyond(ride);
  const Seconds end = min(ride + until, backup.generator.value_or(kWhole));
  return end > ride ? outages * (beyond(ride) - beyond(end)) : Seconds(0);
}

}  // namespace orrery::facility
