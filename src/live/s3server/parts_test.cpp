// Uploads: in parts, with checksums, in chunks; and what is counted of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3/checksum.h"
#include "live/s3server/metrics.h"
#include "live/s3server/requests_fixture.h"
#include "live/s3server/status.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(RequestsTest, parts_are_chosen_joined_and_checked) {
  const std::string id = begin_parts("/pail/k", {{"x-amz-storage-class", "GLACIER"}});
  const std::string large(5 << 20, 'l');
  const std::string one = header(put_part("/pail/k", id, "1", large), "ETag");
  const std::string two = header(put_part("/pail/k", id, "2", "tail"), "ETag");
  const std::string nine = header(put_part("/pail/k", id, "9", "unused"), "ETag");
  for (const char* number : {"0", "10001", "-1", "x"}) {
    EXPECT_EQ(put_part("/pail/k", id, number, "x").status, 400) << number;
  }
  EXPECT_EQ(code(put_part("/pail/k", "none", "1", "x")), "NoSuchUpload");
  // The page of parts: behind the marker, so many, and where to go on.
  const std::string all = get("/pail/k?uploadId=" + id).body;
  EXPECT_THAT(all, HasSubstr("<PartNumber>1</PartNumber>"));
  EXPECT_THAT(all, HasSubstr("<Size>5242880</Size>"));
  EXPECT_THAT(all, HasSubstr("<StorageClass>GLACIER</StorageClass>"));
  EXPECT_THAT(all, HasSubstr("<IsTruncated>false</IsTruncated>"));
  const std::string page = get("/pail/k?uploadId=" + id + "&max-parts=1&part-number-marker=1").body;
  EXPECT_THAT(page, Not(HasSubstr("<PartNumber>1</PartNumber>")));
  EXPECT_THAT(page, HasSubstr("<PartNumber>2</PartNumber>"));
  EXPECT_THAT(page, HasSubstr("<NextPartNumberMarker>2</NextPartNumberMarker>"));
  EXPECT_THAT(get("/pail/k?uploadId=" + id + "&max-parts=5000").body,
              HasSubstr("<MaxParts>1000</MaxParts>"));
  EXPECT_EQ(code(complete("/pail/k", id, {{2, two}, {1, one}})), "InvalidPartOrder");
  EXPECT_EQ(code(complete("/pail/k", id, {{1, two}})), "InvalidPart");
  EXPECT_EQ(code(complete("/pail/k", id, {{3, two}})), "InvalidPart");
  EXPECT_EQ(code(complete("/pail/k", id, {{2, two}, {9, nine}})), "EntityTooSmall");
  EXPECT_EQ(code(complete("/pail/k", id, {})), "MalformedXML");
  const net::Response done = complete("/pail/k", id, {{1, "\"stale\""}, {1, one}, {2, two}});
  ASSERT_EQ(done.status, 200) << done.body;
  // "Checking object integrity": the MD5 of the parts' MD5s, and their number.
  const std::string joined = to_hex(s3::md5(s3::md5(large) + s3::md5("tail"))) + "-2";
  EXPECT_THAT(done.body, HasSubstr(joined));
  EXPECT_EQ(complete("/pail/k", id, {{1, one}, {2, two}}).status, 200) << "sent twice";
  EXPECT_EQ(code(complete("/pail/other", id, {{1, one}})), "NoSuchUpload");
  const net::Response shown = head("/pail/k");
  EXPECT_EQ(shown.length, large.size() + 4);
  EXPECT_EQ(header(shown, "x-amz-storage-class"), "GLACIER");
  ASSERT_TRUE(store->collect());  // the part that was not chosen
  EXPECT_EQ(drives[3]->files().size(), 2u) << "its bytes lie in the tier of the upload";
  const net::Response last = get("/pail/k?partNumber=2");
  EXPECT_EQ(last.status, 206);
  EXPECT_EQ(last.body, "tail");
  EXPECT_EQ(header(last, "x-amz-mp-parts-count"), "2");
  EXPECT_EQ(header(last, "Content-Range"), "bytes 5242880-5242883/5242884");
  EXPECT_EQ(code(get("/pail/k?partNumber=3")), "InvalidPart");
  EXPECT_EQ(code(get("/pail/k?partNumber=0")), "InvalidArgument");
  const net::Response facts =
      get("/pail/k?attributes", {{"x-amz-object-attributes", "ObjectParts,ObjectSize,ETag"}});
  EXPECT_THAT(facts.body, HasSubstr("<TotalPartsCount>2</TotalPartsCount>"));
  EXPECT_THAT(facts.body, HasSubstr("<ObjectSize>5242884</ObjectSize>"));
  EXPECT_THAT(facts.body, Not(HasSubstr("StorageClass")));
}

