#include <fmt/core.h>

#include <algorithm>

#include "model/design/names.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

// Returns why a tier may not be stored there; nullptr if it may.
const char* why_not(const design::StorageTier& tier) {
  const std::string_view place = tier.place;
  const bool is_pool = place.starts_with("rados:");
  const bool is_bucket = place.starts_with("s3+http://") || place.starts_with("s3+https://");
  if (!is_pool && !is_bucket) return "a place is a RADOS pool or a bucket of another object store";
  if (place.find_first_of(", \t") != place.npos) return "a tier has exactly one place";
  if (tier.tier == design::Tier::node_nvme) return "the store does not use drives in the nodes";
  if (tier.tier == design::Tier::gpu_direct)
    return "gpu-direct uses drives of the store's own machine";
  if (is_bucket && tier.tier == design::Tier::hot)
    return "only warm and cold tiers may use a bucket";
  return nullptr;
}

}  // namespace

void check_places(const design::Design& design, ValueReader& values) {
  for (std::size_t i = 0; i < design.storage.size(); ++i) {
    const design::StorageTier& tier = design.storage[i];
    if (tier.place.empty()) continue;
    const auto complain = [&](const std::string& what, const char* why, const char* fix) {
      values.complain(design.places.find(fmt::format("storage[{}].place", i)),
                      {"design.place", what, why, fix});
    };
    if (const char* why = why_not(tier)) {
      complain(fmt::format("`{}` cannot be the place of a {} tier", tier.place, word_of(tier.tier)),
               why,
               "write `rados:POOL/NAMESPACE` or `s3+https://HOST/BUCKET/PREFIX`, or leave it out");
      continue;
    }
    const auto before = design.storage.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(design.storage.begin(), before, [&](const design::StorageTier& other) {
          return other.place == tier.place;
        }) == before) {
      continue;
    }
    complain(fmt::format("`{}` is also the place of another tier", tier.place),
             "each tier would take the other's data for its own",
             "give each tier its own namespace or prefix");
  }
}

}  // namespace orrery::design_text
