// Each deadline of the server, with all others far away; and what has no deadline: the time that
// the service itself takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "live/net/patient_fixture.h"
#include "live/net/server.h"
#include "live/net/transport.h"

namespace orrery::net::server_deadlines_tests {
namespace {

using patience::answer_of;
using patience::count_of;
using patience::counting_service;
using patience::echo;
using patience::kNext;
using patience::patient;
using patience::put_header;
using patience::soon;
using patience::wire;
using testing::EndsWith;
using testing::StartsWith;
using namespace std::chrono_literals;

// Returns how long after `start` the server closes the connection.
std::chrono::milliseconds ends_after(const TestSocket& socket,
                                     Clock::time_point start = Clock::now()) {
  socket.rest();
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

TEST(ServerDeadlines, header_and_held_body_share_a_deadline) {
  ServerOptions options = patient();
  options.request_time_max = 200ms;
  const RunningServer server(echo, options);
  const auto start = Clock::now();
  const TestSocket silent = TestSocket::to(server.port, 10);
  const auto took = ends_after(silent, start);
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 5000ms);
  const TestSocket half = TestSocket::to(server.port, 10);
  half.send("GET / HTTP/1.1\r\n");
  EXPECT_LT(ends_after(half), 5000ms);
  const TestSocket body = TestSocket::to(server.port, 10);
  body.send(put_header("/k", 10) + "123");
  EXPECT_LT(ends_after(body), 5000ms);
  EXPECT_EQ(server.load->malformed, 0) << "the client is slow, but not at fault";
}

TEST(ServerDeadlines, header_deadline_is_not_extended_by_more_headers) {
  ServerOptions options = patient();
  options.request_time_max = 300ms;
  const RunningServer server(echo, options);
  const TestSocket slow = TestSocket::to(server.port);
  const auto start = std::chrono::steady_clock::now();
  bool alive = slow.send("GET / HTTP/1.1\r\nHost: x\r\n");
  while (alive && std::chrono::steady_clock::now() - start < 5s) {
    std::this_thread::sleep_for(30ms);
    alive = slow.send("X: y\r\n");
  }
  const auto lasted = std::chrono::steady_clock::now() - start;
  EXPECT_GE(lasted, 300ms);
  EXPECT_LT(lasted, 3s);
}

TEST(ServerDeadlines, second_header_has_a_deadline_of_its_own) {
  ServerOptions options = patient();
  options.request_time_max = 150ms;
  const RunningServer server(echo, options);
  const TestSocket socket = TestSocket::to(server.port, 5);
  socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(socket, ";"), testing::HasSubstr(" 200 "));
  socket.send("GET / HT");
  const auto start = std::chrono::steady_clock::now();
  socket.rest();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
}

TEST(ServerDeadlines, idle_time_applies_between_requests_only) {
  ServerOptions options = patient();
  options.idle_time_max = 200ms;
  const RunningServer server(echo, options);
  const TestSocket first = TestSocket::to(server.port, 10);
  std::this_thread::sleep_for(450ms);
  const auto start = Clock::now();
  first.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(first, "GET /late ;"), StartsWith("HTTP/1.1 200"));
  const auto took = ends_after(first, start);
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 5000ms);
  ServerOptions other = patient();
  other.request_time_max = 200ms;
  const RunningServer keeps(echo, other);
  const TestSocket kept = TestSocket::to(keeps.port, 10);
  kept.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(kept, "GET /1 ;"), StartsWith("HTTP/1.1 200"));
  std::this_thread::sleep_for(450ms);
  kept.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(kept, "GET /2 ;"), StartsWith("HTTP/1.1 200"));
}

TEST(ServerDeadlines, piece_of_a_streamed_body_has_a_deadline) {
  ServerOptions options = patient();
  options.piece_time_max = 200ms;
  const RunningServer server(counting_service(), options);
  const TestSocket slow = TestSocket::to(server.port, 10);
  slow.send(put_header("/k", 1000) + "x");
  EXPECT_LT(ends_after(slow), 5000ms);
  const TestSocket chunks = TestSocket::to(server.port, 10);
  chunks.send("PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_LT(ends_after(chunks), 5000ms);
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 0; }));
}

TEST(ServerDeadlines, client_that_does_not_read_is_cut_off) {
  for (const bool in_place : {false, true}) {
    ServerOptions options = patient(in_place);
    options.response_time_max = std::chrono::milliseconds(40);
    const RunningServer server(
        [](const Request&) { return Response{.body = std::string(32 << 20, 'x')}; }, options);
    const TestSocket client = TestSocket::to(server.port, 10, 4096);
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string begun;
    EXPECT_TRUE(client.receive(begun));
    EXPECT_TRUE(soon([&] { return server.load->connections == 0; })) << in_place;
  }
}

TEST(ServerDeadlines, slow_answer_and_slow_reader_have_only_the_response_deadline) {
  ServerOptions options = patient();
  options.request_time_max = options.piece_time_max = options.idle_time_max = 100ms;
  const RunningServer server(at_length([](const Request&) {
                               std::this_thread::sleep_for(350ms);
                               return Response{.body = std::string(8 << 20, 'x')};
                             }),
                             options);
  const TestSocket slow = TestSocket::to(server.port, 10, 4096);
  slow.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::this_thread::sleep_for(700ms);
  const std::string all = slow.rest();
  EXPECT_EQ(all.size() - all.find("\r\n\r\n") - 4, 8u << 20);
}

