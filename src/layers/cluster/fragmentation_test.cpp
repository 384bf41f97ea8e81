#include "layers/cluster/fragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::cluster {
namespace {

PodNode pod_node(int gpus, int cpu) {
  PodNode n{.cpu_left = cpu, .memory_left = 1000, .gpus = gpus, .model = 1};
  std::fill_n(n.gpu_left.begin(), gpus, kGpuMilli);
  return n;
}

// Half of the pods want one whole GPU and 4 CPUs, half 0.3 of one and 1 CPU.
std::vector<PodAsk> half_and_half() {
  return {{.cpu_milli = 4000, .gpus = 1, .gpu_milli = 1000},
          {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 300}};
}

TEST(Fragmentation, fragmentation_of_a_small_node) {
  const TypicalTasks tasks(half_and_half());
  PodNode n = pod_node(2, 8000);
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 0);
  take(n, half_and_half()[1], 1);  // 700 are left of GPU 0: useless to the whole-GPU task
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 0.5 * 700);
  n.cpu_left = 3000;  // that task does not fit here at all now
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 0.5 * 1700);
  n.cpu_left = 0;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 1700);
}

TEST(Fragmentation, task_without_matching_gpus_uses_none) {
  const std::vector<PodAsk> cpu{{.cpu_milli = 1000}};
  EXPECT_DOUBLE_EQ(TypicalTasks(cpu).fragmentation(pod_node(2, 8000)), 2000);
  const std::vector<PodAsk> other{{.gpus = 1, .gpu_milli = 500, .models = 2}};
  EXPECT_DOUBLE_EQ(TypicalTasks(other).fragmentation(pod_node(2, 8000)), 2000);
}

// For a share of 0.3, best fit opens the smaller node, FGD uses the GPU that is open already.
TEST(Fragmentation, gradient_keeps_whole_gpus_whole) {
  std::vector<PodNode> nodes{pod_node(1, 4000), pod_node(2, 8000)};
  take(nodes[1], {.gpus = 1, .gpu_milli = 300}, 1);
  PodPlacer fgd(nodes, PodRule::fgd, TypicalTasks(half_and_half()));
  const auto place = fgd.place(half_and_half()[1]);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->node, 1);
  EXPECT_EQ(place->gpus, 1);
  PodPlacer best(nodes, PodRule::best_fit, TypicalTasks(half_and_half()));
  EXPECT_EQ(best.place(half_and_half()[1])->node, 0);
}

TEST(Fragmentation, nothing_is_taken_twice) {
  PodPlacer placer({pod_node(2, 4000)}, PodRule::fgd, TypicalTasks(half_and_half()));
  const PodAsk share{.cpu_milli = 100, .gpus = 1, .gpu_milli = 400};
  int placed = 0;
  while (placer.place(share)) ++placed;
  EXPECT_EQ(placed, 4);  // two on each
  for (const int left : {0, 1})
    EXPECT_EQ(placer.nodes()[0].gpu_left[static_cast<std::size_t>(left)], 200);
  PodNode n = placer.nodes()[0];
  give(n, share, 1);
  EXPECT_EQ(n.gpu_left[0], 600);
}

// A node with these thousandths left of its GPUs.
PodNode shared_node(std::vector<int> left, int cpu = 10'000, int memory = 900) {
  PodNode n{.cpu_left = cpu, .memory_left = memory, .gpus = static_cast<int>(left.size())};
  n.model = 2;
  std::ranges::copy(left, n.gpu_left.begin());
  return n;
}

// Half of the pods want a whole GPU, half 0.3 of one; none wants much CPU.
TypicalTasks whole_or_third() {
  const std::vector<PodAsk> pods{{.cpu_milli = 10, .gpus = 1, .gpu_milli = 1000},
                                 {.cpu_milli = 10, .gpus = 1, .gpu_milli = 300}};
  return TypicalTasks(pods);
}

