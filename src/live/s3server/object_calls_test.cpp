// Calls about one object: ranges, conditions, parts, tags, locks and attributes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "live/s3server/gateway_fixture.h"
#include "live/s3server/metrics.h"
#include "live/store/moment.h"
#include "live/store/storage_class.h"

namespace orrery::s3server::object_calls_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class ObjectCalls : public GatewayTest {
 protected:
  // Returns the status of a read of "/pail/k" under these conditions.
  int read(HeaderList headers) { return get("/pail/k", std::move(headers)).status; }
};

class ReadConditions : public ObjectCalls {
 protected:
  ReadConditions() {
    etag = header(put("/pail/k", "0123456789"), "ETag");
    bare = etag.substr(1, etag.size() - 2);
    made = store->find("pail", "k", std::nullopt).value().modified_ms;
  }
  // The second in which the object was created, plus `seconds`.
  std::string at(int seconds) const { return http_time(made / 1000 * 1000 + seconds * 1000LL); }

  std::string etag;
  std::string bare;
  TimeMs made = 0;
};

TEST_F(ReadConditions, dates_are_compared_to_the_second) {
  EXPECT_EQ(read({{"If-Unmodified-Since", at(0)}}), 200);
  EXPECT_EQ(read({{"If-Unmodified-Since", at(1)}}), 200);
  EXPECT_EQ(read({{"If-Unmodified-Since", at(-1)}}), 412);
  EXPECT_EQ(read({{"If-Modified-Since", at(0)}}), 304);
  EXPECT_EQ(read({{"If-Modified-Since", at(1)}}), 304);
  EXPECT_EQ(read({{"If-Modified-Since", at(-1)}}), 200);
  EXPECT_EQ(read({{"If-Modified-Since", "yesterday"}}), 200) << "this is not a valid date";
  EXPECT_EQ(read({{"If-Unmodified-Since", "yesterday"}}), 200);
}

TEST_F(ReadConditions, etags_take_precedence_over_dates) {
  EXPECT_EQ(read({{"If-Match", etag}, {"If-Unmodified-Since", at(-1)}}), 200);
  EXPECT_EQ(read({{"If-Match", "\"x\""}, {"If-Unmodified-Since", at(1)}}), 412);
  EXPECT_EQ(read({{"If-None-Match", "\"x\""}, {"If-Modified-Since", at(1)}}), 200);
  EXPECT_EQ(read({{"If-None-Match", etag}, {"If-Modified-Since", at(-1)}}), 304);
  EXPECT_EQ(read({{"If-Match", etag}, {"If-None-Match", etag}}), 304);
  EXPECT_EQ(read({{"If-Match", "\"x\""}, {"If-None-Match", etag}}), 412);
  EXPECT_EQ(read({{"If-Match", etag}, {"If-Modified-Since", at(0)}}), 304);
}

TEST_F(ReadConditions, one_of_several_etags_is_enough) {
  for (const std::string& right :
       {etag, bare, std::string("*"), "\"x\", " + etag, etag + ",\"x\"", std::string("\"x\",*")}) {
    EXPECT_EQ(read({{"If-Match", right}}), 200) << right;
    EXPECT_EQ(read({{"If-None-Match", right}}), 304) << right;
  }
  EXPECT_EQ(read({{"If-Match", "\"x\",\"y\""}}), 412);
  EXPECT_EQ(read({{"If-None-Match", "\"x\",\"y\""}}), 200);
  const net::Response same = get("/pail/k", {{"If-None-Match", etag}});
  EXPECT_EQ(header(same, "ETag"), etag);
  EXPECT_EQ(header(same, "Last-Modified"), at(0));
}

