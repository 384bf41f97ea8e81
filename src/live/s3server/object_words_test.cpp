// What hangs on an object beside its bytes: tags, access, locks and attributes, set and taken away;
// copies that come to nothing; and a house that is kept in silence.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "live/rows/rocks_metadata.h"
#include "live/s3server/audit.h"
#include "live/s3server/mover.h"
#include "live/s3server/requests_fixture.h"
#include "live/s3server/runtime.h"

namespace orrery::s3server::object_words_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

class ObjectWords : public RequestsTest {
 protected:
  static std::string said(const net::Response& of) {
    return std::to_string(of.status) + ' ' + code(of) + ' ' +
           between(of.body, "<Message>", "</Message>");
  }
  net::Response remove(const std::string& target, HeaderList headers = {}) {
    return ask({.method = "DELETE", .target = target, .headers = std::move(headers)});
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& drive : drives) count += drive->files().size();
    return count;
  }
};

TEST_F(ObjectWords, tags_are_put_and_taken_away) {
  put("/pail/k", "x", {{"x-amz-tagging", "a=1"}});
  EXPECT_THAT(get("/pail/k?tagging").body, HasSubstr("<Key>a</Key><Value>1</Value>"));
  EXPECT_EQ(put("/pail/k?tagging",
                "<Tagging><TagSet><Tag><Key>b</Key><Value>2</Value></Tag></TagSet></Tagging>")
                .status,
            200);
  EXPECT_THAT(get("/pail/k?tagging").body, HasSubstr("<Key>b</Key><Value>2</Value>"));
  EXPECT_THAT(get("/pail/k?tagging").body, Not(HasSubstr("<Key>a</Key>")));
  EXPECT_EQ(header(head("/pail/k"), "x-amz-tagging-count"), "1");
  EXPECT_EQ(remove("/pail/k?tagging").status, 204);
  EXPECT_THAT(get("/pail/k?tagging").body, Not(HasSubstr("<Tag>")));
  EXPECT_EQ(header(head("/pail/k"), "x-amz-tagging-count"), "");
}

TEST_F(ObjectWords, access_is_one_of_the_canned_lists) {
  put("/pail/k", "x");
  EXPECT_EQ(said(put("/pail/k?acl", "")), "501 NotImplemented Only canned ACLs are kept.");
  EXPECT_EQ(said(put("/pail/k?acl", "", {{"x-amz-acl", "for-friends"}})),
            "400 InvalidArgument No such canned ACL.");
  EXPECT_THAT(get("/pail/k?acl").body, Not(HasSubstr("AllUsers")));
  for (const char* acl : {"public-read", "public-read-write", "authenticated-read", "private"}) {
    EXPECT_EQ(put("/pail/k?acl", "", {{"x-amz-acl", acl}}).status, 200) << acl;
    const std::string body = get("/pail/k?acl").body;
    const std::string_view name = acl;
    EXPECT_EQ(body.find("AllUsers") != body.npos, name.starts_with("public")) << acl;
    EXPECT_EQ(body.find("WRITE</Permission>") != body.npos, name == "public-read-write") << acl;
    EXPECT_EQ(body.find("AuthenticatedUsers") != body.npos, name == "authenticated-read") << acl;
  }
}

TEST_F(ObjectWords, a_lock_that_was_never_put_is_not_there) {
  ask({.method = "PUT",
       .target = "/safe",
       .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}});
  put("/safe/k", "x");
  EXPECT_EQ(said(get("/safe/k?retention")),
            "404 NoSuchObjectLockConfiguration The object has no such lock.");
  EXPECT_THAT(get("/safe/k?legal-hold").body, HasSubstr("<Status>OFF</Status>"));
  const auto retain = [&](const std::string& mode, const std::string& until) {
    return said(put("/safe/k?retention", "<Retention><Mode>" + mode + "</Mode><RetainUntilDate>" +
                                             until + "</RetainUntilDate></Retention>"));
  };
  EXPECT_EQ(retain("SOME", "2033-05-18T03:33:20Z").substr(0, 16), "400 MalformedXML");
  EXPECT_EQ(retain("GOVERNANCE", "soon").substr(0, 16), "400 MalformedXML");
  EXPECT_EQ(retain("GOVERNANCE", "2033-05-18T03:33:20Z").substr(0, 3), "200");
  EXPECT_THAT(get("/safe/k?retention").body,
              HasSubstr("<Mode>GOVERNANCE</Mode>"
                        "<RetainUntilDate>2033-05-18T03:33:20.000Z</RetainUntilDate>"));
  EXPECT_EQ(said(put("/safe/k?legal-hold", "<LegalHold><Status>MAYBE</Status></LegalHold>"))
                .substr(0, 16),
            "400 MalformedXML");
  EXPECT_EQ(put("/safe/k?legal-hold", "<LegalHold><Status>ON</Status></LegalHold>").status, 200);
  EXPECT_THAT(get("/safe/k?legal-hold").body, HasSubstr("<Status>ON</Status>"));
  put("/pail/k", "x");
  const std::string none = "400 InvalidRequest The bucket has no object lock.";
  EXPECT_EQ(said(get("/pail/k?retention")), none);
  EXPECT_EQ(said(get("/pail/k?legal-hold")), none);
  EXPECT_EQ(said(put("/pail/k?retention", "<Retention/>")), none);
  EXPECT_EQ(said(put("/pail/k?legal-hold", "<LegalHold/>")), none);
}

