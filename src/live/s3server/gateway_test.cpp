// The gateway as a server: objects in and out, errors, large bodies, hostile input, deferred
// answers, and the answers when the store fails.
#include "live/s3server/gateway.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "live/s3/hash.h"
#include "live/s3server/gateway_fixture.h"
#include "live/s3server/metrics.h"

namespace orrery::s3server::gateway_tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(GatewayTest, an_object_comes_back_as_it_was_put) {
  EXPECT_EQ(put("/pail", "").status, 200);
  const net::Response made = put("/pail/a%20b/%2e%2e/c", "hello", {{"x-amz-meta-who", "me"}});
  EXPECT_EQ(made.status, 200) << made.body;
  const net::Response got = ask({.target = "/pail/a%20b/%2e%2e/c"});
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got.body, "hello");
  EXPECT_EQ(net::header_of(got.headers, "x-amz-meta-who"), "me");
  EXPECT_EQ(net::header_of(got.headers, "ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  const net::Response part =
      ask({.target = "/pail/a%20b/%2e%2e/c", .headers = {{"Range", "bytes=1-2"}}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "el");
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/a%20b/%2e%2e/c"}).status, 204);
  EXPECT_EQ(ask({.target = "/pail/a%20b/%2e%2e/c"}).status, 404);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail"}).status, 204);
}

// Above the limit a body has an MD5 only if its client sent one.
TEST_F(GatewayTest, a_large_object_has_an_etag_that_is_no_md5) {
  open_gateway({.quick_etag_bytes = 1000});
  const std::string large(70'000, 'l');
  const auto etag = [](const net::Response& response) {
    return std::string(net::header_of(response.headers, "ETag"));
  };
  const std::string first = etag(put("/pail/a", large));
  EXPECT_TRUE(first.ends_with("-1\"")) << first;
  EXPECT_EQ(ask({.target = "/pail/a"}).body, "");  // it comes from a source
  EXPECT_EQ(etag(ask({.method = "HEAD", .target = "/pail/a"})), first);
  EXPECT_EQ(ask({.target = "/pail/a", .headers = {{"If-None-Match", first}}}).status, 304);
  // The same bytes put again are a different object to a condition.
  EXPECT_EQ(put("/pail/a", large, {{"If-Match", first}}).status, 200);
  EXPECT_EQ(put("/pail/a", large, {{"If-Match", first}}).status, 412);
  const std::string md5 = s3::md5(large);
  EXPECT_EQ(etag(put("/pail/b", large, {{"Content-MD5", to_base64(md5)}})),
            '"' + to_hex(md5) + '"');
  EXPECT_EQ(put("/pail/c", large, {{"Content-MD5", to_base64(s3::md5("x"))}}).status, 400);
  EXPECT_EQ(etag(put("/pail/d", "small")), '"' + to_hex(s3::md5("small")) + '"');
  // A copy keeps the kind of its source.
  EXPECT_THAT(
      ask({.method = "PUT", .target = "/pail/e", .headers = {{"x-amz-copy-source", "/pail/a"}}})
          .body,
      HasSubstr("-1\"</ETag>"));
  EXPECT_THAT(
      ask({.method = "PUT", .target = "/pail/f", .headers = {{"x-amz-copy-source", "/pail/b"}}})
          .body,
      HasSubstr(to_hex(md5)));
}

TEST_F(GatewayTest, documents_that_are_bombs_or_nonsense_are_refused) {
  std::string bomb = "<!DOCTYPE b [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " \"";
    for (int i = 0; i < 10; ++i) bomb += std::string("&") + static_cast<char>(c - 1) + ";";
    bomb += "\">";
  }
  bomb += "]><Delete><Object><Key>&j;</Key></Object></Delete>";
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "<a>";
  for (const std::string& body : {bomb, deep, std::string("<Delete>"), std::string("not xml"),
                                  std::string(100000, '<'), std::string("<Delete></Delete>")}) {
    const net::Response answer = ask({.method = "POST", .target = "/pail?delete", .body = body});
    EXPECT_TRUE(answer.status == 400 || answer.status == 200) << answer.status;
    EXPECT_LT(answer.body.size(), 10000u);
  }
}

TEST_F(GatewayTest, keys_with_special_characters_are_kept) {
  for (const char* target :
       {"/pail/../../etc/passwd", "/pail/%2e%2e/%2e%2e/x", "/pail//", "/pail/%25", "/pail/a%2Fb",
        "/pail/%F0%9F%98%80", "/pail/a+b", "/pail/%0d%0a"}) {
    EXPECT_EQ(put(target, "x").status, 200) << target;
    EXPECT_EQ(ask({.target = target}).body, "x") << target;
  }
  for (const char* target : {"/pail/%00", "/pail/%ff", "/pail/%", "/pail/%4"}) {
    EXPECT_EQ(put(target, "x").status, 400) << target;
  }
  EXPECT_EQ(put("/pail/" + std::string(1025, 'k'), "x").status, 400);
}

TEST_F(GatewayTest, an_undecided_commit_keeps_its_bytes) {
  metadata.lose_answer();
  EXPECT_EQ(put("/pail/a", std::string(3000, 'a')).status, 500);
  EXPECT_EQ(ask({.target = "/pail/a"}).body, std::string(3000, 'a'));
  metadata.lose_answer();
  EXPECT_EQ(
      ask({.method = "PUT", .target = "/pail/b", .headers = {{"x-amz-copy-source", "/pail/a"}}})
          .status,
      500);
  EXPECT_EQ(ask({.target = "/pail/b"}).body, std::string(3000, 'a'));
}

TEST_F(GatewayTest, a_full_drive_refuses_writes_only) {
  put("/pail/before", std::string(1000, 'b'));
  for (const auto& drive : drives) drive->capacity = 2000;
  const net::Response answer = put("/pail/after", std::string(100'000, 'a'));
  EXPECT_EQ(answer.status, 507) << answer.body;
  EXPECT_EQ(ask({.target = "/pail/before"}).status, 200);
  EXPECT_EQ(ask({.target = "/pail/after"}).status, 404);
  for (const auto& drive : drives) drive->capacity = ~std::uint64_t{0};
  EXPECT_EQ(put("/pail/after", std::string(100'000, 'a')).status, 200);
}

TEST_F(GatewayTest, errors_name_the_resource_and_the_request) {
  const net::Response missing = get("/pail/none%20x");
  const std::string id = header(missing, "x-amz-request-id");
  EXPECT_EQ(missing.content_type, "application/xml");
  EXPECT_THAT(missing.body, HasSubstr("<Error><Code>NoSuchKey</Code>"
                                      "<Message>The key does not exist.</Message>"
                                      "<Resource>/pail/none%20x</Resource><RequestId>" +
                                      id + "</RequestId></Error>"));
  EXPECT_EQ(id.size(), 21u);
  EXPECT_NE(header(get("/pail/none"), "x-amz-request-id"), id);
  const net::Response head = this->head("/pail/none");
  EXPECT_EQ(head.length, head.body.size()) << "the same headers as a GET";
  for (const auto& [status, code_said] :
       std::vector<std::pair<int, std::string>>{{400, "InvalidRequest"},
                                                {413, "EntityTooLarge"},
                                                {431, "InvalidRequest"},
                                                {500, "InternalError"},
                                                {503, "SlowDown"}}) {
    const net::Response own = Gateway::refusal(status, "words");
    EXPECT_EQ(own.status, status);
    EXPECT_EQ(code(own), code_said);
  }
}

TEST_F(GatewayTest, faults_of_the_store_are_logged_and_those_of_clients_are_not) {
  std::string log;
  gateway = std::make_unique<Gateway>(*store, GatewaySetting{},
                                      [&](const std::string& line) { log += line + '\n'; });
  put("/pail/k", std::string(3000, 'k'));
  get("/pail/none");
  EXPECT_EQ(code(get("/pail?cors")), "NotImplemented");
  EXPECT_EQ(log, "");
  for (const auto& drive : drives) drive->broken = true;
  const net::Response failed = get("/pail/k");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(log, StartsWith(header(failed, "x-amz-request-id") + " GET /pail/k: InternalError "));
}

class DeferredAnswers : public GatewayTest {
 protected:
  DeferredAnswers() { open_gateway({.puts_off = true}); }
  // Returns "later" or "now", and the status.
  std::string when(const std::string& method, const std::string& target, HeaderList headers = {}) {
    const net::Request request =
        signed_request({.method = method, .target = target, .headers = std::move(headers)});
    const net::Response first = gateway->answer(request);
    const net::Response last = first.later ? first.later() : first;
    EXPECT_NE(header(last, "x-amz-request-id"), "");
    return (first.later ? "later " : "now ") + std::to_string(last.status);
  }
  // Returns the status or code for a request with these headers and no body.
  std::string answer_to(const std::string& method, const std::string& target, HeaderList headers,
                        const std::string& payload = "") {
    open_gateway({});
    const net::Request request = signed_request(
        {.method = method, .target = target, .headers = std::move(headers), .payload = payload});
    const net::Response response = gateway->answer(request);
    return response.status < 300 ? std::to_string(response.status) : code(response);
  }
};

TEST_F(DeferredAnswers, only_reads_of_rows_are_answered_at_once) {
  put("/pail/k", "bytes on a drive");
  EXPECT_EQ(when("HEAD", "/pail/k"), "now 200");
  EXPECT_EQ(when("HEAD", "/pail/none"), "now 404");
  EXPECT_EQ(when("GET", "/pail/none"), "now 404");
  EXPECT_EQ(when("GET", "/pail/k"), "later 200");
  EXPECT_EQ(when("GET", "/pail/k", {{"Range", "bytes=0-1"}}), "later 206");
  EXPECT_EQ(when("GET", "/pail/k?tagging"), "later 200");
  EXPECT_EQ(when("GET", "/pail"), "later 200");
  EXPECT_EQ(when("GET", "/"), "later 200");
  EXPECT_EQ(when("PATCH", "/pail/k"), "later 405") << "no such operation";
  EXPECT_EQ(when("GET", "/pail/k?torrent"), "later 501");
  EXPECT_EQ(when("OPTIONS", "/pail/k"), "now 400");
  EXPECT_EQ(when("OPTIONS", "/pail/k", {{"Origin", "here"}}), "now 403");
  EXPECT_EQ(when("DELETE", "/pail/k"), "later 204");
}

TEST_F(DeferredAnswers, a_deferred_request_is_counted_when_answered) {
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

TEST_F(DeferredAnswers, headers_about_an_empty_body_are_checked) {
  put("/pail/k", "x");
  const std::string none = to_base64(s3::md5(""));
  const std::string other = to_base64(s3::md5("x"));
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"Content-MD5", other}}), "BadDigest");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"Content-MD5", none}}), "200");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"Content-MD5", "short"}}), "InvalidDigest");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"x-amz-checksum-crc32", "AAAAAA=="}}), "200");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"X-Amz-Checksum-Crc32", "AAAAAQ=="}}), "BadDigest");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"x-amz-checksum-moon", "AAAAAQ=="}}), "InvalidRequest");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"x-amz-sdk-checksum-algorithm", "moon"}}),
            "InvalidRequest");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"x-amz-trailer", "x-amz-checksum-crc32"}}),
            "MalformedTrailerError");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"Content-Length", "x"}}), "InvalidArgument");
  EXPECT_EQ(answer_to("GET", "/pail/k", {{"Content-Length", "5"}}), "200") << "no body is read";
  EXPECT_EQ(answer_to("HEAD", "/pail/k", {{"Content-Length", "5"}}), "200");
  EXPECT_EQ(answer_to("DELETE", "/pail/k?tagging", {{"Content-Length", "5"}}), "IncompleteBody");
  EXPECT_EQ(answer_to("DELETE", "/pail/k?tagging", {{"Content-Length", "0"}}), "204");
  EXPECT_EQ(answer_to("GET", "/pail/k", {}, s3::sha256_hex("x")), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(answer_to("GET", "/pail/k", {}, "UNSIGNED-PAYLOAD"), "200");
}

TEST_F(DeferredAnswers, only_bodies_of_objects_are_streamed) {
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
}  // namespace orrery::s3server::gateway_tests