// "Conditional writes": a completion is a write, and its condition is of the object as it is then.
TEST_F(RequestsTest, a_completed_upload_keeps_to_its_condition) {
  const auto finish = [&](const HeaderList& condition) {
    const std::string id = begin_parts("/pail/k");
    const std::string etag = header(put_part("/pail/k", id, "1", "x"), "ETag");
    return complete("/pail/k", id, {{1, etag}}, condition);
  };
  EXPECT_EQ(code(finish({{"If-Match", "*"}})), "NoSuchKey") << "there is none yet";
  EXPECT_EQ(finish({{"If-None-Match", "*"}}).status, 200);
  const std::string etag = header(head("/pail/k"), "ETag");
  EXPECT_EQ(finish({{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(finish({{"If-Match", "\"0123\""}}).status, 412);
  EXPECT_EQ(header(head("/pail/k"), "ETag"), etag) << "it is as it was";
  EXPECT_EQ(finish({{"If-Match", etag}}).status, 200);
}

TEST_F(RequestsTest, checksums_of_parts_make_that_of_the_object) {
  const std::string large(5 << 20, 'l');
  const auto sum = [](s3::SumKind kind, const std::string& bytes) {
    s3::Summer summer(kind);
    summer.add(bytes);
    return summer.finish();
  };
  const auto upload = [&](const std::string& key, const std::string& algorithm, std::string type) {
    HeaderList wish = {{"x-amz-checksum-algorithm", algorithm}};
    if (!type.empty()) wish.emplace_back("x-amz-checksum-type", type);
    const std::string id = begin_parts(key, wish);
    const std::string one = header(put_part(key, id, "1", large), "ETag");
    const std::string two = header(put_part(key, id, "2", "tail"), "ETag");
    return complete(key, id, {{1, one}, {2, two}});
  };
  const std::string whole = to_base64(sum(s3::SumKind::crc32, large + "tail"));
  EXPECT_THAT(upload("/pail/full", "CRC32", "FULL_OBJECT").body,
              HasSubstr("<ChecksumCRC32>" + whole + "</ChecksumCRC32><ChecksumType>FULL_OBJECT"));
  const std::string parts = to_base64(
      sum(s3::SumKind::sha256, sum(s3::SumKind::sha256, large) + sum(s3::SumKind::sha256, "tail")));
  EXPECT_THAT(upload("/pail/sha", "SHA256", "").body,
              HasSubstr("<ChecksumSHA256>" + parts + "-2</ChecksumSHA256><ChecksumType>COMPOSITE"));
  EXPECT_THAT(upload("/pail/nvme", "CRC64NVME", "").body,
              HasSubstr(to_base64(sum(s3::SumKind::crc64nvme, large + "tail"))));
  EXPECT_EQ(ask({.method = "POST",
                 .target = "/pail/x?uploads",
                 .headers = {{"x-amz-checksum-algorithm", "SHA256"},
                             {"x-amz-checksum-type", "FULL_OBJECT"}}})
                .status,
            400);
  EXPECT_EQ(
      header(head("/pail/full", {{"x-amz-checksum-mode", "ENABLED"}}), "x-amz-checksum-crc32"),
      whole);
  EXPECT_EQ(header(head("/pail/full"), "x-amz-checksum-crc32"), "");
  // What the completion claims of the whole, and of a part, must be so.
  const std::string id = begin_parts(
      "/pail/c", {{"x-amz-checksum-algorithm", "CRC32"}, {"x-amz-checksum-type", "FULL_OBJECT"}});
  const std::string etag = header(put_part("/pail/c", id, "1", "tail"), "ETag");
  EXPECT_EQ(code(complete("/pail/c", id, {{1, etag}}, {{"x-amz-checksum-crc32", whole}})),
            "BadDigest");
  EXPECT_EQ(
      code(ask({.method = "POST",
                .target = "/pail/c?uploadId=" + id,
                .body = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" + etag +
                        "</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part>"
                        "</CompleteMultipartUpload>"})),
      "InvalidPart");
  EXPECT_EQ(code(put_part("/pail/c", id, "2", "x", {{"x-amz-checksum-sha1", "AAAA"}})),
            "InvalidRequest")
      << "it was begun with another";
  EXPECT_EQ(complete("/pail/c", id, {{1, etag}}).status, 200);
  // Of an object in one piece.
  const std::string right = to_base64(sum(s3::SumKind::crc32, "x"));
  EXPECT_EQ(header(put("/pail/d", "x", {{"x-amz-checksum-crc32", right}}), "x-amz-checksum-crc32"),
            right);
  EXPECT_EQ(code(put("/pail/d", "x", {{"x-amz-checksum-crc32", "AAAAAA=="}})), "BadDigest");
  EXPECT_EQ(code(put("/pail/d", "x", {{"x-amz-checksum-crc32", "?"}})), "InvalidRequest");
  EXPECT_EQ(code(put("/pail/d", "x", {{"x-amz-checksum-moon", right}})), "InvalidRequest");
  EXPECT_EQ(
      code(put("/pail/d", "x", {{"x-amz-checksum-crc32", right}, {"x-amz-checksum-sha1", right}})),
      "InvalidRequest");
  EXPECT_EQ(code(put("/pail/d", "x", {{"Content-MD5", to_base64("short")}})), "InvalidDigest");
}

TEST_F(RequestsTest, a_stretch_of_an_object_becomes_a_part) {
  put("/pail/a", "0123456789");
  const std::string id = begin_parts("/pail/k");
  const auto part = [&](const std::string& number, const std::string& range) {
    return copy("/pail/k?partNumber=" + number + "&uploadId=" + id, "/pail/a",
                range.empty() ? HeaderList{} : HeaderList{{"x-amz-copy-source-range", range}});
  };
  EXPECT_EQ(code(part("1", "bytes=5-10")), "InvalidRange");
  EXPECT_EQ(code(part("1", "bytes=5-")), "InvalidArgument");
  EXPECT_EQ(code(part("1", "5-6")), "InvalidArgument");
  EXPECT_EQ(code(part("1", "bytes=6-5")), "InvalidArgument");
  EXPECT_EQ(code(part("10001", "")), "InvalidArgument");
  const net::Response copied = part("1", "bytes=3-9");
  ASSERT_EQ(copied.status, 200) << copied.body;
  const std::string etag = '"' + to_hex(s3::md5("3456789")) + '"';
  EXPECT_THAT(copied.body, HasSubstr("<ETag>\"" + to_hex(s3::md5("3456789"))));
  EXPECT_EQ(complete("/pail/k", id, {{1, etag}}).status, 200);
  EXPECT_EQ(get("/pail/k").body, "3456789");
}

TEST_F(RequestsTest, bodies_must_be_what_was_announced) {
  const auto sent = [&](HeaderList headers, const std::string& body, const std::string& length) {
    net::Request request = signed_request({.method = "PUT",
                                           .target = "/pail/k",
                                           .headers = std::move(headers),
                                           .payload = "UNSIGNED-PAYLOAD"});
    if (!length.empty()) request.headers.emplace_back("Content-Length", length);
    return code(send(request, body));
  };
  EXPECT_EQ(sent({}, "abc", "3"), "");
  EXPECT_EQ(sent({}, "abc", "4"), "IncompleteBody");
  EXPECT_EQ(sent({}, "abc", "2"), "InvalidRequest") << "more than was announced";
  EXPECT_EQ(sent({}, "abc", "-1"), "InvalidArgument");
  EXPECT_EQ(sent({}, "abc", "5368709121"), "EntityTooLarge") << "5 GiB and one";
  EXPECT_EQ(get("/pail/k").body, "abc");
  const std::size_t files = drives[0]->files().size();
  EXPECT_EQ(sent({}, std::string(300'000, 'x'), "300001"), "IncompleteBody");
  EXPECT_EQ(drives[0]->files().size(), files) << "nothing of it is left";
  const auto chunks = [&](const std::string& body, const std::string& length) {
    net::Request request = signed_request({.method = "PUT",
                                           .target = "/pail/c",
                                           .headers = {{"x-amz-decoded-content-length", length}},
                                           .payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"});
    return code(send(request, body));
  };
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n\r\n", "3"), "");
  EXPECT_EQ(get("/pail/c").body, "abc");
  EXPECT_EQ(chunks("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "5"), "");
  EXPECT_EQ(get("/pail/c").body, "abcde");
  EXPECT_EQ(chunks("3\r\nabcX\r\n0\r\n\r\n", "3"), "InvalidRequest")
      << "a chunk ends where it says";
  EXPECT_EQ(chunks("\r\nabc\r\n0\r\n\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(chunks("x\r\nabc\r\n0\r\n\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(chunks("3\r\nabc\r\n", "3"), "IncompleteBody") << "without its end";
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n\r\nmore\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(chunks(std::string(5000, '1') + "\r\n", "3"), "InvalidRequest");
  EXPECT_EQ(
      chunks("3\r\nabc\r\n0\r\n" + std::string(3000, 'x') + ":1\r\n" + std::string(3000, 'x') +
                 ":1\r\n" + std::string(3000, 'x') + ":1\r\n" + std::string(3000, 'x') + ":1\r\n" +
                 std::string(3000, 'x') + ":1\r\n" + std::string(3000, 'x') + ":1\r\n\r\n",
             "3"),
      "MalformedTrailerError");
  net::Request unsized = signed_request(
      {.method = "PUT", .target = "/pail/c", .payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"});
  EXPECT_EQ(code(send(unsized, "0\r\n\r\n")), "MissingContentLength");
}

TEST_F(RequestsTest, metrics_are_of_what_happened) {
  GatewayCounts counts;
  counts.add(RequestKind::get, 200, 10, 0.002);
  counts.add(RequestKind::get, 400, 0, 0.003);
  counts.add(RequestKind::get, 500, 0, 100);
  const KindCounts& of = counts.kinds[0];
  EXPECT_EQ(of.requests, 3u);
  EXPECT_EQ(of.refused, 1u);
  EXPECT_EQ(of.faults, 1u);
  EXPECT_EQ(of.bytes, 10u);
  EXPECT_NEAR(static_cast<double>(of.micros), 100'005'000, 2);
  EXPECT_EQ(of.within[1], 2u) << "up to 3 ms, that too";
  EXPECT_EQ(of.within[kLatencyBounds.size()], 1u);
  StoreStatus status{.requests = &counts};
  status.drives.push_back({.name = "a\"b\\\n", .tier = "hot", .there = true, .space = {100, 40}});
  status.drives.push_back({.name = "far", .tier = "cold", .there = true, .space = {}});
  const std::string text = metrics_text(status);
  EXPECT_THAT(text, HasSubstr("requests_total{kind=\"get\",outcome=\"good\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{kind=\"get\",le=\"0.003\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{kind=\"get\",le=\"10\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_bucket{kind=\"get\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("request_seconds_sum{kind=\"get\"} 100.005\n"));
  EXPECT_THAT(text, HasSubstr("drive_free_bytes{drive=\"a\\\"b\\\\\\n\",tier=\"hot\"} 40\n"));
  EXPECT_THAT(text, Not(HasSubstr("drive_bytes{drive=\"far\""))) << "it does not say";
  for (const auto& [action, kind] :
       std::vector<std::pair<const char*, RequestKind>>{{"s3:GetObject", RequestKind::get},
                                                        {"s3:GetObjectTagging", RequestKind::get},
                                                        {"s3:PutObject", RequestKind::put},
                                                        {"s3:PutObjectAcl", RequestKind::other},
                                                        {"s3:ListBucket", RequestKind::list},
                                                        {"s3:DeleteObject", RequestKind::remove},
                                                        {"s3:GetBucketAcl", RequestKind::other}}) {
    EXPECT_EQ(request_kind_of(action), kind) << action;
  }
  // What a drive says of itself is for the log, what a client did wrong is for the client.
  EXPECT_THAT(Gateway::refusal(413, "x").body, HasSubstr("EntityTooLarge"));
  EXPECT_EQ(Gateway::refusal(413, "x").status, 413);
  EXPECT_THAT(Gateway::refusal(503, "x").body, HasSubstr("SlowDown"));
  drives[0]->broken = drives[1]->broken = drives[2]->broken = true;
  const net::Response fault = put("/pail/k", "x");
  EXPECT_EQ(fault.status, 500);
  EXPECT_THAT(fault.body, Not(HasSubstr("no power")));
}

}  // namespace
}  // namespace orrery::s3server
