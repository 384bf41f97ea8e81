// For tests that set one limit or deadline at a time: a server whose other deadlines never expire
// during a test, and helpers that talk to it over plain sockets.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net::patience {

inline constexpr std::chrono::milliseconds kLong{30'000};
inline const std::string kHost = "Host: x\r\n";
// The last request on a connection.
inline const std::string kNext = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

inline ServerOptions patient(bool in_place = false) {
  ServerOptions options = test_options();
  options.answers_in_place = in_place;
  options.request_time_max = options.piece_time_max = options.idle_time_max = kLong;
  options.response_time_max = kLong;
  return options;
}

// Answers with what the server received, so that a test can compare it: method, target and body.
inline Response echo(const Request& request) {
  return {.body = request.method + ' ' + request.target + ' ' + request.body + ';'};
}

// The header of a PUT with a body of `bytes` bytes.
inline std::string put_header(const std::string& target, std::size_t bytes,
                              const std::string& more = "") {
  return "PUT " + target + " HTTP/1.1\r\n" + kHost + "Content-Length: " + std::to_string(bytes) +
         "\r\n" + more + "\r\n";
}

// Sends the request and returns everything that comes back until the server closes.
inline std::string wire(int port, const std::string& request) {
  const TestSocket socket = TestSocket::to(port, 10);
  socket.send(request);
  return socket.rest();
}

// Receives until the text ends in `ending`, on a connection that stays open.
inline std::string answer_of(const TestSocket& socket, std::string_view ending) {
  std::string text;
  while (!text.ends_with(ending) && socket.receive(text)) {
  }
  return text;
}

inline int count_of(std::string_view text, std::string_view part) {
  int n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// True if the condition holds within five seconds.
template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 5000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Counts the bytes of a body and answers "N taken;", or refuses it with 409 at its `refuse_at`-th
// piece (0: never). Calls `at_piece` for each piece.
class CountingSink final : public BodySink {
 public:
  explicit CountingSink(int refuse_at = 0, std::function<void()> at_piece = nullptr)
      : refuse_at_(refuse_at), at_piece_(std::move(at_piece)) {}
  std::optional<Response> take(std::string_view piece) override {
    bytes_ += piece.size();
    if (at_piece_) at_piece_();
    if (++pieces_ == refuse_at_) return Response{.status = 409, .body = "enough;"};
    return std::nullopt;
  }
  Response finish() override { return {.body = std::to_string(bytes_) + " taken;"}; }

 private:
  int refuse_at_;
  std::function<void()> at_piece_;
  int pieces_ = 0;
  std::size_t bytes_ = 0;
};

// Counts bodies, except on the targets that try another plan: /none, /throws, /gather and /null.
inline Service counting_service(int refuse_at = 0, std::function<void()> at_piece = nullptr) {
  return {.answer = echo, .plan = [=](const Request& request) -> BodyPlan {
            if (request.target == "/none") return Response{.status = 403, .body = "not wanted;"};
            if (request.target == "/throws") throw std::runtime_error("fault");
            if (request.target == "/gather") return GatherBody{};
            if (request.target == "/null") return std::unique_ptr<BodySink>();
            return std::make_unique<CountingSink>(refuse_at, at_piece);
          }};
}

}  // namespace orrery::net::patience
