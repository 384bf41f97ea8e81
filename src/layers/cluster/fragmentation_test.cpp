#include "layers/cluster/fragmentation.h"

#include <gtest/gtest.h>

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

TEST(Fragmentation, ByHand) {
  const TypicalTasks tasks(half_and_half());
  PodNode n = pod_node(2, 8000);
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 0);
  take(n, half_and_half()[1], 1);  // 700 are left of GPU 0: no use to the whole-GPU task
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 0.5 * 700);
  n.cpu_left = 3000;  // that task does not run here at all now
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 0.5 * 1700);
  n.cpu_left = 0;
  EXPECT_DOUBLE_EQ(tasks.fragmentation(n), 1700);
}

TEST(Fragmentation, ATaskWithoutGpusOrOfAnotherModelUsesNone) {
  const std::vector<PodAsk> cpu{{.cpu_milli = 1000}};
  EXPECT_DOUBLE_EQ(TypicalTasks(cpu).fragmentation(pod_node(2, 8000)), 2000);
  const std::vector<PodAsk> other{{.gpus = 1, .gpu_milli = 500, .models = 2}};
  EXPECT_DOUBLE_EQ(TypicalTasks(other).fragmentation(pod_node(2, 8000)), 2000);
}

// A share of 0.3: best fit opens the smaller node, FGD the GPU that is open already.
TEST(Fragmentation, GradientKeepsWholeGpusWhole) {
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

TEST(Fragmentation, NothingIsTakenTwice) {
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

}  // namespace
}  // namespace orrery::cluster
