// Bucket, key and query of a request, from its path or its host.
#include "live/s3server/s3_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace orrery::s3server::s3_request_tests {
namespace {

using testing::ElementsAre;

TEST(S3RequestTest, bucket_and_key_come_from_path_or_host) {
  const auto of = [](const std::string& target, const std::string& host) {
    return s3_request_of({.target = target, .headers = {{"Host", host}}}, "localhost");
  };
  const auto path = of("/b/a%20b/%2e%2e/c+d?prefix=x+y&acl", "127.0.0.1:80");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->bucket, "b");
  EXPECT_EQ(path->key, "a b/../c+d");
  EXPECT_EQ(path->parameter("prefix"), "x y");
  EXPECT_TRUE(path->has("acl"));
  const auto host = of("/k", "pail.localhost:8118");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->bucket, "pail");
  EXPECT_EQ(host->key, "k");
  EXPECT_FALSE(of("/b/%zz", "h"));
  EXPECT_FALSE(of("/b/%00", "h"));
  EXPECT_FALSE(of("/b/%ff", "h"));
  EXPECT_FALSE(of("b", "h"));
  EXPECT_TRUE(of("/b/" + std::string(1024, 'k'), "h"));
  EXPECT_EQ(of("/b/" + std::string(1025, 'k'), "h").error().code, "KeyTooLongError");
}

TEST(S3RequestTest, bucket_names_follow_the_rules_of_s3) {
  for (const char* good : {"abc", "a-b.c", "0ab", "a.b"}) EXPECT_TRUE(is_bucket_name(good)) << good;
  for (const char* bad :
       {"", "a", "ab", "Abc", "a_b", "-ab", "ab-", "a..b", "a.-b", "a-.b", "1.2.3.4"}) {
    EXPECT_FALSE(is_bucket_name(bad)) << bad;
  }
  EXPECT_FALSE(is_bucket_name(std::string(64, 'a')));
}

TEST(S3RequestTest, bucket_names_have_small_letters_digits_dots_and_dashes) {
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

TEST(S3RequestTest, a_query_is_decoded) {
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

TEST(S3RequestTest, a_host_names_a_bucket_only_before_a_dot) {
  const auto of = [](const std::string& target, const std::string& host) {
    return s3_request_of({.target = target, .headers = {{"Host", host}}}, "store.example");
  };
  EXPECT_EQ(of("/b/k", "mystore.example")->bucket, "b") << "another machine's name";
  EXPECT_EQ(of("/b/k", "my.store.example")->bucket, "my");
  EXPECT_FALSE(of("/b/%4", "h"));
  EXPECT_FALSE(of("/b/%4g", "h"));
  EXPECT_FALSE(of("/b/%g4", "h"));
  EXPECT_EQ(of("/b/%4a", "h")->key, "J");
}

}  // namespace
}  // namespace orrery::s3server::s3_request_tests
