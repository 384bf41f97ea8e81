// Whether the wall clock can be believed: rules count ages by it and order checkpoints by it.
//
// It is held against the machine's own clock (LifecycleClock), which cannot be set. If it gains or
// loses an hour on it, or is behind the last look of an earlier boot, or a month ahead of it, it
// was set. Then nothing is removed for `clock_rest`, counted on the machine's own clock, or until
// the clock is set right again: time enough to read the alert. A checkpoint that was made an hour
// or more in the future says nothing about which one of its run is the newest, so nothing of that
// run is removed until its time has come.
//
// Limits: a clock that was set by less than a month while no agent looked, over a reboot, is not
// found out. Without a clock that cannot be set (LifecycleClock::boot is empty) only the second
// check is made.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layers/storage/lifecycle.h"
#include "layers/storage/lifecycle_wants.h"

namespace orrery::storage {

struct ClockView {
  std::vector<LifecycleEvent> events;  // signs of life, and the beginning and end of a doubt
  std::string doubt;                   // why nothing is removed now; empty: the clock is believed
  std::string key;                     // differs from doubt to doubt
};
ClockView view_clock(const LifecycleLook& look, const LifecycleMemory& memory,
                     const LifecyclePolicy& policy);

// Returns the runs with a finished item that was made in the future, each with that item.
std::map<std::string_view, const ItemView*> runs_ahead(const std::vector<ItemState>& items,
                                                       Seconds now);

}  // namespace orrery::storage
