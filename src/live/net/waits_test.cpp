// Who waits for whom: what a server does in its own time has no deadline, what it waits for from a
// client counts when another wants the place, and a server without descriptors goes on later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "live/net/patient_fixture.h"

namespace orrery::net::waits_tests {
namespace {

using patience::answer_of;
using patience::patient;
using patience::soon;
using patience::wire;
using testing::EndsWith;
using testing::StartsWith;
using namespace std::chrono_literals;

const std::string kClosing = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

std::string putting(std::size_t bytes) {
  return "PUT /k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
         std::to_string(bytes) + "\r\n\r\n";
}

// Somebody who came later and says nothing has been found to be late: deadlines that began before
// are over, and were looked at.
void let_a_round_pass(int port) { EXPECT_EQ(TestSocket::to(port, 10).rest(), ""); }

class Waiting final : public BodySink {
 public:
  explicit Waiting(std::function<void()> at_piece) : at_piece_(std::move(at_piece)) {}
  std::optional<Response> take(std::string_view piece) override {
    bytes_ += piece.size();
    at_piece_();
    return std::nullopt;
  }
  Response finish() override { return {.body = std::to_string(bytes_) + " taken;"}; }

 private:
  std::function<void()> at_piece_;
  std::size_t bytes_ = 0;
};

Service sinking(std::function<void()> at_piece) {
  return {.answer = [](const Request&) { return Response{.body = "answered;"}; },
          .plan = [at_piece](const Request&) -> BodyPlan {
            return std::make_unique<Waiting>(at_piece);
          }};
}

ServerOptions hasty() {
  ServerOptions options = patient(false);
  options.request_time_max = options.piece_time_max = options.response_time_max = 200ms;
  return options;
}

TEST(Waits, a_plan_takes_what_it_takes) {
  int port = 0;
  const Service service{
      .answer = [](const Request& request) { return Response{.body = request.body + ";"}; },
      .plan = [&](const Request&) -> BodyPlan {
        let_a_round_pass(port);
        return GatherBody{};
      }};
  const RunningServer server(service, hasty());
  port = server.port;
  EXPECT_THAT(wire(server.port, putting(4) + "body"), EndsWith("\r\n\r\nbody;"));
}

TEST(Waits, a_sink_takes_what_it_takes) {
  int port = 0;
  const RunningServer server(sinking([&] { let_a_round_pass(port); }), hasty());
  port = server.port;
  EXPECT_THAT(wire(server.port, putting(4) + "body"), EndsWith("\r\n\r\n4 taken;"));
}

// The second piece is made while and after the first is sent.
TEST(Waits, a_source_takes_what_it_takes) {
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
  EXPECT_THAT(wire(server.port, kClosing), EndsWith("\r\n\r\naaaabbbb"));
}

TEST(Waits, a_stream_of_events_may_be_silent) {
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

// What it is told stays readable until it has had its time, whatever deadlines were before.
TEST(Waits, who_was_refused_has_the_time_to_read) {
  ServerOptions options = hasty();
  options.body_bytes_max = 3;
  options.linger_time_max = 30s;
  const RunningServer server([](const Request&) { return Response{}; }, options);
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send(putting(4));
  EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 413"));
  let_a_round_pass(server.port);
  EXPECT_TRUE(soon([&] { return server.load->connections <= 1; }));
  EXPECT_EQ(server.load->connections, 1);
}

// One place, and the one who has it sends no more of its body.
TEST(Waits, a_body_that_does_not_come_makes_room) {
  ServerOptions options = patient(false);
  options.connections_max = 1;
  options.inflow_bytes = 10;
  std::atomic<int> pieces = 0;
  const RunningServer server(sinking([&] { ++pieces; }), options);
  const TestSocket slow = TestSocket::to(server.port, 10);
  slow.send(putting(20) + "0123456789");
  EXPECT_TRUE(soon([&] { return pieces == 1; }));
  EXPECT_TRUE(soon([&] { return wire(server.port, kClosing).ends_with("answered;"); }));
  EXPECT_EQ(slow.rest(), "");
}

// But not while the server is the one who is waited for.
TEST(Waits, who_has_sent_all_it_could_keeps_its_place) {
  ServerOptions options = patient(false);
  options.connections_max = 1;
  std::atomic<bool> inside = false, may = false;
  const RunningServer server(sinking([&] {
                               inside = true;
                               soon([&] { return may.load(); });
                             }),
                             options);
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send(putting(4) + "body");
  EXPECT_TRUE(soon([&] { return inside.load(); }));
  EXPECT_EQ(wire(server.port, kClosing), "") << "turned away";
  may = true;
  EXPECT_THAT(client.rest(), EndsWith("4 taken;"));
}

// A body whose rest does not come is late while the server drains, too.
TEST(Waits, a_stop_ends_with_those_who_are_late) {
  ServerOptions options = patient(false);
  options.request_time_max = 300ms;
  options.drain_time_max = 30s;
  RunningServer server([](const Request&) { return Response{}; }, options);
  const TestSocket half = TestSocket::to(server.port, 20);
  half.send(putting(10) + "1");
  EXPECT_TRUE(soon([&] { return server.load->body_bytes == 10; }));
  server.stop();
  EXPECT_TRUE(soon([&] { return server.load->connections == 0; }));
}

// No descriptor is left for whoever comes; what is there is answered meanwhile, and the newcomer
// when there are some again.
TEST(Waits, a_server_without_descriptors_takes_the_newcomer_later) {
  const RunningServer server([](const Request&) { return Response{.body = "answered;"}; },
                             patient(false));
  const TestSocket first = TestSocket::to(server.port, 10);
  const auto ask = [&first] {
    first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return answer_of(first, "answered;");
  };
  EXPECT_THAT(ask(), StartsWith("HTTP/1.1 200"));
  const TestSocket newcomer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 10);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const sockaddr_in address = loopback_address(server.port);
  const int connected =
      ::connect(newcomer.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  newcomer.send(kClosing);
  std::string meanwhile;
  for (int i = 0; i < 3; ++i) meanwhile = ask();
  const int taken = server.load->connections;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(connected, 0);
  EXPECT_THAT(meanwhile, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(taken, 1);
  EXPECT_THAT(newcomer.rest(), EndsWith("answered;"));
}

}  // namespace
}  // namespace orrery::net::waits_tests
