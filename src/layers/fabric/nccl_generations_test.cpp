// NCCL's tables of three generations by hand, and logs of every kind of test.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "layers/fabric/nccl_log.h"
#include "layers/fabric/nccl_tuner.h"

namespace orrery::fabric {
namespace {

using workload::Collective;

struct Tuned {
  GpuGeneration generation = GpuGeneration::hopper;
  double nic = 25;  // GB/s a rank

  NcclChoice choice(double bytes, int nodes, CollectiveAlgorithm a) const {
    NcclMachine m;
    m.generation = generation;
    m.nic_per_rank = gbytes_per_s(nic);
    return nccl_choice(m, {Collective::all_reduce, Bytes(bytes), {8 * nodes, 8}}, a);
  }
  // Microseconds of a ring or a tree whose protocol is the one named.
  double ring(double bytes, int nodes, NcclProtocol p) const {
    const NcclChoice c = choice(bytes, nodes, CollectiveAlgorithm::ring);
    EXPECT_EQ(c.protocol, p) << bytes << " on " << nodes;
    return c.time.base() * 1e6;
  }
  double tree(double bytes, int nodes, NcclProtocol p) const {
    const NcclChoice c = choice(bytes, nodes, CollectiveAlgorithm::tree);
    EXPECT_EQ(c.protocol, p) << bytes << " on " << nodes;
    return c.time.base() * 1e6;
  }
};

constexpr auto kLL = NcclProtocol::ll;
constexpr auto kLL128 = NcclProtocol::ll128;
constexpr auto kSimple = NcclProtocol::simple;

// A ring's bytes at LL: the most that the generation gives on 1, 2 and more nodes, GB/s.
TEST(NcclGenerations, low_latency_rings_have_a_most_by_nodes) {
  const struct {
    GpuGeneration generation;
    double most[3];
  } rows[] = {{GpuGeneration::ampere, {87.7, 22.5, 19}},
              {GpuGeneration::hopper, {141, 45, 35}},
              {GpuGeneration::blackwell, {282, 90, 70}}};
  for (const auto& r : rows) {
    const Tuned t{.generation = r.generation};
    EXPECT_NEAR(t.ring(1e6, 1, kLL), 6.6 + 14 * 0.6 + 1e6 * 14 / 8 / (1e3 * r.most[0]), 1e-6);
    EXPECT_NEAR(t.ring(3e5, 2, kLL), 6.6 + 28 + 2 * 2.7 + 3e5 * 30 / 16 / (1e3 * r.most[1]), 1e-6);
    EXPECT_NEAR(t.ring(2e5, 4, kLL), 6.6 + 56 + 6 * 2.7 + 2e5 * 62 / 32 / (1e3 * r.most[2]), 1e-6);
    EXPECT_NEAR(t.ring(2e5, 3, kLL), 6.6 + 42 + 4 * 2.7 + 2e5 * 46 / 24 / (1e3 * r.most[2]), 1e-6);
  }
  // Half of slow NICs is less than that: 8 x 4 / 2.
  const Tuned slow{.generation = GpuGeneration::hopper, .nic = 4};
  EXPECT_NEAR(slow.ring(1e5, 2, kLL), 40 + 1e5 * 30 / 16 / 16e3, 1e-6);
}

TEST(NcclGenerations, rings_of_the_other_protocols) {
  const Tuned ampere{.generation = GpuGeneration::ampere};
  EXPECT_NEAR(ampere.ring(5e6, 1, kLL128), 14 + 14 * 1.9 + 5e6 * 14 / 8 / 220.8e3, 1e-6);
  EXPECT_NEAR(ampere.ring(1e9, 1, kSimple), 56 + 1e9 * 14 / 8 / 240e3, 1e-6);
  const Tuned blackwell{.generation = GpuGeneration::blackwell};
  EXPECT_NEAR(blackwell.ring(1e7, 1, kLL128), 40.6 + 1e7 * 14 / 8 / 662.4e3, 1e-6);
  EXPECT_NEAR(blackwell.ring(1e9, 1, kSimple), 56 + 1e9 * 14 / 8 / 720e3, 1e-6);
  const Tuned hopper;
  EXPECT_NEAR(hopper.ring(2e6, 2, kLL128), 14 + 28 * 1.9 + 2 * 4 + 2e6 * 30 / 16 / 184e3, 1e-6);
}

TEST(NcclGenerations, trees_on_one_node) {
  const Tuned hopper;
  EXPECT_NEAR(hopper.tree(3e6, 1, kLL128), 14 + 14 * 1.25 + 3e6 * 2 / (331.2e3 * 7 / 9), 1e-6);
  EXPECT_NEAR(hopper.tree(2e5, 1, kLL), 6.8 + 14 * 0.6 + 2e5 * 2 / (331.2e3 / 3.8), 1e-6);
  const Tuned ampere{.generation = GpuGeneration::ampere};
  EXPECT_NEAR(ampere.tree(1e9, 1, kSimple), 8.4 + 56 + 1e9 * 2 / 220.8e3, 1e-6);
  const Tuned blackwell{.generation = GpuGeneration::blackwell};
  EXPECT_NEAR(blackwell.tree(1e9, 1, kSimple), 8.4 + 56 + 1e9 * 2 / 662.4e3, 1e-6);
  EXPECT_NEAR(blackwell.tree(3e6, 1, kLL128), 31.5 + 3e6 * 2 / (662.4e3 * 7 / 9), 1e-6);
}

// NICs of 100 GB/s a rank do not bind; a channel's rate does.
TEST(NcclGenerations, trees_between_nodes) {
  const Tuned blackwell{.generation = GpuGeneration::blackwell, .nic = 100};
  EXPECT_NEAR(blackwell.tree(1e9, 4, kSimple), 8.4 + 2 * (28 + 2 * 14) + 1e9 * 2 / (18 * 24e3),
              1e-6);
  EXPECT_NEAR(blackwell.tree(1e9, 3, kSimple),
              8.4 + 2 * (28 + std::log2(3) * 14) + 1e9 * 2 / (18 * 24e3), 1e-4);
  EXPECT_NEAR(blackwell.tree(5e6, 2, kLL128), 14 + 2 * (7 * 1.25 + 8.5) + 5e6 * 2 / (18 * 31.67e3),
              1e-6);
  EXPECT_NEAR(blackwell.tree(5e6, 4, kLL128), 14 + 2 * (7 * 1.25 + 17) + 5e6 * 2 / (18 * 20e3),
              1e-6);
  EXPECT_NEAR(blackwell.tree(2e5, 2, kLL), 6.8 + 2 * (4.2 + 5) + 2e5 * 2 / 90e3, 1e-6);
  EXPECT_NEAR(blackwell.tree(2e5, 4, kLL), 6.8 + 2 * (4.2 + 10) + 2e5 * 2 / 70e3, 1e-6);
  const Tuned ampere{.generation = GpuGeneration::ampere, .nic = 100};
  EXPECT_NEAR(ampere.tree(1e9, 4, kSimple), 8.4 + 2 * (28 + 28) + 1e9 * 2 / (12 * 17.8e3), 1e-6);
  EXPECT_NEAR(ampere.tree(2e5, 2, kLL), 6.8 + 2 * (4.2 + 5) + 2e5 * 2 / 22.5e3, 1e-6);
  EXPECT_NEAR(ampere.tree(5e6, 2, kLL128),
              14 + 2 * (7 * 1.25 + 8.5) + 5e6 * 2 / (220.8e3 * 120 / 128), 1e-6);
}

TEST(NcclGenerations, switches_that_add_on_three_nodes_and_on_blackwell) {
  const Tuned hopper;
  const auto nvls = [](const Tuned& t, double bytes, int nodes) {
    return t.choice(bytes, nodes, CollectiveAlgorithm::nvls).time.base() * 1e6;
  };
  EXPECT_NEAR(nvls(hopper, 1e9, 3), 25 + 2 * std::log2(3) * 20.9 + 1e9 * 46 / 24 / 200e3, 1e-4);
  const Tuned blackwell{.generation = GpuGeneration::blackwell};
  EXPECT_NEAR(nvls(blackwell, 1e9, 1), 25 + 1e9 * 14 / 8 / (2 * 8 * 90e3 * 0.74 * 7 / 8), 1e-6);
  // A NIC's own latency counts twice for Simple: once between two nodes, by levels between four.
  NcclMachine late;
  late.nic_per_rank = gbytes_per_s(25);
  late.nic_latency = microseconds(3);
  const auto with = [&](int nodes) {
    const NcclChoice c = nccl_choice(late, {Collective::all_reduce, Bytes(1e9), {8 * nodes, 8}},
                                     CollectiveAlgorithm::nvls);
    return c.time.base() * 1e6 - nvls(hopper, 1e9, nodes);
  };
  EXPECT_NEAR(with(2), 2 * 3, 1e-6);
  EXPECT_NEAR(with(4), 2 * 2 * 2 * 3, 1e-6);
  EXPECT_STREQ(to_text(NcclProtocol::ll), "LL");
  EXPECT_STREQ(to_text(NcclProtocol::ll128), "LL128");
  EXPECT_STREQ(to_text(NcclProtocol::simple), "Simple");
  EXPECT_TRUE(NcclMachine{}.nvls);
  EXPECT_EQ(NcclMachine{}.nic_latency, Seconds());
}

// A table of one size with these bandwidths, under a test's name.
std::string log_of(const std::string& test, const char* algbw, const char* busbw) {
  return "# Collective test starting: " + test + "\n 1048576 262144 float none -1 27.37 " + algbw +
         " " + busbw + " 0 26.93 38.94 68.14 0\n";
}

TEST(NcclGenerations, logs_of_every_kind) {
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
TEST(NcclGenerations, ranks_are_solved_from_the_ratio) {
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

// The largest algorithm bandwidth tells most.
TEST(NcclGenerations, the_fastest_line_is_asked) {
  const std::string text =
      "# all_gather_perf\n"
      "8 2 float none -1 1 30 20 0 1 2 3 0\n"
      "16 4 float none -1 1 400 350 0 1 2 3 0\n"
      "32 8 float none -1 1 390 200 0 1 2 3 0\n";
  EXPECT_EQ(parse_nccl_log(text, "x")->ranks_solved, 8);
}

// Rows with a root and without, and lines that only look like rows.
TEST(NcclGenerations, rows_are_told_from_other_lines) {
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

TEST(NcclGenerations, reasons_at_their_bounds) {
  const auto count = [](const GapFacts& f) { return likely_reasons(f).size(); };
  EXPECT_EQ(count({.large_ratio = 0.85}), 0U);
  EXPECT_EQ(count({.large_ratio = 0.849}), 1U);
  EXPECT_EQ(count({.small_ratio = 0.6}), 0U);
  EXPECT_EQ(count({.small_ratio = 0.599}), 1U);
  // Six of eight NICs is 0.75; 0.70 is 5.6 of them and says nothing.
  EXPECT_EQ(count({.large_ratio = 0.75, .leaves_domain = true, .nics = 8}), 1U);
  EXPECT_EQ(count({.large_ratio = 0.70, .leaves_domain = true, .nics = 8}), 0U);
  EXPECT_EQ(count({.large_ratio = 0.70, .leaves_domain = true, .roce = true, .nics = 8}), 1U);
  EXPECT_EQ(count({.large_ratio = 0.76, .leaves_domain = true, .nics = 8}), 1U) << "6.08";
  EXPECT_EQ(count({.large_ratio = 0.766, .leaves_domain = true, .nics = 8}), 0U) << "6.13";
  EXPECT_EQ(count({.large_ratio = 0.599, .leaves_domain = true, .nics = 8}), 1U) << "no GPUDirect";
  EXPECT_EQ(count({.large_ratio = 0.5, .leaves_domain = true, .nics = 1}), 0U);
  const GapFacts f;
  EXPECT_EQ(f.large_ratio, 1);
  EXPECT_EQ(f.small_ratio, 1);
  EXPECT_EQ(f.expected_bus + f.measured_bus + f.nic_gbytes + f.nics, 0);
  EXPECT_FALSE(f.leaves_domain || f.roce);
  const NcclLine l;
  EXPECT_EQ(l.bytes + l.time_us + l.algbw + l.busbw, 0);
}

}  // namespace
}  // namespace orrery::fabric
