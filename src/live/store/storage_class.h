// Storage classes: the tiers under the names that S3 clients know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/rows/records.h"

namespace orrery::store {

// The tiers from the fastest to the slowest.
inline constexpr std::string_view kTierOrder[] = {"gpu-direct", "hot", "warm", "cold"};
int tier_rank(std::string_view tier);  // 0 is the fastest; unknown tiers rank last

std::optional<std::string> tier_of_class(std::string_view storage_class);
// Returns the class that answers show for an object of this tier, unless a rule gave it another.
std::string class_of_tier(std::string_view tier);
// Returns the tier from which the version is read.
std::string tier_of(const rows::Version& version);

}  // namespace orrery::store
