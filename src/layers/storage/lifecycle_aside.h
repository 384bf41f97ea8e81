// How long a copy has been set aside, and under which name: the arithmetic of the grace.
//
// The time is counted on the machine's own clock since its start, never on the wall clock. A fact
// from another boot counts what that boot is known to have lasted (its last sign of life in the
// memory); the new boot begins where that ended. So the count is a lower bound: it can be too short
// by the time that the machine was off or nobody looked before a reboot, never too long.
#pragma once

#include <string>
#include <string_view>

#include "layers/storage/lifecycle.h"

namespace orrery::storage {

// Time that it has certainly been there. 0 if it was not seen yet, or there is no clock.
Seconds time_aside(const AsideFact& fact, const LifecycleMemory& memory,
                   const LifecycleClock& clock);

// The event that says it was seen there: the first time, and again after a reboot.
LifecycleEvent seen_aside(const std::string& key, const AsideFact& fact,
                          const LifecycleMemory& memory, const LifecycleClock& clock, Seconds now);

// "ITEM.20261118T190500Z", with "-2" and so on while `memory` knows one of that name at the place.
std::string name_aside(const std::string& item, const std::string& place, Seconds now,
                       const LifecycleMemory& memory);

// The item of such a name; all of it if it has no time behind it.
std::string item_of_aside(std::string_view name);

}  // namespace orrery::storage
