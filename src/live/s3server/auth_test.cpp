// Authentication: signatures in headers and in URLs, their time, scope and body, and requests
// without one.
#include "live/s3server/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/s3/hash.h"
#include "live/s3/sigv4.h"
#include "live/s3server/gateway_fixture.h"
#include "live/s3server/s3_request.h"
#include "live/store/moment.h"

namespace orrery::s3server::auth_tests {
namespace {

using testing::HasSubstr;

using AuthTest = GatewayTest;

constexpr TimeMs kSigned = 1'700'000'000'000;  // 2023-11-14T22:13:20Z

// No tenant is known, so a well-formed signature at the right time ends with InvalidAccessKeyId.
std::string claim_came_to(const net::Request& request, TimeMs now) {
  const auto parsed = s3_request_of(request, "localhost");
  if (!parsed) return "unparsed";
  const auto who =
      authenticate(request, *parsed, now, "us-east-1",
                   [](std::string_view) -> Answer<std::optional<Tenant>> { return std::nullopt; });
  return who ? "taken" : who.error().code;
}

TEST(Authenticate, a_signed_request_is_valid_for_15_minutes_either_way) {
  const auto at = [](TimeMs now, bool date, HeaderList headers = {}) {
    headers.emplace_back("Host", "h");
    headers.emplace_back("Authorization",
                         "AWS4-HMAC-SHA256 Credential=AK/20231114/us-east-1/s3/aws4_request,"
                         "SignedHeaders=host,Signature=" +
                             std::string(64, '0'));
    if (date) headers.emplace_back("x-amz-date", "20231114T221320Z");
    headers.emplace_back("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
    return claim_came_to({.target = "/pail", .headers = std::move(headers)}, now);
  };
  EXPECT_EQ(at(kSigned, true), "InvalidAccessKeyId");
  EXPECT_EQ(at(kSigned - 10'000, true), "InvalidAccessKeyId");
  EXPECT_EQ(at(kSigned + 900'000, true), "InvalidAccessKeyId");
  EXPECT_EQ(at(kSigned - 900'000, true), "InvalidAccessKeyId");
  EXPECT_EQ(at(kSigned + 900'001, true), "RequestTimeTooSkewed");
  EXPECT_EQ(at(kSigned - 900'001, true), "RequestTimeTooSkewed");
  EXPECT_EQ(at(kSigned, false), "AccessDenied") << "the request has no date";
  EXPECT_EQ(at(kSigned, false, {{"Date", "yesterday"}}), "AccessDenied");
  EXPECT_EQ(at(kSigned, false, {{"Date", "Tue, 14 Nov 2023 22:13:20 GMT"}}), "InvalidAccessKeyId");
}

TEST(Authenticate, a_signed_url_is_valid_for_its_seconds) {
  const auto at = [](const std::string& expires, TimeMs now) {
    return claim_came_to(
        {.target = "/pail/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20231114%2F"
                   "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20231114T221320Z&X-Amz-SignedHeaders="
                   "host&X-Amz-Signature=0&X-Amz-Expires=" +
                   expires,
         .headers = {{"Host", "h"}}},
        now);
  };
  EXPECT_EQ(at("100", kSigned + 100'000), "InvalidAccessKeyId");
  EXPECT_EQ(at("100", kSigned + 100'001), "AccessDenied");
  EXPECT_EQ(at("1", kSigned + 1000), "InvalidAccessKeyId");
  EXPECT_EQ(at("0", kSigned), "AccessDenied");
  EXPECT_EQ(at("604800", kSigned), "InvalidAccessKeyId");
  EXPECT_EQ(at("604801", kSigned), "AccessDenied");
  EXPECT_EQ(at("100", kSigned - 900'000), "InvalidAccessKeyId");
  EXPECT_EQ(at("100", kSigned - 900'001), "AccessDenied") << "the request is not yet valid";
}

// A signature that cannot be read is an error, not an anonymous request.
TEST(Authenticate, only_a_request_without_a_signature_is_anonymous) {
  const TimeMs now = *moment_of_iso("2023-11-14T10:00:00Z");
  const auto asked = [&](const std::string& query, net::HeaderList headers = {}) -> std::string {
    headers.emplace_back("Host", "h");
    const net::Request raw{.method = "GET", .target = "/b/k?" + query, .headers = headers};
    const auto who = authenticate(
        raw, *s3_request_of(raw, ""), now, "us-east-1",
        [](std::string_view) -> Answer<std::optional<Tenant>> { return std::nullopt; });
    if (!who) return who.error().code;
    return who->tenant ? "known" : "stranger " + who->payload;
  };
  EXPECT_EQ(asked(""), "stranger UNSIGNED-PAYLOAD");
  EXPECT_EQ(asked("", {{"x-amz-content-sha256", std::string(64, 'a')}}),
            "stranger " + std::string(64, 'a'));
  EXPECT_EQ(asked("", {{"x-amz-content-sha256", "abc"}}), "InvalidArgument");
  EXPECT_EQ(asked("", {{"x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}}),
            "InvalidArgument")
      << "its chunks could not have been signed";
  EXPECT_EQ(asked("Signature=x"), "InvalidRequest");
  EXPECT_EQ(asked("AWSAccessKeyId=x"), "InvalidRequest");
  EXPECT_EQ(asked("", {{"Authorization", "AWS AK:x"}}), "InvalidRequest") << "Signature Version 2";
  EXPECT_EQ(asked("", {{"Authorization", "Basic x"}}), "InvalidArgument");
  EXPECT_EQ(asked("X-Amz-Signature=x"), "AuthorizationQueryParametersError");
  EXPECT_EQ(asked("X-Amz-Credential=x"), "AuthorizationQueryParametersError");
  const auto url = [&](const std::string& date, const std::string& expires) {
    return asked(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20231114%2Fus-east-1%2Fs3"
        "%2Faws4_request&X-Amz-SignedHeaders=host&X-Amz-Signature=x&X-Amz-Date=" +
        date + "&X-Amz-Expires=" + expires);
  };
  EXPECT_EQ(url("20231114T095959Z", "60"), "InvalidAccessKeyId") << "the claim can be parsed";
  EXPECT_EQ(url("2023-11-14", "60"), "AuthorizationQueryParametersError");
  EXPECT_EQ(url("20231114T095959Z", "x"), "AuthorizationQueryParametersError");
  EXPECT_EQ(url("20231114T095959Z", "0"), "AccessDenied");
  EXPECT_EQ(url("20231114T095959Z", "1"), "InvalidAccessKeyId") << "valid up to its last moment";
  EXPECT_EQ(url("20231114T095958Z", "1"), "AccessDenied");
  EXPECT_EQ(url("20231114T095959Z", "604800"), "InvalidAccessKeyId") << "a week";
  EXPECT_EQ(url("20231114T095959Z", "604801"), "AccessDenied");
  EXPECT_EQ(url("20231114T101500Z", "60"), "InvalidAccessKeyId") << "the client's clock is 15 "
                                                                    "minutes ahead";
  EXPECT_EQ(url("20231114T101501Z", "60"), "AccessDenied");
}

// A malformed header is reported as such: "does not match" would make users suspect their key.
TEST_F(AuthTest, an_authorization_header_has_all_its_parts) {
  put("/pail/k", "bytes");
  const std::string day = amz_time(now).substr(0, 8);
  const auto with = [&](const std::string& from, const std::string& to) {
    net::Request request = signed_request({.target = "/pail/k"});
    for (auto& [name, value] : request.headers) {
      if (name != "Authorization") continue;
      const auto at = value.find(from);
      EXPECT_NE(at, value.npos) << from << " in " << value;
      value.replace(at, from.size(), to);
    }
    return code(gateway->answer(request));
  };
  EXPECT_EQ(with("AWS4", "AWS4"), "") << "unchanged";
  EXPECT_EQ(with("aws4_request", "aws5_request"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(day, day + "0"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with("SignedHeaders=", "Signed="), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with("Signature=", "Signature=0"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(day, "20010101"), "AccessDenied") << "another day than the request's";
  EXPECT_EQ(with("/us-east-1/", "/eu-west-1/"), "AuthorizationHeaderMalformed");
  net::Request bare = signed_request({.target = "/pail/k"});
  std::erase_if(bare.headers, [](const auto& h) { return h.first == "x-amz-content-sha256"; });
  EXPECT_EQ(code(gateway->answer(bare)), "InvalidRequest");
  // Signed without the host: anyone who sees it could send it to another host.
  const std::string time = amz_time(now);
  const HeaderList own = {{"x-amz-content-sha256", "UNSIGNED-PAYLOAD"}, {"x-amz-date", time}};
  net::Request anywhere{.method = "GET", .target = "/pail/k", .headers = own};
  anywhere.headers.emplace_back("Host", "h");
  anywhere.headers.emplace_back("Authorization", s3::authorization({.method = "GET",
                                                                    .path = "/pail/k",
                                                                    .query = {},
                                                                    .headers = own,
                                                                    .payload = "UNSIGNED-PAYLOAD",
                                                                    .time = time,
                                                                    .region = "us-east-1"},
                                                                   {"AK", "secret", ""}));
  EXPECT_EQ(code(gateway->answer(anywhere)), "AccessDenied");
}

TEST_F(AuthTest, each_fault_of_a_signature_has_its_code) {
  EXPECT_THAT(ask({.target = "/pail", .access_key = "nobody"}).body,
              HasSubstr("InvalidAccessKeyId"));
  EXPECT_THAT(ask({.target = "/pail", .secret_key = "wrong"}).body,
              HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(ask({.target = "/pail", .skew_ms = 20L * 60 * 1000}).body,
              HasSubstr("RequestTimeTooSkewed"));
  EXPECT_THAT(ask({.target = "/pail", .skew_ms = -20L * 60 * 1000}).body,
              HasSubstr("RequestTimeTooSkewed"));
  for (const char* bad :
       {"AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=", "Basic abc", "AWS a:b",
        "AWS4-HMAC-SHA256 Credential=AK/1/2/3/aws4_request,SignedHeaders=,Signature=0"}) {
    net::Request request{.target = "/pail", .headers = {{"Authorization", bad}}};
    const int status = gateway->answer(request).status;
    EXPECT_TRUE(status == 400 || status == 403) << bad;
  }
}

TEST_F(AuthTest, a_request_that_was_changed_after_signing_is_refused) {
  net::Request request = signed_request({.target = "/pail/key"});
  request.target = "/pail/other";
  EXPECT_THAT(gateway->answer(request).body, HasSubstr("SignatureDoesNotMatch"));
  request = signed_request({.method = "PUT", .target = "/pail/key", .body = "good"});
  EXPECT_THAT(send(request, "evil").body, HasSubstr("XAmzContentSHA256Mismatch"));
  request = signed_request({.target = "/pail/key"});
  request.headers.emplace_back("x-amz-acl", "public-read");
  EXPECT_THAT(gateway->answer(request).body, HasSubstr("not signed"));
  EXPECT_EQ(ask({.target = "/pail/key"}).status, 404);
}

TEST_F(AuthTest, a_signed_url_grants_exactly_what_it_signs) {
  put("/pail/k", "bytes");
  const auto signed_url = [&](const std::string& expires, TimeMs at,
                              const std::string& secret = "secret",
                              const std::string& headers = "host") {
    const std::string time = amz_time(at);
    HeaderList query = {
        {"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
        {"X-Amz-Credential", "AK/" + time.substr(0, 8) + "/us-east-1/s3/aws4_request"},
        {"X-Amz-Date", time},
        {"X-Amz-Expires", expires},
        {"X-Amz-SignedHeaders", headers}};
    const s3::SignatureInput input{.method = "GET",
                                   .path = "/pail/k",
                                   .query = query,
                                   .headers = {{"host", "h"}},
                                   .payload = "UNSIGNED-PAYLOAD",
                                   .time = time,
                                   .region = "us-east-1"};
    query.emplace_back(
        "X-Amz-Signature",
        s3::signature(input, s3::signing_key(secret, time.substr(0, 8), "us-east-1")));
    return net::Request{.method = "GET",
                        .target = "/pail/k?" + s3::canonical_query(query),
                        .headers = {{"Host", "h"}}};
  };
  const net::Request good = signed_url("60", now);
  EXPECT_EQ(gateway->answer(good).body, "bytes");
  now += 55'000;
  EXPECT_EQ(gateway->answer(good).status, 200);
  now += 10'000;
  EXPECT_EQ(gateway->answer(good).status, 403);
  for (const char* expires : {"0", "-1", "604801", "x"}) {
    EXPECT_NE(gateway->answer(signed_url(expires, now)).status, 200) << expires;
  }
  EXPECT_EQ(gateway->answer(signed_url("604800", now - 600'000'000)).status, 200) << "a week";
  EXPECT_EQ(gateway->answer(signed_url("60", now + 20 * 60'000)).status, 403)
      << "the URL is not yet valid";
  EXPECT_EQ(gateway->answer(signed_url("60", now, "wrong")).status, 403);
  EXPECT_EQ(gateway->answer(signed_url("60", now, "secret", "date")).status, 403)
      << "Host unsigned";
  net::Request added = signed_url("60", now);
  added.headers.emplace_back("x-amz-acl", "public-read");
  EXPECT_EQ(gateway->answer(added).status, 403) << "headers that change the meaning must be signed";
}

TEST_F(AuthTest, headers_of_one_name_are_signed_as_one) {
  put("/pail/k", "bytes");
  // Several headers with the same name count as one, with their values joined by commas.
  const std::string time = amz_time(now);
  net::Request twice{.method = "GET",
                     .target = "/pail/k",
                     .headers = {{"Host", "h"},
                                 {"x-amz-date", time},
                                 {"x-amz-content-sha256", "UNSIGNED-PAYLOAD"},
                                 {"x-amz-meta-a", " 1"},
                                 {"X-Amz-Meta-A", "2 "}}};
  const s3::SignatureInput joined{.method = "GET",
                                  .path = "/pail/k",
                                  .query = {},
                                  .headers = {{"host", "h"},
                                              {"x-amz-content-sha256", "UNSIGNED-PAYLOAD"},
                                              {"x-amz-date", time},
                                              {"x-amz-meta-a", "1,2"}},
                                  .payload = "UNSIGNED-PAYLOAD",
                                  .time = time,
                                  .region = "us-east-1"};
  twice.headers.emplace_back("Authorization", s3::authorization(joined, {"AK", "secret", ""}));
  EXPECT_EQ(gateway->answer(twice).status, 200);
  // A credential of another day than the request, or of another protocol.
  net::Request other_day = signed_request({.target = "/pail/k"});
  for (auto& [name, value] : other_day.headers) {
    if (name != "Authorization") continue;
    const auto at = value.find(time.substr(0, 8));
    value.replace(at, 8, "20010101");
  }
  EXPECT_EQ(gateway->answer(other_day).status, 403);
}

TEST_F(AuthTest, a_signature_is_for_this_region_and_this_service) {
  put("/pail/k", "bytes");
  const auto scoped = [&](const std::string& region, const std::string& service) {
    const std::string time = amz_time(now);
    const HeaderList headers = {
        {"host", "h"}, {"x-amz-content-sha256", "UNSIGNED-PAYLOAD"}, {"x-amz-date", time}};
    const s3::SignatureInput input{.method = "GET",
                                   .path = "/pail/k",
                                   .query = {},
                                   .headers = headers,
                                   .payload = "UNSIGNED-PAYLOAD",
                                   .time = time,
                                   .region = region,
                                   .service = service};
    net::Request request{.method = "GET", .target = "/pail/k", .headers = headers};
    request.headers.emplace_back("Authorization", s3::authorization(input, {"AK", "secret", ""}));
    return gateway->answer(request);
  };
  EXPECT_EQ(scoped("us-east-1", "s3").status, 200);
  for (const auto& [region, service] : std::vector<std::pair<std::string, std::string>>{
           {"eu-west-9", "s3"}, {"us-east-1", "iam"}, {"", "s3"}, {"us-east-1", ""}, {"", ""}}) {
    const net::Response answer = scoped(region, service);
    EXPECT_EQ(answer.status, 400) << region << '/' << service;
    EXPECT_EQ(code(answer), "AuthorizationHeaderMalformed") << region << '/' << service;
    EXPECT_EQ(header(answer, "x-amz-bucket-region"), "us-east-1") << "the region to sign for";
  }
}

class SignedUrls : public GatewayTest {
 protected:
  // A PUT by a URL that was signed before its body was known.
  net::Response put_by_url(const std::string& body, HeaderList headers, HeaderList more = {}) {
    const std::string time = amz_time(now);
    HeaderList query = {
        {"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
        {"X-Amz-Credential", "AK/" + time.substr(0, 8) + "/us-east-1/s3/aws4_request"},
        {"X-Amz-Date", time},
        {"X-Amz-Expires", "60"},
        {"X-Amz-SignedHeaders", "host"}};
    query.insert(query.end(), more.begin(), more.end());
    const s3::SignatureInput input{.method = "PUT",
                                   .path = "/pail/k",
                                   .query = query,
                                   .headers = {{"host", "h"}},
                                   .payload = "UNSIGNED-PAYLOAD",
                                   .time = time,
                                   .region = "us-east-1"};
    query.emplace_back(
        "X-Amz-Signature",
        s3::signature(input, s3::signing_key("secret", time.substr(0, 8), "us-east-1")));
    net::Request request{.method = "PUT",
                         .target = "/pail/k?" + s3::canonical_query(query),
                         .headers = {{"Host", "h"}}};
    for (const auto& header : headers) request.headers.push_back(header);
    request.headers.emplace_back("Content-Length", std::to_string(body.size()));
    return send(request, body);
  }
  const std::string sha = "x-amz-content-sha256";
};

TEST_F(SignedUrls, a_digest_sent_with_the_body_is_checked) {
  EXPECT_EQ(put_by_url("bytes", {}).status, 200);
  EXPECT_EQ(put_by_url("bytes", {{sha, "UNSIGNED-PAYLOAD"}}).status, 200);
  EXPECT_EQ(put_by_url("bytes", {{sha, s3::sha256_hex("bytes")}}).status, 200);
  EXPECT_EQ(code(put_by_url("other", {{sha, std::string(64, '0')}})), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(code(put_by_url("other", {{sha, "any"}})), "InvalidArgument");
  EXPECT_EQ(code(put_by_url("other", {}, {{"X-Amz-Content-Sha256", std::string(64, '0')}})),
            "XAmzContentSHA256Mismatch");
  EXPECT_EQ(code(put_by_url("other", {}, {{sha, std::string(64, '0')}})),
            "XAmzContentSHA256Mismatch");
  EXPECT_EQ(put_by_url("bytes", {}, {{"X-Amz-Content-Sha256", s3::sha256_hex("bytes")}}).status,
            200);
  EXPECT_EQ(get("/pail/k").body, "bytes");
}

TEST_F(SignedUrls, a_lock_or_an_acl_in_a_parameter_is_refused) {
  for (const char* name : {"x-amz-object-lock-mode", "X-Amz-Object-Lock-Legal-Hold", "x-amz-acl",
                           "x-amz-grant-read", "x-amz-tagging"}) {
    EXPECT_EQ(code(put_by_url("bytes", {}, {{name, "ON"}})), "NotImplemented") << name;
  }
  EXPECT_EQ(get("/pail/k").status, 404);
}

TEST_F(SignedUrls, aws_chunks_are_never_stored_as_they_come) {
  put("/pail/k", "before");
  const net::Response answer =
      put_by_url("1\r\nx\r\n0\r\n\r\n", {{sha, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}});
  EXPECT_GE(answer.status, 400) << "their total length was not announced";
  EXPECT_EQ(get("/pail/k").body, "before");
}

}  // namespace
}  // namespace orrery::s3server::auth_tests
