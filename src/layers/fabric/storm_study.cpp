#include "layers/fabric/storm_study.h"

#include <algorithm>
#include <cmath>

#include "layers/fabric/fault.h"
#include "layers/fabric/traffic.h"

namespace orrery::fabric {
namespace {

constexpr int kPieces = 2;  // pieces per message if switches spray
constexpr Seconds kSettle = milliseconds(1);
constexpr Seconds kWindow = microseconds(100);
constexpr int kMostWindows = 60;
constexpr double kHurt = 0.9;
// Queues can fill unnoticed before the next link is paused. Rates count as steady if they change by
// at most this share of the wire over this many windows.
constexpr double kAtRest = 1e-3;
constexpr std::size_t kCalm = 10;

// Each node sends to the next node and to others around the machine, none of them a whole number of
// leaves away, so that every leaf sends to several.
std::vector<Message> spread_out(int nodes, int partners) {
  std::vector<Message> out;
  const int most = std::min(partners, nodes - 1);
  for (int n = 0; n < nodes; ++n) {
    int last = 0;
    for (int k = 0; k < most; ++k) {
      const int away = most == nodes - 1 ? k + 1 : k == 0 ? 1 : nodes * k / most - nodes / 32;
      if (away <= last) continue;
      out.push_back({.source = n, .destination = (n + away) % nodes});
      last = away;
    }
  }
  return out;
}

class StormRun {
 public:
  StormRun(const FabricGraph& graph, const StormSpec& spec, int nodes)
      : graph_(graph),
        nodes_(static_cast<std::size_t>(nodes)),
        messages_(spread_out(nodes, spec.partners)),
        fluid_(capacities_of(graph), options_of(spec)),
        has_watchdog_(spec.options.watchdog.has_value()) {
    Router router(graph, spec.routing);
    const int pieces = spec.routing.kind == catalog::RoutingKind::adaptive ? kPieces
                       : spec.routing.kind == catalog::RoutingKind::ecmp   ? spec.queue_pairs
                                                                           : 1;
    std::vector<LinkId> path;
    for (const Message& m : messages_) {
      first_.push_back(flows_);
      for (int piece = 0; piece < pieces; ++piece) {
        path.clear();
        if (!router.route(m.source, m.destination, piece, path) || path.size() < 2) continue;
        if (m.destination == 0) stuck_ = path.back();
        fluid_.add_flow(path);
        ++flows_;
      }
    }
    first_.push_back(flows_);
  }

  StormReport run() {
    StormReport r;
    fluid_.run(kSettle);
    const std::vector<double> before = window(kSettle);
    r.before = mean_of(before) *
               (static_cast<double>(messages_.size()) / static_cast<double>(nodes_)) / line();
    const std::uint64_t pauses = fluid_.pauses();
    fluid_.stick(stuck_);
    r.spread = come_to_rest(mean_of(before));
    const std::vector<double> held = window(kWindow);
    r.pauses = fluid_.pauses() - pauses;
    judge(r, before, held);
    r.back = r.held;
    if (!has_watchdog_) return r;
    fluid_.run(stand_in());
    fluid_.run(kSettle);
    r.back = std::min(1.0, mean_of(window(kSettle)) / mean_of(before));
    return r;
  }

 private:
  // In the study the watchdog acts once everything is steady, however long that really takes.
  static PauseOptions options_of(const StormSpec& spec) {
    PauseOptions options = spec.options;
    if (options.watchdog) options.watchdog = stand_in();
    return options;
  }
  static Seconds stand_in() { return kWindow * (kMostWindows + 1); }

  double line() const {
    return graph_.links[static_cast<std::size_t>(graph_.trees[0].node_up(0))].capacity;
  }

  // Returns the bytes per second of every message.
  std::vector<double> window(Seconds span) {
    std::vector<double> at(messages_.size());
    const auto sum = [&](std::size_t m) {
      double all = 0;
      for (std::size_t f = first_[m]; f < first_[m + 1]; ++f) all += fluid_.delivered(f);
      return all;
    };
    for (std::size_t m = 0; m < at.size(); ++m) at[m] = sum(m);
    fluid_.run(span);
    for (std::size_t m = 0; m < at.size(); ++m) at[m] = (sum(m) - at[m]) / span.base();
    return at;
  }

  // Returns the mean over messages that are neither from nor to the stuck node.
  double mean_of(const std::vector<double>& rates) const {
    double sum = 0, count = 0;
    for (std::size_t m = 0; m < rates.size(); ++m) {
      if (messages_[m].source == 0 || messages_[m].destination == 0) continue;
      sum += rates[m];
      ++count;
    }
    return sum / count;
  }

  Seconds come_to_rest(double before) {
    std::vector<double> seen;
    for (int w = 0; w < kMostWindows; ++w) {
      seen.push_back(mean_of(window(kWindow)));
      const std::size_t n = seen.size();
      if (n > kCalm && std::abs(seen[n - 1] - seen[n - kCalm]) < kAtRest * line()) break;
    }
    const double most = seen.back() + 0.1 * (before - seen.back());
    const auto there = std::ranges::find_if(seen, [&](double rate) { return rate <= most; });
    return kWindow * static_cast<double>(there - seen.begin());
  }

  void judge(StormReport& r, const std::vector<double>& before,
             const std::vector<double>& held) const {
    std::vector<double> left(nodes_, 1);
    for (std::size_t m = 0; m < before.size(); ++m) {
      double& slowest = left[static_cast<std::size_t>(messages_[m].source)];
      if (before[m] > 0) slowest = std::min(slowest, held[m] / before[m]);
    }
    double hurt = 0, kept = 0;
    for (std::size_t n = 1; n < nodes_; ++n) {
      if (left[n] >= kHurt) continue;
      ++hurt;
      kept += left[n];
    }
    r.reach = hurt / static_cast<double>(nodes_ - 1);
    r.left = hurt > 0 ? kept / hurt : 1;
    r.held = std::min(1.0, mean_of(held) / mean_of(before));
  }

  const FabricGraph& graph_;
  std::size_t nodes_;
  std::vector<Message> messages_;
  PauseFluid fluid_;
  bool has_watchdog_;
  std::vector<std::size_t> first_;  // index of a message's first flow
  std::size_t flows_ = 0;
  LinkId stuck_ = -1;
};

}  // namespace

Result<StormReport> study_storm(const Topology& topology, const StormSpec& spec) {
  FabricSpec one = topology.spec;
  one.rails = one.planes = 1;
  one.tiers = topology.tiers;  // a single rail might otherwise need fewer tiers
  one.nodes = std::min(one.nodes, kStormNodes);
  const auto built = make_topology(one);
  if (!built) return std::unexpected(built.error());
  const FabricGraph graph = build_graph(*built);
  if (graph.trees.empty()) {
    return fail(
        fault("fabric.kind", "storms can be studied on trees only", "use a fat tree or rails"));
  }
  if (one.nodes < 3) {
    return fail(fault("fabric.too-small",
                      "the network is too small for a storm to stop other nodes",
                      "use three nodes or more"));
  }
  StormReport r = StormRun(graph, spec, one.nodes).run();
  r.nodes = one.nodes;
  return r;
}

}  // namespace orrery::fabric
