// Digests against the examples of their own standards.
#include "core/base/digest.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// RFC 3720, appendix B.4, and the usual check value.
TEST(Digest, crc32c_gives_the_examples_of_its_rfc) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Digest, crc32c_of_parts_is_that_of_the_whole) {
  const std::string text = "a checkpoint is written in parts of any length";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text)) << cut;
  }
}

// RFC 4648, section 10.
TEST(Digest, base64_pads) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string("\xff\xfe\0", 3)), "//4A");
}

}  // namespace
}  // namespace orrery
