#include "layers/fabric/flow_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/random.h"
#include "layers/fabric/traffic_fixture.h"

namespace orrery::fabric {
namespace {

// Flows over bare links, started at once or later, with their finish in seconds.
struct Bench {
  sim::Kernel kernel;
  FlowEngine engine;
  explicit Bench(std::vector<double> capacities) : engine(kernel, std::move(capacities)) {}
  double finish(FlowId f) const { return engine.finish_time(f).seconds().base(); }
};

// Looks at the rates at regular instants, after they have settled.
struct Watcher : sim::EventHandler {
  Watcher(FlowEngine& e, sim::SimTime p) : engine(e), period(p) {}
  FlowEngine& engine;
  sim::SimTime period;
  double worst = 0;
  int looks = 0;
  void begin(sim::Kernel& kernel) { kernel.schedule(period, sim::EventRank::settle, *this, 0, 0); }
  void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t again) override {
    // An instant's settling may have been scheduled after this look: look behind it.
    if (again == 0) {
      kernel.schedule(kernel.now(), sim::EventRank::settle, *this, 0, 1);
      return;
    }
    worst = std::max(worst, engine.violation());
    ++looks;
    if (engine.active() + engine.waiting() > 0) {
      kernel.schedule(kernel.now() + period, sim::EventRank::settle, *this, 0, 0);
    }
  }
};

TEST(FlowEngine, LatencyThenBandwidth) {
  Bench b({100.0});
  const std::vector<LinkId> path{0};
  const FlowId f = b.engine.start({.path = path, .bytes = 50, .latency = 2});
  b.kernel.run();
  EXPECT_NEAR(b.finish(f), 2.5, 1e-9);
}

// The classic: one long flow over two links, one short on each. 5/5 then the rest.
TEST(FlowEngine, LinearNetwork) {
  Bench b({10.0, 10.0});
  const std::vector<LinkId> both{0, 1}, first{0}, second{1};
  const FlowId l = b.engine.start({.path = both, .bytes = 100});
  const FlowId s = b.engine.start({.path = first, .bytes = 25});
  const FlowId t = b.engine.start({.path = second, .bytes = 50});
  b.kernel.run();
  EXPECT_NEAR(b.finish(s), 5, 1e-9);   // at 5 each
  EXPECT_NEAR(b.finish(t), 10, 1e-9);  // the long flow is held to 5 by the second link
  EXPECT_NEAR(b.finish(l), 15, 1e-9);  // 50 bytes at 5, then 50 at 10
}

TEST(FlowEngine, WeightsCapsAndPriorities) {
  Bench b({12.0});
  const std::vector<LinkId> path{0};
  const FlowId heavy = b.engine.start({.path = path, .bytes = 80, .weight = 2});
  const FlowId light = b.engine.start({.path = path, .bytes = 40, .weight = 1});
  b.kernel.run();
  EXPECT_NEAR(b.finish(heavy), 10, 1e-9);
  EXPECT_NEAR(b.finish(light), 10, 1e-9);

  Bench c({12.0});
  const FlowId capped = c.engine.start({.path = path, .bytes = 20, .cap = 2});
  const FlowId free = c.engine.start({.path = path, .bytes = 100});
  c.kernel.run();
  EXPECT_NEAR(c.finish(capped), 10, 1e-9);
  EXPECT_NEAR(c.finish(free), 10, 1e-9);

  Bench d({10.0});
  const FlowId low = d.engine.start({.path = path, .bytes = 50, .priority = 0});
  const FlowId high = d.engine.start({.path = path, .bytes = 50, .priority = 1});
  d.kernel.run();
  EXPECT_NEAR(d.finish(high), 5, 1e-9);
  EXPECT_NEAR(d.finish(low), 10, 1e-9);
}

TEST(FlowEngine, ALostLinkStopsItsFlowsAndOthersGoOn) {
  Bench b({10.0, 10.0});
  const std::vector<LinkId> first{0}, second{1};
  const FlowId stuck = b.engine.start({.path = first, .bytes = 100});
  const FlowId moves = b.engine.start({.path = second, .bytes = 100});
  b.engine.set_capacity(0, BytesPerSecond(0));
  b.kernel.run();
  EXPECT_TRUE(b.engine.is_done(moves));
  EXPECT_FALSE(b.engine.is_done(stuck));
  EXPECT_EQ(b.engine.active(), 1u);
  b.engine.set_capacity(0, BytesPerSecond(50));
  b.kernel.run();
  EXPECT_NEAR(b.finish(stuck), 12, 1e-9);
}

TEST(FlowEngine, AMessageToItselfArrivesAfterItsLatency) {
  Bench b({10.0});
  const FlowId f = b.engine.start({.path = {}, .bytes = 1e9, .latency = 0.5});
  b.kernel.run();
  EXPECT_NEAR(b.finish(f), 0.5, 1e-9);
}

// Random flows over random links: every rate vector must carry the certificate of max-min fairness,
// with weights and caps, while flows come and go.
TEST(FlowEngine, MaxMinCertificateOnRandomCases) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomStream random(seed, "flow-test");
    const std::size_t links = 2 + random.below(20);
    std::vector<double> capacities;
    for (std::size_t l = 0; l < links; ++l) capacities.push_back(1 + 99 * random.uniform());
    sim::Kernel kernel;
    FlowEngine engine(kernel, capacities);
    for (int f = 0; f < 60; ++f) {
      std::vector<LinkId> path;
      for (std::size_t l = 0; l < links; ++l) {
        if (random.below(4) == 0) path.push_back(static_cast<LinkId>(l));
      }
      engine.start(
          {.path = path,
           .bytes = 1000 * random.uniform(),
           .latency = random.below(3) == 0 ? random.uniform() : 0,
           .weight = seed % 2 == 0 ? 0.5 + random.uniform() : 1,
           .cap = seed % 3 == 0 && random.below(3) == 0 ? 20 * random.uniform() : kUncapped});
    }
    Watcher watcher(engine, sim::SimTime::from(Seconds(0.37)));
    watcher.begin(kernel);
    kernel.run();
    EXPECT_GT(watcher.looks, 5);
    EXPECT_LT(watcher.worst, 1e-9) << seed;
    EXPECT_EQ(engine.active(), 0u);
  }
}

