// Edits of tiers and of the data kept on them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "model/design/names.h"
#include "model/design_text/write_design.h"
#include "model/figures/assumptions.h"
#include "plan/rules/edits.h"

namespace orrery::rules {
namespace {

// Margin of capacity: a tier that is full to the last byte cannot take the next checkpoint.
constexpr double kCapacityMargin = 1.1;
using figures::assumptions::kHostCores;
using figures::assumptions::kKeptCheckpoints;
using figures::assumptions::kSafeShare;

bool keeps_by_rule(const design::Checkpoint& checkpoint, const machine::Tier& tier) {
  return std::ranges::any_of(checkpoint.keep, [&](const design::KeepRule& rule) {
    return rule.tier == tier.label || rule.tier == word_of(tier.tier->tier);
  });
}

// Returns the shared tier for checkpoints of a size: the nearest with room, or else the nearest.
const machine::Tier* shared_tier(const review::Review& r, Bytes size) {
  const machine::Tier* nearest = nullptr;
  for (const machine::Tier& t : r.tiers()) {
    if (!t.durable() || t.write <= BytesPerSecond(0)) continue;
    if (r.used_of(t) + size * (kKeptCheckpoints + 1) <= t.capacity) return &t;
    if (nearest == nullptr) nearest = &t;
  }
  return nearest;
}

// Returns a run that keeps all its saves on the tier, if keeping only the newest ones would make
// room.
const review::TrainView* hoarder_on(const review::Review& r, const machine::Tier& tier) {
  for (const review::TrainView& t : r.trains) {
    if (!t.checkpoint || t.checkpoint->safe != &tier || keeps_by_rule(*t.train->checkpoint, tier)) {
      continue;
    }
    const Bytes after =
        r.used_of(tier) - t.checkpoint->kept_on_safe + t.checkpoint->size * (kKeptCheckpoints + 1);
    if (after <= tier.capacity) return &t;
  }
  return nullptr;
}

// Returns true for a name that can be part of a path.
bool is_word(const std::string& text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
}

// Gives the tier `times` as many servers; returns nothing if that number is not practical.
std::optional<Edit> edit_servers(const machine::Tier& tier, double times) {
  constexpr double kMostServers = 10'000;
  const double servers = std::ceil(std::max(1.0, tier.servers) * times);
  if (!(servers <= kMostServers)) return std::nullopt;
  return Edit{tier.path + ".servers", std::to_string(static_cast<int>(servers))};
}

bool is_cached(const review::Review& r, const machine::Tier& tier) {
  return std::ranges::any_of(r.tiers(),
                             [&](const machine::Tier& t) { return t.tier->caches == tier.label; });
}

std::optional<Edit> edit_loader_cores(const review::TrainView& t) {
  const double samples = static_cast<double>(t.train->batch) / t.accelerators;
  const double needed =
      std::ceil(storage::decode_cores_needed(samples, t.feed.decode, t.step.step));
  const int per_host = std::max(1, t.fleet->accelerators_per_host);
  if (needed * per_host > t.fleet->node.cores.value_or(kHostCores)) return std::nullopt;
  return Edit{t.path + ".dataset.loader_cores", std::to_string(static_cast<int>(needed))};
}

std::optional<Edit> edit_reading(const review::TrainView& t) {
  const machine::Tier& tier = *t.feed.tier;
  const double short_by = t.feed.wanted / t.accelerators / t.feed.fetch.rate;
  switch (t.feed.fetch.limit) {
    case storage::FetchLimit::server:
      if (tier.tier->read) return Edit{tier.path + ".read", at_least(*tier.tier->read * short_by)};
      return edit_servers(tier, short_by);
    case storage::FetchLimit::streams:
      return Edit{tier.path + ".client_streams",
                  std::to_string(static_cast<int>(std::ceil(tier.client_streams * short_by)))};
    case storage::FetchLimit::requests: {
      if (t.feed.by_themselves > 0) return edit_servers(tier, short_by);
      const double servers = std::max(1, tier.metadata_servers) * short_by;
      return Edit{tier.path + ".metadata.servers",
                  std::to_string(static_cast<int>(std::ceil(servers)))};
    }
    case storage::FetchLimit::client:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Edit> edit_save_target(const review::Review& r, const review::TrainView& t) {
  const machine::Tier* tier = shared_tier(r, t.checkpoint ? t.checkpoint->size : Bytes(0));
  if (tier == nullptr) return std::nullopt;
  const std::string path = t.path + ".checkpoint";
  if (!t.train->checkpoint) {
    const std::string name = name_text(tier->label);
    return Edit{path, fmt::format("{{ every: auto, to: [{0}], keep: {{ {0}: {1} }} }}", name,
                                  kKeptCheckpoints)};
  }
  design::Checkpoint checkpoint = *t.train->checkpoint;
  if (t.checkpoint) {
    checkpoint.to.push_back(tier->label);
  } else {
    checkpoint.to = {tier->label};
  }
  if (keeps_by_rule(checkpoint, *tier)) return Edit{path + ".to", list_text(checkpoint.to)};
  checkpoint.keep.push_back({tier->label, kKeptCheckpoints});
  return Edit{path, design_text::section_text(checkpoint)};
}

std::optional<Edit> edit_safe(const review::TrainView& t) {
  const jobs::SavePlan& k = *t.checkpoint;
  const design::StorageTier& tier = *k.safe->tier;
  if (k.drain.wall != storage::Wall::server_bandwidth || !tier.write) return std::nullopt;
  const Seconds wanted = t.failure.mtbf * kSafeShare;
  return Edit{k.safe->path + ".write", at_least(k.size / wanted)};
}

std::optional<Edit> edit_capacity(const review::Review& r, const machine::Tier& tier) {
  if (tier.implied)
    return Edit{tier.path + ".custom.local_nvme", at_least(r.used_of(tier) * kCapacityMargin)};
  const review::TrainView* hoarder = is_word(tier.label) ? hoarder_on(r, tier) : nullptr;
  if (hoarder != nullptr) {
    return Edit{hoarder->path + ".checkpoint.keep." + tier.label, std::to_string(kKeptCheckpoints)};
  }
  if (!tier.tier->capacity && !tier.per_node) {
    return edit_servers(tier, r.used_of(tier) * kCapacityMargin / tier.capacity);
  }
  return Edit{tier.path + ".capacity", at_least(r.used_of(tier) * kCapacityMargin)};
}

std::optional<Edit> edit_feed(const review::Review& r, const review::TrainView& t) {
  switch (t.feed.loader.limit) {
    case storage::LoaderLimit::decode:
      return edit_loader_cores(t);
    case storage::LoaderLimit::storage:
      // Behind a cache, both tiers feed the run, and it is the author's choice which one to widen.
      if (is_cached(r, *t.feed.tier) || t.feed.tier->implied) return std::nullopt;
      if (t.train->dataset.format == design::DataFormat::files) {
        return Edit{t.path + ".dataset.format", "shards"};
      }
      return edit_reading(t);
    case storage::LoaderLimit::compute:
    case storage::LoaderLimit::device_copy:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace orrery::rules
