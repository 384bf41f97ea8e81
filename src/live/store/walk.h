// All versions of a bucket, a page at a time, each with what the lifecycle rules ask of its place:
// whether it is the newest, since when it is not, how many stand between.
#pragma once

#include <functional>

#include "live/store/lifecycle.h"
#include "live/store/listing.h"

namespace orrery::store {

using TakeVersion = std::function<Answer<void>(const PageEntry& entry, const VersionPlace& place)>;
// Ends early where `stop` says so, or with what `take` refuses.
Answer<void> walk_versions(Store& store, const std::string& bucket,
                           const std::function<bool()>& stop, const TakeVersion& take);

}  // namespace orrery::store
