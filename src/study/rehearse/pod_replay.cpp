#include "study/rehearse/pod_replay.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/random.h"

namespace orrery::rehearse {
namespace {

using cluster::PodAsk;
using cluster::PodNode;

// One bit per model, in the order in which models are found.
class ModelBits {
 public:
  std::uint32_t bit(const std::string& model) {
    auto it = std::ranges::find(models_, model);
    if (it == models_.end()) it = models_.insert(it, model);
    return 1u << std::min<std::ptrdiff_t>(31, it - models_.begin());
  }

 private:
  std::vector<std::string> models_;
};

std::vector<PodNode> nodes_of(std::span<const workload::PodNodeRecord> records, ModelBits& bits) {
  std::vector<PodNode> nodes;
  for (const workload::PodNodeRecord& r : records) {
    PodNode node{.cpu_left = r.cpu_milli,
                 .memory_left = r.memory_mib,
                 .gpus = r.gpus,
                 .model = bits.bit(r.model)};
    std::fill_n(node.gpu_left.begin(), r.gpus, cluster::kGpuMilli);
    nodes.push_back(node);
  }
  return nodes;
}

std::vector<PodAsk> asks_of(std::span<const workload::PodRecord> pods, ModelBits& bits) {
  std::vector<PodAsk> asks;
  for (const workload::PodRecord& p : pods) {
    PodAsk ask{.cpu_milli = p.cpu_milli,
               .memory_mib = p.memory_mib,
               .gpus = p.gpus,
               .gpu_milli = p.gpus > 0 ? p.gpu_milli : 0};
    for (const std::string& model : p.models) ask.models |= bits.bit(model);
    asks.push_back(ask);
  }
  return asks;
}

// Returns the trace's pods shuffled, then more pods drawn from it until the load is reached.
std::vector<PodAsk> inflated(const std::vector<PodAsk>& pods, double gpu_milli,
                             RandomStream random) {
  std::vector<PodAsk> all = pods;
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
  double asked = 0;
  const auto milli = [](const PodAsk& p) { return static_cast<double>(p.gpus) * p.gpu_milli; };
  std::size_t kept = 0;
  while (kept < all.size() && asked + milli(all[kept]) <= gpu_milli) asked += milli(all[kept++]);
  if (kept < all.size()) {
    all.resize(kept);
    return all;
  }
  // A trace without GPUs would never reach the load.
  for (std::size_t guard = pods.size() * 100; guard > 0; --guard) {
    const PodAsk& more = pods[random.below(pods.size())];
    if (asked + milli(more) > gpu_milli) break;
    asked += milli(more);
    all.push_back(more);
  }
  return all;
}

}  // namespace

PodReplayResult replay_pods(std::span<const workload::PodRecord> pods,
                            std::span<const workload::PodNodeRecord> nodes,
                            const PodReplayOptions& options) {
  ModelBits bits;
  std::vector<PodNode> stand = nodes_of(nodes, bits);
  double there = 0;
  for (const PodNode& n : stand) there += static_cast<double>(n.gpus) * cluster::kGpuMilli;
  const std::vector<PodAsk> asks = asks_of(pods, bits);
  const auto stream = inflated(asks, options.load * there, RandomStream(options.seed, "pods"));
  cluster::PodPlacer placer(std::move(stand), options.rule, cluster::TypicalTasks(asks));
  PodReplayResult result{.pods = static_cast<int>(stream.size())};
  double used = 0;
  for (const PodAsk& ask : stream) {
    if (!placer.place(ask)) {
      ++result.turned_away;
      continue;
    }
    ++result.placed;
    used += static_cast<double>(ask.gpus) * ask.gpu_milli;
  }
  result.allocated = there > 0 ? used / there : 0;
  result.fragmented = used < there ? placer.fragmentation() / (there - used) : 0;
  return result;
}

}  // namespace orrery::rehearse
