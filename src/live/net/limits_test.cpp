// Every limit of the server on either side of its edge, every deadline alone, and the values that
// hold where nobody sets any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "live/net/client.h"
#include "live/net/patient_fixture.h"
#include "live/net/transport.h"

namespace orrery::net::limits_tests {
namespace {

using patience::answer_of;
using patience::patient;
using patience::soon;
using patience::wire;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

const std::string kHost = "Host: x\r\n";

Response echo(const Request& request) {
  return {.body = request.method + ' ' + request.target + ' ' + request.body};
}

// How long after `start` the other side hangs up.
std::chrono::milliseconds ends_after(const TestSocket& socket,
                                     Clock::time_point start = Clock::now()) {
  socket.rest();
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

class Swallows final : public BodySink {
 public:
  explicit Swallows(int refuse_at = 0) : refuse_at_(refuse_at) {}
  std::optional<Response> take(std::string_view piece) override {
    bytes_ += piece.size();
    if (++pieces_ == refuse_at_) return Response{.status = 409, .body = "enough"};
    return std::nullopt;
  }
  Response finish() override { return {.body = std::to_string(bytes_) + " taken"}; }

 private:
  int refuse_at_;
  int pieces_ = 0;
  std::size_t bytes_ = 0;
};

Service pouring(int refuse_at = 0) {
  return {.answer = echo, .plan = [refuse_at](const Request& request) -> BodyPlan {
            if (request.target == "/none") return Response{.status = 403, .body = "not wanted"};
            return std::make_unique<Swallows>(refuse_at);
          }};
}

std::string put(std::size_t bytes, const std::string& more = "") {
  return "PUT /k HTTP/1.1\r\n" + kHost + "Content-Length: " + std::to_string(bytes) + "\r\n" +
         more + "\r\n";
}
const std::string kNext = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST(Defaults, of_a_server_are_those_of_a_console_for_a_handful_of_people) {
  const ServerOptions o;
  EXPECT_EQ(o.address, "127.0.0.1");
  EXPECT_EQ(o.port, 0);
  EXPECT_EQ(o.connections_max, 512);
  EXPECT_EQ(o.requests_max, 256);
  EXPECT_EQ(o.requests_per_connection_max, 0);
  EXPECT_EQ(o.streams_max, 64);
  EXPECT_EQ(o.handler_threads, 2);
  EXPECT_FALSE(o.answers_in_place);
  EXPECT_EQ(o.header_bytes_max, 16'384u);
  EXPECT_EQ(o.body_bytes_max, 1'048'576u);
  EXPECT_EQ(o.stream_bytes_max, 6'442'450'944u);
  EXPECT_EQ(o.bodies_bytes_max, 536'870'912u);
  EXPECT_EQ(o.piece_bytes, 262'144u);
  EXPECT_EQ(o.inflow_bytes, 262'144u);
  EXPECT_EQ(o.request_time_max, 5s);
  EXPECT_EQ(o.piece_time_max, 30s);
  EXPECT_EQ(o.idle_time_max, 60s);
  EXPECT_EQ(o.response_time_max, 10s);
  EXPECT_EQ(o.drain_time_max, 2s);
  EXPECT_EQ(o.linger_time_max, 1s);
  EXPECT_EQ(o.event_period, 250ms);
  EXPECT_EQ(o.event_silence_max, 15s);
}

TEST(Defaults, of_a_client_let_large_objects_pass_and_end_dead_peers) {
  const ClientOptions o;
  EXPECT_EQ(o.connect_s, 5);
  EXPECT_EQ(o.total_s, 0);
  EXPECT_EQ(o.slow_bytes_per_s, 1024);
  EXPECT_EQ(o.slow_s, 20);
  EXPECT_EQ(o.body_bytes_max, 67'108'864u);
  EXPECT_TRUE(o.trusted.empty());
  const Question q;
  EXPECT_EQ(q.method, "GET");
  EXPECT_EQ(q.expected_bytes, 0u);
  EXPECT_FALSE(q.once || q.ask_first || q.source_bytes);
  const Response r;
  EXPECT_EQ(r.status, 200);
  EXPECT_EQ(r.content_type, "text/plain; charset=utf-8");
}

TEST(Limits, a_body_of_just_the_limit_is_held_and_one_byte_more_is_not) {
  ServerOptions options = patient();
  options.body_bytes_max = 10;
  const RunningServer server(echo, options);
  EXPECT_THAT(wire(server.port, put(10, "Connection: close\r\n") + "0123456789"),
              EndsWith("PUT /k 0123456789"));
  EXPECT_THAT(wire(server.port, put(11) + "01234567890"), StartsWith("HTTP/1.1 413"));
  const std::string chunked =
      "PUT /k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(wire(server.port, chunked + "a\r\n0123456789\r\n0\r\n\r\n"),
              EndsWith("PUT /k 0123456789"));
  EXPECT_THAT(wire(server.port, chunked + "b\r\n01234567890\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(server.load->malformed, 2);
}

TEST(Limits, all_bodies_held_may_fill_their_room_to_the_last_byte) {
  ServerOptions options = patient();
  options.body_bytes_max = 1000;
  options.bodies_bytes_max = 1500;
  const RunningServer server(echo, options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(put(1000) + "x");
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 1000; }));
  const TestSocket second = TestSocket::to(server.port, 10);
  second.send(put(500) + "x");
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 1500; }));
  EXPECT_THAT(wire(server.port, put(1) + "x"), StartsWith("HTTP/1.1 503"));
  second.send(std::string(499, 'x'));
  EXPECT_THAT(answer_of(second, "x"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 1000; })) << "its room is free again";
  EXPECT_THAT(wire(server.port, put(500, "Connection: close\r\n") + std::string(500, 'y')),
              EndsWith("yyy"));
}

TEST(Limits, a_chunked_body_takes_the_room_of_the_largest) {
  ServerOptions options = patient();
  options.body_bytes_max = 1000;
  const RunningServer server(echo, options);
  const TestSocket socket = TestSocket::to(server.port, 10);
  socket.send("PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 1000; }));
}

// Two pieces each; where they find no room a body has pieces of a quarter, and then none.
TEST(Limits, streamed_bodies_share_their_room) {
  ServerOptions options = patient();
  options.piece_bytes = options.inflow_bytes = 64 << 10;
  options.bodies_bytes_max = (2 * 64 + 2 * 16) << 10;
  const RunningServer server(pouring(), options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(put(1 << 20));
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 128 << 10; }));
  const TestSocket second = TestSocket::to(server.port, 10);
  second.send(put(1 << 20));
  ASSERT_TRUE(soon([&] { return server.load->body_bytes == 160 << 10; }));
  EXPECT_THAT(wire(server.port, put(1 << 20)), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server.load->body_bytes, 160 << 10);
  second.send(std::string(1 << 20, 'x'));
  EXPECT_THAT(answer_of(second, "taken"), EndsWith("1048576 taken"));
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 128 << 10; }));
  // A body that is smaller than a piece needs room for itself only, and an unknown one for a piece.
  const TestSocket third = TestSocket::to(server.port, 10);
  third.send(put(1000));
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == (128 << 10) + 2000; }));
}

