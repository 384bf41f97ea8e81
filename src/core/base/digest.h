// Digests: SHA-256 (FIPS 180-4), the identity of a design, and CRC-32C, which checks a transfer.
//
// Raw digests are strings of bytes; to_hex and to_base64 write them as text. CRC-32C detects
// accidental damage, not attackers. The hashes that sign requests and streams in the live rooms are
// in s3/hash.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

std::string sha256(std::string_view text);      // 32 bytes
std::string sha256_hex(std::string_view text);  // 64 hexadecimal digits
// Returns the CRC-32C of `bytes` appended to data whose CRC is `before`, so that parts may be fed
// one by one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

std::string to_hex(std::string_view bytes);
std::string to_base64(std::string_view bytes);

}  // namespace orrery
