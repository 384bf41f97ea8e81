// A picture there and back, and bytes that are none.
#include "agent/jpeg_decode.h"

#include <gtest/gtest.h>

namespace orrery::agent {
namespace {

TEST(Jpeg, a_picture_survives_and_rubbish_does_not_end_the_process) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  std::vector<unsigned char> pixels;
  ASSERT_TRUE(decode_picture(jpeg, pixels));
  EXPECT_EQ(pixels.size(), 64u * 48 * 3);
  EXPECT_LT(pixels[0], 60);  // red rises from left to right
  EXPECT_GT(pixels[(64 - 1) * 3], 190);
  EXPECT_FALSE(decode_picture("rubbish", pixels));
  EXPECT_FALSE(decode_picture(jpeg.substr(0, 20), pixels));
  EXPECT_FALSE(decode_picture("", pixels));
}

TEST(Jpeg, the_probes_picture_has_the_size_of_a_data_sets) {
  const std::string jpeg = encode_picture({}, 1);
  EXPECT_NEAR(static_cast<double>(jpeg.size()), 110'000, 5'000);
  EXPECT_EQ(jpeg, encode_picture({}, 1)) << "the same work everywhere";
}

TEST(Jpeg, decoding_is_counted_by_core_and_by_clock) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  const DecodeRate rate = measure_decode(jpeg, 2, 0.05, {});
  EXPECT_GT(rate.per_core_per_s, 10);
  EXPECT_GT(rate.all_per_s, 10);
  EXPECT_EQ(measure_decode(jpeg, 1, 60, [] { return true; }).all_per_s, 0) << "stops when asked";
}

}  // namespace
}  // namespace orrery::agent
