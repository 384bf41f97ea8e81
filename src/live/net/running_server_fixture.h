// A server on a free loopback port for the duration of a test, with short deadlines. The tests of
// this room run twice: with ORRERY_ANSWERS_IN_PLACE set, the server answers in place.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "live/net/server.h"

namespace orrery::net {

inline ServerOptions test_options() {
  using namespace std::chrono_literals;
  return {.connections_max = 8,
          .answers_in_place = std::getenv("ORRERY_ANSWERS_IN_PLACE") != nullptr,
          .request_time_max = 300ms,
          .piece_time_max = 300ms,
          .event_period = 10ms};
}

// Returns a handler that defers its answers, for handlers that take long.
inline Handler at_length(Handler handler) {
  return [handler = std::move(handler)](const Request& request) {
    return Response{.later = [handler, &request] { return handler(request); }};
  };
}

class RunningServer {
 public:
  explicit RunningServer(Handler handler, const ServerOptions& options = test_options())
      : RunningServer(Service{.answer = std::move(handler)}, options) {}
  explicit RunningServer(Service service, const ServerOptions& options = test_options())
      : load(options.load) {
    auto server = Server::listen(options, std::move(service));
    if (!server) throw std::runtime_error(to_text(server.error()));
    server_ = std::move(*server);
    port = server_->port();
    thread_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  ~RunningServer() {
    stop_ = true;
    thread_.join();
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  void stop() { stop_ = true; }
  std::string url(const std::string& target, const char* scheme = "http") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port) + target;
  }

  int port = 0;
  const std::shared_ptr<ServerLoad> load;

 private:
  std::unique_ptr<Server> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace orrery::net
