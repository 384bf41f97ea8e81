// What to do after a request to an object store failed: ask again, find out, or give up.
//
//   wait before attempt n+1   jitter x min(cap, base 2^n), jitter uniform in [0.5, 1) from a seeded
//                             stream; Retry-After where the server gives one, up to the cap
// Safe requests (PUT, GET, HEAD, DELETE, list, upload part, abort) may be sent twice with no other
// effect than once. Careful ones (a conditional PUT, completing an upload) may not: after a failure
// that leaves open whether the server acted, the caller looks before it sends again.
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
// The server's own wish in seconds, where the answer has one.
std::optional<double> retry_after_s(const net::Reply& reply);

enum class Fate {
  done,       // an answer to be read by the caller, 2xx
  refused,    // the server will not: 4xx, or is not the one it should be; asking again changes
              // nothing
  not_acted,  // the server surely did not act: no connection, 429, 503
  unknown     // it may have: broken connection, time-out, 500, 502, 504
};
Fate fate_of(const net::Reply& reply);

// <Code>SlowDown</Code> of an error document; empty where there is none.
std::string error_code(std::string_view body);
// Its <Message>.
std::string error_message(std::string_view body);

}  // namespace orrery::s3
