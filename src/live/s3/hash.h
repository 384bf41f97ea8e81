// Digests of live data, by OpenSSL: SHA-256 and its HMAC sign requests to object stores, MD5 is
// what such stores give as the ETag of an object.
//
// Raw digests are strings of bytes; base/digest.h's to_hex and to_base64 write them, and its
// CRC-32C checks a transfer. MD5 finds accidents, not attackers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace orrery::s3 {

enum class HashKind { sha256, sha1, md5 };

// A digest of bytes that come piece by piece.
class Hash {
 public:
  explicit Hash(HashKind kind);
  ~Hash();
  Hash(Hash&&) noexcept;
  Hash& operator=(Hash&&) noexcept;

  void add(std::string_view bytes);
  std::string finish();  // raw; nothing is added afterwards

 private:
  struct Parts;  // OpenSSL's, seen by hash.cpp only
  std::unique_ptr<Parts> parts_;
};

std::string sha256_hex(std::string_view bytes);                         // 64 hexadecimal digits
std::string md5(std::string_view bytes);                                // 16 bytes
std::string hmac_sha256(std::string_view key, std::string_view bytes);  // 32 bytes

}  // namespace orrery::s3
