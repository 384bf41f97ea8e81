// Bodies that are not held in memory: streamed in both directions, with good clients, slow ones and
// ones that disconnect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "live/net/client.h"
#include "live/net/running_server_fixture.h"
#include "live/net/test_socket.h"

namespace orrery::net::server_streams_tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr std::uint64_t kLarge = std::uint64_t{64} << 20;
const std::string kHead = "PUT /x HTTP/1.1\r\nHost: x\r\n";

// Byte n of a large body is byte n % kPeriod of the pattern, so a test need not hold the body.
constexpr std::size_t kPeriod = 1'000'003;
const std::string& pattern() {
  static const std::string kPattern = [] {
    std::string text(2 * kPeriod, '\0');
    for (std::size_t i = 0; i < kPeriod; ++i) {
      text[i] = text[i + kPeriod] = static_cast<char>((i * 2654435761u) >> 13);
    }
    return text;
  }();
  return kPattern;
}

BodySource large_body(std::uint64_t bytes) {
  return [bytes](std::uint64_t offset, std::span<char> into) {
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>({into.size(), bytes - offset, kPeriod}));
    std::memcpy(into.data(), pattern().data() + offset % kPeriod, n);
    return std::optional(n);
  };
}

// Compares the bytes it receives with large_body.
struct Checker {
  std::uint64_t bytes = 0;
  bool right = true;
  void take(std::string_view piece) {
    while (!piece.empty()) {
      const std::string_view part = piece.substr(0, kPeriod);
      right = right && part == std::string_view(pattern()).substr(bytes % kPeriod, part.size());
      bytes += part.size();
      piece.remove_prefix(part.size());
    }
  }
};

struct SinkLog {
  std::atomic<int> opened = 0;
  std::atomic<int> finished = 0;
  std::atomic<int> dropped = 0;
  std::atomic<std::uint64_t> bytes = 0;
};

class TestSink : public BodySink {
 public:
  TestSink(SinkLog& log, std::string target) : log_(log), target_(std::move(target)) {
    ++log_.opened;
  }
  ~TestSink() override { log_.dropped += !finished_; }
  std::optional<Response> take(std::string_view piece) override {
    checker_.take(piece);
    log_.bytes = checker_.bytes;
    if (target_ == "/refused") return Response{.status = 409, .body = "enough"};
    if (target_ == "/throws") throw std::runtime_error("fault");
    if (target_ == "/slow") std::this_thread::sleep_for(20ms);
    return std::nullopt;
  }
  Response finish() override {
    finished_ = true;
    ++log_.finished;
    return {.body = std::to_string(checker_.bytes) + (checker_.right ? " right" : " wrong")};
  }

 private:
  SinkLog& log_;
  std::string target_;
  Checker checker_;
  bool finished_ = false;
};

