// The protocol over a store in memory: requests in, answers out, friendly and hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/s3/sigv4.h"
#include "live/s3server/gateway_fixture.h"
#include "live/store/moment.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(GatewayTest, an_object_comes_back_as_it_was_put) {
  EXPECT_EQ(put("/pail", "").status, 200);
  const net::Response made = put("/pail/a%20b/%2e%2e/c", "hello", {{"x-amz-meta-who", "me"}});
  EXPECT_EQ(made.status, 200) << made.body;
  const net::Response got = ask({.target = "/pail/a%20b/%2e%2e/c"});
  EXPECT_EQ(got.status, 200) << got.body;
  EXPECT_EQ(got.body, "hello");
  EXPECT_EQ(net::header_of(got.headers, "x-amz-meta-who"), "me");
  EXPECT_EQ(net::header_of(got.headers, "ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  const net::Response part =
      ask({.target = "/pail/a%20b/%2e%2e/c", .headers = {{"Range", "bytes=1-2"}}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "el");
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/a%20b/%2e%2e/c"}).status, 204);
  EXPECT_EQ(ask({.target = "/pail/a%20b/%2e%2e/c"}).status, 404);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail"}).status, 204);
}

// Where answers are made in place, no drive is read and nothing is synced there.
TEST_F(GatewayTest, what_waits_for_a_drive_is_put_off_and_answered_alike) {
  put("/pail", "");
  put("/pail/file", "of drives");
  Tier holding = tier;
  holding.held_bytes_max = 100;
  StoreSetting setting = store->setting();
  setting.tiers = {holding};
  store = std::make_unique<Store>(setting);
  ASSERT_TRUE(store->open());
  open_gateway({.puts_off = true});
  const auto asked = [&](const std::string& method, const std::string& target, bool later) {
    const net::Request request = signed_request({.method = method, .target = target});
    net::Response response = gateway->answer(request);
    EXPECT_EQ(response.later != nullptr, later) << method << ' ' << target;
    if (response.later) response = response.later();
    EXPECT_FALSE(net::header_of(response.headers, "x-amz-request-id").empty());
    return response;
  };
  put("/pail/row", "of rows");
  EXPECT_EQ(asked("GET", "/pail/row", false).body, "of rows");
  EXPECT_EQ(asked("GET", "/pail/file", true).body, "of drives");
  EXPECT_EQ(asked("HEAD", "/pail/file", false).status, 200);
  EXPECT_EQ(asked("GET", "/pail/none", false).status, 404);
  EXPECT_THAT(asked("GET", "/pail", true).body, HasSubstr("<Key>file</Key>"));
  EXPECT_EQ(asked("DELETE", "/pail/row", true).status, 204);
  EXPECT_EQ(asked("GET", "/pail/row", false).status, 404);
}

// Above the bound a body has an MD5 only where its client sent one; everything that goes by ETags
// goes on.
TEST_F(GatewayTest, a_large_object_has_an_etag_that_is_no_md5) {
  open_gateway({.quick_etag_bytes = 1000});
  put("/pail", "");
  const std::string large(70'000, 'l');
  const auto etag = [](const net::Response& response) {
    return std::string(net::header_of(response.headers, "ETag"));
  };
  const std::string first = etag(put("/pail/a", large));
  EXPECT_TRUE(first.ends_with("-1\"")) << first;
  EXPECT_EQ(ask({.target = "/pail/a"}).body, "");  // it comes from a source
  EXPECT_EQ(etag(ask({.method = "HEAD", .target = "/pail/a"})), first);
  EXPECT_EQ(ask({.target = "/pail/a", .headers = {{"If-None-Match", first}}}).status, 304);
  // The same bytes once more are another object to a condition.
  EXPECT_EQ(put("/pail/a", large, {{"If-Match", first}}).status, 200);
  EXPECT_EQ(put("/pail/a", large, {{"If-Match", first}}).status, 412);
  const std::string md5 = s3::md5(large);
  EXPECT_EQ(etag(put("/pail/b", large, {{"Content-MD5", to_base64(md5)}})),
            '"' + to_hex(md5) + '"');
  EXPECT_EQ(put("/pail/c", large, {{"Content-MD5", to_base64(s3::md5("x"))}}).status, 400);
  EXPECT_EQ(etag(put("/pail/d", "small")), '"' + to_hex(s3::md5("small")) + '"');
  // A copy keeps the kind of its source.
  EXPECT_THAT(
      ask({.method = "PUT", .target = "/pail/e", .headers = {{"x-amz-copy-source", "/pail/a"}}})
          .body,
      HasSubstr("-1\"</ETag>"));
  EXPECT_THAT(
      ask({.method = "PUT", .target = "/pail/f", .headers = {{"x-amz-copy-source", "/pail/b"}}})
          .body,
      HasSubstr(to_hex(md5)));
}

TEST_F(GatewayTest, parts_without_an_md5_make_an_object) {
  open_gateway({.quick_etag_bytes = 1000});
  put("/pail", "");
  const std::string began = ask({.method = "POST", .target = "/pail/a?uploads"}).body;
  const auto at = began.find("<UploadId>") + 10;
  const std::string id = began.substr(at, began.find("</UploadId>") - at);
  const auto part = put("/pail/a?partNumber=1&uploadId=" + id, std::string(6000, 'p'));
  const std::string etag(net::header_of(part.headers, "ETag"));
  EXPECT_TRUE(etag.ends_with("-1\"")) << etag;
  const auto done = ask({.method = "POST",
                         .target = "/pail/a?uploadId=" + id,
                         .body = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" +
                                 etag + "</ETag></Part></CompleteMultipartUpload>"});
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(ask({.target = "/pail/a"}).body, std::string(6000, 'p'));
}

TEST_F(GatewayTest, what_is_wrong_with_a_signature_is_said) {
  put("/pail", "");
  EXPECT_THAT(ask({.target = "/pail", .access_key = "nobody"}).body,
              HasSubstr("InvalidAccessKeyId"));
  EXPECT_THAT(ask({.target = "/pail", .secret_key = "wrong"}).body,
              HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(ask({.target = "/pail", .skew_ms = 20L * 60 * 1000}).body,
              HasSubstr("RequestTimeTooSkewed"));
  EXPECT_THAT(ask({.target = "/pail", .skew_ms = -20L * 60 * 1000}).body,
              HasSubstr("RequestTimeTooSkewed"));
  for (const char* bad :
       {"AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=", "Basic abc", "AWS a:b",
        "AWS4-HMAC-SHA256 Credential=AK/1/2/3/aws4_request,SignedHeaders=,Signature=0"}) {
    net::Request request{.target = "/pail", .headers = {{"Authorization", bad}}};
    const int status = gateway->answer(request).status;
    EXPECT_TRUE(status == 400 || status == 403) << bad;
  }
}

TEST_F(GatewayTest, what_is_changed_after_signing_is_refused) {
  put("/pail", "");
  net::Request request = signed_request({.target = "/pail/key"});
  request.target = "/pail/other";
  EXPECT_THAT(gateway->answer(request).body, HasSubstr("SignatureDoesNotMatch"));
  request = signed_request({.method = "PUT", .target = "/pail/key", .body = "good"});
  EXPECT_THAT(send(request, "evil").body, HasSubstr("XAmzContentSHA256Mismatch"));
  request = signed_request({.target = "/pail/key"});
  request.headers.emplace_back("x-amz-acl", "public-read");
  EXPECT_THAT(gateway->answer(request).body, HasSubstr("not signed"));
  EXPECT_EQ(ask({.target = "/pail/key"}).status, 404);
}

TEST_F(GatewayTest, a_request_that_was_heard_is_good_for_minutes_and_not_for_longer) {
  put("/pail", "");
  const net::Request heard = signed_request({.target = "/pail"});
  EXPECT_EQ(gateway->answer(heard).status, 200);
  now += 14L * 60 * 1000;
  EXPECT_EQ(gateway->answer(heard).status, 200);
  now += 2L * 60 * 1000;
  EXPECT_THAT(gateway->answer(heard).body, HasSubstr("RequestTimeTooSkewed"));
}

TEST_F(GatewayTest, a_tenant_cannot_reach_anothers_bucket) {
  put("/pail", "");
  put("/pail/key", "mine");
  for (const char* method : {"GET", "HEAD", "DELETE"}) {
    for (const char* target :
         {"/pail", "/pail/key", "/pail?acl", "/pail/key?tagging", "/pail?versions"}) {
      const int status = ask({.method = method, .target = target, .access_key = "OTHER"}).status;
      EXPECT_TRUE(status == 403 || status == 405 || status == 501)
          << method << ' ' << target << status;
    }
  }
  EXPECT_EQ(
      ask({.method = "PUT", .target = "/pail/key", .body = "theirs", .access_key = "OTHER"}).status,
      403);
  EXPECT_EQ(ask({.method = "PUT", .target = "/pail", .access_key = "OTHER"}).status, 409);
  put("/shed", "");
  EXPECT_EQ(ask({.method = "PUT",
                 .target = "/shed/copy",
                 .headers = {{"x-amz-copy-source", "/pail/key"}},
                 .access_key = "OTHER"})
                .status,
            403);
  EXPECT_THAT(ask({.target = "/", .access_key = "OTHER"}).body, Not(HasSubstr("pail")));
  EXPECT_EQ(ask({.target = "/pail/key"}).body, "mine");
  EXPECT_EQ(gateway->answer({.target = "/pail/key"}).status, 403);  // a stranger
}

TEST_F(GatewayTest, documents_that_are_bombs_or_nonsense_are_refused) {
  put("/pail", "");
  std::string bomb = "<!DOCTYPE b [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " \"";
    for (int i = 0; i < 10; ++i) bomb += std::string("&") + static_cast<char>(c - 1) + ";";
    bomb += "\">";
  }
  bomb += "]><Delete><Object><Key>&j;</Key></Object></Delete>";
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "<a>";
  for (const std::string& body : {bomb, deep, std::string("<Delete>"), std::string("not xml"),
                                  std::string(100000, '<'), std::string("<Delete></Delete>")}) {
    const net::Response answer = ask({.method = "POST", .target = "/pail?delete", .body = body});
    EXPECT_TRUE(answer.status == 400 || answer.status == 200) << answer.status;
    EXPECT_LT(answer.body.size(), 10000u);
  }
}

TEST_F(GatewayTest, keys_with_tricks_stay_keys) {
  put("/pail", "");
  for (const char* target :
       {"/pail/../../etc/passwd", "/pail/%2e%2e/%2e%2e/x", "/pail//", "/pail/%25", "/pail/a%2Fb",
        "/pail/%F0%9F%98%80", "/pail/a+b", "/pail/%0d%0a"}) {
    EXPECT_EQ(put(target, "x").status, 200) << target;
    EXPECT_EQ(ask({.target = target}).body, "x") << target;
  }
  for (const char* target : {"/pail/%00", "/pail/%ff", "/pail/%", "/pail/%4"}) {
    EXPECT_EQ(put(target, "x").status, 400) << target;
  }
  EXPECT_EQ(put("/pail/" + std::string(1025, 'k'), "x").status, 400);
}

TEST_F(GatewayTest, listings_page_and_group) {
  put("/pail", "");
  for (const char* key : {"a/1", "a/2", "b", "c/1", "d"}) put(std::string("/pail/") + key, "x");
  const std::string first = ask({.target = "/pail?delimiter=%2F&max-keys=2"}).body;
  EXPECT_THAT(first, HasSubstr("<CommonPrefixes><Prefix>a/</Prefix>"));
  EXPECT_THAT(first, HasSubstr("<Key>b</Key>"));
  EXPECT_THAT(first, HasSubstr("<NextMarker>b</NextMarker>"));
  EXPECT_THAT(first, Not(HasSubstr("<Prefix>c/")));
  const std::string second = ask({.target = "/pail?delimiter=%2F&max-keys=2&marker=b"}).body;
  EXPECT_THAT(second, HasSubstr("<Prefix>c/</Prefix>"));
  EXPECT_THAT(second, HasSubstr("<Key>d</Key>"));
  EXPECT_THAT(second, HasSubstr("<IsTruncated>false</IsTruncated>"));
}

TEST_F(GatewayTest, versions_come_and_go) {
  put("/pail", "");
  put("/pail?versioning",
      "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
  const std::string one(net::header_of(put("/pail/k", "one").headers, "x-amz-version-id"));
  const std::string two(net::header_of(put("/pail/k", "two").headers, "x-amz-version-id"));
  EXPECT_NE(one, two);
  EXPECT_EQ(ask({.target = "/pail/k?versionId=" + one}).body, "one");
  ask({.method = "DELETE", .target = "/pail/k"});
  EXPECT_EQ(ask({.target = "/pail/k"}).status, 404);
  EXPECT_EQ(ask({.target = "/pail/k?versionId=" + two}).body, "two");
  const net::Response all = ask({.target = "/pail?versions"});
  EXPECT_THAT(all.body, HasSubstr("<DeleteMarker>"));
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/k?versionId=" + two}).status, 204);
  EXPECT_EQ(ask({.target = "/pail/k?versionId=" + one}).body, "one");
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail"}).status, 409);
}

TEST_F(GatewayTest, what_a_commit_left_undecided_keeps_its_bytes) {
  put("/pail", "");
  metadata.lose_answer();
  EXPECT_EQ(put("/pail/a", std::string(3000, 'a')).status, 500);
  EXPECT_EQ(ask({.target = "/pail/a"}).body, std::string(3000, 'a'));
  metadata.lose_answer();
  EXPECT_EQ(
      ask({.method = "PUT", .target = "/pail/b", .headers = {{"x-amz-copy-source", "/pail/a"}}})
          .status,
      500);
  EXPECT_EQ(ask({.target = "/pail/b"}).body, std::string(3000, 'a'));
}

TEST_F(GatewayTest, versions_are_in_order_though_the_clock_was_set_back) {
  put("/pail", "");
  put("/pail?versioning",
      "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>");
  put("/pail/a", "first");
  now -= 3'600'000;
  StoreSetting setting = store->setting();
  store = std::make_unique<Store>(std::move(setting));
  ASSERT_TRUE(store->open());
  open_gateway({});
  put("/pail/a", "the second");
  put("/pail/a", "the very third");
  const std::string listed = ask({.target = "/pail?versions"}).body;
  EXPECT_LT(listed.find("<Size>14<"), listed.find("<Size>10<"));
  EXPECT_LT(listed.find("<Size>10<"), listed.find("<Size>5<"));
}

TEST_F(GatewayTest, lifecycle_ends_what_is_due) {
  put("/pail", "");
  EXPECT_EQ(
      put("/pail?lifecycle",
          "<LifecycleConfiguration><Rule><ID>r</ID><Prefix>old/</Prefix><Status>Enabled</Status>"
          "<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>")
          .status,
      200);
  put("/pail/old/k", "x");
  put("/pail/new/k", "x");
  const auto never = [] { return false; };
  ASSERT_EQ(run_lifecycle(*store, 100'000, never)->expired, 0u);
  now += 100'000;
  ASSERT_EQ(run_lifecycle(*store, 100'000, never)->expired, 1u);
  EXPECT_EQ(ask({.target = "/pail/old/k"}).status, 404);
  EXPECT_EQ(ask({.target = "/pail/new/k"}).status, 200);
}

TEST_F(GatewayTest, a_flipped_bit_is_found_mended_and_never_served) {
  put("/pail", "");
  const std::string bytes(200'000, 'z');
  put("/pail/k", bytes);
  for (const auto& drive : drives) {
    auto& content = *drive->files().begin()->second;
    content.bytes[content.bytes.size() / 2] ^= 4;
    std::string got(bytes.size(), '\0');
    auto object = store->open_object("pail", "k", std::nullopt,
                                     [](const Version&) -> Answer<void> { return {}; });
    ASSERT_TRUE(object);
    ASSERT_TRUE(object->reader->read(0, got));
    EXPECT_EQ(got, bytes);
    EXPECT_FALSE(check_store(*store, true)->clean());
    Scrubber scrubber(*store);
    while (*scrubber.step(1 << 20)) {
    }
    EXPECT_EQ(scrubber.counts().mended, 1u);
    const auto check = check_store(*store, true);
    EXPECT_TRUE(check->clean()) << (check->faults.empty() ? "" : check->faults.front());
  }
}

TEST_F(GatewayTest, a_large_object_is_scrubbed_no_faster_than_the_pace) {
  put("/bucket", "");
  put("/bucket/large", std::string(300'000, 'l'));
  Scrubber scrubber(*store);
  for (int tick = 0; tick < 100; ++tick) ASSERT_TRUE(scrubber.step(10'000));
  // A hundred ticks pay for a million bytes, and the first read needs none.
  EXPECT_LE(scrubber.counts().bytes, 1'000'000u + 500'000u);
  EXPECT_GE(scrubber.counts().rounds, 1u);
}

TEST_F(GatewayTest, a_full_drive_is_said_and_what_is_there_stays_readable) {
  put("/pail", "");
  put("/pail/before", std::string(1000, 'b'));
  for (const auto& drive : drives) drive->capacity = 2000;
  const net::Response answer = put("/pail/after", std::string(100'000, 'a'));
  EXPECT_EQ(answer.status, 507) << answer.body;
  EXPECT_EQ(ask({.target = "/pail/before"}).status, 200);
  EXPECT_EQ(ask({.target = "/pail/after"}).status, 404);
  for (const auto& drive : drives) drive->capacity = ~std::uint64_t{0};
  EXPECT_EQ(put("/pail/after", std::string(100'000, 'a')).status, 200);
}

}  // namespace
}  // namespace orrery::s3server
