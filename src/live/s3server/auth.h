// Who asks: AWS Signature Version 4 seen from the server, in the header or in a signed URL.
//
// The signature covers method, path, query, the headers it names and the digest of the body. The
// time may be 15 minutes off; a signed URL is valid as long as it says, at most a week. A request
// without a signature is anonymous. What the body must be (its SHA-256, signed chunks, nothing)
// follows from x-amz-content-sha256 and is checked as it comes (payload.h).
// A request that is repeated within its validity is accepted again, as in S3; TLS keeps others from
// reading it.
#pragma once

#include <functional>
#include <optional>

#include "live/rows/records.h"
#include "live/s3server/s3_request.h"

namespace orrery::s3server {

// What the chunks of a streamed body are signed with: key, time and scope of the request.
struct ChunkSeed {
  std::string key;
  std::string time;
  std::string scope;
  std::string signature;  // of the request; the first chunk's signature includes it
};

struct Caller {
  std::optional<Tenant> tenant;  // nullopt: anonymous
  std::string payload;           // x-amz-content-sha256; "UNSIGNED-PAYLOAD" if none was sent
  ChunkSeed seed = {};

  std::string id() const { return tenant ? tenant->id : std::string(); }
};

using FindTenant = std::function<Answer<std::optional<Tenant>>(std::string_view access_key)>;

// `region` must be in the scope of the credential.
Answer<Caller> authenticate(const net::Request& raw, const S3Request& request, TimeMs now,
                            std::string_view region, const FindTenant& find);

}  // namespace orrery::s3server
