// A cache item by item, and the order in which epochs read: what the loaders of a simulated host go
// through.
//
// Every item is read once an epoch. The order of an epoch follows from the seed and the epoch's
// number alone, so that a run which is resumed reads on where it stood, and so that the next use of
// an item is known: Belady's choice can be had, since a shuffle is drawn before it is read.
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
  // How far an item may move from its place in the file order: 0 a fixed order, items or more a
  // full shuffle, between them the shuffle buffer of streaming loaders.
  int shuffle_buffer = 0;
  std::uint64_t seed = 1;
};

std::vector<int> epoch_order(const EpochOptions& options, int epoch);

struct EpochRead {
  int item = 0;
  std::int64_t number = 0;    // of all reads, from 0
  std::int64_t next_use = 0;  // the number of the item's next read
};

class EpochReader {
 public:
  explicit EpochReader(const EpochOptions& options);

  EpochRead next();

 private:
  void turn();

  EpochOptions options_;
  std::vector<int> order_;       // of this epoch
  std::vector<int> next_order_;  // of the one after it
  std::vector<int> next_place_;  // of an item in it
  int epoch_ = 0;
  int at_ = 0;
};

class NodeCache {
 public:
  NodeCache(catalog::EvictionPolicy policy, int items, int capacity, std::uint64_t seed);

  // True on a hit. What was missed is held from now on, as far as the policy says so.
  bool read(const EpochRead& read);

 private:
  static constexpr std::int64_t kAbsent = -1;

  void insert_at_random(int item);
  void rerank(int item, std::int64_t rank);

  // Each item held has a rank; the highest goes first. LRU ranks by age, Belady by next use; random
  // eviction picks a place, since a rank drawn at the read is no even draw at the eviction.
  catalog::EvictionPolicy policy_;
  std::size_t capacity_;
  std::size_t held_ = 0;
  std::vector<std::int64_t> rank_;
  std::vector<int> places_;
  std::set<std::pair<std::int64_t, int>> by_rank_;
  RandomStream random_;
};

}  // namespace orrery::storage
