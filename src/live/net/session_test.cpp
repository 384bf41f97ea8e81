// The requests on one connection: which are answered, and when the connection ends. Most tests run
// both with answers made on handler threads and with answers made in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "live/net/client.h"
#include "live/net/patient_fixture.h"

namespace orrery::net::session_tests {
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
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

TEST(Session, bytes_after_a_refused_body_are_not_taken_for_a_request) {
  for (const bool in_place : {false, true}) {
    ServerOptions options = patient(in_place);
    options.inflow_bytes = 100;
    const RunningServer server(counting_service(1), options);
    const std::string planned = wire(server.port, put_header("/none", 10) + "0123456789" + kNext);
    EXPECT_THAT(planned, StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(planned, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(planned, EndsWith("not wanted;"));
    const std::string cut =
        wire(server.port, put_header("/k", 1000) + std::string(1000, 'x') + kNext);
    EXPECT_THAT(cut, StartsWith("HTTP/1.1 409"));
    EXPECT_THAT(cut, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(cut, EndsWith("enough;"));
    const std::string fault = wire(server.port, put_header("/throws", 10) + "0123456789" + kNext);
    EXPECT_THAT(fault, StartsWith("HTTP/1.1 500"));
    EXPECT_EQ(count_of(fault, "HTTP/1.1 "), 1);
    EXPECT_TRUE(soon([&] { return server.load->body_bytes == 0; }));
  }
}

TEST(Session, body_refused_at_its_last_byte_keeps_the_connection) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(counting_service(1), patient(in_place));
    const std::string both = wire(server.port, put_header("/k", 10) + "0123456789" + kNext);
    EXPECT_THAT(both, StartsWith("HTTP/1.1 409"));
    EXPECT_THAT(both, EndsWith("GET /next ;"));
  }
}

TEST(Session, body_without_a_sink_is_gathered) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(counting_service(0), patient(in_place));
    for (const char* target : {"/gather", "/null"}) {
      EXPECT_THAT(wire(server.port, put_header(target, 3) + "abc" + kNext),
                  HasSubstr(std::string("PUT ") + target + " abc;"));
    }
    EXPECT_THAT(wire(server.port, put_header("/k", 3) + "abc" + kNext), HasSubstr("3 taken;"));
    EXPECT_THAT(wire(server.port, put_header("/k", 0) + kNext), HasSubstr("PUT /k ;"))
        << "no body, no sink";
  }
}

TEST(Session, continue_is_sent_only_to_clients_that_wait_for_it) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(counting_service(0), patient(in_place));
    const std::string expects = "Expect: 100-continue\r\n";
    for (const char* target : {"/k", "/gather"}) {
      const TestSocket waits = TestSocket::to(server.port, 10);
      waits.send(put_header(target, 3, expects));
      EXPECT_EQ(answer_of(waits, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n") << target;
      waits.send("abc");
      EXPECT_THAT(answer_of(waits, ";"), StartsWith("HTTP/1.1 200"));
    }
    EXPECT_THAT(wire(server.port, put_header("/k", 3, expects) + "abc" + kNext),
                StartsWith("HTTP/1.1 200"))
        << "its body has already arrived";
    EXPECT_THAT(wire(server.port, put_header("/gather", 3) + "abc" + kNext),
                StartsWith("HTTP/1.1 200"));
    const std::string old =
        "PUT /k HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    const TestSocket socket = TestSocket::to(server.port, 10);
    socket.send(old);
    std::this_thread::sleep_for(30ms);
    socket.send("abc");
    EXPECT_THAT(socket.rest(), StartsWith("HTTP/1.0 200")) << "HTTP/1.0 has no 100 Continue";
  }
}