TEST(Limits, a_stream_may_be_as_long_as_its_limit) {
  ServerOptions options = patient();
  options.stream_bytes_max = 3000;
  options.body_bytes_max = 10;
  const RunningServer server(pouring(), options);
  EXPECT_THAT(wire(server.port, put(3000, "Connection: close\r\n") + std::string(3000, 'x')),
              EndsWith("3000 taken"));
  EXPECT_THAT(wire(server.port, put(3001)), StartsWith("HTTP/1.1 413"));
  const std::string chunked =
      "PUT /k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(wire(server.port, chunked + "bb8\r\n" + std::string(3000, 'x') + "\r\n0\r\n\r\n"),
              EndsWith("3000 taken"));
  EXPECT_THAT(wire(server.port, chunked + "bb9\r\n" + std::string(3001, 'x') + "\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
}

TEST(Limits, a_header_has_its_bytes) {
  ServerOptions options = patient();
  options.header_bytes_max = 300;
  const RunningServer server(echo, options);
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ";
  EXPECT_THAT(wire(server.port, head + std::string(290 - head.size() - 4, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(wire(server.port, head + std::string(400 - head.size() - 4, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  // Its parts may come one by one.
  const TestSocket socket = TestSocket::to(server.port, 10);
  for (const char* part :
       {"GE", "T /parts HT", "TP/1.1\r\nHos", "t: x\r\nConnection: close\r\n\r", "\n"}) {
    socket.send(part);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_THAT(socket.rest(), EndsWith("GET /parts "));
}

// What two readers of a header could take for two different requests is refused.
TEST(Limits, a_header_that_can_be_read_in_two_ways_is_refused) {
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
  EXPECT_THAT(said(get), StartsWith("HTTP/1.1 400")) << "for no host";
  EXPECT_THAT(said(get + kHost + "host: y\r\n"), StartsWith("HTTP/1.1 400")) << "for two hosts";
  EXPECT_THAT(said("GET /a HTTP/1.0\r\n"), StartsWith("HTTP/1.0 200")) << "it had none then";
  EXPECT_EQ(server.load->malformed, 5);
  // A line of the body may begin with a blank.
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("PUT /b HTTP/1.1\r\n" + kHost +
              "Connection: close\r\nContent-Length: 5\r\n\r\n\n b\n ");
  EXPECT_THAT(client.rest(), EndsWith("PUT /b \n b\n "));
  // A header that comes byte by byte is the same header.
  const TestSocket slow = TestSocket::to(server.port, 10);
  for (const char c : get + kHost + "X: a\r\n b\r\n\r\n") slow.send(std::string(1, c));
  EXPECT_THAT(slow.rest(), StartsWith("HTTP/1.1 400"));
}

TEST(Limits, streams_of_events_are_counted_and_capped) {
  ServerOptions options = patient();
  options.streams_max = 2;
  std::atomic<bool> ends = false;
  const RunningServer server(
      [&ends](const Request&) {
        return Response{.events = [&ends, told = false]() mutable -> std::optional<std::string> {
          if (ends) return std::nullopt;
          return std::exchange(told, true) ? "" : "data: 1\n\n";
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

TEST(Limits, a_stream_that_says_nothing_says_so) {
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
  // One word after every 60 ms, not one at every period of 10.
  const std::size_t words = (quiet.size() - quiet.find("\r\n\r\n") - 4) / 3;
  EXPECT_LE(words, static_cast<std::size_t>(lasted / 60ms));
  const std::string loud = wire(server.port, "GET /loud HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(loud, Not(HasSubstr("\n:\n\n"))) << "what was said counts";
}

TEST(Limits, a_client_that_is_refused_may_read_why_and_is_then_hung_up_on) {
  ServerOptions options = patient();
  options.body_bytes_max = 10;
  options.linger_time_max = 700ms;
  const RunningServer server(echo, options);
  const TestSocket stays = TestSocket::to(server.port, 10);
  stays.send(put(1'000'000) + std::string(200'000, 'x'));
  std::string text;
  while (stays.receive(text)) {
  }
  EXPECT_THAT(text, StartsWith("HTTP/1.1 413")) << "not lost to a reset";
  EXPECT_EQ(server.load->connections, 1) << "what it still sends is swallowed";
  const auto start = Clock::now();
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; })) << "and not for ever";
  EXPECT_LT(Clock::now() - start, 3s);
}

// A deadline each, with all others out of reach.
TEST(Deadlines, of_the_first_byte_and_of_the_header) {
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
  body.send(put(10) + "123");
  EXPECT_LT(ends_after(body), 5000ms);
  EXPECT_EQ(server.load->malformed, 0) << "slow, not wrong";
}

TEST(Deadlines, between_two_requests_are_others_than_of_the_first) {
  ServerOptions options = patient();
  options.idle_time_max = 200ms;
  const RunningServer server(echo, options);
  const TestSocket first = TestSocket::to(server.port, 10);
  std::this_thread::sleep_for(450ms);
  const auto start = Clock::now();
  first.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(first, "GET /late "), StartsWith("HTTP/1.1 200"));
  const auto took = ends_after(first, start);
  EXPECT_GE(took, 200ms);
  EXPECT_LT(took, 5000ms);
  ServerOptions other = patient();
  other.request_time_max = 200ms;
  const RunningServer keeps(echo, other);
  const TestSocket kept = TestSocket::to(keeps.port, 10);
  kept.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(kept, "GET /1 "), StartsWith("HTTP/1.1 200"));
  std::this_thread::sleep_for(450ms);
  kept.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(kept, "GET /2 "), StartsWith("HTTP/1.1 200"));
}

TEST(Deadlines, of_a_piece_and_of_what_is_read) {
  ServerOptions options = patient();
  options.piece_time_max = 200ms;
  const RunningServer server(pouring(), options);
  const TestSocket slow = TestSocket::to(server.port, 10);
  slow.send(put(1000) + "x");
  EXPECT_LT(ends_after(slow), 5000ms);
  const TestSocket chunks = TestSocket::to(server.port, 10);
  chunks.send("PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  EXPECT_LT(ends_after(chunks), 5000ms);
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 0; }));

  ServerOptions held = patient();
  held.response_time_max = 200ms;
  const RunningServer sends(
      [](const Request&) { return Response{.body = std::string(8 << 20, 'x')}; }, held);
  const TestSocket deaf = TestSocket::to(sends.port, 10, 4096);
  deaf.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(soon([&] { return sends.load->connections == 1; }));
  EXPECT_TRUE(soon([&] { return sends.load->connections == 0; })) << "it does not read";
}

TEST(Deadlines, a_slow_answer_and_a_slow_reader_have_their_own) {
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

// The round of deadlines and the look for a stop: ten times a second.
TEST(Deadlines, are_looked_at_ten_times_a_second) {
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

TEST(Deadlines, a_moment_is_past_once_it_is_before_now) {
  SharedMoment moment;
  const Clock::time_point at = Clock::now();
  EXPECT_FALSE(moment.get());
  EXPECT_FALSE(moment.is_before(at));
  moment.set(at);
  EXPECT_EQ(moment.get(), at);
  EXPECT_FALSE(moment.is_before(at - 1ns));
  EXPECT_FALSE(moment.is_before(at));
  EXPECT_TRUE(moment.is_before(at + 1ns));
  moment.clear();
  EXPECT_FALSE(moment.is_before(at + 1h));
}

TEST(Limits, a_tally_counts_while_it_lives) {
  const auto load = std::make_shared<ServerLoad>();
  {
    const Tally<std::int64_t> bytes(load, &ServerLoad::body_bytes, 70);
    const Tally<int> one(load, &ServerLoad::streams);
    const Tally<int> two(load, &ServerLoad::streams);
    EXPECT_EQ(load->body_bytes, 70);
    EXPECT_EQ(load->streams, 2);
  }
  EXPECT_EQ(load->body_bytes, 0);
  EXPECT_EQ(load->streams, 0);
}

}  // namespace
}  // namespace orrery::net::limits_tests
