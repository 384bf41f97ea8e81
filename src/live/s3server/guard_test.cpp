// Who may do what, and how much: policies, quotas, limits, the audit log, and one tenant at
// another's bucket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "live/drives/file_text.h"
#include "live/s3server/gateway_fixture.h"
#include "live/s3server/policy.h"
#include "live/s3server/secrets.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

class GuardTest : public GatewayTest {
 protected:
  net::Response other(const std::string& method, const std::string& target,
                      const std::string& body = {}, HeaderList headers = {}) {
    return ask({.method = method,
                .target = target,
                .body = body,
                .headers = std::move(headers),
                .access_key = "OTHER"});
  }
  void set_policy(const std::string& effect, const std::string& action, const std::string& resource,
                  const std::string& more = "") {
    const std::string policy = R"({"Version":"2012-10-17","Statement":[{"Effect":")" + effect +
                               R"(","Principal":{"AWS":["arn:aws:iam::other:root"]},"Action":")" +
                               action + R"(","Resource":"arn:aws:s3:::)" + resource + "\"}" + more +
                               "]}";
    const net::Response answer = put("/pail?policy", policy);
    ASSERT_EQ(answer.status, 204) << answer.body;
  }
};

TEST_F(GuardTest, a_tenant_gets_nowhere_at_anothers_bucket) {
  put("/pail", "");
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

TEST_F(GuardTest, a_policy_lets_another_read_a_prefix_and_nothing_else) {
  put("/pail", "");
  put("/pail/open/a", "for all");
  put("/pail/shut/a", "not for all");
  set_policy("Allow", "s3:GetObject", "pail/open/*");
  EXPECT_EQ(other("GET", "/pail/open/a").body, "for all");
  EXPECT_EQ(other("GET", "/pail/shut/a").status, 403);
  EXPECT_EQ(other("GET", "/pail").status, 403);
  EXPECT_EQ(other("PUT", "/pail/open/b", "x").status, 403);
  EXPECT_EQ(gateway->answer({.target = "/pail/open/a", .headers = {{"Host", "localhost"}}}).status,
            403);
  EXPECT_THAT(ask({.target = "/pail?policy"}).body, HasSubstr("pail/open/*"));
  EXPECT_THAT(ask({.target = "/pail?policyStatus"}).body, HasSubstr("<IsPublic>false<"));
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?policy"}).status, 204);
  EXPECT_EQ(other("GET", "/pail/open/a").status, 403);
  EXPECT_EQ(ask({.target = "/pail?policy"}).status, 404);
}

TEST_F(GuardTest, deny_goes_before_allow_and_an_owner_can_still_mend_his_policy) {
  put("/pail", "");
  put("/pail/a", "bytes");
  set_policy("Allow", "s3:*", "pail/*",
             R"(,{"Effect":"Deny","Principal":"*","Action":["s3:Delete*","s3:PutBucketPolicy"],)"
             R"("Resource":["arn:aws:s3:::pail","arn:aws:s3:::pail/*"]})");
  EXPECT_EQ(other("GET", "/pail/a").status, 200);
  EXPECT_EQ(other("PUT", "/pail/b", "theirs").status, 200);
  EXPECT_EQ(other("DELETE", "/pail/b").status, 403);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/a"}).status, 403);
  const net::Response many = ask({.method = "POST",
                                  .target = "/pail?delete",
                                  .body = "<Delete><Object><Key>a</Key></Object></Delete>"});
  EXPECT_THAT(many.body, HasSubstr("AccessDenied"));
  EXPECT_EQ(ask({.target = "/pail/a"}).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?policy"}).status, 204);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/a"}).status, 204);
}

TEST_F(GuardTest, a_policy_that_would_not_be_kept_is_refused) {
  put("/pail", "");
  const auto refused_as = [&](const std::string& policy) {
    const net::Response answer = put("/pail?policy", policy);
    return answer.status == 204 ? "kept" : answer.body.substr(answer.body.find("<Code>") + 6, 15);
  };
  EXPECT_EQ(refused_as("nothing"), "MalformedPolicy");
  EXPECT_EQ(refused_as("{}"), "MalformedPolicy");
  EXPECT_EQ(refused_as(R"({"Statement":[]})"), "MalformedPolicy");
  EXPECT_EQ(refused_as(std::string(100'000, '[')), "MalformedPolicy");
  EXPECT_EQ(refused_as(R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",)"
                       R"("Resource":"arn:aws:s3:::other/*"}})"),
            "MalformedPolicy");
  EXPECT_THAT(
      refused_as(R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",)"
                 R"("Resource":"arn:aws:s3:::pail/*","Condition":{}}})"),
      testing::StartsWith("NotImplemented"));
}

TEST_F(GuardTest, wildcards) {
  EXPECT_TRUE(matches_wildcard("s3:Get*", "s3:GetObject"));
  EXPECT_TRUE(matches_wildcard("*", ""));
  EXPECT_TRUE(matches_wildcard("a*b?d", "axxbcd"));
  EXPECT_FALSE(matches_wildcard("a*b?d", "axxbd"));
  EXPECT_FALSE(matches_wildcard("pail", "pail/a"));
  // Many stars take no longer than their product.
  EXPECT_FALSE(matches_wildcard(std::string(50, '*') + "b", std::string(5000, 'a')));
}

TEST_F(GuardTest, a_quota_holds_for_objects_parts_and_copies) {
  open_gateway({.quota_of = [](std::string_view) { return std::uint64_t{100}; }});
  put("/pail", "");
  EXPECT_EQ(put("/pail/a", std::string(60, 'a')).status, 200);
  const net::Response more = put("/pail/b", std::string(41, 'b'));
  EXPECT_EQ(more.status, 403);
  EXPECT_THAT(more.body, HasSubstr("QuotaExceeded"));
  EXPECT_EQ(put("/pail/copy", "", {{"x-amz-copy-source", "/pail/a"}}).status, 403);
  EXPECT_EQ(put("/pail/b", std::string(40, 'b')).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/a"}).status, 204);
  EXPECT_EQ(put("/pail/c", std::string(60, 'c')).status, 200);
  const BucketUse use = store->usage().of("pail");
  EXPECT_EQ(use.bytes, 100u);
  EXPECT_EQ(use.objects, 2u);
  // Counted from the rows it is the same.
  Store again(StoreSetting{.metadata = metadata,
                           .drives = set,
                           .tiers = {tier},
                           .now_ms = [this] { return now; },
                           .random_bytes = [this](std::size_t n) { return big_random(n); }});
  ASSERT_TRUE(again.measure());
  EXPECT_EQ(again.usage().of("pail").bytes, 100u);
  EXPECT_EQ(again.usage().of("pail").objects, 2u);
}

TEST_F(GuardTest, one_client_is_slowed_and_the_other_is_not) {
  ClientLimits limits({.requests_per_s = 10, .at_once = 3});
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += limits.enter("greedy", 1000) ? 1 : 0;
  EXPECT_EQ(passed, 20);  // two seconds' worth
  EXPECT_TRUE(limits.enter("modest", 1000));
  passed = 0;
  for (int i = 0; i < 100; ++i) passed += limits.enter("greedy", 1500) ? 1 : 0;
  EXPECT_EQ(passed, 5);
  std::vector<std::unique_ptr<ClientLimits::Turn>> held;
  for (int i = 0; i < 5; ++i) {
    if (auto turn = limits.enter("slow", 1000)) held.push_back(std::move(turn));
  }
  EXPECT_EQ(held.size(), 3u);
  held.clear();
  EXPECT_TRUE(limits.enter("slow", 1000));
  open_gateway({.limit = {.requests_per_s = 1}});
  put("/pail", "");
  ask({.target = "/pail"});
  EXPECT_EQ(ask({.target = "/pail"}).status, 503);
  EXPECT_EQ(other("GET", "/").status, 200);
}

TEST_F(GuardTest, the_audit_log_has_a_line_a_request) {
  const std::string path = testing::TempDir() + "orrery-audit." + std::to_string(::getpid());
  auto audit = AuditLog::open(path);
  ASSERT_TRUE(audit);
  open_gateway({.audit = std::move(*audit)});
  put("/pail", "");
  put("/pail/a%22%0ab", "bytes");
  other("GET", "/pail/a%22%0ab");
  const std::string text = drives::read_file(path).value_or("");
  std::remove(path.c_str());
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("tenant":"main","action":"s3:PutObject","bucket":"pail","key":"a\"\nb","status":200)"));
  EXPECT_THAT(text, HasSubstr(R"("tenant":"other","action":"s3:GetObject")"));
  EXPECT_THAT(text, HasSubstr(R"("status":403)"));
}

TEST_F(GuardTest, secrets_are_read_and_faults_do_not_show_them) {
  const auto tenants = tenants_of("# who\nblue AK1 S1 quota=2GB\nred AK2 S2\n", "t");
  ASSERT_TRUE(tenants);
  EXPECT_EQ(tenants->size(), 2u);
  EXPECT_EQ(tenants->front().quota_bytes, 2'000'000'000u);
  const auto bad = tenants_of("blue AK1\n", "t");
  ASSERT_FALSE(bad);
  const std::string digits(64, 'a');
  const auto keys = keys_of("new " + digits + "\nold " + std::string(64, 'b'), "k");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->current, "new");
  EXPECT_EQ(keys->keys.at("old"), std::string(32, '\xbb'));
  for (const std::string& wrong : {std::string("id " + digits + "a"), std::string("id abc"),
                                   "id " + std::string(64, 'x'), std::string("# none")}) {
    const auto refused_keys = keys_of(wrong, "k");
    ASSERT_FALSE(refused_keys) << wrong;
    EXPECT_THAT(to_text(refused_keys.error()), Not(HasSubstr("aaaa")));
  }
}

}  // namespace
}  // namespace orrery::s3server