TEST(FlowEngine, NoLinkAboveCapacityNoFlowBelowItsShare) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RandomStream random(seed, "fabric-test");
    const FabricGraph graph = build_tree(
        {.hosts_per_leaf = 8, .leaves_per_group = 8, .leaf_uplinks = 8, .spines_per_group = 4});
    Router router(graph, {.kind = catalog::RoutingKind::ecmp, .seed = seed});
    sim::Kernel kernel;
    FlowEngine engine(kernel, capacities_of(graph));
    std::vector<LinkId> path;
    for (int f = 0; f < 500; ++f) {
      path.clear();
      const auto s = static_cast<VertexId>(random.below(64)),
                 d = static_cast<VertexId>(random.below(64));
      ASSERT_TRUE(router.route(s, d, 0, path));
      engine.start(
          {.path = path, .bytes = 1e6 * random.uniform(), .latency = 1e-4 * random.uniform()});
    }
    Watcher watcher(engine, sim::SimTime::from(microseconds(2)));
    watcher.begin(kernel);
    kernel.run();
    EXPECT_GT(watcher.looks, 5);
    EXPECT_LT(watcher.worst, 1e-9);
  }
}

TEST(Traffic, AllToAllTakesItsIdealTime) {
  for (const int leaves : {2, 4, 8}) {
    const FabricGraph graph = build_tree({.leaves_per_group = leaves});
    Router router(graph, {});
    const int n = graph.endpoints;
    const TrafficResult r = run_traffic(graph, router, all_to_all(n, megabytes(1)));
    EXPECT_NEAR(r.last, (n - 1) * 1e6 / 50e9 + 2e-6, 2.1e-6);
    EXPECT_EQ(r.unreachable, 0u);
  }
}

