// The sockets, on a loopback port: limits, deadlines and clients that mean harm.
#include "server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "server/access.h"

namespace orrery {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr auto kRequestTime = 300ms;

// A server on a free port for the length of a test.
class Running {
 public:
  explicit Running(Handler handler, int connections = 8) {
    auto server = HttpServer::listen({.port = 0,
                                      .connections_max = connections,
                                      .request_time_max = kRequestTime,
                                      .event_period = 10ms,
                                      .load = load},
                                     std::move(handler));
    if (!server) throw std::runtime_error(to_text(server.error()));
    server_ = std::move(*server);
    port = server_->port();
    thread_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  ~Running() {
    stop_ = true;
    thread_.join();
  }
  int port = 0;
  const std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();

 private:
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // All that comes until the server closes.
  std::string rest() const {
    std::string all;
    char chunk[4096];
    for (ssize_t got = 0; (got = ::recv(fd_, chunk, sizeof chunk, 0)) > 0;) {
      all.append(chunk, static_cast<std::size_t>(got));
    }
    return all;
  }
  bool connected = false;

 private:
  int fd_;
};

std::string asked(int port, const std::string& text) {
  const Client client(port);
  client.send(text);
  return client.rest();
}

const std::string kClose = "Host: x\r\nConnection: close\r\n\r\n";

Response echo(const Request& request) {
  return {.status = 200, .body = request.method + ' ' + request.target + ' ' + request.body};
}

TEST(HttpServer, answers_a_request_with_safety_headers) {
  const Running server(echo);
  const std::string answer = asked(server.port, "GET /a?b=c HTTP/1.1\r\n" + kClose);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("GET /a?b=c "));
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'"));
}

TEST(HttpServer, keeps_a_connection_for_the_next_request) {
  const Running server(echo);
  const Client client(server.port);
  client.send("GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two HTTP/1.1\r\n" + kClose);
  const std::string both = client.rest();
  EXPECT_THAT(both, HasSubstr("GET /one"));
  EXPECT_THAT(both, HasSubstr("GET /two"));
}

TEST(HttpServer, refuses_large_bodies_and_headers_and_what_is_not_http) {
  const Running server(echo);
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

TEST(HttpServer, a_slow_client_is_cut_off_at_the_deadline_though_it_keeps_sending) {
  const Running server(echo);
  const Client slow(server.port);
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

TEST(HttpServer, slow_clients_do_not_starve_a_good_one) {
  const Running server(echo, 8);
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<Client>(server.port));
    slow.back()->send("GET / HT");
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(asked(server.port, "GET /good HTTP/1.1\r\n" + kClose), HasSubstr("GET /good"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kRequestTime);
}

TEST(HttpServer, a_slow_answer_does_not_hold_up_the_others) {
  const Running server([](const Request& request) {
    if (request.target == "/slow") std::this_thread::sleep_for(400ms);
    return echo(request);
  });
  const Client slow(server.port);
  slow.send("GET /slow HTTP/1.1\r\n" + kClose);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(asked(server.port, "GET /quick HTTP/1.1\r\n" + kClose), HasSubstr("GET /quick"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 350ms);
  EXPECT_THAT(slow.rest(), HasSubstr("GET /slow"));
}

// The first answer holds both handlers' threads until the clients behind it have left.
TEST(HttpServer, drops_a_request_whose_client_has_gone) {
  std::atomic<bool> hold = true;
  std::atomic<int> answered = 0;
  const Running server([&](const Request& request) {
    while (hold && request.target == "/hold") std::this_thread::sleep_for(1ms);
    ++answered;
    return echo(request);
  });
  const Client one(server.port);
  const Client two(server.port);
  one.send("GET /hold HTTP/1.1\r\n" + kClose);
  two.send("GET /hold HTTP/1.1\r\n" + kClose);
  for (int i = 0; i < 3; ++i) {
    const Client impatient(server.port);
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

TEST(HttpServer, tells_a_handler_that_its_client_has_gone) {
  std::atomic<bool> noticed = false;
  const Running server([&](const Request& request) {
    for (int i = 0; i < 2000 && !request.abandoned(); ++i) std::this_thread::sleep_for(1ms);
    noticed = request.abandoned();
    return echo(request);
  });
  {
    const Client client(server.port);
    client.send("GET /long HTTP/1.1\r\n" + kClose);
    std::this_thread::sleep_for(50ms);
  }
  for (int i = 0; i < 2000 && !noticed; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(noticed);
}

TEST(HttpServer, refuses_at_once_what_would_wait_too_long) {
  std::atomic<bool> hold = true;
  auto server = HttpServer::listen({.port = 0, .requests_max = 2}, [&hold](const Request& request) {
    while (hold) std::this_thread::sleep_for(1ms);
    return echo(request);
  });
  ASSERT_TRUE(server);
  std::atomic<bool> stop = false;
  std::thread runs([&] { (*server)->run([&stop] { return stop.load(); }); });
  const Client one((*server)->port());
  const Client two((*server)->port());
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

TEST(HttpServer, streams_events_until_they_end) {
  const Running server([](const Request&) {
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

TEST(HttpServer, a_stream_ends_with_its_client_or_its_server) {
  auto asked_times = std::make_shared<std::atomic<int>>(0);
  {
    const Running server([asked_times](const Request&) {
      return Response{.events = [asked_times]() -> std::optional<std::string> {
        ++*asked_times;
        return "data: x\n\n";
      }};
    });
    {
      const Client leaves(server.port);
      leaves.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      std::this_thread::sleep_for(100ms);
      EXPECT_EQ(server.load->streams, 1);
    }
    for (int i = 0; i < 2000 && server.load->streams > 0; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(server.load->streams, 0);
    EXPECT_GT(*asked_times, 0);
    const Client stays(server.port);
    stays.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    std::this_thread::sleep_for(50ms);
  }  // the server ends though the stream does not
}

TEST(HttpServer, finishes_an_open_answer_when_it_is_stopped) {
  std::string answer;
  std::thread reader;
  {
    const Running server([](const Request& request) {
      std::this_thread::sleep_for(300ms);
      return echo(request);
    });
    auto client = std::make_shared<Client>(server.port);
    client->send("GET /last HTTP/1.1\r\nHost: x\r\n\r\n");
    std::this_thread::sleep_for(50ms);
    reader = std::thread([client, &answer] { answer = client->rest(); });
  }
  reader.join();
  EXPECT_THAT(answer, HasSubstr("GET /last"));
}

TEST(HttpServer, a_fault_in_a_handler_is_a_500_and_the_server_goes_on) {
  const Running server([](const Request& request) -> Response {
    if (request.target == "/bad") throw std::runtime_error("fault");
    return echo(request);
  });
  EXPECT_THAT(asked(server.port, "GET /bad HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(asked(server.port, "GET /ok HTTP/1.1\r\n" + kClose), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, says_so_when_the_port_is_taken) {
  const Running server(echo);
  const auto second = HttpServer::listen({.port = server.port}, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "serve.port");
}

// Access rules before a handler, over a socket, as `orrery serve` joins them.
TEST(HttpServer, guards_what_is_behind_it) {
  std::atomic<int> port = 0;  // known only once the server runs
  const Running server([&port](const Request& request) {
    const auto refusal = check_access(request, {.port = port, .token = "secret-token"});
    return refusal ? *refusal : echo(request);
  });
  port = server.port;
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port) + "\r\n";
  const std::string token = "Authorization: Bearer secret-token\r\n";
  const std::string end = "Connection: close\r\n\r\n";
  const auto status = [&](const std::string& request) {
    return asked(server.port, request).substr(9, 3);
  };
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + token + end), "200");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + end), "401");
  EXPECT_EQ(status("GET /?token=secret-token HTTP/1.1\r\n" + host + end), "303");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: rebound.example\r\n" + token + end), "421");
  EXPECT_EQ(status("POST /api/v1/plan HTTP/1.1\r\nOrigin: http://evil.example\r\n" + host + token +
                   "Content-Length: 0\r\n" + end),
            "403");
}

}  // namespace
}  // namespace orrery
