// The sockets, on a loopback port: limits, deadlines and clients that mean harm.
#include "live/net/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "live/net/patient_fixture.h"
#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

const auto kRequestTime = test_options().request_time_max;

std::string asked(int port, const std::string& text) {
  const TestSocket client = TestSocket::to(port);
  client.send(text);
  return client.rest();
}

const std::string kClose = "Host: x\r\nConnection: close\r\n\r\n";

Response echo(const Request& request) {
  return {.status = 200, .body = request.method + ' ' + request.target + ' ' + request.body};
}

TEST(Server, answers_a_request_with_the_headers_it_was_given) {
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
  EXPECT_THAT(answer, testing::Not(HasSubstr("no-store")));
  EXPECT_THAT(answer, HasSubstr("X-Default: yes\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, testing::Not(HasSubstr("X-Smuggled")));
}

TEST(Server, shows_a_handler_the_headers_and_the_client) {
  const RunningServer server([](const Request& request) {
    return Response{.body = std::string(request.header("x-ONE")) + '|' +
                            std::string(request.header("x-two")) + '|' + request.peer};
  });
  EXPECT_THAT(asked(server.port, "GET / HTTP/1.1\r\nX-One: 1\r\n" + kClose),
              testing::EndsWith("1||127.0.0.1"));
}

TEST(Server, keeps_a_connection_for_the_next_request) {
  const RunningServer server(echo);
  const TestSocket client = TestSocket::to(server.port);
  client.send("GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two HTTP/1.1\r\n" + kClose);
  const std::string both = client.rest();
  EXPECT_THAT(both, HasSubstr("GET /one"));
  EXPECT_THAT(both, HasSubstr("GET /two"));
}

TEST(Server, refuses_large_bodies_and_headers_and_what_is_not_http) {
  const RunningServer server(echo);
  const std::string large = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n";
  EXPECT_THAT(asked(server.port, large + std::string(100'000, 'x')), StartsWith("HTTP/1.1 413"));
  // A length that is not announced is counted.
  std::string chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) chunked += "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
  EXPECT_THAT(asked(server.port, chunked), StartsWith("HTTP/1.1 413"));
  const std::string header = "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n" + kClose;
  EXPECT_THAT(asked(server.port, header), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(asked(server.port, "\x16\x03\x01 hello\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST(Server, a_slow_client_is_cut_off_at_the_deadline_though_it_keeps_sending) {
  const RunningServer server(echo);
  const TestSocket slow = TestSocket::to(server.port);
  const auto start = std::chrono::steady_clock::now();
  bool alive = slow.send("GET / HTTP/1.1\r\nHost: x\r\n");
  while (alive && std::chrono::steady_clock::now() - start < 5s) {
    std::this_thread::sleep_for(30ms);
    alive = slow.send("X: y\r\n");
  }
  const auto lasted = std::chrono::steady_clock::now() - start;
  EXPECT_GE(lasted, kRequestTime);
  EXPECT_LT(lasted, 3s);
}

TEST(Server, slow_clients_do_not_starve_a_good_one) {
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

TEST(Server, a_slow_answer_does_not_hold_up_the_others) {
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

TEST(Server, what_is_put_off_is_answered_on_another_thread_and_may_fail_there) {
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
              testing::EndsWith("\r\n\r\nstreamed"));
  // An answer is written before its request is done with.
  EXPECT_TRUE(patience::soon([&] { return server.load->requests == 0; }));
}

// The first answer holds both handlers' threads until the clients behind it have left.
TEST(Server, drops_a_request_whose_client_has_gone) {
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

TEST(Server, tells_a_handler_that_its_client_has_gone) {
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

TEST(Server, refuses_at_once_what_would_wait_too_long) {
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

TEST(Server, streams_events_until_they_end) {
  const RunningServer server([](const Request&) {
    return Response{.content_type = "text/event-stream",
                    .events = [n = 0]() mutable -> std::optional<std::string> {
                      if (++n == 4) return std::nullopt;
                      return n == 2 ? std::string() : "data: " + std::to_string(n) + "\n\n";
                    }};
  });
  const std::string all = asked(server.port, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(all, HasSubstr("text/event-stream"));
  EXPECT_THAT(all, testing::EndsWith("\r\n\r\ndata: 1\n\ndata: 3\n\n"));
  EXPECT_EQ(server.load->streams, 0);
}

TEST(Server, a_stream_ends_with_its_client_or_its_server) {
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
  }  // the server ends though the stream does not
}

TEST(Server, finishes_an_open_answer_when_it_is_stopped) {
  std::string answer;
  std::thread reader;
  {
    const RunningServer server([](const Request& request) {  // in place too: a stop waits for it
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

TEST(Server, a_fault_in_a_handler_is_a_500_and_the_server_goes_on) {
  const RunningServer server([](const Request& request) -> Response {
    if (request.target == "/bad") throw std::runtime_error("fault");
    return echo(request);
  });
  EXPECT_THAT(asked(server.port, "GET /bad HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(asked(server.port, "GET /ok HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 200"));
}

TEST(Server, says_so_when_the_port_is_taken) {
  const RunningServer server(echo);
  const auto second = Server::listen({.port = server.port}, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "serve.port");
}

TEST(Server, limits_are_options) {
  ServerOptions options = test_options();
  options.header_bytes_max = 200;
  options.body_bytes_max = 10;
  options.requests_per_connection_max = 2;
  options.refusal = [](int status, std::string_view what) {
    return Response{.status = status, .body = "refused: " + std::string(what)};
  };
  const RunningServer server(echo, options);
  EXPECT_THAT(asked(server.port, "GET / HTTP/1.1\r\nX: " + std::string(300, 'x') + "\r\n" + kClose),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(asked(server.port, "POST / HTTP/1.1\r\nContent-Length: 11\r\n" + kClose),
              testing::EndsWith("refused: the body is too large"));
  const std::string one = "GET /n HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string answers = asked(server.port, one + one + one);
  EXPECT_THAT(answers, HasSubstr("Connection: close\r\n"));
  const auto first = answers.find("GET /n");
  const auto second = answers.find("GET /n", first + 1);
  EXPECT_NE(second, answers.npos);
  EXPECT_EQ(answers.find("GET /n", second + 1), answers.npos) << "two requests a connection";
  EXPECT_EQ(server.load->malformed, 2);
}

TEST(Server, a_status_without_a_body_has_none_and_keeps_the_connection) {
  const RunningServer server([](const Request& request) {
    if (request.target == "/304") return Response{.status = 304, .body = "x", .length = 7};
    return Response{.status = 204, .content_type = "", .body = "x"};
  });
  const std::string both =
      asked(server.port, "GET /304 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n" + kClose);
  EXPECT_THAT(both, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(both, HasSubstr("Content-Length: 7\r\n\r\nHTTP/1.1 204 No Content\r\n"));
  EXPECT_THAT(both, testing::EndsWith("\r\n\r\n"));
  EXPECT_EQ(both.find("Content-Length"), both.rfind("Content-Length"));
}

TEST(Server, all_bodies_together_have_a_limit) {
  ServerOptions options = test_options();
  options.body_bytes_max = 1000;
  options.bodies_bytes_max = 1500;
  const RunningServer server(echo, options);
  const TestSocket first = TestSocket::to(server.port);
  first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx");
  for (int i = 0; i < 200 && server.load->body_bytes == 0; ++i) std::this_thread::sleep_for(1ms);
  const std::string second = "POST / HTTP/1.1\r\nContent-Length: 501\r\n" + kClose;
  EXPECT_THAT(asked(server.port, second), StartsWith("HTTP/1.1 503"));
  const std::string small = "POST / HTTP/1.1\r\nContent-Length: 5\r\n" + kClose + "small";
  EXPECT_THAT(asked(server.port, small), testing::EndsWith("small"));
  EXPECT_EQ(server.load->body_bytes, 1000);
}

TEST(Server, an_address_that_is_none_is_a_fault) {
  const auto server = Server::listen({.address = "nowhere"}, echo);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().front().code, "serve.port");
}

}  // namespace
}  // namespace orrery::net
