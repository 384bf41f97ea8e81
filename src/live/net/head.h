// The head of a response as the text that goes over the wire (RFC 9112, 4 to 6).
//
// What frames the message is the server's matter: its version, whether the connection goes on, how
// long the body is. Headers of a response that say something of that are left out, and so is one
// with a line break in it, which would begin another header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "live/net/server.h"

namespace orrery::net {

struct Framing {
  unsigned version = 11;  // of HTTP: 11 or 10
  bool keep_alive = true;
  std::optional<std::uint64_t> length = {};
  bool chunked = false;
};

// Whether a body follows, and the length that is said of it. `head`: the request was a HEAD.
bool has_body(const Response& from, bool head);
std::optional<std::uint64_t> said_length(const Response& from, bool head);

// The response's own headers go before the server's defaults, and its fixed ones before both.
std::string head_text(const Response& from, const ServerOptions& options, const Framing& framing);

}  // namespace orrery::net
