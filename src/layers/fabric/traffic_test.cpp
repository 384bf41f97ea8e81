#include "layers/fabric/traffic.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/random.h"
#include "layers/fabric/flow_engine.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/router.h"
#include "layers/fabric/traffic_fixture.h"

namespace orrery::fabric {
namespace {

TEST(Traffic, all_to_all_takes_its_ideal_time) {
  for (const int leaves : {2, 4, 8}) {
    const FabricGraph graph = build_tree({.leaves_per_group = leaves});
    Router router(graph, {});
    const int n = graph.endpoints;
    const TrafficResult r = run_traffic(graph, router, all_to_all(n, megabytes(1)));
    EXPECT_NEAR(r.last, (n - 1) * 1e6 / 50e9 + 2e-6, 2.1e-6);
    EXPECT_EQ(r.unreachable, 0u);
  }
}

TEST(Traffic, bytes_are_conserved) {
  // The time that the busiest link needs for its bytes is a lower bound; the receiver of an incast
  // meets it exactly.
  const FabricGraph graph = build_tree({.leaves_per_group = 4});
  Router router(graph, {});
  const TrafficResult r =
      run_traffic(graph, router, incast(graph.endpoints, 100, 7, megabytes(10)));
  EXPECT_NEAR(r.limiting_seconds, 100 * 10e6 / 50e9, 1e-12);
  EXPECT_NEAR(r.last, r.limiting_seconds, 4.1e-6);
  EXPECT_EQ(graph.link_name(r.limiting_link), "leaf 0 -> node 7");
}

TEST(Traffic, relabelling_hosts_of_a_leaf_changes_nothing) {
  const FabricGraph graph = build_tree({.leaves_per_group = 8});
  std::vector<Message> messages = random_permutation(graph.endpoints, megabytes(20), 3);
  RandomStream random(3, "sizes");
  for (Message& m : messages) m.bytes *= random.uniform();
  Router router(graph, {.kind = catalog::RoutingKind::adaptive});
  const TrafficResult plain = run_traffic(graph, router, messages);
  // Leaves are renumbered: leaf l becomes leaf 7 - l, hosts keep their position.
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

TEST(Traffic, same_seed_same_bytes) {
  const FabricGraph graph = build_tree({.leaves_per_group = 8});
  const auto messages = random_permutation(graph.endpoints, megabytes(10), 5);
  Router a(graph, {.kind = catalog::RoutingKind::ecmp, .seed = 9}),
      b(graph, {.kind = catalog::RoutingKind::ecmp, .seed = 9});
  Router c(graph, {.kind = catalog::RoutingKind::ecmp, .seed = 10});
  const auto first = run_traffic(graph, a, messages), second = run_traffic(graph, b, messages);
  EXPECT_EQ(first.finish, second.finish);
  EXPECT_NE(first.finish, run_traffic(graph, c, messages).finish);
}

TEST(Traffic, batched_completions_stay_within_one_percent) {
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

TEST(Traffic, staggered_starts_and_priorities) {
  const FabricGraph graph = build_tree({.leaves_per_group = 2});
  Router router(graph, {});
  // Two messages into host 0; the later, urgent one takes the whole link while it lasts.
  const std::vector<Message> messages{{1, 0, 100e6, 0, 0}, {2, 0, 50e6, 1e-3, 1}};
  const TrafficResult r = run_traffic(graph, router, messages);
  EXPECT_NEAR(r.finish[1], 1e-3 + 2e-6 + 50e6 / 50e9, 1e-9);
  EXPECT_NEAR(r.finish[0], 2e-6 + 150e6 / 50e9, 1e-9);
}

// Two paths of 1 and 2 bytes per second; half of the message takes each.
TEST(Traffic, message_arrives_with_its_last_piece) {
  FabricGraph g;
  g.endpoints = 2;
  g.kinds = {VertexKind::endpoint, VertexKind::endpoint, VertexKind::router, VertexKind::router};
  g.numbers = {0, 1, 0, 1};
  g.planes_of = {0, 0, 0, 0};
  for (VertexId way = 2; way < 4; ++way) {
    for (VertexId end = 0; end < 2; ++end) {
      g.links.push_back({end, way, way - 1.0, 0.5});
      g.links.push_back({way, end, way - 1.0, 0.5});
    }
  }
  index_links(g);
  Router router(g, {.kind = catalog::RoutingKind::adaptive});
  const TrafficResult r = run_traffic(g, router, {{0, 1, 4}}, {.queue_pairs = 2});
  ASSERT_EQ(r.finish.size(), 1U);
  EXPECT_NEAR(r.finish[0], 1 + 2, 1e-9);
  EXPECT_NEAR(r.last, 3, 1e-9);
  EXPECT_NEAR(r.limiting_seconds, 2, 1e-12);
  EXPECT_EQ(capacities_of(g), (std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}));
  router.fail_vertex(2);
  router.fail_vertex(3);
  const TrafficResult none = run_traffic(g, router, {{0, 1, 4}});
  EXPECT_EQ(none.unreachable, 1U);
  EXPECT_EQ(none.finish[0], kUncapped);
  EXPECT_EQ(none.limiting_link, -1);
}

TEST(Traffic, patterns_reach_every_other_endpoint) {
  const auto all = all_to_all(3, Bytes(7));
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2].source, 1);
  EXPECT_EQ(all[2].destination, 0);
  EXPECT_EQ(all[2].bytes, 7);
  const auto cycle = random_permutation(5, Bytes(9), 3);
  ASSERT_EQ(cycle.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(cycle[i].destination, cycle[(i + 1) % 5].source);
    EXPECT_EQ(cycle[i].bytes, 9);
  }
}

// Links with half a second of latency: 1 s from the same leaf, 2 s from another, so the near
// message weighs twice as much. Alone it has 3 bytes by 2 s, then gets two of the three per second:
// 4 more by 4 s. The far one has 2 by then and the link to itself: 3 more by 5 s. With equal shares
// the near one would end at 2 + 4 / 1.5.
TEST(Traffic, latency_weight_favours_the_nearer_message) {
  const FabricGraph g = build_tree({.hosts_per_leaf = 2,
                                    .leaves_per_group = 2,
                                    .leaf_uplinks = 1,
                                    .spines_per_group = 1,
                                    .rate = BytesPerSecond(3),
                                    .latency = seconds(0.5)});
  Router router(g, {});
  const std::vector<Message> two{{1, 0, 7}, {2, 0, 5}};
  const TrafficResult weighed = run_traffic(g, router, two, {.weigh_by_latency = true});
  EXPECT_NEAR(weighed.finish[0], 4, 1e-8);
  EXPECT_NEAR(weighed.finish[1], 5, 1e-8);
  EXPECT_NEAR(weighed.limiting_seconds, 12 / 3.0, 1e-12);
  EXPECT_EQ(g.link_name(weighed.limiting_link), "leaf 0 -> node 0");
  const TrafficResult even = run_traffic(g, router, two);
  EXPECT_NEAR(even.finish[0], 2 + 4 / 1.5, 1e-8);
  EXPECT_NEAR(even.finish[1], 5, 1e-8);
  EXPECT_NEAR(even.last, 5, 1e-8);
  // One starts later, in three parts with the same total bytes.
  const TrafficResult later = run_traffic(g, router, {{1, 0, 6, 10.0}}, {.queue_pairs = 3});
  EXPECT_NEAR(later.finish[0], 10 + 1 + 2, 1e-8);
  EXPECT_NEAR(later.limiting_seconds, 2, 1e-12);
  router.fail_cable(g.trees[0].node_up(0));
  const TrafficResult none = run_traffic(g, router, two, {.queue_pairs = 3});
  EXPECT_EQ(none.unreachable, 2U) << "messages, not parts";
  EXPECT_EQ(none.last, 0);
  EXPECT_EQ(none.solves, 0U);
}

}  // namespace
}  // namespace orrery::fabric