TEST(Session, connection_is_kept_as_the_http_version_requires) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(echo, patient(in_place));
    const std::string old = "GET /old HTTP/1.0\r\nHost: x\r\n";
    const std::string closes = wire(server.port, old + "\r\n" + kNext);
    EXPECT_THAT(closes, StartsWith("HTTP/1.0 200"));
    EXPECT_THAT(closes, EndsWith("GET /old ;"));
    const std::string keeps = wire(server.port, old + "Connection: keep-alive\r\n\r\n" + kNext);
    EXPECT_THAT(keeps, HasSubstr("Connection: keep-alive\r\n"));
    EXPECT_THAT(keeps, EndsWith("GET /next ;"));
  }
}

TEST(Session, streamed_answer_closes_the_connection_only_if_nothing_frames_it) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(
        [](const Request& request) -> Response {
          if (request.target == "/known") return {.source = source_of("streamed;"), .length = 9};
          if (request.target == "/empty") return {.source = source_of(""), .length = 0};
          if (request.target == "/open") return {.source = source_of("streamed;")};
          return echo(request);
        },
        patient(in_place));
    const auto get = [](const char* target, const char* version) {
      return std::string("GET ") + target + " HTTP/" + version + "\r\nHost: x\r\n" +
             (std::string(version) == "1.0" ? "Connection: keep-alive\r\n\r\n" : "\r\n");
    };
    for (const char* version : {"1.0", "1.1"}) {
      const std::string known = wire(server.port, get("/known", version) + kNext);
      EXPECT_THAT(known, HasSubstr("Content-Length: 9\r\n"));
      EXPECT_THAT(known, HasSubstr("\r\n\r\nstreamed;HTTP/1.1 200"));
      EXPECT_THAT(known, EndsWith("GET /next ;"));
      const std::string empty = wire(server.port, get("/empty", version) + kNext);
      EXPECT_THAT(empty, HasSubstr("Content-Length: 0\r\n"));
      EXPECT_THAT(empty, EndsWith("GET /next ;"));
    }
    const std::string chunks = wire(server.port, get("/open", "1.1") + kNext);
    EXPECT_THAT(chunks, HasSubstr("\r\n\r\n00000009\r\nstreamed;\r\n0\r\n\r\nHTTP/1.1 200"));
    EXPECT_THAT(chunks, EndsWith("GET /next ;"));
    const std::string bare = wire(server.port, get("/open", "1.0") + kNext);
    EXPECT_THAT(bare, EndsWith("\r\n\r\nstreamed;"));
    EXPECT_THAT(bare, Not(HasSubstr("keep-alive")));
    const std::string last =
        wire(server.port, "GET /known HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + kNext);
    EXPECT_THAT(last, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(last, EndsWith("streamed;"));
  }
}

TEST(Session, requests_per_connection_are_limited) {
  for (const int most : {0, 1, 3}) {
    ServerOptions options = patient(false);
    options.requests_per_connection_max = most;
    const RunningServer server(echo, options);
    std::string five;
    for (int i = 0; i < 4; ++i) five += "GET /n HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::string answers = wire(server.port, five + kNext);
    EXPECT_EQ(count_of(answers, "HTTP/1.1 200"), most == 0 ? 5 : most) << most;
    EXPECT_EQ(count_of(answers, "Connection: close"), 1) << most;
  }
}

TEST(Session, head_sends_the_length_without_a_body) {
  const RunningServer server([](const Request& request) -> Response {
    if (request.target == "/source") return {.source = source_of("streamed;"), .length = 9};
    return echo(request);
  });
  for (const std::string target : {"/held", "/source"}) {
    const std::string answers =
        wire(server.port, "HEAD " + target + " HTTP/1.1\r\nHost: x\r\n\r\n" + kNext);
    EXPECT_THAT(answers, HasSubstr("Content-Length: " + std::to_string(target == "/held" ? 12 : 9) +
                                   "\r\n"));
    EXPECT_THAT(answers, HasSubstr("\r\n\r\nHTTP/1.1 200"));
    EXPECT_THAT(answers, EndsWith("GET /next ;"));
  }
}

