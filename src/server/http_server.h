// HTTP/1.1 on 127.0.0.1: sockets, limits and deadlines; what is said is the handler's matter.
//
// One thread does all I/O asynchronously and a few run the handler, so a client that sends a byte a
// second costs a timer and not a thread. Each request has one deadline from its first byte to its
// last, each connection an idle limit; at the cap on connections the one that has kept us waiting
// longest is closed in favour of the newcomer. A request whose client has gone before its turn is
// dropped, and one too many in the queue is refused at once (503) rather than kept waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/diagnostic.h"
#include "server/message.h"

namespace orrery {

// What the server is doing, for /metrics; read from any thread.
struct ServerLoad {
  std::atomic<int> connections = 0;
  std::atomic<int> requests = 0;            // waiting for a handler or in one
  std::atomic<int> streams = 0;             // of events
  std::atomic<std::int64_t> malformed = 0;  // never became a request: too large, not HTTP
  std::atomic<std::int64_t> abandoned = 0;  // the client left before their turn came
};

struct ServerOptions {
  int port = 0;  // 0 takes a free one
  int connections_max = 512;
  int requests_max = 256;  // at once; more are refused with 503
  int streams_max = 64;
  int handler_threads = 2;
  std::uint32_t header_bytes_max = 16u << 10;
  std::uint64_t body_bytes_max = 1u << 20;             // a design is kilobytes
  std::chrono::milliseconds request_time_max{5000};    // to receive one request
  std::chrono::milliseconds idle_time_max{60000};      // between two requests of a connection
  std::chrono::milliseconds response_time_max{10000};  // to take one response off our hands
  std::chrono::milliseconds event_period{250};         // how often a stream is asked
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
};

struct ServerParts;  // sockets and threads, seen by http_server.cpp only

class HttpServer {
 public:
  // Binds and listens; the fault is the port's (taken, or not ours to use).
  static Result<std::unique_ptr<HttpServer>> listen(const ServerOptions& options, Handler handler);
  ~HttpServer();

  int port() const;
  // Serves until `stop` says so (asked ten times a second), then lets open answers finish.
  void run(const std::function<bool()>& stop);

 private:
  explicit HttpServer(std::unique_ptr<ServerParts> parts);
  std::unique_ptr<ServerParts> parts_;
};

}  // namespace orrery
