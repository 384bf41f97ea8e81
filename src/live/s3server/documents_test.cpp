// The documents that answers are, whole and by value: a client reads every element of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3/checksum.h"
#include "live/s3server/access.h"
#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::documents_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSpace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
const std::string kOwner = "<Owner><ID>main</ID><DisplayName>main</DisplayName></Owner>";
const std::string kX = "&quot;9dd4e461268c8034f5c8564e155c67a6&quot;";  // the MD5 of "x"

class DocumentsTest : public RequestsTest {
 protected:
  // Without the declaration and the namespace, with "NOW" for every moment of the fixture's clock.
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

TEST_F(DocumentsTest, buckets) {
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

TEST_F(DocumentsTest, objects) {
  put("/pail/a%2Fb", "x");
  put("/pail/c%20d", "x", {{"x-amz-checksum-crc32", "jNwWgw=="}});
  put("/pail/e", "", {{"x-amz-storage-class", "GLACIER"}});
  const auto entry = [](const std::string& key, const std::string& etag, const std::string& size,
                        const std::string& sum, const std::string& owner,
                        const std::string& storage_class) {
    return "<Contents><Key>" + key + "</Key><LastModified>NOW</LastModified><ETag>" + etag +
           "</ETag><Size>" + size + "</Size>" + sum + owner + "<StorageClass>" + storage_class +
           "</StorageClass></Contents>";
  };
  const std::string empty = "&quot;d41d8cd98f00b204e9800998ecf8427e&quot;";
  const std::string sum =
      "<ChecksumAlgorithm>CRC32</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>";
  EXPECT_EQ(plain(get("/pail?delimiter=%2F&max-keys=2")),
            "<ListBucketResult><Name>pail</Name><Prefix/><MaxKeys>2</MaxKeys>"
            "<Delimiter>/</Delimiter><IsTruncated>true</IsTruncated><Marker/>"
            "<NextMarker>c d</NextMarker>" +
                entry("c d", kX, "1", sum, kOwner, "STANDARD") +
                "<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes></ListBucketResult>");
  EXPECT_EQ(plain(get("/pail?marker=c%20d&encoding-type=url&prefix=%2B")),
            "<ListBucketResult><Name>pail</Name><Prefix>+</Prefix><MaxKeys>1000</MaxKeys>"
            "<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
            "<Marker>c%20d</Marker></ListBucketResult>");
  EXPECT_EQ(plain(get("/pail?list-type=2&start-after=a%2Fb&max-keys=1&encoding-type=url")),
            "<ListBucketResult><Name>pail</Name><Prefix/><MaxKeys>1</MaxKeys>"
            "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
            "<StartAfter>a/b</StartAfter><KeyCount>1</KeyCount>"
            "<NextContinuationToken>632064</NextContinuationToken>" +
                entry("c%20d", kX, "1", sum, "", "STANDARD") + "</ListBucketResult>");
  EXPECT_EQ(plain(get("/pail?list-type=2&continuation-token=632064&fetch-owner=true")),
            "<ListBucketResult><Name>pail</Name><Prefix/><MaxKeys>1000</MaxKeys>"
            "<IsTruncated>false</IsTruncated><ContinuationToken>632064</ContinuationToken>"
            "<KeyCount>1</KeyCount>" +
                entry("e", empty, "0", "", kOwner, "GLACIER") + "</ListBucketResult>");
  EXPECT_EQ(plain(get("/pail?max-keys=0")),
            "<ListBucketResult><Name>pail</Name><Prefix/><MaxKeys>0</MaxKeys>"
            "<IsTruncated>false</IsTruncated><Marker/></ListBucketResult>");
}

TEST_F(DocumentsTest, versions) {
  version_it("Enabled");
  const std::string first = header(put("/pail/a%20b", "x"), "x-amz-version-id");
  const net::Response gone = ask({.method = "DELETE", .target = "/pail/a%20b"});
  EXPECT_EQ(header(gone, "x-amz-delete-marker"), "true");
  const std::string marker = header(gone, "x-amz-version-id");
  const std::string head =
      "<ListVersionsResult><Name>pail</Name><Prefix/><KeyMarker/><VersionIdMarker/>";
  const std::string of_marker = "<DeleteMarker><Key>a%20b</Key><VersionId>" + marker +
                                "</VersionId><IsLatest>true</IsLatest>"
                                "<LastModified>NOW</LastModified>" +
                                kOwner + "</DeleteMarker>";
  const std::string of_first = "<Version><Key>a b</Key><VersionId>" + first +
                               "</VersionId><IsLatest>false</IsLatest>"
                               "<LastModified>NOW</LastModified><ETag>" +
                               kX + "</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass>" +
                               kOwner + "</Version>";
  EXPECT_EQ(plain(get("/pail?versions&max-keys=1&encoding-type=url")),
            head +
                "<MaxKeys>1</MaxKeys><EncodingType>url</EncodingType>"
                "<IsTruncated>true</IsTruncated><NextKeyMarker>a%20b</NextKeyMarker>"
                "<NextVersionIdMarker>" +
                marker + "</NextVersionIdMarker>" + of_marker + "</ListVersionsResult>");
  EXPECT_EQ(plain(get("/pail?versions&key-marker=a%20b&version-id-marker=" + marker)),
            "<ListVersionsResult><Name>pail</Name><Prefix/><KeyMarker>a b</KeyMarker>"
            "<VersionIdMarker>" +
                marker +
                "</VersionIdMarker><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>" +
                of_first + "</ListVersionsResult>");
  EXPECT_EQ(plain(get("/pail?versions&delimiter=%20")),
            head +
                "<MaxKeys>1000</MaxKeys><Delimiter> </Delimiter>"
                "<IsTruncated>false</IsTruncated><CommonPrefixes><Prefix>a </Prefix>"
                "</CommonPrefixes></ListVersionsResult>");
  const net::Response removed =
      ask({.method = "DELETE", .target = "/pail/a%20b?versionId=" + marker});
  EXPECT_EQ(header(removed, "x-amz-delete-marker"), "true") << "it was one";
  EXPECT_EQ(header(removed, "x-amz-version-id"), marker);
  EXPECT_EQ(get("/pail/a%20b").body, "x") << "it is the newest again";
}

TEST_F(DocumentsTest, removals) {
  version_it("Enabled");
  const std::string id = header(put("/pail/a", "x"), "x-amz-version-id");
  const auto remove = [&](const std::string& inner) {
    return plain(ask(
        {.method = "POST", .target = "/pail?delete", .body = "<Delete>" + inner + "</Delete>"}));
  };
  const std::string marked = remove("<Object><Key>a</Key></Object>");
  const std::string marker = between(marked, "<DeleteMarkerVersionId>", "</DeleteMarkerVersionId>");
  EXPECT_EQ(marked,
            "<DeleteResult><Deleted><Key>a</Key><DeleteMarker>true</DeleteMarker>"
            "<DeleteMarkerVersionId>" +
                marker + "</DeleteMarkerVersionId></Deleted></DeleteResult>");
  EXPECT_EQ(remove("<Object><Key>a</Key><VersionId>" + id + "</VersionId></Object>"),
            "<DeleteResult><Deleted><Key>a</Key><VersionId>" + id +
                "</VersionId></Deleted></DeleteResult>");
  EXPECT_EQ(
      remove("<Object><Key>a</Key><VersionId>" + marker + "</VersionId><ETag>z</ETag></Object>"),
      "<DeleteResult><Error><Key>a</Key><VersionId>" + marker +
          "</VersionId><Code>NoSuchKey</Code><Message>There is no such key.</Message>"
          "</Error></DeleteResult>");
  EXPECT_EQ(
      remove("<Object><Key>" + std::string(1025, 'k') + "</Key></Object>").find("KeyTooLong") ==
          std::string::npos,
      false);
  std::string thousand;
  for (int i = 0; i < 1000; ++i) thousand += "<Object><Key>k</Key></Object>";
  EXPECT_THAT(remove("<Quiet>true</Quiet>" + thousand), HasSubstr("<DeleteResult/>"));
}

TEST_F(DocumentsTest, uploads_go_on_where_they_were_cut) {
  const std::string id = begin_parts("/pail/a%20b");
  begin_parts("/pail/c");
  const std::string cut = plain(get("/pail?uploads&max-uploads=1"));
  EXPECT_THAT(cut, HasSubstr("<IsTruncated>true</IsTruncated><NextKeyMarker>a b</NextKeyMarker>"
                             "<NextUploadIdMarker>" +
                             id + "</NextUploadIdMarker>"));
}

TEST_F(DocumentsTest, uploads_and_parts) {
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
  // By hand: the MD5 of the 16 bytes of the part's MD5, and the CRC32 of the four of its CRC32.
  const std::string etag = "&quot;" + to_hex(s3::md5(s3::md5("x"))) + "-1&quot;";
  s3::Summer summer(s3::SumKind::crc32);
  summer.add("\x8c\xdc\x16\x83");
  EXPECT_EQ(plain(made),
            "<CompleteMultipartUploadResult><Location>http://127.0.0.1:8118/pail/a b</Location>"
            "<Bucket>pail</Bucket><Key>a b</Key><ETag>" +
                etag + "</ETag><ChecksumCRC32>" + to_base64(summer.finish()) +
                "-1</ChecksumCRC32><ChecksumType>COMPOSITE</ChecksumType>"
                "</CompleteMultipartUploadResult>");
  // Sent again by a client that did not hear it; and of another upload there is none.
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

TEST_F(DocumentsTest, lists_of_access) {
  const auto shown = [](std::string_view acl) { return plain(acl_answer("main", acl)); };
  const std::string head = "<AccessControlPolicy>" + kOwner + "<AccessControlList>";
  const std::string type =
      "<Grantee xmlns:xsi=&quot;http://www.w3.org/2001/XMLSchema-instance&quot; xsi:type=&quot;";
  const auto group = [&](const std::string& name, const std::string& permission) {
    return "<Grant>" + type + "Group&quot;><URI>http://acs.amazonaws.com/groups/global/" + name +
           "</URI></Grantee><Permission>" + permission + "</Permission></Grant>";
  };
  const std::string own = "<Grant>" + type +
                          "CanonicalUser&quot;><ID>main</ID><DisplayName>main</DisplayName>"
                          "</Grantee><Permission>FULL_CONTROL</Permission></Grant>"
                          "</AccessControlList></AccessControlPolicy>";
  EXPECT_EQ(shown("private"), head + own);
  EXPECT_EQ(shown("public-read"), head + group("AllUsers", "READ") + own);
  EXPECT_EQ(shown("public-read-write"),
            head + group("AllUsers", "READ") + group("AllUsers", "WRITE") + own);
  EXPECT_EQ(shown("authenticated-read"), head + group("AuthenticatedUsers", "READ") + own);
  for (const char* canned :
       {"private", "public-read", "public-read-write", "authenticated-read", "bucket-owner-read",
        "bucket-owner-full-control", "log-delivery-write"}) {
    EXPECT_TRUE(is_canned_acl(canned)) << canned;
  }
  EXPECT_FALSE(is_canned_acl("") || is_canned_acl("public"));
}

TEST_F(DocumentsTest, locks_and_tags) {
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

TEST_F(DocumentsTest, errors_name_what_was_asked_and_hide_what_a_drive_says) {
  const net::Response missing = get("/pail/none%20x");
  const std::string id = header(missing, "x-amz-request-id");
  EXPECT_EQ(missing.content_type, "application/xml");
  EXPECT_THAT(missing.body, HasSubstr("<Error><Code>NoSuchKey</Code>"
                                      "<Message>There is no such key.</Message>"
                                      "<Resource>/pail/none%20x</Resource><RequestId>" +
                                      id + "</RequestId></Error>"));
  EXPECT_EQ(id.size(), 21u);
  EXPECT_NE(header(get("/pail/none"), "x-amz-request-id"), id);
  const net::Response head = this->head("/pail/none");
  EXPECT_EQ(head.length, head.body.size()) << "what a GET would have got";
  for (const auto& [status, code_said] :
       std::vector<std::pair<int, std::string>>{{400, "InvalidRequest"},
                                                {413, "EntityTooLarge"},
                                                {431, "InvalidRequest"},
                                                {500, "InternalError"},
                                                {503, "SlowDown"}}) {
    const net::Response own = Gateway::refusal(status, "words");
    EXPECT_EQ(own.status, status);
    EXPECT_EQ(code(own), code_said);
  }
}

}  // namespace
}  // namespace orrery::s3server::documents_tests
