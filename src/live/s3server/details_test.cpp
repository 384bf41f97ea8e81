// Claims of a signature part by part, limits of one client, and lines that others read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3/checksum.h"
#include "live/s3server/audit.h"
#include "live/s3server/limits.h"
#include "live/s3server/metrics.h"
#include "live/s3server/payload.h"
#include "live/s3server/requests_fixture.h"
#include "live/s3server/secrets.h"
#include "live/upkeep/copy_extents.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

// What is malformed is said to be so: a client that reads "does not match" looks for its key.
TEST_F(RequestsTest, a_claim_has_all_its_parts) {
  put("/pail/k", "bytes");
  const std::string day = amz_time(now).substr(0, 8);
  const auto with = [&](const std::string& from, const std::string& to) {
    net::Request request = signed_request({.target = "/pail/k"});
    for (auto& [name, value] : request.headers) {
      if (name != "Authorization") continue;
      const auto at = value.find(from);
      EXPECT_NE(at, value.npos) << from << " in " << value;
      value.replace(at, from.size(), to);
    }
    return code(gateway->answer(request));
  };
  EXPECT_EQ(with("AWS4", "AWS4"), "") << "as it was";
  EXPECT_EQ(with("aws4_request", "aws5_request"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(day, day + "0"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with("SignedHeaders=", "Signed="), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with("Signature=", "Signature=0"), "AuthorizationHeaderMalformed");
  EXPECT_EQ(with(day, "20010101"), "AccessDenied") << "another day than the request's";
  EXPECT_EQ(with("/us-east-1/", "/eu-west-1/"), "AuthorizationHeaderMalformed");
  net::Request bare = signed_request({.target = "/pail/k"});
  std::erase_if(bare.headers, [](const auto& h) { return h.first == "x-amz-content-sha256"; });
  EXPECT_EQ(code(gateway->answer(bare)), "InvalidRequest");
  // Rightly signed, but not for this host: whoever hears it could send it to another.
  const std::string time = amz_time(now);
  const HeaderList own = {{"x-amz-content-sha256", "UNSIGNED-PAYLOAD"}, {"x-amz-date", time}};
  net::Request anywhere{.method = "GET", .target = "/pail/k", .headers = own};
  anywhere.headers.emplace_back("Host", "h");
  anywhere.headers.emplace_back("Authorization", s3::authorization({.method = "GET",
                                                                    .path = "/pail/k",
                                                                    .query = {},
                                                                    .headers = own,
                                                                    .payload = "UNSIGNED-PAYLOAD",
                                                                    .time = time,
                                                                    .region = "us-east-1"},
                                                                   {"AK", "secret", ""}));
  EXPECT_EQ(code(gateway->answer(anywhere)), "AccessDenied");
}

TEST(ClientLimitsLaws, a_clock_set_back_takes_nothing_and_rest_saves_two_seconds) {
  ClientLimits limits({.requests_per_s = 10, .at_once = 0});
  const auto passed = [&](TimeMs now) {
    int count = 0;
    while (count < 1000 && limits.enter("c", now)) ++count;
    return count;
  };
  EXPECT_EQ(passed(100'000), 20);
  EXPECT_EQ(passed(50'000), 0);
  EXPECT_EQ(passed(50'500), 5) << "nothing was taken for the hour the clock went back";
  EXPECT_EQ(passed(900'000), 20) << "however long the rest was";
}

// Beyond 10,000 addresses idle ones are forgotten, and none that has a request under way: its turn
// would be counted twice.
TEST(ClientLimitsLaws, a_client_with_a_request_under_way_is_not_forgotten) {
  ClientLimits limits({.requests_per_s = 0, .at_once = 1});
  const auto turn = limits.enter("busy", 0);
  for (int i = 0; i < 10'001; ++i) limits.enter("a" + std::to_string(i), 0);
  EXPECT_FALSE(limits.enter("busy", 60'000));
}

TEST(AuditLine, says_whole_milliseconds) {
  EXPECT_THAT(audit_line({.status = 200, .bytes = 3, .ms = 2.6}), HasSubstr("\"ms\":3"));
  EXPECT_THAT(audit_line({.status = 200, .bytes = 3, .ms = 2.4}), HasSubstr("\"ms\":2"));
}

// A bucket of the histogram holds what took as long as its bound, and no longer.
TEST(GatewayCountsLaws, a_latency_is_counted_below_its_bound) {
  GatewayCounts counts;
  counts.add(RequestKind::get, 200, 0, 0.003);
  counts.add(RequestKind::get, 200, 0, 0.0031);
  counts.add(RequestKind::get, 200, 0, 11);
  const KindCounts& of = counts.kinds[static_cast<std::size_t>(RequestKind::get)];
  EXPECT_EQ(of.within[0], 0u);
  EXPECT_EQ(of.within[1], 1u);
  EXPECT_EQ(of.within[2], 1u);
  EXPECT_EQ(of.within[kLatencyBounds.size()], 1u);
}

TEST(PayloadLimits, a_head_without_an_end_is_not_gathered) {
  PayloadReader reader({.payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER", .length = 9});
  const auto sink = [](std::string_view) -> Answer<void> { return {}; };
  EXPECT_TRUE(reader.take(std::string(4096, '0'), sink));
  EXPECT_FALSE(reader.take("0", sink));
}

TEST_F(RequestsTest, details_of_objects_that_others_rely_on) {
  // Whoever sends an MD5 gets it as the ETag, however large the body: quick is only who does not.
  net::Request raw{
      .method = "PUT",
      .target = "/pail/k",
      .headers = {{"Content-Length", "9"}, {"Content-MD5", to_base64(s3::md5("123456789"))}}};
  const auto asked_for = payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 5);
  ASSERT_TRUE(asked_for);
  EXPECT_FALSE(asked_for->quick);
  raw.headers.pop_back();
  EXPECT_TRUE(payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 5)->quick);
  EXPECT_TRUE(payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 9)->quick);
  EXPECT_FALSE(payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 10)->quick);
  // A copy has the kind of checksum that its source had.
  s3::Summer summer(s3::SumKind::sha1);
  summer.add("bytes");
  const std::string sha1 = to_base64(summer.finish());
  put("/pail/a", "bytes", {{"x-amz-checksum-sha1", sha1}});
  EXPECT_EQ(copy("/pail/b", "/pail/a").status, 200);
  EXPECT_EQ(header(head("/pail/b", {{"x-amz-checksum-mode", "ENABLED"}}), "x-amz-checksum-sha1"),
            sha1);
  // Several ranges are none (RFC 9110 lets a server ignore them), also where one has no beginning.
  EXPECT_EQ(get("/pail/a", {{"Range", "bytes=0,-2"}}).status, 200);
  // A class is shown where objects are listed.
  put("/pail/cold", "x", {{"x-amz-storage-class", "GLACIER"}});
  const std::string listed = get("/pail?list-type=2&prefix=cold").body;
  EXPECT_THAT(listed, HasSubstr("<StorageClass>GLACIER</StorageClass>")) << listed;
  // Uploads: as many as were asked for, and none before the marker.
  const std::string one = begin_parts("/pail/u1");
  const std::string two = begin_parts("/pail/u2");
  EXPECT_THAT(get("/pail?uploads&max-uploads=1").body, Not(HasSubstr(two)));
  EXPECT_THAT(get("/pail?uploads&key-marker=u15").body, Not(HasSubstr(one)));
}

TEST(SecretsLaws, what_is_said_twice_or_is_no_size_is_refused) {
  for (const char* bad : {"a K S quota=1GB more", "a K S\nb K T", "a K S quota=0B", "a K S 2GB"}) {
    ASSERT_FALSE(tenants_of(bad, "t")) << bad;
    EXPECT_EQ(tenants_of(bad, "t").error().front().code, "store.secrets");
  }
  const std::string digits(64, 'a');
  EXPECT_FALSE(keys_of("one " + digits + "\none " + digits, "k"));
  EXPECT_FALSE(keys_of("one " + digits.substr(1) + "g", "k")) << "the last is no digit";
  EXPECT_TRUE(s3_keys_of("pail A B\ntub A B", "s"));
  EXPECT_FALSE(s3_keys_of("pail A B\npail C D", "s"));
}

TEST(RequestLaws, a_host_is_a_bucket_only_before_a_dot_and_an_escape_has_two_digits) {
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

// A quota is the tenant's, over all his buckets; MD5 is checked where it was sent, and a policy
// that only denies opens nothing.
TEST_F(RequestsTest, a_quota_an_md5_and_a_policy_mean_what_they_say) {
  put("/zeta", "");
  open_gateway({.quota_of = [](std::string_view) { return std::uint64_t{100}; }});
  EXPECT_EQ(put("/pail/a", std::string(60, 'a')).status, 200);
  EXPECT_EQ(code(put("/zeta/b", std::string(41, 'b'))), "QuotaExceeded");
  EXPECT_EQ(put("/zeta/b", std::string(30, 'b')).status, 200);
  EXPECT_EQ(code(put("/zeta/c", std::string(11, 'b'))), "QuotaExceeded");
  EXPECT_EQ(code(put("/pail/c", std::string(11, 'b'))), "QuotaExceeded");
  open_gateway({});
  EXPECT_EQ(code(put("/pail/m", "x", {{"Content-MD5", to_base64(s3::md5("y"))}})), "BadDigest");
  EXPECT_EQ(put("/pail/m", "x", {{"Content-MD5", to_base64(s3::md5("x"))}}).status, 200);
  const auto is_public = [&](const std::string& effect) {
    put("/pail?policy", R"({"Statement":[{"Effect":")" + effect +
                            R"(","Principal":"*","Action":"s3:GetObject",)"
                            R"("Resource":"arn:aws:s3:::pail/none"}]})");
    return between(get("/pail?policyStatus").body, "<IsPublic>", "</IsPublic>");
  };
  EXPECT_EQ(is_public("Deny"), "false");
  EXPECT_EQ(is_public("Allow"), "true");
}

// Parts stay parts when they are copied, each with its own bytes; a copy that is stopped or finds
// too few bytes leaves none behind.
TEST_F(RequestsTest, a_copy_of_extents_has_the_bytes_of_each) {
  put("/pail/a", std::string(1500, 'a') + "end");
  put("/pail/b", "of b");
  std::vector<Extent> extents;
  for (const char* key : {"a", "b"}) {
    const auto version = store->find("pail", key, std::nullopt);
    ASSERT_TRUE(version);
    extents.push_back(version->extents.at(0));
  }
  auto reader = store->open_extents(extents);
  ASSERT_TRUE(reader);
  const auto go = [] { return false; };
  const auto made = upkeep::copy_extents(*store, **reader, extents, "cold", go);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->blobs.size(), 2u);
  std::string bytes(100, '\0');
  store::BlobReader second(set, made->blobs[1]);
  EXPECT_EQ(second.read(0, bytes), 4u);
  EXPECT_EQ(bytes.substr(0, 4), "of b");
  store::BlobReader first(set, made->blobs[0]);
  EXPECT_EQ(first.read(1500, bytes), 3u);
  EXPECT_EQ(made->extents[1].blob, made->blobs[1].id);
  const std::size_t files = drives.back()->files().size();
  EXPECT_FALSE(upkeep::copy_extents(*store, **reader, extents, "cold", [] { return true; }));
  std::vector<Extent> longer = extents;
  longer[1].size += 1;
  EXPECT_FALSE(upkeep::copy_extents(*store, **reader, longer, "cold", go));
  EXPECT_EQ(drives.back()->files().size(), files);
}

// A chain of sources as long as one likes ends after 64 steps: a page, not a walk over the store.
TEST_F(RequestsTest, a_long_lineage_ends) {
  for (int i = 0; i < 80; ++i) {
    put("/pail/k" + std::to_string(i), "x",
        {{"x-amz-tagging", "orrery-from=k" + std::to_string(i + 1)}});
  }
  const std::string shown = get("/pail/k0?orrery-lineage").body;
  EXPECT_THAT(shown, HasSubstr("k64"));
  EXPECT_THAT(shown, Not(HasSubstr("k65")));
}

// A policy that says nothing of a key leaves it to the bucket's owner: to no other.
TEST_F(RequestsTest, many_removals_ask_the_policy_for_each_key) {
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
}  // namespace orrery::s3server
