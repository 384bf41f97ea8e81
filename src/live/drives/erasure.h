// The shards of a stripe, k of data and m of parity, any k of which give the data back; and the
// checksum of a block.
//
// Reed-Solomon over GF(2^8) with a Cauchy matrix, by ISA-L (docs/decisions/isa-l.md): every square
// submatrix of a Cauchy matrix can be inverted, so any m losses are survivable. With k = 1 the
// parities are copies. CRC-32C (Castagnoli) detects every burst of up to 32 bits, and misses any
// other fault with a probability of one in 4e9.
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
  int parity = 0;  // m; if k is 1, the parities are copies
  int total() const { return data + parity; }
  bool operator==(const ShardPlan&) const = default;
};

// Returns the parities of `data` (k blocks of equal length). Reuses the memory of `spare`, the
// parities of an earlier stripe, so that a large object allocates only once.
std::vector<std::string> parity_of(const ShardPlan& plan, std::span<const std::string_view> data,
                                   std::vector<std::string> spare = {});

// Returns the block of shard `wanted`, computed from any k of the other shards; nullopt if there
// are fewer. `blocks` has k + m entries; lost ones are nullopt.
std::optional<std::string> rebuilt_block(const ShardPlan& plan,
                                         std::span<const std::optional<std::string>> blocks,
                                         int wanted);

std::uint32_t block_crc(std::string_view bytes, std::uint32_t before);
// Returns the CRC-64/XZ of all bytes so far: `bytes`, and those before them, whose CRC is `before`.
std::uint64_t content_crc(std::string_view bytes, std::uint64_t before = 0);

}  // namespace orrery::drives