TEST_F(ObjectWords, attributes_are_those_asked_for_with_the_time_of_the_last_change) {
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

TEST_F(ObjectWords, a_copy_that_is_refused_leaves_no_bytes) {
  put("/pail/empty", "");
  put("/pail/full", std::string(3000, 'f'));
  put("/pail/there", "x");
  const std::size_t before = files();
  for (const char* from : {"/pail/empty", "/pail/full"}) {
    EXPECT_EQ(said(copy("/pail/there", from, {{"If-None-Match", "*"}})),
              "412 PreconditionFailed A precondition does not hold.")
        << from;
  }
  EXPECT_EQ(files(), before);
  EXPECT_EQ(get("/pail/there").body.empty() && !get("/pail/there").source, false);
  EXPECT_EQ(said(copy("/pail/full", "/pail/full")),
            "400 InvalidRequest A copy onto itself must change something.");
  EXPECT_EQ(copy("/pail/full", "/pail/full", {{"x-amz-metadata-directive", "REPLACE"}}).status,
            200);
  EXPECT_EQ(copy("/pail/full", "/pail/full", {{"x-amz-storage-class", "GLACIER"}}).status, 200);
  EXPECT_EQ(code(copy("/pail/b", "/pail/full", {{"x-amz-metadata-directive", "SOME"}})),
            "InvalidArgument");
  EXPECT_EQ(code(copy("/pail/b", "/pail/full", {{"x-amz-tagging-directive", "SOME"}})),
            "InvalidArgument");
}

TEST_F(ObjectWords, a_part_is_copied_under_a_number_from_1_to_10000) {
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

// The first round is a minute away: who ends before it has nothing asked.
TEST_F(ObjectWords, a_mover_that_is_stopped_begins_no_round) {
  std::atomic<int> asked = 0;
  {
    const Mover mover(*store, {.may = [&asked] { return ++asked, false; }},
                      [](const std::string&) {});
    EXPECT_EQ(mover.counts().rounds, 0u);
  }
  EXPECT_EQ(asked, 0);
}

TEST(AuditWords, a_line_is_all_that_is_known_of_a_request) {
  EXPECT_EQ(audit_line({.at = 1'369'353'600'123,
                        .request = "r1",
                        .peer = "::1",
                        .tenant = "main",
                        .action = "s3:GetObject",
                        .bucket = "pail",
                        .key = "a \"b\"",
                        .status = 206,
                        .bytes = 17,
                        .ms = 3.5}),
            "{\"time\":\"2013-05-24T00:00:00.123Z\",\"request\":\"r1\",\"peer\":\"::1\",\"tenant\":"
            "\"main\",\"action\":\"s3:GetObject\",\"bucket\":\"pail\",\"key\":\"a \\\"b\\\"\","
            "\"status\":206,\"bytes\":17,\"ms\":4}\n");
  const AuditEntry none;
  EXPECT_EQ(none.at, 0);
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(none.ms, 0);
  const auto refused = AuditLog::open("/proc/no/such/log");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "store.audit");
  EXPECT_EQ(refused.error().front().place.file, "/proc/no/such/log");
  EXPECT_EQ(refused.error().front().what,
            "the audit log cannot be opened: No such file or directory");
}

class QuietHouse : public testing::Test {
 protected:
  QuietHouse() {
    folder = (std::filesystem::temp_directory_path() / "orrery-quiet-XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    options.folder = folder + "/s";
    options.tiers = {{.name = "hot", .plan = {1, 0}}};
    options.moves.on = false;
    // As an earlier run left it: to make and sync 256 folders takes longer than the tests do.
    for (int i = 0; i < 256; ++i) {
      std::filesystem::create_directories(folder + fmt::format("/s/hot/data/{:02x}", i));
    }
    std::ofstream(folder + "/s/store") << "orrery-store 4\nid id\ntier hot 1+0\ndrive hot-0 hot\n";
    EXPECT_TRUE(rows::open_rocks_metadata(folder + "/s/metadata"));
    std::ofstream(folder + "/s/hot/drive") << "orrery-drive 1\nstore id\ndrive hot-0\n";
    options.log = [this](const std::string& line) {
      const std::scoped_lock lock(mutex);
      said += line + '\n';
    };
  }
  ~QuietHouse() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<Runtime> opened() {
    auto runtime = Runtime::open(options);
    EXPECT_TRUE(runtime) << to_text(runtime.error());
    return runtime ? std::move(*runtime) : nullptr;
  }

  std::string folder;
  RuntimeOptions options;
  std::mutex mutex;
  std::string said;
};

TEST_F(QuietHouse, what_is_whole_is_walked_through_without_a_word) {
  const auto runtime = opened();
  ASSERT_TRUE(runtime);
  for (int i = 0; i < 10'000 && runtime->status().scrub.rounds < 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(runtime->status().scrub.rounds, 1u);
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace orrery::s3server::object_words_tests
