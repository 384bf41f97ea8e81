#include "layers/cluster/mig.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

const catalog::MigProfile& profile_of(const MigInstance& i,
                                      std::span<const catalog::MigProfile> profiles) {
  return profiles[static_cast<std::size_t>(i.profile)];
}

int compute_used(const MigLayout& layout, std::span<const catalog::MigProfile> profiles) {
  int sum = 0;
  for (const MigInstance& i : layout) sum += profile_of(i, profiles).compute_slices;
  return sum;
}

int memory_used(const MigLayout& layout, std::span<const catalog::MigProfile> profiles) {
  int sum = 0;
  for (const MigInstance& i : layout) sum += profile_of(i, profiles).memory_slices;
  return sum;
}

// Depth-first search over the starts of one instance after another; at most 7 deep and 7 wide.
// Equal neighbours get rising starts, because swapping them would give the same layout.
bool place_rest(std::span<const int> wanted, std::span<const catalog::MigProfile> profiles,
                MigLayout& layout) {
  if (wanted.empty()) return true;
  const int profile = wanted.front();
  for (const int start : profiles[static_cast<std::size_t>(profile)].starts) {
    const MigInstance instance{.profile = profile, .start = start};
    const bool swapped =
        !layout.empty() && layout.back().profile == profile && start < layout.back().start;
    if (swapped || !can_add(layout, instance, profiles)) continue;
    layout.push_back(instance);
    if (place_rest(wanted.subspan(1), profiles, layout)) return true;
    layout.pop_back();
  }
  return false;
}

// Sorts largest first: by memory, then compute, then the catalog's order.
std::vector<int> largest_first(std::span<const int> wanted,
                               std::span<const catalog::MigProfile> profiles) {
  std::vector<int> order(wanted.begin(), wanted.end());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const catalog::MigProfile& x = profiles[static_cast<std::size_t>(a)];
    const catalog::MigProfile& y = profiles[static_cast<std::size_t>(b)];
    if (x.memory_slices != y.memory_slices) return x.memory_slices > y.memory_slices;
    return x.compute_slices > y.compute_slices;
  });
  return order;
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

int at_least(std::span<const int> wanted, std::span<const catalog::MigProfile> profiles) {
  int compute = 0;
  int memory = 0;
  int bound = 0;
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    const int count = static_cast<int>(std::count(wanted.begin(), wanted.end(), p));
    compute += count * profiles[p].compute_slices;
    memory += count * profiles[p].memory_slices;
    bound = std::max(bound, ceil_div(count, std::max(1, profiles[p].max_instances)));
  }
  return std::max(
      {bound, ceil_div(compute, kMigComputeSlices), ceil_div(memory, kMigMemorySlices)});
}

// Puts the profile on the first GPU, from `first` on, where it fits together with the instances
// already there (they may be moved). Returns that GPU. Earlier GPUs stay closed to this profile,
// because a GPU only fills up.
std::size_t put_somewhere(int profile, std::span<const catalog::MigProfile> profiles,
                          std::size_t first, std::vector<MigLayout>& gpus) {
  for (std::size_t g = first; g < gpus.size(); ++g) {
    std::vector<int> together;
    for (const MigInstance& i : gpus[g]) together.push_back(i.profile);
    together.push_back(profile);
    if (fits_one_gpu(together, profiles, &gpus[g])) return g;
  }
  MigLayout fresh;
  if (fits_one_gpu(std::span(&profile, 1), profiles, &fresh)) gpus.push_back(fresh);
  return gpus.size() - 1;
}

}  // namespace

bool instances_overlap(const MigInstance& a, const MigInstance& b,
                       std::span<const catalog::MigProfile> profiles) {
  const int a_end = a.start + profile_of(a, profiles).memory_slices;
  const int b_end = b.start + profile_of(b, profiles).memory_slices;
  return a.start < b_end && b.start < a_end;
}

bool can_add(const MigLayout& layout, const MigInstance& instance,
             std::span<const catalog::MigProfile> profiles) {
  const catalog::MigProfile& profile = profile_of(instance, profiles);
  if (std::ranges::find(profile.starts, instance.start) == profile.starts.end()) return false;
  if (instance.start + profile.memory_slices > kMigMemorySlices) return false;
  if (compute_used(layout, profiles) + profile.compute_slices > kMigComputeSlices) return false;
  int same = 0;
  for (const MigInstance& other : layout) {
    if (instances_overlap(other, instance, profiles)) return false;
    if (other.profile == instance.profile) ++same;
  }
  return same < profile.max_instances;
}

bool fits_one_gpu(std::span<const int> wanted, std::span<const catalog::MigProfile> profiles,
                  MigLayout* placed) {
  // If the sums alone rule it out, no search is needed.
  if (at_least(wanted, profiles) > 1) return false;
  const std::vector<int> order = largest_first(wanted, profiles);
  MigLayout layout;
  if (!place_rest(order, profiles, layout)) return false;
  if (placed != nullptr) *placed = layout;
  return true;
}

double MigPacking::compute_stranded_share() const {
  const auto all = static_cast<double>(gpus.size()) * kMigComputeSlices;
  return all > 0 ? compute_stranded / all : 0;
}

MigPacking pack_mig(std::span<const MigDemand> demand,
                    std::span<const catalog::MigProfile> profiles) {
  MigPacking packing;
  std::vector<int> wanted;
  std::vector<int> kinds;
  for (const MigDemand& d : demand) {
    const auto found = std::ranges::find(profiles, d.profile, &catalog::MigProfile::profile);
    if (found == profiles.end()) {
      packing.unplaced.push_back(d.profile);
      continue;
    }
    const int index = static_cast<int>(found - profiles.begin());
    kinds.push_back(index);
    wanted.insert(wanted.end(), static_cast<std::size_t>(std::max(0, d.count)), index);
  }
  packing.gpus_at_least = at_least(wanted, profiles);
  int last_profile = -1;
  std::size_t first = 0;
  for (const int profile : largest_first(wanted, profiles)) {
    first = put_somewhere(profile, profiles, profile == last_profile ? first : 0, packing.gpus);
    last_profile = profile;
  }
  for (const MigLayout& gpu : packing.gpus) {
    packing.compute_used += compute_used(gpu, profiles);
    packing.memory_used += memory_used(gpu, profiles);
    const MigHoles left = holes(gpu, profiles, kinds);
    if (left.usable) continue;
    packing.compute_stranded += left.compute_free;
    packing.memory_stranded += left.memory_free;
  }
  return packing;
}

MigHoles holes(const MigLayout& layout, std::span<const catalog::MigProfile> profiles,
               std::span<const int> wanted) {
  MigHoles h{.compute_free = kMigComputeSlices - compute_used(layout, profiles),
             .memory_free = kMigMemorySlices - memory_used(layout, profiles)};
  for (const int profile : wanted) {
    for (const int start : profiles[static_cast<std::size_t>(profile)].starts) {
      h.usable = h.usable || can_add(layout, {.profile = profile, .start = start}, profiles);
    }
  }
  return h;
}

std::vector<catalog::MigProfile> profiles_of(std::span<const catalog::MigProfile> all,
                                             std::string_view accelerator) {
  std::vector<catalog::MigProfile> own;
  for (const catalog::MigProfile& p : all) {
    if (p.accelerator_id == accelerator) own.push_back(p);
  }
  return own;
}

}  // namespace orrery::cluster