Service service(SinkLog& log) {
  return {.answer = [](const Request& request) -> Response {
            if (request.target == "/large") return {.source = large_body(kLarge), .length = kLarge};
            if (request.target == "/chunks") return {.source = large_body(1'000'000)};
            if (request.target == "/short") return {.source = large_body(1000), .length = 2000};
            if (request.target == "/fails") {
              return {.source =
                          [](std::uint64_t offset, std::span<char> into) {
                            if (offset > 100'000) return std::optional<std::size_t>();
                            return std::optional(into.size());
                          },
                      .length = 10'000'000};
            }
            return {.body = "held " + std::to_string(request.body.size())};
          },
          .plan = [&log](const Request& request) -> BodyPlan {
            if (request.target == "/held") return GatherBody{};
            if (request.target == "/forbidden") return Response{.status = 403, .body = "no"};
            return std::make_unique<TestSink>(log, request.target);
          }};
}

double resident_mb() {
  std::ifstream status("/proc/self/statm");
  double pages = 0;
  status >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

Question upload(const std::string& url, std::uint64_t bytes) {
  return {.method = "PUT", .url = url, .source = large_body(bytes), .source_bytes = bytes};
}

TEST(ServerStreams, large_bodies_need_little_memory) {
  SinkLog log;
  const RunningServer server(service(log));
  Client client;
  client.ask(upload(server.url("/x"), 1'000'000));  // allocates what the server keeps
  const double before = resident_mb();
  const Reply up = client.ask(upload(server.url("/x"), kLarge));
  EXPECT_EQ(up.body, std::to_string(kLarge) + " right") << up.fault_text;
  Checker down;
  const Reply reply = client.ask(
      {.url = server.url("/large"), .take = [&](const Reply& head, std::string_view piece) {
         EXPECT_EQ(head.status, 200);
         down.take(piece);
         return true;
       }});
  EXPECT_EQ(reply.fault, NetFault::none) << reply.fault_text;
  EXPECT_TRUE(down.right);
  EXPECT_EQ(down.bytes, kLarge);
  EXPECT_EQ(reply.header("Content-Length"), std::to_string(kLarge));
  // A few MB, plus what the sanitizers keep of freed memory. A held body would add 67.
  EXPECT_LT(resident_mb() - before, 48);
  EXPECT_EQ(log.finished, 2);
}

TEST(ServerStreams, unknown_lengths_go_in_chunks) {
  SinkLog log;
  const RunningServer server(service(log));
  Client client;
  Question up = upload(server.url("/x"), 700'000);
  up.source_bytes.reset();
  EXPECT_EQ(client.ask(up).body, "700000 right");
  const Reply down = client.ask({.url = server.url("/chunks")});
  EXPECT_EQ(down.header("transfer-encoding"), "chunked");
  Checker checker;
  checker.take(down.body);
  EXPECT_TRUE(checker.right && checker.bytes == 1'000'000);
  EXPECT_FALSE(client.ask({.url = server.url("/chunks")}).reconnected);
  // HTTP/1.0 has no chunks: the body ends with the connection.
  const TestSocket old = TestSocket::to(server.port);
  old.send("GET /chunks HTTP/1.0\r\n\r\n");
  const std::string text = old.rest();
  EXPECT_THAT(text, Not(HasSubstr("chunked")));
  EXPECT_EQ(text.size() - text.find("\r\n\r\n") - 4, 1'000'000u);
}

TEST(ServerStreams, body_may_be_gathered_refused_or_cut_short_by_its_plan) {
  SinkLog log;
  const RunningServer server(service(log));
  Client client;
  EXPECT_EQ(client.ask(upload(server.url("/held"), 5000)).body, "held 5000");
  EXPECT_EQ(client.ask(upload(server.url("/held"), 2'000'000)).status, 413);
  EXPECT_EQ(client.ask(upload(server.url("/forbidden"), 5000)).status, 403);
  EXPECT_EQ(client.ask(upload(server.url("/throws"), 5000)).status, 500);
  const Reply refused = client.ask(upload(server.url("/refused"), 3'000'000));
  EXPECT_EQ(refused.status, 409) << refused.fault_text;
  EXPECT_EQ(client.ask(upload(server.url("/throws"), kLarge / 4)).status, 500);
  EXPECT_EQ(client.ask(upload(server.url("/refused"), kLarge / 4)).status, 409);
  EXPECT_EQ(log.finished, 0);
  EXPECT_EQ(client.ask(upload(server.url("/x"), 1)).body, "1 right");
}

// libcurl sends the body after a second even without a 100 Continue.
TEST(ServerStreams, client_that_asks_first_gets_100_continue) {
  SinkLog log;
  const RunningServer server(service(log));
  Question question = upload(server.url("/x"), 500'000);
  question.ask_first = true;
  const Reply reply = Client().ask(question);
  EXPECT_EQ(reply.body, "500000 right");
  EXPECT_LT(reply.first_byte_s, 0.8);
}

TEST(ServerStreams, dripping_upload_is_cut_off_and_forgotten) {
  SinkLog log;
  const RunningServer server(service(log));
  const TestSocket slow = TestSocket::to(server.port);
  slow.send(kHead + "Content-Length: 1000000\r\n\r\n");
  const auto start = std::chrono::steady_clock::now();
  bool alive = true;
  while (alive && std::chrono::steady_clock::now() - start < 5s) {
    std::this_thread::sleep_for(20ms);
    alive = slow.send("x");
  }
  EXPECT_FALSE(alive);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
  for (int i = 0; i < 2000 && log.dropped == 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(log.dropped, 1);
  EXPECT_EQ(log.finished, 0);
  EXPECT_EQ(server.load->body_bytes, 0);
}

TEST(ServerStreams, upload_deadline_counts_per_quarter_megabyte_whatever_the_piece_size) {
  SinkLog log;
  ServerOptions options = test_options();
  options.inflow_bytes = 1u << 20;
  options.piece_time_max = 1500ms;
  const RunningServer server(service(log), options);
  const TestSocket slow = TestSocket::to(server.port);
  slow.send(kHead + "Content-Length: 1048576\r\n\r\n");
  const std::string quarter(256u << 10, 'x');
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(600ms);
    ASSERT_TRUE(slow.send(quarter)) << i;
  }
  std::string answer;
  while (answer.find("\r\n\r\n") == answer.npos && slow.receive(answer)) {
  }
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(log.finished, 1);
}

// One handler thread, and 40 uploads in progress.
TEST(ServerStreams, slow_uploads_hold_no_thread) {
  SinkLog log;
  ServerOptions options = test_options();
  options.connections_max = 64;
  options.handler_threads = 1;
  options.piece_time_max = 5s;
  const RunningServer server(service(log), options);
  std::vector<TestSocket> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(TestSocket::to(server.port));
    slow.back().send(kHead + "Content-Length: 1000\r\n\r\nx");
  }
  for (int i = 0; i < 2000 && log.opened < 40; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(log.opened, 40);
  Client client;
  const Reply good = client.ask(upload(server.url("/x"), 1'000'000));
  EXPECT_EQ(good.body, "1000000 right");
  EXPECT_LT(good.first_byte_s, 1);
}

TEST(ServerStreams, source_that_fails_or_ends_early_cuts_the_connection) {
  SinkLog log;
  const RunningServer server(service(log));
  Client client;
  const Reply fails = client.ask({.url = server.url("/fails")});
  EXPECT_EQ(fails.fault, NetFault::broken);
  EXPECT_EQ(client.ask({.url = server.url("/short")}).fault, NetFault::broken);
  EXPECT_EQ(client.ask({.url = server.url("/chunks")}).fault, NetFault::none);
}

TEST(ServerStreams, client_that_vanishes_is_forgotten) {
  SinkLog log;
  const RunningServer server(service(log));
  {
    TestSocket leaves = TestSocket::to(server.port);
    leaves.send("PUT /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" +
                std::string(600'000, 'x'));
    leaves.reset();
    TestSocket reads = TestSocket::to(server.port);
    reads.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string some;
    reads.receive(some);
    reads.reset();
  }
  for (int i = 0; i < 3000 && (log.dropped == 0 || server.load->connections > 0); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(log.dropped, 1);
  EXPECT_EQ(server.load->connections, 0);
  EXPECT_EQ(server.load->body_bytes, 0);
}

TEST(ServerStreams, stop_lets_uploads_and_downloads_finish) {
  SinkLog log;
  ServerOptions options = test_options();
  options.piece_bytes = options.inflow_bytes = 64 << 10;
  options.drain_time_max = 20s;
  Reply up;
  std::thread uploads;
  {
    RunningServer server(service(log), options);
    const std::string url = server.url("/slow");
    uploads = std::thread([&up, url] { up = Client().ask(upload(url, 2'000'000)); });
    for (int i = 0; i < 3000 && log.bytes == 0; ++i) std::this_thread::sleep_for(1ms);
  }
  uploads.join();
  EXPECT_EQ(up.body, "2000000 right") << up.fault_text;
  EXPECT_EQ(up.header("connection"), "close");
}

}  // namespace
}  // namespace orrery::net::server_streams_tests
