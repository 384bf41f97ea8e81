// What a gateway that answers in place puts off, what it checks of a request that has no body, and
// the words of a server that refuses before anybody has looked.
#include <gtest/gtest.h>

#include "live/s3/hash.h"
#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::put_off_tests {
namespace {

class PutOffTest : public RequestsTest {
 protected:
  PutOffTest() { open_gateway({.puts_off = true}); }
  // "later" where it was put off, "now" where it was answered, and the status that came of it.
  std::string when(const std::string& method, const std::string& target, HeaderList headers = {}) {
    const net::Request request =
        signed_request({.method = method, .target = target, .headers = std::move(headers)});
    const net::Response first = gateway->answer(request);
    const net::Response last = first.later ? first.later() : first;
    EXPECT_NE(header(last, "x-amz-request-id"), "");
    return (first.later ? "later " : "now ") + std::to_string(last.status);
  }
  // Of a request that carries these headers and nothing else.
  std::string said_of(const std::string& method, const std::string& target, HeaderList headers,
                      const std::string& payload = "") {
    open_gateway({});
    const net::Request request = signed_request(
        {.method = method, .target = target, .headers = std::move(headers), .payload = payload});
    const net::Response response = gateway->answer(request);
    return response.status < 300 ? std::to_string(response.status) : code(response);
  }
};

TEST_F(PutOffTest, all_but_reads_of_rows_waits) {
  put("/pail/k", "bytes on a drive");
  EXPECT_EQ(when("HEAD", "/pail/k"), "now 200");
  EXPECT_EQ(when("HEAD", "/pail/none"), "now 404");
  EXPECT_EQ(when("GET", "/pail/none"), "now 404");
  EXPECT_EQ(when("GET", "/pail/k"), "later 200");
  EXPECT_EQ(when("GET", "/pail/k", {{"Range", "bytes=0-1"}}), "later 206");
  EXPECT_EQ(when("GET", "/pail/k?tagging"), "later 200");
  EXPECT_EQ(when("GET", "/pail"), "later 200");
  EXPECT_EQ(when("GET", "/"), "later 200");
  EXPECT_EQ(when("PATCH", "/pail/k"), "later 405") << "nobody does that";
  EXPECT_EQ(when("GET", "/pail/k?torrent"), "later 501");
  EXPECT_EQ(when("OPTIONS", "/pail/k"), "now 400");
  EXPECT_EQ(when("OPTIONS", "/pail/k", {{"Origin", "here"}}), "now 403");
  EXPECT_EQ(when("DELETE", "/pail/k"), "later 204");
}

TEST_F(PutOffTest, what_was_put_off_is_counted_once_it_is_answered) {
  put("/pail/k", "12345");
  const KindCounts& gets = gateway->counts().kinds[0];
  const net::Request request = signed_request({.target = "/pail/k"});
  const net::Response first = gateway->answer(request);
  ASSERT_TRUE(first.later);
  EXPECT_EQ(gets.requests, 0u);
  EXPECT_EQ(first.later().body, "12345");
  EXPECT_EQ(gets.requests, 1u);
  EXPECT_EQ(gets.bytes, 5u);
}

TEST_F(PutOffTest, whatever_is_said_of_a_body_is_held_against_it) {
  put("/pail/k", "x");
  const std::string none = to_base64(s3::md5(""));
  const std::string other = to_base64(s3::md5("x"));
  EXPECT_EQ(said_of("GET", "/pail/k", {{"Content-MD5", other}}), "BadDigest");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"Content-MD5", none}}), "200");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"Content-MD5", "short"}}), "InvalidDigest");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"x-amz-checksum-crc32", "AAAAAA=="}}), "200");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"X-Amz-Checksum-Crc32", "AAAAAQ=="}}), "BadDigest");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"x-amz-checksum-moon", "AAAAAQ=="}}), "InvalidRequest");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"x-amz-sdk-checksum-algorithm", "moon"}}),
            "InvalidRequest");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"x-amz-trailer", "x-amz-checksum-crc32"}}),
            "MalformedTrailerError");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"Content-Length", "x"}}), "InvalidArgument");
  EXPECT_EQ(said_of("GET", "/pail/k", {{"Content-Length", "5"}}), "200") << "none is read";
  EXPECT_EQ(said_of("HEAD", "/pail/k", {{"Content-Length", "5"}}), "200");
  EXPECT_EQ(said_of("DELETE", "/pail/k?tagging", {{"Content-Length", "5"}}), "IncompleteBody");
  EXPECT_EQ(said_of("DELETE", "/pail/k?tagging", {{"Content-Length", "0"}}), "204");
  EXPECT_EQ(said_of("GET", "/pail/k", {}, s3::sha256_hex("x")), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(said_of("GET", "/pail/k", {}, "UNSIGNED-PAYLOAD"), "200");
}

TEST_F(PutOffTest, a_server_that_refuses_says_so_in_the_words_of_the_protocol) {
  const auto word = [](int status) {
    const net::Response of = Gateway::refusal(status, "why");
    EXPECT_EQ(of.status, status);
    return code(of);
  };
  EXPECT_EQ(word(413), "EntityTooLarge");
  EXPECT_EQ(word(503), "SlowDown");
  EXPECT_EQ(word(500), "InternalError");
  EXPECT_EQ(word(501), "InternalError");
  EXPECT_EQ(word(499), "InvalidRequest");
  EXPECT_EQ(word(400), "InvalidRequest");
}

TEST_F(PutOffTest, a_body_is_an_objects_where_it_is_put_and_not_copied) {
  open_gateway({});
  const auto plan = [&](const std::string& method, const std::string& target,
                        HeaderList headers = {}) -> std::string {
    const net::Request request = signed_request(
        {.method = method, .target = target, .body = "x", .headers = std::move(headers)});
    net::BodyPlan made = gateway->plan(request);
    if (std::holds_alternative<net::GatherBody>(made)) return "gathered";
    if (const auto* refusal = std::get_if<net::Response>(&made)) return code(*refusal);
    return "poured";
  };
  EXPECT_EQ(plan("PUT", "/pail/k"), "poured");
  EXPECT_EQ(plan("PUT", "/pail/k?partNumber=1&uploadId=none"), "NoSuchUpload");
  EXPECT_EQ(plan("PUT", "/pail/k?tagging"), "gathered");
  EXPECT_EQ(plan("PUT", "/pail/k", {{"x-amz-copy-source", "/pail/l"}}), "gathered");
  EXPECT_EQ(plan("PUT", "/pail"), "gathered");
  EXPECT_EQ(plan("POST", "/pail/k"), "gathered");
  EXPECT_EQ(plan("PUT", "/nowhere/k"), "NoSuchBucket");
}

}  // namespace
}  // namespace orrery::s3server::put_off_tests
