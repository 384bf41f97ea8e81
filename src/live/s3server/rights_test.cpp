// Access to another tenant's bucket: ways in that were once open, and what must not be revealed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "live/s3server/gateway_fixture.h"
#include "live/store/moment.h"

namespace orrery::s3server::rights_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class RightsTest : public GatewayTest {
 protected:
  // A statement on the bucket and all its keys.
  static std::string statement(const std::string& effect, const std::string& principal,
                               const std::string& actions, const std::string& bucket = "safe") {
    return R"({"Effect":")" + effect + R"(","Principal":)" + principal + R"(,"Action":)" + actions +
           R"(,"Resource":["arn:aws:s3:::)" + bucket + R"(","arn:aws:s3:::)" + bucket + R"(/*"]})";
  }
  net::Response set_policy(const std::string& statements, const std::string& bucket = "safe") {
    return put('/' + bucket + "?policy", R"({"Statement":[)" + statements + "]}");
  }
  // Creates "safe" with a version under governance for a month; returns its id.
  std::string governed() {
    make_safe();
    return header(put("/safe/k", "x",
                      {{"x-amz-object-lock-mode", "GOVERNANCE"},
                       {"x-amz-object-lock-retain-until-date", xml_time(now + 30 * kDayMs)}}),
                  "x-amz-version-id");
  }
};

const std::string kOther = R"({"AWS":"other"})";

const HeaderList kBypass = {{"x-amz-bypass-governance-retention", "true"}};

TEST_F(RightsTest, the_right_to_delete_does_not_bypass_governance) {
  const std::string version = "/safe/k?versionId=" + governed();
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:DeleteObject")") + ',' +
                       statement("Deny", "\"*\"",
                                 R"(["s3:DeleteObjectVersion","s3:BypassGovernanceRetention"])"))
                .status,
            204);
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 403);
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:DeleteObject")")).status, 204);
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 403) << "a delete marker is not an "
                                                                  "object version";
  EXPECT_EQ(other("DELETE", "/safe/k").status, 204) << "it is hidden, and kept";
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:DeleteObjectVersion")")).status, 204);
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 403) << "the right to delete does not "
                                                                  "include the bypass";
  EXPECT_EQ(get(version).body, "x");
  ASSERT_EQ(set_policy(statement("Allow", kOther,
                                 R"(["s3:DeleteObjectVersion","s3:BypassGovernanceRetention"])"))
                .status,
            204);
  EXPECT_EQ(other("DELETE", version).status, 403) << "the bypass must also be requested";
  EXPECT_EQ(other("DELETE", version, "", kBypass).status, 204);
}

TEST_F(RightsTest, a_public_bucket_does_not_expose_its_versions_and_locks) {
  const std::string version = "/safe/k?versionId=" + governed();
  ask({.method = "PUT", .target = "/safe?acl", .headers = {{"x-amz-acl", "public-read-write"}}});
  EXPECT_EQ(stranger("DELETE", version, kBypass).status, 403);
  EXPECT_EQ(stranger("DELETE", version).status, 403);
  const std::string several = "<Delete><Object><Key>k</Key><VersionId>" + version.substr(20) +
                              "</VersionId></Object></Delete>";
  EXPECT_THAT(other("POST", "/safe?delete", several, kBypass).body, HasSubstr("AccessDenied"));
  EXPECT_EQ(get(version).body, "x");
  EXPECT_EQ(ask({.method = "DELETE", .target = version, .headers = kBypass}).status, 204)
      << "the owner may do it";
}

TEST_F(RightsTest, the_right_to_put_does_not_include_locks_acls_and_tags) {
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

TEST_F(RightsTest, a_copy_does_not_reveal_another_tenants_keys) {
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
  EXPECT_EQ(copy("/pail/copy", "/pail/nosuch").status, 404) << "a caller who may list may know it";
}

TEST_F(RightsTest, the_right_to_write_does_not_reveal_what_is_there) {
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
  EXPECT_EQ(put("/pail/k", "y", {{"If-Match", right}}).status, 200) << "the owner may do it";
  EXPECT_EQ(put("/pail/none", "y", {{"If-None-Match", wrong}}).status, 200);
}

TEST_F(RightsTest, tags_and_locks_are_shown_only_with_the_right_to_read_them) {
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

TEST_F(RightsTest, only_the_owner_changes_a_policy) {
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:*")", "pail"), "pail").status, 204);
  const std::string mine =
      R"({"Statement":[)" + statement("Allow", kOther, R"("s3:*")", "pail") + "]}";
  EXPECT_EQ(other("GET", "/pail?policy").status, 405);
  EXPECT_EQ(other("PUT", "/pail?policy", mine).status, 405);
  EXPECT_EQ(other("DELETE", "/pail?policy").status, 405);
  ASSERT_EQ(set_policy(statement("Deny", "\"*\"", R"("s3:*")", "pail"), "pail").status, 204);
  EXPECT_EQ(get("/pail").status, 403) << "the owner has locked himself out";
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?policy"}).status, 204)
      << "and regains access";
}

TEST_F(RightsTest, a_tenant_cannot_use_another_tenants_bucket) {
  put("/pail/a", "secret");
  const HeaderList copy = {{"x-amz-copy-source", "/pail/a"}};
  put("/pail?lifecycle", "");
  EXPECT_EQ(other("PUT", "/mine").status, 200);
  for (const auto& [method, target] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/pail"},
                                                        {"GET", "/pail/a"},
                                                        {"HEAD", "/pail/a"},
                                                        {"DELETE", "/pail/a"},
                                                        {"DELETE", "/pail"},
                                                        {"GET", "/pail?acl"},
                                                        {"GET", "/pail?versions"},
                                                        {"GET", "/pail?uploads"},
                                                        {"GET", "/pail?lifecycle"},
                                                        {"GET", "/pail?policy"},
                                                        {"DELETE", "/pail?policy"},
                                                        {"GET", "/pail/a?tagging"},
                                                        {"GET", "/pail/a?acl"},
                                                        {"GET", "/pail/a?orrery-lineage"},
                                                        {"POST", "/pail/a?uploads"},
                                                        {"GET", "/pail/not-there"}}) {
    EXPECT_EQ(other(method, target).status, 403) << method << ' ' << target;
  }
  EXPECT_EQ(other("PUT", "/pail/a", "mine now").status, 403);
  EXPECT_EQ(other("PUT", "/pail/a?tagging", "<Tagging><TagSet/></Tagging>").status, 403);
  EXPECT_EQ(other("PUT", "/pail?policy", "{}").status, 403);
  EXPECT_EQ(
      other("POST", "/pail/a?restore", "<RestoreRequest><Days>1</Days></RestoreRequest>").status,
      403);
  EXPECT_EQ(other("POST", "/pail?delete", "<Delete><Object><Key>a</Key></Object></Delete>").status,
            403);
  EXPECT_EQ(other("PUT", "/mine/copy", "", copy).status, 403);
  EXPECT_THAT(other("GET", "/").body, Not(HasSubstr("pail")));
  EXPECT_EQ(ask({.target = "/pail/a"}).body, "secret");
}

TEST_F(RightsTest, an_unreadable_policy_lets_only_the_owner_in) {
  put("/pail/k", "x", {{"x-amz-acl", "public-read"}});
  ASSERT_TRUE(store->change_bucket("pail", [](Bucket& bucket) -> Answer<void> {
    bucket.documents.emplace_back("policy", "rubbish");
    return {};
  }));
  EXPECT_EQ(get("/pail/k").status, 200);
  EXPECT_EQ(ask({.target = "/pail/k", .access_key = "OTHER"}).status, 403);
}

// A key that the policy does not mention is reserved for the owner.
TEST_F(RightsTest, a_removal_of_many_checks_each_key) {
  put("/pail/open", "x");
  put("/pail/shut", "x");
  const std::string policy =
      R"({"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:DeleteObject",)"
      R"("Resource":"arn:aws:s3:::pail/open"}]})";
  ASSERT_LT(put("/pail?policy", policy).status, 300);
  const net::Response done =
      ask({.method = "POST",
           .target = "/pail?delete",
           .body = "<Delete><Object><Key>open</Key></Object><Object><Key>shut</Key></Object>"
                   "</Delete>",
           .access_key = "OTHER"});
  EXPECT_EQ(get("/pail/shut").status, 200) << done.body;
}

}  // namespace
}  // namespace orrery::s3server::rights_tests
