// What is read from text: policies, names of buckets, addresses, claims, secrets, tags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3/hash.h"
#include "live/s3server/auth.h"
#include "live/s3server/call.h"
#include "live/s3server/policy.h"
#include "live/s3server/s3_request.h"
#include "live/s3server/secrets.h"
#include "live/store/moment.h"

namespace orrery::s3server::policy_words_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string read_policy(const std::string& json) {
  const auto policy = policy_of(json, "pail");
  return policy ? "read" : policy.error().code + ": " + policy.error().message;
}
// A statement whose fields are these, in place of the usual ones.
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

TEST(PolicyWords, a_policy_is_an_object_of_statements) {
  EXPECT_EQ(read_policy(with("", "")), "read");
  EXPECT_EQ(read_policy("[]"), "MalformedPolicy: The policy is no JSON object.");
  EXPECT_EQ(read_policy("{\"Statement\":"), "MalformedPolicy: The policy is no JSON object.");
  EXPECT_EQ(read_policy("{}"), "MalformedPolicy: Statement is missing.");
  EXPECT_EQ(read_policy("{\"Statement\":[]}"), "MalformedPolicy: There is no Statement.");
  EXPECT_EQ(read_policy("{\"Statement\":[7]}"), "MalformedPolicy: A Statement is an object.");
  EXPECT_EQ(read_policy("{\"Statement\":{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":"
                        "\"s3:*\",\"Resource\":\"arn:aws:s3:::pail\"}}"),
            "read")
      << "one need not be a list";
  EXPECT_EQ(read_policy("{\"Statement\":[{\"Condition\":{}}]}"),
            "NotImplemented: Condition is not kept in policies here.");
}

TEST(PolicyWords, each_field_is_what_it_must_be) {
  for (const char* bad : {"\"allow\"", "7", "", "\"\""}) {
    EXPECT_EQ(read_policy(with("Effect", bad)), "MalformedPolicy: Effect is Allow or Deny.") << bad;
  }
  EXPECT_EQ(read_policy(with("Principal", "")), "MalformedPolicy: Principal is missing or empty.");
  EXPECT_EQ(read_policy(with("Action", "[]")), "MalformedPolicy: Action is missing or empty.");
  EXPECT_EQ(read_policy(with("Resource", "{}")), "MalformedPolicy: Resource is missing or empty.");
  EXPECT_EQ(read_policy(with("Action", "[\"s3:*\",7]")),
            "MalformedPolicy: Action is a text or a list of texts.");
  EXPECT_EQ(read_policy(with("Action", "\"ec2:Run\"")),
            "MalformedPolicy: An Action begins with s3:.");
  EXPECT_EQ(read_policy(with("Action", "\"*\"")), "read");
  EXPECT_EQ(read_policy(with("Resource", "\"pail/*\"")),
            "MalformedPolicy: A Resource begins with arn:aws:s3:::.");
  for (const char* good : {"pail/k", "pail*"}) {
    EXPECT_EQ(read_policy(with("Resource", "\"arn:aws:s3:::" + std::string(good) + "\"")), "read");
  }
  for (const char* bad : {"pail/", "pails", "tub/k", "*", "pail2/k", "pai"}) {
    EXPECT_EQ(read_policy(with("Resource", "\"arn:aws:s3:::" + std::string(bad) + "\"")),
              "MalformedPolicy: A Resource is not of this bucket.")
        << bad;
  }
}

TEST(PolicyWords, tenants_are_named_in_several_ways) {
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
    EXPECT_EQ(read_policy(with("Principal", '"' + std::string(bad) + '"')),
              "MalformedPolicy: A Principal is not understood.")
        << bad;
  }
  const auto some = policy_of(with("Principal", R"(["*","red"])"), "pail");
  EXPECT_TRUE(some->statements.front().anyone);
  EXPECT_THAT(some->statements.front().tenants, ElementsAre("red"));
}

