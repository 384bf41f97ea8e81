// Calls about buckets: their names, locations, tags, versioning and object locks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/s3server/gateway_fixture.h"
#include "live/store/moment.h"

namespace orrery::s3server::bucket_calls_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSpace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
const std::string kOwner = "<Owner><ID>main</ID><DisplayName>main</DisplayName></Owner>";

class BucketCalls : public GatewayTest {
 protected:
  // The body without declaration and namespace, with "NOW" for every time of the fixture's clock.
  static std::string plain(const net::Response& response) {
    EXPECT_EQ(response.content_type, "application/xml");
    std::string text = response.body;
    if (const auto at = text.find("?>"); at != text.npos) text.erase(0, at + 2);
    const auto space = text.find(kSpace);
    EXPECT_NE(space, text.npos) << text;
    if (space != text.npos) text.erase(space, kSpace.size());
    for (std::size_t at = 0; (at = text.find("2023-11-14T22:13:2", at)) != text.npos;) {
      EXPECT_EQ(text.substr(at + 18, 6).find_first_not_of("0123456789.Z"), std::string::npos);
      text.replace(at, 24, "NOW");
    }
    for (std::size_t at = 0; (at = text.find('"', at)) != text.npos;) text.replace(at, 1, "&quot;");
    return text;
  }
};

TEST_F(BucketCalls, buckets_are_listed_with_their_owner) {
  put("/tub", "");
  ask({.method = "PUT", .target = "/theirs", .access_key = "OTHER"});
  EXPECT_EQ(plain(get("/")),
            "<ListAllMyBucketsResult>" + kOwner +
                "<Buckets><Bucket><Name>pail</Name><CreationDate>NOW</CreationDate></Bucket>"
                "<Bucket><Name>tub</Name><CreationDate>NOW</CreationDate></Bucket></Buckets>"
                "</ListAllMyBucketsResult>");
  EXPECT_EQ(gateway->answer({.target = "/", .headers = {{"Host", "h"}}}).status, 403);
  EXPECT_EQ(header(ask({.method = "PUT", .target = "/third"}), "Location"), "/third");
  EXPECT_EQ(plain(get("/pail?location")), "<LocationConstraint/>");
  EXPECT_EQ(plain(get("/pail?versioning")), "<VersioningConfiguration/>");
  version_it("Enabled");
  EXPECT_EQ(plain(get("/pail?versioning")),
            "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
}

TEST_F(BucketCalls, buckets_have_names_places_and_tags) {
  EXPECT_EQ(code(ask({.method = "PUT", .target = "/Upper"})), "InvalidBucketName");
  EXPECT_EQ(ask({.method = "PUT", .target = "/pail"}).status, 200)
      << "creating one's own bucket again changes nothing";
  const auto made_in = [&](const std::string& name, const std::string& place) {
    return put("/" + name, "<CreateBucketConfiguration><LocationConstraint>" + place +
                               "</LocationConstraint></CreateBucketConfiguration>");
  };
  EXPECT_EQ(made_in("east", "us-east-1").status, 200);
  EXPECT_EQ(made_in("place", "default").status, 200);
  EXPECT_EQ(code(made_in("moon", "moon-1")), "IllegalLocationConstraintException");
  EXPECT_THAT(get("/east?location").body, Not(HasSubstr("us-east-1"))) << "written as an empty "
                                                                          "location";
  EXPECT_THAT(get("/place?location").body, HasSubstr("default"));
  EXPECT_EQ(header(head("/pail"), "x-amz-bucket-region"), "us-east-1");
  EXPECT_EQ(code(get("/pail?tagging")), "NoSuchTagSet");
  EXPECT_EQ(put("/pail?tagging",
                "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>")
                .status,
            204);
  EXPECT_THAT(get("/pail?tagging").body, HasSubstr("<Key>a</Key><Value>1</Value>"));
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?tagging"}).status, 204);
  EXPECT_EQ(code(get("/pail?tagging")), "NoSuchTagSet");
  EXPECT_EQ(code(put("/pail?versioning",
                     "<VersioningConfiguration><Status>Enabled</Status>"
                     "<MfaDelete>Enabled</MfaDelete></VersioningConfiguration>")),
            "NotImplemented");
  version_it("Suspended");
  EXPECT_THAT(get("/pail?versioning").body, HasSubstr("<Status>Suspended</Status>"));
  EXPECT_EQ(code(put("/pail?acl", "", {{"x-amz-acl", "everybody"}})), "InvalidArgument");
  EXPECT_EQ(code(get("/pail?cors")), "NotImplemented") << "a known operation that is not "
                                                          "implemented";
  EXPECT_EQ(code(ask({.method = "PATCH", .target = "/pail"})), "MethodNotAllowed");
  EXPECT_EQ(code(get("/pail?object-lock")), "ObjectLockConfigurationNotFoundError");
  // No bucket has CORS rules.
  net::Request preflight{.method = "OPTIONS", .target = "/pail/k"};
  EXPECT_EQ(gateway->answer(preflight).status, 400);
  preflight.headers = {{"Origin", "http://x"}};
  EXPECT_EQ(gateway->answer(preflight).status, 403);
}

TEST_F(BucketCalls, default_retention_is_1_to_36500_days_or_years) {
  ASSERT_EQ(ask({.method = "PUT",
                 .target = "/safe",
                 .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}})
                .status,
            200);
  const auto lock = [&](const std::string& inner) {
    return fate(put("/safe?object-lock",
                    "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>"
                    "<DefaultRetention><Mode>GOVERNANCE</Mode>" +
                        inner + "</DefaultRetention></Rule></ObjectLockConfiguration>"));
  };
  EXPECT_EQ(lock("<Days>36501</Days>"), "InvalidRetentionPeriod");
  EXPECT_EQ(lock("<Days>0</Days>"), "InvalidRetentionPeriod");
  EXPECT_EQ(lock("<Years>x</Years>"), "InvalidRetentionPeriod");
  EXPECT_EQ(lock("<Days>1</Days><Years>1</Years>"), "MalformedXML");
  EXPECT_EQ(lock(""), "MalformedXML");
  EXPECT_EQ(lock("<Days>36500</Days>"), "taken");
  EXPECT_THAT(get("/safe?object-lock").body, HasSubstr("<Days>36500</Days>"));
  EXPECT_THAT(get("/safe?object-lock").body, Not(HasSubstr("<Years>")));
  EXPECT_EQ(lock("<Years>1</Years>"), "taken");
  EXPECT_THAT(get("/safe?object-lock").body, HasSubstr("<Years>1</Years>"));
  EXPECT_THAT(get("/safe?object-lock").body, Not(HasSubstr("<Days>")));
  put("/safe/k", "x");
  // The clock advances by a millisecond each time it is read; the lock lasts 365 days of 86,400,000
  // ms from then.
  const TimeMs until =
      *store::moment_of_iso(header(head("/safe/k"), "x-amz-object-lock-retain-until-date"));
  const TimeMs made = store->find("safe", "k", std::nullopt).value().modified_ms;
  EXPECT_GE(until, made + 365LL * 86'400'000 - 20);
  EXPECT_LT(until, made + 365LL * 86'400'000);
  EXPECT_EQ(lock("<Days>2</Days>"), "taken");
  put("/safe/d", "x");
  const TimeMs days =
      *store::moment_of_iso(header(head("/safe/d"), "x-amz-object-lock-retain-until-date"));
  EXPECT_NEAR(static_cast<double>(days), static_cast<double>(now + 2LL * 86'400'000), 50);
}

