#include "layers/cluster/fragmentation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/math.h"

namespace orrery::cluster {
namespace {

// CPU (milli) of the largest node of the openb fleet, by which best fit normalises, as its authors
// do.
constexpr double kMostCpu = 128'000;
constexpr double kMostGpu = 8'000;
// A score is rounded to a whole per cent, as in the authors' plugin.
constexpr double kSteps = 100;

bool is_share(const PodAsk& ask) { return ask.gpus == 1 && ask.gpu_milli < kGpuMilli; }

std::size_t slot(int i) { return static_cast<std::size_t>(i); }

// For whole GPUs, returns a mask of the first ones that are free.
std::uint8_t whole_gpus(const PodNode& node, const PodAsk& ask) {
  int left = ask.gpus;
  unsigned mask = 0;
  for (int g = 0; g < node.gpus && left > 0; ++g) {
    if (node.gpu_left[slot(g)] < ask.gpu_milli) continue;
    mask |= 1u << g;
    --left;
  }
  return static_cast<std::uint8_t>(mask);
}

int gpus_with(const PodNode& node, int milli) {
  int count = 0;
  for (int g = 0; g < node.gpus; ++g) count += node.gpu_left[slot(g)] >= milli ? 1 : 0;
  return count;
}

bool has_model(std::uint32_t wanted, const PodNode& node) {
  return wanted == 0 || (wanted & node.model) != 0;
}

}  // namespace

int PodNode::gpu_left_in_all() const {
  return std::accumulate(gpu_left.begin(), gpu_left.begin() + gpus, 0);
}

bool fits(const PodNode& node, const PodAsk& ask) {
  if (node.cpu_left < ask.cpu_milli || node.memory_left < ask.memory_mib) return false;
  if (ask.gpus == 0) return true;
  return has_model(ask.models, node) && gpus_with(node, ask.gpu_milli) >= ask.gpus;
}

void take(PodNode& node, const PodAsk& ask, std::uint8_t gpus) {
  node.cpu_left -= ask.cpu_milli;
  node.memory_left -= ask.memory_mib;
  for (int g = 0; g < node.gpus; ++g) {
    if ((gpus >> g & 1) != 0) node.gpu_left[slot(g)] -= ask.gpu_milli;
  }
}

void give(PodNode& node, const PodAsk& ask, std::uint8_t gpus) {
  take(node,
       {.cpu_milli = -ask.cpu_milli,
        .memory_mib = -ask.memory_mib,
        .gpus = ask.gpus,
        .gpu_milli = -ask.gpu_milli},
       gpus);
}

TypicalTasks::TypicalTasks(std::span<const PodAsk> pods) {
  for (const PodAsk& pod : pods) {
    const auto is_same = [&pod](const Demand& d) {
      return d.gpus == pod.gpus && d.gpu_milli == pod.gpu_milli && d.models == pod.models;
    };
    auto demand = std::ranges::find_if(demands_, is_same);
    if (demand == demands_.end()) {
      demands_.push_back({.gpus = pod.gpus, .gpu_milli = pod.gpu_milli, .models = pod.models});
      demand = demands_.end() - 1;
    }
    demand->by_cpu.emplace_back(pod.cpu_milli, 1 / static_cast<double>(pods.size()));
  }
  for (Demand& demand : demands_) {
    std::ranges::sort(demand.by_cpu);
    std::vector<std::pair<int, double>> merged;
    for (const auto& [cpu, share] : demand.by_cpu) {
      demand.share += share;
      if (merged.empty() || merged.back().first != cpu) merged.emplace_back(cpu, 0);
      merged.back().second = demand.share;
    }
    demand.by_cpu = std::move(merged);
  }
}

double TypicalTasks::fragmentation(const PodNode& node) const {
  const int free = node.gpu_left_in_all();
  if (free == 0) return 0;
  double sum = 0;
  for (const Demand& demand : demands_) {
    double runs_here = 0;  // share of pods with this demand whose CPU request fits the node
    const bool has_gpus = demand.gpus > 0 && has_model(demand.models, node) &&
                          gpus_with(node, demand.gpu_milli) >= demand.gpus;
    if (has_gpus) {
      const auto above = std::ranges::upper_bound(demand.by_cpu, node.cpu_left, {},
                                                  &std::pair<int, double>::first);
      runs_here = above == demand.by_cpu.begin() ? 0 : (above - 1)->second;
    }
    sum += (demand.share - runs_here) * free;
    if (runs_here == 0) continue;
    int too_small = 0;
    for (int g = 0; g < node.gpus; ++g) {
      if (node.gpu_left[slot(g)] < demand.gpu_milli) too_small += node.gpu_left[slot(g)];
    }
    sum += runs_here * too_small;
  }
  return sum;
}

PodPlacer::PodPlacer(std::vector<PodNode> nodes, PodRule rule, TypicalTasks typical)
    : nodes_(std::move(nodes)),
      versions_(nodes_.size(), 1),
      rule_(rule),
      typical_(std::move(typical)) {
  for (const PodNode& node : nodes_) fragmentation_.push_back(typical_.fragmentation(node));
}

double PodPlacer::fragmentation() const {
  return std::accumulate(fragmentation_.begin(), fragmentation_.end(), 0.0);
}

PodPlacer::Kind& PodPlacer::kind_of(const PodAsk& ask) {
  const auto known = std::ranges::find(kinds_, ask, &Kind::ask);
  if (known != kinds_.end()) return *known;
  kinds_.push_back({.ask = ask, .scores = std::vector<Score>(nodes_.size())});
  return kinds_.back();
}

PodPlacer::Score PodPlacer::best_fit_score(const PodNode& node, const PodAsk& ask) const {
  Score s{.gpus = whole_gpus(node, ask), .fits = true};
  if (is_share(ask)) {
    int tightest = -1;
    for (int g = 0; g < node.gpus; ++g) {
      const int left = node.gpu_left[slot(g)];
      if (left < ask.gpu_milli) continue;
      if (tightest < 0 || left < node.gpu_left[slot(tightest)]) tightest = g;
    }
    s.gpus = static_cast<std::uint8_t>(1u << tightest);
  }
  const int gpu_left = node.gpu_left_in_all() - ask.gpus * ask.gpu_milli;
  s.cost = (node.cpu_left - ask.cpu_milli) / kMostCpu + gpu_left / kMostGpu;
  return s;
}

PodPlacer::Score PodPlacer::score(const PodNode& node, double fragmentation,
                                  const PodAsk& ask) const {
  if (!fits(node, ask)) return {};
  if (rule_ == PodRule::best_fit) return best_fit_score(node, ask);
  Score best;
  const auto try_gpus = [&](std::uint8_t gpus) {
    PodNode after = node;
    take(after, ask, gpus);
    const double grown = typical_.fragmentation(after) - fragmentation;
    const double cost = -std::floor(kSteps / (1 + math::exp(grown / kGpuMilli)));
    if (!best.fits || cost < best.cost) best = {.cost = cost, .gpus = gpus, .fits = true};
  };
  if (!is_share(ask)) {
    try_gpus(whole_gpus(node, ask));
    return best;
  }
  for (int g = 0; g < node.gpus; ++g) {
    const int left = node.gpu_left[slot(g)];
    const auto earlier = node.gpu_left.begin() + g;
    // GPUs with as much left as an earlier one give the same score.
    if (left < ask.gpu_milli || std::find(node.gpu_left.begin(), earlier, left) != earlier)
      continue;
    try_gpus(static_cast<std::uint8_t>(1u << g));
  }
  return best;
}

std::optional<PodPlace> PodPlacer::place(const PodAsk& ask) {
  Kind& kind = kind_of(ask);
  int best = -1;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Score& s = kind.scores[n];
    if (s.version != versions_[n]) {
      s = score(nodes_[n], fragmentation_[n], ask);
      s.version = versions_[n];
    }
    if (s.fits && (best < 0 || s.cost < kind.scores[slot(best)].cost)) best = static_cast<int>(n);
  }
  if (best < 0) return std::nullopt;
  const std::uint8_t gpus = kind.scores[slot(best)].gpus;
  take(nodes_[slot(best)], ask, gpus);
  fragmentation_[slot(best)] = typical_.fragmentation(nodes_[slot(best)]);
  ++versions_[slot(best)];
  return PodPlace{.node = best, .gpus = gpus};
}

}  // namespace orrery::cluster
