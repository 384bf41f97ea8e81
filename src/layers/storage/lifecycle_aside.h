// How long a copy has been set aside, and under which name: the arithmetic of the grace period.
//
// Time is counted on the machine's own clock since its start, never on the wall clock. A fact
// recorded in an earlier boot counts up to that boot's last sign of life in the memory, and the new
// boot continues from there. So the count is a lower bound: it can miss the time that the machine
// was off, or the time without a look before a reboot, but it is never too long.
#pragma once

#include <string>
#include <string_view>

#include "layers/storage/lifecycle.h"

namespace orrery::storage {

// Returns the time that it has certainly been set aside; 0 if it was not seen yet or there is no
// clock.
Seconds time_aside(const AsideFact& fact, const LifecycleMemory& memory,
                   const LifecycleClock& clock);

// Returns the event that records that it was seen there: the first time, and again after a reboot.
LifecycleEvent seen_aside(const std::string& key, const AsideFact& fact,
                          const LifecycleMemory& memory, const LifecycleClock& clock, Seconds now);

// Returns "ITEM.20261118T190500Z", with "-2" and so on if `memory` already has that name at the
// place.
std::string name_aside(const std::string& item, const std::string& place, Seconds now,
                       const LifecycleMemory& memory);

// Returns the item's id from such a name; the whole name if no time is appended.
std::string item_of_aside(std::string_view name);

}  // namespace orrery::storage
