// One HTTP request and its answer, as a value or streamed; over plain TCP or verified TLS.
//
// Promises. A connection is kept from request to request. A failure before the end of an answer is
// told by what is known of the request's fate: `not_sent` means that the server cannot have acted
// on it, `untrusted` likewise, for its certificate is not one for this host, has expired, or nobody
// trusted has signed it, so asking again changes nothing; `broken` and `timed_out` that it may
// have. A body shorter than announced is `broken`, never a short answer. Nothing is held beyond
// `body_bytes_max`; streamed bodies are not held.
//
// Threads. One client belongs to one thread at a time; ask() blocks it, and calls the request's
// source and sink on it.
//
// Faults. All that can go wrong is in Reply::fault with words for a person; nothing throws. A kept
// connection that turns out to be closed is made anew and the request sent once more by itself,
// unless it must be sent `once`: `reconnected` says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"

namespace orrery::net {

enum class NetFault { none, not_sent, untrusted, broken, timed_out };

struct Reply {
  NetFault fault = NetFault::none;
  std::string fault_text;  // for a person
  int status = 0;
  HeaderList headers;
  std::string body;
  double first_byte_s = 0;  // from the start of the request
  bool reconnected = false;

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

// A piece of the answer's body; the reply has its status and headers by then. False: no more is
// wanted, and the request ends as `broken`.
using TakePiece = std::function<bool(const Reply& head, std::string_view piece)>;

struct Question {
  std::string method = "GET";
  std::string url;
  HeaderList headers = {};
  std::string_view body = {};                      // of PUT and POST
  BodySource source = nullptr;                     // instead of a body
  std::optional<std::uint64_t> source_bytes = {};  // of what it gives; none: sent in chunks
  TakePiece take = nullptr;        // the body of a good answer (2xx), instead of Reply::body
  std::size_t expected_bytes = 0;  // of the answer's body; room is made for it
  bool once = false;               // sent at most once, on a connection of its own
  bool ask_first = false;          // wait for 100 Continue before the body is sent
};

struct ClientOptions {
  double connect_s = 5;
  double total_s = 0;  // for the whole request; 0: as long as it moves
  // Slower than this for so long is a dead peer; a fixed total would end big objects on slow links.
  long slow_bytes_per_s = 1024;
  long slow_s = 20;
  std::size_t body_bytes_max = std::size_t{64} << 20;  // of an answer that is held
  // PEM of the certificates that may sign a server's; empty: the system's.
  std::string trusted = {};
};

// What asks in a client's stead is a callable, so that tests may answer without a network.
using Ask = std::function<Reply(const Question&)>;

class Client {
 public:
  explicit Client(ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  Reply ask(const Question& question);

 private:
  struct Parts;  // libcurl's, seen by client.cpp only
  std::unique_ptr<Parts> parts_;
};

// A client that is shared by the copies of the callable.
Ask over_network(ClientOptions options = {});

}  // namespace orrery::net
