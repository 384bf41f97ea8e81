#include "layers/storage/node_cache.h"

#include <algorithm>
#include <limits>
#include <string>

namespace orrery::storage {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::vector<int> shuffled(int items, RandomStream& random) {
  std::vector<int> order;
  for (int i = 0; i < items; ++i) order.push_back(i);
  for (int i = items - 1; i > 0; --i) {
    const auto j = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(i) + 1));
    std::swap(order[static_cast<std::size_t>(i)], order[j]);
  }
  return order;
}

// A buffer filled in file order; each read takes a random entry and refills it.
std::vector<int> buffered(int items, int buffer, RandomStream& random) {
  std::vector<int> order;
  std::vector<int> held;
  int next = 0;
  while (next < items && std::ssize(held) < buffer) held.push_back(next++);
  while (!held.empty()) {
    const auto slot = static_cast<std::size_t>(random.below(held.size()));
    order.push_back(held[slot]);
    if (next < items) {
      held[slot] = next++;
    } else {
      held[slot] = held.back();
      held.pop_back();
    }
  }
  return order;
}

}  // namespace

std::vector<int> epoch_order(const EpochOptions& o, int epoch) {
  RandomStream random(o.seed, "storage/epoch/" + std::to_string(epoch));
  if (o.shuffle_buffer >= o.items) return shuffled(o.items, random);
  return buffered(o.items, std::max(1, o.shuffle_buffer), random);
}

EpochReader::EpochReader(const EpochOptions& options)
    : options_(options),
      next_order_(epoch_order(options, 0)),
      next_place_(static_cast<std::size_t>(options.items)) {
  epoch_ = -1;
  turn();
}

void EpochReader::turn() {
  ++epoch_;
  at_ = 0;
  order_ = std::move(next_order_);
  next_order_ = epoch_order(options_, epoch_ + 1);
  for (std::size_t i = 0; i < next_order_.size(); ++i) {
    next_place_[static_cast<std::size_t>(next_order_[i])] = static_cast<int>(i);
  }
}

EpochRead EpochReader::next() {
  if (at_ == options_.items) turn();
  const int item = order_[static_cast<std::size_t>(at_)];
  const std::int64_t first = std::int64_t{epoch_} * options_.items;
  return {.item = item,
          .number = first + at_++,
          .next_use = first + options_.items + next_place_[static_cast<std::size_t>(item)]};
}

NodeCache::NodeCache(catalog::EvictionPolicy policy, int items, int capacity, std::uint64_t seed)
    : policy_(policy),
      capacity_(static_cast<std::size_t>(std::max(0, capacity))),
      rank_(static_cast<std::size_t>(items), kAbsent),
      random_(seed, "storage/eviction") {}

bool NodeCache::read(const EpochRead& read) {
  const auto index = static_cast<std::size_t>(read.item);
  const bool hit = rank_[index] != kAbsent;
  if (policy_ == catalog::EvictionPolicy::pin) {
    if (!hit && held_ < capacity_) rank_[index] = 0, ++held_;
  } else if (policy_ == catalog::EvictionPolicy::random) {
    if (!hit) insert_at_random(read.item);
  } else {
    const bool by_age = policy_ == catalog::EvictionPolicy::lru;
    rerank(read.item, by_age ? kNever - 1 - read.number : read.next_use);
  }
  return hit;
}

void NodeCache::insert_at_random(int item) {
  if (places_.size() < capacity_) {
    places_.push_back(item);
  } else if (!places_.empty()) {
    int& place = places_[static_cast<std::size_t>(random_.below(places_.size()))];
    rank_[static_cast<std::size_t>(place)] = kAbsent;
    place = item;
  } else {
    return;
  }
  rank_[static_cast<std::size_t>(item)] = 0;
}

void NodeCache::rerank(int item, std::int64_t rank) {
  std::int64_t& current = rank_[static_cast<std::size_t>(item)];
  if (current != kAbsent) by_rank_.erase({current, item});
  by_rank_.insert({rank, item});
  current = rank;
  if (by_rank_.size() > capacity_) {
    const auto last = std::prev(by_rank_.end());
    rank_[static_cast<std::size_t>(last->second)] = kAbsent;
    by_rank_.erase(last);
  }
}

}  // namespace orrery::storage
