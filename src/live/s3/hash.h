// Digests computed by OpenSSL. SHA-256 and its HMAC sign requests to object stores; MD5 is the ETag
// of an object in many stores.
//
// Raw digests are byte strings; to_hex and to_base64 of base/digest.h turn them into text, and its
// CRC-32C checks a transfer. MD5 detects accidents, not attacks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace orrery::s3 {

enum class HashKind { sha256, sha1, md5 };

// The digest of bytes that arrive in pieces.
class Hash {
 public:
  explicit Hash(HashKind kind);
  ~Hash();
  Hash(Hash&&) noexcept;
  Hash& operator=(Hash&&) noexcept;

  void add(std::string_view bytes);
  std::string finish();  // raw; no bytes may be added afterwards

 private:
  struct Parts;  // OpenSSL's types, hidden in hash.cpp
  std::unique_ptr<Parts> parts_;
};

std::string sha256_hex(std::string_view bytes);                         // 64 hexadecimal digits
std::string md5(std::string_view bytes);                                // 16 bytes
std::string hmac_sha256(std::string_view key, std::string_view bytes);  // 32 bytes

}  // namespace orrery::s3
