// Conditions of reads and of copies, to the second and in their order; sources of copies as they
// are written; and stretches that become parts.
#include <gtest/gtest.h>

#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::condition_edges_tests {
namespace {

class ConditionEdges : public RequestsTest {
 protected:
  ConditionEdges() {
    etag = header(put("/pail/k", "0123456789"), "ETag");
    bare = etag.substr(1, etag.size() - 2);
    made = store->find("pail", "k", std::nullopt).value().modified_ms;
  }
  // The second in which it was made, and so many later.
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

TEST_F(ConditionEdges, a_read_is_of_what_was_not_changed_since_a_second) {
  EXPECT_EQ(read({{"If-Unmodified-Since", at(0)}}), 200);
  EXPECT_EQ(read({{"If-Unmodified-Since", at(1)}}), 200);
  EXPECT_EQ(read({{"If-Unmodified-Since", at(-1)}}), 412);
  EXPECT_EQ(read({{"If-Modified-Since", at(0)}}), 304);
  EXPECT_EQ(read({{"If-Modified-Since", at(1)}}), 304);
  EXPECT_EQ(read({{"If-Modified-Since", at(-1)}}), 200);
  EXPECT_EQ(read({{"If-Modified-Since", "yesterday"}}), 200) << "that is no moment";
  EXPECT_EQ(read({{"If-Unmodified-Since", "yesterday"}}), 200);
}

TEST_F(ConditionEdges, etags_go_before_dates) {
  EXPECT_EQ(read({{"If-Match", etag}, {"If-Unmodified-Since", at(-1)}}), 200);
  EXPECT_EQ(read({{"If-Match", "\"x\""}, {"If-Unmodified-Since", at(1)}}), 412);
  EXPECT_EQ(read({{"If-None-Match", "\"x\""}, {"If-Modified-Since", at(1)}}), 200);
  EXPECT_EQ(read({{"If-None-Match", etag}, {"If-Modified-Since", at(-1)}}), 304);
  EXPECT_EQ(read({{"If-Match", etag}, {"If-None-Match", etag}}), 304);
  EXPECT_EQ(read({{"If-Match", "\"x\""}, {"If-None-Match", etag}}), 412);
  EXPECT_EQ(read({{"If-Match", etag}, {"If-Modified-Since", at(0)}}), 304);
}

TEST_F(ConditionEdges, one_of_several_etags_is_enough) {
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

TEST_F(ConditionEdges, a_copy_is_of_what_its_conditions_name) {
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

TEST_F(ConditionEdges, a_source_is_a_bucket_a_key_and_perhaps_a_version) {
  put("/pail/a b", "blank");
  EXPECT_EQ(copied({}, "pail/k"), "copied") << "without a slash before it";
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

TEST_F(ConditionEdges, a_copy_onto_itself_changes_something) {
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

TEST_F(ConditionEdges, a_copy_keeps_or_replaces_headers_and_tags_each_for_itself) {
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

TEST_F(ConditionEdges, a_stretch_has_both_ends_inside_its_source) {
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

}  // namespace
}  // namespace orrery::s3server::condition_edges_tests
