// Digests: SHA-256 (FIPS 180-4), the identity of a design, and CRC-32C, which checks a transfer.
//
// Raw digests are strings of bytes; to_hex and to_base64 write them. CRC-32C finds accidents, not
// attackers. What signs requests and streams through live rooms is s3/hash.h's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

std::string sha256(std::string_view text);      // 32 bytes
std::string sha256_hex(std::string_view text);  // 64 hexadecimal digits
// Of `bytes` after what gave `before`: parts may be fed one by one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

std::string to_hex(std::string_view bytes);
std::string to_base64(std::string_view bytes);

}  // namespace orrery
