// The encoding of records: tagged fields, numbers that sort as bytes, and bytes that are refused.
#include "live/rows/codec.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace orrery::rows::codec_tests {
namespace {

TEST(Codec, numbers_are_read_back_and_sort_as_bytes) {
  const std::uint64_t numbers[] = {
      1,          0x7f,   0x80,        0xff,         0x100,
      0x3fff,     0x4000, 0xffffffffu, 0x100000000u, 0x0102030405060708,
      ~0ull >> 1, ~0ull};
  std::string before;
  for (const std::uint64_t n : numbers) {
    EXPECT_EQ(from_big_endian(big_endian(n)), n);
    EXPECT_GT(big_endian(n), before) << "the bytes sort like the numbers";
    before = big_endian(n);
    RecordWriter to;
    to.put(3, n);
    to.put(static_cast<unsigned>(n & 0x3ffff) + 4, std::string_view("x"));  // tags of any length
    std::uint64_t found = 0;
    unsigned other = 0;
    EXPECT_TRUE(read_record(to.finish(), [&](unsigned tag, std::string_view value) {
      if (tag == 3) found = number_of(value);
      if (tag != 3) other = tag;
    }));
    EXPECT_EQ(found, n);
    EXPECT_EQ(other, static_cast<unsigned>(n & 0x3ffff) + 4);
  }
  for (const std::size_t bytes : {0u, 1u, 127u, 128u, 300u, 20'000u}) {
    const auto [first, second] = pair_of(pair_field(std::string(bytes, 'f'), "second"));
    EXPECT_EQ(first, std::string(bytes, 'f'));
    EXPECT_EQ(second, "second");
  }
  EXPECT_EQ(number_of("seven b"), 0u) << "a number has eight bytes";
  EXPECT_EQ(pair_of("\x7fshort").first, "") << "a length beyond the field";
}

TEST(Codec, bytes_that_are_no_record_are_refused) {
  const auto skip = [](unsigned, std::string_view) {};
  EXPECT_FALSE(read_record("", skip));
  EXPECT_FALSE(read_record("\x02", skip));  // a later version
  EXPECT_TRUE(read_record("\x01", skip));
  EXPECT_FALSE(read_record("\x01\x05", skip));                        // a tag without a length
  EXPECT_FALSE(read_record("\x01\x05\x09only", skip));                // a length beyond the end
  EXPECT_FALSE(read_record("\x01" + std::string(12, '\xff'), skip));  // a number that does not end
}

}  // namespace
}  // namespace orrery::rows::codec_tests
