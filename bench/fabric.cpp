// The flow engine and the fabric generator, with answers checked against docs/models/fabric.md.
#include <array>
#include <cmath>
#include <deque>
#include <string>

#include "bench/figure.h"
#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "layers/fabric/topology.h"
#include "layers/fabric/traffic.h"

namespace orrery {
namespace {

// 32 leaves x 32 hosts, 32 spines, 50 GB/s and 1 us per link.
fabric::TreeShape thousand_hosts() { return {}; }

std::unexpected<Diagnostics> wrong(std::string what) {
  return fail({.severity = Severity::error, .code = "bench.wrong", .what = std::move(what)});
}

// Returns the time only if the answer is right: within `tolerance` of `expected`. The speed of a
// wrong answer is worth nothing.
Result<double> checked(double seconds, double got, double expected, double tolerance) {
  if (std::abs(got / expected - 1) <= tolerance) return seconds;
  return wrong("finished at " + std::to_string(got) + " s, expected " + std::to_string(expected));
}

Result<double> all_to_all_even() {
  fabric::TrafficResult result;
  const double seconds = seconds_of([&] {
    const fabric::FabricGraph graph = build_tree(thousand_hosts());
    fabric::Router router(graph, {});
    result = run_traffic(graph, router, fabric::all_to_all(graph.endpoints, megabytes(1)));
  });
  return checked(seconds, result.last, 1023 * 1e6 / 50e9 + 4e-6, 1e-3);
}

// Leaf 0 loses its cable to spine 5: its traffic moves to the next spine, which then carries twice
// as much.
Result<double> all_to_all_failed() {
  fabric::TrafficResult result;
  const double seconds = seconds_of([&] {
    const fabric::FabricGraph graph = build_tree(thousand_hosts());
    fabric::Router router(graph, {});
    router.fail_cable(graph.trees.front().leaf_up(0, 5));
    result = run_traffic(graph, router, fabric::all_to_all(graph.endpoints, megabytes(1)));
  });
  return checked(seconds, result.last, 2 * 992 * 1e6 / 50e9, 1e-2);
}

Result<double> all_to_all_random() {
  fabric::TrafficResult result;
  double busiest = 0;
  const double seconds = seconds_of([&] {
    const fabric::FabricGraph graph = build_tree(thousand_hosts());
    fabric::Router router(graph, {});
    std::vector<fabric::Message> messages = fabric::all_to_all(graph.endpoints, megabytes(1));
    RandomStream random(1, "bench/sizes");
    for (fabric::Message& m : messages) m.bytes *= 0.5 + random.uniform();
    result = run_traffic(graph, router, messages, {.tolerance = 0.004});
    busiest = result.limiting_seconds;
  });
  // The busiest link is idle only at the end, so its bytes give a lower bound.
  if (result.last < busiest) return wrong("ended before the busiest link could");
  return checked(seconds, result.last, busiest, 0.03);
}

Result<double> permutation_8192() {
  fabric::TrafficResult result;
  const double seconds = seconds_of([&] {
    const fabric::FabricGraph graph = fabric::build_tree({.hosts_per_leaf = 32,
                                                          .leaves_per_group = 16,
                                                          .groups = 16,
                                                          .leaf_uplinks = 32,
                                                          .spines_per_group = 32,
                                                          .spine_uplinks = 16,
                                                          .cores = 512});
    fabric::Router router(graph, {});
    result =
        run_traffic(graph, router, fabric::random_permutation(graph.endpoints, megabytes(100), 42));
  });
  if (result.unreachable > 0 || result.last < 0.002) return wrong("impossible finish");
  return seconds;
}

// 100 steps; each begins when the last message of the previous step has arrived.
class RingSteps final : public fabric::FlowObserver {
 public:
  RingSteps(fabric::FlowEngine& engine, const fabric::FabricGraph& graph)
      : engine_(engine), graph_(graph) {
    fabric::Router router(graph, {});
    for (int e = 0; e < graph.endpoints; ++e) {
      router.route(e, (e + 1) % graph.endpoints, 0, paths_.emplace_back());
    }
  }

  void start_step() {
    left_ = paths_.size();
    for (const auto& path : paths_) {
      engine_.start({.path = path, .bytes = 100e6, .latency = path_latency(graph_, path)});
    }
  }

  void on_flow_done(sim::Kernel&, fabric::FlowId, std::uint64_t) override {
    if (--left_ == 0 && ++done_ < 100) start_step();
  }

 private:
  fabric::FlowEngine& engine_;
  const fabric::FabricGraph& graph_;
  std::vector<std::vector<fabric::LinkId>> paths_;
  std::size_t left_ = 0;
  int done_ = 0;
};

Result<double> ring_steps() {
  double last = 0;
  const double seconds = seconds_of([&] {
    const fabric::FabricGraph graph = build_tree(thousand_hosts());
    sim::Kernel kernel;
    fabric::FlowEngine engine(kernel, capacities_of(graph));
    engine.keep_finished(false);
    RingSteps steps(engine, graph);
    engine.observe(&steps);
    steps.start_step();
    kernel.run();
    last = kernel.now().seconds().base();
  });
  return checked(seconds, last, 100 * (100e6 / 50e9 + 4e-6), 1e-3);
}

// A job that all-reduces step by step over the hosts of its leaf, with one ring per direction.
class LeafRing final : public sim::EventHandler, public fabric::FlowObserver {
 public:
  LeafRing(fabric::FlowEngine& engine, const fabric::FabricGraph& graph, fabric::Router& router,
           int leaf, double part)
      : engine_(engine), graph_(graph), part_(part) {
    for (int h = 0; h < kHosts; ++h) {
      for (const int other : {(h + 1) % kHosts, (h + kHosts - 1) % kHosts}) {
        router.route(leaf * kHosts + h, leaf * kHosts + other, 0, paths_.emplace_back());
      }
    }
  }

