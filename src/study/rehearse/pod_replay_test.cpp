#include "study/rehearse/pod_replay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace orrery::rehearse {
namespace {

std::string trace_text(const std::string& name) {
  const char* folder = std::getenv("ORRERY_TRACES");
  std::ifstream file(std::string(folder == nullptr ? "" : folder) + '/' + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PodReplay, FillsAFleetAndTurnsTheRestAway) {
  const std::vector<workload::PodRecord> pods{{.cpu_milli = 1000, .gpus = 1, .gpu_milli = 500}};
  const std::vector<workload::PodNodeRecord> nodes(
      3, {.cpu_milli = 64'000, .memory_mib = 1000, .gpus = 4, .model = "a"});
  const PodReplayResult r = replay_pods(pods, nodes, {.load = 2});
  EXPECT_EQ(r.placed, 24);
  EXPECT_EQ(r.turned_away, 24);
  EXPECT_DOUBLE_EQ(r.allocated, 1);
}

TEST(PodReplay, ReadsTheColumnsOfOpenb) {
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
TEST(PodReplay, FgdFillsOpenbFurtherThanBestFitAsItsAuthorsReport) {
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

}  // namespace
}  // namespace orrery::rehearse
