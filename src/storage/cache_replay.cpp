#include "storage/cache_replay.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace orrery::storage {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

using Reads = std::vector<int>;

void append_shuffled(Reads& reads, int items, RandomStream& random) {
  const auto first = static_cast<std::ptrdiff_t>(reads.size());
  for (int i = 0; i < items; ++i) reads.push_back(i);
  for (int i = items - 1; i > 0; --i) {
    const auto j = static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint64_t>(i) + 1));
    std::swap(reads[static_cast<std::size_t>(first + i)],
              reads[static_cast<std::size_t>(first + j)]);
  }
}

// A buffer filled in file order; each read takes a random place of it and refills that place.
void append_buffered(Reads& reads, int items, int buffer, RandomStream& random) {
  std::vector<int> held;
  int next = 0;
  while (next < items && std::ssize(held) < buffer) held.push_back(next++);
  while (!held.empty()) {
    const auto slot = static_cast<std::size_t>(random.below(held.size()));
    reads.push_back(held[slot]);
    if (next < items) {
      held[slot] = next++;
    } else {
      held[slot] = held.back();
      held.pop_back();
    }
  }
}

Reads make_reads(const ReplayOptions& o) {
  RandomStream random(o.seed, "storage/epoch-order");
  Reads reads;
  for (int epoch = 0; epoch < o.cold_epochs + o.warm_epochs; ++epoch) {
    if (o.shuffle_buffer >= o.items) {
      append_shuffled(reads, o.items, random);
    } else {
      append_buffered(reads, o.items, std::max(1, o.shuffle_buffer), random);
    }
  }
  return reads;
}

// For each read, when the same item is read next.
std::vector<std::int64_t> next_uses(const Reads& reads, int items) {
  std::vector<std::int64_t> next(reads.size());
  std::vector<std::int64_t> seen(static_cast<std::size_t>(items), kNever);
  for (std::int64_t at = std::ssize(reads) - 1; at >= 0; --at) {
    const auto item = static_cast<std::size_t>(reads[static_cast<std::size_t>(at)]);
    next[static_cast<std::size_t>(at)] = seen[item];
    seen[item] = at;
  }
  return next;
}

// Each cached item has a rank; the highest goes first. LRU ranks by age, Belady by next use, random
// by a draw at the time of the read, which equals an even draw at eviction only for items that are
// redrawn, so random eviction picks a place instead.
class Cache {
 public:
  Cache(const ReplayOptions& o)
      : policy_(o.policy),
        capacity_(static_cast<std::size_t>(o.capacity)),
        rank_(static_cast<std::size_t>(o.items), kAbsent),
        random_(o.seed, "storage/eviction") {}

  // True on a hit.
  bool read(int item, std::int64_t now, std::int64_t next_use) {
    const auto index = static_cast<std::size_t>(item);
    const bool hit = rank_[index] != kAbsent;
    if (policy_ == catalog::EvictionPolicy::pin) {
      if (!hit && held_ < capacity_) rank_[index] = 0, ++held_;
    } else if (policy_ == catalog::EvictionPolicy::random) {
      if (!hit) insert_at_random(item);
    } else {
      rerank(item, policy_ == catalog::EvictionPolicy::lru ? kNever - 1 - now : next_use);
    }
    return hit;
  }

 private:
  static constexpr std::int64_t kAbsent = -1;

  void insert_at_random(int item) {
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

  void rerank(int item, std::int64_t rank) {
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

  catalog::EvictionPolicy policy_;
  std::size_t capacity_;
  std::size_t held_ = 0;
  std::vector<std::int64_t> rank_;
  std::vector<int> places_;
  std::set<std::pair<std::int64_t, int>> by_rank_;
  RandomStream random_;
};

}  // namespace

double replay_hit_rate(const ReplayOptions& options) {
  const Reads reads = make_reads(options);
  const auto next = next_uses(reads, options.items);
  const std::int64_t counted_from = std::int64_t{options.cold_epochs} * options.items;
  Cache cache(options);
  std::int64_t hits = 0;
  for (std::int64_t at = 0; at < std::ssize(reads); ++at) {
    const auto i = static_cast<std::size_t>(at);
    const bool hit = cache.read(reads[i], at, next[i]);
    if (hit && at >= counted_from) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(std::ssize(reads) - counted_from);
}

}  // namespace orrery::storage
