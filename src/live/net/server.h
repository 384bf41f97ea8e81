// HTTP/1.1 for a handler: sockets, TLS, limits and deadlines; what is said is the handler's matter.
//
// Promises. No thread ever waits for a client: one thread does all I/O asynchronously and a few run
// the service, so a client that sends or takes a byte a second costs a timer and some kilobytes.
// Every wait for a client has a deadline for a whole (a header, a buffered body, a piece of a
// streamed one, a response), which a byte now and then does not extend. At the cap on connections
// the one that has kept us waiting longest is closed in favour of the newcomer. A request whose
// client has gone before its turn is dropped; one too many in the queue is refused at once (503).
// Bodies are held whole only up to a limit; streamed ones need two pieces each way.
//
// Threads. Handlers, plans, sinks and sources run on `handler_threads` threads, many requests at
// once, the calls for one request never at once. Events are asked on the thread that does I/O,
// which is that of run(). Where answers are made in place, connections are dealt out to further
// threads that do I/O, one for each core, and handlers and plans are called there: a request
// crosses no threads, which takes longer than a short answer does. A handler that has to wait for
// anything puts the rest off (Response::later), and it is made on a handler's thread as sinks and
// sources are; for else it holds up all connections of its thread. A client's leaving is not
// noticed while its answer is made in place, and a stop waits for that.
//
// Deadlines are kept by a round of the server ten times a second, not by a timer each.
//
// Faults. What a service throws becomes 500, or a cut connection once the answer has begun. A
// client sees 400, 413, 431 and 503 as `refusal` words them, and a closed connection after a
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

// What the server is doing, for metrics; read from any thread.
struct ServerLoad {
  std::atomic<int> connections = 0;
  std::atomic<int> requests = 0;             // waiting for a handler or in one
  std::atomic<int> streams = 0;              // of events
  std::atomic<std::int64_t> body_bytes = 0;  // room held for request bodies
  std::atomic<std::int64_t> malformed = 0;   // never became a request: too large, not HTTP
  std::atomic<std::int64_t> abandoned = 0;   // the client left before their turn came
};

// Who the server is: certificate (with its chain) and private key, as PEM.
struct TlsIdentity {
  std::string certificate;
  std::string key;
};

// The defaults are those of a console for a handful of people.
struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0 takes a free one
  std::optional<TlsIdentity> tls = {};
  int connections_max = 512;
  int requests_max = 256;               // at once; more are refused with 503
  int requests_per_connection_max = 0;  // then it is closed; 0: any number
  int streams_max = 64;                 // of events
  int handler_threads = 2;
  bool answers_in_place = false;  // they are short, or put off
  std::uint32_t header_bytes_max = 16u << 10;
  std::uint64_t body_bytes_max = 1u << 20;                    // of a body held whole
  std::uint64_t stream_bytes_max = std::uint64_t{6} << 30;    // of one that goes into a sink
  std::uint64_t bodies_bytes_max = std::uint64_t{512} << 20;  // of all held at once; then 503
  std::size_t piece_bytes = std::size_t{256} << 10;           // of a body that is sent
  std::size_t inflow_bytes = std::size_t{256} << 10;          // of one that comes into a sink
  std::chrono::milliseconds request_time_max{5000};    // to receive a header and a body held whole
  std::chrono::milliseconds piece_time_max{30000};     // to receive a piece of a streamed body
  std::chrono::milliseconds idle_time_max{60000};      // between two requests of a connection
  std::chrono::milliseconds response_time_max{10000};  // to take a response, or a piece of it
  std::chrono::milliseconds drain_time_max{2000};      // for open answers, once stopped
  std::chrono::milliseconds linger_time_max{1000};     // for a client to read before we hang up
  std::chrono::milliseconds event_period{250};         // how often a stream is asked
  // A stream with nothing to say says so, or a client behind a proxy gives up on it.
  std::chrono::milliseconds event_silence_max{15000};
  HeaderList default_headers = {};  // of every response that does not set them itself
  HeaderList fixed_headers = {};    // of every response
  // The words of the server's own refusals; plain text by default.
  std::function<Response(int status, std::string_view what)> refusal = nullptr;
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
};

struct ServerParts;  // sockets and threads, seen by server.cpp only

class Server {
 public:
  // Binds and listens. The fault is the address's (taken, or not ours to use: "serve.port") or the
  // certificate's ("serve.tls").
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Service service);
  static Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Handler handler);
  // Waits for the calls that are under way. What they use must outlive the server.
  ~Server();

  int port() const;
  // Serves until `stop` says so (asked ten times a second). Then it takes no more connections,
  // closes the idle ones and lets open requests finish, up to drain_time_max.
  void run(const std::function<bool()>& stop);

 private:
  explicit Server(std::unique_ptr<ServerParts> parts);
  std::unique_ptr<ServerParts> parts_;
};

}  // namespace orrery::net
