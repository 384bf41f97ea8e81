// Speed of the queue in simulated time: traces of jobs under a policy.
//
// The Philly trace may not be shipped. It is read from the folder that ORRERY_TRACES names; without
// it, a synthetic stream of the same size and distributions is used (workload/job_synthesis.h).
#include "study/rehearse/replay.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench/figure.h"
#include "core/base/random.h"
#include "core/workload/job_synthesis.h"
#include "study/rehearse/pod_replay.h"

namespace orrery {
namespace {

// A fleet that these jobs keep three quarters busy, so that a queue builds up.
constexpr int kNodes = 64;
constexpr int kGpusPerNode = 8;
constexpr int kNodesPerLeaf = 8;
constexpr int kReplayTries = 3;

std::string text_of_trace(const char* name) {
  const char* folder = std::getenv("ORRERY_TRACES");
  std::ifstream file(std::string(folder == nullptr ? "" : folder) + '/' + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<workload::JobTrace> philly_jobs() {
  const std::string text = text_of_trace("philly_jobs.csv");
  if (text.empty()) return workload::synthesize_jobs(workload::philly_mix(), 1);
  return workload::read_jobs(text, "philly_jobs.csv");
}

Result<double> replay_philly() {
  const auto trace = philly_jobs();
  if (!trace) return std::unexpected(trace.error());
  double least = 1e9;
  for (int i = 0; i < kReplayTries; ++i) {
    least = std::min(least, seconds_of([&] {
                       const cluster::NodePool pool(std::vector<int>(kNodes, kGpusPerNode),
                                                    cluster::PlacementRule::tree,
                                                    cluster::even_tree(kNodes, kNodesPerLeaf, 4));
                       rehearse::replay_jobs(trace->jobs, pool,
                                             {.queue = {.backfill = cluster::BackfillVariant::easy,
                                                        .requeue_delay = seconds(120)},
                                              .node_mtbf = days(60),
                                              .repair = hours(4),
                                              .checkpoint = hours(1)});
                     }));
  }
  return least;
}

Result<double> replay_fifo() {
  const auto trace = philly_jobs();
  if (!trace) return std::unexpected(trace.error());
  double least = 1e9;
  for (int i = 0; i < kReplayTries; ++i) {
    least =
        std::min(least, seconds_of([&] {
                   rehearse::replay_jobs(trace->jobs, cluster::NodePool({kNodes * kGpusPerNode}),
                                         {.queue = {.backfill = cluster::BackfillVariant::fifo}});
                 }));
  }
  return static_cast<double>(trace->jobs.size()) / least;
}

struct Pods {
  std::vector<workload::PodRecord> pods;
  std::vector<workload::PodNodeRecord> nodes;
};

// As many pods and nodes as in the openb trace, with its common sizes.
Pods openb_like() {
  constexpr int kPods = 8152;
  constexpr int kShares[] = {1000, 1000, 1000, 810, 470, 320, 650, 230};
  constexpr int kCpus[] = {3152, 11'300, 8000, 11'908, 4000, 12'500, 32'000};
  RandomStream random(1, "bench/pods");
  Pods made;
  for (int i = 0; i < kPods; ++i) {
    workload::PodRecord pod{.cpu_milli = kCpus[random.below(std::size(kCpus))],
                            .memory_mib = 16'384,
                            .gpus = random.below(8) == 0 ? 0 : 1};
    if (pod.gpus == 1) pod.gpu_milli = kShares[random.below(std::size(kShares))];
    if (pod.gpu_milli == 1000 && random.below(50) == 0) pod.gpus = 8;
    made.pods.push_back(pod);
  }
  for (int i = 0; i < 1213; ++i) {
    const bool is_wide = i % 2 == 0;
    made.nodes.push_back({.cpu_milli = 96'000,
                          .memory_mib = 393'216,
                          .gpus = is_wide ? 8 : 2,
                          .model = is_wide ? "G2" : "T4"});
  }
  return made;
}

Result<Pods> openb() {
  const std::string pods = text_of_trace("openb_pod_list_default.csv");
  const std::string nodes = text_of_trace("openb_node_list_gpu_node.csv");
  if (pods.empty() || nodes.empty()) return openb_like();
  auto read = workload::read_pods(pods, "pods");
  auto stand = workload::read_pod_nodes(nodes, "nodes");
  if (!read) return std::unexpected(read.error());
  if (!stand) return std::unexpected(stand.error());
  return Pods{std::move(*read), std::move(*stand)};
}

Result<double> replay_openb() {
  const auto trace = openb();
  if (!trace) return std::unexpected(trace.error());
  return seconds_of([&] { rehearse::replay_pods(trace->pods, trace->nodes, {.load = 1.3}); });
}

}  // namespace

std::vector<SpeedFigure> replay_figures() {
  return {{.name = "replay_philly",
           .unit = "s",
           .what = "82,247 jobs with EASY backfill on a tree of 64 nodes that fail",
           .measure = replay_philly},
          {.name = "replay_jobs_per_s",
           .unit = "1/s",
           .what = "the same jobs, FIFO in one pool of 512 GPUs",
           .measure = replay_fifo},
          {.name = "replay_openb",
           .unit = "s",
           .what = "8,152 pods, repeated until they need 1.3 times the 1,213 nodes, with FGD",
           .measure = replay_openb}};
}

}  // namespace orrery