TEST(PolicyWords, are_not_too_deep_and_not_too_long) {
  const auto nested = [](int depth, const std::string& inside = "") {
    return std::string(static_cast<std::size_t>(depth), '[') + inside +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  const std::string large = "MalformedPolicy: The policy is too large.";
  EXPECT_EQ(read_policy(nested(16)), "MalformedPolicy: The policy is no JSON object.");
  EXPECT_EQ(read_policy(nested(17)), large);
  EXPECT_EQ(read_policy(nested(8) + nested(8) + nested(8)),
            "MalformedPolicy: The policy is no JSON object.")
      << "beside one another";
  EXPECT_EQ(read_policy(nested(16, "\"[{[\"")), "MalformedPolicy: The policy is no JSON object.")
      << "a bracket in a text opens nothing";
  EXPECT_EQ(read_policy(nested(16, "\"\\\"\",[")), large) << "the text ended";
  EXPECT_EQ(read_policy(nested(16, "\"\\\"[\"")), "MalformedPolicy: The policy is no JSON object.")
      << "the text goes on";
  const std::string full = with("", "");
  EXPECT_EQ(read_policy(full + std::string((20u << 10) - full.size(), ' ')), "read");
  EXPECT_EQ(read_policy(full + std::string((20u << 10) - full.size() + 1, ' ')), large);
}

TEST(PolicyWords, what_it_says_is_of_who_what_and_where) {
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

TEST(RequestWords, names_of_buckets_have_small_letters_digits_dots_and_dashes) {
  for (const char* good : {"abc", "zzz", "a.b.c.d", "1.2.3.x", "1.2.3", "a09"}) {
    EXPECT_TRUE(is_bucket_name(good)) << good;
  }
  for (const char* bad : {"ab~d", "ab{d", "ab`d", "ab/d", "ab:d",
                          "a\xc3\xa4"
                          "d",
                          "a.-d", "12.34.56.78", ".abc", "abc."}) {
    EXPECT_FALSE(is_bucket_name(bad)) << bad;
  }
  EXPECT_TRUE(is_bucket_name(std::string(63, 'a')));
  EXPECT_FALSE(is_bucket_name(std::string(64, 'a')));
}

TEST(RequestWords, a_query_is_decoded_name_and_value) {
  const auto of = [](const std::string& target) {
    return s3_request_of({.method = "GET", .target = target, .headers = {{"Host", "h"}}}, "");
  };
  const auto read = of("/b/k?a+b=c+d&&e%3D=f%26g&flag&x=1=2&versionId=7");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->query,
              ElementsAre(std::pair("a b", "c d"), std::pair("e=", "f&g"), std::pair("flag", ""),
                          std::pair("x", "1=2"), std::pair("versionId", "7")));
  EXPECT_EQ(read->parameter("none"), "");
  EXPECT_FALSE(read->has("none"));
  EXPECT_EQ(read->version_id(), "7");
  EXPECT_FALSE(of("/b/k")->version_id());
  EXPECT_EQ(of("/b/k?%zz=1").error().code, "InvalidURI");
  EXPECT_EQ(of("/b/k?a=%zz").error().code, "InvalidURI");
  EXPECT_EQ(of("/%zz").error().code, "InvalidURI");
  EXPECT_EQ(of("b/k").error().code, "InvalidURI");
  EXPECT_EQ(of("/b")->key, "");
  EXPECT_EQ(of("/b/")->key, "");
  EXPECT_EQ(of("/")->bucket, "");
  EXPECT_EQ(of("/b/k/l")->key, "k/l");
  EXPECT_EQ(percent_decoded("%41%5a%6B+", false), "AZk+");
  EXPECT_EQ(percent_decoded("a+", true), "a ");
}

// A claim that cannot be read is told apart from none.
TEST(ClaimWords, a_stranger_is_who_claims_nothing) {
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
      << "its chunks would be signed by nobody";
  EXPECT_EQ(asked("Signature=x"), "InvalidRequest");
  EXPECT_EQ(asked("AWSAccessKeyId=x"), "InvalidRequest");
  EXPECT_EQ(asked("", {{"Authorization", "AWS AK:x"}}), "InvalidRequest") << "version 2";
  EXPECT_EQ(asked("", {{"Authorization", "Basic x"}}), "InvalidArgument");
  EXPECT_EQ(asked("X-Amz-Signature=x"), "AuthorizationQueryParametersError");
  EXPECT_EQ(asked("X-Amz-Credential=x"), "AuthorizationQueryParametersError");
  const auto url = [&](const std::string& date, const std::string& expires) {
    return asked(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20231114%2Fus-east-1%2Fs3"
        "%2Faws4_request&X-Amz-SignedHeaders=host&X-Amz-Signature=x&X-Amz-Date=" +
        date + "&X-Amz-Expires=" + expires);
  };
  EXPECT_EQ(url("20231114T095959Z", "60"), "InvalidAccessKeyId") << "it is read";
  EXPECT_EQ(url("2023-11-14", "60"), "AuthorizationQueryParametersError");
  EXPECT_EQ(url("20231114T095959Z", "x"), "AuthorizationQueryParametersError");
  EXPECT_EQ(url("20231114T095959Z", "0"), "AccessDenied");
  EXPECT_EQ(url("20231114T095959Z", "1"), "InvalidAccessKeyId") << "to its last moment";
  EXPECT_EQ(url("20231114T095958Z", "1"), "AccessDenied");
  EXPECT_EQ(url("20231114T095959Z", "604800"), "InvalidAccessKeyId") << "a week";
  EXPECT_EQ(url("20231114T095959Z", "604801"), "AccessDenied");
  EXPECT_EQ(url("20231114T101500Z", "60"), "InvalidAccessKeyId") << "a clock ahead by 15 minutes";
  EXPECT_EQ(url("20231114T101501Z", "60"), "AccessDenied");
}

TEST(SecretWords, say_what_is_wrong_and_where) {
  const auto what = [](const auto& result) {
    if (result) return std::string("read");
    const Diagnostic& first = result.error().front();
    return std::to_string(first.place.line) + ": " + first.what;
  };
  EXPECT_EQ(what(tenants_of("# none\n\na K S", "f")), "read");
  EXPECT_EQ(what(tenants_of("\na K", "f")), "2: a tenant has a name and two keys");
  EXPECT_EQ(what(tenants_of("a K S q r", "f")), "1: a tenant has a name and two keys");
  EXPECT_EQ(what(tenants_of("a K S\nb K S", "f")), "2: two tenants have one access key");
  EXPECT_EQ(what(tenants_of("a K S quota=x", "f")), "1: the quota of a is no size");
  EXPECT_EQ(what(tenants_of("a K S size=1GB", "f")), "1: the quota of a is no size");
  const auto tenants = tenants_of("a K S quota=3kB # all\nb L T", "f");
  ASSERT_EQ(tenants->size(), 2u);
  EXPECT_EQ(tenants->at(0).quota_bytes, 3000u);
  EXPECT_EQ(tenants->at(0).secret_key, "S");
  EXPECT_EQ(tenants->at(1).access_key, "L");
  EXPECT_EQ(tenants->at(1).id, "b");
  EXPECT_EQ(tenants->at(1).name, "b");
  EXPECT_EQ(tenants->at(1).quota_bytes, 0u);
  std::string hex;
  for (int i = 0; i < 32; ++i) hex += i % 2 == 0 ? "0f" : "a7";
  const auto ring = keys_of("one " + hex + "\ntwo " + std::string(64, '0'), "f");
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->current, "one");
  EXPECT_EQ(ring->keys.at("one").substr(0, 3), "\x0f\xa7\x0f");
  EXPECT_EQ(ring->keys.at("one").size(), 32u);
  EXPECT_EQ(ring->keys.at("two"), std::string(32, '\0'));
  EXPECT_EQ(what(keys_of("one", "f")), "1: a key has an id and its digits");
  EXPECT_EQ(what(keys_of("one " + hex + "00", "f")), "1: a key has 64 hexadecimal digits");
  EXPECT_EQ(what(keys_of("one x" + hex.substr(1), "f")), "1: a key has 64 hexadecimal digits");
  EXPECT_EQ(what(keys_of("one " + hex + "\none " + hex, "f")), "2: two keys have one id");
  EXPECT_EQ(keys_of("# none", "f").error().front().what, "there is no key");
  EXPECT_EQ(what(s3_keys_of("pail A", "f")), "1: a bucket has two keys");
  EXPECT_EQ(what(s3_keys_of("pail A B\npail A B", "f")), "2: the keys of pail are given twice");
  EXPECT_EQ(s3_keys_of("pail A B", "f")->at("pail").secret_key, "B");
}

