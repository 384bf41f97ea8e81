#include "layers/cluster/mig_pool.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orrery::cluster {

MigPool::MigPool(std::vector<catalog::MigProfile> profiles, std::vector<int> wanted,
                 MigLayout fixed)
    : profiles_(std::move(profiles)), wanted_(std::move(wanted)), fixed_(std::move(fixed)) {}

bool MigPool::can_hold(const Device& device, const MigInstance& instance) const {
  if (fixed_.empty()) return can_add(device.layout, instance, profiles_);
  return std::ranges::find(fixed_, instance) != fixed_.end() &&
         std::ranges::find(device.layout, instance) == device.layout.end();
}

std::vector<MigInstance> MigPool::starts_of(const Device& device, int profile) const {
  std::vector<MigInstance> all;
  for (const int start : profiles_[static_cast<std::size_t>(profile)].starts) {
    const MigInstance instance{.profile = profile, .start = start};
    if (can_hold(device, instance)) all.push_back(instance);
  }
  return all;
}

// Also counts slices that no profile can take in any layout: two 3g instances leave the seventh
// slice.
int MigPool::stranded_in(const Device& device) const {
  const bool is_usable = std::ranges::any_of(
      wanted_, [&](int profile) { return !starts_of(device, profile).empty(); });
  return is_usable ? 0 : kMigComputeSlices - device.used;
}

int MigPool::places_in(const Device& device) const {
  std::size_t places = 0;
  for (const int profile : wanted_) places += starts_of(device, profile).size();
  return static_cast<int>(places);
}

void MigPool::recount(Device& device) {
  used_ -= device.used;
  stranded_ -= device.stranded;
  device.used = 0;
  for (const MigInstance& i : device.layout) device.used += compute_of(i);
  device.stranded = device.is_open ? stranded_in(device) : 0;
  used_ += device.used;
  stranded_ += device.stranded;
}

std::optional<MigPlace> MigPool::place(int profile) {
  std::optional<MigPlace> best;
  std::tuple<int, int, int> best_rank;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!devices_[d].is_open) continue;
    for (const MigInstance& instance : starts_of(devices_[d], profile)) {
      Device after = devices_[d];
      after.layout.push_back(instance);
      after.used += compute_of(instance);
      // Prefers the fewest stranded slices, then the fullest accelerator, then the most places
      // left, then the first.
      const std::tuple rank{stranded_in(after) - devices_[d].stranded, -after.used,
                            -places_in(after)};
      if (best && rank >= best_rank) continue;
      best = MigPlace{.device = d, .instance = instance};
      best_rank = rank;
    }
  }
  if (best) {
    devices_[best->device].layout.push_back(best->instance);
    recount(devices_[best->device]);
  }
  return best;
}

void MigPool::leave(const MigPlace& place) {
  std::erase(devices_[place.device].layout, place.instance);
  recount(devices_[place.device]);
}

std::size_t MigPool::open() {
  const auto unused = std::ranges::find(devices_, false, &Device::is_open);
  const auto d = static_cast<std::size_t>(unused - devices_.begin());
  if (unused == devices_.end()) devices_.emplace_back();
  devices_[d].is_open = true;
  ++open_;
  recount(devices_[d]);
  return d;
}

void MigPool::close(std::size_t device) {
  devices_[device].is_open = false;
  devices_[device].layout.clear();
  --open_;
  recount(devices_[device]);
}

}  // namespace orrery::cluster
