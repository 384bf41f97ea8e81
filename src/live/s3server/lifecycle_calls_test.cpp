// Lifecycle rules as S3 shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server::lifecycle_calls_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

using LifecycleCalls = GatewayTest;

TEST_F(LifecycleCalls, an_object_shows_the_rule_that_ends_it_first) {
  put("/pail?lifecycle",
      "<LifecycleConfiguration><Rule><ID>slow</ID><Prefix/><Status>Enabled</Status>"
      "<Expiration><Days>9</Days></Expiration></Rule><Rule><ID>quick</ID><Prefix>q</Prefix>"
      "<Status>Enabled</Status><Expiration><Days>2</Days></Expiration></Rule>"
      "<Rule><ID>date</ID><Prefix>d</Prefix><Status>Enabled</Status>"
      "<Expiration><Date>2023-11-16T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>");
  // Made on 2023-11-14; a rule is due at the midnight after its days.
  EXPECT_EQ(header(put("/pail/q", "x"), "x-amz-expiration"),
            "expiry-date=\"Fri, 17 Nov 2023 00:00:00 GMT\", rule-id=\"quick\"");
  put("/pail/a", "x");
  EXPECT_EQ(header(head("/pail/a"), "x-amz-expiration"),
            "expiry-date=\"Fri, 24 Nov 2023 00:00:00 GMT\", rule-id=\"slow\"");
  put("/pail/d", "x");
  EXPECT_EQ(header(head("/pail/d"), "x-amz-expiration"),
            "expiry-date=\"Thu, 16 Nov 2023 00:00:00 GMT\", rule-id=\"date\"");
  // A new document replaces the old one.
  put("/pail?lifecycle",
      "<LifecycleConfiguration><Rule><ID>new</ID><Prefix/><Status>Enabled</Status>"
      "<Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>");
  EXPECT_THAT(get("/pail?lifecycle").body, Not(HasSubstr("slow")));
  EXPECT_EQ(ask({.method = "DELETE", .target = "/pail?lifecycle"}).status, 204);
  EXPECT_EQ(code(get("/pail?lifecycle")), "NoSuchLifecycleConfiguration");
}

TEST_F(LifecycleCalls, of_rules_with_one_date_the_first_is_shown) {
  const auto rule = [](const std::string& id) {
    return "<Rule><ID>" + id +
           "</ID><Prefix/><Status>Enabled</Status><Expiration><Days>3</Days></Expiration></Rule>";
  };
  put("/pail?lifecycle",
      "<LifecycleConfiguration>" + rule("one") + rule("two") + "</LifecycleConfiguration>");
  put("/pail/k", "x");
  EXPECT_THAT(header(head("/pail/k"), "x-amz-expiration"), HasSubstr("rule-id=\"one\""));
}

TEST_F(LifecycleCalls, unreadable_rules_end_nothing) {
  put("/pail/k", "x");
  set_document("lifecycle", "rubbish");
  EXPECT_EQ(header(head("/pail/k"), "x-amz-expiration"), "");
  EXPECT_EQ(head("/pail/k").status, 200);
  EXPECT_EQ(code(get("/pail?lifecycle")), "InternalError");
}

}  // namespace
}  // namespace orrery::s3server::lifecycle_calls_tests
