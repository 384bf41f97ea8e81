// What an answer tells besides its bytes: headers of versions and locks, which read was slow, what
// is logged, and documents that cannot be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/lineage.h"
#include "live/s3server/requests_fixture.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ToldTest : public RequestsTest {
 protected:
  void change(const std::string& key, const std::function<void(Version&)>& how) {
    EXPECT_TRUE(store->change_version("pail", key, std::nullopt, [&](Version& v) -> Answer<void> {
      how(v);
      return {};
    }));
  }
  void set_document(const std::string& name, const std::string& text) {
    EXPECT_TRUE(store->change_bucket("pail", [&](Bucket& bucket) -> Answer<void> {
      bucket.documents.emplace_back(name, text);
      return {};
    }));
  }
};

TEST(ToldDefaults, are_those_of_s3) {
  const GatewaySetting setting;
  EXPECT_EQ(setting.part_bytes_min, 5'242'880u) << "5 MiB";
  EXPECT_EQ(setting.quick_etag_bytes, 16'777'216u) << "16 MiB";
  EXPECT_EQ(setting.day_ms, 86'400'000);
  EXPECT_EQ(setting.region, "us-east-1");
  EXPECT_FALSE(setting.puts_off);
}

TEST(ToldCounts, begin_at_nothing_and_are_of_one_kind) {
  GatewayCounts counts;
  for (const KindCounts& kind : counts.kinds) {
    EXPECT_EQ(kind.requests + kind.refused + kind.faults + kind.bytes + kind.micros, 0u);
    for (const auto& within : kind.within) EXPECT_EQ(within, 0u);
  }
  for (const TierCounts& tier : counts.tiers) EXPECT_EQ(tier.reads + tier.bytes, 0u);
  EXPECT_EQ(counts.slow_reads + counts.promoted_hits + counts.slowed, 0u);
  counts.add(RequestKind::list, 499, 7, 0.25);
  counts.add(RequestKind::list, 500, 8, 0.5);
  counts.add(RequestKind::list, 399, 9, 0.0);
  counts.add(RequestKind::list, 400, 1, 0.001);
  const KindCounts& list = counts.kinds[2];
  EXPECT_EQ(list.requests, 4u);
  EXPECT_EQ(list.refused, 2u);
  EXPECT_EQ(list.faults, 1u);
  EXPECT_EQ(list.bytes, 25u);
  EXPECT_EQ(list.micros, 751'000u);
  EXPECT_EQ(list.within[0], 2u) << "a millisecond is within the first";
  EXPECT_EQ(request_kind_of("s3:GetObjectAcl"), RequestKind::get);
  EXPECT_EQ(request_kind_of("s3:PutObject"), RequestKind::put);
  EXPECT_EQ(request_kind_of("s3:PutObjectAcl"), RequestKind::other);
  EXPECT_EQ(request_kind_of("s3:ListBucket"), RequestKind::list);
  EXPECT_EQ(request_kind_of("s3:DeleteObjectVersion"), RequestKind::remove);
  EXPECT_EQ(request_kind_of("s3:DeleteBucket"), RequestKind::other);
}

TEST_F(ToldTest, a_short_answer_is_its_body_and_a_long_one_its_length) {
  put("/pail/short", std::string(64u << 10, 's'));
  put("/pail/long", std::string((64u << 10) + 1, 'l'));
  const net::Response brief = get("/pail/short");
  EXPECT_EQ(brief.body.size(), 64u << 10);
  EXPECT_FALSE(brief.length);
  EXPECT_FALSE(brief.source);
  const net::Response streamed = get("/pail/long");
  EXPECT_EQ(streamed.length, (64u << 10) + 1);
  EXPECT_EQ(streamed.body, "");
  ASSERT_TRUE(streamed.source);
  std::string end(10, '?');
  EXPECT_EQ(streamed.source((64u << 10) - 2, end), 3u);
  EXPECT_EQ(end.substr(0, 4), "lll?");
  EXPECT_EQ(streamed.source((64u << 10) + 1, end), 0u);
}

TEST_F(ToldTest, reads_are_counted_by_tier_and_slow_ones_apart) {
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
  EXPECT_EQ(counts.slow_reads, 2u) << "a tier that nobody knows is not counted";
  EXPECT_EQ(counts.promoted_hits, 1u);
  const auto kind = [&](RequestKind of) -> const KindCounts& {
    return counts.kinds[static_cast<std::size_t>(of)];
  };
  EXPECT_EQ(kind(RequestKind::get).bytes, 7u + 3u + 5u + 5u);
  EXPECT_EQ(kind(RequestKind::put).bytes, 7u + 5u);
}

TEST_F(ToldTest, faults_of_the_store_are_logged_and_those_of_clients_are_not) {
  std::string log;
  gateway = std::make_unique<Gateway>(*store, GatewaySetting{},
                                      [&](const std::string& line) { log += line + '\n'; });
  put("/pail/k", std::string(3000, 'k'));
  get("/pail/none");
  EXPECT_EQ(code(get("/pail?cors")), "NotImplemented");
  EXPECT_EQ(log, "");
  for (const auto& drive : drives) drive->broken = true;
  const net::Response failed = get("/pail/k");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(log, StartsWith(header(failed, "x-amz-request-id") + " GET /pail/k: InternalError "));
}

TEST_F(ToldTest, a_change_says_its_version_where_there_are_versions) {
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

TEST_F(ToldTest, a_bucket_without_locks_has_none_to_show) {
  put("/pail/k", "x");
  for (const char* target : {"/pail/k?legal-hold", "/pail/k?retention"}) {
    EXPECT_EQ(code(get(target)), "InvalidRequest") << target;
  }
  EXPECT_EQ(code(put("/pail/k?legal-hold", "<LegalHold><Status>ON</Status></LegalHold>")),
            "InvalidRequest");
}

TEST_F(ToldTest, a_lock_may_be_said_again_and_made_longer_and_not_shorter) {
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
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-02T00:00:00Z"), 200) << "as it is";
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-01T00:00:00Z"), 403);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z"), 403);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z", true), 200);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z"), 200) << "as it is";
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-03T00:00:00Z"), 200);
  EXPECT_EQ(lock("COMPLIANCE", "2024-01-02T00:00:00Z", true), 403);
  EXPECT_EQ(lock("GOVERNANCE", "2024-01-04T00:00:00Z", true), 403);
  const std::string shown = get("/safe/k?retention").body;
  EXPECT_THAT(shown, HasSubstr("<Mode>COMPLIANCE</Mode>"));
  EXPECT_THAT(shown, HasSubstr("<RetainUntilDate>2024-01-03T00:00:00.000Z</RetainUntilDate>"));
}