TEST(ServerDeadlines, deadlines_and_stop_are_checked_ten_times_a_second) {
  auto best_stop = 10'000ms;
  auto best_cut = 10'000ms;
  for (int i = 0; i < 3; ++i) {
    ServerOptions options = patient();
    options.request_time_max = 1ms;
    Clock::time_point stop_at;
    {
      const RunningServer server(echo, options);
      best_cut = std::min(best_cut, ends_after(TestSocket::to(server.port, 10)));
      stop_at = Clock::now();
    }
    best_stop = std::min(
        best_stop, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - stop_at));
  }
  EXPECT_LT(best_stop, 700ms);
  EXPECT_LT(best_cut, 700ms);
}

// Connects and waits to be cut off, so that the server has checked all earlier deadlines since they
// expired.
void let_a_round_pass(int port) { EXPECT_EQ(TestSocket::to(port, 10).rest(), ""); }

ServerOptions hasty() {
  ServerOptions options = patient(false);
  options.request_time_max = options.piece_time_max = options.response_time_max = 200ms;
  return options;
}

TEST(ServerDeadlines, body_plan_has_no_deadline) {
  int port = 0;
  const Service service{
      .answer = [](const Request& request) { return Response{.body = request.body + ";"}; },
      .plan = [&](const Request&) -> BodyPlan {
        let_a_round_pass(port);
        return GatherBody{};
      }};
  const RunningServer server(service, hasty());
  port = server.port;
  EXPECT_THAT(wire(server.port, put_header("/k", 4, "Connection: close\r\n") + "body"),
              EndsWith("\r\n\r\nbody;"));
}

TEST(ServerDeadlines, sink_has_no_deadline) {
  int port = 0;
  const RunningServer server(counting_service(0, [&] { let_a_round_pass(port); }), hasty());
  port = server.port;
  EXPECT_THAT(wire(server.port, put_header("/k", 4, "Connection: close\r\n") + "body"),
              EndsWith("\r\n\r\n4 taken;"));
}

// The second piece is made while the first is sent, and takes longer.
TEST(ServerDeadlines, source_has_no_deadline) {
  int port = 0;
  ServerOptions options = hasty();
  options.piece_bytes = 4;
  const RunningServer server(
      at_length([&](const Request&) {
        return Response{.source = [&](std::uint64_t offset,
                                      std::span<char> into) -> std::optional<std::size_t> {
                          if (offset >= 8) return 0;
                          if (offset == 4) let_a_round_pass(port);
                          std::fill_n(into.begin(), 4, offset == 0 ? 'a' : 'b');
                          return 4;
                        },
                        .length = 8};
      }),
      options);
  port = server.port;
  EXPECT_THAT(wire(server.port, kNext), EndsWith("\r\n\r\naaaabbbb"));
}

TEST(ServerDeadlines, answer_has_no_deadline) {
  ServerOptions options = patient();
  options.request_time_max = std::chrono::milliseconds(40);
  int port = 0;
  const RunningServer server(at_length([&](const Request&) {
                               EXPECT_EQ(TestSocket::to(port, 10).rest(), "");
                               return Response{.body = "whole"};
                             }),
                             options);
  port = server.port;
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(patience::answer_of(client, "whole"), EndsWith("\r\n\r\nwhole"));
}

TEST(ServerDeadlines, silent_event_stream_has_no_deadline) {
  std::atomic<bool> speaks = false;
  const RunningServer server(
      [&](const Request&) {
        return Response{.events = [&, begun = false]() mutable -> std::optional<std::string> {
          if (!std::exchange(begun, true)) return "data: first\n\n";
          return speaks ? std::optional<std::string>("data: then\n\n") : "";
        }};
      },
      hasty());
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  answer_of(client, "data: first\n\n");
  let_a_round_pass(server.port);
  speaks = true;
  EXPECT_THAT(answer_of(client, "data: then\n\n"), EndsWith("data: then\n\n"));
}

TEST(ServerDeadlines, refused_client_has_the_linger_time_to_read) {
  ServerOptions options = hasty();
  options.body_bytes_max = 3;
  options.linger_time_max = 30s;
  const RunningServer server([](const Request&) { return Response{}; }, options);
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send(put_header("/k", 4));
  EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 413"));
  let_a_round_pass(server.port);
  EXPECT_TRUE(soon([&] { return server.load->connections <= 1; }));
  EXPECT_EQ(server.load->connections, 1);
}

TEST(ServerDeadlines, deadlines_are_kept_while_a_stop_drains) {
  ServerOptions options = patient(false);
  options.request_time_max = 300ms;
  options.drain_time_max = 30s;
  RunningServer server([](const Request&) { return Response{}; }, options);
  const TestSocket half = TestSocket::to(server.port, 20);
  half.send(put_header("/k", 10) + "1");
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 10; }));
  server.stop();
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
}

}  // namespace
}  // namespace orrery::net::server_deadlines_tests
