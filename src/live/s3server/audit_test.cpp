// The audit log: a line of JSON per request.
#include "live/s3server/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "live/drives/file_text.h"
#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::audit_tests {
namespace {

using testing::HasSubstr;

using AuditTest = GatewayTest;

TEST(AuditLine, holds_every_field) {
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
}

TEST(AuditLog, that_cannot_be_opened_is_refused) {
  const auto refused = AuditLog::open("/proc/no/such/log");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "store.audit");
  EXPECT_EQ(refused.error().front().place.file, "/proc/no/such/log");
}

TEST_F(AuditTest, the_log_has_a_line_per_request) {
  const std::string path = testing::TempDir() + "orrery-audit." + std::to_string(::getpid());
  auto audit = AuditLog::open(path);
  ASSERT_TRUE(audit);
  open_gateway({.audit = std::move(*audit)});
  put("/pail/a%22%0ab", "bytes");
  other("GET", "/pail/a%22%0ab");
  const std::string text = drives::read_file(path).value_or("");
  std::remove(path.c_str());
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("tenant":"main","action":"s3:PutObject","bucket":"pail","key":"a\"\nb","status":200)"));
  EXPECT_THAT(text, HasSubstr(R"("tenant":"other","action":"s3:GetObject")"));
  EXPECT_THAT(text, HasSubstr(R"("status":403)"));
}

}  // namespace
}  // namespace orrery::s3server::audit_tests
