// A server that is stopped while it answers: it takes nobody new, gives the answer whole, and says
// that the connection ends with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "live/net/patient_fixture.h"

namespace orrery::net::stops_tests {
namespace {

using patience::patient;
using patience::soon;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Whether an answer was under way for which nothing is said of the connection's end.
std::string answered_while_stopping(bool stops, const Handler& made) {
  std::atomic<bool> asked = false, may = false;
  RunningServer server(at_length([&](const Request& request) {
                         asked = true;
                         soon([&] { return may.load(); });
                         return made(request);
                       }),
                       patient());
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(soon([&] { return asked.load(); }));
  if (stops) {
    server.stop();
    EXPECT_TRUE(soon([&] { return !TestSocket::to(server.port, 1).connected(); }))
        << "nobody new is taken";
  }
  may = true;
  return patience::answer_of(client, "whole");
}

TEST(Stops, an_answer_under_way_is_the_last_of_its_connection) {
  const Handler plain = [](const Request&) { return Response{.body = "whole"}; };
  EXPECT_THAT(answered_while_stopping(false, plain),
              AllOf(StartsWith("HTTP/1.1 200 "), Not(HasSubstr("onnection: close")),
                    EndsWith("\r\n\r\nwhole")));
  EXPECT_THAT(answered_while_stopping(true, plain),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("onnection: close\r\n"),
                    EndsWith("\r\n\r\nwhole")));
}

TEST(Stops, so_is_one_whose_body_comes_from_a_source) {
  const Handler streamed = [](const Request&) {
    return Response{.source = source_of("whole"), .length = 5};
  };
  EXPECT_THAT(answered_while_stopping(false, streamed), Not(HasSubstr("onnection: close")));
  EXPECT_THAT(answered_while_stopping(true, streamed),
              AllOf(HasSubstr("onnection: close\r\n"), EndsWith("\r\n\r\nwhole")));
}

// A second connection, begun later, is found to be late: the time of the first request is over by
// then, and its answer comes all the same.
TEST(Stops, an_answer_takes_what_it_takes) {
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

// The same while a server decides what is to be done with a body.
TEST(Stops, a_plan_takes_what_it_takes) {
  ServerOptions options = patient();
  options.request_time_max = std::chrono::milliseconds(40);
  int port = 0;
  Service service{.answer = [](const Request& request) { return Response{.body = request.body}; },
                  .plan = [&](const Request&) -> BodyPlan {
                    EXPECT_EQ(TestSocket::to(port, 10).rest(), "");
                    return GatherBody{};
                  }};
  const RunningServer server(std::move(service), options);
  port = server.port;
  const TestSocket client = TestSocket::to(server.port, 10);
  client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nwhole");
  EXPECT_THAT(patience::answer_of(client, "whole"), EndsWith("\r\n\r\nwhole"));
}

TEST(Stops, who_does_not_take_his_answer_is_left) {
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

}  // namespace
}  // namespace orrery::net::stops_tests
