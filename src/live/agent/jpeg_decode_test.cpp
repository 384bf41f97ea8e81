// A picture there and back, and bytes that are none.
#include "live/agent/jpeg_decode.h"

#include <gtest/gtest.h>

#include <chrono>

namespace orrery::agent {
namespace {

TEST(Jpeg, a_picture_survives_and_rubbish_does_not_end_the_process) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  std::vector<unsigned char> pixels;
  ASSERT_TRUE(decode_picture(jpeg, pixels));
  EXPECT_EQ(pixels.size(), 64u * 48 * 3);
  EXPECT_LT(pixels[0], 60);  // red rises from left to right
  EXPECT_GT(pixels[(64u - 1) * 3], 190);
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

// Forty pictures a thread: eight threads decode 320 in the time they took, and a core of eight does
// what a core alone does.
TEST(Jpeg, pictures_of_all_threads_count_and_a_core_stays_a_core) {
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
}  // namespace orrery::agent
