#include "layers/engines/block_pool.h"

#include <algorithm>

namespace orrery::engines {
namespace {

// SplitMix64's finisher, so that names of blocks do not collide by chance.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t join(std::uint64_t a, std::uint64_t b) {
  return mix(a + 0x9e3779b97f4a7c15ULL * (b + 1));
}

}  // namespace

BlockPool::BlockPool(int blocks, int block_tokens, bool sharing, int tier_blocks)
    : total_(std::max(0, blocks)),
      free_(total_),
      block_tokens_(std::max(1, block_tokens)),
      sharing_(sharing),
      tier_(sharing ? tier_blocks : 0) {
  if (!sharing_) return;
  const auto count = static_cast<std::size_t>(total_);
  holders_.assign(count, 0);
  name_.assign(count, 0);
  same_.assign(count, -1);
  next_.resize(count + 1);
  previous_.resize(count + 1);
  for (int b = 0; b <= total_; ++b) {
    next_[static_cast<std::size_t>(b)] = b == total_ ? 0 : b + 1;
    previous_[static_cast<std::size_t>(b)] = b == 0 ? total_ : b - 1;
  }
}

// A name depends on the whole prefix: if the shared part ends inside a block, sharing ends there
// too.
std::uint64_t BlockPool::name_of(const Sequence& s, int block) const {
  const RequestSpec& spec = s.spec;
  const int end = (block + 1) * block_tokens_;
  std::uint64_t name = join(1, static_cast<std::uint64_t>(block));
  if (spec.adapter != 0) name = join(name, static_cast<std::uint64_t>(spec.adapter));
  if (spec.shared_tokens > 0) {
    if (spec.shared == 0) return 0;
    name = join(name, spec.shared);
    if (end <= spec.shared_tokens) return name;
    name = join(name, static_cast<std::uint64_t>(spec.shared_tokens));
  }
  if (spec.content == 0 || (end > spec.prompt && !spec.talks)) return 0;
  return join(name, spec.content);
}

int BlockPool::cached_tokens(const Sequence& s) const {
  if (!sharing_) return 0;
  const int most = (s.known() - 1) / block_tokens_;
  int found = 0;
  while (found < most) {
    const std::uint64_t name = name_of(s, found);
    if (name == 0 || !named_.contains(name)) break;
    ++found;
  }
  return found * block_tokens_;
}

int BlockPool::tier_tokens(const Sequence& s, int cached) const {
  if (!tier_.is_there()) return 0;
  const int most = (s.known() - 1) / block_tokens_;
  const int first = cached / block_tokens_;
  int found = first;
  while (found < most) {
    const std::uint64_t name = name_of(s, found);
    if (name == 0 || !tier_.has(name)) break;
    ++found;
  }
  return (found - first) * block_tokens_;
}

int BlockPool::cost(const Sequence& s, int tokens, int cached) const {
  const int hits = cached / block_tokens_;
  int need = std::max(0, blocks_of(tokens) - s.blocks - hits);
  for (int b = 0; b < hits; ++b) {
    if (holders_[static_cast<std::size_t>(named_.at(name_of(s, b)))] == 0) ++need;
  }
  return need;
}

void BlockPool::unlink(int block) {
  const auto b = static_cast<std::size_t>(block);
  next_[static_cast<std::size_t>(previous_[b])] = next_[b];
  previous_[static_cast<std::size_t>(next_[b])] = previous_[b];
}

void BlockPool::push_free(int block) {
  const auto b = static_cast<std::size_t>(block);
  const auto end = static_cast<std::size_t>(total_);
  previous_[b] = previous_[end];
  next_[b] = total_;
  next_[static_cast<std::size_t>(previous_[end])] = block;
  previous_[end] = block;
}