TEST_F(BucketCalls, keys_have_up_to_1024_bytes_and_bucket_names_3_to_63) {
  EXPECT_EQ(fate(put("/pail/" + std::string(1024, 'k'), "x")), "taken");
  EXPECT_EQ(fate(put("/pail/" + std::string(1025, 'k'), "x")), "KeyTooLongError");
  for (const std::size_t bytes : {2u, 3u, 63u, 64u}) {
    EXPECT_EQ(fate(put('/' + std::string(bytes, 'b'), "")),
              bytes == 2 || bytes == 64 ? "InvalidBucketName" : "taken")
        << bytes;
  }
}

class BucketLocks : public BucketCalls {
 protected:
  std::string fate_of(const std::string& method, const std::string& target,
                      const std::string& body) {
    return fate(ask({.method = method, .target = target, .body = body}));
  }
};

TEST_F(BucketLocks, a_document_must_have_the_right_root) {
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
    EXPECT_EQ(fate_of(method, target, "<Other>" + inner + "</Other>"), "MalformedXML") << target;
    EXPECT_EQ(fate_of(method, target, '<' + root + '>' + inner + "</" + root + '>'), "taken")
        << target;
  }
}

TEST_F(BucketLocks, a_lock_needs_versioning) {
  const std::string lock =
      "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
      "</ObjectLockConfiguration>";
  EXPECT_EQ(fate_of("PUT", "/pail?object-lock", lock), "InvalidBucketState");
  version_it("Enabled");
  EXPECT_EQ(fate_of("PUT", "/pail?object-lock", lock), "taken");
  ASSERT_TRUE(store->change_bucket("pail", [](Bucket& bucket) -> Answer<void> {
    bucket.versioning = Versioning::suspended;
    return {};
  }));
  EXPECT_EQ(fate_of("PUT", "/pail?object-lock", lock), "taken") << "the bucket already has object "
                                                                   "locks";
}

