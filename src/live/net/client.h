// One HTTP request and its answer, as a value or streamed; over plain TCP or verified TLS.
//
// Promises. A connection is kept from request to request. A fault says whether the server may have
// acted on the request: not if it is `not_sent` or `untrusted` (the certificate is for another
// host, has expired or has no trusted signer, so a retry will not help); possibly if it is `broken`
// or `timed_out`. A body shorter than announced is reported as `broken`, never as a short answer.
// At most `body_bytes_max` of a body are held in memory; streamed bodies are not held.
//
// Threads. One client belongs to one thread at a time; ask() blocks this thread, and calls the
// request's source and sink on it.
//
// Faults. Everything that can go wrong is reported in Reply::fault, with a text for people; nothing
// throws. If a kept connection turns out to be closed, the client reconnects and repeats the
// request (`reconnected`), unless it must be sent `once`.
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
  std::string fault_text;  // message for people
  int status = 0;
  HeaderList headers;
  std::string body;
  double first_byte_s = 0;  // time to first byte, from the start of the request
  bool reconnected = false;

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

// Receives a piece of the answer's body; `head` holds its status and headers. Returning false ends
// the request as `broken`.
using TakePiece = std::function<bool(const Reply& head, std::string_view piece)>;

struct Question {
  std::string method = "GET";
  std::string url;
  HeaderList headers = {};
  std::string_view body = {};                      // for PUT and POST
  BodySource source = nullptr;                     // instead of `body`
  std::optional<std::uint64_t> source_bytes = {};  // length of the source; if absent, the body is
                                                   // sent in chunks
  TakePiece take = nullptr;        // receives the body of a 2xx answer, instead of Reply::body
  std::size_t expected_bytes = 0;  // expected size of the answer's body, to reserve memory
  bool once = false;               // sent at most once, on its own connection
  bool ask_first = false;          // wait for 100 Continue before sending the body
};

struct ClientOptions {
  double connect_s = 5;
  double total_s = 0;  // limit for the whole request; 0: no limit while data flows
  // A peer that sends less than `slow_bytes_per_s` for `slow_s` seconds counts as dead. A fixed
  // total time would end the transfer of large objects on slow links.
  long slow_bytes_per_s = 1024;
  long slow_s = 20;
  std::size_t body_bytes_max = std::size_t{64} << 20;  // largest body held in memory
  // Trusted certificates as PEM; empty: those of the system.
  std::string trusted = {};
};

// Code that sends requests takes this callable instead of a client, so that tests can answer
// without a network.
using Ask = std::function<Reply(const Question&)>;

class Client {
 public:
  explicit Client(ClientOptions options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  Reply ask(const Question& question);

 private:
  struct Parts;  // the libcurl types, hidden in client.cpp
  std::unique_ptr<Parts> parts_;
};

// Returns a callable whose copies share one client.
Ask over_network(ClientOptions options = {});

}  // namespace orrery::net