TEST(Traffic, BytesAreConserved) {
  // What the busiest link needs for its bytes is a bound from below; the receiver of an incast
  // meets it exactly.
  const FabricGraph graph = build_tree({.leaves_per_group = 4});
  Router router(graph, {});
  const TrafficResult r =
      run_traffic(graph, router, incast(graph.endpoints, 100, 7, megabytes(10)));
  EXPECT_NEAR(r.limiting_seconds, 100 * 10e6 / 50e9, 1e-12);
  EXPECT_NEAR(r.last, r.limiting_seconds, 4.1e-6);
  EXPECT_EQ(graph.link_name(r.limiting_link), "leaf 0 -> node 7");
}

TEST(Traffic, RelabellingHostsOfALeafChangesNothing) {
  const FabricGraph graph = build_tree({.leaves_per_group = 8});
  std::vector<Message> messages = random_permutation(graph.endpoints, megabytes(20), 3);
  RandomStream random(3, "sizes");
  for (Message& m : messages) m.bytes *= random.uniform();
  Router router(graph, {.kind = catalog::RoutingKind::adaptive});
  const TrafficResult plain = run_traffic(graph, router, messages);
  // Leaves renamed: leaf l becomes leaf 7 - l, hosts keep their place.
  std::vector<Message> renamed = messages;
  const auto rename = [](VertexId e) { return (7 - e / 32) * 32 + e % 32; };
  for (Message& m : renamed) {
    m.source = rename(m.source);
    m.destination = rename(m.destination);
  }
  Router fixed_a(graph, {}), fixed_b(graph, {});
  const TrafficResult a = run_traffic(graph, fixed_a, messages);
  const TrafficResult b = run_traffic(graph, fixed_b, renamed);
  for (std::size_t i = 0; i < messages.size(); ++i) EXPECT_NEAR(a.finish[i], b.finish[i], 1e-9);
  EXPECT_LE(plain.last, a.last);
}

TEST(Traffic, SameSeedSameBytes) {
  const FabricGraph graph = build_tree({.leaves_per_group = 8});
  const auto messages = random_permutation(graph.endpoints, megabytes(10), 5);
  Router a(graph, {.kind = catalog::RoutingKind::ecmp, .seed = 9}),
      b(graph, {.kind = catalog::RoutingKind::ecmp, .seed = 9});
  Router c(graph, {.kind = catalog::RoutingKind::ecmp, .seed = 10});
  const auto first = run_traffic(graph, a, messages), second = run_traffic(graph, b, messages);
  EXPECT_EQ(first.finish, second.finish);
  EXPECT_NE(first.finish, run_traffic(graph, c, messages).finish);
}

TEST(Traffic, BatchedCompletionsStayWithinOnePercent) {
  const FabricGraph graph = build_tree({.leaves_per_group = 2});
  std::vector<Message> messages = all_to_all(graph.endpoints, megabytes(1));
  RandomStream random(1, "bench/sizes");
  for (Message& m : messages) m.bytes *= 0.5 + random.uniform();
  Router a(graph, {}), b(graph, {});
  const TrafficResult exact = run_traffic(graph, a, messages);
  const TrafficResult batched = run_traffic(graph, b, messages, {.tolerance = 0.004});
  EXPECT_LT(batched.solves * 10, exact.solves);
  EXPECT_NEAR(batched.last / exact.last, 1, 0.01);
  EXPECT_GE(batched.last, exact.last * (1 - 1e-9));
}

TEST(Traffic, StaggeredStartsAndPriorities) {
  const FabricGraph graph = build_tree({.leaves_per_group = 2});
  Router router(graph, {});
  // Two messages into host 0; the later, urgent one takes the whole link while it lasts.
  const std::vector<Message> messages{{1, 0, 100e6, 0, 0}, {2, 0, 50e6, 1e-3, 1}};
  const TrafficResult r = run_traffic(graph, router, messages);
  EXPECT_NEAR(r.finish[1], 1e-3 + 2e-6 + 50e6 / 50e9, 1e-9);
  EXPECT_NEAR(r.finish[0], 2e-6 + 150e6 / 50e9, 1e-9);
}

}  // namespace
}  // namespace orrery::fabric
