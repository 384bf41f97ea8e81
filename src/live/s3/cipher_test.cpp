#include "live/s3/cipher.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"

namespace orrery::s3 {
namespace {

TEST(cipher, opens_what_it_sealed_and_nothing_else) {
  const std::string master(kMasterKeyBytes, 'k');
  const BlockCipher cipher(master, "blob");
  const std::string sealed = cipher.seal(1, 2, "some bytes");
  EXPECT_EQ(sealed.size(), 10 + kSealBytes);
  EXPECT_EQ(sealed.find("some"), std::string::npos);
  EXPECT_EQ(cipher.open(1, 2, sealed), "some bytes");
  EXPECT_EQ(cipher.open(1, 3, sealed), std::nullopt);
  EXPECT_EQ(cipher.open(2, 2, sealed), std::nullopt);
  EXPECT_EQ(BlockCipher(master, "other").open(1, 2, sealed), std::nullopt);
  EXPECT_EQ(BlockCipher(std::string(kMasterKeyBytes, 'l'), "blob").open(1, 2, sealed),
            std::nullopt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string wrong = sealed;
    wrong[i] ^= 1;
    EXPECT_EQ(cipher.open(1, 2, wrong), std::nullopt) << i;
  }
  EXPECT_EQ(cipher.open(1, 2, "short"), std::nullopt);
  EXPECT_EQ(cipher.open(0, 0, cipher.seal(0, 0, "")), "");
}

}  // namespace
}  // namespace orrery::s3
