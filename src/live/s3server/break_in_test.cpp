// Ways in that were open once: a lock passed by who may only delete, denials that never apply,
// existence found out by copying, signatures for another service, bodies of signed URLs that nobody
// checks, and uploads at once that pass a quota together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/policy.h"
#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::break_in_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class BreakIn : public RequestsTest {
 protected:
  net::Response other(const std::string& method, const std::string& target,
                      const std::string& body = {}, HeaderList headers = {}) {
    return ask({.method = method,
                .target = target,
                .body = body,
                .headers = std::move(headers),
                .access_key = "OTHER"});
  }
  net::Response stranger(const std::string& method, const std::string& target,
                         HeaderList headers = {}) {
    headers.emplace_back("Host", "h");
    return gateway->answer({.method = method, .target = target, .headers = std::move(headers)});
  }
  // Statements of effect, principal and action, on the bucket and all its keys.
  static std::string statement(const std::string& effect, const std::string& principal,
                               const std::string& actions, const std::string& bucket = "safe") {
    return R"({"Effect":")" + effect + R"(","Principal":)" + principal + R"(,"Action":)" + actions +
           R"(,"Resource":["arn:aws:s3:::)" + bucket + R"(","arn:aws:s3:::)" + bucket + R"(/*"]})";
  }
  net::Response set_policy(const std::string& statements, const std::string& bucket = "safe") {
    return put('/' + bucket + "?policy", R"({"Statement":[)" + statements + "]}");
  }
  // A bucket with locks, and a version under governance for a month in it.
  std::string governed() {
    ask({.method = "PUT",
         .target = "/safe",
         .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
    return header(put("/safe/k", "x",
                      {{"x-amz-object-lock-mode", "GOVERNANCE"},
                       {"x-amz-object-lock-retain-until-date", xml_time(now + 30 * kDayMs)}}),
                  "x-amz-version-id");
  }
};

const std::string kOther = R"({"AWS":"other"})";
const HeaderList kBypass = {{"x-amz-bypass-governance-retention", "true"}};

TEST_F(BreakIn, who_may_delete_may_not_pass_governance) {
  const std::string version = "/safe/k?versionId=" + governed();
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:DeleteObject")") + ',' +
                       statement("Deny", "\"*\"",
                                 R"(["s3:DeleteObjectVersion","s3:BypassGovernanceRetention"])"))
                .status,
            204);
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 403);
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:DeleteObject")")).status, 204);
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 403) << "a marker is not a version";
  EXPECT_EQ(other("DELETE", "/safe/k").status, 204) << "it is hidden, and kept";
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:DeleteObjectVersion")")).status, 204);
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 403) << "nor is it the bypass";
  EXPECT_EQ(get(version).body, "x");
  ASSERT_EQ(set_policy(statement("Allow", kOther,
                                 R"(["s3:DeleteObjectVersion","s3:BypassGovernanceRetention"])"))
                .status,
            204);
  EXPECT_EQ(other("DELETE", version).status, 403) << "it must be asked for too";
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 204);
}

TEST_F(BreakIn, an_open_bucket_does_not_open_its_versions_and_locks) {
  const std::string version = "/safe/k?versionId=" + governed();
  ask({.method = "PUT", .target = "/safe?acl", .headers = {{"x-amz-acl", "public-read-write"}}});
  EXPECT_EQ(stranger("DELETE", version, kBypass).status, 403);
  EXPECT_EQ(stranger("DELETE", version).status, 403);
  const std::string several = "<Delete><Object><Key>k</Key><VersionId>" + version.substr(20) +
                              "</VersionId></Object></Delete>";
  EXPECT_THAT(other("POST", "/safe?delete", several, kBypass).body, HasSubstr("AccessDenied"));
  EXPECT_EQ(get(version).body, "x");
  EXPECT_EQ(ask({.method = "DELETE", .target = version, .headers = kBypass}).status, 204)
      << "its owner may";
}

TEST_F(BreakIn, who_may_put_may_not_lock_publish_or_tag) {
  governed();
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:PutObject")")).status, 204);
  const std::string far = xml_time(now + 900'000 * kDayMs);
  const std::vector<HeaderList> more = {
      {{"x-amz-object-lock-mode", "COMPLIANCE"}, {"x-amz-object-lock-retain-until-date", far}},
      {{"x-amz-object-lock-legal-hold", "ON"}},
      {{"x-amz-acl", "public-read"}},
      {{"x-amz-tagging", "a=b"}}};
  for (const HeaderList& headers : more) {
    EXPECT_EQ(other("PUT", "/safe/new", "x", headers).status, 403) << headers.front().first;
    EXPECT_EQ(other("POST", "/safe/new?uploads", "", headers).status, 403) << headers.front().first;
  }
  EXPECT_EQ(other("PUT", "/safe/new", "x").status, 200);
}

TEST_F(BreakIn, a_denial_applies_however_it_is_written) {
  put("/pail/k", "secret");
  const std::string all = statement("Allow", "\"*\"", R"("s3:GetObject")", "pail");
  ASSERT_EQ(set_policy(all, "pail").status, 204);
  ASSERT_EQ(other("GET", "/pail/k").status, 200);
  for (const char* action : {"s3:getobject", "S3:GETOBJECT", "s3:g?tobj*", "s3:*", "*"}) {
    const std::string denied = statement("Deny", kOther, '"' + std::string(action) + '"', "pail");
    ASSERT_EQ(set_policy(all + ',' + denied, "pail").status, 204) << action;
    EXPECT_EQ(other("GET", "/pail/k").status, 403) << action;
  }
}

TEST_F(BreakIn, a_statement_that_would_never_apply_is_refused) {
  put("/pail/k", "secret");
  const std::string all = statement("Allow", "\"*\"", R"("s3:GetObject")", "pail");
  ASSERT_EQ(set_policy(all, "pail").status, 204);
  const auto refused_as = [&](const std::string& more) {
    const net::Response answer = set_policy(all + ',' + more, "pail");
    EXPECT_GE(answer.status, 400) << more;
    return code(answer);
  };
  const auto deny = [](const std::string& principal, const std::string& action) {
    return statement("Deny", principal, action, "pail");
  };
  EXPECT_EQ(refused_as(deny(kOther, R"("s3:GetObjekt")")), "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(kOther, R"(["s3:GetObject","s3:Lock*Up"])")), "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(R"({"AWS":"main","CanonicalUser":"other"})", R"("s3:GetObject")")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(R"({"Service":"s3.amazonaws.com"})", R"("s3:GetObject")")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(R"({"AWS":"othr"})", R"("s3:GetObject")")), "MalformedPolicy")
      << "no tenant is named so";
  EXPECT_EQ(refused_as(deny(R"({"AWS":"arn:aws:iam::other:role/other"})", R"("s3:GetObject")")),
            "MalformedPolicy");
  const std::string on_bucket = R"({"Effect":"Deny","Principal":"*","Action":"s3:GetObject",)"
                                R"("Resource":"arn:aws:s3:::pail"})";
  EXPECT_EQ(refused_as(on_bucket), "MalformedPolicy") << "a bucket is not an object";
  const std::string on_objects = R"({"Effect":"Deny","Principal":"*","Action":"s3:ListBucket",)"
                                 R"("Resource":"arn:aws:s3:::pail/*"})";
  EXPECT_EQ(refused_as(on_objects), "MalformedPolicy") << "nor is an object a bucket";
  const auto with = [&](const std::string& field) {
    std::string text = deny("\"*\"", R"("s3:GetObject")");
    return text.insert(1, field + ',');
  };
  EXPECT_EQ(refused_as(with(R"("Efect":"Deny")")), "MalformedPolicy");
  EXPECT_EQ(refused_as(with(R"("Effect":"Allow")")), "MalformedPolicy") << "two effects";
  EXPECT_EQ(refused_as(with(R"("Condition":{"IpAdress":{"aws:SourceIp":"10.0.0.0/8"}})")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(with(R"("Condition":{"IpAddress":{"aws:SourceIpp":"10.0.0.0/8"}})")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(with(R"("Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}})")),
            "NotImplemented")
      << "S3 knows it, and here it is not evaluated";
  EXPECT_EQ(refused_as(with(R"("NotAction":"s3:PutObject")")), "NotImplemented");
  std::string variable = deny("\"*\"", R"("s3:GetObject")");
  variable.replace(variable.find("pail/*"), 6, "pail/${aws:username}/*");
  EXPECT_EQ(refused_as(variable), "NotImplemented");
  EXPECT_EQ(code(put("/pail?policy", R"({"Version":"2013","Statement":[)" + all + "]}")),
            "MalformedPolicy");
  EXPECT_EQ(other("GET", "/pail/k").status, 200) << "the policy before stays";
}

TEST_F(BreakIn, a_copy_does_not_tell_what_is_in_anothers_bucket) {
  version_it("Enabled");
  const std::string version = header(put("/pail/k", "x"), "x-amz-version-id");
  other("PUT", "/his");
  const std::string began = other("POST", "/his/big?uploads").body;
  const std::string part =
      "/his/big?partNumber=1&uploadId=" + between(began, "<UploadId>", "</UploadId>");
  for (const std::string& target : {std::string("/his/copy"), part}) {
    std::string first;
    for (const std::string& source :
         {std::string("/pail/k"), std::string("/pail/nosuch"), "/pail/k?versionId=" + version,
          std::string("/pail/k?versionId=0123456789abcdef0123456789abcdef"),
          std::string("/pail/nosuch?versionId=null")}) {
      const net::Response answer = other("PUT", target, "", {{"x-amz-copy-source", source}});
      EXPECT_EQ(answer.status, 403) << source;
      EXPECT_EQ(code(answer), "AccessDenied") << source;
    }
  }
  EXPECT_EQ(copy("/pail/copy", "/pail/nosuch").status, 404) << "who may list may know";
}

TEST_F(BreakIn, who_may_only_write_cannot_ask_what_is_there) {
  put("/pail/k", "x");
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"(["s3:PutObject","s3:DeleteObject"])", "pail"),
                       "pail")
                .status,
            204);
  const std::string right = "\"9dd4e461268c8034f5c8564e155c67a6\"";  // of "x"
  const std::string wrong = "\"00000000000000000000000000000000\"";
  for (const std::string& key : {std::string("/pail/k"), std::string("/pail/none")}) {
    for (const std::string& etag : {right, wrong}) {
      EXPECT_EQ(other("PUT", key, "y", {{"If-Match", etag}}).status, 403) << key;
      EXPECT_EQ(other("PUT", key, "y", {{"If-None-Match", etag}}).status, 403) << key;
      EXPECT_EQ(other("DELETE", key, "", {{"If-Match", etag}}).status, 403) << key;
    }
    EXPECT_EQ(other("PUT", key + "?tagging", "<Tagging><TagSet/></Tagging>").status, 403) << key;
  }
  EXPECT_EQ(get("/pail/k").body, "x");
  EXPECT_EQ(put("/pail/k", "y", {{"If-Match", right}}).status, 200) << "its owner may";
  EXPECT_EQ(put("/pail/none", "y", {{"If-None-Match", wrong}}).status, 200);
}

TEST_F(BreakIn, tags_and_locks_are_shown_to_who_may_ask_for_them) {
  governed();
  put("/safe/k", "x",
      {{"x-amz-tagging", "a=b"},
       {"x-amz-object-lock-mode", "GOVERNANCE"},
       {"x-amz-object-lock-retain-until-date", xml_time(now + 30 * kDayMs)},
       {"x-amz-object-lock-legal-hold", "ON"}});
  const auto shown = [&](const std::string& actions) {
    EXPECT_EQ(set_policy(statement("Allow", kOther, actions)).status, 204);
    const net::Response got = other("GET", "/safe/k");
    EXPECT_EQ(got.status, 200);
    return header(got, "x-amz-tagging-count") + header(got, "x-amz-object-lock-mode") +
           header(got, "x-amz-object-lock-legal-hold");
  };
  EXPECT_EQ(shown(R"("s3:GetObject")"), "");
  EXPECT_EQ(shown(R"(["s3:GetObject","s3:GetObjectTagging"])"), "1");
  EXPECT_EQ(shown(R"(["s3:GetObject","s3:GetObjectRetention"])"), "GOVERNANCE");
  EXPECT_EQ(shown(R"("s3:GetObject*")"), "1GOVERNANCEON");
}

TEST_F(BreakIn, only_its_owner_touches_a_buckets_policy) {
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:*")", "pail"), "pail").status, 204);
  const std::string mine =
      R"({"Statement":[)" + statement("Allow", kOther, R"("s3:*")", "pail") + "]}";
  EXPECT_EQ(other("GET", "/pail?policy").status, 405);
  EXPECT_EQ(other("PUT", "/pail?policy", mine).status, 405);
  EXPECT_EQ(other("DELETE", "/pail?policy").status, 405);
  ASSERT_EQ(set_policy(statement("Deny", "\"*\"", R"("s3:*")", "pail"), "pail").status, 204);
  EXPECT_EQ(get("/pail").status, 403) << "he has locked himself out";
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?policy"}).status, 204) << "and in again";
}

TEST_F(BreakIn, a_signature_is_for_this_region_and_this_service) {
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
    EXPECT_EQ(header(answer, "x-amz-bucket-region"), "us-east-1") << "where to sign for";
  }
}

class SignedUrls : public BreakIn {
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

TEST_F(SignedUrls, a_digest_that_comes_with_the_body_holds_it) {
  EXPECT_EQ(put_by_url("bytes", {}).status, 200);
  EXPECT_EQ(put_by_url("bytes", {{sha, "UNSIGNED-PAYLOAD"}}).status, 200);
  EXPECT_EQ(put_by_url("bytes", {{sha, s3::sha256_hex("bytes")}}).status, 200);
  EXPECT_EQ(code(put_by_url("other", {{sha, std::string(64, '0')}})), "XAmzContentSHA256Mismatch");
  EXPECT_EQ(code(put_by_url("other", {{sha, "any"}})), "InvalidArgument");
  EXPECT_EQ(code(put_by_url("other", {}, {{"X-Amz-Content-Sha256", std::string(64, '0')}})),
            "XAmzContentSHA256Mismatch");
  EXPECT_EQ(put_by_url("bytes", {}, {{"X-Amz-Content-Sha256", s3::sha256_hex("bytes")}}).status,
            200);
  EXPECT_EQ(get("/pail/k").body, "bytes");
}

TEST_F(SignedUrls, chunks_are_never_stored_as_they_come) {
  put("/pail/k", "before");
  const net::Response answer =
      put_by_url("1\r\nx\r\n0\r\n\r\n", {{sha, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}});
  EXPECT_GE(answer.status, 400) << "their length in all was not announced";
  EXPECT_EQ(get("/pail/k").body, "before");
}

class Quotas : public BreakIn {
 protected:
  Quotas() {
    GatewaySetting setting;
    setting.quota_of = [](std::string_view tenant) { return tenant == "main" ? 50'000u : 0u; };
    open_gateway(std::move(setting));
  }
  // The announcement of so many bytes, and what is to be done with them.
  struct Begun {
    std::unique_ptr<net::Request> request;
    net::BodyPlan plan;
    net::BodySink* sink() {
      auto* held = std::get_if<std::unique_ptr<net::BodySink>>(&plan);
      return held ? held->get() : nullptr;
    }
  };
  Begun begin(const std::string& key, std::size_t bytes, bool announced = true) {
    Asked asked{.method = "PUT", .target = "/pail/" + key};
    asked.payload = "UNSIGNED-PAYLOAD";
    auto request = std::make_unique<net::Request>(signed_request(asked));
    if (announced) request->headers.emplace_back("Content-Length", std::to_string(bytes));
    net::BodyPlan plan = gateway->plan(*request);
    return {std::move(request), std::move(plan)};
  }
  std::uint64_t used() { return store->usage().of("pail").bytes; }
};

TEST_F(Quotas, uploads_at_once_cannot_pass_a_quota_together) {
  std::vector<Begun> begun;
  for (int i = 0; i < 16; ++i) begun.push_back(begin("k" + std::to_string(i), 20'000));
  int taken = 0;
  for (Begun& one : begun) {
    if (!one.sink()) {
      EXPECT_EQ(code(std::get<net::Response>(one.plan)), "QuotaExceeded");
      continue;
    }
    ++taken;
    EXPECT_FALSE(one.sink()->take(std::string(20'000, 'x')));
    EXPECT_EQ(one.sink()->finish().status, 200);
  }
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(used(), 40'000u);
  EXPECT_FALSE(begin("more", 10'001).sink());
  EXPECT_TRUE(begin("more", 10'000).sink());
}

TEST_F(Quotas, what_an_upload_held_is_given_back_when_it_fails_or_is_counted) {
  for (int i = 0; i < 5; ++i) {
    Begun gone = begin("gone", 50'000);
    ASSERT_TRUE(gone.sink()) << "the one before left " << i;
    gone.sink()->take("some");
  }
  for (int i = 0; i < 5; ++i) {
    Begun wrong = begin("short", 50'000);
    ASSERT_TRUE(wrong.sink());
    wrong.sink()->take("some");
    EXPECT_EQ(code(wrong.sink()->finish()), "IncompleteBody");
  }
  Begun kept = begin("kept", 25'000);
  kept.sink()->take(std::string(25'000, 'x'));
  EXPECT_EQ(kept.sink()->finish().status, 200);
  EXPECT_TRUE(begin("half", 25'000).sink()) << "counted once, though its sink is still there";
}

TEST_F(Quotas, hold_for_bytes_whose_number_was_not_announced) {
  Begun open = begin("open", 0, false);
  ASSERT_TRUE(open.sink());
  EXPECT_FALSE(open.sink()->take(std::string(40'000, 'x')));
  EXPECT_FALSE(begin("beside", 10'001).sink()) << "what has come is held";
  const auto refusal = open.sink()->take(std::string(10'001, 'x'));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(code(*refusal), "QuotaExceeded");
}

TEST_F(Quotas, a_copy_is_held_as_an_upload_is) {
  put("/pail/k", std::string(20'000, 'x'));
  EXPECT_EQ(copy("/pail/a", "/pail/k").status, 200);
  EXPECT_EQ(code(copy("/pail/b", "/pail/k")), "QuotaExceeded");
  EXPECT_EQ(used(), 40'000u);
}

}  // namespace
}  // namespace orrery::s3server::break_in_tests
