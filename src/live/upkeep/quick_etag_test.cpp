// The ETag of a large body without an MD5.
#include "live/upkeep/quick_etag.h"

#include <gtest/gtest.h>

#include <string>

#include "live/drives/erasure.h"

namespace orrery::upkeep::quick_etag_tests {
namespace {

TEST(QuickEtag, holds_the_crc_and_the_name_of_the_blob) {
  EXPECT_EQ(drives::content_crc("123456789"), 0x995dc9bbdf1939fau) << "CRC-64/XZ as published";
  EXPECT_EQ(drives::content_crc("6789", drives::content_crc("12345")), 0x995dc9bbdf1939fau);
  EXPECT_EQ(quick_etag(0x995dc9bbdf1939fa, "0000000a00000001000000ff"),
            "995dc9bbdf1939fa0000000a000000ff-1");
  EXPECT_NE(quick_etag(1, "00000001000000000000002a"), quick_etag(1, "00000001000000000000002b"));
  EXPECT_NE(quick_etag(1, "00000001000000000000002a"), quick_etag(1, "00000002000000000000002a"));
}

TEST(QuickEtag, is_distinguished_from_other_etags) {
  const std::string digits = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(crc_of_etag(digits + "-1"), 0x0123456789abcdefu);
  for (const std::string& other :
       {digits, digits + "-2", digits + "-12", digits + "-1-1", digits + "00", digits + "0-1",
        digits.substr(1) + "-1", "x" + digits.substr(1) + "-1",
        "012345678z" + digits.substr(10) + "-1", std::string("abc-1")}) {
    EXPECT_FALSE(crc_of_etag(other)) << other;
  }
}

}  // namespace
}  // namespace orrery::upkeep::quick_etag_tests