TEST_F(ReadConditions, writes_and_removals_are_conditional_too) {
  EXPECT_EQ(put("/pail/k", "y", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(put("/pail/k", "y", {{"If-Match", "\"other\""}}).status, 412);
  EXPECT_EQ(put("/pail/k", "y", {{"If-Match", etag}}).status, 200);
  EXPECT_EQ(put("/pail/none", "y", {{"If-Match", etag}}).status, 404);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/k", .headers = {{"If-Match", etag}}}).status,
            412);
}

TEST_F(ObjectCalls, a_part_is_read_by_its_number) {
  put("/pail/k", "bytes");
  EXPECT_EQ(get("/pail/k?partNumber=1").status, 200) << "the whole object, because it has no parts";
  EXPECT_EQ(get("/pail/k?partNumber=1").body, "bytes");
  EXPECT_EQ(header(get("/pail/k?partNumber=1"), "x-amz-mp-parts-count"), "");
  EXPECT_EQ(code(get("/pail/k?partNumber=2")), "InvalidPart");
  EXPECT_EQ(code(get("/pail/k?partNumber=10000")), "InvalidPart");
  EXPECT_EQ(code(get("/pail/k?partNumber=10001")), "InvalidArgument");
  EXPECT_EQ(code(get("/pail/k?partNumber=x")), "InvalidArgument");
  EXPECT_EQ(code(get("/pail/k?partNumber=0")), "InvalidArgument");
  put("/pail/empty", "");
  ASSERT_EQ(
      ask({.method = "PUT", .target = "/pail/none", .headers = {{"Content-Length", "0"}}}).status,
      200);
  EXPECT_EQ(get("/pail/none?partNumber=1").status, 200);
  EXPECT_EQ(code(get("/pail/none?partNumber=2")), "InvalidPart");
}

TEST_F(ObjectCalls, ranges_are_cut_to_the_object) {
  put("/pail/k", "0123456789");
  const auto range = [&](const std::string& text) {
    const net::Response of = get("/pail/k", {{"Range", text}});
    return std::to_string(of.status) + ' ' + (of.status < 300 ? of.body : code(of)) + ' ' +
           header(of, "Content-Range");
  };
  EXPECT_EQ(range("bytes=0-0"), "206 0 bytes 0-0/10");
  EXPECT_EQ(range("bytes=9-9"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=9-"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=9-10"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=8-9"), "206 89 bytes 8-9/10");
  EXPECT_EQ(range("bytes=8-100"), "206 89 bytes 8-9/10");
  EXPECT_EQ(range("bytes=10-"), "416 InvalidRange bytes */10");
  EXPECT_EQ(range("bytes=10-11"), "416 InvalidRange bytes */10");
  EXPECT_EQ(range("bytes=-1"), "206 9 bytes 9-9/10");
  EXPECT_EQ(range("bytes=-10"), "206 0123456789 bytes 0-9/10");
  EXPECT_EQ(range("bytes=-11"), "206 0123456789 bytes 0-9/10");
  EXPECT_EQ(range("bytes=-0"), "416 InvalidRange bytes */10");
  EXPECT_EQ(range("bytes= 3 - 4 "), "206 34 bytes 3-4/10");
  for (const char* none : {"bytes=4-3", "bytes=-", "bytes=", "bytes=1-2-3", "bytes=x-2",
                           "bytes=2-x", "bytes=-x", "bytes=x-", "bytes=0-1,3-4", "lines=0-1"}) {
    EXPECT_EQ(range(none), "200 0123456789 ") << none;
  }
  EXPECT_EQ(range("bytes=3-3"), "206 3 bytes 3-3/10");
}

TEST_F(ObjectCalls, answers_above_64_kib_are_streamed) {
  const std::string most(65'536, 'm');
  put("/pail/most", most);
  put("/pail/more", most + "r");
  const net::Response one = get("/pail/most");
  EXPECT_EQ(one.body, most);
  EXPECT_FALSE(one.length || one.source);
  const net::Response two = get("/pail/more");
  EXPECT_EQ(two.length, 65'537u);
  EXPECT_TRUE(two.body.empty());
  ASSERT_TRUE(two.source);
  std::string got(10, '?');
  EXPECT_EQ(two.source(65'530, got), 7u);
  EXPECT_EQ(got.substr(0, 7), "mmmmmmr");
  EXPECT_EQ(two.source(65'537, got), 0u);
  EXPECT_EQ(two.source(70'000, got), 0u);
  const net::Response middle = get("/pail/more", {{"Range", "bytes=0-65535"}});
  EXPECT_EQ(middle.body, most) << "for a range, only the range counts";
  put("/pail/long", std::string(30, 'a') + std::string(70'000, 'b') + "cc");
  const net::Response stretch = get("/pail/long", {{"Range", "bytes=29-70029"}});
  EXPECT_EQ(stretch.length, 70'001u);
  ASSERT_TRUE(stretch.source);
  EXPECT_EQ(stretch.source(0, got), 10u);
  EXPECT_EQ(got, "abbbbbbbbb");
  EXPECT_EQ(stretch.source(69'999, got), 2u) << "the range ends before the object";
  EXPECT_EQ(got.substr(0, 2), "bb");
}

TEST_F(ObjectCalls, tags_are_set_replaced_and_removed) {
  put("/pail/k", "x", {{"x-amz-tagging", "a=1"}});
  EXPECT_THAT(get("/pail/k?tagging").body, HasSubstr("<Key>a</Key><Value>1</Value>"));
  EXPECT_EQ(put("/pail/k?tagging",
                "<Tagging><TagSet><Tag><Key>b</Key><Value>2</Value></Tag></TagSet></Tagging>")
                .status,
            200);
  EXPECT_THAT(get("/pail/k?tagging").body, HasSubstr("<Key>b</Key><Value>2</Value>"));
  EXPECT_THAT(get("/pail/k?tagging").body, Not(HasSubstr("<Key>a</Key>")));
  EXPECT_EQ(header(head("/pail/k"), "x-amz-tagging-count"), "1");
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/k?tagging"}).status, 204);
  EXPECT_THAT(get("/pail/k?tagging").body, Not(HasSubstr("<Tag>")));
  EXPECT_EQ(header(head("/pail/k"), "x-amz-tagging-count"), "");
}

TEST_F(ObjectCalls, locks_are_shown_once_set) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  put("/safe/k", "x");
  EXPECT_EQ(code(get("/safe/k?retention")), "NoSuchObjectLockConfiguration");
  EXPECT_THAT(get("/safe/k?legal-hold").body, HasSubstr("<Status>OFF</Status>"));
  const auto retain = [&](const std::string& mode, const std::string& until) {
    return fate(put("/safe/k?retention", "<Retention><Mode>" + mode + "</Mode><RetainUntilDate>" +
                                             until + "</RetainUntilDate></Retention>"));
  };
  EXPECT_EQ(retain("SOME", "2033-05-18T03:33:20Z"), "MalformedXML");
  EXPECT_EQ(retain("GOVERNANCE", "soon"), "MalformedXML");
  EXPECT_EQ(retain("GOVERNANCE", "2033-05-18T03:33:20Z"), "taken");
  EXPECT_THAT(get("/safe/k?retention").body,
              HasSubstr("<Mode>GOVERNANCE</Mode>"
                        "<RetainUntilDate>2033-05-18T03:33:20.000Z</RetainUntilDate>"));
  EXPECT_EQ(code(put("/safe/k?legal-hold", "<LegalHold><Status>MAYBE</Status></LegalHold>")),
            "MalformedXML");
  EXPECT_EQ(put("/safe/k?legal-hold", "<LegalHold><Status>ON</Status></LegalHold>").status, 200);
  EXPECT_THAT(get("/safe/k?legal-hold").body, HasSubstr("<Status>ON</Status>"));
  put("/pail/k", "x");
  const std::string none = "InvalidRequest";
  EXPECT_EQ(code(get("/pail/k?retention")), none);
  EXPECT_EQ(code(get("/pail/k?legal-hold")), none);
  EXPECT_EQ(code(put("/pail/k?retention", "<Retention/>")), none);
  EXPECT_EQ(code(put("/pail/k?legal-hold", "<LegalHold/>")), none);
}

TEST_F(ObjectCalls, only_the_requested_attributes_are_returned) {
  put("/pail/k", "seven b");
  const net::Response all =
      get("/pail/k?attributes", {{"x-amz-object-attributes", "ETag,ObjectSize,StorageClass"}});
  EXPECT_THAT(all.body, HasSubstr("<StorageClass>STANDARD</StorageClass>"));
  EXPECT_THAT(all.body, HasSubstr("<ObjectSize>7</ObjectSize>"));
  EXPECT_THAT(all.body, HasSubstr("<ETag>"));
  EXPECT_THAT(all.body, Not(HasSubstr("ObjectParts")));
  EXPECT_EQ(header(all, "Last-Modified"), header(head("/pail/k"), "Last-Modified"));
  EXPECT_NE(header(all, "Last-Modified"), "");
}

TEST_F(ObjectCalls, reads_are_counted_by_tier) {
  put("/pail/hot", "1234567");
  put("/pail/cold", "12345", {{"x-amz-storage-class", "GLACIER"}});
  const GatewayCounts& counts = gateway->counts();
  get("/pail/hot");
  EXPECT_EQ(counts.tiers[static_cast<std::size_t>(store::tier_rank("hot"))].reads, 1u);
  EXPECT_EQ(counts.tiers[static_cast<std::size_t>(store::tier_rank("hot"))].bytes, 7u);
  EXPECT_EQ(counts.slow_reads, 0u);
  EXPECT_EQ(store->reads().last("pail", "hot", "null"), 0);
  get("/pail/cold", {{"Range", "bytes=0-2"}});
  EXPECT_EQ(counts.tiers[static_cast<std::size_t>(store::tier_rank("cold"))].bytes, 3u);
  EXPECT_EQ(counts.slow_reads, 1u);
  EXPECT_EQ(counts.promoted_hits, 0u);
  EXPECT_GT(store->reads().last("pail", "cold", "null"), 0);
  change("cold", [](Version& v) { v.tier = "hot"; });
  get("/pail/cold");
  EXPECT_EQ(counts.slow_reads, 2u);
  EXPECT_EQ(counts.promoted_hits, 1u);
  change("cold", [](Version& v) { v.tier = "moon"; });
  get("/pail/cold");
  EXPECT_EQ(counts.slow_reads, 2u) << "an unknown tier is not counted";
  EXPECT_EQ(counts.promoted_hits, 1u);
  const auto kind = [&](RequestKind of) -> const KindCounts& {
    return counts.kinds[static_cast<std::size_t>(of)];
  };
  EXPECT_EQ(kind(RequestKind::get).bytes, 7u + 3u + 5u + 5u);
  EXPECT_EQ(kind(RequestKind::put).bytes, 7u + 5u);
}

TEST_F(ObjectCalls, a_change_returns_the_version_if_versioning_is_on) {
  put("/pail/k", "x");
  const std::string tags =
      "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>";
  const net::Response plain = put("/pail/k?tagging", tags);
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(header(plain, "x-amz-version-id"), "");
  version_it("Enabled");
  const std::string id = header(put("/pail/k", "y"), "x-amz-version-id");
  EXPECT_NE(id, "");
  EXPECT_EQ(header(put("/pail/k?tagging", tags), "x-amz-version-id"), id);
  const net::Response gone = ask({.method = "DELETE", .target = "/pail/k?tagging"});
  EXPECT_EQ(gone.status, 204);
  EXPECT_EQ(header(gone, "x-amz-version-id"), id);
  EXPECT_EQ(header(head("/pail/k"), "x-amz-version-id"), id);
}

TEST_F(ObjectCalls, retention_can_be_repeated_and_extended_but_not_shortened) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  put("/safe/k", "x");
  const auto lock = [&](const std::string& mode, const std::string& until, bool bypass = false) {
    const HeaderList headers = {{"x-amz-bypass-governance-retention", bypass ? "true" : "false"}};
    return put("/safe/k?retention",
               "<Retention><Mode>" + mode + "</Mode><RetainUntilDate>" + until +
                   "</RetainUntilDate></Retention>",
               headers)
        .status;
  };
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-02T00:00:00Z"), 200);
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-02T00:00:00Z"), 200) << "unchanged";
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-01T00:00:00Z"), 403);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z"), 403);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z", true), 200);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z"), 200) << "unchanged";
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-03T00:00:00Z"), 200);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z", true), 403);
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-04T00:00:00Z", true), 403);
  const std::string shown = get("/safe/k?retention").body;
  EXPECT_THAT(shown, HasSubstr("<Mode>COMPLIANCE</Mode>"));
  EXPECT_THAT(shown, HasSubstr("<RetainUntilDate>2024-01-03T00:00:00.000Z</RetainUntilDate>"));
}

TEST_F(ObjectCalls, retention_holds_until_its_date) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  EXPECT_THAT(get("/safe?versioning").body, HasSubstr("Enabled")) << "locks need versions";
  EXPECT_EQ(put("/safe?versioning",
                "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>")
                .status,
            409);
  const auto lock = [&](const std::string& rule) {
    return put("/safe?object-lock",
               "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>" + rule +
                   "</ObjectLockConfiguration>");
  };
  const auto retains = [](const std::string& inner) {
    return "<Rule><DefaultRetention>" + inner + "</DefaultRetention></Rule>";
  };
  EXPECT_EQ(code(lock(retains("<Mode>GOVERNANCE</Mode>"))), "MalformedXML");
  EXPECT_EQ(code(lock(retains("<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>"))),
            "MalformedXML");
  EXPECT_EQ(code(lock(retains("<Mode>SOME</Mode><Days>1</Days>"))), "MalformedXML");
  EXPECT_EQ(code(lock(retains("<Mode>GOVERNANCE</Mode><Days>0</Days>"))), "InvalidRetentionPeriod");
  EXPECT_EQ(lock(retains("<Mode>GOVERNANCE</Mode><Years>2</Years>")).status, 200);
  EXPECT_THAT(get("/safe?object-lock").body, HasSubstr("<Years>2</Years>"));
  EXPECT_EQ(code(put("/pail?object-lock",
                     "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
                     "</ObjectLockConfiguration>")),
            "InvalidBucketState");
  const TimeMs before = now;
  const std::string id = header(put("/safe/k", "x"), "x-amz-version-id");
  const auto until = moment_of_iso(header(head("/safe/k"), "x-amz-object-lock-retain-until-date"));
  ASSERT_TRUE(until);
  EXPECT_GE(*until, before + 730 * kDayMs);
  EXPECT_LE(*until, now + 730 * kDayMs);
  const auto remove = [&](bool bypass) {
    return ask({.method = "DELETE",
                .target = "/safe/k?versionId=" + id,
                .headers = bypass ? HeaderList{{"x-amz-bypass-governance-retention", "true"}}
                                  : HeaderList{}})
        .status;
  };
  EXPECT_EQ(remove(false), 403);
  const auto retain = [&](const std::string& mode, TimeMs at, bool bypass) {
    return ask({.method = "PUT",
                .target = "/safe/k?retention&versionId=" + id,
                .body = "<Retention><Mode>" + mode + "</Mode><RetainUntilDate>" + xml_time(at) +
                        "</RetainUntilDate></Retention>",
                .headers = bypass ? HeaderList{{"x-amz-bypass-governance-retention", "true"}}
                                  : HeaderList{}})
        .status;
  };
  EXPECT_EQ(retain("GOVERNANCE", *until + 1000, false), 200) << "a longer period is always allowed";
  EXPECT_EQ(retain("GOVERNANCE", *until, false), 403) << "a shorter period is refused";
  EXPECT_EQ(retain("GOVERNANCE", *until, true), 200);
  EXPECT_EQ(retain("COMPLIANCE", now + 100'000, true), 200);
  EXPECT_EQ(retain("COMPLIANCE", now + 1000, true), 403) << "compliance is never shortened";
  EXPECT_EQ(retain("GOVERNANCE", now + 200'000, true), 403) << "compliance is never relaxed";
  EXPECT_EQ(remove(true), 403);
  now += 200'000;
  EXPECT_EQ(retain("GOVERNANCE", now + 100'000, false), 200) << "the retention has expired";
  EXPECT_EQ(remove(true), 204);
}

TEST_F(ObjectCalls, a_lock_header_needs_a_bucket_with_locks) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  put("/safe/h", "x", {{"x-amz-object-lock-legal-hold", "ON"}});
  EXPECT_EQ(header(head("/safe/h"), "x-amz-object-lock-legal-hold"), "ON");
  EXPECT_THAT(get("/safe/h?legal-hold").body, HasSubstr("ON"));
  EXPECT_EQ(put("/safe/h?legal-hold", "<LegalHold><Status>OFF</Status></LegalHold>").status, 200);
  EXPECT_THAT(get("/safe/h?legal-hold").body, HasSubstr("OFF"));
  const auto put_locked = [&](const std::string& target, HeaderList headers) {
    return code(put(target, "x", std::move(headers)));
  };
  const std::string later = xml_time(now + 100'000);
  const std::string mode = "x-amz-object-lock-mode", date = "x-amz-object-lock-retain-until-date";
  EXPECT_EQ(put_locked("/pail/k", {{mode, "GOVERNANCE"}, {date, later}}), "InvalidRequest");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "GOVERNANCE"}}), "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "SOME"}, {date, later}}), "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "GOVERNANCE"}, {date, xml_time(now - 1000)}}),
            "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{"x-amz-object-lock-legal-hold", "MAYBE"}}), "InvalidArgument");
  EXPECT_EQ(put_locked("/safe/k", {{mode, "COMPLIANCE"}, {date, later}}), "");
  EXPECT_THAT(get("/safe/k?retention").body, HasSubstr("COMPLIANCE"));
}

}  // namespace
}  // namespace orrery::s3server::object_calls_tests
