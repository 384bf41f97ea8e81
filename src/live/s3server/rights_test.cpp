// Who may, and for how long: ACLs, locks, signed URLs, policies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/policy.h"
#include "live/s3server/requests_fixture.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(RequestsTest, who_may_read_by_acl) {
  const auto stranger = [&](const std::string& target, const std::string& method = "GET") {
    return gateway->answer({.method = method, .target = target, .headers = {{"Host", "h"}}}).status;
  };
  const auto other = [&](const std::string& method, const std::string& target,
                         const std::string& body = {}) {
    return ask({.method = method, .target = target, .body = body, .access_key = "OTHER"}).status;
  };
  put("/pail/open", "x", {{"x-amz-acl", "public-read"}});
  put("/pail/known", "x", {{"x-amz-acl", "authenticated-read"}});
  put("/pail/shut", "x");
  EXPECT_EQ(stranger("/pail/open"), 200);
  EXPECT_EQ(stranger("/pail/known"), 403);
  EXPECT_EQ(stranger("/pail/shut"), 403);
  EXPECT_EQ(other("GET", "/pail/known"), 200);
  EXPECT_EQ(other("GET", "/pail/shut"), 403);
  EXPECT_EQ(stranger("/pail"), 403);
  EXPECT_EQ(stranger("/pail/none"), 403) << "who may not list may not know what is not there";
  EXPECT_EQ(ask({.method = "PUT", .target = "/pail?acl", .headers = {{"x-amz-acl", "public-read"}}})
                .status,
            200);
  EXPECT_EQ(stranger("/pail"), 200);
  EXPECT_EQ(stranger("/pail/none"), 404);
  EXPECT_EQ(stranger("/pail/shut"), 403) << "a list is not its objects";
  EXPECT_EQ(other("PUT", "/pail/theirs", "x"), 403) << "public-read is not public-write";
  const std::string shown = get("/pail?acl").body;
  EXPECT_THAT(shown, HasSubstr("xsi:type=\"Group\"><URI>"));
  EXPECT_THAT(shown, HasSubstr("xsi:type=\"CanonicalUser\"><ID>main<"));
  EXPECT_THAT(shown, HasSubstr("<Permission>READ</Permission>"));
  EXPECT_THAT(shown, Not(HasSubstr("<Permission>WRITE</Permission>")));
  ask({.method = "PUT", .target = "/pail?acl", .headers = {{"x-amz-acl", "public-read-write"}}});
  EXPECT_EQ(other("PUT", "/pail/theirs", "x"), 200);
  EXPECT_EQ(other("GET", "/pail/theirs"), 200) << "who put it may read it";
  EXPECT_EQ(other("GET", "/pail?acl"), 403);
  EXPECT_EQ(other("GET", "/pail/shut"), 403);
}

