// The examples of Amazon's S3 API reference ("Signature calculations for the Authorization
// header"): same key, same time, same signatures.
#include "live/s3/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/s3/hash.h"

namespace orrery::s3::sigv4_tests {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const Credentials kExample{.access_key = "AKIAIOSFODNN7EXAMPLE",
                           .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                           .session_token = ""};
constexpr const char* kHost = "examplebucket.s3.amazonaws.com";

SignatureInput example(std::string path, HeaderList query, HeaderList headers,
                       std::string_view body = "") {
  const std::string payload = sha256_hex(body);
  headers.emplace_back("Host", kHost);
  headers.emplace_back("x-amz-content-sha256", payload);
  headers.emplace_back("x-amz-date", "20130524T000000Z");
  return {.method = "GET",
          .path = std::move(path),
          .query = std::move(query),
          .headers = std::move(headers),
          .payload = payload,
          .time = "20130524T000000Z",
          .region = "us-east-1"};
}

TEST(SigV4, get_object_as_published) {
  const auto input = example("/test.txt", {}, {{"Range", "bytes=0-9"}});
  EXPECT_EQ(sha256_hex(canonical_request(input)),
            "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  EXPECT_EQ(authorization(input, kExample),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, put_object_as_published) {
  auto input = example(
      "/" + uri_encoded("test$file.text", true), {},
      {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
      "Welcome to Amazon S3.");
  input.method = "PUT";
  EXPECT_EQ(input.path, "/test%24file.text");
  EXPECT_THAT(authorization(input, kExample),
              EndsWith("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SigV4, query_key_without_a_value_as_published) {
  EXPECT_THAT(authorization(example("/", {{"lifecycle", ""}}, {}), kExample),
              EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(SigV4, list_objects_as_published) {
  const auto input = example("/", {{"prefix", "J"}, {"max-keys", "2"}}, {});
  EXPECT_THAT(authorization(input, kExample),
              EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SigV4, everything_signed_changes_the_signature) {
  const auto base = example("/test.txt", {{"prefix", "a"}}, {});
  const std::string was = authorization(base, kExample);
  auto other = base;
  other.query[0].second = "b";
  EXPECT_NE(authorization(other, kExample), was);
  other = base;
  other.headers[0].second += 'x';
  EXPECT_NE(authorization(other, kExample), was);
  Credentials thief = kExample;
  thief.secret_key += 'x';
  EXPECT_NE(authorization(base, thief), was);
}

// The example of a signing key in Amazon's General Reference ("Deriving the signing key").
TEST(SigV4, signing_key_as_published) {
  EXPECT_EQ(to_hex(signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1",
                               "iam")),
            "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d");
}

// Keys are cached; the test uses more keys than the cache holds.
TEST(SigV4, cached_signing_keys_are_not_confused) {
  const auto derived = [](const std::string& secret, const std::string& day,
                          const std::string& region, const std::string& service) {
    std::string key = hmac_sha256("AWS4" + secret, day);
    for (const std::string& part : {region, service}) key = hmac_sha256(key, part);
    return hmac_sha256(key, "aws4_request");
  };
  const std::vector<std::string> ends = {"a", "b", "ab", ""};
  for (int round = 0; round < 3; ++round) {
    for (const std::string& s : ends) {
      for (const std::string& d : ends) {
        EXPECT_EQ(signing_key("x" + s, "1" + d, "r", "v"), derived("x" + s, "1" + d, "r", "v"));
        EXPECT_EQ(signing_key("x", "1", "r" + s, "v" + d), derived("x", "1", "r" + s, "v" + d));
        EXPECT_EQ(signing_key("x", "1", "r", "v"), derived("x", "1", "r", "v"));
      }
    }
  }
}

// A server knows the scope and derives the key.
TEST(SigV4, server_computes_the_same_signature) {
  const auto input = example("/test.txt", {}, {{"Range", "bytes=0-9"}});
  const std::string key = signing_key(kExample.secret_key, "20130524", "us-east-1");
  EXPECT_EQ(signature(input, key),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_THAT(string_to_sign(input), testing::StartsWith("AWS4-HMAC-SHA256\n20130524T000000Z\n"
                                                         "20130524/us-east-1/s3/aws4_request\n"));
}

TEST(SigV4, names_are_encoded_byte_by_byte) {
  EXPECT_EQ(uri_encoded("a b/c=ü+~", true), "a%20b/c%3D%C3%BC%2B~");
  EXPECT_EQ(uri_encoded("a/b", false), "a%2Fb");
  EXPECT_EQ(uri_encoded(std::string("\0\x0f\xf0", 3), false), "%00%0F%F0");
  EXPECT_EQ(uri_encoded("azAZ09-._~", false), "azAZ09-._~");
  EXPECT_EQ(uri_encoded("@[`{:", false), "%40%5B%60%7B%3A");
  EXPECT_EQ(canonical_query({{"uploads", ""}, {"a b", "1&2"}}), "a%20b=1%262&uploads=");
  // A path keeps its slashes, a value of the query does not (S3 API: UriEncode with encodeSlash).
  EXPECT_EQ(canonical_query({{"prefix", "a/b"}}), "prefix=a%2Fb");
}

// "Trim leading and trailing spaces, convert sequential spaces to a single space."
TEST(SigV4, blanks_in_a_header_do_not_change_the_signature) {
  const auto plain = example("/x", {}, {{"x-amz-meta-a", "one two"}});
  const auto spaced = example("/x", {}, {{"X-Amz-Meta-A", "  one   two "}});
  EXPECT_EQ(canonical_request(spaced), canonical_request(plain));
}

TEST(SigV4, secret_is_not_in_what_is_sent) {
  EXPECT_THAT(authorization(example("/x", {}, {}), kExample),
              testing::Not(HasSubstr(kExample.secret_key)));
}

}  // namespace
}  // namespace orrery::s3::sigv4_tests
