#include "layers/engines/kv_tier.h"

namespace orrery::engines {

void KvTier::keep(std::uint64_t name) {
  if (room_ <= 0) return;
  const auto found = at_.find(name);
  if (found != at_.end()) {
    by_age_.splice(by_age_.begin(), by_age_, found->second);
    return;
  }
  if (at_.size() >= static_cast<std::size_t>(room_)) {
    at_.erase(by_age_.back());
    by_age_.pop_back();
  }
  by_age_.push_front(name);
  at_[name] = by_age_.begin();
}

}  // namespace orrery::engines
