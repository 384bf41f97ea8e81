#include "live/agent/jpeg_decode.h"

#include <gtest/gtest.h>

#include <chrono>

namespace orrery::agent::jpeg_decode_tests {
namespace {

TEST(JpegDecode, picture_survives_a_round_trip_and_other_bytes_are_refused) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  std::vector<unsigned char> pixels;
  ASSERT_TRUE(decode_picture(jpeg, pixels));
  EXPECT_EQ(pixels.size(), 64u * 48 * 3);
  EXPECT_LT(pixels[0], 60);  // red increases from left to right
  EXPECT_GT(pixels[(64u - 1) * 3], 190);
  EXPECT_FALSE(decode_picture("rubbish", pixels));
  EXPECT_FALSE(decode_picture(jpeg.substr(0, 20), pixels));
  EXPECT_FALSE(decode_picture("", pixels));
}

TEST(JpegDecode, picture_has_the_mean_size_of_imagenet) {
  const std::string jpeg = encode_picture({}, 1);
  EXPECT_NEAR(static_cast<double>(jpeg.size()), 110'000, 5'000);
  EXPECT_EQ(jpeg, encode_picture({}, 1)) << "the same bytes every time";
}

// The JPEG library prints to stderr by default.
TEST(JpegDecode, truncated_picture_prints_nothing) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  std::vector<unsigned char> pixels;
  testing::internal::CaptureStderr();
  for (const std::size_t part : {jpeg.size() / 3, jpeg.size() / 2, jpeg.size() - 40}) {
    decode_picture(jpeg.substr(0, part), pixels);
  }
  decode_picture("rubbish", pixels);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(JpegDecode, rate_is_measured_and_can_be_stopped) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  const DecodeRate rate = measure_decode(jpeg, 2, 0.05, {});
  EXPECT_GT(rate.per_core_per_s, 10);
  EXPECT_GT(rate.all_per_s, 10);
  EXPECT_EQ(measure_decode(jpeg, 1, 60, [] { return true; }).all_per_s, 0) << "stops when asked";
}

// Each of eight threads decodes 40 pictures: 320 in the time that they took.
TEST(JpegDecode, all_threads_count_and_the_rate_per_core_is_per_core) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  const auto forty = [] {
    thread_local int asked = 0;
    if (++asked <= 40) return false;
    asked = 0;
    return true;
  };
  const auto start = std::chrono::steady_clock::now();
  const DecodeRate all = measure_decode(jpeg, 8, 60, forty);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(all.all_per_s * took.count(), 320 * 0.999);
  const DecodeRate one = measure_decode(jpeg, 1, 60, forty);
  EXPECT_LT(all.per_core_per_s, 4 * one.per_core_per_s);
  EXPECT_GT(all.per_core_per_s, one.per_core_per_s / 4);
}

}  // namespace
}  // namespace orrery::agent::jpeg_decode_tests
