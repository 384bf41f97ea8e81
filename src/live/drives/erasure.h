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
  int parity = 0;  // m; if k is 1, further copies
  int total() const { return data + parity; }
  bool operator==(const ShardPlan&) const = default;
};

// Returns the parities of `data` (k blocks of one length). Reuses the memory of `spare`, the
// parities of an earlier stripe, so that a large object allocates once.
std::vector<std::string> parity_of(const ShardPlan& plan, std::span<const std::string_view> data,
                                   std::vector<std::string> spare = {});

// Returns the block of shard `wanted`, computed from any k of the others; nullopt if there are
// fewer. `blocks` has k + m entries, nullopt for lost ones.
std::optional<std::string> rebuilt_block(const ShardPlan& plan,
                                         std::span<const std::optional<std::string>> blocks,
                                         int wanted);

std::uint32_t block_crc(std::string_view bytes, std::uint32_t before);
// Returns the CRC-64/XZ of bytes that follow those whose CRC is `before`.
std::uint64_t content_crc(std::string_view bytes, std::uint64_t before = 0);

}  // namespace orrery::drives