TEST(Fragmentation, request_fits_to_the_last_unit) {
  PodNode n = shared_node({1000, 300}, 4000, 500);
  n.gpu_left[2] = 1000;  // a third GPU, which the node does not have
  const PodAsk whole{
      .cpu_milli = 4000, .memory_mib = 500, .gpus = 1, .gpu_milli = 1000, .models = 6};
  EXPECT_TRUE(fits(n, whole));
  PodAsk ask = whole;
  ask.cpu_milli = 4001;
  EXPECT_FALSE(fits(n, ask));
  ask = whole;
  ask.memory_mib = 501;
  EXPECT_FALSE(fits(n, ask));
  ask = whole;
  ask.gpu_milli = 1001;
  EXPECT_FALSE(fits(n, ask));
  ask = whole;
  ask.gpus = 2;
  EXPECT_FALSE(fits(n, ask)) << "the second has 300";
  ask.gpu_milli = 300;
  EXPECT_TRUE(fits(n, ask));
  ask.gpu_milli = 301;
  EXPECT_FALSE(fits(n, ask));
  ask = whole;
  ask.models = 5;  // other models
  EXPECT_FALSE(fits(n, ask));
  ask.gpus = 0;  // no GPU requested, so the model does not matter
  EXPECT_TRUE(fits(n, ask));
  ask.memory_mib = 501;
  EXPECT_FALSE(fits(n, ask));
}

TEST(Fragmentation, taken_resources_are_given_back) {
  const PodNode before = shared_node({1000, 700, 400}, 4000, 500);
  PodNode n = before;
  const PodAsk ask{.cpu_milli = 1300, .memory_mib = 70, .gpus = 2, .gpu_milli = 350};
  take(n, ask, 0b101);
  EXPECT_EQ(n.cpu_left, 2700);
  EXPECT_EQ(n.memory_left, 430);
  EXPECT_EQ(n.gpu_left, (std::array<int, 8>{650, 700, 50}));
  EXPECT_EQ(n.gpu_left_in_all(), 1400);
  give(n, ask, 0b101);
  EXPECT_EQ(n.cpu_left, 4000);
  EXPECT_EQ(n.memory_left, 500);
  EXPECT_EQ(n.gpu_left, before.gpu_left);
}

// Four pods of half a GPU, with CPU requests 1000, 2000 and twice 3000; one pod of two whole GPUs.
TEST(Fragmentation, fragmentation_counts_pods_by_cpu) {
  const std::vector<PodAsk> pods{{.cpu_milli = 3000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 2000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 3000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 500, .gpus = 2, .gpu_milli = 1000}};
  const TypicalTasks tasks(pods);
  // GPUs with 1000, 600 and 200 left: 1800. The gang of two finds only one whole: 0.2 x 1800 = 360.
  // Those half-GPU pods run whose CPU request fits; they cannot use the 200.
  const auto of_cpu = [&](int cpu) {
    return tasks.fragmentation(shared_node({1000, 600, 200}, cpu));
  };
  EXPECT_NEAR(of_cpu(999), 360 + 0.8 * 1800, 1e-9);
  EXPECT_NEAR(of_cpu(1000), 360 + 0.6 * 1800 + 0.2 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(1999), 360 + 0.6 * 1800 + 0.2 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(2000), 360 + 0.4 * 1800 + 0.4 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(2999), 360 + 0.4 * 1800 + 0.4 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(3000), 360 + 0.8 * 200, 1e-9);
  // With two whole GPUs the gang runs as well, and cannot use the 999.
  EXPECT_NEAR(tasks.fragmentation(shared_node({1000, 999, 1000}, 3000)), 0.2 * 999, 1e-9);
  EXPECT_EQ(tasks.fragmentation(shared_node({0, 0}, 3000)), 0);
}

TEST(Fragmentation, best_fit_takes_the_tightest_gpu) {
  PodPlacer placer({shared_node({800, 400, 400, 100})}, PodRule::best_fit, whole_or_third());
  const PodAsk third{.gpus = 1, .gpu_milli = 300};
  EXPECT_EQ(placer.place(third)->gpus, 0b0010);
  EXPECT_EQ(placer.place(third)->gpus, 0b0100);
  EXPECT_EQ(placer.place(third)->gpus, 0b0001);
  EXPECT_EQ(placer.place(third)->gpus, 0b0001);  // 500 were left of it
  EXPECT_FALSE(placer.place(third));
  EXPECT_EQ(placer.nodes()[0].gpu_left, (std::array<int, 8>{200, 100, 100, 100}));
}

