// A cache item by item, and the order in which epochs read: used by the loaders of a simulated
// host.
//
// Every item is read once per epoch. The order of an epoch depends only on the seed and the epoch's
// number, so a resumed run continues where it was. An item's next use is therefore known, which
// makes Belady's choice possible: a shuffle is drawn before it is read.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/catalog/vocabulary.h"

namespace orrery::storage {

struct EpochOptions {
  int items = 1;
  // How far an item may move from its position in the file order: 0 is a fixed order, `items` or
  // more a full shuffle, and values between them the shuffle buffer of streaming loaders.
  int shuffle_buffer = 0;
  std::uint64_t seed = 1;
};

std::vector<int> epoch_order(const EpochOptions& options, int epoch);

struct EpochRead {
  int item = 0;
  std::int64_t number = 0;    // counts all reads, from 0
  std::int64_t next_use = 0;  // the number of the item's next read
};

class EpochReader {
 public:
  explicit EpochReader(const EpochOptions& options);

  EpochRead next();

 private:
  void turn();

  EpochOptions options_;
  std::vector<int> order_;       // item order of the current epoch
  std::vector<int> next_order_;  // item order of the next epoch
  std::vector<int> next_place_;  // an item's position in it
  int epoch_ = 0;
  int at_ = 0;
};

class NodeCache {
 public:
  NodeCache(catalog::EvictionPolicy policy, int items, int capacity, std::uint64_t seed);

  // Returns true on a hit. A missed item is cached from now on if the policy keeps it.
  bool read(const EpochRead& read);

 private:
  static constexpr std::int64_t kAbsent = -1;

  void insert_at_random(int item);
  void rerank(int item, std::int64_t rank);

  // Each cached item has a rank; the highest is evicted first. LRU ranks by age, Belady by next
  // use. Random eviction picks an entry directly, because ranks drawn at read time would not give
  // an even draw at eviction.
  catalog::EvictionPolicy policy_;
  std::size_t capacity_;
  std::size_t held_ = 0;
  std::vector<std::int64_t> rank_;
  std::vector<int> places_;
  std::set<std::pair<std::int64_t, int>> by_rank_;
  RandomStream random_;
};

}  // namespace orrery::storage
