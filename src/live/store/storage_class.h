// Storage classes are the tiers under the names that S3's clients know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/rows/records.h"

namespace orrery::store {

// The tiers from the fastest to the slowest.
inline constexpr std::string_view kTierOrder[] = {"gpu-direct", "hot", "warm", "cold"};
int tier_rank(std::string_view tier);  // 0: the fastest; behind the last where there is none such

std::optional<std::string> tier_of_class(std::string_view storage_class);
// The class that an object of this tier is shown with, where no rule gave another.
std::string class_of_tier(std::string_view tier);
// Where the copy lies that is read.
std::string tier_of(const rows::Version& version);

}  // namespace orrery::store
