// Bucket policies: how they are parsed, which are refused, and how their statements are evaluated.
#include "live/s3server/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::policy_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string read_policy(const std::string& json) {
  const auto policy = policy_of(json, "pail");
  return policy ? "read" : policy.error().code;
}

// A policy with one statement that has `value` in the field `name`, and common values in the
// others.
std::string with(const std::string& name, const std::string& value) {
  std::string text = "{\"Statement\":[{";
  for (const auto& [field, usual] : {std::pair<std::string, std::string>{"Effect", "\"Allow\""},
                                     {"Principal", "\"*\""},
                                     {"Action", "\"s3:GetObject\""},
                                     {"Resource", "\"arn:aws:s3:::pail/*\""}}) {
    const std::string& put = field == name ? value : usual;
    if (!put.empty()) text += '"' + field + "\":" + put + ',';
  }
  text.back() = '}';
  return text + "]}";
}

TEST(Policy, is_an_object_with_statements) {
  EXPECT_EQ(read_policy(with("", "")), "read");
  EXPECT_EQ(read_policy("[]"), "MalformedPolicy");
  EXPECT_EQ(read_policy("{\"Statement\":"), "MalformedPolicy");
  EXPECT_EQ(read_policy("{}"), "MalformedPolicy");
  EXPECT_EQ(read_policy("{\"Statement\":[]}"), "MalformedPolicy");
  EXPECT_EQ(read_policy("{\"Statement\":[7]}"), "MalformedPolicy");
  EXPECT_EQ(read_policy("{\"Statement\":{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":"
                        "\"s3:*\",\"Resource\":\"arn:aws:s3:::pail\"}}"),
            "read")
      << "a single value need not be a list";
  EXPECT_EQ(read_policy("{\"Statement\":[{\"Condition\":{}}]}"), "NotImplemented");
}

TEST(Policy, has_well_formed_fields) {
  for (const char* bad : {"\"allow\"", "7", "", "\"\""}) {
    EXPECT_EQ(read_policy(with("Effect", bad)), "MalformedPolicy") << bad;
  }
  EXPECT_EQ(read_policy(with("Principal", "")), "MalformedPolicy");
  EXPECT_EQ(read_policy(with("Action", "[]")), "MalformedPolicy");
  EXPECT_EQ(read_policy(with("Resource", "{}")), "MalformedPolicy");
  EXPECT_EQ(read_policy(with("Action", "[\"s3:*\",7]")), "MalformedPolicy");
  EXPECT_EQ(read_policy(with("Action", "\"ec2:Run\"")), "MalformedPolicy");
  EXPECT_EQ(read_policy(with("Action", "\"*\"")), "read");
  EXPECT_EQ(read_policy(with("Resource", "\"pail/*\"")), "MalformedPolicy");
  for (const char* good : {"pail/k", "pail*"}) {
    EXPECT_EQ(read_policy(with("Resource", "\"arn:aws:s3:::" + std::string(good) + "\"")), "read");
  }
  for (const char* bad : {"pail/", "pails", "tub/k", "*", "pail2/k", "pai"}) {
    EXPECT_EQ(read_policy(with("Resource", "\"arn:aws:s3:::" + std::string(bad) + "\"")),
              "MalformedPolicy")
        << bad;
  }
}

TEST(Policy, names_tenants_in_several_ways) {
  const auto policy = policy_of(with("Principal", R"({"AWS":["red","arn:aws:iam::blue:root",)"
                                                  R"("arn:aws:iam::1:user/team/green"]})"),
                                "pail");
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->statements.front().tenants, ElementsAre("red", "blue", "green"));
  EXPECT_FALSE(policy->statements.front().anyone);
  EXPECT_TRUE(policy->statements.front().allows);
  EXPECT_THAT(policy->statements.front().resources, ElementsAre("pail/*"));
  EXPECT_THAT(policy->statements.front().actions, ElementsAre("s3:getobject"));
  for (const char* bad :
       {"arn:aws:iam:", "arn:aws:iam::", "arn:aws:iam::1:user/", "arn:aws:iam::ash",
        "arn:aws:iam::1:role/red", "arn:aws:sts::1:user/red", ""}) {
    EXPECT_EQ(read_policy(with("Principal", '"' + std::string(bad) + '"')), "MalformedPolicy")
        << bad;
  }
  const auto some = policy_of(with("Principal", R"(["*","red"])"), "pail");
  EXPECT_TRUE(some->statements.front().anyone);
  EXPECT_THAT(some->statements.front().tenants, ElementsAre("red"));
}