  void on_event(sim::Kernel&, std::uint32_t, std::uint64_t) override {
    if (++step_ > 2 * (kHosts - 1)) return;
    flying_ = paths_.size();
    for (const auto& path : paths_) {
      engine_.start(
          {.path = path, .bytes = part_, .latency = path_latency(graph_, path), .observer = this});
    }
  }
  void on_flow_done(sim::Kernel& kernel, fabric::FlowId, std::uint64_t) override {
    if (--flying_ == 0) on_event(kernel, 0, 0);
  }
  static constexpr int kHosts = 8;

 private:
  fabric::FlowEngine& engine_;
  const fabric::FabricGraph& graph_;
  double part_;
  std::vector<std::vector<fabric::LinkId>> paths_;
  std::size_t flying_ = 0;
  int step_ = 0;
};

struct LeafRings {
  double seconds = 0;
  double last = 0;
  std::uint64_t visits = 0;
};

LeafRings run_leaf_rings() {
  constexpr int kJobs = 1024;
  LeafRings out;
  out.seconds = seconds_of([&] {
    const fabric::FabricGraph graph = fabric::build_tree({.hosts_per_leaf = LeafRing::kHosts,
                                                          .leaves_per_group = kJobs,
                                                          .leaf_uplinks = LeafRing::kHosts,
                                                          .spines_per_group = LeafRing::kHosts});
    fabric::Router router(graph, {});
    sim::Kernel kernel;
    fabric::FlowEngine engine(kernel, capacities_of(graph));
    engine.keep_finished(false);
    std::deque<LeafRing> jobs;
    for (int j = 0; j < kJobs; ++j) {
      LeafRing& job = jobs.emplace_back(engine, graph, router, j, 1e6 + 1e3 * j);
      kernel.schedule(sim::SimTime::nanoseconds(std::int64_t{37} * j), sim::EventRank::start, job);
    }
    kernel.run();
    out.last = kernel.now().seconds().base();
    out.visits = engine.visits();
  });
  return out;
}

// The 14 steps of the last job: two flows per link, 2 us of latency.
constexpr double kLeafRingsEnd = 37e-9 * 1023 + 14 * (2 * 2.023e6 / 50e9 + 2e-6);

Result<double> leaf_rings() {
  const LeafRings run = run_leaf_rings();
  return checked(run.seconds, run.last, kLeafRingsEnd, 1e-6);
}

Result<double> leaf_rings_visits() {
  const LeafRings run = run_leaf_rings();
  return checked(static_cast<double>(run.visits), run.last, kLeafRingsEnd, 1e-6);
}

Result<double> build_100k() {
  std::size_t hops = 0;
  const double seconds = seconds_of([&] {
    const auto topology = fabric::make_topology({.nodes = 12500, .rails = 8, .radix = 128});
    if (!topology) return;
    const fabric::FabricGraph graph = build_graph(*topology);
    fabric::Router router(graph, {});
    std::vector<fabric::LinkId> path;
    for (const fabric::Message& m : fabric::random_permutation(graph.endpoints, megabytes(1), 1)) {
      path.clear();
      if (router.route(m.source, m.destination, 0, path)) hops += path.size();
    }
  });
  if (hops < 400'000) return wrong("routes are missing");
  return seconds;
}

// Every handler schedules its successor after a random time, so 1,000 timers are always pending.
class Hopper final : public sim::EventHandler {
 public:
  explicit Hopper(std::uint64_t seed) : random_(seed, "bench/events") {}
  void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t data) override {
    if (++run_ > kEvents) return;
    const auto ahead = sim::SimTime::nanoseconds(static_cast<std::int64_t>(random_.next() >> 44));
    kernel.schedule(kernel.now() + ahead, sim::EventRank::control, *this, 0, data);
  }
  static constexpr std::uint64_t kEvents = 4'000'000;

 private:
  RandomStream random_;
  std::uint64_t run_ = 0;
};

Result<double> events_per_second() {
  sim::Kernel kernel;
  Hopper hopper(1);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    kernel.schedule(sim::SimTime::nanoseconds(static_cast<std::int64_t>(i)),
                    sim::EventRank::control, hopper, 0, i);
  }
  const double seconds = seconds_of([&] { kernel.run(); });
  return static_cast<double>(kernel.events_run()) / seconds;
}

}  // namespace

std::vector<SpeedFigure> fabric_figures() {
  return {
      {"flow_alltoall_1024", "s", "1,047,552 flows of 1 MB over leaf and spine", all_to_all_even},
      {"flow_alltoall_1024_failed", "s", "the same with one spine link lost", all_to_all_failed},
      {"flow_alltoall_1024_random", "s", "the same with random sizes, completions batched in 0.4 %",
       all_to_all_random},
      {"flow_permutation_8192", "s", "random permutation of 100 MB, three levels",
       permutation_8192},
      {"flow_ring_1024x100", "s", "100 ring steps of 1,024 hosts", ring_steps},
      {"flow_rings_1024_jobs", "s", "1,024 jobs, each a ring all-reduce on its own leaf of 8 hosts",
       leaf_rings},
      {"flow_rings_1024_jobs_visits", "visits", "flow records walked in it", leaf_rings_visits},
      {"fabric_build_100k", "s", "100,000 endpoints built and routed", build_100k},
      {"sim_events_per_s", "1/s", "events with 1,000 pending", events_per_second},
  };
}

}  // namespace orrery
