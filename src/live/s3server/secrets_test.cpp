// Files of secrets: tenants, master keys and keys of other object stores.
#include "live/s3server/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace orrery::s3server::secrets_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Secrets, are_read_or_refused_with_the_line) {
  const auto what = [](const auto& result) {
    if (result) return std::string("read");
    const Diagnostic& first = result.error().front();
    return "line " + std::to_string(first.place.line);
  };
  EXPECT_EQ(what(tenants_of("# none\n\na K S", "f")), "read");
  EXPECT_EQ(what(tenants_of("\na K", "f")), "line 2");
  EXPECT_EQ(what(tenants_of("a K S q r", "f")), "line 1");
  EXPECT_EQ(what(tenants_of("a K S\nb K S", "f")), "line 2");
  EXPECT_EQ(what(tenants_of("a K S quota=x", "f")), "line 1");
  EXPECT_EQ(what(tenants_of("a K S size=1GB", "f")), "line 1");
  const auto tenants = tenants_of("a K S quota=3kB # all\nb L T", "f");
  ASSERT_EQ(tenants->size(), 2u);
  EXPECT_EQ(tenants->at(0).quota_bytes, 3000u);
  EXPECT_EQ(tenants->at(0).secret_key, "S");
  EXPECT_EQ(tenants->at(1).access_key, "L");
  EXPECT_EQ(tenants->at(1).id, "b");
  EXPECT_EQ(tenants->at(1).name, "b");
  EXPECT_EQ(tenants->at(1).quota_bytes, 0u);
  std::string hex;
  for (int i = 0; i < 32; ++i) hex += i % 2 == 0 ? "0f" : "a7";
  const auto ring = keys_of("one " + hex + "\ntwo " + std::string(64, '0'), "f");
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->current, "one");
  EXPECT_EQ(ring->keys.at("one").substr(0, 3), "\x0f\xa7\x0f");
  EXPECT_EQ(ring->keys.at("one").size(), 32u);
  EXPECT_EQ(ring->keys.at("two"), std::string(32, '\0'));
  EXPECT_EQ(what(keys_of("one", "f")), "line 1");
  EXPECT_EQ(what(keys_of("one " + hex + "00", "f")), "line 1");
  EXPECT_EQ(what(keys_of("one x" + hex.substr(1), "f")), "line 1");
  EXPECT_EQ(what(keys_of("one " + hex + "\none " + hex, "f")), "line 2");
  EXPECT_EQ(what(s3_keys_of("pail A", "f")), "line 1");
  EXPECT_EQ(what(s3_keys_of("pail A B\npail A B", "f")), "line 2");
  EXPECT_EQ(s3_keys_of("pail A B", "f")->at("pail").secret_key, "B");
}

TEST(Secrets, are_not_shown_in_errors) {
  const auto tenants = tenants_of("# who\nblue AK1 S1 quota=2GB\nred AK2 S2\n", "t");
  ASSERT_TRUE(tenants);
  EXPECT_EQ(tenants->size(), 2u);
  EXPECT_EQ(tenants->front().quota_bytes, 2'000'000'000u);
  const auto bad = tenants_of("blue AK1\n", "t");
  ASSERT_FALSE(bad);
  const std::string digits(64, 'a');
  const auto keys = keys_of("new " + digits + "\nold " + std::string(64, 'b'), "k");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->current, "new");
  EXPECT_EQ(keys->keys.at("old"), std::string(32, '\xbb'));
  for (const std::string& wrong : {std::string("id " + digits + "a"), std::string("id abc"),
                                   "id " + std::string(64, 'x'), std::string("# none")}) {
    const auto refused_keys = keys_of(wrong, "k");
    ASSERT_FALSE(refused_keys) << wrong;
    EXPECT_THAT(to_text(refused_keys.error()), Not(HasSubstr("aaaa")));
  }
}

}  // namespace
}  // namespace orrery::s3server::secrets_tests
