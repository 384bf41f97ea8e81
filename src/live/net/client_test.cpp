// The client against servers that are good, slow, silent and broken.
#include "live/net/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

// Answers one connection with what it is given and closes, or holds on where that is asked for.
class Script {
 public:
  explicit Script(std::string answer, std::chrono::milliseconds hold = 0ms)
      : thread_([this, answer = std::move(answer), hold] {
          const TestSocket socket = listener_.accept(10);
          std::string request;
          while (request.find("\r\n\r\n") == request.npos && socket.receive(request)) {
          }
          socket.send(answer);
          std::this_thread::sleep_for(hold);
        }) {}
  ~Script() { thread_.join(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port()) + "/"; }

 private:
  TestListener listener_;
  std::thread thread_;
};

Response method_and_body(const Request& request) {
  return {.body = request.method + ' ' + request.body, .headers = {{"X-Peer", request.peer}}};
}

TEST(Client, asks_with_every_method_over_one_connection) {
  ServerOptions options = test_options();
  options.connections_max = 100;
  const RunningServer server(method_and_body, options);
  Client client;
  for (const char* method : {"GET", "PUT", "POST", "DELETE"}) {
    const bool sends = std::string(method) == "PUT" || std::string(method) == "POST";
    const Reply reply =
        client.ask({.method = method, .url = server.url("/a"), .body = sends ? "abc" : ""});
    EXPECT_EQ(reply.body, std::string(method) + (sends ? " abc" : " "));
    EXPECT_EQ(reply.header("x-peer"), "127.0.0.1");
    EXPECT_FALSE(reply.reconnected);
  }
  EXPECT_EQ(client.ask({.method = "HEAD", .url = server.url("/a")}).body, "");
  EXPECT_EQ(server.load->connections, 1);
  EXPECT_EQ(client.ask({.url = server.url("/a"), .once = true}).status, 200);
  EXPECT_EQ(server.load->connections, 2) << "a connection of its own";
}

TEST(Client, a_kept_connection_that_was_closed_is_made_anew) {
  ServerOptions options = test_options();
  options.idle_time_max = 50ms;
  const RunningServer server(method_and_body, options);
  Client client;
  EXPECT_EQ(client.ask({.url = server.url("/")}).status, 200);
  std::this_thread::sleep_for(200ms);
  const Reply again = client.ask({.method = "PUT", .url = server.url("/"), .body = "x"});
  EXPECT_EQ(again.body, "PUT x");
  EXPECT_TRUE(again.reconnected);
}

TEST(Client, has_a_deadline) {
  const Script silent("", 600ms);
  Client client({.total_s = 0.2});
  const auto start = std::chrono::steady_clock::now();
  const Reply reply = client.ask({.url = silent.url()});
  EXPECT_EQ(reply.fault, NetFault::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_FALSE(reply.fault_text.empty());
}

TEST(Client, a_body_that_stalls_is_a_dead_peer) {
  const Script stalls("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", 3500ms);
  Client client({.slow_bytes_per_s = 1024, .slow_s = 1});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.ask({.url = stalls.url()}).fault, NetFault::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3500ms);
}

TEST(Client, a_short_body_is_no_answer) {
  for (const char* text : {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    const Script server(text);
    EXPECT_EQ(Client().ask({.url = server.url()}).fault, NetFault::broken) << text;
  }
  const Script chunks(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(Client().ask({.url = chunks.url()}).body, "abcde");
}

TEST(Client, holds_no_more_than_it_may) {
  const RunningServer server(
      [](const Request&) { return Response{.body = std::string(5000, 'x')}; });
  Client client({.body_bytes_max = 4999});
  EXPECT_EQ(client.ask({.url = server.url("/")}).fault, NetFault::broken);
  Client larger({.body_bytes_max = 5000});
  EXPECT_EQ(larger.ask({.url = server.url("/")}).body.size(), 5000u);
}

TEST(Client, only_a_good_answer_is_taken_piece_by_piece) {
  const RunningServer server([](const Request& request) {
    return Response{.status = request.target == "/bad" ? 404 : 200, .body = "text"};
  });
  Client client;
  std::string taken;
  const TakePiece take = [&taken](const Reply&, std::string_view piece) {
    taken += piece;
    return true;
  };
  const Reply good = client.ask({.url = server.url("/good"), .take = take});
  EXPECT_EQ(good.body + "|" + taken, "|text");
  const Reply bad = client.ask({.url = server.url("/bad"), .take = take});
  EXPECT_EQ(bad.body + "|" + taken, "text|text");
  const Reply enough = client.ask(
      {.url = server.url("/good"), .take = [](const Reply&, std::string_view) { return false; }});
  EXPECT_EQ(enough.fault, NetFault::broken);
  const Reply thrown =
      client.ask({.url = server.url("/good"), .take = [](const Reply&, std::string_view) -> bool {
                    throw std::runtime_error("fault");
                  }});
  EXPECT_EQ(thrown.fault, NetFault::broken);
}

TEST(Client, says_when_nothing_was_sent) {
  Client client;
  const Reply nobody = client.ask({.url = "http://127.0.0.1:" + std::to_string(free_port())});
  EXPECT_EQ(nobody.fault, NetFault::not_sent);
  EXPECT_EQ(client.ask({.url = "file:///etc/hostname"}).fault, NetFault::not_sent);
}

TEST(Client, a_source_that_gives_up_ends_the_request) {
  const RunningServer server(method_and_body);
  Client client;
  const Reply reply = client.ask(
      {.method = "PUT",
       .url = server.url("/"),
       .source = [](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(); },
       .source_bytes = 100});
  EXPECT_EQ(reply.fault, NetFault::broken);
}

}  // namespace
}  // namespace orrery::net
