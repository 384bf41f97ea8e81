// Claims to the second, documents by the name of their root, and copies of one byte, of more than a
// mebibyte, and of what cannot be read.
#include <gtest/gtest.h>

#include <array>

#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::claims_and_copies_tests {
namespace {

constexpr TimeMs kSigned = 1'700'000'000'000;  // 2023-11-14T22:13:20Z

// Nobody is known, so a claim that is good in all else names a key that is not.
std::string claim_came_to(const net::Request& request, TimeMs now) {
  const auto parsed = s3_request_of(request, "localhost");
  if (!parsed) return "unparsed";
  const auto who =
      authenticate(request, *parsed, now, "us-east-1",
                   [](std::string_view) -> Answer<std::optional<Tenant>> { return std::nullopt; });
  return who ? "taken" : who.error().code;
}

TEST(ClaimsInTime, a_header_is_good_for_a_quarter_of_an_hour_either_way) {
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
  EXPECT_EQ(at(kSigned, false), "AccessDenied") << "it has no date at all";
  EXPECT_EQ(at(kSigned, false, {{"Date", "yesterday"}}), "AccessDenied");
  EXPECT_EQ(at(kSigned, false, {{"Date", "Tue, 14 Nov 2023 22:13:20 GMT"}}), "InvalidAccessKeyId");
}

TEST(ClaimsInTime, a_url_is_good_for_as_many_seconds_as_it_says) {
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
  EXPECT_EQ(at("100", kSigned - 900'001), "AccessDenied") << "not yet";
}

class ClaimsAndCopies : public RequestsTest {
 protected:
  std::string said(const std::string& method, const std::string& target, const std::string& body) {
    const net::Response of = ask({.method = method, .target = target, .body = body});
    return of.status < 300 ? "taken" : code(of);
  }
};

TEST_F(ClaimsAndCopies, a_document_is_known_by_its_root) {
  ASSERT_EQ(ask({.method = "PUT",
                 .target = "/safe",
                 .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}})
                .status,
            200);
  put("/safe/k", "x");
  put("/safe/c", "x", {{"x-amz-storage-class", "GLACIER"}});
  const std::vector<std::array<std::string, 4>> all = {
      {"PUT", "/safe?versioning", "VersioningConfiguration", "<Status>Enabled</Status>"},
      {"PUT", "/safe?object-lock", "ObjectLockConfiguration",
       "<ObjectLockEnabled>Enabled</ObjectLockEnabled>"},
      {"PUT", "/fresh", "CreateBucketConfiguration",
       "<LocationConstraint>us-east-1</LocationConstraint>"},
      {"PUT", "/safe/k?tagging", "Tagging", "<TagSet/>"},
      {"PUT", "/safe/k?legal-hold", "LegalHold", "<Status>OFF</Status>"},
      {"PUT", "/safe/k?retention", "Retention",
       "<Mode>GOVERNANCE</Mode><RetainUntilDate>2024-01-01T00:00:00Z</RetainUntilDate>"},
      {"POST", "/safe/c?restore", "RestoreRequest", "<Days>1</Days>"},
      {"POST", "/safe?delete", "Delete", "<Object><Key>none</Key></Object>"}};
  for (const auto& [method, target, root, inner] : all) {
    EXPECT_EQ(said(method, target, "<Other>" + inner + "</Other>"), "MalformedXML") << target;
    EXPECT_EQ(said(method, target, '<' + root + '>' + inner + "</" + root + '>'), "taken")
        << target;
  }
}

TEST_F(ClaimsAndCopies, a_lock_needs_versions_or_a_bucket_that_had_one) {
  const std::string lock =
      "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
      "</ObjectLockConfiguration>";
  EXPECT_EQ(said("PUT", "/pail?object-lock", lock), "InvalidBucketState");
  version_it("Enabled");
  EXPECT_EQ(said("PUT", "/pail?object-lock", lock), "taken");
  ASSERT_TRUE(store->change_bucket("pail", [](Bucket& bucket) -> Answer<void> {
    bucket.versioning = Versioning::suspended;
    return {};
  }));
  EXPECT_EQ(said("PUT", "/pail?object-lock", lock), "taken") << "it has locks already";
}

TEST_F(ClaimsAndCopies, bytes_are_copied_whatever_their_number) {
  std::string large((1u << 20) + 5, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>((i * 7) ^ (i >> 8));
  for (const std::string& bytes : {std::string("1"), std::string("22"), large}) {
    put("/pail/from", bytes);
    ASSERT_EQ(copy("/pail/to", "/pail/from").status, 200) << bytes.size();
    EXPECT_EQ(head("/pail/to").length, bytes.size());
    EXPECT_EQ(header(head("/pail/to"), "ETag"), header(head("/pail/from"), "ETag"));
    const net::Response tail = get("/pail/to", {{"Range", "bytes=-6"}});
    EXPECT_EQ(tail.body, bytes.substr(bytes.size() - std::min<std::size_t>(6, bytes.size())));
  }
  put("/pail/a%2Bb", "plus");
  EXPECT_EQ(copy("/pail/to", "/pail/a+b").status, 200) << "a plus is a plus in a path";
  EXPECT_EQ(get("/pail/to").body, "plus");
  for (const auto& drive : drives) drive->broken = true;
  const net::Response failed = copy("/pail/to", "/pail/from");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(code(failed), "InternalError");
}

TEST_F(ClaimsAndCopies, a_stretch_without_an_end_is_none) {
  put("/pail/k", "0123456789");
  const std::string id = begin_parts("/pail/to");
  for (const char* bad : {"bytes=0-", "bytes=0-x", "bytes=x-0", "bytes=-0"}) {
    EXPECT_EQ(code(copy("/pail/to?partNumber=1&uploadId=" + id, "/pail/k",
                        {{"x-amz-copy-source-range", bad}})),
              "InvalidArgument")
        << bad;
  }
}

// Two digits a byte; one too many says nothing.
TEST_F(ClaimsAndCopies, a_listing_goes_on_behind_its_token) {
  for (const char* key : {"a", "b", "c"}) put(std::string("/pail/") + key, "x");
  const auto keys = [&](const std::string& token) {
    const net::Response of = get("/pail?list-type=2&continuation-token=" + token);
    return of.status == 200 ? between(of.body, "<KeyCount>", "</KeyCount>") : code(of);
  };
  EXPECT_EQ(keys("61"), "2");
  EXPECT_EQ(keys("616"), "2");
  EXPECT_EQ(keys("62"), "1");
  EXPECT_EQ(keys("6z"), "InvalidArgument");
}

}  // namespace
}  // namespace orrery::s3server::claims_and_copies_tests