void BlockPool::forget(int block) {
  const auto b = static_cast<std::size_t>(block);
  if (name_[b] == 0) return;
  const auto at = named_.find(name_[b]);
  if (at->second == block) {
    if (same_[b] < 0) {
      tier_.keep(name_[b]);
      named_.erase(at);
    } else {
      at->second = same_[b];
    }
  } else {
    auto before = static_cast<std::size_t>(at->second);
    while (same_[before] != block) before = static_cast<std::size_t>(same_[before]);
    same_[before] = same_[b];
  }
  same_[b] = -1;
  name_[b] = 0;
}

int BlockPool::take() {
  const int block = next_[static_cast<std::size_t>(total_)];
  unlink(block);
  forget(block);
  holders_[static_cast<std::size_t>(block)] = 1;
  --free_;
  return block;
}

void BlockPool::hold(int block) {
  int& holders = holders_[static_cast<std::size_t>(block)];
  if (holders == 0) {
    unlink(block);
    --free_;
  }
  ++holders;
}

void BlockPool::name_full(Sequence& s, int tokens) {
  const int full = std::min(tokens, s.known()) / block_tokens_;
  for (int i = full - 1; i >= 0; --i) {
    const int block = s.block_ids[static_cast<std::size_t>(i)];
    const auto b = static_cast<std::size_t>(block);
    if (name_[b] != 0) break;
    const std::uint64_t name = name_of(s, i);
    if (name == 0) continue;
    name_[b] = name;
    const auto [at, fresh] = named_.try_emplace(name, block);
    if (fresh) continue;
    auto last = static_cast<std::size_t>(at->second);
    while (same_[last] >= 0) last = static_cast<std::size_t>(same_[last]);
    same_[last] = block;
  }
}

bool BlockPool::allocate(Sequence& s, int tokens, int cached) {
  const int need = blocks_of(tokens) - s.blocks;
  if (need <= 0) {
    if (sharing_) name_full(s, tokens);
    return true;
  }
  if (!sharing_) {
    if (need > free_) return false;
    free_ -= need;
    s.blocks += need;
    return true;
  }
  if (cost(s, tokens, cached) > free_) return false;
  for (int i = 0; i < cached / block_tokens_; ++i) {
    const int block = named_.at(name_of(s, i));
    hold(block);
    s.block_ids.push_back(block);
  }
  while (static_cast<int>(s.block_ids.size()) < s.blocks + need) s.block_ids.push_back(take());
  s.blocks += need;
  name_full(s, tokens);
  return true;
}

void BlockPool::release(Sequence& s) {
  if (!sharing_) {
    free_ += s.blocks;
    s.blocks = 0;
    return;
  }
  for (std::size_t i = s.block_ids.size(); i-- > 0;) {
    const int block = s.block_ids[i];
    if (--holders_[static_cast<std::size_t>(block)] > 0) continue;
    push_free(block);
    ++free_;
  }
  s.block_ids.clear();
  s.blocks = 0;
}

std::string BlockPool::check(const std::vector<Sequence>& all) const {
  int held = 0;
  std::vector<int> holders(holders_.size(), 0);
  for (const Sequence& s : all) {
    held += s.blocks;
    if (sharing_ && static_cast<int>(s.block_ids.size()) != s.blocks) return "a count is wrong";
    for (const int b : s.block_ids) ++holders[static_cast<std::size_t>(b)];
  }
  if (!sharing_) return held + free_ == total_ ? "" : "blocks leaked";
  if (holders != holders_) return "a block's holder count is wrong";
  int free = 0;
  for (int b = next_[static_cast<std::size_t>(total_)]; b != total_;
       b = next_[static_cast<std::size_t>(b)]) {
    if (holders_[static_cast<std::size_t>(b)] != 0) return "a held block is free";
    ++free;
  }
  const auto idle = std::ranges::count(holders_, 0);
  if (free != free_ || free != idle) return "free blocks do not add up";
  for (const auto& [name, block] : named_) {
    if (name_[static_cast<std::size_t>(block)] != name) return "a name leads to a wrong block";
  }
  return {};
}

}  // namespace orrery::engines
