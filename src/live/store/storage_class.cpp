#include "live/store/storage_class.h"

#include <algorithm>
#include <array>

namespace orrery::store {
namespace {

struct Row {
  std::string_view name;
  std::string_view tier;
};
// The first class of a tier is the one that answers show.
constexpr std::array<Row, 9> kClasses = {{{"STANDARD", "hot"},
                                          {"", "hot"},
                                          {"HOT", "hot"},
                                          {"GPU_DIRECT", "gpu-direct"},
                                          {"STANDARD_IA", "warm"},
                                          {"WARM", "warm"},
                                          {"GLACIER", "cold"},
                                          {"COLD", "cold"},
                                          {"DEEP_ARCHIVE", "cold"}}};

}  // namespace

int tier_rank(std::string_view tier) {
  return static_cast<int>(std::ranges::find(kTierOrder, tier) - std::begin(kTierOrder));
}

std::optional<std::string> tier_of_class(std::string_view storage_class) {
  const auto at = std::ranges::find(kClasses, storage_class, &Row::name);
  if (at == kClasses.end()) return std::nullopt;
  return std::string(at->tier);
}

std::string class_of_tier(std::string_view tier) {
  const auto at = std::ranges::find(kClasses, tier, &Row::tier);
  return at == kClasses.end() ? std::string() : std::string(at->name);
}

std::string tier_of(const rows::Version& version) {
  if (!version.tier.empty()) return version.tier;
  return tier_of_class(version.storage_class).value_or("hot");
}

}  // namespace orrery::store
