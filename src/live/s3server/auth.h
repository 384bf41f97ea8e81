// Authentication: AWS Signature Version 4 on the server's side, in the header or in a signed URL.
//
// The signature covers method, path, query, the headers it names and the digest of the body. The
// time may be off by 15 minutes; a signed URL is valid as long as it says, at most a week. A
// request without a signature is anonymous. What the body must be (a given SHA-256, signed chunks,
// or anything) follows from x-amz-content-sha256, and is checked as the body arrives (payload.h). A
// request that is repeated within its validity is accepted again, as in S3; TLS keeps third parties
// from reading it.
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
  std::string signature;  // signature of the request; the signature of the first chunk includes it
};

struct Caller {
  std::optional<Tenant> tenant;  // nullopt: anonymous
  std::string payload;           // x-amz-content-sha256, or "UNSIGNED-PAYLOAD" if it is missing
  ChunkSeed seed = {};

  std::string id() const { return tenant ? tenant->id : std::string(); }
};

using FindTenant = std::function<Answer<std::optional<Tenant>>(std::string_view access_key)>;

// Identifies the caller. `region` must be in the scope of the credential.
Answer<Caller> authenticate(const net::Request& raw, const S3Request& request, TimeMs now,
                            std::string_view region, const FindTenant& find);

}  // namespace orrery::s3server
