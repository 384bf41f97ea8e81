// What holds where nobody says otherwise, lines that stay plain text whatever they carry, and the
// picture that loaders are measured with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "live/agent/exporter.h"
#include "live/agent/io_ring.h"
#include "live/agent/journal_lines.h"
#include "live/agent/jpeg_decode.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/probe_files.h"
#include "live/agent/probe_s3.h"
#include "live/agent/slurm_port.h"

namespace orrery::agent {
namespace {

TEST(UsualValues, of_files_blocks_and_objects) {
  const FilesPlan files;
  EXPECT_EQ(files.threads, 4);
  EXPECT_EQ(files.files, 2000);
  EXPECT_EQ(files.seconds_max, 5);
  const IoPlan blocks;
  EXPECT_EQ(blocks.file, -1);
  EXPECT_FALSE(blocks.write);
  EXPECT_FALSE(blocks.random);
  EXPECT_EQ(blocks.block_bytes, 1'048'576U);
  EXPECT_EQ(blocks.depth, 8);
  EXPECT_EQ(blocks.span_bytes, 0U);
  EXPECT_EQ(blocks.seconds_max, 1);
  EXPECT_EQ(blocks.bytes_max, 0U);
  EXPECT_EQ(blocks.seed, 1U);
  const BucketProbe bucket;
  EXPECT_EQ(bucket.streams, 4);
  EXPECT_EQ(bucket.small_objects, 200);
  EXPECT_EQ(bucket.small_bytes, 4096U);
  EXPECT_EQ(bucket.large_objects, 8);
  EXPECT_EQ(bucket.part_bytes, 8'388'608U);
  EXPECT_EQ(bucket.seconds, 10);
  EXPECT_EQ(bucket.repeats, 5);
  EXPECT_FALSE(bucket.create_bucket);
  EXPECT_FALSE(bucket.stop());
}

TEST(UsualValues, of_slurm) {
  EXPECT_EQ(SlurmAccess{}.timeout, seconds(20));
  EXPECT_EQ(SlurmAccess{}.fence_timeout, seconds(120));
  EXPECT_EQ(SlurmQuestion{}.timeout, seconds(10));
  EXPECT_FALSE(SlurmHabits{}.preempts);
  EXPECT_TRUE(SlurmHabits{}.requeues);
  EXPECT_EQ(SlurmHabits{}.returns_service, 0);
  EXPECT_EQ(SlurmJob{}.nodes, 1);
  EXPECT_EQ(SlurmJob{}.gpus_per_node, 0);
  EXPECT_EQ(SlurmJob{}.priority, 0);
  EXPECT_FALSE(SlurmJob{}.pending);
  EXPECT_FALSE(SlurmJob{}.running);
  EXPECT_EQ(SlurmNode{}.gpus, 0);
  EXPECT_EQ(SlurmNode{}.gpus_used, 0);
}

TEST(UsualValues, rates_of_nothing_are_zero) {
  EXPECT_EQ((IoRun{.operations = 3, .bytes = 12}.bytes_per_s()), 0);
  EXPECT_EQ((IoRun{.operations = 3, .bytes = 12}.per_s()), 0);
  EXPECT_EQ((IoRun{.operations = 3, .bytes = 12, .seconds = 0.5}.bytes_per_s()), 24);
  EXPECT_EQ((IoRun{.operations = 3, .bytes = 12, .seconds = 0.5}.per_s()), 6);
}

// Any bytes, as ASCII: what is no UTF-8 is replaced.
TEST(JournalBytes, a_line_is_plain_text_whatever_it_carries) {
  EXPECT_EQ(line_of(failure::RecoveryEvent{.kind = failure::RecoveryEventKind::node_back,
                                           .at = seconds(5),
                                           .node = "n\xc3\xbc\xff"}),
            "{\"kind\":\"node_back\",\"at_s\":5.0,\"node\":\"n\\u00fc\\ufffd\"}");
  EXPECT_EQ(line_of(failure::RecoveryAction{.kind = failure::ActionKind::hold_job,
                                            .job = "7",
                                            .nodes = {},
                                            .why = "\xe2\x82\xac",
                                            .key = "k"}),
            "{\"kind\":\"act\",\"action\":\"hold_job\",\"job\":\"7\",\"why\":\"\\u20ac\","
            "\"key\":\"k\"}");
  EXPECT_EQ(line_of(storage::LifecycleEvent{
                .kind = storage::LifecycleEventKind::gone, .at = seconds(2), .item = "\xc3\xa9"}),
            "{\"kind\":\"gone\",\"at_s\":2.0,\"item\":\"\\u00e9\"}");
  EXPECT_EQ(line_of(LifecycleDone{.action = {.kind = storage::LifecycleActionKind::copy,
                                             .item = "\xc3\xa9",
                                             .place = "p",
                                             .from = "f",
                                             .size = bytes(3),
                                             .why = "w"},
                                  .good = false,
                                  .said = "s"}),
            "{\"kind\":\"copy\",\"item\":\"\\u00e9\",\"place\":\"p\",\"from\":\"f\","
            "\"size_bytes\":3.0,\"why\":\"w\",\"good\":false,\"said\":\"s\"}");
}

// Mean of a channel over the pixels [x, x + w) x [y, y + h).
double mean_of(const std::vector<unsigned char>& pixels, int width, int channel, int x, int y,
               int w, int h) {
  double sum = 0;
  for (int row = y; row < y + h; ++row) {
    for (int column = x; column < x + w; ++column) {
      sum += pixels[static_cast<std::size_t>(3 * (row * width + column) + channel)];
    }
  }
  return sum / (w * h);
}

// Red grows from left to right, green from top to bottom; cells of 40 x 30 are lighter by 40 in
// green and blue where their numbers add up to an even one. The grain has a mean of nothing.
TEST(JpegPicture, is_of_gradients_edges_and_grain) {
  std::vector<unsigned char> pixels;
  ASSERT_TRUE(decode_picture(encode_picture({}, 3), pixels));
  ASSERT_EQ(pixels.size(), 500U * 375 * 3);
  const auto mean = [&](int channel, int x, int y, int w, int h) {
    return mean_of(pixels, 500, channel, x, y, w, h);
  };
  EXPECT_NEAR(mean(0, 100, 0, 50, 375), 255 * 124.5 / 500, 1.5);
  EXPECT_NEAR(mean(0, 400, 0, 50, 375), 255 * 424.5 / 500, 1.5);
  // Cell 5, 5 inside of its edges, and its neighbours.
  EXPECT_NEAR(mean(2, 204, 154, 32, 22), 168, 3) << "5 + 5";
  EXPECT_NEAR(mean(2, 244, 154, 32, 22), 128, 3) << "6 + 5";
  EXPECT_NEAR(mean(2, 204, 184, 32, 22), 128, 3) << "5 + 6";
  EXPECT_NEAR(mean(1, 204, 154, 32, 22), 255 * 164.5 / 375 + 40, 1.5);
  EXPECT_NEAR(mean(1, 244, 154, 32, 22), 255 * 164.5 / 375, 1.5);
  // A grain of up to 17 either way: its deviation is 34 / sqrt(12), as luminance and colour keep
  // it.
  double square = 0;
  const double middle = mean(1, 244, 154, 32, 22);
  for (int y = 154; y < 176; ++y) {
    for (int x = 244; x < 276; ++x) {
      const double off = mean(1, x, y, 1, 1) - middle - 255.0 * (y - 164.5) / 375;
      square += off * off;
    }
  }
  EXPECT_NEAR(std::sqrt(square / (32 * 22)), 34 / std::sqrt(12.0), 1.5);
}

// A picture that breaks off is no reason to write over somebody's screen.
TEST(JpegPicture, that_breaks_off_is_read_in_silence) {
  const std::string jpeg = encode_picture({.width = 64, .height = 48}, 3);
  std::vector<unsigned char> pixels;
  testing::internal::CaptureStderr();
  for (const std::size_t part : {jpeg.size() / 3, jpeg.size() / 2, jpeg.size() - 40}) {
    decode_picture(jpeg.substr(0, part), pixels);
  }
  decode_picture("rubbish", pixels);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace orrery::agent
