#include "layers/fabric/nccl_log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace orrery::fabric {
namespace {

using workload::Collective;

// Two lines of a published 8 x H100 log in the format of nccl-tests' output.
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

TEST(NcclLog, reads_the_table_and_solves_the_ranks) {
  const auto log = parse_nccl_log(kLog, "h100.log");
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->kind, workload::Collective::all_reduce);
  ASSERT_EQ(log->lines.size(), 2u);
  EXPECT_DOUBLE_EQ(log->lines[1].time_us, 62648);
  EXPECT_DOUBLE_EQ(log->lines[1].busbw, 479.90);
  EXPECT_EQ(log->ranks_solved, 8);
}

TEST(NcclLog, header_with_other_ranks_is_noted) {
  const auto log = parse_nccl_log(kLog, "h100.log");
  ASSERT_EQ(log->notes.size(), 1u);
  EXPECT_EQ(log->notes[0].code, "nccl.ranks");
}

// Older releases write "#Rank" without a blank.
TEST(NcclLog, ranks_are_counted_however_their_lines_begin) {
  std::string text = kLog;
  for (std::size_t at = text.find("#  Rank"); at != std::string::npos; at = text.find("#  Rank")) {
    text.replace(at, 7, "#Rank");
  }
  EXPECT_EQ(parse_nccl_log(text, "h100.log")->ranks_stated, 2);
  EXPECT_EQ(parse_nccl_log(kLog, "h100.log")->ranks_stated, 2);
}

TEST(NcclLog, text_without_a_table_is_refused) {
  EXPECT_FALSE(parse_nccl_log("hello\nworld 1 2 3\n", "x").has_value());
  EXPECT_FALSE(parse_nccl_log("", "x").has_value());
}

TEST(NcclLog, reasons_follow_the_gap) {
  EXPECT_TRUE(likely_reasons({}).empty());
  const auto half =
      likely_reasons({.large_ratio = 0.5, .leaves_domain = true, .roce = true, .nics = 8});
  ASSERT_GE(half.size(), 3u);
  EXPECT_NE(half[0].reason.find("4 of 8 NICs"), std::string::npos);
  EXPECT_EQ(likely_reasons({.large_ratio = 0.7}).size(), 1u);
  EXPECT_EQ(likely_reasons({.small_ratio = 0.4}).size(), 1u);
}

// Returns a table of one size with these bandwidths, under a test's name.
std::string log_of(const std::string& test, const char* algbw, const char* busbw) {
  return "# Collective test starting: " + test + "\n 1048576 262144 float none -1 27.37 " + algbw +
         " " + busbw + " 0 26.93 38.94 68.14 0\n";
}

TEST(NcclLog, every_test_name_is_recognised) {
  const auto kind = [](const char* test) {
    return parse_nccl_log(log_of(test, "10", "10"), "x")->kind;
  };
  EXPECT_EQ(kind("all_reduce_perf"), Collective::all_reduce);
  EXPECT_EQ(kind("all_gather_perf"), Collective::all_gather);
  EXPECT_EQ(kind("reduce_scatter_perf"), Collective::reduce_scatter);
  EXPECT_EQ(kind("alltoall_perf"), Collective::all_to_all);
  EXPECT_EQ(kind("broadcast_perf"), Collective::broadcast);
  EXPECT_EQ(kind("sendrecv_perf"), Collective::send_recv);
  EXPECT_EQ(kind("gather_perf"), std::nullopt);
  const std::string named = "$ ./build/alltoall_perf -b 8\n 8 2 float none -1 1 2 3 0 1 2 3 0\n";
  EXPECT_EQ(parse_nccl_log(named, "x")->kind, Collective::all_to_all);
  EXPECT_EQ(parse_nccl_log(named, "x", Collective::broadcast)->kind, Collective::broadcast);
}

// 350 of 400 is 7/8: eight ranks; 750 of 400 is 2 x 15/16.
TEST(NcclLog, ranks_are_solved_from_the_bandwidth_ratio) {
  const auto solved = [](const char* test, const char* algbw, const char* busbw) {
    return parse_nccl_log(log_of(test, algbw, busbw), "x")->ranks_solved;
  };
  EXPECT_EQ(solved("all_gather_perf", "400", "350"), 8);
  EXPECT_EQ(solved("all_reduce_perf", "400", "750"), 16);
  EXPECT_EQ(solved("reduce_scatter_perf", "400", "300"), 4);
  EXPECT_EQ(solved("broadcast_perf", "400", "350"), std::nullopt);
  EXPECT_EQ(solved("sendrecv_perf", "400", "350"), std::nullopt);
  EXPECT_EQ(solved("all_gather_perf", "20", "17.5"), std::nullopt) << "too few digits";
  EXPECT_EQ(solved("all_gather_perf", "20.1", "17.5875"), 8);
  EXPECT_EQ(solved("all_gather_perf", "400", "400"), std::nullopt);
  EXPECT_EQ(solved("all_gather_perf", "400", "399.985"), std::nullopt) << "within the rounding";
  EXPECT_EQ(solved("all_gather_perf", "400", "399.96"), 10000);
  EXPECT_EQ(solved("unknown", "400", "350"), std::nullopt);
  const auto unstated = parse_nccl_log(log_of("all_gather_perf", "400", "350"), "x");
  EXPECT_EQ(unstated->ranks_stated, std::nullopt);
  EXPECT_TRUE(unstated->notes.empty()) << "there is nothing to differ from";
}