TEST_F(ToldTest, a_copy_says_when_it_was_made_and_has_the_crc_of_its_bytes) {
  open_gateway({.quick_etag_bytes = 1000});
  const std::string body(2500, 'b');
  const std::string etag = header(put("/pail/a", body), "ETag");
  const net::Response copied = copy("/pail/b", "/pail/a");
  const Version made = *store->find("pail", "b", std::nullopt);
  EXPECT_THAT(copied.body,
              HasSubstr("<LastModified>" + xml_time(made.modified_ms) + "</LastModified>"));
  EXPECT_EQ(upkeep::crc_of_etag(made.etag), drives::content_crc(body));
  EXPECT_NE('"' + made.etag + '"', etag) << "another blob";
  EXPECT_EQ(copy("/pail/c", "/pail/a", {{"x-amz-copy-source-if-match", etag.substr(1, 34)}}).status,
            200)
      << "without its quotes";
  EXPECT_EQ(copy("/pail/c", "/pail/a", {{"x-amz-copy-source-if-match", "*"}}).status, 200);
}

TEST_F(ToldTest, what_is_wished_for_a_new_bucket_or_object_must_be_known) {
  EXPECT_EQ(code(put("/fresh", "", {{"x-amz-acl", "everybody"}})), "InvalidArgument");
  EXPECT_EQ(get("/fresh").status, 404) << "none was made";
  EXPECT_EQ(code(put("/pail/k", "x", {{"x-amz-storage-class", "MOON"}})), "InvalidStorageClass");
  EXPECT_EQ(get("/pail/k").status, 404);
}

