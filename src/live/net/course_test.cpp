// The course of a connection: which request is answered, by whom, and when the connection ends;
// with answers made by handlers' threads and in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "live/net/patient_fixture.h"
#include "live/net/transport.h"

namespace orrery::net::course_tests {
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

Response echo(const Request& request) {
  return {.body = request.method + ' ' + request.target + ' ' + request.body + ';'};
}

int count_of(std::string_view text, std::string_view part) {
  int n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Refuses at its `at`-th piece, or when it has come whole.
class Refuses final : public BodySink {
 public:
  explicit Refuses(int at) : at_(at) {}
  std::optional<Response> take(std::string_view piece) override {
    bytes_ += piece.size();
    if (++pieces_ == at_) return Response{.status = 409, .body = "enough;"};
    return std::nullopt;
  }
  Response finish() override { return {.body = std::to_string(bytes_) + " taken;"}; }

 private:
  int at_;
  int pieces_ = 0;
  std::size_t bytes_ = 0;
};

Service refusing(int at) {
  return {.answer = echo, .plan = [at](const Request& request) -> BodyPlan {
            if (request.target == "/none") return Response{.status = 403, .body = "not wanted;"};
            if (request.target == "/throws") throw std::runtime_error("fault");
            if (request.target == "/gather") return GatherBody{};
            if (request.target == "/null") return std::unique_ptr<BodySink>();
            return std::make_unique<Refuses>(at);
          }};
}

std::string put(const std::string& target, std::size_t bytes, const std::string& more = "") {
  return "PUT " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) +
         "\r\n" + more + "\r\n";
}
const std::string kNext = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST(Course, what_follows_a_body_that_was_not_wanted_is_no_request) {
  for (const bool in_place : {false, true}) {
    ServerOptions options = patient(in_place);
    options.inflow_bytes = 100;
    const RunningServer server(refusing(1), options);
    const std::string planned = wire(server.port, put("/none", 10) + "0123456789" + kNext);
    EXPECT_THAT(planned, StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(planned, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(planned, EndsWith("not wanted;"));
    const std::string cut = wire(server.port, put("/k", 1000) + std::string(1000, 'x') + kNext);
    EXPECT_THAT(cut, StartsWith("HTTP/1.1 409"));
    EXPECT_THAT(cut, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(cut, EndsWith("enough;"));
    const std::string fault = wire(server.port, put("/throws", 10) + "0123456789" + kNext);
    EXPECT_THAT(fault, StartsWith("HTTP/1.1 500"));
    EXPECT_EQ(count_of(fault, "HTTP/1.1 "), 1);
    EXPECT_TRUE(soon([&] { return server.load->body_bytes == 0; }));
  }
}

TEST(Course, a_body_refused_with_its_last_byte_leaves_the_connection_in_order) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(refusing(1), patient(in_place));
    const std::string both = wire(server.port, put("/k", 10) + "0123456789" + kNext);
    EXPECT_THAT(both, StartsWith("HTTP/1.1 409"));
    EXPECT_THAT(both, EndsWith("GET /next ;"));
  }
}

TEST(Course, a_plan_without_a_sink_gathers) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(refusing(0), patient(in_place));
    for (const char* target : {"/gather", "/null"}) {
      EXPECT_THAT(wire(server.port, put(target, 3) + "abc" + kNext),
                  HasSubstr(std::string("PUT ") + target + " abc;"));
    }
    EXPECT_THAT(wire(server.port, put("/k", 3) + "abc" + kNext), HasSubstr("3 taken;"));
    EXPECT_THAT(wire(server.port, put("/k", 0) + kNext), HasSubstr("PUT /k ;"))
        << "no body, no sink";
  }
}

