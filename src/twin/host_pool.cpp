#include "twin/host_pool.h"

#include <algorithm>

namespace orrery::twin {

HostPool::HostPool(int hosts, int spares)
    : first_spare_(hosts),
      is_spare_(static_cast<std::size_t>(hosts + spares), false),
      free_(hosts),
      reserve_(spares),
      state_(static_cast<std::size_t>(hosts + spares), HostState::free),
      holder_(state_.size(), -1) {
  std::fill(state_.begin() + hosts, state_.end(), HostState::reserve);
  std::fill(is_spare_.begin() + hosts, is_spare_.end(), true);
}

void HostPool::claim(std::vector<int>& taken, int count, HostState wanted, int holder) {
  const int begin = wanted == HostState::free ? lowest_free_ : first_spare_;
  for (int h = begin; h < size() && static_cast<int>(taken.size()) < count; ++h) {
    if (state(h) != wanted) continue;
    state_[index(h)] = HostState::held;
    holder_[index(h)] = holder;
    (wanted == HostState::free ? free_ : reserve_) -= 1;
    taken.push_back(h);
    if (wanted == HostState::free) lowest_free_ = h + 1;
  }
}

bool HostPool::take(int count, int holder, std::vector<int>& taken,
                    std::vector<int>& from_reserve) {
  if (count > available()) return false;
  claim(taken, count, HostState::free, holder);
  claim(from_reserve, count - static_cast<int>(taken.size()), HostState::reserve, holder);
  taken.insert(taken.end(), from_reserve.begin(), from_reserve.end());
  return true;
}

// A host that nobody holds: a declared spare waits in reserve, any other is free.
void HostPool::rest(int host) {
  const bool spare = is_spare_[index(host)];
  state_[index(host)] = spare ? HostState::reserve : HostState::free;
  holder_[index(host)] = -1;
  (spare ? reserve_ : free_) += 1;
  if (!spare) lowest_free_ = std::min(lowest_free_, host);
}

int HostPool::first_in_reserve() const {
  for (int h = first_spare_; reserve_ > 0 && h < size(); ++h) {
    if (state(h) == HostState::reserve) return h;
  }
  return -1;
}

void HostPool::call_spare(int host) {
  is_spare_[index(host)] = false;
  if (state(host) != HostState::reserve) return;
  --reserve_;
  rest(host);
}

void HostPool::give_back(int host) {
  if (state(host) == HostState::held) rest(host);
}

void HostPool::break_down(int host) {
  if (state(host) == HostState::free) --free_;
  if (state(host) == HostState::reserve) --reserve_;
  state_[index(host)] = HostState::repair;
  holder_[index(host)] = -1;
}

void HostPool::mend(int host) {
  if (state(host) == HostState::repair) rest(host);
}

}  // namespace orrery::twin