TEST_F(ToldTest, parts_are_listed_from_a_marker_and_so_many) {
  const std::string id = begin_parts("/pail/k");
  for (const char* number : {"1", "2", "3"}) put_part("/pail/k", id, number, number);
  const auto listed = [&](const std::string& more) {
    return get("/pail/k?uploadId=" + id + more).body;
  };
  const std::string all = listed("");
  EXPECT_THAT(all, HasSubstr("<PartNumberMarker>0</PartNumberMarker>"));
  EXPECT_THAT(all, HasSubstr("<MaxParts>1000</MaxParts>"));
  EXPECT_THAT(all, HasSubstr("<PartNumber>1</PartNumber>"));
  EXPECT_THAT(all, HasSubstr("<StorageClass>STANDARD</StorageClass>"));
  const std::string one = listed("&part-number-marker=1&max-parts=1");
  EXPECT_THAT(one, HasSubstr("<PartNumber>2</PartNumber>"));
  EXPECT_THAT(one, Not(HasSubstr("<PartNumber>1</PartNumber>")));
  EXPECT_THAT(one, HasSubstr("<NextPartNumberMarker>2</NextPartNumberMarker>"));
  EXPECT_THAT(one, HasSubstr("<IsTruncated>true</IsTruncated>"));
  EXPECT_THAT(listed("&part-number-marker=2&max-parts=1"),
              HasSubstr("<IsTruncated>false</IsTruncated>"));
  for (const char* none : {"&max-parts=0", "&max-parts=-3"}) {
    EXPECT_THAT(listed(none), HasSubstr("<MaxParts>0</MaxParts>")) << none;
    EXPECT_THAT(listed(none), Not(HasSubstr("<Part>"))) << none;
  }
  EXPECT_THAT(listed("&max-parts=1001"), HasSubstr("<MaxParts>1000</MaxParts>"));
}

TEST_F(ToldTest, a_part_whose_commit_is_undecided_keeps_its_bytes) {
  const std::string id = begin_parts("/pail/k");
  metadata.lose_answer();
  EXPECT_EQ(put_part("/pail/k", id, "1", std::string(3000, 'p')).status, 500);
  const std::string etag = between(get("/pail/k?uploadId=" + id).body, "<ETag>", "</ETag>");
  EXPECT_EQ(complete("/pail/k", id, {{1, etag}}).status, 200);
  EXPECT_EQ(get("/pail/k").body, std::string(3000, 'p'));
}

TEST_F(ToldTest, of_rules_that_end_it_at_once_the_first_is_named) {
  const auto rule = [](const std::string& id) {
    return "<Rule><ID>" + id +
           "</ID><Prefix/><Status>Enabled</Status><Expiration><Days>3</Days></Expiration></Rule>";
  };
  put("/pail?lifecycle",
      "<LifecycleConfiguration>" + rule("one") + rule("two") + "</LifecycleConfiguration>");
  put("/pail/k", "x");
  EXPECT_THAT(header(head("/pail/k"), "x-amz-expiration"), HasSubstr("rule-id=\"one\""));
}

TEST_F(ToldTest, rules_that_cannot_be_read_end_nothing) {
  put("/pail/k", "x");
  set_document("lifecycle", "rubbish");
  EXPECT_EQ(header(head("/pail/k"), "x-amz-expiration"), "");
  EXPECT_EQ(head("/pail/k").status, 200);
  EXPECT_EQ(code(get("/pail?lifecycle")), "InternalError");
}

TEST_F(ToldTest, what_lies_in_the_fast_tier_is_restored) {
  put("/pail/k", "x", {{"x-amz-storage-class", "GLACIER"}});
  const TimeMs until = now + 86'400'000;
  change("k", [&](Version& v) {
    v.tier = "hot";
    v.restored_until_ms = until;
  });
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"),
            "ongoing-request=\"false\", expiry-date=\"" + http_time(until) + "\"");
  now = until - 2;  // each look at the clock is a millisecond later
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"), "");
}

TEST_F(ToldTest, a_lineage_shows_etags_and_keys_with_signs_in_them) {
  put("/pail/a%2Bb", "1");
  put("/pail/k", "x", {{"x-amz-tagging", "orrery-from=a%2Bb%20c%2520d"}});
  put("/pail/c%20d", "2");
  // MD5 of "x", "1" and "2".
  EXPECT_EQ(get("/pail/k?orrery-lineage").body,
            "pail/k  etag 9dd4e461268c8034f5c8564e155c67a6  in hot\n"
            "  pail/a+b  etag c4ca4238a0b923820dcc509a6f75849b  in hot\n"
            "  pail/c d  etag c81e728d9d4c2f636f067f89cc14862c  in hot\n");
  LineageNode node{.bucket = "b", .key = "k"};
  node.etag = "e";
  node.tier = "cold";
  EXPECT_EQ(lineage_text({node}), "b/k  etag e  in cold\n");
}

}  // namespace
}  // namespace orrery::s3server
