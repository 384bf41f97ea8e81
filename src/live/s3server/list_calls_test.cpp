// Listings of objects, versions and uploads, and deletion of many objects. Whole documents are
// compared, because a client reads every element of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "live/s3/sigv4.h"
#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::list_calls_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSpace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

const std::string kOwner = "<Owner><ID>main</ID><DisplayName>main</DisplayName></Owner>";

const std::string kX = "&quot;9dd4e461268c8034f5c8564e155c67a6&quot;";  // the MD5 of "x"

class ListCalls : public GatewayTest {
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

TEST_F(ListCalls, objects_are_listed_page_by_page_in_both_versions) {
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

TEST_F(ListCalls, versions_are_listed_and_removed) {
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
  EXPECT_EQ(header(removed, "x-amz-delete-marker"), "true") << "the removed version was a delete "
                                                               "marker";
  EXPECT_EQ(header(removed, "x-amz-version-id"), marker);
  EXPECT_EQ(get("/pail/a%20b").body, "x") << "it is the newest again";
}

TEST_F(ListCalls, removals_are_reported_one_by_one) {
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
          "</VersionId><Code>NoSuchKey</Code><Message>The key does not exist.</Message>"
          "</Error></DeleteResult>");
  EXPECT_EQ(
      remove("<Object><Key>" + std::string(1025, 'k') + "</Key></Object>").find("KeyTooLong") ==
          std::string::npos,
      false);
  std::string thousand;
  for (int i = 0; i < 1000; ++i) thousand += "<Object><Key>k</Key></Object>";
  EXPECT_THAT(remove("<Quiet>true</Quiet>" + thousand), HasSubstr("<DeleteResult/>"));
}

TEST_F(ListCalls, a_cut_list_of_uploads_says_where_to_continue) {
  const std::string id = begin_parts("/pail/a%20b");
  begin_parts("/pail/c");
  const std::string cut = plain(get("/pail?uploads&max-uploads=1"));
  EXPECT_THAT(cut, HasSubstr("<IsTruncated>true</IsTruncated><NextKeyMarker>a b</NextKeyMarker>"
                             "<NextUploadIdMarker>" +
                             id + "</NextUploadIdMarker>"));
}

TEST_F(ListCalls, a_truncated_listing_says_where_to_continue) {
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
      << "version 1 reports it only with a delimiter";
  EXPECT_THAT(get("/pail?max-keys=5000").body, HasSubstr("<MaxKeys>1000</MaxKeys>"));
  for (const char* bad : {"max-keys=-1", "max-keys=x", "max-keys=2147483648", "encoding-type=json",
                          "list-type=2&continuation-token=zz"}) {
    EXPECT_EQ(code(get(std::string("/pail?") + bad)), "InvalidArgument") << bad;
  }
  // Open uploads, page by page.
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
  // Versions: which is the newest, and which is a delete marker.
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
  EXPECT_EQ(marker.status, 405) << "a delete marker named by its id";
  EXPECT_EQ(header(marker, "x-amz-delete-marker"), "true");
  EXPECT_EQ(get("/pail/c?versionId=none").status, 404);
}

TEST_F(ListCalls, many_objects_are_removed_in_one_call) {
  for (const char* key : {"a", "b", "c"}) put(std::string("/pail/") + key, key);
  const auto remove = [&](const std::string& inner) {
    return ask({.method = "POST",
                .target = "/pail?delete",
                .body = "<Delete>" + inner + "</Delete>"})
        .body;
  };
  const std::string gone = remove("<Object><Key>a</Key></Object><Object><Key>none</Key></Object>");
  EXPECT_THAT(gone, HasSubstr("<Deleted><Key>a</Key></Deleted>"));
  EXPECT_THAT(gone, HasSubstr("<Deleted><Key>none</Key></Deleted>")) << "deleting a missing key "
                                                                        "succeeds";
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

TEST_F(ListCalls, a_page_has_up_to_1000_entries) {
  const auto shown = [&](const std::string& query) {
    const net::Response of = get("/pail?" + query);
    return of.status == 200 ? between(of.body, "<MaxKeys>", "</MaxKeys>") : code(of);
  };
  EXPECT_EQ(shown(""), "1000");
  EXPECT_EQ(shown("max-keys=0"), "0");
  EXPECT_EQ(shown("max-keys=1"), "1");
  EXPECT_EQ(shown("max-keys=1000"), "1000");
  EXPECT_EQ(shown("max-keys=1001"), "1000");
  EXPECT_EQ(shown("max-keys=2147483647"), "1000");
  EXPECT_EQ(shown("max-keys=2147483648"), "InvalidArgument");
  EXPECT_EQ(shown("max-keys=-1"), "InvalidArgument");
  EXPECT_EQ(shown("max-keys=x"), "InvalidArgument");
  EXPECT_EQ(shown("versions&max-keys=7"), "7");
  EXPECT_EQ(shown("versions&max-keys=-7"), "InvalidArgument");
  EXPECT_EQ(code(get("/pail?uploads&max-uploads=x")), "InvalidArgument");
  EXPECT_THAT(get("/pail?uploads&max-uploads=5").body, HasSubstr("<MaxUploads>5</MaxUploads>"));
}

TEST_F(ListCalls, up_to_1000_objects_are_removed_in_one_call) {
  const auto removal = [&](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += "<Object><Key>" + std::to_string(i) + "</Key></Object>";
    }
    return ask({.method = "POST",
                .target = "/pail?delete",
                .body = "<Delete><Quiet>true</Quiet>" + list + "</Delete>"});
  };
  EXPECT_EQ(fate(removal(0)), "MalformedXML");
  EXPECT_EQ(fate(removal(1)), "taken");
  const net::Response most = removal(1000);
  EXPECT_EQ(fate(most), "taken");
  EXPECT_THAT(most.body, Not(HasSubstr("<Deleted>"))) << "quiet";
  EXPECT_EQ(fate(removal(1001)), "MalformedXML");
}

TEST_F(ListCalls, a_listing_continues_after_its_token) {
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
}  // namespace orrery::s3server::list_calls_tests
