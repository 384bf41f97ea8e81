#include "layers/cluster/gpu_ledger.h"

#include <algorithm>
#include <numeric>

namespace orrery::cluster {

void GpuLedger::settle(sim::SimTime now) {
  const GpuTime span = (now - settled_).ns();
  for (std::size_t c = 0; c < kCauses; ++c) booked_[c] += span * held_[c];
  settled_ = now;
}

void GpuLedger::move(sim::SimTime now, Cause from, Cause to, std::int64_t accelerators) {
  settle(now);
  is_sound_ = is_sound_ && accelerators >= 0 && held_[at(from)] >= accelerators;
  held_[at(from)] -= accelerators;
  held_[at(to)] += accelerators;
}

void GpuLedger::correct(Cause from, Cause to, GpuTime amount) {
  is_sound_ = is_sound_ && amount >= 0;
  booked_[at(from)] -= amount;
  booked_[at(to)] += amount;
}

std::array<std::int64_t, kShares> whole_seconds(const ByCause<GpuTime>& booked, std::int64_t over) {
  const GpuTime unit = GpuTime{1'000'000'000} * over;
  std::array<GpuTime, kShares> exact{};
  for (std::size_t c = 0; c < kCauses; ++c) {
    exact[static_cast<std::size_t>(share_of(static_cast<Cause>(c)))] += booked[c];
  }
  std::array<std::int64_t, kShares> whole{};
  for (std::size_t s = 0; s < kShares; ++s) whole[s] = static_cast<std::int64_t>(exact[s] / unit);
  const GpuTime sum = std::accumulate(exact.begin(), exact.end(), GpuTime{0});
  GpuTime left = sum / unit - std::accumulate(whole.begin(), whole.end(), GpuTime{0});
  std::array<std::size_t, kShares> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return exact[a] % unit > exact[b] % unit; });
  for (const std::size_t s : order) {
    if (left-- <= 0) break;
    ++whole[s];
  }
  return whole;
}

}  // namespace orrery::cluster