TEST(Course, who_waits_for_a_word_gets_it_and_nobody_else) {
  for (const bool in_place : {false, true}) {
    const RunningServer server(refusing(0), patient(in_place));
    const std::string expects = "Expect: 100-continue\r\n";
    for (const char* target : {"/k", "/gather"}) {
      const TestSocket waits = TestSocket::to(server.port, 10);
      waits.send(put(target, 3, expects));
      EXPECT_EQ(answer_of(waits, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n") << target;
      waits.send("abc");
      EXPECT_THAT(answer_of(waits, ";"), StartsWith("HTTP/1.1 200"));
    }
    EXPECT_THAT(wire(server.port, put("/k", 3, expects) + "abc" + kNext),
                StartsWith("HTTP/1.1 200"))
        << "its body is there already";
    EXPECT_THAT(wire(server.port, put("/gather", 3) + "abc" + kNext), StartsWith("HTTP/1.1 200"));
    const std::string old =
        "PUT /k HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    const TestSocket socket = TestSocket::to(server.port, 10);
    socket.send(old);
    std::this_thread::sleep_for(30ms);
    socket.send("abc");
    EXPECT_THAT(socket.rest(), StartsWith("HTTP/1.0 200")) << "1.0 knows no such word";
  }
}

TEST(Course, a_version_keeps_its_connection_as_its_rfc_says) {
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

TEST(Course, a_streamed_answer_ends_the_connection_only_where_nothing_frames_it) {
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
    EXPECT_THAT(bare, EndsWith("\r\n\r\nstreamed;")) << "its end is the connection's";
    EXPECT_THAT(bare, Not(HasSubstr("keep-alive")));
    const std::string last =
        wire(server.port, "GET /known HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + kNext);
    EXPECT_THAT(last, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(last, EndsWith("streamed;"));
  }
}

TEST(Course, a_connection_has_as_many_requests_as_it_may) {
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

// Handlers run on as many threads as there may be, and answers in place on one thread a core at
// most.
TEST(Course, many_requests_are_answered_at_once_and_not_more_than_may) {
  ServerOptions options = patient(false);
  options.handler_threads = 3;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<bool> hold = true;
  const RunningServer server(
      [&](const Request& request) {
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        while (hold) std::this_thread::sleep_for(1ms);
        --inside;
        return echo(request);
      },
      options);
  std::vector<TestSocket> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(TestSocket::to(server.port, 10));
    clients.back().send(kNext);
  }
  EXPECT_TRUE(soon([&] { return server.load->requests == 5 && inside == 3; }));
  hold = false;
  for (const TestSocket& client : clients) EXPECT_THAT(client.rest(), EndsWith("GET /next ;"));
  EXPECT_EQ(most, 3);
  EXPECT_TRUE(soon([&] { return server.load->requests == 0; }));
}

TEST(Course, connections_are_dealt_out_to_the_threads_that_answer_in_place) {
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (const int threads : {1, 2}) {
    ServerOptions options = patient(true);
    options.handler_threads = threads;
    std::mutex mutex;
    std::set<std::thread::id> places;
    const RunningServer server(
        [&](const Request& request) {
          const std::scoped_lock lock(mutex);
          places.insert(std::this_thread::get_id());
          return echo(request);
        },
        options);
    for (int i = 0; i < 4; ++i) EXPECT_THAT(wire(server.port, kNext), EndsWith("GET /next ;"));
    EXPECT_EQ(places.size(), static_cast<std::size_t>(std::min(threads, cores)));
  }
}

TEST(Course, who_is_being_answered_is_not_closed_for_a_newcomer) {
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
  EXPECT_EQ(wire(server.port, kNext), "") << "turned away";
  hold = false;
  EXPECT_THAT(first.rest(), EndsWith("GET /next ;"));
}

TEST(Course, a_newcomer_takes_the_place_of_a_silent_one_though_it_came_late) {
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
  old.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");  // it has kept us waiting anew from here
  answer_of(old, ";");
  EXPECT_THAT(wire(server.port, kNext), EndsWith("GET /next ;"));
  EXPECT_EQ(silent.rest(), "");
  old.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer_of(old, ";"), EndsWith("GET /3 ;"));
}

TEST(Course, a_stop_hangs_up_on_who_says_nothing_and_takes_nobody_new) {
  for (const bool in_place : {false, true}) {
    ServerOptions options = patient(in_place);
    options.drain_time_max = 20s;
    auto server = std::make_unique<RunningServer>(echo, options);
    const int port = server->port;
    const TestSocket idle = TestSocket::to(port, 10);
    idle.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
    answer_of(idle, ";");
    const TestSocket fresh = TestSocket::to(port, 10);
    ASSERT_TRUE(soon([&] { return server->load->connections == 2; }));
    const auto start = Clock::now();
    server.reset();
    EXPECT_LT(Clock::now() - start, 10s) << "they are not waited for";
    EXPECT_EQ(idle.rest() + fresh.rest(), "");
    EXPECT_FALSE(TestSocket::to(port, 1).connected());
  }
}

TEST(Course, a_request_that_lasts_is_counted_until_it_is_answered) {
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

TEST(Course, in_place_too_what_would_wait_too_long_is_refused_at_once) {
  ServerOptions options = patient(true);
  options.requests_max = 1;
  std::atomic<bool> hold = true;
  Service service = refusing(0);
  service.answer = at_length([&](const Request& request) {
    while (hold) std::this_thread::sleep_for(1ms);
    return echo(request);
  });
  const RunningServer server(std::move(service), options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(kNext);
  ASSERT_TRUE(soon([&] { return server.load->requests == 1; }));
  EXPECT_THAT(wire(server.port, kNext), StartsWith("HTTP/1.1 503"));
  const std::string body = wire(server.port, put("/k", 3) + "abc" + kNext);
  EXPECT_THAT(body, StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(count_of(body, "HTTP/1.1 "), 1) << "its body is no request";
  hold = false;
  EXPECT_THAT(first.rest(), EndsWith("GET /next ;"));
}

// What Beast reads, as ours: everything that is asked of it later.
TEST(Course, a_header_becomes_a_request) {
  HeaderOnly head;
  head.method_string("PURGE");
  head.target("/a?b");
  head.version(10);
  head.set("X-One", "1");
  head.set("Expect", "100-Continue");
  const Pending old = pending_of(head, "10.0.0.7");
  EXPECT_EQ(old.request.method, "PURGE");
  EXPECT_EQ(old.request.target, "/a?b");
  EXPECT_EQ(old.request.peer, "10.0.0.7");
  EXPECT_EQ(old.request.header("x-one"), "1");
  EXPECT_EQ(old.version, 10u);
  EXPECT_FALSE(old.keep_alive || old.head || old.go_on || old.received);
  EXPECT_FALSE(old.request.abandoned());
  *old.gone = true;
  EXPECT_TRUE(old.request.abandoned());
  head.version(11);
  head.method(boost::beast::http::verb::head);
  const Pending fresh = pending_of(head, "");
  EXPECT_EQ(fresh.version, 11u);
  EXPECT_TRUE(fresh.keep_alive && fresh.head && fresh.go_on);
}

TEST(Course, faults_of_a_request_have_their_words_and_silence_none) {
  namespace http = boost::beast::http;
  EXPECT_EQ(answer_to_fault(http::error::body_limit)->status, 413);
  EXPECT_EQ(answer_to_fault(http::error::header_limit)->status, 431);
  EXPECT_EQ(answer_to_fault(http::error::bad_method)->status, 400);
  EXPECT_EQ(answer_to_fault(http::error::bad_chunk)->status, 400);
  EXPECT_FALSE(answer_to_fault(http::error::end_of_stream));
  EXPECT_FALSE(answer_to_fault(http::error::partial_message));
  EXPECT_FALSE(answer_to_fault(boost::asio::error::connection_reset));
}

}  // namespace
}  // namespace orrery::net::course_tests
