// Comparison with SimGrid (CM02, no cross traffic): the same links, the same routes, and every
// message's completion within 0.1 %. SimGrid shares a link by 1/latency, so both engines are given
// that weight.
//
// SimGrid allows one simulation per process, so each case runs in a child that sends its times
// back.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/base/random.h"
#include "layers/fabric/traffic_fixture.h"

#ifdef ORRERY_HAS_SIMGRID
#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/s4u.hpp>
#endif

namespace orrery {
namespace {

constexpr double kTolerance = 1e-3;

#ifdef ORRERY_HAS_SIMGRID

namespace sg = simgrid::s4u;

// With its default selective update, SimGrid 3.32 does not change the rate of a flow when another
// flow joins its second link, and so loads that link above its capacity; the full update does not
// have this fault.
void configure() {
  for (const char* item : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                           "network/optim:Full", "network/maxmin-selective-update:no"}) {
    sg::Engine::set_config(item);
  }
}

void build_platform(const fabric::FabricGraph& graph, const std::vector<fabric::Message>& messages,
                    fabric::Router& router) {
  sg::NetZone* zone = sg::create_full_zone("net");
  std::vector<sg::Host*> hosts;
  for (int h = 0; h < graph.endpoints; ++h) {
    hosts.push_back(zone->create_host("h" + std::to_string(h), 1e9));
  }
  std::vector<const sg::Link*> links;
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    links.push_back(zone->create_link("l" + std::to_string(l), graph.links[l].capacity)
                        ->set_latency(graph.links[l].latency)
                        ->seal());
  }
  std::vector<fabric::LinkId> path;
  for (const fabric::Message& m : messages) {
    path.clear();
    router.route(m.source, m.destination, 0, path);
    std::vector<sg::LinkInRoute> route;
    for (const fabric::LinkId l : path) route.emplace_back(links[static_cast<std::size_t>(l)]);
    zone->add_route(hosts[static_cast<std::size_t>(m.source)]->get_netpoint(),
                    hosts[static_cast<std::size_t>(m.destination)]->get_netpoint(), nullptr,
                    nullptr, route, false);
  }
  zone->seal();
}

// Messages sorted by start; their finish times in that order.
std::vector<double> simulate(const fabric::FabricGraph& graph,
                             const std::vector<fabric::Message>& messages, fabric::Router& router) {
  // SimGrid's own stacks confuse the address sanitizer; threads do not.
  char name[] = "simgrid_test", contexts[] = "--cfg=contexts/factory:thread";
  char* argv[] = {name, contexts, nullptr};
  int argc = 2;
  sg::Engine engine(&argc, argv);
  configure();
  build_platform(graph, messages, router);
  std::vector<double> finish(messages.size());
  sg::Actor::create("sender", sg::Host::by_name("h0"), [&] {
    std::vector<sg::CommPtr> comms;
    for (const fabric::Message& m : messages) {
      if (m.start > sg::Engine::get_clock()) sg::this_actor::sleep_until(m.start);
      comms.push_back(sg::Comm::sendto_async(sg::Host::by_name("h" + std::to_string(m.source)),
                                             sg::Host::by_name("h" + std::to_string(m.destination)),
                                             static_cast<std::uint64_t>(m.bytes)));
    }
    for (std::size_t i = 0; i < comms.size(); ++i) {
      comms[i]->wait();
      finish[i] = comms[i]->get_finish_time();
    }
  });
  engine.run();
  return finish;
}

// Runs in a child process; returns an empty list if it failed.
std::vector<double> run_simgrid(const fabric::FabricGraph& graph,
                                const std::vector<fabric::Message>& messages,
                                fabric::Router& router) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::vector<double> finish = simulate(graph, messages, router);
    const char* at = reinterpret_cast<const char*>(finish.data());
    std::size_t left = finish.size() * sizeof(double);
    while (left > 0) {
      const ssize_t n = write(ends[1], at, left);
      if (n <= 0) _exit(1);
      at += n;
      left -= static_cast<std::size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<double> finish(messages.size());
  char* at = reinterpret_cast<char*>(finish.data());
  std::size_t left = finish.size() * sizeof(double);
  for (ssize_t n = 1; left > 0 && n > 0;) {
    n = read(ends[0], at, left);
    if (n > 0) {
      at += n;
      left -= static_cast<std::size_t>(n);
    }
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (left > 0 || status != 0) finish.clear();
  return finish;
}

void expect_same(const fabric::FabricGraph& graph, std::vector<fabric::Message> messages,
                 fabric::Router router) {
  std::stable_sort(
      messages.begin(), messages.end(),
      [](const fabric::Message& a, const fabric::Message& b) { return a.start < b.start; });
  for (fabric::Message& m : messages) m.bytes = std::floor(m.bytes);
  fabric::Router ours_router = router;
  const fabric::TrafficResult ours =
      run_traffic(graph, ours_router, messages, {.weigh_by_latency = true});
  const std::vector<double> theirs = run_simgrid(graph, messages, router);
  ASSERT_EQ(theirs.size(), messages.size()) << "SimGrid did not finish";
  double worst = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const double span = theirs[i] - messages[i].start;
    worst = std::max(worst, std::abs(ours.finish[i] - theirs[i]) / span);
  }
  EXPECT_LT(worst, kTolerance);
}