TEST(Policy, is_limited_in_depth_and_size) {
  const auto nested = [](int depth, const std::string& inside = "") {
    return std::string(static_cast<std::size_t>(depth), '[') + inside +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  const std::string large = "MalformedPolicy";
  EXPECT_EQ(read_policy(nested(16)), "MalformedPolicy");
  EXPECT_EQ(read_policy(nested(17)), large);
  EXPECT_EQ(read_policy(nested(8) + nested(8) + nested(8)), "MalformedPolicy")
      << "in two sibling objects";
  EXPECT_EQ(read_policy(nested(16, "\"[{[\"")), "MalformedPolicy")
      << "a bracket in a text opens nothing";
  EXPECT_EQ(read_policy(nested(16, "\"\\\"\",[")), large) << "the text ends inside an object";
  EXPECT_EQ(read_policy(nested(16, "\"\\\"[\"")), "MalformedPolicy") << "text follows the object";
  const std::string full = with("", "");
  EXPECT_EQ(read_policy(full + std::string((20u << 10) - full.size(), ' ')), "read");
  EXPECT_EQ(read_policy(full + std::string((20u << 10) - full.size() + 1, ' ')), large);
}

TEST(Policy, allows_and_denies_by_tenant_action_and_resource) {
  BucketPolicy policy;
  policy.statements = {{.allows = true,
                        .anyone = false,
                        .tenants = {"red"},
                        .actions = {"s3:get*"},
                        .resources = {"pail/a*"}}};
  EXPECT_EQ(policy_says(policy, "red", "s3:GetObject", "pail/ab"), true);
  EXPECT_EQ(policy_says(policy, "blue", "s3:GetObject", "pail/ab"), std::nullopt);
  EXPECT_EQ(policy_says(policy, "", "s3:GetObject", "pail/ab"), std::nullopt);
  EXPECT_EQ(policy_says(policy, "red", "s3:PutObject", "pail/ab"), std::nullopt);
  EXPECT_EQ(policy_says(policy, "red", "s3:GetObject", "pail/b"), std::nullopt);
  policy.statements.push_back({.allows = false,
                               .anyone = true,
                               .tenants = {},
                               .actions = {"s3:getobject"},
                               .resources = {"pail/ab"}});
  EXPECT_EQ(policy_says(policy, "red", "s3:GetObject", "pail/ab"), false);
  EXPECT_EQ(policy_says(policy, "", "s3:GetObject", "pail/ab"), false);
  EXPECT_EQ(policy_says(policy, "red", "s3:GetObject", "pail/ac"), true);
}

TEST(Wildcards, match_any_characters_in_bounded_time) {
  EXPECT_TRUE(matches_wildcard("s3:Get*", "s3:GetObject"));
  EXPECT_TRUE(matches_wildcard("*", ""));
  EXPECT_TRUE(matches_wildcard("a*b?d", "axxbcd"));
  EXPECT_FALSE(matches_wildcard("a*b?d", "axxbd"));
  EXPECT_FALSE(matches_wildcard("pail", "pail/a"));
  // Many stars must not take exponential time.
  EXPECT_FALSE(matches_wildcard(std::string(50, '*') + "b", std::string(5000, 'a')));
}

class PolicyTest : public GatewayTest {
 protected:
  // A statement on the bucket "pail" and all its keys.
  static std::string statement(const std::string& effect, const std::string& principal,
                               const std::string& actions) {
    return R"({"Effect":")" + effect + R"(","Principal":)" + principal + R"(,"Action":)" + actions +
           R"(,"Resource":["arn:aws:s3:::pail","arn:aws:s3:::pail/*"]})";
  }
  net::Response set_policy(const std::string& statements, const std::string& = {}) {
    return put("/pail?policy", R"({"Version":"2012-10-17","Statement":[)" + statements + "]}");
  }
};
const std::string kOther = R"({"AWS":"other"})";

TEST_F(PolicyTest, a_denial_applies_however_it_is_written) {
  put("/pail/k", "secret");
  const std::string all = statement("Allow", "\"*\"", R"("s3:GetObject")");
  ASSERT_EQ(set_policy(all).status, 204);
  ASSERT_EQ(other("GET", "/pail/k").status, 200);
  for (const char* action : {"s3:getobject", "S3:GETOBJECT", "s3:g?tobj*", "s3:*", "*"}) {
    const std::string denied = statement("Deny", kOther, '"' + std::string(action) + '"');
    ASSERT_EQ(set_policy(all + ',' + denied).status, 204) << action;
    EXPECT_EQ(other("GET", "/pail/k").status, 403) << action;
  }
}

TEST_F(PolicyTest, a_statement_that_would_never_apply_is_refused) {
  put("/pail/k", "secret");
  const std::string all = statement("Allow", "\"*\"", R"("s3:GetObject")");
  ASSERT_EQ(set_policy(all).status, 204);
  const auto refused_as = [&](const std::string& more) {
    const net::Response answer = set_policy(all + ',' + more);
    EXPECT_GE(answer.status, 400) << more;
    return code(answer);
  };
  const auto deny = [](const std::string& principal, const std::string& action) {
    return statement("Deny", principal, action);
  };
  EXPECT_EQ(refused_as(deny(kOther, R"("s3:GetObjekt")")), "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(kOther, R"(["s3:GetObject","s3:Lock*Up"])")), "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(R"({"AWS":"main","CanonicalUser":"other"})", R"("s3:GetObject")")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(R"({"Service":"s3.amazonaws.com"})", R"("s3:GetObject")")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(deny(R"({"AWS":"othr"})", R"("s3:GetObject")")), "MalformedPolicy")
      << "no tenant has this name";
  EXPECT_EQ(refused_as(deny(R"({"AWS":"arn:aws:iam::other:role/other"})", R"("s3:GetObject")")),
            "MalformedPolicy");
  const std::string on_bucket = R"({"Effect":"Deny","Principal":"*","Action":"s3:GetObject",)"
                                R"("Resource":"arn:aws:s3:::pail"})";
  EXPECT_EQ(refused_as(on_bucket), "MalformedPolicy") << "a bucket is not an object";
  const std::string on_objects = R"({"Effect":"Deny","Principal":"*","Action":"s3:ListBucket",)"
                                 R"("Resource":"arn:aws:s3:::pail/*"})";
  EXPECT_EQ(refused_as(on_objects), "MalformedPolicy") << "an object is not a bucket";
  const auto with = [&](const std::string& field) {
    std::string text = deny("\"*\"", R"("s3:GetObject")");
    return text.insert(1, field + ',');
  };
  EXPECT_EQ(refused_as(with(R"("Efect":"Deny")")), "MalformedPolicy");
  EXPECT_EQ(refused_as(with(R"("Effect":"Allow")")), "MalformedPolicy") << "a statement has two "
                                                                           "effects";
  EXPECT_EQ(refused_as(with(R"("Condition":{"IpAdress":{"aws:SourceIp":"10.0.0.0/8"}})")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(with(R"("Condition":{"IpAddress":{"aws:SourceIpp":"10.0.0.0/8"}})")),
            "MalformedPolicy");
  EXPECT_EQ(refused_as(with(R"("Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}})")),
            "NotImplemented")
      << "S3 supports it, but this server does not";
  EXPECT_EQ(refused_as(with(R"("NotAction":"s3:PutObject")")), "NotImplemented");
  std::string variable = deny("\"*\"", R"("s3:GetObject")");
  variable.replace(variable.find("pail/*"), 6, "pail/${aws:username}/*");
  EXPECT_EQ(refused_as(variable), "NotImplemented");
  EXPECT_EQ(code(put("/pail?policy", R"({"Version":"2013","Statement":[)" + all + "]}")),
            "MalformedPolicy");
  EXPECT_EQ(other("GET", "/pail/k").status, 200) << "the previous policy stays";
}

TEST_F(PolicyTest, a_policy_lets_another_read_a_prefix_and_nothing_else) {
  put("/pail/open/a", "for all");
  put("/pail/shut/a", "not for all");
  ASSERT_EQ(set_policy(R"({"Effect":"Allow","Principal":{"AWS":["arn:aws:iam::other:root"]},)"
                       R"("Action":"s3:GetObject","Resource":"arn:aws:s3:::pail/open/*"})")
                .status,
            204);
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

TEST_F(PolicyTest, a_denial_wins_and_the_owner_can_still_remove_the_policy) {
  put("/pail/a", "bytes");
  ASSERT_EQ(set_policy(statement("Allow", kOther, R"("s3:*")") + ',' +
                       statement("Deny", "\"*\"", R"(["s3:Delete*","s3:PutBucketPolicy"])"))
                .status,
            204);
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

TEST_F(PolicyTest, a_policy_is_public_if_it_allows_everyone) {
  const auto is_public = [&](const std::string& effect) {
    put("/pail?policy", R"({"Statement":[{"Effect":")" + effect +
                            R"(","Principal":"*","Action":"s3:GetObject",)"
                            R"("Resource":"arn:aws:s3:::pail/none"}]})");
    return between(get("/pail?policyStatus").body, "<IsPublic>", "</IsPublic>");
  };
  EXPECT_EQ(is_public("Deny"), "false");
  EXPECT_EQ(is_public("Allow"), "true");
}

}  // namespace
}  // namespace orrery::s3server::policy_tests
