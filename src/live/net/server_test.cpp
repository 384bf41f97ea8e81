// The server as a whole: handlers and their threads, clients that disconnect, events, and the stop.
#include "live/net/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "live/net/patient_fixture.h"

namespace orrery::net::server_tests {
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
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

const auto kRequestTime = test_options().request_time_max;

std::string asked(int port, const std::string& text) {
  const TestSocket client = TestSocket::to(port);
  client.send(text);
  return client.rest();
}

const std::string kClose = "Host: x\r\nConnection: close\r\n\r\n";

TEST(Server, answer_has_the_headers_of_the_handler_and_the_options) {
  ServerOptions options = test_options();
  options.default_headers = {{"Cache-Control", "no-store"}, {"X-Default", "yes"}};
  options.fixed_headers = {{"X-Content-Type-Options", "nosniff"}};
  const RunningServer server(
      [](const Request& request) {
        Response response = echo(request);
        response.headers = {{"Cache-Control", "max-age=1"},
                            {"X-Content-Type-Options", "guess"},
                            {"X-Broken", "a\r\nX-Smuggled: b"}};
        return response;
      },
      options);
  const std::string answer = asked(server.port, "GET /a?b=c HTTP/1.1\r\n" + kClose);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("GET /a?b=c "));
  EXPECT_THAT(answer, HasSubstr("Cache-Control: max-age=1\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("no-store")));
  EXPECT_THAT(answer, HasSubstr("X-Default: yes\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("X-Smuggled")));
}

TEST(Server, handler_sees_the_headers_and_the_client_address) {
  const RunningServer server([](const Request& request) {
    return Response{.body = std::string(request.header("x-ONE")) + '|' +
                            std::string(request.header("x-two")) + '|' + request.peer};
  });
  EXPECT_THAT(asked(server.port, "GET / HTTP/1.1\r\nX-One: 1\r\n" + kClose),
              EndsWith("1||127.0.0.1"));
}

TEST(Server, slow_clients_do_not_starve_a_fast_one) {
  const RunningServer server(echo);
  std::vector<TestSocket> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(TestSocket::to(server.port));
    slow.back().send("GET / HT");
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(asked(server.port, "GET /good HTTP/1.1\r\n" + kClose), HasSubstr("GET /good"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kRequestTime);
}

TEST(Server, slow_answer_does_not_delay_others) {
  const RunningServer server(at_length([](const Request& request) {
    if (request.target == "/slow") std::this_thread::sleep_for(400ms);
    return echo(request);
  }));
  const TestSocket slow = TestSocket::to(server.port);
  slow.send("GET /slow HTTP/1.1\r\n" + kClose);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(asked(server.port, "GET /quick HTTP/1.1\r\n" + kClose), HasSubstr("GET /quick"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 350ms);
  EXPECT_THAT(slow.rest(), HasSubstr("GET /slow"));
}

TEST(Server, deferred_answer_is_made_on_another_thread_and_may_fail_there) {
  ServerOptions options = test_options();
  options.answers_in_place = true;
  std::atomic<bool> elsewhere = false;
  const RunningServer server(
      [&](const Request& request) -> Response {
        if (request.target == "/now") return echo(request);
        return {.later = [&, asked = std::this_thread::get_id()]() -> Response {
          elsewhere = std::this_thread::get_id() != asked;
          if (request.target == "/bad") throw std::runtime_error("fault");
          if (request.target == "/stream") return {.source = source_of("streamed"), .length = 8};
          return echo(request);
        }};
      },
      options);
  EXPECT_THAT(asked(server.port, "GET /now HTTP/1.1\r\n" + kClose), HasSubstr("GET /now"));
  EXPECT_FALSE(elsewhere);
  EXPECT_THAT(asked(server.port, "GET /later HTTP/1.1\r\n" + kClose), HasSubstr("GET /later"));
  EXPECT_TRUE(elsewhere);
  EXPECT_THAT(asked(server.port, "GET /bad HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(asked(server.port, "GET /stream HTTP/1.1\r\n" + kClose),
              EndsWith("\r\n\r\nstreamed"));
  // The request is counted until its answer has been written.
  EXPECT_TRUE(soon([&] { return server.load->requests == 0; }));
}

// Both handler threads are busy until the clients behind them have disconnected.
TEST(Server, queued_request_is_dropped_if_its_client_has_left) {
  std::atomic<bool> hold = true;
  std::atomic<int> begun = 0;
  std::atomic<int> answered = 0;
  const RunningServer server(at_length([&](const Request& request) {
    ++begun;
    while (hold && request.target == "/hold") std::this_thread::sleep_for(1ms);
    ++answered;
    return echo(request);
  }));
  const TestSocket one = TestSocket::to(server.port);
  const TestSocket two = TestSocket::to(server.port);
  one.send("GET /hold HTTP/1.1\r\n" + kClose);
  two.send("GET /hold HTTP/1.1\r\n" + kClose);
  for (int i = 0; i < 2000 && begun < 2; ++i) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 3; ++i) {
    const TestSocket impatient = TestSocket::to(server.port);
    impatient.send("GET /stale HTTP/1.1\r\n" + kClose);
    std::this_thread::sleep_for(50ms);
  }
  std::this_thread::sleep_for(100ms);
  hold = false;
  EXPECT_THAT(one.rest(), HasSubstr("/hold"));
  EXPECT_THAT(two.rest(), HasSubstr("/hold"));
  EXPECT_THAT(asked(server.port, "GET /next HTTP/1.1\r\n" + kClose), HasSubstr("/next"));
  EXPECT_EQ(server.load->abandoned, 3);
  EXPECT_EQ(answered, 3);
}

TEST(Server, handler_can_ask_whether_its_client_has_left) {
  std::atomic<bool> noticed = false;
  const RunningServer server(at_length([&](const Request& request) {
    for (int i = 0; i < 2000 && !request.abandoned(); ++i) std::this_thread::sleep_for(1ms);
    noticed = request.abandoned();
    return echo(request);
  }));
  {
    const TestSocket client = TestSocket::to(server.port);
    client.send("GET /long HTTP/1.1\r\n" + kClose);
    std::this_thread::sleep_for(50ms);
  }
  for (int i = 0; i < 2000 && !noticed; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(noticed);
}

TEST(Server, full_queue_refuses_at_once) {
  std::atomic<bool> hold = true;
  auto server = Server::listen({.port = 0, .requests_max = 2}, [&hold](const Request& request) {
    while (hold) std::this_thread::sleep_for(1ms);
    return echo(request);
  });
  ASSERT_TRUE(server);
  std::atomic<bool> stop = false;
  std::thread runs([&] { (*server)->run([&stop] { return stop.load(); }); });
  const TestSocket one = TestSocket::to((*server)->port());
  const TestSocket two = TestSocket::to((*server)->port());
  one.send("GET / HTTP/1.1\r\n" + kClose);
  two.send("GET / HTTP/1.1\r\n" + kClose);
  std::this_thread::sleep_for(100ms);
  const std::string third = asked((*server)->port(), "GET / HTTP/1.1\r\n" + kClose);
  EXPECT_THAT(third, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(third, HasSubstr("Retry-After: 1"));
  hold = false;
  EXPECT_THAT(one.rest(), StartsWith("HTTP/1.1 200"));
  stop = true;
  runs.join();
}

TEST(Server, full_queue_refuses_at_once_in_place_too) {
  ServerOptions options = patient(true);
  options.requests_max = 1;
  std::atomic<bool> hold = true;
  Service service = counting_service();
  service.answer = at_length([&](const Request& request) {
    while (hold) std::this_thread::sleep_for(1ms);
    return echo(request);
  });
  const RunningServer server(std::move(service), options);
  const TestSocket first = TestSocket::to(server.port, 10);
  first.send(kNext);
  ASSERT_TRUE(soon([&] { return server.load->requests == 1; }));
  EXPECT_THAT(wire(server.port, kNext), StartsWith("HTTP/1.1 503"));
  const std::string body = wire(server.port, put_header("/k", 3) + "abc" + kNext);
  EXPECT_THAT(body, StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(count_of(body, "HTTP/1.1 "), 1);
  hold = false;
  EXPECT_THAT(first.rest(), EndsWith("GET /next ;"));
}

TEST(Server, handler_threads_bound_the_requests_handled_at_once) {
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

TEST(Server, connections_are_dealt_out_to_the_threads_that_answer_in_place) {
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

TEST(Server, events_are_streamed_until_they_end) {
  const RunningServer server([](const Request&) {
    return Response{.content_type = "text/event-stream",
                    .events = [n = 0]() mutable -> std::optional<std::string> {
                      if (++n == 4) return std::nullopt;
                      return n == 2 ? std::string() : "data: " + std::to_string(n) + "\n\n";
                    }};
  });
  const std::string all = asked(server.port, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(all, HasSubstr("text/event-stream"));
  EXPECT_THAT(all, EndsWith("\r\n\r\ndata: 1\n\ndata: 3\n\n"));
  EXPECT_EQ(server.load->streams, 0);
}

TEST(Server, event_stream_ends_with_its_client_or_its_server) {
  auto asked_times = std::make_shared<std::atomic<int>>(0);
  {
    const RunningServer server([asked_times](const Request&) {
      return Response{.events = [asked_times]() -> std::optional<std::string> {
        ++*asked_times;
        return "data: x\n\n";
      }};
    });
    {
      const TestSocket leaves = TestSocket::to(server.port);
      leaves.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      std::this_thread::sleep_for(100ms);
      EXPECT_EQ(server.load->streams, 1);
    }
    for (int i = 0; i < 2000 && server.load->streams > 0; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(server.load->streams, 0);
    EXPECT_GT(*asked_times, 0);
    const TestSocket stays = TestSocket::to(server.port);
    stays.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    std::this_thread::sleep_for(50ms);
  }  // the server ends although the stream does not
}

TEST(Server, stop_waits_for_an_answer_under_way) {
  std::string answer;
  std::thread reader;
  {
    const RunningServer server([](const Request& request) {  // a stop waits for answers made in
                                                             // place too
      std::this_thread::sleep_for(300ms);
      return echo(request);
    });
    auto client = std::make_shared<TestSocket>(TestSocket::to(server.port));
    client->send("GET /last HTTP/1.1\r\nHost: x\r\n\r\n");
    std::this_thread::sleep_for(50ms);
    reader = std::thread([client, &answer] { answer = client->rest(); });
  }
  reader.join();
  EXPECT_THAT(answer, HasSubstr("GET /last"));
}

TEST(Server, handler_that_throws_answers_500_and_the_server_goes_on) {
  const RunningServer server([](const Request& request) -> Response {
    if (request.target == "/bad") throw std::runtime_error("fault");
    return echo(request);
  });
  EXPECT_THAT(asked(server.port, "GET /bad HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(asked(server.port, "GET /ok HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 200"));
}

TEST(Server, taken_port_and_invalid_address_are_faults) {
  const RunningServer server(echo);
  for (const ServerOptions& options :
       {ServerOptions{.port = server.port}, ServerOptions{.address = "nowhere"}}) {
    const auto second = Server::listen(options, echo);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().front().code, "serve.port");
  }
}

TEST(Server, refusals_use_the_words_of_the_options) {
  ServerOptions options = test_options();
  options.body_bytes_max = 10;
  options.refusal = [](int status, std::string_view) {
    return Response{.status = status, .body = "refused: " + std::to_string(status)};
  };
  const RunningServer server(echo, options);
  EXPECT_THAT(wire(server.port, put_header("/k", 11)), EndsWith("refused: 413"));
}

// Returns the answer to a request. If `stops`, the server is stopped while the request is handled.
std::string answered_while_stopping(bool stops, const Handler& made) {
  std::atomic<bool> asked = false, goes_on = false;
  RunningServer server(at_length([&](const Request& request) {
                         asked = true;
                         soon([&] { return goes_on.load(); });
                         return made(request);
                       }),
                       patient());
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(soon([&] { return asked.load(); }));
  if (stops) {
    server.stop();
    EXPECT_TRUE(soon([&] { return !TestSocket::to(server.port, 1).connected(); }))
        << "new connections are refused";
  }
  goes_on = true;
  return patience::answer_of(client, "whole");
}

TEST(Server, answer_under_way_at_a_stop_closes_its_connection) {
  const Handler plain = [](const Request&) { return Response{.body = "whole"}; };
  EXPECT_THAT(answered_while_stopping(false, plain),
              AllOf(StartsWith("HTTP/1.1 200 "), Not(HasSubstr("onnection: close")),
                    EndsWith("\r\n\r\nwhole")));
  EXPECT_THAT(answered_while_stopping(true, plain),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("onnection: close\r\n"),
                    EndsWith("\r\n\r\nwhole")));
}

TEST(Server, streamed_answer_under_way_at_a_stop_closes_its_connection) {
  const Handler streamed = [](const Request&) {
    return Response{.source = source_of("whole"), .length = 5};
  };
  EXPECT_THAT(answered_while_stopping(false, streamed), Not(HasSubstr("onnection: close")));
  EXPECT_THAT(answered_while_stopping(true, streamed),
              AllOf(HasSubstr("onnection: close\r\n"), EndsWith("\r\n\r\nwhole")));
}

TEST(Server, stop_closes_idle_connections_and_accepts_no_new_ones) {
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
    EXPECT_LT(Clock::now() - start, 10s);
    EXPECT_EQ(idle.rest() + fresh.rest(), "");
    EXPECT_FALSE(TestSocket::to(port, 1).connected());
  }
}

TEST(Server, stop_lets_a_body_arrive_whose_header_was_received) {
  RunningServer server(echo, patient());
  const TestSocket socket = TestSocket::to(server.port, 10);
  socket.send(put_header("/k", 10) + "12345");
  ASSERT_TRUE(soon([&] { return server.load->body_bytes > 0; }));
  server.stop();
  ASSERT_TRUE(soon([&] { return !TestSocket::to(server.port, 1).connected(); }));
  socket.send("67890");
  EXPECT_THAT(socket.rest(), HasSubstr("PUT /k 1234567890;"));
}

TEST(Server, drain_time_bounds_a_stop) {
  ServerOptions options = test_options();
  options.drain_time_max = 100ms;
  options.answers_in_place = false;  // for answers in place a stop would wait without limit
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

}  // namespace
}  // namespace orrery::net::server_tests