TEST_F(RequestsTest, locks_hold_as_long_as_they_say) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  EXPECT_THAT(get("/safe?versioning").body, HasSubstr("Enabled")) << "locks need versions";
  EXPECT_EQ(put("/safe?versioning",
                "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>")
                .status,
            409);
  const auto lock = [&](const std::string& rule) {
    return put("/safe?object-lock",
               "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>" + rule +
                   "</ObjectLockConfiguration>");
  };
  const auto retains = [](const std::string& inner) {
    return "<Rule><DefaultRetention>" + inner + "</DefaultRetention></Rule>";
  };
  EXPECT_EQ(code(lock(retains("<Mode>GOVERNANCE</Mode>"))), "MalformedXML");
  EXPECT_EQ(code(lock(retains("<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>"))),
            "MalformedXML");
  EXPECT_EQ(code(lock(retains("<Mode>SOME</Mode><Days>1</Days>"))), "MalformedXML");
  EXPECT_EQ(code(lock(retains("<Mode>GOVERNANCE</Mode><Days>0</Days>"))), "InvalidRetentionPeriod");
  EXPECT_EQ(lock(retains("<Mode>GOVERNANCE</Mode><Years>2</Years>")).status, 200);
  EXPECT_THAT(get("/safe?object-lock").body, HasSubstr("<Years>2</Years>"));
  EXPECT_EQ(code(put("/pail?object-lock",
                     "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
                     "</ObjectLockConfiguration>")),
            "InvalidBucketState");
  const TimeMs before = now;
  const std::string id = header(put("/safe/k", "x"), "x-amz-version-id");
  const auto until = moment_of_iso(header(head("/safe/k"), "x-amz-object-lock-retain-until-date"));
  ASSERT_TRUE(until);
  EXPECT_GE(*until, before + 730 * kDayMs);
  EXPECT_LE(*until, now + 730 * kDayMs);
  const auto remove = [&](bool bypass) {
    return ask({.method = "DELETE",
                .target = "/safe/k?versionId=" + id,
                .headers = bypass ? HeaderList{{"x-amz-bypass-governance-retention", "true"}}
                                  : HeaderList{}})
        .status;
  };
  EXPECT_EQ(remove(false), 403);
  const auto retain = [&](const std::string& mode, TimeMs at, bool bypass) {
    return ask({.method = "PUT",
                .target = "/safe/k?retention&versionId=" + id,
                .body = "<Retention><Mode>" + mode + "</Mode><RetainUntilDate>" + xml_time(at) +
                        "</RetainUntilDate></Retention>",
                .headers = bypass ? HeaderList{{"x-amz-bypass-governance-retention", "true"}}
                                  : HeaderList{}})
        .status;
  };
  EXPECT_EQ(retain("GOVERNANCE", *until + 1000, false), 200) << "longer: by anyone";
  EXPECT_EQ(retain("GOVERNANCE", *until, false), 403) << "shorter: not so";
  EXPECT_EQ(retain("GOVERNANCE", *until, true), 200);
  EXPECT_EQ(retain("COMPLIANCE", now + 100'000, true), 200);
  EXPECT_EQ(retain("COMPLIANCE", now + 1000, true), 403) << "compliance is never shortened";
  EXPECT_EQ(retain("GOVERNANCE", now + 200'000, true), 403) << "nor made laxer";
  EXPECT_EQ(remove(true), 403);
  now += 200'000;
  EXPECT_EQ(retain("GOVERNANCE", now + 100'000, false), 200) << "it is over";
  EXPECT_EQ(remove(true), 204);
}

TEST_F(RequestsTest, a_hold_needs_no_date_and_a_lock_needs_a_bucket_that_has_them) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  put("/safe/h", "x", {{"x-amz-object-lock-legal-hold", "ON"}});
  EXPECT_EQ(header(head("/safe/h"), "x-amz-object-lock-legal-hold"), "ON");
  EXPECT_THAT(get("/safe/h?legal-hold").body, HasSubstr("ON"));
  EXPECT_EQ(put("/safe/h?legal-hold", "<LegalHold><Status>OFF</Status></LegalHold>").status, 200);
  EXPECT_THAT(get("/safe/h?legal-hold").body, HasSubstr("OFF"));
  const auto put_locked = [&](const std::string& target, HeaderList headers) {
    return code(put(target, "x", std::move(headers)));
  };
  const std::string later = xml_time(now + 100'000);
  const std::string mode = "x-amz-object-lock-mode", date = "x-amz-object-lock-retain-until-date";
  EXPECT_EQ(put_locked("/pail/k", {{mode, "GOVERNANCE"}, {date, later}}), "InvalidRequest");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "GOVERNANCE"}}), "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "SOME"}, {date, later}}), "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "GOVERNANCE"}, {date, xml_time(now - 1000)}}),
            "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{"x-amz-object-lock-legal-hold", "MAYBE"}}), "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "COMPLIANCE"}, {date, later}}), "");
  EXPECT_THAT(get("/safe/k?retention").body, HasSubstr("COMPLIANCE"));
}

