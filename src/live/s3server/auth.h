// Who asks: AWS Signature Version 4 seen from the server, in the header or in a signed URL.
//
// The signature covers method, path, query, the headers it names and the digest of the body. The
// time may be 15 minutes off; a signed URL lives as long as it says, a week at the most. A request
// without any of it is a stranger's. What the body must be (its SHA-256, chunks that are each
// signed, nothing) follows from x-amz-content-sha256 and is checked as it comes (payload.h).
// A request that is sent again within its minutes is good again: S3 means it so, and TLS is what
// keeps others from hearing it.
#pragma once

#include <functional>
#include <optional>

#include "live/rows/records.h"
#include "live/s3server/s3_request.h"

namespace orrery::s3server {

// What the chunks of a streamed body are signed with.
struct ChunkSeed {
  std::string key;
  std::string time;
  std::string scope;
  std::string signature;  // of the request, which the first chunk's rests on
};

struct Caller {
  std::optional<Tenant> tenant;  // none: a stranger
  std::string payload;           // x-amz-content-sha256; "UNSIGNED-PAYLOAD" where none was sent
  ChunkSeed seed = {};

  std::string id() const { return tenant ? tenant->id : std::string(); }
};

using FindTenant = std::function<Answer<std::optional<Tenant>>(std::string_view access_key)>;

// `region` is the one that a credential's scope must name.
Answer<Caller> authenticate(const net::Request& raw, const S3Request& request, TimeMs now,
                            std::string_view region, const FindTenant& find);

}  // namespace orrery::s3server
