// For tests of a connection's course and limits: a server that nothing but what a test sets ends,
// and what is asked of it over bare sockets.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net::patience {

inline constexpr std::chrono::milliseconds kLong{30'000};

inline ServerOptions patient(bool in_place = false) {
  ServerOptions options = test_options();
  options.answers_in_place = in_place;
  options.request_time_max = options.piece_time_max = options.idle_time_max = kLong;
  options.response_time_max = kLong;
  return options;
}

// All that a connection answers until it ends.
inline std::string wire(int port, const std::string& request) {
  const TestSocket socket = TestSocket::to(port, 10);
  socket.send(request);
  return socket.rest();
}

// One whole answer of a connection that goes on.
inline std::string answer_of(const TestSocket& socket, std::string_view ending) {
  std::string text;
  while (!text.ends_with(ending) && socket.receive(text)) {
  }
  return text;
}

template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 5000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace orrery::net::patience
