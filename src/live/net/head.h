// The head of a response as the text that is sent (RFC 9112, sections 4 to 6).
//
// The server decides the framing: the version, whether the connection is kept, and the length of
// the body. Response headers that contradict this are left out. So is any header that contains a
// line break, because it would inject another header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "live/net/server.h"

namespace orrery::net {

struct Framing {
  unsigned version = 11;  // HTTP version: 11 for 1.1, or 10 for 1.0
  bool keep_alive = true;
  std::optional<std::uint64_t> length = {};
  bool chunked = false;
};

// Return whether a body follows, and its announced length. `head`: the request was a HEAD.
bool has_body(const Response& from, bool head);
std::optional<std::uint64_t> said_length(const Response& from, bool head);

// Headers of the response override the server's defaults; the server's fixed headers override both.
std::string head_text(const Response& from, const ServerOptions& options, const Framing& framing);

}  // namespace orrery::net
