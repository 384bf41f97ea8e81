// Objects in the cold tier that are restored for a while.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "live/s3server/gateway_fixture.h"
#include "live/store/moment.h"

namespace orrery::s3server::restore_calls_tests {
namespace {

using RestoreCalls = GatewayTest;

TEST_F(RestoreCalls, a_restore_is_accepted_and_shown) {
  put("/pail/fast", "x");
  const std::string request = "<RestoreRequest><Days>2</Days></RestoreRequest>";
  const auto restore = [&](const std::string& target, const std::string& body) {
    return ask({.method = "POST", .target = target + "?restore", .body = body});
  };
  EXPECT_EQ(restore("/pail/fast", request).status, 403);
  EXPECT_EQ(restore("/pail/fast", "<RestoreRequest/>").status, 400);
  EXPECT_EQ(restore("/pail/none", request).status, 404);
  // As a lifecycle rule leaves it.
  ASSERT_TRUE(
      store->change_version("pail", "fast", std::nullopt, [](Version& version) -> Answer<void> {
        version.storage_class = "GLACIER";
        version.tier = "cold";
        return {};
      }));
  EXPECT_EQ(restore("/pail/fast", request).status, 202);
  EXPECT_EQ(restore("/pail/fast", request).status, 200);
  const net::Response head = ask({.method = "HEAD", .target = "/pail/fast"});
  EXPECT_EQ(net::header_of(head.headers, "x-amz-restore"), "ongoing-request=\"true\"");
  EXPECT_EQ(net::header_of(head.headers, "x-amz-storage-class"), "GLACIER");
}

TEST_F(RestoreCalls, a_restore_is_for_1_to_3650_days) {
  put("/pail/k", "x", {{"x-amz-storage-class", "GLACIER"}});
  const auto restore = [&](const std::string& days) {
    const net::Response of =
        ask({.method = "POST",
             .target = "/pail/k?restore",
             .body = "<RestoreRequest><Days>" + days + "</Days></RestoreRequest>"});
    return std::to_string(of.status);
  };
  EXPECT_EQ(restore("0"), "400");
  EXPECT_EQ(restore("3651"), "400");
  EXPECT_EQ(restore("x"), "400");
  EXPECT_EQ(restore("1"), "202");
  EXPECT_EQ(restore("3650"), "200") << "a restore has already been requested";
  const TimeMs until = store->find("pail", "k", std::nullopt).value().restored_until_ms;
  EXPECT_NEAR(static_cast<double>(until), static_cast<double>(now + 3650LL * 86'400'000), 50);
  put("/pail/hot", "x");
  EXPECT_EQ(code(ask({.method = "POST",
                      .target = "/pail/hot?restore",
                      .body = "<RestoreRequest><Days>1</Days></RestoreRequest>"})),
            "InvalidObjectState");
}

TEST_F(RestoreCalls, a_restored_object_shows_its_expiry) {
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
  EXPECT_EQ(with_copy(false), "ongoing-request=\"true\"") << "the copy is not yet verified";
  EXPECT_EQ(with_copy(true), "ongoing-request=\"false\", expiry-date=\"" +
                                 http_time(version.restored_until_ms) + "\"");
  now += 3 * kDayMs;
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"), "");
}

TEST_F(RestoreCalls, an_object_in_the_fast_tier_counts_as_restored) {
  put("/pail/k", "x", {{"x-amz-storage-class", "GLACIER"}});
  const TimeMs until = now + 86'400'000;
  change("k", [&](Version& v) {
    v.tier = "hot";
    v.restored_until_ms = until;
  });
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"),
            "ongoing-request=\"false\", expiry-date=\"" + http_time(until) + "\"");
  now = until - 2;  // the clock advances by a millisecond each time it is read
  EXPECT_EQ(header(head("/pail/k"), "x-amz-restore"), "");
}

}  // namespace
}  // namespace orrery::s3server::restore_calls_tests