TEST_F(BucketCalls, an_unknown_acl_or_class_makes_nothing) {
  EXPECT_EQ(code(put("/fresh", "", {{"x-amz-acl", "everybody"}})), "InvalidArgument");
  EXPECT_EQ(get("/fresh").status, 404) << "no bucket was created";
  EXPECT_EQ(code(put("/pail/k", "x", {{"x-amz-storage-class", "MOON"}})), "InvalidStorageClass");
  EXPECT_EQ(get("/pail/k").status, 404);
}

TEST_F(BucketCalls, locks_and_tags_are_shown_as_they_were_set) {
  version_it("Enabled");
  const auto lock = [&](const std::string& rule) {
    return put("/pail?object-lock",
               "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>" + rule +
                   "</ObjectLockConfiguration>")
        .status;
  };
  const std::string head =
      "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>";
  EXPECT_EQ(lock(""), 200);
  EXPECT_EQ(plain(get("/pail?object-lock")), head + "</ObjectLockConfiguration>");
  for (const auto& [mode, period] :
       {std::pair{"COMPLIANCE", "<Days>36500</Days>"}, {"GOVERNANCE", "<Years>1</Years>"}}) {
    const std::string rule = std::string("<Rule><DefaultRetention><Mode>") + mode + "</Mode>" +
                             period + "</DefaultRetention></Rule>";
    EXPECT_EQ(lock(rule), 200);
    EXPECT_EQ(plain(get("/pail?object-lock")), head + rule + "</ObjectLockConfiguration>");
  }
  EXPECT_EQ(lock("<Rule><DefaultRetention><Mode>GOVERNANCE</Mode><Days>36501</Days>"
                 "</DefaultRetention></Rule>"),
            400);
  EXPECT_EQ(lock("<Rule></Rule>"), 400);
  for (const char* enabled : {"", "<ObjectLockEnabled>Disabled</ObjectLockEnabled>",
                              "<ObjectLockEnabled></ObjectLockEnabled>"}) {
    EXPECT_EQ(code(put("/pail?object-lock", std::string("<ObjectLockConfiguration>") + enabled +
                                                "</ObjectLockConfiguration>")),
              "MalformedXML")
        << enabled;
  }
  put("/pail/k", "x",
      {{"x-amz-object-lock-mode", "GOVERNANCE"},
       {"x-amz-object-lock-retain-until-date", "2030-01-02T03:04:05.678Z"},
       {"x-amz-tagging", "b=2&a=1"}});
  EXPECT_EQ(plain(get("/pail/k?retention")),
            "<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2030-01-02T03:04:05.678Z"
            "</RetainUntilDate></Retention>");
  EXPECT_EQ(plain(get("/pail/k?legal-hold")), "<LegalHold><Status>OFF</Status></LegalHold>");
  EXPECT_EQ(plain(get("/pail/k?tagging")),
            "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag>"
            "<Tag><Key>b</Key><Value>2</Value></Tag></TagSet></Tagging>");
  std::string fifty;
  for (int i = 0; i < 50; ++i) fifty += "<Tag><Key>k" + std::to_string(i) + "</Key></Tag>";
  const auto tagged = [&](const std::string& target, const std::string& tags) {
    return code(put(target, "<Tagging><TagSet>" + tags + "</TagSet></Tagging>"));
  };
  EXPECT_EQ(tagged("/pail?tagging", fifty), "");
  EXPECT_EQ(tagged("/pail?tagging", fifty + "<Tag><Key>l</Key></Tag>"), "InvalidTag");
  EXPECT_EQ(tagged("/pail/k?tagging", fifty), "InvalidTag") << "an object has ten";
  EXPECT_EQ(tagged("/pail/k?tagging", "<Tag><Value>v</Value></Tag>"), "MalformedXML");
  EXPECT_EQ(tagged("/pail/k?tagging", "<Other><Key>v</Key></Other>"), "MalformedXML");
  EXPECT_EQ(tagged("/pail/k?tagging", ""), "");
}

}  // namespace
}  // namespace orrery::s3server::bucket_calls_tests
