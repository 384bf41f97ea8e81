// The KV blocks of one replica: which request holds which, and which full blocks other requests may
// share.
//
// Without sharing only counts are kept. With sharing, a full block has a name, a hash chained over
// all tokens up to its end. A block that no request holds goes into a queue, oldest first, and can
// be found by its name until it is reused (like vLLM's block pool: a request's blocks are freed
// from last to first, so that the beginnings of prompts survive longest). The last token of a
// prompt is always computed, so a hit ends before it.
//
//   needed = ceil(tokens / block) - held - hits;   it fits if needed + idle hits <= free
// check() verifies the invariant: every block is either held or free, never both; counts add up;
// and a name leads only to blocks that carry it.
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
  // With sharing, the contents of reused blocks go to a tier of `tier_blocks` blocks, if that is
  // above 0.
  BlockPool(int blocks, int block_tokens, bool sharing, int tier_blocks = 0);

  int blocks() const { return total_; }
  int free_blocks() const { return free_; }
  int block_tokens() const { return block_tokens_; }
  bool sharing() const { return sharing_; }
  int blocks_of(int tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }

  // Returns how many tokens of the sequence are already in full blocks of the pool; whole blocks
  // only.
  int cached_tokens(const Sequence& s) const;
  // Returns how many tokens after those `cached` ones the tier holds; whole blocks only.
  int tier_tokens(const Sequence& s, int cached) const;
  // Returns the free blocks needed to hold `tokens` of the sequence, of which the first `cached`
  // are found in the pool.
  int cost(const Sequence& s, int tokens, int cached) const;
  // Allocates the blocks; if they do not fit, returns false and changes nothing. Full blocks get
  // their names at once, so the next request of the same step may share them.
  bool allocate(Sequence& s, int tokens, int cached = 0);
  void release(Sequence& s);

  // Returns what violates the invariant; empty if nothing does.
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
  // By block. Free blocks form a linked list through next_ and previous_; index `total_` is its
  // head and tail.
  std::vector<int> holders_;
  std::vector<int> next_;
  std::vector<int> previous_;
  std::vector<std::uint64_t> name_;  // 0: none
  std::vector<int> same_;            // the next block with the same name; -1: none
  std::unordered_map<std::uint64_t, int> named_;
  KvTier tier_;
};

}  // namespace orrery::engines
