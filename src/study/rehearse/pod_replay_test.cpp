#include "study/rehearse/pod_replay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "study/rehearse/simulated_places.h"

namespace orrery::rehearse {
namespace {

// A hundred pods of one GPU on four GPUs, at half the load: two of them are used.
TEST(PodReplay, a_trace_above_the_load_is_cut) {
  const std::vector<workload::PodRecord> pods(100,
                                              {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 1000});
  const std::vector<workload::PodNodeRecord> nodes(
      1, {.cpu_milli = 640'000, .memory_mib = 1000, .gpus = 4, .model = "a"});
  const PodReplayResult r = replay_pods(pods, nodes, {.load = 0.5});
  EXPECT_EQ(r.pods, 2);
  EXPECT_EQ(r.placed, 2);
  EXPECT_DOUBLE_EQ(r.allocated, 0.5);
}

TEST(PodReplay, pods_fill_a_fleet_up_to_the_load) {
  // Two GPUs of four each for whole pods, and pods without any.
  const std::vector<workload::PodRecord> pods = {{.cpu_milli = 1000, .gpus = 2, .gpu_milli = 1000},
                                                 {.cpu_milli = 1000, .gpus = 0, .gpu_milli = 700}};
  const std::vector<workload::PodNodeRecord> nodes(
      5, {.cpu_milli = 640'000, .memory_mib = 1000, .gpus = 4, .model = "a"});
  const PodReplayResult half = replay_pods(pods, nodes, {.load = 0.5});
  EXPECT_DOUBLE_EQ(half.allocated, 0.5) << "10 of 20 GPUs";
  EXPECT_EQ(half.turned_away, 0);
  EXPECT_EQ(half.placed, half.pods);
  const PodReplayResult full = replay_pods(pods, nodes, {.load = 1});
  EXPECT_DOUBLE_EQ(full.allocated, 1);
  EXPECT_EQ(full.fragmented, 0);
  // Half a GPU of each is left, which no pod of two whole ones can use: all that is left is lost.
  const std::vector<workload::PodRecord> halves = {
      {.cpu_milli = 1000, .gpus = 1, .gpu_milli = 600}};
  const PodReplayResult bits = replay_pods(halves, nodes, {.load = 1});
  EXPECT_DOUBLE_EQ(bits.allocated, 0.6);
  EXPECT_DOUBLE_EQ(bits.fragmented, 1);
  EXPECT_GT(bits.turned_away, 0);
  // A pod that accepts either of two models fits both; one that names another fits nowhere.
  std::vector<workload::PodNodeRecord> two = {nodes[0], nodes[0]};
  two[1].model = "b";
  std::vector<workload::PodRecord> either = {pods[0]};
  either[0].models = {"b", "a"};
  EXPECT_EQ(replay_pods(either, two, {.load = 1}).turned_away, 0);
  either[0].models = {"c"};
  const PodReplayResult none = replay_pods(either, two, {.load = 1});
  EXPECT_EQ(none.turned_away, none.pods);
  EXPECT_EQ(none.placed, 0);
  EXPECT_GT(none.pods, 0);
}

// One GPU for one of two pods: the first one gets it, and either may be first.
TEST(PodReplay, pods_may_be_in_any_order) {
  const std::vector<workload::PodRecord> pods = {{.cpu_milli = 1, .gpus = 1, .gpu_milli = 1000},
                                                 {.cpu_milli = 1, .gpus = 1, .gpu_milli = 600}};
  const std::vector<workload::PodNodeRecord> node = {
      {.cpu_milli = 1000, .memory_mib = 1000, .gpus = 1, .model = "a"}};
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const PodReplayResult r = replay_pods(pods, node, {.load = 1.6, .seed = seed});
    EXPECT_EQ(r.pods, 2);
    EXPECT_EQ(r.turned_away, 1);
    whole += r.allocated == 1 ? 1 : 0;
  }
  EXPECT_NEAR(whole, 200, 35);
}

std::string trace_text(const std::string& name) {
  const char* folder = std::getenv("ORRERY_TRACES");
  std::ifstream file(std::string(folder == nullptr ? "" : folder) + '/' + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PodReplay, pods_beyond_the_fleet_are_turned_away) {
  const std::vector<workload::PodRecord> pods{{.cpu_milli = 1000, .gpus = 1, .gpu_milli = 500}};
  const std::vector<workload::PodNodeRecord> nodes(
      3, {.cpu_milli = 64'000, .memory_mib = 1000, .gpus = 4, .model = "a"});
  const PodReplayResult r = replay_pods(pods, nodes, {.load = 2});
  EXPECT_EQ(r.placed, 24);
  EXPECT_EQ(r.turned_away, 24);
  EXPECT_DOUBLE_EQ(r.allocated, 1);
}

TEST(PodReplay, openb_columns_are_read) {
  const auto pods = workload::read_pods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,6000,12288,1,460,V100|T4\n", "p");
  ASSERT_TRUE(pods);
  EXPECT_EQ(pods->at(0).models.size(), 2u);
  EXPECT_FALSE(
      workload::read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,500\n", "p"));
  EXPECT_FALSE(workload::read_pods("name,cpu\np,1\n", "p"));
  EXPECT_FALSE(workload::read_pod_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,1,1,16,x\n", "n"));
}

// The authors' figures at a load of 1.3, means of ten seeds: best fit 93.08, 85.01, 95.74 %; FGD
// 95.39, 86.90, 97.18 % (expected_results of their repository).
TEST(PodReplay, fgd_beats_best_fit_as_published) {
  const auto nodes = workload::read_pod_nodes(trace_text("openb_node_list_gpu_node.csv"), "nodes");
  if (!nodes) GTEST_SKIP() << "ORRERY_TRACES names no folder with openb_node_list_gpu_node.csv";
  struct Row {
    const char* file;
    double best_fit;
    double fgd;
  };
  for (const Row& row : {Row{"openb_pod_list_default.csv", 93.08, 95.39},
                         Row{"openb_pod_list_gpushare100.csv", 85.01, 86.90},
                         Row{"openb_pod_list_multigpu50.csv", 95.74, 97.18}}) {
    const auto pods = workload::read_pods(trace_text(row.file), row.file);
    ASSERT_TRUE(pods) << row.file;
    const auto percent = [&](cluster::PodRule rule) {
      return 100 * replay_pods(*pods, *nodes, {.rule = rule}).allocated;
    };
    const double best_fit = percent(cluster::PodRule::best_fit);
    const double fgd = percent(cluster::PodRule::fgd);
    EXPECT_NEAR(best_fit, row.best_fit, 0.7) << row.file;
    EXPECT_NEAR(fgd, row.fgd, 0.7) << row.file;
    EXPECT_GT(fgd, best_fit + 0.8) << row.file;
    if (std::getenv("ORRERY_FULL") == nullptr) break;
  }
}

// Nodes without GPUs: beyond the trace, at most a hundred pods are drawn for each of its pods.
TEST(PodReplay, pods_without_gpus_are_limited_by_cores) {
  const std::vector<workload::PodRecord> pods(1, {.cpu_milli = 1000, .memory_mib = 1});
  const std::vector<workload::PodNodeRecord> nodes(
      1, {.cpu_milli = 50'000, .memory_mib = 1000, .gpus = 0, .model = ""});
  const PodReplayResult r = replay_pods(pods, nodes, {});
  EXPECT_EQ(r.pods, 101);
  EXPECT_EQ(r.placed, 50);
  EXPECT_EQ(r.turned_away, 51);
  EXPECT_EQ(r.allocated, 0);
  EXPECT_EQ(r.fragmented, 0);
}

// Two halves of a GPU: one is used, the other is useless for a pod that needs 0.6 of one.
TEST(PodReplay, fragmentation_counts_unusable_gpus) {
  const std::vector<workload::PodRecord> pods{{.cpu_milli = 1, .gpus = 1, .gpu_milli = 600}};
  const std::vector<workload::PodNodeRecord> nodes(
      1, {.cpu_milli = 1000, .memory_mib = 1000, .gpus = 2, .model = "a"});
  const PodReplayResult one = replay_pods(pods, nodes, {.load = 0.3});
  EXPECT_EQ(one.pods, 1);
  EXPECT_DOUBLE_EQ(one.allocated, 0.3);
  EXPECT_DOUBLE_EQ(one.fragmented, 400.0 / 1400);
  EXPECT_EQ(replay_pods(pods, nodes, {.load = 0.29}).pods, 0);
}

}  // namespace
}  // namespace orrery::rehearse
