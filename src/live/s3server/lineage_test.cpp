// Lineage, restore and metrics, as the protocol and its neighbours show them.
#include "live/s3server/lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/gateway_fixture.h"
#include "live/s3server/status.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

class LineageTest : public GatewayTest {
 protected:
  LineageTest() { put("/pail", ""); }
  void put_tagged(const std::string& key, const std::string& tags) {
    ASSERT_EQ(put("/pail/" + key, "bytes of " + key, {{"x-amz-tagging", tags}}).status, 200);
  }
};

TEST_F(LineageTest, shows_what_an_object_was_made_from) {
  put_tagged("data", "orrery-role=dataset");
  put_tagged("code", "orrery-role=code");
  put_tagged("ckpt", "orrery-role=checkpoint&orrery-run=r&orrery-step=10&orrery-from=data%20code");
  put_tagged("model", "orrery-role=model&orrery-from=ckpt%20gone&orrery-from-2=data");
  const net::Response shown = ask({.target = "/pail/model?orrery-lineage"});
  ASSERT_EQ(shown.status, 200) << shown.body;
  const auto lines = testing::ElementsAre(
      HasSubstr("pail/model  model"), HasSubstr("  pail/ckpt  checkpoint  of run r step 10"),
      HasSubstr("    pail/data  dataset"), HasSubstr("    pail/code  code"),
      HasSubstr("  pail/gone  is not there"), HasSubstr("(see above)"), "");
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= shown.body.size();) {
    const auto end = std::min(shown.body.find('\n', at), shown.body.size());
    found.push_back(shown.body.substr(at, end - at));
    at = end + 1;
  }
  EXPECT_THAT(found, lines) << shown.body;
}

TEST_F(LineageTest, a_circle_ends_and_anothers_bucket_stays_shut) {
  put_tagged("a", "orrery-from=b");
  put_tagged("b", "orrery-from=a%20theirs//secret");
  ask({.method = "PUT", .target = "/theirs", .access_key = "OTHER"});
  ask({.method = "PUT", .target = "/theirs/secret", .body = "x", .access_key = "OTHER"});
  const net::Response shown = ask({.target = "/pail/a?orrery-lineage"});
  EXPECT_THAT(shown.body, HasSubstr("theirs/secret  is not there"));
  EXPECT_LT(shown.body.size(), 1000u);
  EXPECT_EQ(ask({.target = "/pail/none?orrery-lineage"}).status, 404);
}

TEST_F(LineageTest, a_restore_is_asked_for_and_shown) {
  put("/pail/fast", "x");
  const std::string request = "<RestoreRequest><Days>2</Days></RestoreRequest>";
  const auto restore = [&](const std::string& target, const std::string& body) {
    return ask({.method = "POST", .target = target + "?restore", .body = body});
  };
  EXPECT_EQ(restore("/pail/fast", request).status, 403);
  EXPECT_EQ(restore("/pail/fast", "<RestoreRequest/>").status, 400);
  EXPECT_EQ(restore("/pail/none", request).status, 404);
  // As a rule would have left it.
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

TEST_F(LineageTest, metrics_count_what_was_asked) {
  put("/pail/a", "four");
  ask({.target = "/pail/a"});
  ask({.target = "/pail/none"});
  ask({.target = "/pail", .access_key = "nobody"});
  StoreStatus status{.requests = &gateway->counts(), .buckets = store->usage().all()};
  status.tiers.push_back({.name = "hot", .plan = {2, 1}, .drives_away = 1});
  const std::string text = metrics_text(status);
  EXPECT_THAT(text, HasSubstr("orrery_store_requests_total{kind=\"put\",outcome=\"good\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("orrery_store_requests_total{kind=\"get\",outcome=\"good\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("orrery_store_requests_total{kind=\"get\",outcome=\"refused\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("orrery_store_bytes_total{kind=\"put\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("orrery_store_tier_reads_total{tier=\"hot\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("orrery_store_tier_redundancy_left{tier=\"hot\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("orrery_store_bucket_bytes{bucket=\"pail\"} 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("orrery_store_moves_total")));
  EXPECT_THAT(status_json(status), HasSubstr("\"redundancy_left\": 0"));
}

}  // namespace
}  // namespace orrery::s3server
