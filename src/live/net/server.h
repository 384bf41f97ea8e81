// An HTTP/1.1 server for a handler: sockets, TLS, limits and deadlines.
//
// Promises. No thread ever waits for a client. One thread does all I/O asynchronously and a few
// threads run the service, so a client that sends or reads one byte per second costs only a timer
// and some kilobytes. Every wait for a client has a deadline for the whole unit (a header, a held
// body, a piece of a streamed one, a response); single bytes do not extend it. At the limit of
// connections, the server closes the connection that has kept it waiting longest, to make room for
// the new one. A queued request is dropped if its client disconnects; a request that finds the
// queue full is refused at once (503). Bodies are held as a whole only up to a limit; a streamed
// body needs memory for two pieces in each direction.
//
// Threads. Handlers, plans, sinks and sources run on `handler_threads` threads: many requests at
// once, but never two calls for one request at once. Event streams are polled on the I/O thread,
// which is the thread of run(). If `answers_in_place` is set, connections are distributed over
// further I/O threads, one per core, which call handlers and plans themselves, because passing a
// request to another thread takes longer than making a short answer. A handler that has to wait for
// anything must then defer the rest (Response::later) to a handler thread, where sinks and sources
// run too; otherwise it delays all connections of its I/O thread. While an answer is made in place,
// a disconnecting client goes unnoticed and a stop has to wait.
//
// Deadlines are checked ten times per second; there is no timer per deadline.
//
// Faults. If a service throws, the client gets a 500, or a closed connection if the answer has
// already begun. The server itself answers 400, 413, 431 and 503 with responses made by `refusal`,
// and closes the connection after a deadline. If a client disconnects while its answer is being
// made, the server notices at once over plain TCP; over TLS it notices when it sends the answer.
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

// The defaults suit a console with a few users.
struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: any free port
  std::optional<TlsIdentity> tls = {};
  int connections_max = 512;
  int requests_max = 256;  // requests queued and handled at once; further ones are refused with 503
  int requests_per_connection_max = 0;  // number after which the connection is closed; 0: no limit
  int streams_max = 64;                 // event streams open at once
  int handler_threads = 2;
  bool answers_in_place = false;  // suitable if all answers are short or deferred
  std::uint32_t header_bytes_max = 16u << 10;
  std::uint64_t body_bytes_max = 1u << 20;                  // largest body held in memory
  std::uint64_t stream_bytes_max = std::uint64_t{6} << 30;  // largest body passed to a sink
  // memory for all request bodies; above it requests are refused with 503
  std::uint64_t bodies_bytes_max = std::uint64_t{512} << 20;
  std::size_t piece_bytes = std::size_t{256} << 10;    // piece size of a body that is sent
  std::size_t inflow_bytes = std::size_t{256} << 10;   // piece size of a body passed to a sink
  std::chrono::milliseconds request_time_max{5000};    // to receive a header and a body held in
                                                       // memory
  std::chrono::milliseconds piece_time_max{30000};     // to receive a piece of a streamed body
  std::chrono::milliseconds idle_time_max{60000};      // between two requests on a connection
  std::chrono::milliseconds response_time_max{10000};  // for a client to read a response or a piece
  std::chrono::milliseconds drain_time_max{2000};      // for open answers to finish after a stop
  std::chrono::milliseconds linger_time_max{1000};  // for a client to read the reason of a refusal
  std::chrono::milliseconds event_period{250};         // between two calls of an event stream
  // A stream that is silent for this long sends a comment, because proxies would otherwise close
  // it.
  std::chrono::milliseconds event_silence_max{15000};
  HeaderList default_headers = {};  // for responses that do not set them
  HeaderList fixed_headers = {};    // for every response
  // Makes the server's own refusals; without it they are plain text.
  std::function<Response(int status, std::string_view what)> refusal = nullptr;
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
};

struct ServerParts;  // sockets and threads (transport.h)

class Server {
 public:
  // Binds and listens. Fails with "serve.port" if the address is taken or invalid, and with
  // "serve.tls" if the certificate cannot be used.
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Service service);
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Handler handler);
  // Waits until calls in progress have finished. Everything they use must outlive the server.
  ~Server();

  int port() const;
  // Serves until `stop` returns true (it is called ten times per second). Then the server accepts
  // no more connections, closes idle ones and lets open requests finish, for up to drain_time_max.
  void run(const std::function<bool()>& stop);

 private:
  explicit Server(std::unique_ptr<ServerParts> parts);
  std::unique_ptr<ServerParts> parts_;
};

}  // namespace orrery::net
