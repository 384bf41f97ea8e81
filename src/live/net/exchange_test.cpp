// Single exchanges, byte by byte: what goes over the wire, and what is made of what comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "live/net/client.h"
#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

// What a server answers to `request` until it closes.
std::string wire(int port, const std::string& request) {
  const TestSocket socket = TestSocket::to(port, 5);
  socket.send(request);
  return socket.rest();
}

// Answers connections one after another by `answers`, which may read from the socket.
class Scripted {
 public:
  explicit Scripted(std::vector<std::function<void(const TestSocket&)>> answers)
      : thread_([this, answers = std::move(answers)] {
          for (const auto& answer : answers) {
            const TestSocket socket = listener_.accept(10);
            answer(socket);
          }
        }) {}
  ~Scripted() { thread_.join(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port()) + "/"; }
  // A whole request with a body of so many bytes.
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
  std::thread thread_;
};

// Counts what it gets, and says so.
class TallySink final : public BodySink {
 public:
  std::optional<Response> take(std::string_view piece) override {
    all_ += piece;
    return std::nullopt;
  }
  Response finish() override {
    const bool right = all_.find_first_not_of('b') == all_.npos;
    return {.body = std::to_string(all_.size()) + (right ? " right" : " wrong")};
  }

 private:
  std::string all_;
};

Service counting() {
  return {.answer = [](const Request& request) -> Response {
            if (request.target == "/bare") return {.content_type = "", .body = "x"};
            if (request.target == "/source") {
              static const std::string kText = "from a source";
              return {.source = source_of(kText), .length = kText.size()};
            }
            return {.body = "body of " + request.method};
          },
          .plan = [](const Request&) -> BodyPlan { return std::make_unique<TallySink>(); }};
}

TEST(Exchange, a_head_has_no_body_and_the_connection_goes_on) {
  const RunningServer server(counting());
  for (const char* target : {"/x", "/source"}) {
    const std::string answer =
        wire(server.port, std::string("HEAD ") + target +
                              " HTTP/1.1\r\nHost: h\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n"
                              "Connection: close\r\n\r\n");
    EXPECT_THAT(answer,
                HasSubstr("Content-Length: " + std::string(target[1] == 'x' ? "12" : "13")));
    EXPECT_THAT(answer, Not(HasSubstr("body of HEAD")));
    EXPECT_THAT(answer, Not(HasSubstr("from a source")));
    EXPECT_THAT(answer, HasSubstr("body of GET"));
  }
  const std::string bare = wire(server.port, "GET /bare HTTP/1.0\r\n\r\n");
  EXPECT_THAT(bare, Not(HasSubstr("Content-Type")));
  EXPECT_TRUE(bare.ends_with("\r\n\r\nx"));
}

