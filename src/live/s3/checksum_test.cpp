#include "live/s3/checksum.h"

#include <gtest/gtest.h>

#include <tuple>

#include "core/base/digest.h"

namespace orrery::s3::checksum_tests {
namespace {

constexpr SumKind kAllSums[] = {SumKind::crc32, SumKind::crc32c, SumKind::crc64nvme, SumKind::sha1,
                                SumKind::sha256};

std::string summed(SumKind kind, std::string_view bytes, std::size_t piece) {
  Summer sum(kind);
  for (std::size_t at = 0; at < bytes.size(); at += piece) sum.add(bytes.substr(at, piece));
  return sum.finish();
}

std::string varied(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i * i + 7 * i + 3);
  return text;
}

// The check values of the catalogue of parametrised CRC algorithms (reveng), and FIPS 180-4's.
TEST(Checksum, sums_have_the_published_check_values) {
  const auto sum = [](SumKind kind, std::string_view bytes) {
    return to_hex(summed(kind, bytes, 4));
  };
  EXPECT_EQ(sum(SumKind::crc32, "123456789"), "cbf43926");
  EXPECT_EQ(sum(SumKind::crc32c, "123456789"), "e3069283");
  EXPECT_EQ(sum(SumKind::crc64nvme, "123456789"), "ae8b14860a799888");
  EXPECT_EQ(sum(SumKind::sha1, "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sum(SumKind::sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Checksum, sum_does_not_depend_on_how_the_bytes_are_split) {
  for (const std::size_t bytes : {1u, 7u, 8u, 9u, 16u, 100u, 4099u}) {
    const std::string text = varied(bytes);
    for (const SumKind kind : kAllSums) {
      const std::string whole = summed(kind, text, text.size());
      for (const std::size_t piece : {1u, 3u, 8u, 13u}) {
        EXPECT_EQ(summed(kind, text, piece), whole)
            << name_of(kind) << ' ' << bytes << ' ' << piece;
      }
    }
  }
}

TEST(Checksum, crc_of_a_whole_follows_from_those_of_its_parts) {
  for (const auto& [one, two] : {std::pair{46u, 14u}, {1u, 5000u}, {300u, 1u}, {9u, 0u}}) {
    const std::string text = varied(one + two);
    const std::string_view first = std::string_view(text).substr(0, one);
    const std::string_view second = std::string_view(text).substr(one);
    for (const SumKind kind : {SumKind::crc32, SumKind::crc32c, SumKind::crc64nvme}) {
      EXPECT_EQ(joined_crc(kind, summed(kind, first, 64), summed(kind, second, 64), two),
                summed(kind, text, 64))
          << name_of(kind) << ' ' << two;
    }
  }
}

TEST(Checksum, names_are_those_of_the_protocol) {
  for (const SumKind kind : kAllSums) {
    const std::string name(name_of(kind));
    EXPECT_EQ(sum_kind_of(name), kind);
    EXPECT_EQ(header_name_of(kind).rfind("x-amz-checksum-"), 0u);
    EXPECT_EQ(sum_kind_of(header_name_of(kind).substr(15)), kind) << "headers use lower case";
    EXPECT_EQ(is_linear(kind), name.starts_with("CRC")) << name;
  }
  EXPECT_FALSE(sum_kind_of("MD5"));
  EXPECT_FALSE(sum_kind_of(""));
}

// RFC 4648, section 10, and every length both ways.
TEST(Checksum, base64_is_read_strictly) {
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (std::size_t bytes = 0; bytes < 70; ++bytes) {
    EXPECT_EQ(from_base64(to_base64(varied(bytes))), varied(bytes)) << bytes;
  }
  // Wrong lengths, misplaced padding, characters outside the alphabet.
  for (const char* bad : {"YWJ", "YW=j", "====", "YWJ*", "Y===", "Zg==Zm9v", "Zm8=Zm8=", "YWJj\n",
                          "YW Jj", "Zg=v", "YWJjZ", "YWJjZg", "=QQQ"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace orrery::s3::checksum_tests
