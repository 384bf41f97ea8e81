// Shards of a stripe: k of data, m of parity, any k of which give the data again; and the checksum
// of a block.
//
// Reed-Solomon over GF(2^8) with a Cauchy matrix, by ISA-L (docs/decisions/isa-l.md): every square
// submatrix of a Cauchy matrix can be inverted, so any m losses are survivable. With k = 1 the
// parities are copies. CRC-32C (Castagnoli) finds every burst of up to 32 bits and misses another
// fault once in 4e9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::drives {

inline constexpr int kShardsMax = 32;

struct ShardPlan {
  int data = 1;    // k
  int parity = 0;  // m; with one of data: further copies
  int total() const { return data + parity; }
  bool operator==(const ShardPlan&) const = default;
};

// The parities of `data` (k blocks of one length), in the memory of `spare` as far as it goes:
// those of an earlier stripe, so that a large object asks for memory once.
std::vector<std::string> parity_of(const ShardPlan& plan, std::span<const std::string_view> data,
                                   std::vector<std::string> spare = {});

// The block of shard `wanted` from any k of the others; `blocks` has k + m places, those that are
// lost empty (nullopt). Nullopt where fewer than k are there.
std::optional<std::string> rebuilt_block(const ShardPlan& plan,
                                         std::span<const std::optional<std::string>> blocks,
                                         int wanted);

std::uint32_t block_crc(std::string_view bytes, std::uint32_t before);
// CRC-64/XZ, of bytes that follow those of `before`.
std::uint64_t content_crc(std::string_view bytes, std::uint64_t before = 0);

}  // namespace orrery::drives
