#include "layers/fabric/nccl_log.h"

#include <gtest/gtest.h>

namespace orrery::fabric {
namespace {

// Two lines of a published 8 x H100 log with the shape of nccl-tests' output.
constexpr const char* kLog =
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 17179869184 step: 2(factor) warmup iters: 5\n"
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid  1 on host device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  1 on host device  1 [0x43] NVIDIA H100 80GB HBM3\n"
    "#                                                              out-of-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "     1048576        262144     float     sum      -1    27.37   38.31   67.04      0    26.93 "
    "  38.94   68.14      0\n"
    " 17179869184    4294967296     float     sum      -1    62648  274.23  479.90      0    62636 "
    " 274.28  479.99      0\n"
    "# Avg bus bandwidth    : 273.1\n";

TEST(NcclLog, ReadsTheTableAndSolvesTheRanks) {
  const auto log = parse_nccl_log(kLog, "h100.log");
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->kind, workload::Collective::all_reduce);
  ASSERT_EQ(log->lines.size(), 2u);
  EXPECT_DOUBLE_EQ(log->lines[1].time_us, 62648);
  EXPECT_DOUBLE_EQ(log->lines[1].busbw, 479.90);
  EXPECT_EQ(log->ranks_solved, 8);
}

TEST(NcclLog, AHeaderOfOtherRanksIsTold) {
  const auto log = parse_nccl_log(kLog, "h100.log");
  ASSERT_EQ(log->notes.size(), 1u);
  EXPECT_EQ(log->notes[0].code, "nccl.ranks");
}

// Older releases write the number sign and the word as one.
TEST(NcclLog, RanksAreCountedHoweverTheirLinesBegin) {
  std::string text = kLog;
  for (std::size_t at = text.find("#  Rank"); at != std::string::npos; at = text.find("#  Rank")) {
    text.replace(at, 7, "#Rank");
  }
  EXPECT_EQ(parse_nccl_log(text, "h100.log")->ranks_stated, 2);
  EXPECT_EQ(parse_nccl_log(kLog, "h100.log")->ranks_stated, 2);
}

TEST(NcclLog, TextWithoutATableIsRefused) {
  EXPECT_FALSE(parse_nccl_log("hello\nworld 1 2 3\n", "x").has_value());
  EXPECT_FALSE(parse_nccl_log("", "x").has_value());
}

TEST(NcclLog, ReasonsFollowTheGap) {
  EXPECT_TRUE(likely_reasons({}).empty());
  const auto half =
      likely_reasons({.large_ratio = 0.5, .leaves_domain = true, .roce = true, .nics = 8});
  ASSERT_GE(half.size(), 3u);
  EXPECT_NE(half[0].reason.find("4 of 8 NICs"), std::string::npos);
  EXPECT_EQ(likely_reasons({.large_ratio = 0.7}).size(), 1u);
  EXPECT_EQ(likely_reasons({.small_ratio = 0.4}).size(), 1u);
}

}  // namespace
}  // namespace orrery::fabric
