// Digests against the examples of their own standards.
#include "live/s3/hash.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"

namespace orrery::s3 {
namespace {

// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
TEST(Hash, hmac_gives_the_examples_of_its_rfc) {
  EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// RFC 2104: a key of up to one block is used unchanged, a longer one is hashed.
TEST(Hash, hmac_keys_around_the_block_size_follow_the_rfc) {
  const auto by_hand = [](std::string key, const std::string& text) {
    if (key.size() > 64) {
      Hash hash(HashKind::sha256);
      hash.add(key);
      key = hash.finish();
    }
    key.resize(64, '\0');
    std::string inner(64, '\x36'), outer(64, '\x5c');
    for (std::size_t i = 0; i < 64; ++i) inner[i] ^= key[i], outer[i] ^= key[i];
    Hash first(HashKind::sha256);
    first.add(inner + text);
    Hash second(HashKind::sha256);
    second.add(outer + first.finish());
    return second.finish();
  };
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 200u}) {
    const std::string key(bytes, 'k');
    EXPECT_EQ(to_hex(hmac_sha256(key, "text")), to_hex(by_hand(key, "text"))) << bytes;
  }
}

// RFC 1321, appendix A.5.
TEST(Hash, md5_gives_the_examples_of_its_rfc) {
  EXPECT_EQ(to_hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(to_hex(md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(to_hex(md5("1234567890123456789012345678901234567890"
                       "1234567890123456789012345678901234567890")),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Hash, digest_of_pieces_is_that_of_the_whole) {
  std::string text;
  Hash pieces(HashKind::sha256);
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i), static_cast<char>(i));
    pieces.add(piece);
    text += piece;
  }
  EXPECT_EQ(to_hex(pieces.finish()), sha256_hex(text));
  EXPECT_EQ(sha256_hex(text), orrery::sha256_hex(text));
}

}  // namespace
}  // namespace orrery::s3
