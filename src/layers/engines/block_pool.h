// The KV blocks of one replica: who holds which, and which full blocks another request may share.
//
// Without sharing only counts are kept. With it, a full block has the chained name of the tokens up
// to its end; a block that nobody holds stays in a queue, oldest first, and is found again by its
// name until it is handed out anew (vLLM's block pool: freed from the last block of a request to
// its first, so that heads of prompts live longest). The last token of a prompt is always computed,
// so a hit ends before it.
//
//   needed = ceil(tokens / block) - held - hits;   it fits if needed + idle hits <= free
// check() states the invariant: every block is held by somebody or free, counts add up, no block
// is free and held, a name leads to blocks that carry it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "layers/engines/kv_tier.h"
#include "layers/engines/sequence.h"

namespace orrery::engines {

class BlockPool {
 public:
  // With sharing, blocks that are handed out anew go to a tier of so many, if any.
  BlockPool(int blocks, int block_tokens, bool sharing, int tier_blocks = 0);

  int blocks() const { return total_; }
  int free_blocks() const { return free_; }
  int block_tokens() const { return block_tokens_; }
  bool sharing() const { return sharing_; }
  int blocks_of(int tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }

  // Tokens of the sequence that full blocks of the pool already hold; whole blocks.
  int cached_tokens(const Sequence& s) const;
  // Tokens behind those that the tier holds; whole blocks.
  int tier_tokens(const Sequence& s, int cached) const;
  // Free blocks that it takes to hold `tokens` of it, the first `cached` of them found here.
  int cost(const Sequence& s, int tokens, int cached) const;
  // False, and nothing changed, where they do not fit. Full blocks get their names at once: the
  // next request of the same step may share them.
  bool allocate(Sequence& s, int tokens, int cached = 0);
  void release(Sequence& s);

  // Empty where all is well, else what is wrong.
  std::string check(const std::vector<Sequence>& all) const;

 private:
  std::uint64_t name_of(const Sequence& s, int block) const;
  int take();
  void hold(int block);
  void name_full(Sequence& s, int tokens);
  void forget(int block);
  void push_free(int block);
  void unlink(int block);

  int total_ = 0;
  int free_ = 0;
  int block_tokens_ = 16;
  bool sharing_ = false;
  // Of each block; a list of the free ones runs through next_ and previous_, `total_` is its ends.
  std::vector<int> holders_;
  std::vector<int> next_;
  std::vector<int> previous_;
  std::vector<std::uint64_t> name_;  // 0: none
  std::vector<int> same_;            // the next block of the same name, -1: none
  std::unordered_map<std::uint64_t, int> named_;
  KvTier tier_;
};

}  // namespace orrery::engines
