// Digests: SHA-256 (FIPS 180-4), the identity of a design; HMAC-SHA-256 (RFC 2104), which signs
// requests to object stores; MD5 (RFC 1321) and CRC-32C, with which such stores check a transfer.
//
// Raw digests are strings of bytes; to_hex and to_base64 write them. MD5 and CRC-32C find
// accidents, not attackers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

std::string sha256(std::string_view text);                             // 32 bytes
std::string sha256_hex(std::string_view text);                         // 64 hexadecimal digits
std::string hmac_sha256(std::string_view key, std::string_view text);  // 32 bytes
std::string md5(std::string_view text);                                // 16 bytes
// Of `bytes` after what gave `before`: parts may be fed one by one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

std::string to_hex(std::string_view bytes);
std::string to_base64(std::string_view bytes);

}  // namespace orrery
