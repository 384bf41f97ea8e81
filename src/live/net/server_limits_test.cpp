// Each limit of the server, just below and just above it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "live/net/patient_fixture.h"
#include "live/net/server.h"
#include "live/net/transport.h"

namespace orrery::net::server_limits_tests {
namespace {

using patience::answer_of;
using patience::count_of;
using patience::counting_service;
using patience::echo;
using patience::kHost;
using patience::kNext;
using patience::patient;
using patience::put_header;
using patience::soon;
using patience::wire;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

TEST(ServerLimits, held_body_may_reach_its_limit) {
  ServerOptions options = patient();
  options.body_bytes_max = 10;
  const RunningServer server(echo, options);
  EXPECT_THAT(wire(server.port, put_header("/k", 10, "Connection: close\r\n") + "0123456789"),
              EndsWith("PUT /k 0123456789;"));
  EXPECT_THAT(wire(server.port, put_header("/k", 11) + "01234567890"), StartsWith("HTTP/1.1 413"));
  const std::string chunked =
      "PUT /k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(wire(server.port, chunked + "a\r\n0123456789\r\n0\r\n\r\n"),
              EndsWith("PUT /k 0123456789;"));
  EXPECT_THAT(wire(server.port, chunked + "b\r\n01234567890\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(server.load->malformed, 2);
}

TEST(ServerLimits, held_bodies_share_their_total_to_the_last_byte) {
  ServerOptions options = patient();
  options.body_bytes_max = 1000;
  options.bodies_bytes_max = 1500;
  const RunningServer server(echo, options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(put_header("/k", 1000) + "x");
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 1000; }));
  const TestSocket second = TestSocket::to(server.port, 10);
  second.send(put_header("/k", 500) + "x");
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 1500; }));
  EXPECT_THAT(wire(server.port, put_header("/k", 1) + "x"), StartsWith("HTTP/1.1 503"));
  second.send(std::string(499, 'x'));
  EXPECT_THAT(answer_of(second, ";"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 1000; }));
  EXPECT_THAT(
      wire(server.port, put_header("/k", 500, "Connection: close\r\n") + std::string(500, 'y')),
      EndsWith("yyy;"));
}

TEST(ServerLimits, chunked_body_reserves_the_largest_size) {
  ServerOptions options = patient();
  options.body_bytes_max = 1000;
  const RunningServer server(echo, options);
  const TestSocket socket = TestSocket::to(server.port, 10);
  socket.send("PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 1000; }));
}

// A body reserves two pieces; if they do not fit, two quarter pieces; if those do not fit either,
// it is refused.
TEST(ServerLimits, streamed_bodies_share_their_memory) {
  ServerOptions options = patient();
  options.piece_bytes = options.inflow_bytes = 64 << 10;
  options.bodies_bytes_max = (2 * 64 + 2 * 16) << 10;
  const RunningServer server(counting_service(), options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(put_header("/k", 1 << 20));
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 128 << 10; }));
  const TestSocket second = TestSocket::to(server.port, 10);
  second.send(put_header("/k", 1 << 20));
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 160 << 10; }));
  EXPECT_THAT(wire(server.port, put_header("/k", 1 << 20)), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server.load->body_bytes, 160 << 10);
  second.send(std::string(1 << 20, 'x'));
  EXPECT_THAT(answer_of(second, ";"), EndsWith("1048576 taken;"));
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 128 << 10; }));
  // A body smaller than a piece reserves only its own size.
  const TestSocket third = TestSocket::to(server.port, 10);
  third.send(put_header("/k", 1000));
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == (128 << 10) + 2000; }));
}

