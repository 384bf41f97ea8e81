// The protocol, call by call: ranges, conditions, headers, copies, listings. What is right is S3's
// API reference and RFC 9110, not what the code does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/requests_fixture.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(RequestsTest, ranges_of_bytes) {
  put("/pail/k", "0123456789");
  const auto ranged = [&](const std::string& range) {
    const net::Response answer = get("/pail/k", {{"Range", range}});
    return std::to_string(answer.status) + ' ' + answer.body.substr(0, 10) + ' ' +
           header(answer, "Content-Range");
  };
  EXPECT_EQ(ranged("bytes=2-4"), "206 234 bytes 2-4/10");
  EXPECT_EQ(ranged("bytes=0-0"), "206 0 bytes 0-0/10");
  EXPECT_EQ(ranged("bytes=7-"), "206 789 bytes 7-9/10");
  EXPECT_EQ(ranged("bytes=7-99"), "206 789 bytes 7-9/10");
  EXPECT_EQ(ranged("bytes=-3"), "206 789 bytes 7-9/10");
  EXPECT_EQ(ranged("bytes=-99"), "206 0123456789 bytes 0-9/10");
  EXPECT_EQ(ranged("bytes=9-9"), "206 9 bytes 9-9/10");
  for (const char* none : {"bytes=4-2", "bytes=a-b", "bytes=1-2,4-5", "lines=1-2", "bytes=-"}) {
    EXPECT_EQ(ranged(none), "200 0123456789 ") << none;
  }
  for (const char* outside : {"bytes=10-", "bytes=10-12", "bytes=-0"}) {
    EXPECT_EQ(ranged(outside).substr(0, 3), "416") << outside;
    EXPECT_EQ(header(get("/pail/k", {{"Range", outside}}), "Content-Range"), "bytes */10");
  }
  EXPECT_EQ(head("/pail/k", {{"Range", "bytes=2-4"}}).length, 3u);
  // A large one comes from a source, the whole and a part of it alike.
  std::string large(150'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i % 251);
  put("/pail/large", large);
  for (const auto& [from, bytes] :
       {std::pair{0u, 150'000u}, {1000u, 140'000u}, {70'000u, 66'000u}}) {
    const net::Response answer =
        get("/pail/large",
            {{"Range", "bytes=" + std::to_string(from) + '-' + std::to_string(from + bytes - 1)}});
    ASSERT_TRUE(answer.source);
    EXPECT_EQ(answer.length, bytes);
    std::string all;
    std::string piece(65'536, '\0');
    while (const auto got = answer.source(all.size(), piece)) {
      if (*got == 0) break;
      all.append(piece, 0, *got);
    }
    EXPECT_EQ(all, large.substr(from, bytes));
  }
}

TEST_F(RequestsTest, conditions_of_reading) {
  const std::string etag = header(put("/pail/k", "x"), "ETag");
  const TimeMs made = *moment_of_http(header(head("/pail/k"), "Last-Modified"));
  const std::string then = http_time(made), before = http_time(made - 1000),
                    after = http_time(made + 1000);
  const auto status = [&](HeaderList headers) { return get("/pail/k", std::move(headers)).status; };
  EXPECT_EQ(status({{"If-Match", etag}}), 200);
  EXPECT_EQ(status({{"If-Match", "\"other\", " + etag}}), 200);
  EXPECT_EQ(status({{"If-Match", "*"}}), 200);
  EXPECT_EQ(status({{"If-Match", "\"other\""}}), 412);
  EXPECT_EQ(status({{"If-None-Match", etag}}), 304);
  EXPECT_EQ(status({{"If-None-Match", "\"other\""}}), 200);
  EXPECT_EQ(status({{"If-Modified-Since", then}}), 304);
  EXPECT_EQ(status({{"If-Modified-Since", after}}), 304);
  EXPECT_EQ(status({{"If-Modified-Since", before}}), 200);
  EXPECT_EQ(status({{"If-Unmodified-Since", then}}), 200);
  EXPECT_EQ(status({{"If-Unmodified-Since", before}}), 412);
  EXPECT_EQ(status({{"If-Match", etag}, {"If-Unmodified-Since", before}}), 200);
  EXPECT_EQ(status({{"If-None-Match", "\"other\""}, {"If-Modified-Since", then}}), 200);
  const net::Response same = get("/pail/k", {{"If-None-Match", etag}});
  EXPECT_EQ(header(same, "ETag"), etag);
  EXPECT_EQ(same.body, "");
  // ... and of writing.
  EXPECT_EQ(put("/pail/k", "y", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(put("/pail/k", "y", {{"If-Match", "\"other\""}}).status, 412);
  EXPECT_EQ(put("/pail/k", "y", {{"If-Match", etag}}).status, 200);
  EXPECT_EQ(put("/pail/none", "y", {{"If-Match", etag}}).status, 404);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/k", .headers = {{"If-Match", etag}}}).status,
            412);
}

TEST_F(RequestsTest, an_object_keeps_its_headers) {
  const net::Response made = put("/pail/k", "x",
                                 {{"Content-Type", "text/css"},
                                  {"Content-Encoding", "aws-chunked, gzip"},
                                  {"Cache-Control", "no-cache"},
                                  {"x-amz-meta-Who", " me "},
                                  {"x-amz-tagging", "a=1&b=x%20y"}});
  ASSERT_EQ(made.status, 200) << made.body;
  const net::Response shown = head("/pail/k");
  EXPECT_EQ(header(shown, "Content-Type"), "text/css");
  EXPECT_EQ(header(shown, "Content-Encoding"), "gzip") << "how it was sent is not what it is";
  EXPECT_EQ(header(shown, "Cache-Control"), "no-cache");
  EXPECT_EQ(header(shown, "x-amz-meta-who"), "me");
  EXPECT_EQ(header(shown, "x-amz-tagging-count"), "2");
  EXPECT_EQ(header(shown, "x-amz-storage-class"), "");
  EXPECT_EQ(shown.length, 1u);
  EXPECT_EQ(header(head("/pail/k?response-content-type=a%2Fb"), "content-type"), "a/b");
  put("/pail/plain", "x");
  EXPECT_EQ(header(head("/pail/plain"), "Content-Type"), "binary/octet-stream");
  // S3's limits: 2 KB of metadata, ten tags, 128 and 256 bytes.
  const auto refused_as = [&](HeaderList headers) {
    const net::Response answer = put("/pail/l", "x", std::move(headers));
    return answer.status == 200 ? "kept" : code(answer);
  };
  EXPECT_EQ(refused_as({{"x-amz-meta-a", std::string(2047, 'm')}}), "kept");
  EXPECT_EQ(refused_as({{"x-amz-meta-a", std::string(2048, 'm')}}), "MetadataTooLarge");
  const auto tagged = [&](const std::string& query) {
    return refused_as({{"x-amz-tagging", query}});
  };
  EXPECT_EQ(tagged("a=1&a=2"), "InvalidTag");
  EXPECT_EQ(tagged(std::string(128, 'k') + '=' + std::string(256, 'v')), "kept");
  EXPECT_EQ(tagged(std::string(129, 'k') + "=v"), "InvalidTag");
  EXPECT_EQ(tagged("k=" + std::string(257, 'v')), "InvalidTag");
  EXPECT_EQ(tagged("=v"), "InvalidTag");
  EXPECT_EQ(tagged("a%zz=1"), "InvalidArgument");
  std::string eleven = "k0=v";
  for (int i = 1; i < 11; ++i) eleven += "&k" + std::to_string(i) + "=v";
  EXPECT_EQ(tagged(eleven), "InvalidTag");
  EXPECT_EQ(refused_as({{"x-amz-storage-class", "STANDARD_IA"}}), "InvalidStorageClass")
      << "there is no such tier here";
  EXPECT_EQ(refused_as({{"x-amz-storage-class", "GLACIER"}}), "kept");
  EXPECT_EQ(header(head("/pail/l"), "x-amz-storage-class"), "GLACIER");
  EXPECT_EQ(refused_as({{"x-amz-storage-class", "STANDARD"}}), "kept");
  EXPECT_EQ(header(head("/pail/l"), "x-amz-storage-class"), "");
  EXPECT_EQ(refused_as({{"x-amz-acl", "public"}}), "InvalidArgument");
  EXPECT_EQ(refused_as({{"x-amz-grant-read", "id=x"}}), "NotImplemented");
  EXPECT_EQ(refused_as({{"x-amz-server-side-encryption", "AES256"}}), "NotImplemented");
}

TEST_F(RequestsTest, copies_keep_or_replace_and_are_conditional) {
  const net::Response made =
      put("/pail/a", "0123456789",
          {{"Content-Type", "text/css"}, {"x-amz-meta-m", "1"}, {"x-amz-tagging", "t=1"}});
  const std::string etag = header(made, "ETag");
  EXPECT_EQ(copy("/pail/b", "/pail/a").status, 200);
  EXPECT_EQ(get("/pail/b").body, "0123456789");
  EXPECT_EQ(header(head("/pail/b"), "Content-Type"), "text/css");
  EXPECT_EQ(header(head("/pail/b"), "x-amz-meta-m"), "1");
  EXPECT_EQ(header(head("/pail/b"), "x-amz-tagging-count"), "1");
  copy(
      "/pail/c", "pail/a",
      {{"x-amz-metadata-directive", "REPLACE"}, {"Content-Type", "text/x"}, {"x-amz-meta-n", "2"}});
  EXPECT_EQ(header(head("/pail/c"), "Content-Type"), "text/x");
  EXPECT_EQ(header(head("/pail/c"), "x-amz-meta-m"), "");
  EXPECT_EQ(header(head("/pail/c"), "x-amz-tagging-count"), "1") << "tags go by themselves";
  copy("/pail/d", "/pail/a", {{"x-amz-tagging-directive", "REPLACE"}});
  EXPECT_EQ(header(head("/pail/d"), "x-amz-tagging-count"), "");
  EXPECT_EQ(header(head("/pail/d"), "x-amz-meta-m"), "1");
  EXPECT_EQ(code(copy("/pail/e", "/pail/a", {{"x-amz-metadata-directive", "MOVE"}})),
            "InvalidArgument");
  EXPECT_EQ(code(copy("/pail/a", "/pail/a")), "InvalidRequest");
  EXPECT_EQ(copy("/pail/a", "/pail/a", {{"x-amz-storage-class", "GLACIER"}}).status, 200);
  for (const char* bad : {"/pail", "/pail/", "pail", "%zz/a"}) {
    EXPECT_EQ(copy("/pail/e", bad).status, 400) << bad;
  }
  EXPECT_EQ(copy("/pail/e", "/pail/none").status, 404);
  EXPECT_EQ(copy("/pail/e", "/nowhere/a").status, 404);
  const TimeMs then = *moment_of_http(header(head("/pail/b"), "Last-Modified"));
  const auto when = [&](const std::string& name, const std::string& value, HeaderList more = {}) {
    more.emplace_back("x-amz-copy-source-if-" + name, value);
    return copy("/pail/e", "/pail/b", std::move(more)).status;
  };
  EXPECT_EQ(when("match", etag), 200);
  EXPECT_EQ(when("match", "\"x\""), 412);
  EXPECT_EQ(when("none-match", etag), 412);
  EXPECT_EQ(when("none-match", "\"x\""), 200);
  EXPECT_EQ(when("modified-since", http_time(then)), 412);
  EXPECT_EQ(when("modified-since", http_time(then - 1000)), 200);
  EXPECT_EQ(when("unmodified-since", http_time(then)), 200);
  EXPECT_EQ(when("unmodified-since", http_time(then - 1000)), 412);
  EXPECT_EQ(
      when("unmodified-since", http_time(then - 1000), {{"x-amz-copy-source-if-match", etag}}),
      200);
  // A version by its id; and a sum of the copy where its source has one or it is asked for.
  version_it("Enabled");
  const std::string old = header(put("/pail/v", "old"), "x-amz-version-id");
  put("/pail/v", "new", {{"x-amz-checksum-crc32", "cNDlpg=="}});
  const net::Response from_old = copy("/pail/w", "/pail/v?versionId=" + old);
  EXPECT_EQ(header(from_old, "x-amz-copy-source-version-id"), old);
  EXPECT_EQ(get("/pail/w").body, "old");
  EXPECT_THAT(copy("/pail/w", "/pail/v", {{"x-amz-checksum-algorithm", "SHA1"}}).body,
              HasSubstr("<ChecksumSHA1>"));
  ask({.method = "DELETE", .target = "/pail/v"});
  EXPECT_EQ(copy("/pail/w", "/pail/v").status, 404);
}

TEST_F(RequestsTest, buckets_have_names_places_and_tags) {
  EXPECT_EQ(code(ask({.method = "PUT", .target = "/Upper"})), "InvalidBucketName");
  EXPECT_EQ(ask({.method = "PUT", .target = "/pail"}).status, 200) << "one's own is as before";
  const auto made_in = [&](const std::string& name, const std::string& place) {
    return put("/" + name, "<CreateBucketConfiguration><LocationConstraint>" + place +
                               "</LocationConstraint></CreateBucketConfiguration>");
  };
  EXPECT_EQ(made_in("east", "us-east-1").status, 200);
  EXPECT_EQ(made_in("place", "default").status, 200);
  EXPECT_EQ(code(made_in("moon", "moon-1")), "IllegalLocationConstraintException");
  EXPECT_THAT(get("/east?location").body, Not(HasSubstr("us-east-1"))) << "written as nothing";
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
  EXPECT_EQ(code(get("/pail?cors")), "NotImplemented") << "known and not ours";
  EXPECT_EQ(code(ask({.method = "PATCH", .target = "/pail"})), "MethodNotAllowed");
  EXPECT_EQ(code(get("/pail?object-lock")), "ObjectLockConfigurationNotFoundError");
  // What no bucket lets a browser do.
  net::Request preflight{.method = "OPTIONS", .target = "/pail/k"};
  EXPECT_EQ(gateway->answer(preflight).status, 400);
  preflight.headers = {{"Origin", "http://x"}};
  EXPECT_EQ(gateway->answer(preflight).status, 403);
}

TEST_F(RequestsTest, listings_say_what_they_left_out) {
  for (const char* key : {"a b", "a/1", "a/2", "c"})
    put("/pail/" + s3::uri_encoded(key, true), "xyz");
  const std::string first = get("/pail?list-type=2&max-keys=2&encoding-type=url").body;
  EXPECT_THAT(first, HasSubstr("<Key>a%20b</Key>"));
  EXPECT_THAT(first, HasSubstr("<KeyCount>2</KeyCount>"));
  EXPECT_THAT(first, HasSubstr("<IsTruncated>true</IsTruncated>"));
  EXPECT_THAT(first, HasSubstr("<Size>3</Size>"));
  EXPECT_THAT(first, Not(HasSubstr("<Owner>")));
  const std::string token = between(first, "<NextContinuationToken>", "</");
  const std::string second =
      get("/pail?list-type=2&fetch-owner=true&continuation-token=" + token).body;
  EXPECT_THAT(second, HasSubstr("<Key>a/2</Key>"));
  EXPECT_THAT(second, Not(HasSubstr("<Key>a/1</Key>")));
  EXPECT_THAT(second, HasSubstr("<Owner><ID>main</ID>"));
  EXPECT_THAT(get("/pail?list-type=2&start-after=a%2F2").body, Not(HasSubstr("<Key>a/2</Key>")));
  EXPECT_THAT(get("/pail").body, HasSubstr("<Key>a b</Key>"));
  EXPECT_THAT(get("/pail").body, HasSubstr("<Owner>"));
  EXPECT_THAT(get("/pail?max-keys=1").body, Not(HasSubstr("<NextMarker>")))
      << "the first version says it only with a delimiter";
  EXPECT_THAT(get("/pail?max-keys=5000").body, HasSubstr("<MaxKeys>1000</MaxKeys>"));
  for (const char* bad : {"max-keys=-1", "max-keys=x", "max-keys=2147483648", "encoding-type=json",
                          "list-type=2&continuation-token=zz"}) {
    EXPECT_EQ(code(get(std::string("/pail?") + bad)), "InvalidArgument") << bad;
  }
  // Uploads that are open, page by page.
  const std::string one = begin_parts("/pail/u1");
  const std::string two = begin_parts("/pail/u2");
  const std::string again = begin_parts("/pail/u2");
  const std::string open = get("/pail?uploads&max-uploads=1").body;
  EXPECT_THAT(open, HasSubstr("<UploadId>" + one));
  EXPECT_THAT(open, HasSubstr("<IsTruncated>true</IsTruncated>"));
  EXPECT_THAT(get("/pail?uploads&max-uploads=3").body,
              HasSubstr("<IsTruncated>false</IsTruncated>"));
  EXPECT_THAT(get("/pail?uploads&key-marker=u1").body, Not(HasSubstr(one)));
  const std::string low = std::min(two, again), high = std::max(two, again);
  const std::string behind = get("/pail?uploads&key-marker=u2&upload-id-marker=" + low).body;
  EXPECT_THAT(behind, HasSubstr("<UploadId>" + high));
  EXPECT_THAT(behind, Not(HasSubstr("<UploadId>" + low)));
  EXPECT_THAT(get("/pail?uploads&key-marker=u2").body, Not(HasSubstr("<UploadId>" + low)));
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/u1?uploadId=" + one}).status, 204);
  EXPECT_THAT(get("/pail?uploads").body, Not(HasSubstr(one)));
  // Versions: which is the newest, and which is a marker.
  version_it("Enabled");
  const std::string id = header(put("/pail/c", "new"), "x-amz-version-id");
  ask({.method = "DELETE", .target = "/pail/c"});
  const std::string versions = get("/pail?versions&prefix=c").body;
  EXPECT_THAT(versions, HasSubstr("<DeleteMarker><Key>c</Key>"));
  EXPECT_THAT(versions, HasSubstr("<VersionId>" + id + "</VersionId><IsLatest>false</IsLatest>"));
  EXPECT_EQ(versions.find("<IsLatest>true"), versions.rfind("<IsLatest>true"));
  const std::string part = get("/pail?versions&prefix=c&max-keys=1").body;
  EXPECT_THAT(part, HasSubstr("<NextKeyMarker>c</NextKeyMarker>"));
  EXPECT_THAT(part, HasSubstr("<NextVersionIdMarker>"));
  EXPECT_EQ(code(get("/pail/c")), "NoSuchKey");
  const net::Response marker = get("/pail/c?versionId=" + between(versions, "<VersionId>", "</"));
  EXPECT_EQ(marker.status, 405) << "a marker that is named";
  EXPECT_EQ(header(marker, "x-amz-delete-marker"), "true");
  EXPECT_EQ(get("/pail/c?versionId=none").status, 404);
}

TEST_F(RequestsTest, many_are_removed_at_once) {
  for (const char* key : {"a", "b", "c"}) put(std::string("/pail/") + key, key);
  const auto remove = [&](const std::string& inner) {
    return ask({.method = "POST",
                .target = "/pail?delete",
                .body = "<Delete>" + inner + "</Delete>"})
        .body;
  };
  const std::string gone = remove("<Object><Key>a</Key></Object><Object><Key>none</Key></Object>");
  EXPECT_THAT(gone, HasSubstr("<Deleted><Key>a</Key></Deleted>"));
  EXPECT_THAT(gone, HasSubstr("<Deleted><Key>none</Key></Deleted>")) << "what is not there is gone";
  EXPECT_EQ(metadata.pending(), 0u) << "durable before it is acknowledged";
  EXPECT_THAT(remove("<Quiet>true</Quiet><Object><Key>b</Key></Object>"),
              Not(HasSubstr("Deleted")));
  EXPECT_EQ(get("/pail/b").status, 404);
  EXPECT_THAT(remove("<Object><Key>c</Key><ETag>\"other\"</ETag></Object>"),
              HasSubstr("PreconditionFailed"));
  EXPECT_EQ(get("/pail/c").status, 200);
  EXPECT_THAT(remove("<Object><Key/></Object>"), HasSubstr("InvalidArgument"));
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "<Object><Key>k</Key></Object>";
  EXPECT_THAT(remove(many), HasSubstr("MalformedXML"));
  version_it("Enabled");
  const std::string id = header(put("/pail/d", "x"), "x-amz-version-id");
  EXPECT_THAT(remove("<Object><Key>d</Key></Object>"),
              HasSubstr("<DeleteMarker>true</DeleteMarker>"));
  EXPECT_THAT(remove("<Object><Key>d</Key><VersionId>" + id + "</VersionId></Object>"),
              HasSubstr("<VersionId>" + id));
  EXPECT_EQ(get("/pail/d?versionId=" + id).status, 404);
}

TEST_F(RequestsTest, an_object_says_which_rule_ends_it_first) {
  put("/pail?lifecycle",
      "<LifecycleConfiguration><Rule><ID>slow</ID><Prefix/><Status>Enabled</Status>"
      "<Expiration><Days>9</Days></Expiration></Rule><Rule><ID>quick</ID><Prefix>q</Prefix>"
      "<Status>Enabled</Status><Expiration><Days>2</Days></Expiration></Rule>"
      "<Rule><ID>date</ID><Prefix>d</Prefix><Status>Enabled</Status>"
      "<Expiration><Date>2023-11-16T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>");
  // Made on 2023-11-14; an end falls on the midnight after so many days.
  EXPECT_EQ(header(put("/pail/q", "x"), "x-amz-expiration"),
            "expiry-date=\"Fri, 17 Nov 2023 00:00:00 GMT\", rule-id=\"quick\"");
  put("/pail/a", "x");
  EXPECT_EQ(header(head("/pail/a"), "x-amz-expiration"),
            "expiry-date=\"Fri, 24 Nov 2023 00:00:00 GMT\", rule-id=\"slow\"");
  put("/pail/d", "x");
  EXPECT_EQ(header(head("/pail/d"), "x-amz-expiration"),
            "expiry-date=\"Thu, 16 Nov 2023 00:00:00 GMT\", rule-id=\"date\"");
  // Set again, the former is gone; removed, there is none.
  put("/pail?lifecycle",
      "<LifecycleConfiguration><Rule><ID>new</ID><Prefix/><Status>Enabled</Status>"
      "<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>");
  EXPECT_THAT(get("/pail?lifecycle").body, Not(HasSubstr("slow")));
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?lifecycle"}).status, 204);
  EXPECT_EQ(code(get("/pail?lifecycle")), "NoSuchLifecycleConfiguration");
}

TEST_F(RequestsTest, a_restored_object_says_until_when) {
  put("/pail/k", "x", {{"x-amz-storage-class", "GLACIER"}});
  const auto restore = [&](const std::string& days) {
    return ask({.method = "POST",
                .target = "/pail/k?restore",
                .body = "<RestoreRequest><Days>" + days + "</Days></RestoreRequest>"})
        .status;
  };
  EXPECT_EQ(restore("0"), 400);
  EXPECT_EQ(restore("3651"), 400);
  const TimeMs before = now;
  EXPECT_EQ(restore("2"), 202);
  EXPECT_EQ(restore("2"), 200);
  const Version version = *store->find("pail", "k", std::nullopt);
  EXPECT_NEAR(static_cast<double>(version.restored_until_ms),
              static_cast<double>(before + 2 * kDayMs), 1000);
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"), "ongoing-request=\"true\"");
  const auto with_copy = [&](bool checked) {
    EXPECT_TRUE(store->change_version("pail", "k", std::nullopt, [&](Version& v) -> Answer<void> {
      v.copies = {{"hot", {}, checked}};
      return {};
    }));
    return header(head("/pail/k"), "x-amz-restore");
  };
  EXPECT_EQ(with_copy(false), "ongoing-request=\"true\"") << "not yet read through";
  EXPECT_EQ(with_copy(true), "ongoing-request=\"false\", expiry-date=\"" +
                                 http_time(version.restored_until_ms) + "\"");
  now += 3 * kDayMs;
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"), "");
}

}  // namespace
}  // namespace orrery::s3server
