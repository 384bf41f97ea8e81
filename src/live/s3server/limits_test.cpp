// Limits per client, and quotas of tenants, also with concurrent uploads.
#include "live/s3server/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::limits_tests {
namespace {

using testing::HasSubstr;

TEST(ClientLimitsTest, a_clock_set_back_costs_nothing_and_a_pause_saves_two_seconds) {
  ClientLimits limits({.requests_per_s = 10, .at_once = 0});
  const auto passed = [&](TimeMs now) {
    int count = 0;
    while (count < 1000 && limits.enter("c", now)) ++count;
    return count;
  };
  EXPECT_EQ(passed(100'000), 20);
  EXPECT_EQ(passed(50'000), 0);
  EXPECT_EQ(passed(50'500), 5) << "no token was lost when the clock went back";
  EXPECT_EQ(passed(900'000), 20) << "tokens do not add up without limit";
}

// Beyond 10,000 addresses idle ones are forgotten, but none with a request in progress.
TEST(ClientLimitsTest, a_client_with_a_request_in_progress_is_remembered) {
  ClientLimits limits({.requests_per_s = 0, .at_once = 1});
  const auto turn = limits.enter("busy", 0);
  for (int i = 0; i < 10'001; ++i) limits.enter("a" + std::to_string(i), 0);
  EXPECT_FALSE(limits.enter("busy", 60'000));
}

TEST(ClientLimitsTest, one_client_is_slowed_and_others_are_not) {
  ClientLimits limits({.requests_per_s = 10, .at_once = 3});
  int passed = 0;
  for (int i = 0; i < 100; ++i) passed += limits.enter("greedy", 1000) ? 1 : 0;
  EXPECT_EQ(passed, 20) << "two seconds' worth";
  EXPECT_TRUE(limits.enter("modest", 1000));
  std::vector<std::unique_ptr<ClientLimits::Turn>> held;
  for (int i = 0; i < 5; ++i) {
    if (auto turn = limits.enter("slow", 1000)) held.push_back(std::move(turn));
  }
  EXPECT_EQ(held.size(), 3u);
  held.clear();
  EXPECT_TRUE(limits.enter("slow", 1000));
}

using LimitsTest = GatewayTest;

TEST_F(LimitsTest, a_client_over_its_limit_gets_503) {
  open_gateway({.limit = {.requests_per_s = 1}});
  get("/pail");
  get("/pail");
  EXPECT_EQ(get("/pail").status, 503);
  EXPECT_EQ(other("GET", "/").status, 200);
}

class Quotas : public GatewayTest {
 protected:
  Quotas() {
    GatewaySetting setting;
    setting.quota_of = [](std::string_view tenant) { return tenant == "main" ? 50'000u : 0u; };
    open_gateway(std::move(setting));
  }
  // An upload of `bytes` bytes that was announced but not sent yet.
  struct Begun {
    std::unique_ptr<net::Request> request;
    net::BodyPlan plan;
    net::BodySink* sink() {
      auto* held = std::get_if<std::unique_ptr<net::BodySink>>(&plan);
      return held ? held->get() : nullptr;
    }
  };
  Begun begin(const std::string& key, std::size_t bytes, bool announced = true) {
    Asked asked{.method = "PUT", .target = "/pail/" + key};
    asked.payload = "UNSIGNED-PAYLOAD";
    auto request = std::make_unique<net::Request>(signed_request(asked));
    if (announced) request->headers.emplace_back("Content-Length", std::to_string(bytes));
    net::BodyPlan plan = gateway->plan(*request);
    return {std::move(request), std::move(plan)};
  }
  std::uint64_t used() { return store->usage().of("pail").bytes; }
};

TEST_F(Quotas, concurrent_uploads_cannot_exceed_a_quota_together) {
  std::vector<Begun> begun;
  for (int i = 0; i < 16; ++i) begun.push_back(begin("k" + std::to_string(i), 20'000));
  int taken = 0;
  for (Begun& one : begun) {
    if (!one.sink()) {
      EXPECT_EQ(code(std::get<net::Response>(one.plan)), "QuotaExceeded");
      continue;
    }
    ++taken;
    EXPECT_FALSE(one.sink()->take(std::string(20'000, 'x')));
    EXPECT_EQ(one.sink()->finish().status, 200);
  }
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(used(), 40'000u);
  EXPECT_FALSE(begin("more", 10'001).sink());
  EXPECT_TRUE(begin("more", 10'000).sink());
}

TEST_F(Quotas, an_upload_releases_what_it_reserved) {
  for (int i = 0; i < 5; ++i) {
    Begun gone = begin("gone", 50'000);
    ASSERT_TRUE(gone.sink()) << "the one before left " << i;
    gone.sink()->take("some");
  }
  for (int i = 0; i < 5; ++i) {
    Begun wrong = begin("short", 50'000);
    ASSERT_TRUE(wrong.sink());
    wrong.sink()->take("some");
    EXPECT_EQ(code(wrong.sink()->finish()), "IncompleteBody");
  }
  Begun kept = begin("kept", 25'000);
  kept.sink()->take(std::string(25'000, 'x'));
  EXPECT_EQ(kept.sink()->finish().status, 200);
  EXPECT_TRUE(begin("half", 25'000).sink()) << "counted once, though its sink is still there";
}

TEST_F(Quotas, hold_for_uploads_of_unknown_length) {
  Begun open = begin("open", 0, false);
  ASSERT_TRUE(open.sink());
  EXPECT_FALSE(open.sink()->take(std::string(40'000, 'x')));
  EXPECT_FALSE(begin("beside", 10'001).sink()) << "received bytes count as reserved";
  const auto refusal = open.sink()->take(std::string(10'001, 'x'));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(code(*refusal), "QuotaExceeded");
}

TEST_F(Quotas, hold_for_copies) {
  put("/pail/k", std::string(20'000, 'x'));
  EXPECT_EQ(copy("/pail/a", "/pail/k").status, 200);
  EXPECT_EQ(code(copy("/pail/b", "/pail/k")), "QuotaExceeded");
  EXPECT_EQ(used(), 40'000u);
}

TEST_F(Quotas, are_checked_and_released_on_removal) {
  open_gateway({.quota_of = [](std::string_view) { return std::uint64_t{100}; }});
  EXPECT_EQ(put("/pail/a", std::string(60, 'a')).status, 200);
  const net::Response more = put("/pail/b", std::string(41, 'b'));
  EXPECT_EQ(more.status, 403);
  EXPECT_THAT(more.body, HasSubstr("QuotaExceeded"));
  EXPECT_EQ(put("/pail/copy", "", {{"x-amz-copy-source", "/pail/a"}}).status, 403);
  EXPECT_EQ(put("/pail/b", std::string(40, 'b')).status, 200);
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail/a"}).status, 204);
  EXPECT_EQ(put("/pail/c", std::string(60, 'c')).status, 200);
  const BucketUse use = store->usage().of("pail");
  EXPECT_EQ(use.bytes, 100u);
  EXPECT_EQ(use.objects, 2u);
  // A recount of the rows gives the same.
  Store again(StoreSetting{.metadata = metadata,
                           .drives = set,
                           .tiers = {tier},
                           .now_ms = [this] { return now; },
                           .random_bytes = [this](std::size_t n) { return big_random(n); }});
  ASSERT_TRUE(again.measure());
  EXPECT_EQ(again.usage().of("pail").bytes, 100u);
  EXPECT_EQ(again.usage().of("pail").objects, 2u);
}

TEST_F(Quotas, are_of_the_tenant_over_all_buckets) {
  put("/zeta", "");
  open_gateway({.quota_of = [](std::string_view) { return std::uint64_t{100}; }});
  EXPECT_EQ(put("/pail/a", std::string(60, 'a')).status, 200);
  EXPECT_EQ(code(put("/zeta/b", std::string(41, 'b'))), "QuotaExceeded");
  EXPECT_EQ(put("/zeta/b", std::string(30, 'b')).status, 200);
  EXPECT_EQ(code(put("/pail/c", std::string(11, 'b'))), "QuotaExceeded");
}

}  // namespace
}  // namespace orrery::s3server::limits_tests
