// Slices of one GPU: where an instance may lie, how a mix packs, what is stranded.
//
// A GPU has 8 memory slices and 7 compute slices. A profile names the memory slices it may start at
// and how many it takes: 1g.10 {0-6}:1, 1g.20 {0,2,4,6}:2, 2g.20 {0,2,4}:2, 3g.40 {0,4}:4, 4g.40
// {0}:4, 7g.80 {0}:8 (A100 and H100 80 GB; the H200's, read off the chip, have the same starts).
// Two instances clash when their memory slices overlap (NVML). Stranded are slices that stay free
// but fit no profile anyone wants: two 3g leave a seventh of the compute for nobody.
// Packing is exact for one GPU (search over its placements) and first-fit decreasing over many, at
// most a small factor above the best; the lower bound it reports says how far.
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
  int start = 0;    // memory slice

  bool operator==(const MigInstance&) const = default;
};

using MigLayout = std::vector<MigInstance>;  // of one GPU

bool instances_overlap(const MigInstance& a, const MigInstance& b,
                       std::span<const catalog::MigProfile> profiles);
// Legal start, no overlap, compute slices left, and no more of the profile than the GPU allows.
bool can_add(const MigLayout& layout, const MigInstance& instance,
             std::span<const catalog::MigProfile> profiles);

// Whether all of `wanted` (profile indices) fit one GPU together, and where.
bool fits_one_gpu(std::span<const int> wanted, std::span<const catalog::MigProfile> profiles,
                  MigLayout* placed = nullptr);

struct MigDemand {
  std::string profile;
  int count = 0;
};

struct MigPacking {
  std::vector<MigLayout> gpus;
  std::vector<std::string> unplaced;  // profiles that this accelerator does not have
  int gpus_at_least = 0;              // by compute slices, memory slices and single profiles
  int compute_used = 0;
  int memory_used = 0;
  // Free slices on the GPUs opened that no profile of the demand can use.
  int compute_stranded = 0;
  int memory_stranded = 0;

  double compute_stranded_share() const;
};
MigPacking pack_mig(std::span<const MigDemand> demand,
                    std::span<const catalog::MigProfile> profiles);

struct MigHoles {
  int compute_free = 0;
  int memory_free = 0;
  bool usable = false;  // some wanted profile still fits
};
MigHoles holes(const MigLayout& layout, std::span<const catalog::MigProfile> profiles,
               std::span<const int> wanted);

// The profiles of one accelerator, as the catalog has them.
std::vector<catalog::MigProfile> profiles_of(std::span<const catalog::MigProfile> all,
                                             std::string_view accelerator);

}  // namespace orrery::cluster
