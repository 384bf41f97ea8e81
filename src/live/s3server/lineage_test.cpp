// The lineage of an object: what it was made from.
#include "live/s3server/lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/s3server/gateway_fixture.h"

namespace orrery::s3server {
namespace {

using testing::HasSubstr;
using testing::Not;

class LineageTest : public GatewayTest {
 protected:
  void put_tagged(const std::string& key, const std::string& tags) {
    ASSERT_EQ(put("/pail/" + key, "bytes of " + key, {{"x-amz-tagging", tags}}).status, 200);
  }
};

TEST_F(LineageTest, sources_are_shown_as_a_tree) {
  put_tagged("data", "orrery-role=dataset");
  put_tagged("code", "orrery-role=code");
  put_tagged("ckpt", "orrery-role=checkpoint&orrery-run=r&orrery-step=10&orrery-from=data%20code");
  put_tagged("model", "orrery-role=model&orrery-from=ckpt%20gone&orrery-from-2=data");
  const net::Response shown = ask({.target = "/pail/model?orrery-lineage"});
  ASSERT_EQ(shown.status, 200) << shown.body;
  const auto lines = testing::ElementsAre(
      HasSubstr("pail/model  model"), HasSubstr("  pail/ckpt  checkpoint  of run r step 10"),
      HasSubstr("    pail/data  dataset"), HasSubstr("    pail/code  code"),
      HasSubstr("  pail/gone  does not exist"), HasSubstr("(see above)"), "");
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= shown.body.size();) {
    const auto end = std::min(shown.body.find('\n', at), shown.body.size());
    found.push_back(shown.body.substr(at, end - at));
    at = end + 1;
  }
  EXPECT_THAT(found, lines) << shown.body;
}

TEST_F(LineageTest, a_circle_ends_and_other_tenants_buckets_stay_closed) {
  put_tagged("a", "orrery-from=b");
  put_tagged("b", "orrery-from=a%20theirs//secret");
  ask({.method = "PUT", .target = "/theirs", .access_key = "OTHER"});
  ask({.method = "PUT", .target = "/theirs/secret", .body = "x", .access_key = "OTHER"});
  const net::Response shown = ask({.target = "/pail/a?orrery-lineage"});
  EXPECT_THAT(shown.body, HasSubstr("theirs/secret  does not exist"));
  EXPECT_LT(shown.body.size(), 1000u);
  EXPECT_EQ(ask({.target = "/pail/none?orrery-lineage"}).status, 404);
}

TEST_F(LineageTest, etags_and_special_characters_are_shown) {
  put("/pail/a%2Bb", "1");
  put("/pail/k", "x", {{"x-amz-tagging", "orrery-from=a%2Bb%20c%2520d"}});
  put("/pail/c%20d", "2");
  // MD5 of "x", "1" and "2".
  EXPECT_EQ(get("/pail/k?orrery-lineage").body,
            "pail/k  etag 9dd4e461268c8034f5c8564e155c67a6  in hot\n"
            "  pail/a+b  etag c4ca4238a0b923820dcc509a6f75849b  in hot\n"
            "  pail/c d  etag c81e728d9d4c2f636f067f89cc14862c  in hot\n");
  LineageNode node{.bucket = "b", .key = "k"};
  node.etag = "e";
  node.tier = "cold";
  EXPECT_EQ(lineage_text({node}), "b/k  etag e  in cold\n");
}

// A chain of sources ends after 64 steps.
TEST_F(LineageTest, a_long_chain_ends) {
  for (int i = 0; i < 80; ++i) {
    put("/pail/k" + std::to_string(i), "x",
        {{"x-amz-tagging", "orrery-from=k" + std::to_string(i + 1)}});
  }
  const std::string shown = get("/pail/k0?orrery-lineage").body;
  EXPECT_THAT(shown, HasSubstr("k64"));
  EXPECT_THAT(shown, Not(HasSubstr("k65")));
}

}  // namespace
}  // namespace orrery::s3server
