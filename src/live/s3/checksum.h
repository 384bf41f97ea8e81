// The checksums that a client may send with an object or ask for: CRC-32, CRC-32C, CRC-64/NVME,
// SHA-1 and SHA-256 (S3 user guide, "Checking object integrity").
//
// CRCs are linear, so the CRC of a whole object follows from the CRCs and the lengths of its parts
// (crc(AB) = crc(A) x^|B| + crc(B) over GF(2)). The SHAs of parts are combined by hashing them
// ("composite", with the number of parts after a dash).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/s3/hash.h"

namespace orrery::s3 {

enum class SumKind { crc32, crc32c, crc64nvme, sha1, sha256 };

std::optional<SumKind> sum_kind_of(std::string_view name);  // "CRC32" or "crc32"
std::string_view name_of(SumKind kind);                     // "CRC32"
std::string header_name_of(SumKind kind);                   // "x-amz-checksum-crc32"
bool is_linear(SumKind kind);

class Summer {
 public:
  explicit Summer(SumKind kind);
  void add(std::string_view bytes);
  std::string finish();  // raw, most significant byte first
  SumKind kind() const { return kind_; }

 private:
  SumKind kind_;
  std::uint64_t crc_ = 0;
  std::optional<Hash> hash_;
};

// Returns the CRC of A followed by B, from the CRCs of A and of B (raw).
std::string joined_crc(SumKind kind, std::string_view first, std::string_view second,
                       std::uint64_t second_bytes);

// Returns nullopt if the text is not strict base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace orrery::s3
