// Uploads at their end, and locks as headers say them: which go together, and where they may be.
#include <gtest/gtest.h>

#include "live/s3server/requests_fixture.h"

namespace orrery::s3server::finished_uploads_tests {
namespace {

class FinishedUploads : public RequestsTest {
 protected:
  std::string put_with(const std::string& target, HeaderList headers) {
    const net::Response of = put(target, "x", std::move(headers));
    return of.status == 200 ? "taken" : code(of);
  }
};

TEST_F(FinishedUploads, say_their_version_where_there_are_versions) {
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

// The header of a completion is about the object: the CRC32 of "x" is 0x8cdc1683.
TEST_F(FinishedUploads, are_held_against_the_sum_of_the_whole) {
  const auto finish = [&](const std::string& sum) {
    const std::string id = begin_parts(
        "/pail/k", {{"x-amz-checksum-algorithm", "CRC32"}, {"x-amz-checksum-type", "FULL_OBJECT"}});
    const std::string etag = header(put_part("/pail/k", id, "1", "x"), "ETag");
    const net::Response done =
        complete("/pail/k", id, {{1, etag}}, {{"x-amz-checksum-crc32", sum}});
    return done.status == 200 ? "made" : code(done);
  };
  EXPECT_EQ(finish("jNwWgw=="), "made");
  EXPECT_EQ(finish("AAAAAA=="), "BadDigest");
}

TEST_F(FinishedUploads, a_lock_is_a_mode_with_a_date_or_a_hold_and_needs_its_bucket) {
  ASSERT_EQ(ask({.method = "PUT",
                 .target = "/safe",
                 .headers = {{"x-amz-bucket-object-lock-enabled", "true"}}})
                .status,
            200);
  const std::pair<std::string, std::string> mode = {"x-amz-object-lock-mode", "GOVERNANCE"};
  const std::pair<std::string, std::string> until = {"x-amz-object-lock-retain-until-date",
                                                     "2030-01-01T00:00:00Z"};
  const std::pair<std::string, std::string> hold = {"x-amz-object-lock-legal-hold", "OFF"};
  EXPECT_EQ(put_with("/pail/k", {mode}), "InvalidRequest");
  EXPECT_EQ(put_with("/pail/k", {until}), "InvalidRequest");
  EXPECT_EQ(put_with("/pail/k", {hold}), "InvalidRequest");
  EXPECT_EQ(put_with("/pail/k", {}), "taken");
  EXPECT_EQ(put_with("/safe/k", {mode}), "InvalidArgument");
  EXPECT_EQ(put_with("/safe/k", {until}), "InvalidArgument");
  EXPECT_EQ(put_with("/safe/k", {hold}), "taken");
  EXPECT_EQ(put_with("/safe/k", {mode, until}), "taken");
  EXPECT_EQ(header(head("/safe/k"), "x-amz-object-lock-mode"), "GOVERNANCE");
}

}  // namespace
}  // namespace orrery::s3server::finished_uploads_tests