TEST(TagWords, have_a_document_or_a_query) {
  const auto xml = [](const std::string& text) {
    const auto tags = tags_of_xml(text, 2);
    return tags ? std::to_string(tags->size()) : tags.error().code;
  };
  const auto tag = [](const std::string& key) {
    return "<Tag><Key>" + key + "</Key><Value>v</Value></Tag>";
  };
  const auto doc = [](const std::string& inner) {
    return "<Tagging><TagSet>" + inner + "</TagSet></Tagging>";
  };
  EXPECT_EQ(xml(doc(tag("a") + tag("b"))), "2");
  EXPECT_EQ(xml(doc("")), "0");
  EXPECT_EQ(xml(doc(tag("a") + tag("b") + tag("c"))), "InvalidTag");
  EXPECT_EQ(xml(doc(tag("a") + tag("a"))), "InvalidTag");
  EXPECT_EQ(xml(doc(tag(""))), "InvalidTag");
  EXPECT_EQ(xml(doc(tag(std::string(128, 'k')))), "1");
  EXPECT_EQ(xml(doc(tag(std::string(129, 'k')))), "InvalidTag");
  EXPECT_EQ(xml("<Other><TagSet/></Other>"), "MalformedXML");
  EXPECT_EQ(xml("<Tagging/>"), "MalformedXML");
  EXPECT_EQ(xml("no"), "MalformedXML");
  EXPECT_EQ(xml(doc("<Label><Key>a</Key></Label>")), "MalformedXML");
  EXPECT_EQ(xml(doc("<Tag><Value>a</Value></Tag>")), "MalformedXML");
  const auto query = tags_of_query("b=2+3&&a%20=x&c");
  ASSERT_TRUE(query);
  EXPECT_THAT(*query, ElementsAre(std::pair("a ", "x"), std::pair("b", "2 3"), std::pair("c", "")));
  EXPECT_EQ(tags_of_query("a=" + std::string(256, 'v'))->size(), 1u);
  EXPECT_EQ(tags_of_query("a=" + std::string(257, 'v')).error().code, "InvalidTag");
  EXPECT_EQ(tags_of_query("a=%zz").error().code, "InvalidArgument");
}

}  // namespace
}  // namespace orrery::s3server::policy_words_tests
