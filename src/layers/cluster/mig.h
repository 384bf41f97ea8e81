// Slices of one GPU (MIG): where an instance may be placed, how a mix packs, what is stranded.
//
// A GPU has 8 memory slices and 7 compute slices. A profile lists the memory slices at which it may
// start and how many it takes: 1g.10 {0-6}:1, 1g.20 {0,2,4,6}:2, 2g.20 {0,2,4}:2, 3g.40 {0,4}:4,
// 4g.40 {0}:4, 7g.80 {0}:8 (A100 and H100 80 GB; the H200 reports the same starts). Two instances
// conflict if their memory slices overlap (NVML). Slices are stranded if they are free but fit no
// requested profile: two 3g instances strand the seventh compute slice. Packing is exact for one
// GPU (a search over its placements) and first-fit decreasing over many GPUs. That may be somewhat
// above the optimum; the reported lower bound says by how much at most.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/parts.h"

namespace orrery::cluster {

inline constexpr int kMigMemorySlices = 8;
inline constexpr int kMigComputeSlices = 7;

struct MigInstance {
  int profile = 0;  // index into the profiles given
  int start = 0;    // first memory slice

  bool operator==(const MigInstance&) const = default;
};

using MigLayout = std::vector<MigInstance>;  // the instances on one GPU

bool instances_overlap(const MigInstance& a, const MigInstance& b,
                       std::span<const catalog::MigProfile> profiles);
// Returns true if the start is legal, nothing overlaps, compute slices are left, and the GPU allows
// one more instance of the profile.
bool can_add(const MigLayout& layout, const MigInstance& instance,
             std::span<const catalog::MigProfile> profiles);

// Returns the layout if all of `wanted` (profile indices) fit on one GPU together.
bool fits_one_gpu(std::span<const int> wanted, std::span<const catalog::MigProfile> profiles,
                  MigLayout* placed = nullptr);

struct MigDemand {
  std::string profile;
  int count = 0;
};

struct MigPacking {
  std::vector<MigLayout> gpus;
  std::vector<std::string> unplaced;  // profiles that this accelerator does not have
  // Lower bound, by compute slices, memory slices and single profiles.
  int gpus_at_least = 0;
  int compute_used = 0;
  int memory_used = 0;
  // Free slices on opened GPUs that no requested profile can use.
  int compute_stranded = 0;
  int memory_stranded = 0;

  double compute_stranded_share() const;
};
MigPacking pack_mig(std::span<const MigDemand> demand,
                    std::span<const catalog::MigProfile> profiles);

struct MigHoles {
  int compute_free = 0;
  int memory_free = 0;
  bool usable = false;  // some requested profile still fits
};
MigHoles holes(const MigLayout& layout, std::span<const catalog::MigProfile> profiles,
               std::span<const int> wanted);

// Returns the profiles of one accelerator from the catalog.
std::vector<catalog::MigProfile> profiles_of(std::span<const catalog::MigProfile> all,
                                             std::string_view accelerator);

}  // namespace orrery::cluster
