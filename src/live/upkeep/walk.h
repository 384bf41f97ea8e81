// All versions of a bucket, a page at a time, each with what the lifecycle rules ask of its place:
// whether it is the newest, since when it is not, how many stand between.
#pragma once

#include <functional>

#include "live/store/listing.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::upkeep {

using TakeVersion =
    std::function<store::Answer<void>(const store::PageEntry& entry, const VersionPlace& place)>;
// Ends early where `stop` says so, or with what `take` refuses.
store::Answer<void> walk_versions(store::Store& store, const std::string& bucket,
                                  const std::function<bool()>& stop, const TakeVersion& take);

}  // namespace orrery::upkeep
