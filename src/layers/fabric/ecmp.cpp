#include "layers/fabric/ecmp.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "layers/fabric/traffic.h"

namespace orrery::fabric {
namespace {

struct Trial {
  double worst_load = 0;
  double mean_rate = 0;
  double least_rate = 1;
};

Trial run_trial(const FabricGraph& graph, const EcmpStudy& study, std::uint64_t seed) {
  Router router(graph, {.kind = study.routing, .seed = seed});
  const auto messages = random_permutation(graph.endpoints, Bytes(1), seed);
  const auto parts = static_cast<std::size_t>(std::max(1, study.queue_pairs));
  std::vector<double> load(graph.links.size(), 0);
  std::vector<LinkId> paths;  // four links per queue pair
  for (const Message& m : messages) {
    if (m.source / study.hosts_per_leaf == m.destination / study.hosts_per_leaf) continue;
    for (std::size_t q = 0; q < parts; ++q) {
      router.route(m.source, m.destination, static_cast<int>(q), paths);
    }
  }
  for (const LinkId l : paths) {
    load[static_cast<std::size_t>(l)] += 1 / static_cast<double>(parts);
  }
  Trial t;
  const std::size_t links_a_message = 4 * parts;
  double sum = 0;
  for (std::size_t at = 0; at + links_a_message <= paths.size(); at += links_a_message) {
    double rate = 0;
    for (std::size_t q = 0; q < parts; ++q) {
      double worst = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        worst = std::max(worst, load[static_cast<std::size_t>(paths[at + 4 * q + i])]);
      }
      rate += 1 / (worst * static_cast<double>(parts));
    }
    sum += rate;
    t.least_rate = std::min(t.least_rate, rate);
  }
  const std::size_t routed = paths.size() / links_a_message;
  t.mean_rate = routed > 0 ? sum / static_cast<double>(routed) : 1;
  t.worst_load = load.empty() ? 0 : *std::max_element(load.begin(), load.end());
  return t;
}

double deviation(double sum, double squares, double n) {
  return n > 1 ? std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)) * n / (n - 1)) : 0;
}

}  // namespace

EcmpSpread ecmp_spread(const EcmpStudy& study) {
  const FabricGraph graph = build_tree({.hosts_per_leaf = study.hosts_per_leaf,
                                        .leaves_per_group = study.leaves,
                                        .leaf_uplinks = study.spines,
                                        .spines_per_group = study.spines});
  EcmpSpread out;
  double load2 = 0, rate2 = 0;
  const int trials = std::max(1, study.trials);
  for (int i = 0; i < trials; ++i) {
    const Trial t = run_trial(graph, study, study.seed + static_cast<std::uint64_t>(i));
    out.worst_load += t.worst_load;
    out.mean_rate += t.mean_rate;
    out.least_rate += t.least_rate;
    load2 += t.worst_load * t.worst_load;
    rate2 += t.mean_rate * t.mean_rate;
  }
  const double n = trials;
  out.worst_load_deviation = deviation(out.worst_load, load2, n);
  out.mean_rate_deviation = deviation(out.mean_rate, rate2, n);
  out.worst_load /= n;
  out.mean_rate /= n;
  out.least_rate /= n;
  return out;
}

}  // namespace orrery::fabric
