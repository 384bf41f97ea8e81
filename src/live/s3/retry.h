// What to do after a request to an object store failed: retry, look first, or give up.
//
//   wait before attempt n+1   jitter x min(cap, base 2^n), jitter uniform in [0.5, 1) from a seeded
//                             stream; Retry-After if the server sends one, up to the cap
// Safe requests (PUT, GET, HEAD, DELETE, list, upload part, abort) are idempotent. Others (a
// conditional PUT, completing an upload) are not: if a failure leaves open whether the server
// acted, the caller looks before it sends the request again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/random.h"
#include "live/net/client.h"

namespace orrery::s3 {

struct RetryPolicy {
  int attempts_max = 7;
  double base_s = 0.1;
  double cap_s = 5;
};

double backoff_s(const RetryPolicy& policy, int failures, RandomStream& jitter);
// Returns the Retry-After of the answer in seconds, if it has one.
std::optional<double> retry_after_s(const net::Reply& reply);

enum class Fate {
  done,       // 2xx: the caller reads the answer
  refused,    // 4xx, or an untrusted server: a retry will not help
  not_acted,  // the server did not act: no connection, 429, 503
  unknown     // the server may have acted: broken connection, time-out, 500, 502, 504
};
Fate fate_of(const net::Reply& reply);

// Returns the <Code> of an error document, or an empty text.
std::string error_code(std::string_view body);
// Returns the <Message> of an error document, or an empty text.
std::string error_message(std::string_view body);

}  // namespace orrery::s3
