// The ETag of a large body whose client sent no MD5 (docs/decisions/etag.md).
//
//   CCCCCCCCCCCCCCCCEEEEEEEENNNNNNNN-1    CRC-64/XZ of the bytes, run and number of their blob
// MD5 takes longer than the disk does, and no client that knows S3 takes an ETag with a dash for an
// MD5. The CRC finds what a disk or a copy did to the bytes (it misses a fault once in 2e19), not
// an attacker; the blob's name keeps two bodies from ever having the same ETag, so that conditions
// hold whatever their CRCs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/drives/erasure.h"

namespace orrery::upkeep {

std::string quick_etag(std::uint64_t crc, std::string_view blob);
// Returns nullopt for an MD5, and for the ETag of several parts.
std::optional<std::uint64_t> crc_of_etag(std::string_view etag);

}  // namespace orrery::upkeep
