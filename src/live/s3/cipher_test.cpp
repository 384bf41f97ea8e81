#include "live/s3/cipher.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"

namespace orrery::s3 {
namespace {

TEST(Cipher, decrypts_only_what_it_encrypted) {
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

// AES-256-GCM by Python's cryptography 38, key HMAC-SHA256(00..1f, "orrery-blob\0" and the name),
// nonce 01020304 05060708090a0b0c.
TEST(Cipher, seals_the_same_bytes_as_another_implementation) {
  std::string master;
  for (int i = 0; i < 32; ++i) master += static_cast<char>(i);
  const BlockCipher cipher(master, "0000000a00000001000000ff");
  const std::string sealed = cipher.seal(0x01020304u, 0x05060708090a0b0cu, "bytes of a block");
  EXPECT_EQ(to_hex(sealed), "b74b57eca79565721cc9c8c19e8bcc74f1803d7269dfffdd1f5c5dae1fd0715f");
}

}  // namespace
}  // namespace orrery::s3