TEST(ServerLimits, streamed_body_may_reach_its_limit) {
  ServerOptions options = patient();
  options.stream_bytes_max = 3000;
  options.body_bytes_max = 10;
  const RunningServer server(counting_service(), options);
  EXPECT_THAT(
      wire(server.port, put_header("/k", 3000, "Connection: close\r\n") + std::string(3000, 'x')),
      EndsWith("3000 taken;"));
  EXPECT_THAT(wire(server.port, put_header("/k", 3001)), StartsWith("HTTP/1.1 413"));
  const std::string chunked =
      "PUT /k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(wire(server.port, chunked + "bb8\r\n" + std::string(3000, 'x') + "\r\n0\r\n\r\n"),
              EndsWith("3000 taken;"));
  EXPECT_THAT(wire(server.port, chunked + "bb9\r\n" + std::string(3001, 'x') + "\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
}

TEST(ServerLimits, header_size_is_limited_and_may_arrive_in_parts) {
  ServerOptions options = patient();
  options.header_bytes_max = 300;
  const RunningServer server(echo, options);
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ";
  EXPECT_THAT(wire(server.port, head + std::string(290 - head.size() - 4, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(wire(server.port, head + std::string(400 - head.size() - 4, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  const TestSocket socket = TestSocket::to(server.port, 10);
  for (const char* part :
       {"GE", "T /parts HT", "TP/1.1\r\nHos", "t: x\r\nConnection: close\r\n\r", "\n"}) {
    socket.send(part);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_THAT(socket.rest(), EndsWith("GET /parts ;"));
}

// RFC 9112 5.2 and 3.2: two readers could take such a header for two different requests.
TEST(ServerLimits, ambiguous_header_is_refused) {
  const RunningServer server(echo, patient(false));
  const auto said = [&](const std::string& head) {
    const TestSocket client = TestSocket::to(server.port, 10);
    client.send(head + "Connection: close\r\n\r\n");
    return client.rest();
  };
  const std::string get = "GET /a HTTP/1.1\r\n";
  EXPECT_THAT(said(get + kHost), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(said(get + kHost + "X: a\r\n b\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(said(get + kHost + "X: a\r\n\tb\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(said(get + kHost + "Content-Length:\r\n 5\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(said(get), StartsWith("HTTP/1.1 400")) << "there is no Host header";
  EXPECT_THAT(said(get + kHost + "host: y\r\n"), StartsWith("HTTP/1.1 400"))
      << "there are two Host headers";
  EXPECT_THAT(said("GET /a HTTP/1.0\r\n"), StartsWith("HTTP/1.0 200")) << "HTTP/1.0 needs no host";
  EXPECT_EQ(server.load->malformed, 5);
  // A line of a body may begin with a blank.
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("PUT /b HTTP/1.1\r\n" + kHost +
              "Connection: close\r\nContent-Length: 5\r\n\r\n\n b\n ");
  EXPECT_THAT(client.rest(), EndsWith("PUT /b \n b\n ;"));
  // The same header, byte by byte.
  const TestSocket slow = TestSocket::to(server.port, 10);
  for (const char c : get + kHost + "X: a\r\n b\r\n\r\n") slow.send(std::string(1, c));
  EXPECT_THAT(slow.rest(), StartsWith("HTTP/1.1 400"));
}

TEST(ServerLimits, event_streams_are_limited) {
  ServerOptions options = patient();
  options.streams_max = 2;
  std::atomic<bool> ends = false;
  const RunningServer server(
      [&ends](const Request&) {
        return Response{.events = [&ends, sent = false]() mutable -> std::optional<std::string> {
          if (ends) return std::nullopt;
          return std::exchange(sent, true) ? "" : "data: 1\n\n";
        }};
      },
      options);
  const std::string ask = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
  const TestSocket one = TestSocket::to(server.port, 10);
  const TestSocket two = TestSocket::to(server.port, 10);
  one.send(ask);
  two.send(ask);
  const std::string head = answer_of(one, "data: 1\n\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head, Not(HasSubstr("Transfer-Encoding")));
  answer_of(two, "data: 1\n\n");
  EXPECT_EQ(server.load->streams, 2);
  const std::string third =
      wire(server.port, "GET /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(third, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(third, HasSubstr("Retry-After: 1\r\n"));
  ends = true;
  EXPECT_EQ(one.rest() + two.rest(), "");
  EXPECT_TRUE(soon([&] { return server.load->streams == 0; }));
}

TEST(ServerLimits, silent_event_stream_sends_a_comment) {
  ServerOptions options = patient();
  options.event_silence_max = 60ms;
  const auto silent = [](const Request& request) {
    return Response{.events = [quiet = request.target == "/quiet",
                               n = 0]() mutable -> std::optional<std::string> {
      if (++n > 20) return std::nullopt;
      return quiet ? "" : "data: x\n\n";
    }};
  };
  const RunningServer server(silent, options);
  const auto start = Clock::now();
  const std::string quiet = wire(server.port, "GET /quiet HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  EXPECT_THAT(quiet, HasSubstr("\r\n\r\n:\n\n:\n\n"));
  // A comment every 60 ms, not one every period of 10 ms.
  const std::size_t comments = (quiet.size() - quiet.find("\r\n\r\n") - 4) / 3;
  EXPECT_LE(comments, static_cast<std::size_t>(lasted / 60ms));
  const std::string loud = wire(server.port, "GET /loud HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(loud, Not(HasSubstr("\n:\n\n")));
}

TEST(ServerLimits, refused_client_can_read_the_reason_before_the_connection_closes) {
  ServerOptions options = patient();
  options.body_bytes_max = 10;
  options.linger_time_max = 700ms;
  const RunningServer server(echo, options);
  const TestSocket stays = TestSocket::to(server.port, 10);
  stays.send(put_header("/k", 1'000'000) + std::string(200'000, 'x'));
  std::string text;
  while (stays.receive(text)) {
  }
  EXPECT_THAT(text, StartsWith("HTTP/1.1 413")) << "the refusal is not lost by a reset";
  EXPECT_EQ(server.load->connections, 1);
  const auto start = Clock::now();
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
  EXPECT_LT(Clock::now() - start, 3s);
}

TEST(ServerLimits, connection_being_answered_is_not_closed_for_a_new_one) {
  ServerOptions options = patient(false);
  options.connections_max = 1;
  std::atomic<bool> hold = true;
  std::atomic<bool> inside = false;
  const RunningServer server(
      [&](const Request& request) {
        inside = true;
        while (hold) std::this_thread::sleep_for(1ms);
        return echo(request);
      },
      options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(kNext);
  ASSERT_TRUE(soon([&] { return inside.load(); }));
  EXPECT_EQ(wire(server.port, kNext), "") << "refused";
  hold = false;
  EXPECT_THAT(first.rest(), EndsWith("GET /next ;"));
}

TEST(ServerLimits, new_connection_replaces_the_one_that_waited_longest) {
  ServerOptions options = patient(false);
  options.connections_max = 2;
  const RunningServer server(echo, options);
  const TestSocket old = TestSocket::to(server.port, 10);
  old.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  answer_of(old, ";");
  std::this_thread::sleep_for(20ms);
  const TestSocket silent = TestSocket::to(server.port, 10);
  ASSERT_TRUE(soon([&] { return server.load->connections == 2; }));
  std::this_thread::sleep_for(20ms);
  old.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");  // its waiting time starts again here
  answer_of(old, ";");
  EXPECT_THAT(wire(server.port, kNext), EndsWith("GET /next ;"));
  EXPECT_EQ(silent.rest(), "");
  old.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(old, ";"), EndsWith("GET /3 ;"));
}

TEST(ServerLimits, connection_of_a_stalled_body_is_closed_to_make_room) {
  ServerOptions options = patient(false);
  options.connections_max = 1;
  options.inflow_bytes = 10;
  std::atomic<int> pieces = 0;
  const RunningServer server(counting_service(0, [&] { ++pieces; }), options);
  const TestSocket slow = TestSocket::to(server.port, 10);
  slow.send(put_header("/k", 20) + "0123456789");
  EXPECT_TRUE(soon([&] { return pieces == 1; }));
  EXPECT_TRUE(soon([&] { return wire(server.port, kNext).ends_with("GET /next ;"); }));
  EXPECT_EQ(slow.rest(), "");
}

TEST(ServerLimits, connection_whose_body_is_being_taken_is_not_closed) {
  ServerOptions options = patient(false);
  options.connections_max = 1;
  std::atomic<bool> inside = false, goes_on = false;
  const RunningServer server(counting_service(0,
                                              [&] {
                                                inside = true;
                                                soon([&] { return goes_on.load(); });
                                              }),
                             options);
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send(put_header("/k", 4, "Connection: close\r\n") + "body");
  EXPECT_TRUE(soon([&] { return inside.load(); }));
  EXPECT_EQ(wire(server.port, kNext), "") << "refused";
  goes_on = true;
  EXPECT_THAT(client.rest(), EndsWith("4 taken;"));
}

// While no descriptor is free, open connections are served and a new one waits.
TEST(ServerLimits, server_without_descriptors_accepts_later) {
  const RunningServer server([](const Request&) { return Response{.body = "answered;"}; },
                             patient(false));
  const TestSocket first = TestSocket::to(server.port, 10);
  const auto ask = [&first] {
    first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return answer_of(first, "answered;");
  };
  EXPECT_THAT(ask(), StartsWith("HTTP/1.1 200"));
  const TestSocket late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 10);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const sockaddr_in address = loopback_address(server.port);
  const int connected =
      ::connect(late.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  late.send(kNext);
  std::string answer;
  for (int i = 0; i < 3; ++i) answer = ask();
  const int taken = server.load->connections;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(connected, 0);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(taken, 1);
  EXPECT_THAT(late.rest(), EndsWith("answered;"));
}

}  // namespace
}  // namespace orrery::net::server_limits_tests
