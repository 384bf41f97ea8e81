#include "live/s3/retry.h"

#include <gtest/gtest.h>

namespace orrery::s3::retry_tests {
namespace {

net::Reply answered(int status, std::string code = {}) {
  net::Reply reply;
  reply.status = status;
  if (!code.empty()) reply.body = "<Error><Code>" + code + "</Code></Error>";
  return reply;
}

net::Reply unanswered(net::NetFault fault, int status = 0) {
  net::Reply reply = answered(status);
  reply.fault = fault;
  return reply;
}

TEST(Retry, fate_says_whether_the_server_acted) {
  for (const int status : {200, 204, 206, 299}) EXPECT_EQ(fate_of(answered(status)), Fate::done);
  for (const int status : {300, 301, 307, 400, 403, 404, 409, 412, 416}) {
    EXPECT_EQ(fate_of(answered(status)), Fate::refused) << status;
  }
  for (const int status : {429, 503}) EXPECT_EQ(fate_of(answered(status)), Fate::not_acted);
  for (const int status : {500, 502, 504, 599, 408, 100, 0}) {
    EXPECT_EQ(fate_of(answered(status)), Fate::unknown) << status;
  }
  // Two refusals that the protocol defines as "try again".
  EXPECT_EQ(fate_of(answered(400, "RequestTimeout")), Fate::not_acted);
  EXPECT_EQ(fate_of(answered(409, "ConditionalRequestConflict")), Fate::not_acted);
  EXPECT_EQ(fate_of(answered(409, "BucketNotEmpty")), Fate::refused);
  // There is no complete answer, whatever part of one was read.
  EXPECT_EQ(fate_of(unanswered(net::NetFault::not_sent)), Fate::not_acted);
  EXPECT_EQ(fate_of(unanswered(net::NetFault::untrusted)), Fate::refused)
      << "another attempt meets the same certificate";
  EXPECT_EQ(fate_of(unanswered(net::NetFault::broken, 200)), Fate::unknown);
  EXPECT_EQ(fate_of(unanswered(net::NetFault::timed_out, 404)), Fate::unknown);
}

TEST(Retry, waits_double_up_to_the_cap_with_jitter) {
  const RetryPolicy policy{.attempts_max = 9, .base_s = 0.1, .cap_s = 2};
  RandomStream jitter(3, "x");
  double most = 0;
  for (int n = 0; n < 400; ++n) {
    const int failures = n % 40;  // far beyond the cap too
    const double full = failures < 5 ? 0.1 * (1 << failures) : 2.0;
    const double wait = backoff_s(policy, failures, jitter);
    EXPECT_GE(wait, full / 2) << failures;
    EXPECT_LT(wait, full) << failures;
    most = std::max(most, wait / full);
  }
  EXPECT_GT(most, 0.95);  // the jitter covers the whole upper half
}

TEST(Retry, retry_after_is_a_number_of_seconds) {
  const auto wish = [](const std::string& text) {
    net::Reply reply = answered(503);
    if (!text.empty()) reply.headers = {{"retry-after", text}};
    return retry_after_s(reply);
  };
  EXPECT_EQ(wish("7"), 7);
  EXPECT_EQ(wish("0"), 0);
  EXPECT_EQ(wish("-3"), std::nullopt);
  EXPECT_EQ(wish("Fri, 24 May 2013 00:00:00 GMT"), std::nullopt);
  EXPECT_EQ(wish(""), std::nullopt);
}

TEST(Retry, only_an_error_document_has_a_code) {
  EXPECT_EQ(error_code("<Error><Code>SlowDown</Code></Error>"), "SlowDown");
  EXPECT_EQ(error_code("<Result><Code>SlowDown</Code></Result>"), "");
  EXPECT_EQ(error_code("<html>"), "");
  EXPECT_EQ(error_message("<Error><Code>c</Code><Message>a &amp; b</Message></Error>"), "a & b");
}

}  // namespace
}  // namespace orrery::s3::retry_tests
