// Pods on shares of GPUs: what fits to the last unit, and which node and GPU each rule takes.
#include <gtest/gtest.h>

#include <cmath>

#include "layers/cluster/fragmentation.h"

namespace orrery::cluster {
namespace {

// A node with these thousandths left of its GPUs.
PodNode shared_node(std::vector<int> left, int cpu = 10'000, int memory = 900) {
  PodNode n{.cpu_left = cpu, .memory_left = memory, .gpus = static_cast<int>(left.size())};
  n.model = 2;
  std::ranges::copy(left, n.gpu_left.begin());
  return n;
}

// Half of the pods want a whole GPU, half 0.3 of one; neither wants much CPU.
TypicalTasks whole_or_third() {
  const std::vector<PodAsk> pods{{.cpu_milli = 10, .gpus = 1, .gpu_milli = 1000},
                                 {.cpu_milli = 10, .gpus = 1, .gpu_milli = 300}};
  return TypicalTasks(pods);
}

TEST(PodPlaces, an_ask_fits_to_the_last_unit) {
  PodNode n = shared_node({1000, 300}, 4000, 500);
  n.gpu_left[2] = 1000;  // beyond its two
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
  ask.models = 5;  // others
  EXPECT_FALSE(fits(n, ask));
  ask.gpus = 0;  // no GPU: the model does not matter
  EXPECT_TRUE(fits(n, ask));
  ask.memory_mib = 501;
  EXPECT_FALSE(fits(n, ask));
}

TEST(PodPlaces, what_names_nothing_asks_for_nothing_and_has_nothing) {
  EXPECT_TRUE(fits(PodNode{}, PodAsk{}));
  EXPECT_FALSE(fits(PodNode{}, {.cpu_milli = 1}));
  EXPECT_FALSE(fits(PodNode{}, {.memory_mib = 1}));
  EXPECT_FALSE(fits(PodNode{}, {.gpus = 1}));
  EXPECT_TRUE(fits(shared_node({500}), {.gpus = 1, .gpu_milli = 500})) << "any model";
  EXPECT_FALSE(fits(shared_node({500}), {.gpus = 1, .gpu_milli = 500, .models = 1}));
  EXPECT_TRUE(fits(shared_node({0}), {.gpus = 1})) << "nothing of one";
  EXPECT_EQ(PodPlace{}.node, -1);
  EXPECT_EQ(PodPlace{}.gpus, 0);
}

TEST(PodPlaces, what_is_taken_is_given_back) {
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

// Four pods of half a GPU: with 1000, 2000 and twice 3000 of CPU; one of two whole GPUs.
TEST(PodPlaces, fragmentation_counts_pods_by_the_cpu_they_want) {
  const std::vector<PodAsk> pods{{.cpu_milli = 3000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 2000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 3000, .gpus = 1, .gpu_milli = 500},
                                 {.cpu_milli = 500, .gpus = 2, .gpu_milli = 1000}};
  const TypicalTasks tasks(pods);
  // GPUs with 1000, 600 and 200: 1800. The gang of two finds one whole: 0.2 x 1800 = 360.
  // Of the halves those run that the CPU holds; they cannot use the 200.
  const auto of_cpu = [&](int cpu) {
    return tasks.fragmentation(shared_node({1000, 600, 200}, cpu));
  };
  EXPECT_NEAR(of_cpu(999), 360 + 0.8 * 1800, 1e-9);
  EXPECT_NEAR(of_cpu(1000), 360 + 0.6 * 1800 + 0.2 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(1999), 360 + 0.6 * 1800 + 0.2 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(2000), 360 + 0.4 * 1800 + 0.4 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(2999), 360 + 0.4 * 1800 + 0.4 * 200, 1e-9);
  EXPECT_NEAR(of_cpu(3000), 360 + 0.8 * 200, 1e-9);
  // With two whole ones the gang runs as well, and cannot use the 999.
  EXPECT_NEAR(tasks.fragmentation(shared_node({1000, 999, 1000}, 3000)), 0.2 * 999, 1e-9);
  EXPECT_EQ(tasks.fragmentation(shared_node({0, 0}, 3000)), 0);
}

TEST(PodPlaces, best_fit_takes_the_tightest_gpu_and_the_first_of_equals) {
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
TEST(PodPlaces, best_fit_weighs_cpu_and_gpu_against_the_largest_node) {
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

TEST(PodPlaces, what_does_not_fit_is_not_placed_by_either_rule) {
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

// F of 0.4 of a GPU is 0.5 x 400, after a third is taken the 100 left are of no use to either:
// 100 less. Of 0.7 of one it is 350, then 0.5 x 400: 150 less, the steeper way down.
TEST(PodPlaces, fgd_goes_where_fragmentation_falls_most) {
  PodPlacer placer({shared_node({400}), shared_node({700})}, PodRule::fgd, whole_or_third());
  EXPECT_NEAR(placer.fragmentation(), 400 + 700 - 0.5 * 1100, 1e-9);
  EXPECT_EQ(placer.place({.gpus = 1, .gpu_milli = 300})->node, 1);
  EXPECT_NEAR(placer.fragmentation(), 200 + 200, 1e-9);
}

// 300 less 240 leaves 60: F from 150 to 60, and 100 / (1 + e^-0.09) = 52.2. 700 less 240: F from
// 350 to 230, 100 / (1 + e^-0.12) = 52.996. Both are 52 per cent: the first of equals.
TEST(PodPlaces, fgd_compares_whole_per_cents) {
  PodPlacer placer({shared_node({300}), shared_node({700})}, PodRule::fgd, whole_or_third());
  EXPECT_EQ(placer.place({.gpus = 1, .gpu_milli = 240})->node, 0);
}

// A whole GPU: from a node of one that is whole and one of 0.3 (F = 150, then 0.5 x 300 = 150), or
// the last whole one beside 0.9 (F = 450, then 450), or with 0.2 beside it (F = 200, 200): equals.
// Beside 0.25 on a node whose CPU holds no third afterwards F grows.
TEST(PodPlaces, fgd_takes_whole_gpus_where_the_rest_stays_of_use) {
  const std::vector<PodNode> nodes{shared_node({250, 1000, 1000}, 105), shared_node({1000, 300})};
  // Node 0: F = 250 before; with 5 of CPU left nobody runs: F = 1250. Node 1 stays at 150.
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

// A share takes the GPU that fragments least: 300 of 300 leaves nothing behind.
TEST(PodPlaces, fgd_takes_the_gpu_that_fragments_least) {
  PodPlacer placer({shared_node({1000, 450, 300})}, PodRule::fgd, whole_or_third());
  EXPECT_EQ(placer.place({.gpus = 1, .gpu_milli = 300})->gpus, 0b100);
}

}  // namespace
}  // namespace orrery::cluster
