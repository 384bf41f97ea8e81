// A walk over all versions of a bucket, page by page. Each version comes with its place as
// lifecycle rules need it: whether it is the newest, since when it is not, and how many are newer.
#pragma once

#include <functional>

#include "live/store/listing.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::upkeep {

using TakeVersion =
    std::function<store::Answer<void>(const store::PageEntry& entry, const VersionPlace& place)>;
// Ends early if `stop` returns true, or if `take` refuses; then returns that refusal.
store::Answer<void> walk_versions(store::Store& store, const std::string& bucket,
                                  const std::function<bool()>& stop, const TakeVersion& take);

}  // namespace orrery::upkeep
