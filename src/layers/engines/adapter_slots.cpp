#include "layers/engines/adapter_slots.h"

#include <algorithm>

namespace orrery::engines {

void AdapterSlots::begin() {
  ++plan_;
  held_ = used_ = loads_ = 0;
}

void AdapterSlots::mark(int adapter) {
  const auto i = static_cast<std::size_t>(adapter);
  if (i >= all_.size()) all_.resize(i + 1);
  if (all_[i].held == plan_) return;
  all_[i].held = plan_;
  ++held_;
}

void AdapterSlots::use(int adapter) {
  if (adapter == 0) return;
  mark(adapter);
  Adapter& a = all_[static_cast<std::size_t>(adapter)];
  if (a.used == plan_) return;
  a.used = plan_;
  ++used_;
  if (!a.resident) load(adapter);
}

// Adapters that the plan holds are never the oldest, because every adapter in use is marked before
// any is loaded.
void AdapterSlots::load(int adapter) {
  ++loads_;
  all_[static_cast<std::size_t>(adapter)].resident = true;
  if (static_cast<int>(resident_.size()) < slots_) {
    resident_.push_back(adapter);
    return;
  }
  const auto age = [this](int name) {
    const Adapter& a = all_[static_cast<std::size_t>(name)];
    return a.held == plan_ ? plan_ : a.used;
  };
  const auto oldest = std::ranges::min_element(resident_, {}, age);
  all_[static_cast<std::size_t>(*oldest)].resident = false;
  *oldest = adapter;
}

}  // namespace orrery::engines
