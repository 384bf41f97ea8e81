// The words of the design file for each closed set, in one table a set: reader, writer, schema and
// reports use the same ones.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "design/economics.h"
#include "design/fleet.h"
#include "design/networks.h"
#include "design/scheduling.h"
#include "design/tiers.h"
#include "design/workloads.h"

namespace orrery::design {

// In the order of the enumerators.
std::span<const std::string_view> words(Contract);
std::span<const std::string_view> words(Partition);
std::span<const std::string_view> words(TopologyKind);
std::span<const std::string_view> words(Routing);
std::span<const std::string_view> words(Protocol);
std::span<const std::string_view> words(Tier);
std::span<const std::string_view> words(TierKind);
std::span<const std::string_view> words(CachePolicy);
std::span<const std::string_view> words(SchedulerKind);
std::span<const std::string_view> words(Backfill);
std::span<const std::string_view> words(PlacementTopology);
std::span<const std::string_view> words(Preemption);
std::span<const std::string_view> words(Precision);
std::span<const std::string_view> words(Sharding);
std::span<const std::string_view> words(Recompute);
std::span<const std::string_view> words(CheckpointMode);
std::span<const std::string_view> words(DataKind);
std::span<const std::string_view> words(DataFormat);
std::span<const std::string_view> words(EmbeddingPlacement);
std::span<const std::string_view> words(Comparison);

template <class E>
std::string_view word_of(E e) {
  return words(e)[static_cast<std::size_t>(e)];
}

template <class E>
std::optional<E> from_word(std::string_view word) {
  const auto all = words(E{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == word) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace orrery::design