TEST(Session, status_without_a_body_keeps_the_connection) {
  const RunningServer server([](const Request& request) {
    if (request.target == "/304") return Response{.status = 304, .body = "x", .length = 7};
    return Response{.status = 204, .content_type = "", .body = "x"};
  });
  const std::string both = wire(server.port, "GET /304 HTTP/1.1\r\nHost: x\r\n\r\n" + kNext);
  EXPECT_THAT(both, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(both, HasSubstr("Content-Length: 7\r\n\r\nHTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(both, EndsWith("\r\n\r\n"));
  EXPECT_EQ(both.find("Content-Length"), both.rfind("Content-Length"));
}

// A body and the request after it, sent together.
TEST(Session, pipelined_request_begins_after_the_announced_body) {
  for (const std::size_t inflow : {16u, 4096u, 256u << 10}) {
    ServerOptions options = test_options();
    options.inflow_bytes = inflow;
    options.piece_time_max = 5000ms;
    const RunningServer server(counting_service(), options);
    // As many pieces as a busy machine can handle in a second.
    for (const std::size_t bytes :
         {std::size_t{100}, std::min<std::size_t>(600'000, inflow * 1000)}) {
      const std::string answer =
          wire(server.port, put_header("/k", bytes) + std::string(bytes, 'b') + kNext);
      EXPECT_THAT(answer, HasSubstr(std::to_string(bytes) + " taken;")) << inflow;
      EXPECT_THAT(answer, HasSubstr("GET /next ;")) << inflow << ' ' << bytes;
    }
  }
}

TEST(Session, sink_waits_for_the_last_byte) {
  ServerOptions options = test_options();
  options.inflow_bytes = 1000;
  options.piece_time_max = 5000ms;
  const RunningServer server(counting_service(), options);
  const TestSocket socket = TestSocket::to(server.port, 5);
  socket.send(put_header("/k", 5000, "Connection: close\r\n") + std::string(4999, 'b'));
  std::this_thread::sleep_for(100ms);
  socket.send("b");
  EXPECT_THAT(socket.rest(), HasSubstr("5000 taken"));
}

TEST(Session, client_that_leaves_early_is_not_malformed) {
  const RunningServer server(echo);
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

TEST(Session, request_is_counted_until_it_is_answered) {
  for (const bool in_place : {false, true}) {
    std::atomic<int> counted = -1;
    const auto load = std::make_shared<ServerLoad>();
    ServerOptions options = patient(in_place);
    options.load = load;
    const RunningServer server(
        [&](const Request& request) {
          counted = load->requests.load();
          return echo(request);
        },
        options);
    EXPECT_THAT(wire(server.port, kNext), EndsWith("GET /next ;"));
    EXPECT_EQ(counted, 1);
    EXPECT_TRUE(soon([&] { return load->requests == 0; }));
  }
}

TEST(Session, source_is_released_after_its_answer) {
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
  EXPECT_TRUE(soon([&] { return watched.use_count() == 1; })) << "only the test still holds it";
  EXPECT_EQ(server.load->connections, 1);
}

TEST(Session, connection_ends_with_its_client) {
  const RunningServer server(echo, patient());
  {
    Client client;
    EXPECT_EQ(client.ask({.url = server.url("/")}).status, 200);
    EXPECT_EQ(server.load->connections, 1);
  }
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
}

TEST(Session, client_that_leaves_after_a_refusal_is_forgotten_at_once) {
  ServerOptions options = patient();
  options.linger_time_max = patience::kLong;
  const RunningServer server(echo, options);
  {
    const TestSocket socket = TestSocket::to(server.port, 10);
    socket.send("nonsense\r\n\r\n");
    std::string text;
    EXPECT_TRUE(socket.receive(text));
    EXPECT_THAT(text, StartsWith("HTTP/1.1 400"));
  }
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
}

}  // namespace
}  // namespace orrery::net::session_tests
