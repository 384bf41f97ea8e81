// For tests of the client: a peer that answers by script and keeps the requests it received.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "live/net/test_socket.h"

namespace orrery::net {

class ScriptedServer {
 public:
  using Answer = std::function<void(const TestSocket&)>;

  // Each answer handles one connection, in turn.
  ScriptedServer(std::initializer_list<Answer> answers)
      : thread_([this, list = std::vector<Answer>(answers)] {
          for (const Answer& answer : list) answer(listener_.accept(10));
        }) {}
  // Each text answers one connection, after a request whose body has `body` bytes.
  explicit ScriptedServer(std::vector<std::string> texts, std::size_t body = 0)
      : thread_([this, texts = std::move(texts), body] {
          for (const std::string& text : texts) {
            const TestSocket socket = listener_.accept(10);
            requests_.push_back(request(socket, body));
            socket.send(text);
          }
        }) {}
  ~ScriptedServer() {
    if (thread_.joinable()) thread_.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return listener_.port(); }
  std::string url(const std::string& target = "/") const {
    return "http://127.0.0.1:" + std::to_string(port()) + target;
  }
  // The requests received, once the last has been answered.
  const std::vector<std::string>& requests() {
    thread_.join();
    return requests_;
  }
  // Receives one request whose body has `body` bytes.
  static std::string request(const TestSocket& socket, std::size_t body) {
    std::string text;
    while (text.find("\r\n\r\n") == text.npos && socket.receive(text)) {
    }
    while (text.size() < text.find("\r\n\r\n") + 4 + body && socket.receive(text)) {
    }
    return text;
  }

 private:
  TestListener listener_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace orrery::net
