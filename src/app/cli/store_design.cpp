#include "app/cli/store_design.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace orrery::cli {
namespace {

constexpr std::array<drives::ShardPlan, 6> kCodes = {
    {{1, 0}, {8, 2}, {6, 2}, {4, 2}, {1, 1}, {1, 2}}};
constexpr double kShareMargin = 0.01;  // tolerance for shares such as 0.66 and 0.67, which both
                                       // mean two thirds

double share_of(const drives::ShardPlan& plan) {
  return static_cast<double>(plan.data) / static_cast<double>(plan.total());
}

std::string tier_name(design::Tier tier) {
  switch (tier) {
    case design::Tier::gpu_direct:
      return "gpu-direct";
    case design::Tier::hot:
      return "hot";
    case design::Tier::warm:
      return "warm";
    case design::Tier::cold:
      return "cold";
    case design::Tier::node_nvme:
      break;  // this tier is on the compute nodes, not in the store
  }
  return {};
}

drives::ShardPlan code_of(double usable) {
  const auto at = std::ranges::find_if(kCodes, [usable](const drives::ShardPlan& plan) {
    return share_of(plan) <= usable + kShareMargin;
  });
  return at == kCodes.end() ? kCodes.back() : *at;
}

void read_keeps(const design::Checkpoint& checkpoint, DesignedStore& to) {
  for (const design::KeepRule& rule : checkpoint.keep) {
    if (std::ranges::find(to.tiers, rule.tier, &upkeep::TierPlan::name) == to.tiers.end()) continue;
    auto at = std::ranges::find(to.keeps, rule.tier, &storage::KeepPlace::name);
    if (at == to.keeps.end()) at = to.keeps.insert(at, storage::KeepPlace{.name = rule.tier});
    // If several runs share a tier, the largest number to keep applies.
    if (rule.newest) at->keep.newest = std::max(at->keep.newest, *rule.newest);
    at->keep.milestones |= !rule.newest.has_value();
  }
}

}  // namespace

Result<DesignedStore> store_of_design(const design::Design& design) {
  DesignedStore to{.tiers = upkeep::usual_tiers()};
  for (const design::StorageTier& tier : design.storage) {
    to.enciphered |= tier.encrypted;
    const auto at = std::ranges::find(to.tiers, tier_name(tier.tier), &upkeep::TierPlan::name);
    // If the design has several tiers of one kind, the first with folders is the store's.
    if (at == to.tiers.end() || !at->folders.empty()) continue;
    if (!tier.place.empty()) {
      auto placed = upkeep::tier_plan_of(fmt::format("{}=1x:{}", at->name, tier.place));
      if (!placed) return std::unexpected(std::move(placed.error()));
      *at = std::move(*placed);
      continue;
    }
    if (!tier.protection && !tier.usable) continue;
    at->plan = tier.protection ? drives::ShardPlan{tier.protection->data, tier.protection->parity}
                               : code_of(*tier.usable);
    for (int i = 0; at->plan.total() > 1 && i < at->plan.total(); ++i) {
      at->folders.push_back(fmt::format("{}-{}", at->name, i));
    }
  }
  for (const design::Workload& workload : design.workloads) {
    const auto* train = std::get_if<design::Train>(&workload.task);
    if (train && train->checkpoint) read_keeps(*train->checkpoint, to);
  }
  return to;
}

}  // namespace orrery::cli
