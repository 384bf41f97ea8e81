#include "live/net/transport.h"

#include <gtest/gtest.h>

namespace orrery::net::transport_tests {
namespace {

using namespace std::chrono_literals;

TEST(Transport, header_becomes_a_request) {
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

TEST(Transport, malformed_requests_have_a_status_and_a_lost_connection_has_none) {
  namespace http = boost::beast::http;
  EXPECT_EQ(answer_to_fault(http::error::body_limit)->status, 413);
  EXPECT_EQ(answer_to_fault(http::error::header_limit)->status, 431);
  EXPECT_EQ(answer_to_fault(http::error::bad_method)->status, 400);
  EXPECT_EQ(answer_to_fault(http::error::bad_chunk)->status, 400);
  EXPECT_FALSE(answer_to_fault(http::error::end_of_stream));
  EXPECT_FALSE(answer_to_fault(http::error::partial_message));
  EXPECT_FALSE(answer_to_fault(boost::asio::error::connection_reset));
}

TEST(SharedMoment, is_before_only_times_after_it) {
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

TEST(Tally, counts_while_it_lives) {
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
}  // namespace orrery::net::transport_tests