// 64,000 of 128,000 CPU is half, 3900 of 8000 GPU a little less; and the other way round.
TEST(Fragmentation, best_fit_weighs_cpu_and_gpu_against_the_largest_node) {
  const PodAsk ask{.cpu_milli = 700, .memory_mib = 5, .gpus = 1, .gpu_milli = 100};
  const std::vector<PodNode> by_gpu{shared_node({100}, 64'700),
                                    shared_node({1000, 1000, 1000, 1000}, 700)};
  EXPECT_EQ(PodPlacer(by_gpu, PodRule::best_fit, whole_or_third()).place(ask)->node, 1);
  const std::vector<PodNode> by_cpu{shared_node({1000, 1000, 1000, 1000, 100}, 700),
                                    shared_node({100}, 62'700)};
  EXPECT_EQ(PodPlacer(by_cpu, PodRule::best_fit, whole_or_third()).place(ask)->node, 1);
  const std::vector<PodNode> equal{shared_node({300}, 900), shared_node({300}, 900)};
  EXPECT_EQ(PodPlacer(equal, PodRule::best_fit, whole_or_third()).place(ask)->node, 0);
}

TEST(Fragmentation, pod_that_does_not_fit_is_not_placed) {
  for (const PodRule rule : {PodRule::best_fit, PodRule::fgd}) {
    PodPlacer placer({shared_node({1000, 1000}, 500, 40)}, rule, whole_or_third());
    EXPECT_FALSE(placer.place({.cpu_milli = 501, .gpus = 1, .gpu_milli = 200}));
    EXPECT_FALSE(placer.place({.memory_mib = 41, .gpus = 1, .gpu_milli = 1000}));
    EXPECT_FALSE(placer.place({.gpus = 3, .gpu_milli = 1000}));
    const auto both = placer.place({.gpus = 2, .gpu_milli = 1000});
    ASSERT_TRUE(both);
    EXPECT_EQ(both->gpus, 0b11);
    EXPECT_EQ(placer.nodes()[0].gpu_left_in_all(), 0);
  }
}

// F of a node with 0.4 of a GPU is 0.5 x 400; after 0.3 is taken, the 100 left are useless to both:
// a drop of 100. For 0.7 it is 350, then 0.5 x 400: a drop of 150, which is larger.
TEST(Fragmentation, fgd_chooses_the_largest_drop_in_fragmentation) {
  PodPlacer placer({shared_node({400}), shared_node({700})}, PodRule::fgd, whole_or_third());
  EXPECT_NEAR(placer.fragmentation(), 400 + 700 - 0.5 * 1100, 1e-9);
  EXPECT_EQ(placer.place({.gpus = 1, .gpu_milli = 300})->node, 1);
  EXPECT_NEAR(placer.fragmentation(), 200 + 200, 1e-9);
}

// 300 minus 240 leaves 60: F falls from 150 to 60, and 100 / (1 + e^-0.09) = 52.2. 700 minus 240: F
// falls from 350 to 230, 100 / (1 + e^-0.12) = 52.996. Both count as 52 per cent, so the first is
// taken.
TEST(Fragmentation, fgd_compares_whole_percents) {
  PodPlacer placer({shared_node({300}), shared_node({700})}, PodRule::fgd, whole_or_third());
  EXPECT_EQ(placer.place({.gpus = 1, .gpu_milli = 240})->node, 0);
}

// A whole GPU can come from a node with one whole and one at 0.3 (F = 150, then 0.5 x 300 = 150);
// or be the last whole one beside 0.9 (F = 450, then 450) or beside 0.2 (F = 200, 200): all equal.
// Beside 0.25, on a node whose CPU then holds no third, F grows.
TEST(Fragmentation, fgd_takes_whole_gpus_if_the_rest_stays_usable) {
  const std::vector<PodNode> nodes{shared_node({250, 1000, 1000}, 105), shared_node({1000, 300})};
  // Node 0: F = 250 before; with 5 of CPU left no pod runs: F = 1250. Node 1 stays at 150.
  PodPlacer placer(nodes, PodRule::fgd, whole_or_third());
  const auto place = placer.place({.cpu_milli = 100, .gpus = 1, .gpu_milli = 1000});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->node, 1);
  EXPECT_EQ(place->gpus, 0b01);
  const auto next = placer.place({.cpu_milli = 100, .gpus = 1, .gpu_milli = 1000});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->node, 0);
  EXPECT_EQ(next->gpus, 0b010);
  EXPECT_EQ(placer.nodes()[0].cpu_left, 5);
}

// A share uses the GPU that fragments least: 300 of 300 leaves nothing behind.
TEST(Fragmentation, fgd_takes_the_gpu_that_fragments_least) {
  PodPlacer placer({shared_node({1000, 450, 300})}, PodRule::fgd, whole_or_third());
  EXPECT_EQ(placer.place({.gpus = 1, .gpu_milli = 300})->gpus, 0b100);
}

// One GPU is free. It is useful to the quarter of the pods that want one of this model, and useless
// to those that want two or another model.
TEST(Fragmentation, pods_with_equal_requests_are_alike) {
  const std::vector<PodAsk> pods{{.cpu_milli = 100, .gpus = 1, .gpu_milli = 1000, .models = 1},
                                 {.cpu_milli = 100, .gpus = 2, .gpu_milli = 1000, .models = 1},
                                 {.cpu_milli = 100, .gpus = 1, .gpu_milli = 1000, .models = 2},
                                 {.cpu_milli = 700, .gpus = 1, .gpu_milli = 1000, .models = 1}};
  const TypicalTasks tasks(pods);
  PodNode node{.cpu_left = 699, .memory_left = 100, .gpus = 1, .model = 1};
  node.gpu_left[0] = 1000;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 750);
  node.cpu_left = 700;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 500);
  node.cpu_left = 100;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 750);
  node.cpu_left = 99;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 1000);
  node.gpu_left[0] = 0;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(node), 0);
}

