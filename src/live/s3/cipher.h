// AES-256-GCM of blocks at rest, by OpenSSL: what is stored is the block's bytes enciphered and 16
// bytes behind them that prove nobody has changed it.
//
//   key of a blob = HMAC-SHA256(master key, "orrery-blob" 0 NAME)
//   nonce         = shard (4 bytes, big-endian), number of the block (8 bytes)
// A blob is written once and its name never given again, so no nonce is used twice under one key
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
  // Nullopt where it is not what was sealed under this key, in this place.
  std::optional<std::string> open(std::uint32_t shard, std::uint64_t block,
                                  std::string_view sealed) const;

 private:
  std::string key_;
};

}  // namespace orrery::s3
