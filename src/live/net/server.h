// An HTTP/1.1 server for a handler: sockets, TLS, limits and deadlines.
//
// Promises. No thread ever waits for a client: one thread does all I/O asynchronously and a few run
// the service, so a client that sends or reads one byte per second costs a timer and some
// kilobytes. Every wait for a client has a deadline for the whole unit (a header, a held body, a
// piece of a streamed one, a response); single bytes do not extend it. At the limit of connections,
// the one that has kept the server waiting longest is closed for the new one. A queued request
// whose client has left is dropped; a request that finds the queue full is refused at once (503).
// Bodies are held whole only up to a limit; streamed ones need two pieces in each direction.
//
// Threads. Handlers, plans, sinks and sources run on `handler_threads` threads: many requests at
// once, but never two calls for one request at once. Event streams are asked on the I/O thread,
// which is that of run(). If `answers_in_place`, connections are dealt out to further I/O threads,
// one per core, which call handlers and plans themselves: passing a request to another thread takes
// longer than a short answer. A handler that has to wait for anything must defer the rest
// (Response::later) to a handler thread, where sinks and sources run too; otherwise it delays all
// connections of its I/O thread. While an answer is made in place, a client that leaves is not
// noticed and a stop waits.
//
// Deadlines are checked ten times a second, not by a timer each.
//
// Faults. If a service throws, the client gets 500, or a cut connection once the answer has begun.
// Clients get 400, 413, 431 and 503 in the words of `refusal`, and a closed connection after a
// deadline. A client that leaves while its answer is made is noticed at once over plain TCP, and
// over TLS only when the answer is sent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/diagnostic.h"
#include "live/net/message.h"

namespace orrery::net {

// Counters for metrics; may be read from any thread.
struct ServerLoad {
  std::atomic<int> connections = 0;
  std::atomic<int> requests = 0;             // queued or being handled
  std::atomic<int> streams = 0;              // event streams
  std::atomic<std::int64_t> body_bytes = 0;  // memory reserved for request bodies
  std::atomic<std::int64_t> malformed = 0;   // refused as too large or not HTTP
  std::atomic<std::int64_t> abandoned = 0;   // dropped because the client left
};

// Certificate (with its chain) and private key of the server, as PEM.
struct TlsIdentity {
  std::string certificate;
  std::string key;
};

// The defaults suit a console with a handful of users.
struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: any free port
  std::optional<TlsIdentity> tls = {};
  int connections_max = 512;
  int requests_max = 256;               // queued and handled at once; more are refused with 503
  int requests_per_connection_max = 0;  // then the connection is closed; 0: no limit
  int streams_max = 64;                 // event streams at once
  int handler_threads = 2;
  bool answers_in_place = false;  // for handlers whose answers are short or deferred
  std::uint32_t header_bytes_max = 16u << 10;
  std::uint64_t body_bytes_max = 1u << 20;                    // largest body held whole
  std::uint64_t stream_bytes_max = std::uint64_t{6} << 30;    // largest body into a sink
  std::uint64_t bodies_bytes_max = std::uint64_t{512} << 20;  // memory for all bodies; then 503
  std::size_t piece_bytes = std::size_t{256} << 10;           // piece of a body that is sent
  std::size_t inflow_bytes = std::size_t{256} << 10;          // piece of a body into a sink
  std::chrono::milliseconds request_time_max{5000};    // to receive a header and a body held whole
  std::chrono::milliseconds piece_time_max{30000};     // to receive a piece of a streamed body
  std::chrono::milliseconds idle_time_max{60000};      // between two requests of a connection
  std::chrono::milliseconds response_time_max{10000};  // for a client to read a response or piece
  std::chrono::milliseconds drain_time_max{2000};      // for open answers after a stop
  std::chrono::milliseconds linger_time_max{1000};     // for a refused client to read the reason
  std::chrono::milliseconds event_period{250};         // between two calls of an event stream
  // A stream that is silent for this long sends a comment, or proxies would close it.
  std::chrono::milliseconds event_silence_max{15000};
  HeaderList default_headers = {};  // for responses that do not set them
  HeaderList fixed_headers = {};    // for every response
  // Makes the server's own refusals; plain text by default.
  std::function<Response(int status, std::string_view what)> refusal = nullptr;
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
};

struct ServerParts;  // sockets and threads (transport.h)

class Server {
 public:
  // Binds and listens. Fails with "serve.port" if the address is taken or invalid, and "serve.tls"
  // if the certificate cannot be used.
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Service service);
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Handler handler);
  // Waits for calls that are under way. What they use must outlive the server.
  ~Server();

  int port() const;
  // Serves until `stop` returns true (asked ten times a second). Then it accepts no more
  // connections, closes idle ones and lets open requests finish, for up to drain_time_max.
  void run(const std::function<bool()>& stop);

 private:
  explicit Server(std::unique_ptr<ServerParts> parts);
  std::unique_ptr<ServerParts> parts_;
};

}  // namespace orrery::net
