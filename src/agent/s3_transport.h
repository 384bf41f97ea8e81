// One HTTP request and its whole answer: the only place that knows libcurl.
//
// A Transport is a callable, so that tests may answer in its stead. A failure before an answer is
// told by what is known of the request's fate: `not_sent` means that the server cannot have acted
// on it, `broken` that it may have. A body shorter than announced is `broken`, never a short
// answer.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "agent/sigv4.h"

namespace orrery {

struct HttpRequest {
  std::string method;
  std::string url;
  HeaderList headers;
  std::string_view body;           // of PUT and POST
  std::size_t expected_bytes = 0;  // of the answer's body; room is made for it
  // Sent at most once: on a connection of its own, since libcurl sends again by itself where a kept
  // one turns out to be closed.
  bool once = false;
};

enum class HttpFault { none, not_sent, broken, timed_out };

struct HttpReply {
  HttpFault fault = HttpFault::none;
  std::string fault_text;  // in libcurl's words
  int status = 0;
  HeaderList headers;  // names in lower case
  std::string body;
  double first_byte_s = 0;  // from the start of the request
  // A kept connection was found closed and made anew; libcurl then sends the request once more by
  // itself.
  bool reconnected = false;

  std::string_view header(std::string_view name) const;  // empty where absent
};

using Transport = std::function<HttpReply(const HttpRequest&)>;

struct HttpLimits {
  double connect_s = 5;
  // Slower than this for so long is a dead peer; a fixed total would end big objects on slow links.
  long slow_bytes_per_s = 1024;
  long slow_s = 20;
  std::size_t body_bytes_max = std::size_t{6} << 30;  // S3's largest object in one PUT is 5 GiB
};

// Keeps its connection open from request to request; for one thread.
Transport curl_transport(HttpLimits limits = {});

}  // namespace orrery
