// The ETag of a large body whose client sent no MD5 (docs/decisions/etag.md).
//
//   CCCCCCCCCCCCCCCCEEEEEEEENNNNNNNN-1    CRC-64/XZ of the bytes, run and number of their blob
//
// Computing an MD5 takes longer than writing to the disk, and no S3 client takes an ETag with a
// dash for an MD5. The CRC detects changes by a disk or a copy (it misses one fault in 2e19), but
// not an attacker's. Because of the blob's name no two bodies ever have the same ETag, so
// conditions hold whatever the CRCs are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/drives/erasure.h"

namespace orrery::upkeep {

std::string quick_etag(std::uint64_t crc, std::string_view blob);
// Returns nullopt for an MD5, and for the ETag of a multipart upload.
std::optional<std::uint64_t> crc_of_etag(std::string_view etag);

}  // namespace orrery::upkeep
