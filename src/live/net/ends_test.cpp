// How things end: connections with their client, sources with their answer, requests under way when
// the server is stopped, and bodies of nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "live/net/body_pump.h"
#include "live/net/client.h"
#include "live/net/patient_fixture.h"

namespace orrery::net::ends_tests {
namespace {

using patience::answer_of;
using patience::kLong;
using patience::patient;
using patience::soon;
using patience::wire;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

Response reply_with_body(const Request& request) { return {.body = "got " + request.body}; }

class Counts final : public BodySink {
 public:
  std::optional<Response> take(std::string_view piece) override {
    bytes_ += piece.size();
    return std::nullopt;
  }
  Response finish() override { return {.body = std::to_string(bytes_) + " taken"}; }

 private:
  std::size_t bytes_ = 0;
};

TEST(Ends, a_request_is_not_abandoned_unless_somebody_says_so) {
  EXPECT_FALSE(Request{}.abandoned());
}

TEST(Ends, a_pump_has_said_nothing_before_it_began) {
  BodyPump pump([](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(0); }, 5,
                false, 10);
  EXPECT_FALSE(pump.last());
  EXPECT_FALSE(pump.failed());
  EXPECT_EQ(pump.piece(), "");
  pump.turn();
  EXPECT_FALSE(pump.last()) << "nothing was made";
}

TEST(Ends, nobody_is_asked_for_a_body_of_nothing) {
  int asked = 0;
  BodyPump pump(
      [&](std::uint64_t, std::span<char>) {
        ++asked;
        return std::optional<std::size_t>(0);
      },
      0, false, 10);
  pump.make();
  pump.turn();
  EXPECT_TRUE(pump.last());
  EXPECT_FALSE(pump.failed());
  EXPECT_EQ(asked, 0);
}

TEST(Ends, a_source_that_throws_has_not_come_to_its_end) {
  BodyPump pump(
      [](std::uint64_t, std::span<char>) -> std::optional<std::size_t> {
        throw std::runtime_error("gone");
      },
      std::nullopt, true, 10);
  pump.make();
  EXPECT_TRUE(pump.failed());
  EXPECT_FALSE(pump.last());
}

TEST(Ends, a_client_that_goes_takes_its_connection_along) {
  const RunningServer server(reply_with_body, patient());
  {
    Client client;
    EXPECT_EQ(client.ask({.url = server.url("/")}).status, 200);
    EXPECT_EQ(server.load->connections, 1);
  }
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
}

TEST(Ends, who_reads_the_refusal_and_leaves_is_forgotten_at_once) {
  ServerOptions options = patient();
  options.linger_time_max = kLong;
  const RunningServer server(reply_with_body, options);
  {
    const TestSocket socket = TestSocket::to(server.port, 10);
    socket.send("nonsense\r\n\r\n");
    std::string text;
    EXPECT_TRUE(socket.receive(text));
    EXPECT_THAT(text, StartsWith("HTTP/1.1 400"));
  }
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
}

TEST(Ends, a_source_goes_with_its_answer_though_the_connection_stays) {
  const auto held = std::make_shared<std::string>(100'000, 'x');
  const std::weak_ptr<std::string> watched = held;
  std::atomic<bool> first = true;
  std::shared_ptr<std::string> gives = held;
  const RunningServer server(
      [&](const Request&) {
        if (!first.exchange(false)) return Response{.body = "next"};
        auto bytes = std::move(gives);
        const BodySource source = [bytes](std::uint64_t offset, std::span<char> into) {
          return std::optional(bytes->copy(into.data(), into.size(), offset));
        };
        return Response{.source = source, .length = bytes->size()};
      },
      patient());
  const TestSocket socket = TestSocket::to(server.port, 10);
  socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string text;
  while (text.size() < 100'000 && socket.receive(text)) {
  }
  EXPECT_TRUE(soon([&] { return watched.use_count() == 1; })) << "this test's own";
  EXPECT_EQ(server.load->connections, 1);
}

TEST(Ends, a_header_has_its_own_time_after_a_request_too) {
  ServerOptions options = patient();
  options.request_time_max = 150ms;
  const RunningServer server(reply_with_body, options);
  const TestSocket socket = TestSocket::to(server.port, 5);
  socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(socket, "got "), HasSubstr(" 200 "));
  socket.send("GET / HT");
  const auto start = std::chrono::steady_clock::now();
  socket.rest();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
}

TEST(Ends, a_stream_has_its_limit_though_held_bodies_may_be_larger) {
  ServerOptions options = patient();
  options.body_bytes_max = 10'000;
  options.stream_bytes_max = 100;
  const RunningServer server(
      {.answer = reply_with_body,
       .plan = [](const Request&) -> BodyPlan { return std::make_unique<Counts>(); }},
      options);
  const auto chunked = [&](std::size_t bytes) {
    char head[20];
    std::snprintf(head, sizeof head, "%zx", bytes);
    return wire(server.port,
                "PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
                "\r\n" +
                    std::string(head) + "\r\n" + std::string(bytes, 'x') + "\r\n0\r\n\r\n");
  };
  EXPECT_THAT(chunked(100), HasSubstr("100 taken"));
  EXPECT_THAT(chunked(101), StartsWith("HTTP/1.1 413"));
}

TEST(Ends, a_stop_lets_a_body_come_whose_header_was_there) {
  RunningServer server(reply_with_body, patient());
  const TestSocket socket = TestSocket::to(server.port, 10);
  socket.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(soon([&] { return server.load->body_bytes > 0; }));
  server.stop();
  ASSERT_TRUE(soon([&] { return !TestSocket::to(server.port, 1).connected(); }))
      << "nobody new is let in";
  socket.send("67890");
  EXPECT_THAT(socket.rest(), HasSubstr("got 1234567890"));
}

TEST(Ends, a_stop_waits_for_nobody_who_is_late) {
  ServerOptions options = patient();
  options.request_time_max = 300ms;
  options.drain_time_max = 8s;
  auto server = std::make_unique<RunningServer>(reply_with_body, options);
  const TestSocket socket = TestSocket::to(server->port, 10);
  socket.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(soon([&] { return server->load->body_bytes > 0; }));
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

}  // namespace
}  // namespace orrery::net::ends_tests