TEST_F(RequestsTest, a_signed_url_lives_as_long_as_it_says) {
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
  EXPECT_EQ(gateway->answer(signed_url("60", now + 20 * 60'000)).status, 403) << "not yet";
  EXPECT_EQ(gateway->answer(signed_url("60", now, "wrong")).status, 403);
  EXPECT_EQ(gateway->answer(signed_url("60", now, "secret", "date")).status, 403)
      << "Host unsigned";
  net::Request added = signed_url("60", now);
  added.headers.emplace_back("x-amz-acl", "public-read");
  EXPECT_EQ(gateway->answer(added).status, 403) << "what changes the meaning must be signed";
}

TEST_F(RequestsTest, a_signature_is_of_joined_headers_and_of_its_day) {
  put("/pail/k", "bytes");
  // Several headers of one name are one, their values joined by commas.
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
  // A credential of another day than the request, or not of this protocol at all.
  net::Request other_day = signed_request({.target = "/pail/k"});
  for (auto& [name, value] : other_day.headers) {
    if (name != "Authorization") continue;
    const auto at = value.find(time.substr(0, 8));
    value.replace(at, 8, "20010101");
  }
  EXPECT_EQ(gateway->answer(other_day).status, 403);
}

TEST_F(RequestsTest, policies_fit_by_tenant_action_and_resource) {
  const auto says = [](const std::string& principal, const std::string& effect,
                       const std::string& action, const std::string& resource,
                       std::string_view tenant, std::string_view asked, std::string_view of) {
    const auto policy = policy_of(R"({"Statement":{"Effect":")" + effect + R"(","Principal":)" +
                                      principal + R"(,"Action":")" + action +
                                      R"(","Resource":"arn:aws:s3:::)" + resource + "\"}}",
                                  "pail");
    EXPECT_TRUE(policy);
    return policy ? policy_says(*policy, tenant, asked, of) : std::nullopt;
  };
  const std::string blue = R"({"AWS":"arn:aws:iam:::user/blue"})";
  EXPECT_EQ(says(blue, "Allow", "s3:Get*", "pail/*", "blue", "s3:GetObject", "pail/k"), true);
  EXPECT_EQ(says(blue, "Deny", "s3:Get*", "pail/*", "blue", "s3:GetObject", "pail/k"), false);
  EXPECT_EQ(says(blue, "Allow", "s3:Get*", "pail/*", "red", "s3:GetObject", "pail/k"),
            std::nullopt);
  EXPECT_EQ(says(blue, "Allow", "s3:Get*", "pail/*", "", "s3:GetObject", "pail/k"), std::nullopt);
  EXPECT_EQ(says(blue, "Allow", "s3:Get*", "pail/*", "blue", "s3:PutObject", "pail/k"),
            std::nullopt);
  EXPECT_EQ(says(blue, "Allow", "s3:Get*", "pail/a?", "blue", "s3:GetObject", "pail/b1"),
            std::nullopt);
  EXPECT_EQ(says(blue, "Allow", "s3:Get*", "pail/a?", "blue", "s3:GetObject", "pail/a1"), true);
  EXPECT_EQ(says(blue, "Allow", "*", "pail*", "blue", "s3:GetObject", "pail/k"), true) << "both";
  EXPECT_EQ(says(blue, "Allow", "*", "pail*", "blue", "s3:ListBucket", "pail"), true);
  EXPECT_EQ(says("\"*\"", "Allow", "*", "pail", "", "s3:ListBucket", "pail"), true);
  EXPECT_EQ(says("\"green\"", "Allow", "*", "pail", "green", "s3:ListBucket", "pail"), true);
  const auto refused_as = [](const std::string& json) {
    const auto policy = policy_of(json, "pail");
    return policy ? "taken" : policy.error().code;
  };
  const std::string rest = R"(,"Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::pail"}})";
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Allow")" + rest), "taken");
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Perhaps")" + rest), "MalformedPolicy");
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Allow","NotAction":"x")" + rest),
            "NotImplemented");
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"ec2:*",)"
                       R"("Resource":"arn:aws:s3:::pail"}})"),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:*",)"
                       R"("Resource":"pail"}})"),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Allow","Sid":")" + std::string(21'000, 's') +
                       '"' + rest),
            "MalformedPolicy");
  put("/pail?policy", R"({"Statement":{"Effect":"Deny")" + rest);
  EXPECT_EQ(get("/pail?policyStatus").status, 403) << "denied to all, the owner among them";
}

TEST_F(RequestsTest, a_policy_that_cannot_be_read_lets_only_the_owner_in) {
  put("/pail/k", "x", {{"x-amz-acl", "public-read"}});
  ASSERT_TRUE(store->change_bucket("pail", [](Bucket& bucket) -> Answer<void> {
    bucket.documents.emplace_back("policy", "rubbish");
    return {};
  }));
  EXPECT_EQ(get("/pail/k").status, 200);
  EXPECT_EQ(ask({.target = "/pail/k", .access_key = "OTHER"}).status, 403);
}

}  // namespace
}  // namespace orrery::s3server
