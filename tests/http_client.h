// A small HTTP/1.1 client for tests of the server: one connection, one request after another.
//
// Blocking, with a limit on every wait, so that a server that hangs fails a test instead of
// blocking it.
#pragma once

#include <string>
#include <string_view>

#include "live/net/test_socket.h"

namespace orrery {

struct HttpAnswer {
  int status = 0;  // 0: the connection failed, or the answer did not arrive in time
  std::string head;
  std::string body;
};

class HttpClient {
 public:
  // Nothing is sent yet; every request of ask() carries `token`.
  HttpClient(int port, std::string token);

  HttpAnswer ask(std::string_view method, std::string_view target, std::string_view body = {});

  // For hostile clients, and for waiting for many connections at once.
  int socket() const { return socket_.fd(); }
  bool send(std::string_view bytes) const { return socket_.send(bytes); }
  HttpAnswer receive();
  std::string request(std::string_view method, std::string_view target,
                      std::string_view body) const;

 private:
  int port_;
  std::string token_;
  net::TestSocket socket_;
  std::string rest_;  // bytes received after the last answer
};

HttpAnswer ask_once(int port, const std::string& token, std::string_view method,
                    std::string_view target, std::string_view body = {});

}  // namespace orrery