// Taking two whole GPUs of three leaves 1000 of 8000, and no CPU: 1/8 + 0/128. On the node with two
// GPUs and 1500 of CPU left, 0 + 1500 / 128,000 is left. The second is the tighter.
TEST(Fragmentation, best_fit_counts_every_gpu_of_a_pod) {
  PodNode three{.cpu_left = 1000, .memory_left = 10, .gpus = 3};
  PodNode two{.cpu_left = 1000 + 100'000, .memory_left = 10, .gpus = 2};
  for (int g = 0; g < 3; ++g) three.gpu_left[static_cast<std::size_t>(g)] = 1000;
  for (int g = 0; g < 2; ++g) two.gpu_left[static_cast<std::size_t>(g)] = 1000;
  const std::vector<PodAsk> pods{{.cpu_milli = 1000, .gpus = 2, .gpu_milli = 1000}};
  // 0 / 128,000 + 1000 / 8000 = 0.125 against 100,000 / 128,000 = 0.78.
  PodPlacer first({three, two}, PodRule::best_fit, TypicalTasks(pods));
  EXPECT_EQ(first.place(pods[0])->node, 0);
  // GPU share of one node against CPU share of the other: 1000 / 8000 equals 16,000 of CPU.
  two.cpu_left = 1000 + 15'999;
  PodPlacer second({three, two}, PodRule::best_fit, TypicalTasks(pods));
  EXPECT_EQ(second.place(pods[0])->node, 1);
  two.cpu_left = 1000 + 16'001;
  PodPlacer third({three, two}, PodRule::best_fit, TypicalTasks(pods));
  EXPECT_EQ(third.place(pods[0])->node, 0);
}

}  // namespace
}  // namespace orrery::cluster
