// Shares of GPUs on nodes: where to put a pod so that what remains is still useful to other pods.
//
//   F(node) = sum over typical tasks m of p_m x GPU share that m cannot use there
// If m does not fit (too little CPU, memory or GPUs, the wrong model, or m wants no GPU), that
// share is everything free; otherwise it is the free share of those GPUs that have less than m
// requests per GPU. FGD places a pod where F grows least (Weng et al., "Beware of Fragmentation",
// USENIX ATC 2023). Best fit places it where the least CPU and GPU together are left. Within a
// node, a pod that wants a share gets the GPU that leaves least (best fit) or fragments least
// (FGD). Typical tasks are the pods of the trace itself, as in the paper; in operation they would
// be past pods. A node's score for a kind of pod changes only when the node changes, so scores are
// cached.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/words.h"

namespace orrery::cluster {

inline constexpr int kGpuMilli = 1000;
inline constexpr int kGpusOnPodNode = 8;

struct PodAsk {
  int cpu_milli = 0;
  int memory_mib = 0;
  int gpus = 0;
  int gpu_milli = 0;         // per GPU
  std::uint32_t models = 0;  // bits of the acceptable GPU models; 0: any

  bool operator==(const PodAsk&) const = default;
};

struct PodNode {
  int cpu_left = 0;
  int memory_left = 0;
  int gpus = 0;
  std::uint32_t model = 0;  // one bit
  std::array<int, kGpusOnPodNode> gpu_left{};

  int gpu_left_in_all() const;
};

// GPU shares of one pod on one node; bit g is GPU g.
struct PodPlace {
  int node = -1;
  std::uint8_t gpus = 0;
};

bool fits(const PodNode& node, const PodAsk& ask);
void take(PodNode& node, const PodAsk& ask, std::uint8_t gpus);
void give(PodNode& node, const PodAsk& ask, std::uint8_t gpus);

// The expected pod requests, each with its share of all pods.
class TypicalTasks {
 public:
  explicit TypicalTasks(std::span<const PodAsk> pods);

  // Returns F of the node, in thousandths of a GPU.
  double fragmentation(const PodNode& node) const;

 private:
  // Tasks with one GPU demand. by_cpu lists their CPU requests in rising order, each with the share
  // of pods that request at most that.
  struct Demand {
    int gpus = 0;
    int gpu_milli = 0;
    std::uint32_t models = 0;
    double share = 0;
    std::vector<std::pair<int, double>> by_cpu;
  };
  std::vector<Demand> demands_;
};

enum class PodRule { best_fit, fgd };
inline constexpr Word<PodRule> kPodRuleWords[] = {{PodRule::best_fit, "best-fit"},
                                                  {PodRule::fgd, "fgd"}};
constexpr WordTable<PodRule> words_of(PodRule) { return kPodRuleWords; }

class PodPlacer {
 public:
  PodPlacer(std::vector<PodNode> nodes, PodRule rule, TypicalTasks typical);

  // Places the pod and takes the GPUs; returns nullopt if no node has room.
  std::optional<PodPlace> place(const PodAsk& ask);
  const std::vector<PodNode>& nodes() const { return nodes_; }
  double fragmentation() const;  // sum over all nodes, in thousandths of a GPU

 private:
  struct Score {
    double cost = 0;  // lower is better
    std::uint8_t gpus = 0;
    bool fits = false;
    std::uint32_t version = 0;  // version of the node for which it was computed
  };
  struct Kind {
    PodAsk ask;
    std::vector<Score> scores;  // one per node
  };

  Kind& kind_of(const PodAsk& ask);
  Score score(const PodNode& node, double fragmentation, const PodAsk& ask) const;
  Score best_fit_score(const PodNode& node, const PodAsk& ask) const;

  std::vector<PodNode> nodes_;
  std::vector<double> fragmentation_;
  std::vector<std::uint32_t> versions_;  // starts at 1; raised at each change of the node
  PodRule rule_;
  TypicalTasks typical_;
  std::vector<Kind> kinds_;
};

}  // namespace orrery::cluster
