// Multipart uploads: parts, their numbers and checksums, completion, and the documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "live/s3/checksum.h"
#include "live/s3/hash.h"
#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::multipart_calls_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSpace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

const std::string kOwner = "<Owner><ID>main</ID><DisplayName>main</DisplayName></Owner>";

const std::string kX = "&quot;9dd4e461268c8034f5c8564e155c67a6&quot;";  // the MD5 of "x"

class MultipartCalls : public GatewayTest {
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

TEST_F(MultipartCalls, every_document_of_an_upload_is_complete) {
  const net::Response begun =
      ask({.method = "POST",
           .target = "/pail/a%20b?uploads",
           .headers = {{"x-amz-checksum-algorithm", "CRC32"}, {"x-amz-storage-class", "GLACIER"}}});
  const std::string id = between(begun.body, "<UploadId>", "</UploadId>");
  EXPECT_EQ(plain(begun),
            "<InitiateMultipartUploadResult><Bucket>pail</Bucket><Key>a b</Key><UploadId>" + id +
                "</UploadId></InitiateMultipartUploadResult>");
  EXPECT_EQ(header(begun, "x-amz-checksum-algorithm"), "CRC32");
  EXPECT_EQ(header(begun, "x-amz-checksum-type"), "COMPOSITE");
  EXPECT_EQ(plain(get("/pail?uploads&prefix=a&encoding-type=url&max-uploads=7")),
            "<ListMultipartUploadsResult><Bucket>pail</Bucket><Prefix>a</Prefix><KeyMarker/>"
            "<UploadIdMarker/><MaxUploads>7</MaxUploads><Upload><Key>a%20b</Key><UploadId>" +
                id + "</UploadId>" + kOwner +
                "<StorageClass>GLACIER</StorageClass><Initiated>NOW</Initiated></Upload>"
                "<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>");
  for (const char* number : {"1", "3", "5"}) put_part("/pail/a%20b", id, number, "x");
  const std::string part = "<LastModified>NOW</LastModified><ETag>" + kX +
                           "</ETag><Size>1</Size><ChecksumCRC32>jNwWgw==</ChecksumCRC32></Part>";
  const std::string head = "<ListPartsResult><Bucket>pail</Bucket><Key>a b</Key><UploadId>" + id +
                           "</UploadId><StorageClass>GLACIER</StorageClass>";
  EXPECT_EQ(plain(get("/pail/a%20b?uploadId=" + id + "&max-parts=2")),
            head +
                "<PartNumberMarker>0</PartNumberMarker><MaxParts>2</MaxParts>"
                "<Part><PartNumber>1</PartNumber>" +
                part + "<Part><PartNumber>3</PartNumber>" + part +
                "<IsTruncated>true</IsTruncated><NextPartNumberMarker>3</NextPartNumberMarker>"
                "</ListPartsResult>");
  EXPECT_EQ(plain(get("/pail/a%20b?uploadId=" + id + "&part-number-marker=3")),
            head +
                "<PartNumberMarker>3</PartNumberMarker><MaxParts>1000</MaxParts>"
                "<Part><PartNumber>5</PartNumber>" +
                part + "<IsTruncated>false</IsTruncated></ListPartsResult>");
  EXPECT_THAT(plain(get("/pail/a%20b?uploadId=" + id + "&max-parts=3")),
              HasSubstr("<IsTruncated>false</IsTruncated>"));
  EXPECT_THAT(plain(get("/pail/a%20b?uploadId=" + id + "&max-parts=5000")),
              HasSubstr("<MaxParts>1000</MaxParts>"));
  const net::Response made =
      ask({.method = "POST",
           .target = "/pail/a%20b?uploadId=" + id,
           .body = "<CompleteMultipartUpload><Part><PartNumber>5</PartNumber><ETag>"
                   "9dd4e461268c8034f5c8564e155c67a6</ETag></Part></CompleteMultipartUpload>"});
  // The MD5 of the part's MD5 (16 bytes) and the CRC32 of its CRC32 (four bytes).
  const std::string etag = "&quot;" + to_hex(s3::md5(s3::md5("x"))) + "-1&quot;";
  s3::Summer summer(s3::SumKind::crc32);
  summer.add("\x8c\xdc\x16\x83");
  EXPECT_EQ(plain(made),
            "<CompleteMultipartUploadResult><Location>http://127.0.0.1:8118/pail/a b</Location>"
            "<Bucket>pail</Bucket><Key>a b</Key><ETag>" +
                etag + "</ETag><ChecksumCRC32>" + to_base64(summer.finish()) +
                "-1</ChecksumCRC32><ChecksumType>COMPOSITE</ChecksumType>"
                "</CompleteMultipartUploadResult>");
  // A client that got no answer repeats the request; another upload id is unknown.
  EXPECT_EQ(complete("/pail/a%20b", id, {{5, "x"}}).status, 200);
  EXPECT_EQ(code(complete("/pail/a%20b", "0123", {{5, "x"}})), "NoSuchUpload");
  EXPECT_EQ(
      plain(get("/pail/a%20b?attributes", {{"x-amz-object-attributes",
                                            "ETag,Checksum,ObjectParts,StorageClass,ObjectSize"}})),
      "<GetObjectAttributesResponse><ETag>" + etag.substr(6, etag.size() - 12) +
          "</ETag><Checksum><ChecksumCRC32>" +
          between(made.body, "<ChecksumCRC32>", "</ChecksumCRC32>") +
          "</ChecksumCRC32><ChecksumType>COMPOSITE</ChecksumType></Checksum><ObjectParts>"
          "<TotalPartsCount>1</TotalPartsCount></ObjectParts>"
          "<StorageClass>GLACIER</StorageClass><ObjectSize>1</ObjectSize>"
          "</GetObjectAttributesResponse>");
  EXPECT_EQ(plain(get("/pail/a%20b?attributes", {{"x-amz-object-attributes", "ObjectSize"}})),
            "<GetObjectAttributesResponse><ObjectSize>1</ObjectSize>"
            "</GetObjectAttributesResponse>");
}

TEST_F(MultipartCalls, parts_are_chosen_joined_and_checked) {
  const std::string id = begin_parts("/pail/k", {{"x-amz-storage-class", "GLACIER"}});
  const std::string large(5 << 20, 'l');
  const std::string one = header(put_part("/pail/k", id, "1", large), "ETag");
  const std::string two = header(put_part("/pail/k", id, "2", "tail"), "ETag");
  const std::string nine = header(put_part("/pail/k", id, "9", "unused"), "ETag");
  for (const char* number : {"0", "10001", "-1", "x"}) {
    EXPECT_EQ(put_part("/pail/k", id, number, "x").status, 400) << number;
  }
  EXPECT_EQ(code(put_part("/pail/k", "none", "1", "x")), "NoSuchUpload");
  // Pages of parts: after a marker, up to a number, and where to continue.
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
  // S3 reference, "Checking object integrity": the MD5 of the parts' MD5s, and their number.
  const std::string joined = to_hex(s3::md5(s3::md5(large) + s3::md5("tail"))) + "-2";
  EXPECT_THAT(done.body, HasSubstr(joined));
  EXPECT_EQ(complete("/pail/k", id, {{1, one}, {2, two}}).status, 200) << "sent twice";
  EXPECT_EQ(code(complete("/pail/other", id, {{1, one}})), "NoSuchUpload");
  const net::Response shown = head("/pail/k");
  EXPECT_EQ(shown.length, large.size() + 4);
  EXPECT_EQ(header(shown, "x-amz-storage-class"), "GLACIER");
  ASSERT_TRUE(store->collect());  // the part that was not chosen
  EXPECT_EQ(drives[3]->files().size(), 2u) << "its bytes are in the tier of the upload";
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

TEST_F(MultipartCalls, a_completion_keeps_to_its_condition) {
  const auto finish = [&](const HeaderList& condition) {
    const std::string id = begin_parts("/pail/k");
    const std::string etag = header(put_part("/pail/k", id, "1", "x"), "ETag");
    return complete("/pail/k", id, {{1, etag}}, condition);
  };
  EXPECT_EQ(code(finish({{"If-Match", "*"}})), "NoSuchKey") << "no object exists yet";
  EXPECT_EQ(finish({{"If-None-Match", "*"}}).status, 200);
  const std::string etag = header(head("/pail/k"), "ETag");
  EXPECT_EQ(finish({{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(finish({{"If-Match", "\"0123\""}}).status, 412);
  EXPECT_EQ(header(head("/pail/k"), "ETag"), etag) << "the object is unchanged";
  EXPECT_EQ(finish({{"If-Match", etag}}).status, 200);
}

// An object that was put in one piece has no id either: its ETag is not for those who may only put.
TEST_F(MultipartCalls, a_completion_without_an_id_reveals_no_object) {
  put("/pail/k", "x");
  for (const char* key : {"/pail/k?uploadId=", "/pail/none?uploadId=", "/pail/k?uploadId"}) {
    const net::Response answer =
        ask({.method = "POST",
             .target = key,
             .body = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>e</ETag>"
                     "</Part></CompleteMultipartUpload>"});
    EXPECT_EQ(code(answer), "NoSuchUpload") << key;
    EXPECT_THAT(answer.body, Not(HasSubstr("9dd4e461268c8034f5c8564e155c67a6"))) << key;
  }
}

TEST_F(MultipartCalls, checksums_of_parts_make_the_checksum_of_the_object) {
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
  // What the completion claims about the object and about a part must be true.
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
      << "the upload was started with another algorithm";
  EXPECT_EQ(complete("/pail/c", id, {{1, etag}}).status, 200);
  // An object put in one piece.
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

TEST_F(MultipartCalls, part_numbers_are_1_to_10000) {
  const std::string id = begin_parts("/pail/k");
  const std::string last = header(put_part("/pail/k", id, "10000", "last"), "ETag");
  EXPECT_EQ(code(put_part("/pail/k", id, "10001", "x")), "InvalidArgument");
  EXPECT_EQ(code(put_part("/pail/k", id, "0", "x")), "InvalidArgument");
  EXPECT_EQ(code(complete("/pail/k", id, {{0, last}})), "InvalidPart");
  EXPECT_EQ(code(complete("/pail/k", id, {{10001, last}})), "InvalidPart");
  EXPECT_EQ(complete("/pail/k", id, {{10000, last}}).status, 200);
  EXPECT_EQ(get("/pail/k").body, "last");
  const std::string again = begin_parts("/pail/k2");
  const std::string first = header(put_part("/pail/k2", again, "1", "first"), "ETag");
  EXPECT_EQ(complete("/pail/k2", again, {{1, first}}).status, 200);
}

TEST_F(MultipartCalls, each_part_is_a_range_of_the_object) {
  open_gateway({.part_bytes_min = 3});
  const std::string id = begin_parts("/pail/k");
  std::vector<std::pair<int, std::string>> parts;
  for (const auto& [number, bytes] :
       std::vector<std::pair<int, std::string>>{{1, "abc"}, {3, "defgh"}, {7, "i"}}) {
    parts.emplace_back(number,
                       header(put_part("/pail/k", id, std::to_string(number), bytes), "ETag"));
  }
  ASSERT_EQ(complete("/pail/k", id, parts).status, 200);
  const auto part = [&](int number) {
    const net::Response of = get("/pail/k?partNumber=" + std::to_string(number));
    EXPECT_EQ(of.status, 206);
    EXPECT_EQ(header(of, "x-amz-mp-parts-count"), "3");
    return of.body + ' ' + header(of, "Content-Range");
  };
  EXPECT_EQ(part(1), "abc bytes 0-2/9");
  EXPECT_EQ(part(2), "defgh bytes 3-7/9");
  EXPECT_EQ(part(3), "i bytes 8-8/9");
  EXPECT_EQ(code(get("/pail/k?partNumber=4")), "InvalidPart");
  const std::string small = begin_parts("/pail/s");
  const std::string two = header(put_part("/pail/s", small, "1", "ab"), "ETag");
  const std::string three = header(put_part("/pail/s", small, "2", "abc"), "ETag");
  EXPECT_EQ(code(complete("/pail/s", small, {{1, two}, {2, three}})), "EntityTooSmall");
  EXPECT_EQ(complete("/pail/s", small, {{1, two}}).status, 200) << "the last part may be small";
}

TEST_F(MultipartCalls, a_completion_returns_the_version_if_versioning_is_on) {
  const auto finish = [&] {
    const std::string id = begin_parts("/pail/k");
    const std::string etag = header(put_part("/pail/k", id, "1", "x"), "ETag");
    const net::Response done = complete("/pail/k", id, {{1, etag}});
    EXPECT_EQ(done.status, 200);
    return header(done, "x-amz-version-id");
  };
  EXPECT_EQ(finish(), "");
  version_it("Enabled");
  EXPECT_EQ(finish(), store->find("pail", "k", std::nullopt).value().id);
}

TEST_F(MultipartCalls, parts_are_listed_page_by_page) {
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

TEST_F(MultipartCalls, an_undecided_part_keeps_its_bytes) {
  const std::string id = begin_parts("/pail/k");
  metadata.lose_answer();
  EXPECT_EQ(put_part("/pail/k", id, "1", std::string(3000, 'p')).status, 500);
  const std::string etag = between(get("/pail/k?uploadId=" + id).body, "<ETag>", "</ETag>");
  EXPECT_EQ(complete("/pail/k", id, {{1, etag}}).status, 200);
  EXPECT_EQ(get("/pail/k").body, std::string(3000, 'p'));
}

TEST_F(MultipartCalls, parts_without_an_md5_make_an_object) {
  open_gateway({.quick_etag_bytes = 1000});
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

}  // namespace
}  // namespace orrery::s3server::multipart_calls_tests