#endif

class SimGrid : public testing::Test {
 protected:
  void SetUp() override {
#ifndef ORRERY_HAS_SIMGRID
    GTEST_SKIP() << "SimGrid is not installed (libsimgrid-dev): no side-by-side comparison";
#endif
  }
};

#ifdef ORRERY_HAS_SIMGRID

fabric::FabricGraph leaf_spine(int leaves, int hosts = 32) {
  return fabric::build_tree({.hosts_per_leaf = hosts,
                             .leaves_per_group = leaves,
                             .leaf_uplinks = hosts,
                             .spines_per_group = hosts});
}

TEST_F(SimGrid, PermutationsOfSeveralSeeds) {
  const fabric::FabricGraph graph = leaf_spine(8);
  for (const std::uint64_t seed : {1, 2, 42}) {
    expect_same(graph, fabric::random_permutation(256, megabytes(100), seed),
                fabric::Router(graph, {}));
  }
}

TEST_F(SimGrid, RingAndIncast) {
  const fabric::FabricGraph graph = leaf_spine(8);
  expect_same(graph, fabric::ring_shift(256, 1, megabytes(100)), fabric::Router(graph, {}));
  expect_same(graph, fabric::ring_shift(256, 77, megabytes(10)), fabric::Router(graph, {}));
  expect_same(graph, fabric::incast(256, 200, 17, megabytes(5)), fabric::Router(graph, {}));
}

TEST_F(SimGrid, AllToAll) {
  for (const int leaves : {1, 2, 4}) {
    const fabric::FabricGraph graph = leaf_spine(leaves);
    expect_same(graph, fabric::all_to_all(32 * leaves, megabytes(1)), fabric::Router(graph, {}));
  }
}

// 65,280 flows take SimGrid minutes, so this runs only in the full tests.
TEST_F(SimGrid, LargeAllToAll) {
  if (std::getenv("ORRERY_FULL") == nullptr) {
    GTEST_SKIP() << "takes long: set ORRERY_FULL to run it";
  }
  const fabric::FabricGraph graph = leaf_spine(8);
  expect_same(graph, fabric::all_to_all(256, megabytes(1)), fabric::Router(graph, {}));
}

TEST_F(SimGrid, RandomCapacitiesSizesAndStarts) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    fabric::FabricGraph graph = leaf_spine(4);
    RandomStream random(seed, "simgrid");
    for (fabric::GraphLink& l : graph.links) l.capacity *= 0.2 + random.uniform();
    std::vector<fabric::Message> messages = fabric::random_permutation(128, megabytes(50), seed);
    for (int extra = 0; extra < 128; ++extra) {
      const auto a = static_cast<fabric::VertexId>(random.below(128));
      const auto b = static_cast<fabric::VertexId>((a + 1 + random.below(126)) % 128);
      bool fresh = true;
      for (const fabric::Message& m : messages)
        fresh = fresh && (m.source != a || m.destination != b);
      if (fresh) messages.push_back({a, b, 50e6});
    }
    for (fabric::Message& m : messages) {
      m.bytes *= 0.05 + random.uniform();
      m.start = random.below(3) == 0 ? 0 : 3e-3 * random.uniform();
    }
    expect_same(graph, messages,
                fabric::Router(graph, {.kind = catalog::RoutingKind::ecmp, .seed = seed}));
  }
}

TEST_F(SimGrid, OneFailedLink) {
  const fabric::FabricGraph graph = leaf_spine(8);
  fabric::Router router(graph, {});
  router.fail_cable(graph.trees[0].leaf_up(0, 5));
  expect_same(graph, fabric::random_permutation(256, megabytes(100), 9), router);
  const fabric::FabricGraph small = leaf_spine(2);
  fabric::Router broken(small, {});
  broken.fail_cable(small.trees[0].leaf_up(1, 3));
  expect_same(small, fabric::all_to_all(64, megabytes(1)), broken);
}

TEST_F(SimGrid, ThreeLevelsTorusAndDragonfly) {
  const fabric::FabricGraph tree = fabric::build_tree({.hosts_per_leaf = 4,
                                                       .leaves_per_group = 4,
                                                       .groups = 8,
                                                       .leaf_uplinks = 4,
                                                       .spines_per_group = 4,
                                                       .spine_uplinks = 4,
                                                       .cores = 16});
  expect_same(tree, fabric::random_permutation(tree.endpoints, megabytes(20), 3),
              fabric::Router(tree, {}));
  for (const fabric::FabricSpec& spec :
       {fabric::FabricSpec{
            .kind = catalog::TopologyKind::torus, .nodes = 64, .rails = 1, .torus = {4, 4, 4}},
        fabric::FabricSpec{
            .kind = catalog::TopologyKind::dragonfly, .nodes = 72, .rails = 1, .radix = 7}}) {
    const fabric::FabricGraph graph = build_graph(*make_topology(spec));
    expect_same(graph, fabric::random_permutation(graph.endpoints, megabytes(20), 3),
                fabric::Router(graph, {}));
  }
}

#else

TEST_F(SimGrid, SideBySide) {}

#endif

}  // namespace
}  // namespace orrery