// Bytes of a body and of the request behind it, sent as one: each is taken for what it is.
TEST(Exchange, a_body_ends_where_it_was_announced) {
  for (const std::size_t inflow : {16u, 4096u, 256u << 10}) {
    ServerOptions options = test_options();
    options.inflow_bytes = inflow;
    options.piece_time_max = 5000ms;
    const RunningServer server(counting(), options);
    // As many pieces as a busy machine takes in a second.
    for (const std::size_t bytes :
         {std::size_t{100}, std::min<std::size_t>(600'000, inflow * 1000)}) {
      const std::string answer = wire(
          server.port, "PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(bytes) +
                           "\r\n\r\n" + std::string(bytes, 'b') +
                           "GET /next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
      EXPECT_THAT(answer, HasSubstr(std::to_string(bytes) + " right")) << inflow;
      EXPECT_THAT(answer, HasSubstr("body of GET")) << inflow << ' ' << bytes;
    }
  }
}

TEST(Exchange, the_last_byte_of_a_body_is_waited_for) {
  ServerOptions options = test_options();
  options.inflow_bytes = 1000;
  options.piece_time_max = 5000ms;
  const RunningServer server(counting(), options);
  const TestSocket socket = TestSocket::to(server.port, 5);
  socket.send("PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\nConnection: close\r\n\r\n" +
              std::string(4999, 'b'));
  std::this_thread::sleep_for(100ms);
  socket.send("b");
  EXPECT_THAT(socket.rest(), HasSubstr("5000 right"));
}

TEST(Exchange, who_connects_and_leaves_has_said_nothing_wrong) {
  const RunningServer server(counting());
  {
    const TestSocket gone = TestSocket::to(server.port);
  }
  {
    const TestSocket cut = TestSocket::to(server.port);
    cut.send("GET / HT");
  }
  EXPECT_THAT(wire(server.port, "GET / HTTP/1.0\r\n\r\n"), HasSubstr("200"));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(server.load->malformed, 0);
  EXPECT_THAT(wire(server.port, "nonsense\r\n\r\n"), HasSubstr("400"));
  EXPECT_EQ(server.load->malformed, 1);
}

// A body that is not read must not be taken for the next request.
TEST(Exchange, a_refusal_before_the_body_closes_the_connection) {
  ServerOptions options = test_options();
  options.bodies_bytes_max = 10;
  const RunningServer server([](const Request&) { return Response{}; }, options);
  const std::string answer = wire(
      server.port,
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("503"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
  EXPECT_EQ(answer.find("HTTP/1.1"), answer.rfind("HTTP/1.1")) << "one answer";
}

TEST(Exchange, at_the_cap_the_one_that_waited_longest_makes_room) {
  ServerOptions options = test_options();
  options.connections_max = 2;
  options.request_time_max = 10'000ms;
  const RunningServer server(counting(), options);
  const TestSocket first = TestSocket::to(server.port, 8);
  std::this_thread::sleep_for(60ms);
  const TestSocket second = TestSocket::to(server.port, 8);
  std::this_thread::sleep_for(60ms);
  EXPECT_THAT(wire(server.port, "GET / HTTP/1.0\r\n\r\n"), HasSubstr("body of GET"));
  std::string nothing;
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_FALSE(first.receive(nothing)) << "closed in favour of the third";
  EXPECT_LT(std::chrono::steady_clock::now() - asked, 4s) << "and not by our own patience";
  second.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(second.rest(), HasSubstr("body of GET"));
}

TEST(Exchange, a_stop_waits_no_longer_than_it_may) {
  ServerOptions options = test_options();
  options.drain_time_max = 100ms;
  options.answers_in_place = false;  // those are waited for
  std::atomic<bool> entered = false;
  std::chrono::steady_clock::time_point stopped;
  auto server = Server::listen(options, [&](const Request&) -> Response {
    entered = true;
    std::this_thread::sleep_for(1500ms);
    return {};
  });
  ASSERT_TRUE(server);
  std::atomic<bool> stop = false;
  std::chrono::steady_clock::duration took{};
  std::thread runs([&] {
    (*server)->run([&] { return stop.load(); });
    took = std::chrono::steady_clock::now() - stopped;
  });
  const TestSocket client = TestSocket::to((*server)->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  while (!entered) std::this_thread::sleep_for(1ms);
  stopped = std::chrono::steady_clock::now();
  stop = true;
  runs.join();
  EXPECT_LT(took, 1000ms);
}

TEST(Exchange, a_request_that_was_cut_off_is_sent_again_from_its_first_byte) {
  std::string again;
  {
    const Scripted server({[](const TestSocket& socket) {
                             Scripted::request(socket, 0);
                             socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                             Scripted::request(socket, 6);  // heard whole, and not answered
                           },
                           [&again](const TestSocket& socket) {
                             again = Scripted::request(socket, 6);
                             socket.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                           }});
    Client client;
    EXPECT_EQ(client.ask({.url = server.url()}).status, 200);
    const Reply reply = client.ask({.method = "PUT", .url = server.url(), .body = "abcdef"});
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.reconnected);
  }
  EXPECT_TRUE(again.ends_with("\r\n\r\nabcdef")) << again;
}

TEST(Exchange, a_client_sends_what_it_was_told_and_reads_the_last_answer) {
  std::string heard;
  {
    const Scripted server({[&heard](const TestSocket& socket) {
      heard = Scripted::request(socket, 0);
      std::this_thread::sleep_for(60ms);
      socket.send("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n");
      socket.send("HTTP/1.1 200 OK\r\nX-Late: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }});
    Client client;
    const Reply reply = client.ask({.method = "PUT",
                                    .url = server.url(),
                                    .headers = {{"X-Empty", ""}, {"X-Full", "v"}},
                                    .body = "",
                                    .ask_first = true});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("x-early"), "") << "of an answer that was none";
    EXPECT_EQ(reply.header("X-Late"), "2");
    EXPECT_GT(reply.first_byte_s, 0.04);
    EXPECT_LT(reply.first_byte_s, 5) << "seconds";
  }
  EXPECT_THAT(heard, HasSubstr("Expect: 100-continue\r\n"));
  EXPECT_THAT(heard, HasSubstr("X-Empty:\r\n"));
  EXPECT_THAT(heard, HasSubstr("X-Full: v\r\n"));
}

TEST(Exchange, a_connection_that_was_said_to_close_is_not_a_lost_one) {
  ServerOptions options = test_options();
  options.requests_per_connection_max = 1;
  const RunningServer server(counting(), options);
  Client client;
  for (int i = 0; i < 3; ++i) {
    const Reply reply = client.ask({.url = server.url("/")});
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.reconnected) << i;
  }
  const Reply liar = client.ask(
      {.method = "PUT",
       .url = server.url("/"),
       .source = [](std::uint64_t, std::span<char> into) { return std::optional(into.size() + 1); },
       .source_bytes = 100});
  EXPECT_EQ(liar.fault, NetFault::broken) << "more than there was room for";
}

}  // namespace
}  // namespace orrery::net
