// Copies of objects and of ranges: sources, conditions, what is kept or replaced, and the bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/digest.h"
#include "live/drives/erasure.h"
#include "live/s3/checksum.h"
#include "live/s3server/gateway_fixture.h"
#include "live/store/moment.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::s3server::copy_calls_tests {
namespace {

using testing::HasSubstr;

class CopyCalls : public GatewayTest {
 protected:
  CopyCalls() {
    etag = header(put("/pail/k", "0123456789"), "ETag");
    bare = etag.substr(1, etag.size() - 2);
    made = store->find("pail", "k", std::nullopt).value().modified_ms;
  }
  // The second in which the object was made, plus `seconds`.
  std::string at(int seconds) const { return http_time(made / 1000 * 1000 + seconds * 1000LL); }
  int read(HeaderList headers) { return get("/pail/k", std::move(headers)).status; }
  std::string copied(HeaderList headers, const std::string& from = "/pail/k") {
    const net::Response of = copy("/pail/to", from, std::move(headers));
    return of.status == 200 ? "copied" : code(of);
  }

  std::string etag;
  std::string bare;
  TimeMs made = 0;
};

TEST_F(CopyCalls, a_copy_keeps_to_its_conditions) {
  const std::string no = "PreconditionFailed";
  EXPECT_EQ(copied({{"x-amz-copy-source-if-match", etag}}), "copied");
  EXPECT_EQ(copied({{"x-amz-copy-source-if-match", bare}}), "copied");
  EXPECT_EQ(copied({{"x-amz-copy-source-if-match", "*"}}), "copied");
  EXPECT_EQ(copied({{"x-amz-copy-source-if-match", "x"}}), no);
  EXPECT_EQ(copied({{"x-amz-copy-source-if-none-match", "x"}}), "copied");
  EXPECT_EQ(copied({{"x-amz-copy-source-if-none-match", etag}}), no);
  EXPECT_EQ(copied({{"x-amz-copy-source-if-none-match", "*"}}), no);
  EXPECT_EQ(copied({{"x-amz-copy-source-if-modified-since", at(-1)}}), "copied");
  EXPECT_EQ(copied({{"x-amz-copy-source-if-modified-since", at(0)}}), no);
  EXPECT_EQ(copied({{"x-amz-copy-source-if-unmodified-since", at(0)}}), "copied");
  EXPECT_EQ(copied({{"x-amz-copy-source-if-unmodified-since", at(-1)}}), no);
  EXPECT_EQ(copied({{"x-amz-copy-source-if-match", etag},
                    {"x-amz-copy-source-if-unmodified-since", at(-1)}}),
            "copied");
}

TEST_F(CopyCalls, a_source_is_a_bucket_a_key_and_perhaps_a_version) {
  put("/pail/a b", "blank");
  EXPECT_EQ(copied({}, "pail/k"), "copied") << "without a leading slash";
  EXPECT_EQ(copied({}, "/pail/a%20b"), "copied");
  EXPECT_EQ(get("/pail/to").body, "blank");
  EXPECT_EQ(copied({}, "/pail/k?versionId=null"), "copied");
  EXPECT_EQ(copied({}, "/pail/k?versionId=none"), "NoSuchVersion");
  EXPECT_EQ(copied({}, "/pail/none"), "NoSuchKey");
  EXPECT_EQ(copied({}, "/none/k"), "NoSuchBucket");
  for (const char* bad : {"pail", "/pail", "/pail/", "/", "/pail/%zz", "%4"}) {
    EXPECT_EQ(copied({}, bad), "InvalidArgument") << bad;
  }
  EXPECT_EQ(copied({}, "/pail/" + std::string(1025, 'k')), "KeyTooLongError");
}

TEST_F(CopyCalls, a_copy_onto_itself_must_change_something) {
  const auto onto = [&](HeaderList headers, const std::string& from = "/pail/k") {
    const net::Response of = copy("/pail/k", from, std::move(headers));
    return of.status == 200 ? "copied" : code(of);
  };
  EXPECT_EQ(onto({}), "InvalidRequest");
  EXPECT_EQ(onto({{"x-amz-metadata-directive", "COPY"}}), "InvalidRequest");
  EXPECT_EQ(onto({{"x-amz-metadata-directive", "REPLACE"}}), "copied");
  EXPECT_EQ(onto({{"x-amz-storage-class", "GLACIER"}}), "copied");
  EXPECT_EQ(onto({}, "/pail/k?versionId=null"), "copied");
  EXPECT_EQ(onto({{"x-amz-metadata-directive", "MOVE"}}), "InvalidArgument");
  EXPECT_EQ(onto({{"x-amz-tagging-directive", "MOVE"}}), "InvalidArgument");
  put("/pail/l", "other");
  EXPECT_EQ(onto({}, "/pail/l"), "copied");
  put("/tub", "");
  put("/tub/k", "same key");
  EXPECT_EQ(onto({}, "/tub/k"), "copied");
}

TEST_F(CopyCalls, headers_and_tags_are_kept_or_replaced_separately) {
  put("/pail/from", "x",
      {{"Content-Type", "text/a"}, {"x-amz-meta-m", "old"}, {"x-amz-tagging", "t=old"}});
  const auto shown = [&](HeaderList headers) {
    EXPECT_EQ(copied(std::move(headers), "/pail/from"), "copied");
    const Version to = store->find("pail", "to", std::nullopt).value();
    return std::string(net::header_of(to.headers, "Content-Type")) + ' ' +
           std::string(net::header_of(to.user, "m")) + ' ' +
           std::string(net::header_of(to.tags, "t"));
  };
  const HeaderList fresh = {
      {"Content-Type", "text/b"}, {"x-amz-meta-m", "new"}, {"x-amz-tagging", "t=new"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    HeaderList headers = fresh;
    headers.emplace_back(name, value);
    return headers;
  };
  EXPECT_EQ(shown(fresh), "text/a old old");
  EXPECT_EQ(shown(with("x-amz-metadata-directive", "REPLACE")), "text/b new old");
  EXPECT_EQ(shown(with("x-amz-tagging-directive", "REPLACE")), "text/a old new");
}

TEST_F(CopyCalls, a_range_must_be_inside_its_source) {
  const std::string id = begin_parts("/pail/to");
  const auto part = [&](const std::string& range, const std::string& number = "1") {
    HeaderList headers;
    if (!range.empty()) headers.emplace_back("x-amz-copy-source-range", range);
    const net::Response of =
        copy("/pail/to?partNumber=" + number + "&uploadId=" + id, "/pail/k", std::move(headers));
    if (of.status != 200) return code(of);
    return std::to_string(store->parts(id).value().at(0).extent.size);
  };
  EXPECT_EQ(part(""), "10");
  EXPECT_EQ(part("bytes=0-9"), "10");
  EXPECT_EQ(part("bytes=0-0"), "1");
  EXPECT_EQ(part("bytes=9-9"), "1");
  EXPECT_EQ(part("bytes=3-5"), "3");
  EXPECT_EQ(part("bytes=0-10"), "InvalidRange");
  EXPECT_EQ(part("bytes=10-10"), "InvalidRange");
  for (const char* bad : {"bytes=5-4", "bytes=5-", "bytes=-5", "bytes=5", "bytes=1-2-3", "0-5"}) {
    EXPECT_EQ(part(bad), "InvalidArgument") << bad;
  }
  EXPECT_EQ(part("bytes=2-4"), "3");
  const std::string listed = get("/pail/to?uploadId=" + id).body;
  const std::string tag = between(listed, "<ETag>", "</ETag>");
  ASSERT_EQ(complete("/pail/to", id, {{1, tag}}).status, 200) << listed;
  EXPECT_EQ(get("/pail/to").body, "234");
}

TEST_F(CopyCalls, an_old_version_is_copied_by_its_id) {
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

TEST_F(CopyCalls, a_copy_has_the_checksum_algorithm_of_its_source) {
  s3::Summer summer(s3::SumKind::sha1);
  summer.add("bytes");
  const std::string sha1 = to_base64(summer.finish());
  put("/pail/a", "bytes", {{"x-amz-checksum-sha1", sha1}});
  EXPECT_EQ(copy("/pail/b", "/pail/a").status, 200);
  EXPECT_EQ(header(head("/pail/b", {{"x-amz-checksum-mode", "ENABLED"}}), "x-amz-checksum-sha1"),
            sha1);
}

TEST_F(CopyCalls, objects_of_any_size_are_copied) {
  std::string large((1u << 20) + 5, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>((i * 7) ^ (i >> 8));
  for (const std::string& bytes : {std::string("1"), std::string("22"), large}) {
    put("/pail/from", bytes);
    ASSERT_EQ(copy("/pail/to", "/pail/from").status, 200) << bytes.size();
    EXPECT_EQ(head("/pail/to").length, bytes.size());
    EXPECT_EQ(header(head("/pail/to"), "ETag"), header(head("/pail/from"), "ETag"));
    const net::Response tail = get("/pail/to", {{"Range", "bytes=-6"}});
    EXPECT_EQ(tail.body, bytes.substr(bytes.size() - std::min<std::size_t>(6, bytes.size())));
  }
  put("/pail/a%2Bb", "plus");
  EXPECT_EQ(copy("/pail/to", "/pail/a+b").status, 200) << "a plus in a path stays a plus";
  EXPECT_EQ(get("/pail/to").body, "plus");
  for (const auto& drive : drives) drive->broken = true;
  const net::Response failed = copy("/pail/to", "/pail/from");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(code(failed), "InternalError");
}

TEST_F(CopyCalls, a_copy_has_its_own_date_and_etag) {
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

TEST_F(CopyCalls, a_copied_part_has_a_number_from_1_to_10000) {
  put("/pail/from", std::string(100, 'f'));
  const std::string id = begin_parts("/pail/big");
  const auto part = [&](const std::string& number) {
    return copy("/pail/big?partNumber=" + number + "&uploadId=" + id, "/pail/from");
  };
  EXPECT_EQ(part("1").status, 200);
  EXPECT_EQ(part("10000").status, 200);
  for (const char* bad : {"0", "10001", "-1", "x"}) EXPECT_EQ(code(part(bad)), "InvalidArgument");
  const net::Response empty = copy("/pail/big?partNumber=2&uploadId=" + id, "/pail/from",
                                   {{"x-amz-copy-source-range", "bytes=5-14"}});
  EXPECT_EQ(empty.status, 200);
  EXPECT_THAT(get("/pail/big?uploadId=" + id).body, HasSubstr("<Size>10</Size>"));
}

TEST_F(CopyCalls, a_refused_copy_leaves_no_bytes) {
  put("/pail/empty", "");
  put("/pail/full", std::string(3000, 'f'));
  put("/pail/there", "x");
  const std::size_t before = files();
  for (const char* from : {"/pail/empty", "/pail/full"}) {
    EXPECT_EQ(code(copy("/pail/there", from, {{"If-None-Match", "*"}})), "PreconditionFailed");
  }
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace orrery::s3server::copy_calls_tests