// Writes a log of nccl-tests: rank lines, and 1 GiB at these bandwidths with two decimals.
std::string log_of_ranks(int ranks, bool header, double algbw) {
  std::string text = "# Collective test starting: all_reduce_perf\n";
  for (int r = 0; header && r < ranks; ++r) {
    text += "#  Rank " + std::to_string(r) + " Group  0 Pid 1 on host device 0 [0x1b] H100\n";
  }
  const double busbw = algbw * 2 * (ranks - 1) / ranks;
  char row[160];
  std::snprintf(row, sizeof row,
                " 1073741824 268435456 float sum -1 %.1f %.2f %.2f 0 %.1f %.2f %.2f 0\n",
                1073741.824 / algbw, algbw, busbw, 1073741.824 / algbw, algbw, busbw);
  return text + row;
}

// The two decimals of the bandwidths fit 253 to 259 ranks for 256 at 170 GB/s: the header decides,
// and it does not contradict the table. Without a header whole hosts decide.
TEST(NcclLog, ranks_of_the_header_are_trusted) {
  for (const int ranks : {64, 128, 256, 512, 1024}) {
    for (int i = 0; i < 30; ++i) {
      const double algbw = 165.03 + 0.37 * i;
      const auto log = parse_nccl_log(log_of_ranks(ranks, true, algbw), "x");
      ASSERT_TRUE(log);
      EXPECT_EQ(ranks_of(*log, 8), ranks);
      EXPECT_TRUE(log->notes.empty()) << ranks << " ranks at " << algbw;
      if (ranks > 256) continue;
      const auto bare = parse_nccl_log(log_of_ranks(ranks, false, algbw), "x");
      EXPECT_EQ(ranks_of(*bare, 8), ranks) << algbw;
    }
  }
  EXPECT_EQ(ranks_of(NcclLog{}, 8), 0);
}

// The largest algorithm bandwidth is the most precise.
TEST(NcclLog, fastest_line_decides_the_ranks) {
  const std::string text =
      "# all_gather_perf\n"
      "8 2 float none -1 1 30 20 0 1 2 3 0\n"
      "16 4 float none -1 1 400 350 0 1 2 3 0\n"
      "32 8 float none -1 1 390 200 0 1 2 3 0\n";
  EXPECT_EQ(parse_nccl_log(text, "x")->ranks_solved, 8);
}

// Rows with a root and without, and lines that only look like rows.
TEST(NcclLog, rows_are_distinguished_from_other_lines) {
  const auto read = [](const std::string& text) { return parse_nccl_log(text, "x"); };
  const auto rooted = read("8 2 float sum 3 1.5 2.5 3.5 0 4 5 6 0\n");
  ASSERT_TRUE(rooted);
  EXPECT_EQ(rooted->lines[0].bytes, 8);
  EXPECT_EQ(rooted->lines[0].time_us, 1.5);
  EXPECT_EQ(rooted->lines[0].algbw, 2.5);
  EXPECT_EQ(rooted->lines[0].busbw, 3.5);
  const auto plain = read("8 2 float sum 1.5 2.5 3.5 0 4 5 6 0\n");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->lines[0].time_us, 1.5);
  const auto typed = read("8 2 float 1.5 2.5 3.5 0 4 5 6 0\n");
  ASSERT_TRUE(typed);
  EXPECT_EQ(typed->lines[0].time_us, 1.5);
  const auto eight = read("8 2 float sum 1.5 2.5 3.5 0\n");
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->lines[0].busbw, 3.5);
  for (const char* line :
       {"8 2 float sum 1.5 2.5 3.5", "one 2 float sum -1 1 2 3 0 4 5 6 0",
        "8 two float sum -1 1 2 3 0 4 5 6 0", "8 2 3 sum -1 1 2 3 0 4 5 6 0",
        "8 2 float sum -1 0 2 3 0 4 5 6 0", "8 2 float sum a b c d", "8 2 float a b c d 1"}) {
    EXPECT_FALSE(read(std::string(line) + "\n")) << line;
  }
  const auto none = read("nothing\n");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error()[0].code, "nccl.empty");
}

TEST(NcclLog, reasons_begin_at_their_thresholds) {
  const auto count = [](const GapFacts& f) { return likely_reasons(f).size(); };
  EXPECT_EQ(count({.large_ratio = 0.85}), 0U);
  EXPECT_EQ(count({.large_ratio = 0.849}), 1U);
  EXPECT_EQ(count({.small_ratio = 0.6}), 0U);
  EXPECT_EQ(count({.small_ratio = 0.599}), 1U);
  // Six of eight NICs is 0.75; 0.70 would be 5.6 NICs and indicates nothing.
  EXPECT_EQ(count({.large_ratio = 0.75, .leaves_domain = true, .nics = 8}), 1U);
  EXPECT_EQ(count({.large_ratio = 0.70, .leaves_domain = true, .nics = 8}), 0U);
  EXPECT_EQ(count({.large_ratio = 0.70, .leaves_domain = true, .roce = true, .nics = 8}), 1U);
  EXPECT_EQ(count({.large_ratio = 0.76, .leaves_domain = true, .nics = 8}), 1U) << "6.08";
  EXPECT_EQ(count({.large_ratio = 0.766, .leaves_domain = true, .nics = 8}), 0U) << "6.13";
  EXPECT_EQ(count({.large_ratio = 0.599, .leaves_domain = true, .nics = 8}), 1U) << "no GPUDirect";
  EXPECT_EQ(count({.large_ratio = 0.5, .leaves_domain = true, .nics = 1}), 0U);
}

}  // namespace
}  // namespace orrery::fabric
