// AES-256-GCM of blocks at rest, by OpenSSL: a stored block is its encrypted bytes and a 16-byte
// tag that detects any change.
//
//   key of a blob = HMAC-SHA256(master key, "orrery-blob" 0 NAME)
//   nonce         = shard (4 bytes, big-endian), number of the block (8 bytes)
// A blob is written once and its name is never reused, so no nonce is used twice under one key
// (NIST SP 800-38D, 8.2.1). Hides contents, not sizes, names or times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::s3 {

inline constexpr std::size_t kMasterKeyBytes = 32;
inline constexpr std::size_t kSealBytes = 16;

class BlockCipher {
 public:
  BlockCipher(std::string_view master_key, std::string_view name);

  std::string seal(std::uint32_t shard, std::uint64_t block, std::string_view plain) const;
  // Decrypts a block. Returns nullopt if `sealed` was not encrypted with this key for this shard
  // and block.
  std::optional<std::string> open(std::uint32_t shard, std::uint64_t block,
                                  std::string_view sealed) const;

 private:
  std::string key_;
};

}  // namespace orrery::s3
