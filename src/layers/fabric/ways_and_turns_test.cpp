// Ways that a hash chooses, worked out beside the router, and flows whose turns are counted by
// hand: gathered completions, solves and walks, numbers used again, messages weighed by latency.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "layers/fabric/bill.h"
#include "layers/fabric/collective_parameters.h"
#include "layers/fabric/flow_engine.h"
#include "layers/fabric/router.h"
#include "layers/fabric/traffic.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;

// SplitMix64's step and finaliser (Steele, Lea and Flood 2014).
std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct HashedMessage {
  std::uint64_t seed = 1;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t queue_pair = 0;
  bool polarised = false;

  // Of so many equal choices at a stage of the way, at a switch.
  int choice(std::uint64_t stage, std::uint64_t at, std::uint64_t count) const {
    const std::uint64_t flow =
        splitmix(seed ^ splitmix(from << 32 | to) ^ splitmix(std::uint64_t{0x5151} + queue_pair));
    const std::uint64_t salt = polarised ? 0 : splitmix(stage << 40 | at);
    return static_cast<int>(splitmix(flow ^ salt) % count);
  }
};

TEST(HashedWays, in_a_group_an_uplink_is_hashed_and_its_spine_follows) {
  ASSERT_EQ(splitmix(0), 0xe220a8397b1dcdafULL) << "its published first number";
  const FabricGraph g = build_tree(
      {.hosts_per_leaf = 3, .leaves_per_group = 4, .leaf_uplinks = 14, .spines_per_group = 7});
  const TreeLayout& tree = g.trees[0];
  for (const bool polarised : {false, true}) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      Router router(g, {.kind = catalog::RoutingKind::ecmp, .seed = seed, .polarised = polarised});
      for (int to = 3; to < 12; ++to) {
        for (int pair = 0; pair < 3; ++pair) {
          const int from = to % 3;
          const int up =
              HashedMessage{seed, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                            static_cast<std::uint64_t>(pair), polarised}
                  .choice(1, 0, 14);
          std::vector<LinkId> path;
          ASSERT_TRUE(router.route(from, to, pair, path));
          EXPECT_THAT(path, ElementsAre(tree.node_up(from), tree.leaf_up(0, up),
                                        FabricGraph::reverse(tree.leaf_up(to / 3, up)),
                                        FabricGraph::reverse(tree.node_up(to))));
        }
      }
    }
  }
}

// Two groups of two leaves and three spines with four uplinks each, to four cores: uplink x goes to
// core x mod 4, which has three ways down into the other group, one to each spine.
TEST(HashedWays, over_a_core_every_switch_hashes_for_itself) {
  const FabricGraph g = build_tree({.hosts_per_leaf = 2,
                                    .leaves_per_group = 2,
                                    .groups = 2,
                                    .leaf_uplinks = 6,
                                    .spines_per_group = 3,
                                    .spine_uplinks = 4,
                                    .cores = 4});
  const TreeLayout& tree = g.trees[0];
  Router router(g, {.kind = catalog::RoutingKind::ecmp, .seed = 5});
  for (int from = 0; from < 4; ++from) {
    for (int to = 4; to < 8; ++to) {
      const HashedMessage m{5, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)};
      const int leaf = from / 2;
      const int j = m.choice(1, static_cast<std::uint64_t>(leaf), 6);
      const int spine = j % 3;
      const int x = spine * 4 + m.choice(2, static_cast<std::uint64_t>(1'000'000 + spine), 4);
      const int core = x % 4;
      const int w = m.choice(3, static_cast<std::uint64_t>(2'000'000 + core), 3);
      std::vector<LinkId> path;
      ASSERT_TRUE(router.route(from, to, 0, path));
      EXPECT_THAT(path, ElementsAre(tree.node_up(from), tree.leaf_up(leaf, j), tree.spine_up(x),
                                    FabricGraph::reverse(tree.spine_up(12 + core + 4 * w)),
                                    FabricGraph::reverse(tree.leaf_up(to / 2, w + 3 * (j / 3))),
                                    FabricGraph::reverse(tree.node_up(to))));
    }
  }
}

struct Turns {
  sim::Kernel kernel;
  FlowEngine engine;
  std::vector<LinkId> first{0}, second{1};
  explicit Turns(std::vector<double> capacities, FlowOptions options = {})
      : engine(kernel, std::move(capacities), options) {}
  void until(double seconds) { kernel.run(sim::SimTime::from(Seconds(seconds))); }
  double finish(FlowId f) const { return engine.finish_time(f).seconds().base(); }
};

// When it is told of each end, and how many flows then run.
struct ToldEnds : FlowObserver {
  explicit ToldEnds(const FlowEngine& e) : engine(e) {}
  const FlowEngine& engine;
  std::vector<double> at;
  std::vector<std::uint64_t> tags;
  std::vector<std::size_t> running;
  void on_flow_done(sim::Kernel& kernel, FlowId, std::uint64_t tag) override {
    at.push_back(kernel.now().seconds().base());
    tags.push_back(tag);
    running.push_back(engine.active());
  }
};

// Begun, solved, timed, and looked at once more when it is cancelled.
TEST(FlowTurns, a_group_that_is_left_by_its_last_flow_is_not_solved) {
  Turns t({10});
  const FlowId only = t.engine.start({.path = t.first, .bytes = 100});
  t.until(1);
  EXPECT_NEAR(t.engine.cancel(only).base(), 90, 1e-6);
  EXPECT_EQ(t.engine.cancel(only).base(), 0) << "there is nothing left to cancel";
  t.kernel.run();
  EXPECT_EQ(t.engine.solves(), 1U);
  EXPECT_EQ(t.engine.visits(), 4U);
  EXPECT_FALSE(t.engine.is_done(only));
  EXPECT_EQ(t.engine.active(), 0U);
  // A capacity that changes where nobody sends is nobody's concern.
  t.engine.set_capacity(0, BytesPerSecond(3));
  EXPECT_EQ(t.kernel.pending(), 0U);
}

// The first is begun, solved and timed: 3. The second is begun (1), the first moved on (1) and
// taken in (1), both solved and timed (4); at 7 s both are looked at (2), the one that is left is
// looked at for its links, solved and timed (3), and ends (1).
TEST(FlowTurns, walks_of_two_that_meet) {
  Turns t({10});
  const FlowId first = t.engine.start({.path = t.first, .bytes = 100});
  t.engine.start({.path = t.first, .bytes = 25, .latency = 2});
  t.kernel.run();
  EXPECT_NEAR(t.finish(first), 12.5, 1e-9);
  EXPECT_EQ(t.engine.rate(first).base(), 0) << "it has ended";
  EXPECT_EQ(t.engine.solves(), 3U);
  EXPECT_EQ(t.engine.visits(), 16U);
}

// Apart each is solved by itself, at its start. As a whole both are at every change: at 0, 2 and 5.
TEST(FlowTurns, as_a_whole_every_change_is_everybodys) {
  for (const bool whole : {false, true}) {
    Turns t({10, 10}, {.whole = whole});
    const FlowId a = t.engine.start({.path = t.first, .bytes = 100});
    const FlowId b = t.engine.start({.path = t.second, .bytes = 30, .latency = 2});
    t.kernel.run();
    EXPECT_NEAR(t.finish(a), 10, 1e-9);
    EXPECT_NEAR(t.finish(b), 5, 1e-9);
    EXPECT_EQ(t.engine.solves(), whole ? 3U : 2U);
    Turns c({10, 10}, {.whole = whole});
    c.engine.start({.path = c.first, .bytes = 100});
    c.until(1);
    c.engine.set_capacity(1, BytesPerSecond(7));
    c.kernel.run();
    EXPECT_EQ(c.engine.solves(), whole ? 2U : 1U) << "a link that nobody uses";
    EXPECT_NEAR(c.engine.last_finish().seconds().base(), 10, 1e-9);
  }
}

// In thirds at first: ends at 3, 12 and 30 s, so a tenth of the span is 3 s, and the first is told
// of at 6 s. Then b and c have 20 and 80 bytes left, in halves: 4 and 16 s, a tenth of 6 + 16 s
// later. c has 49 bytes left at 12.2 s, alone.
TEST(FlowTurns, ends_are_gathered_over_a_share_of_the_span) {
  Turns t({10}, {.tolerance = 0.1});
  ToldEnds told(t.engine);
  t.engine.observe(&told);
  const FlowId a = t.engine.start({.path = t.first, .bytes = 10, .tag = 7});
  const FlowId b = t.engine.start({.path = t.first, .bytes = 40, .tag = 8});
  const FlowId c = t.engine.start({.path = t.first, .bytes = 100, .tag = 9});
  t.kernel.run();
  EXPECT_NEAR(t.finish(a), 3, 1e-6);
  EXPECT_NEAR(t.finish(b), 10, 1e-6);
  EXPECT_NEAR(t.finish(c), 17.1, 1e-6);
  ASSERT_EQ(told.at.size(), 3U);
  EXPECT_NEAR(told.at[0], 6, 1e-6);
  EXPECT_NEAR(told.at[1], 12.2, 1e-6);
  EXPECT_NEAR(told.at[2], 17.1, 1e-6);
  EXPECT_THAT(told.tags, ElementsAre(7, 8, 9));
  EXPECT_THAT(told.running, ElementsAre(2, 1, 0));
  EXPECT_EQ(t.engine.solves(), 3U);
}

// The span begins when the first of them started, not when they had their latency behind them: at
// 2 s it is 2 + 30 s, and a third of the way the first is told of 3 + 3.2 s later.
TEST(FlowTurns, a_span_begins_with_the_first_start) {
  Turns t({10}, {.tolerance = 0.1});
  ToldEnds told(t.engine);
  t.engine.observe(&told);
  const FlowId a = t.engine.start({.path = t.first, .bytes = 10, .latency = 2});
  t.until(1);
  t.engine.start({.path = t.first, .bytes = 40, .latency = 1});
  t.engine.start({.path = t.first, .bytes = 100, .latency = 1});
  t.until(9);
  EXPECT_NEAR(t.finish(a), 5, 1e-6);
  ASSERT_EQ(told.at.size(), 1U);
  EXPECT_NEAR(told.at[0], 8.2, 1e-6);
}

// In halves from 0 on: a runs dry at 2 s and would be told of at 2 + 2 s. An arrival at 3 s has it
// told then, and its end is its own.
TEST(FlowTurns, who_ran_dry_ends_when_somebody_comes) {
  Turns t({10}, {.tolerance = 0.1});
  ToldEnds told(t.engine);
  t.engine.observe(&told);
  const FlowId a = t.engine.start({.path = t.first, .bytes = 10});
  const FlowId c = t.engine.start({.path = t.first, .bytes = 100});
  const FlowId d = t.engine.start({.path = t.first, .bytes = 1000, .latency = 3});
  t.until(3.5);
  EXPECT_NEAR(t.finish(a), 2, 1e-6);
  ASSERT_EQ(told.at.size(), 1U);
  EXPECT_NEAR(told.at[0], 3, 1e-9);
  EXPECT_EQ(t.engine.rate(c).base(), 5);
  EXPECT_EQ(t.engine.rate(d).base(), 5);
}

TEST(FlowTurns, those_that_end_together_are_ended_before_the_first_is_told) {
  Turns t({10, 10});
  ToldEnds told(t.engine);
  ToldEnds own(t.engine);
  t.engine.observe(&told);
  t.engine.start({.path = t.first, .bytes = 50, .tag = 1});
  t.engine.start({.path = t.first, .bytes = 50, .tag = 2, .observer = &own});
  t.engine.start({.path = t.first, .bytes = 50, .tag = 3});
  t.kernel.run();
  EXPECT_THAT(told.tags, ElementsAre(1, 3));
  EXPECT_THAT(own.tags, ElementsAre(2));
  EXPECT_THAT(told.running, ElementsAre(0, 0));
  EXPECT_NEAR(told.at[0], 15, 1e-9);
}

// Of a number that is used again nothing is left: not its weight, its cap, its class, its observer.
TEST(FlowTurns, a_number_used_again_has_the_terms_of_its_new_flow) {
  Turns t({10});
  t.engine.keep_finished(false);
  ToldEnds own(t.engine);
  const FlowId old = t.engine.start(
      {.path = t.first, .bytes = 8, .weight = 3, .cap = 4, .priority = 2, .observer = &own});
  t.kernel.run();
  EXPECT_NEAR(own.at.at(0), 2, 1e-9);
  const FlowId again = t.engine.start({.path = t.first, .bytes = 100});
  ASSERT_EQ(again, old);
  const FlowId beside = t.engine.start({.path = t.first, .bytes = 100});
  t.until(3);
  EXPECT_EQ(t.engine.rate(again).base(), 5);
  EXPECT_EQ(t.engine.rate(beside).base(), 5);
  t.kernel.run();
  EXPECT_EQ(own.at.size(), 1U);
}

TEST(FlowTurns, rates_that_no_longer_fit_are_told_until_they_settle) {
  Turns t({10});
  t.engine.start({.path = t.first, .bytes = 100});
  const FlowId gone = t.engine.start({.path = t.first, .bytes = 100});
  t.until(1);
  EXPECT_NEAR(t.engine.violation(), 0, 1e-12);
  t.engine.set_capacity(0, BytesPerSecond(5));
  EXPECT_NEAR(t.engine.violation(), 1, 1e-12) << "5 too many of 5";
  t.engine.set_capacity(0, BytesPerSecond(20));
  EXPECT_NEAR(t.engine.violation(), 0.5, 1e-12) << "10 of 20 are free";
  t.engine.cancel(gone);
  EXPECT_NEAR(t.engine.violation(), 0.75, 1e-12);
  t.until(2);
  EXPECT_NEAR(t.engine.violation(), 0, 1e-12);
}

TEST(FlowTurns, nothing_to_send_is_done_after_the_latency) {
  Turns t({10});
  const FlowId less = t.engine.start({.path = t.first, .bytes = -5, .latency = 2});
  const FlowId none = t.engine.start({.path = t.first, .bytes = 0});
  t.kernel.run();
  EXPECT_NEAR(t.finish(less), 2, 1e-9);
  EXPECT_NEAR(t.finish(none), 0, 1e-9);
  EXPECT_EQ(t.engine.last_finish(), t.engine.finish_time(less));
}

// Links of half a second: from the same leaf 1 s, from another 2 s, so the near one weighs twice as
// much. Alone it has 3 bytes by 2 s, then two of the three a second: 4 more by 4 s. The far one has
// 2 by then and the link to itself: 3 more by 5 s. In equal shares the near one ends at 2 + 4
// / 1.5.
TEST(TrafficTurns, the_nearer_message_has_the_larger_share) {
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
  // One starts later, and in three parts of the same bytes.
  const TrafficResult later = run_traffic(g, router, {{1, 0, 6, 10.0}}, {.queue_pairs = 3});
  EXPECT_NEAR(later.finish[0], 10 + 1 + 2, 1e-8);
  EXPECT_NEAR(later.limiting_seconds, 2, 1e-12);
  router.fail_cable(g.trees[0].node_up(0));
  const TrafficResult none = run_traffic(g, router, two, {.queue_pairs = 3});
  EXPECT_EQ(none.unreachable, 2U) << "messages, not parts";
  EXPECT_EQ(none.last, 0);
  EXPECT_EQ(none.solves, 0U);
}

// An odd link has a module of its own at either end: of three between spines and cores two and two.
TEST(SmallTurns, odd_links_have_modules_of_their_own) {
  Topology t;
  t.spine_core_links = 3;
  EXPECT_EQ(switch_modules(t), 2 + 2);
  t.leaf_spine_links = 4;
  EXPECT_EQ(switch_modules(t), 4 + 2) << "seven at the spines";
  t.spec.rails = 5;
  t.spec.nodes = 3;
  EXPECT_EQ(node_modules(t, 2), 9);
  EXPECT_EQ(node_modules(t, 1), 15);
}

TEST(SmallTurns, a_parameter_is_set_where_its_row_says) {
  CollectiveParameters p;
  p.intervals = {{.network = true, .below = mib(64), .low = 1, .high = 2}};
  const auto set = [&](const char* group, const char* name, const char* parameter, double value) {
    return set_collective_parameter(p, {group, name, parameter}, value);
  };
  EXPECT_TRUE(set("interval", "multi below 64 MiB", "low", 5));
  EXPECT_EQ(p.intervals[0].low, 5);
  EXPECT_EQ(p.intervals[0].high, 2);
  EXPECT_TRUE(set("interval", "multi below 64 MiB", "high", 6));
  EXPECT_EQ(p.intervals[0].low, 5);
  EXPECT_EQ(p.intervals[0].high, 6);
  EXPECT_TRUE(set("interval", "single below 64 MiB", "low", 7));
  EXPECT_TRUE(set("interval", "multi below 256 KiB", "high", 8));
  EXPECT_TRUE(set("interval", "multi", "high", 9));
  ASSERT_EQ(p.intervals.size(), 4U);
  EXPECT_FALSE(p.intervals[1].network);
  EXPECT_EQ(p.intervals[1].below, mib(64));
  EXPECT_EQ(p.intervals[1].low, 7);
  EXPECT_EQ(p.intervals[1].high, 0);
  EXPECT_EQ(p.intervals[2].below, kib(256));
  EXPECT_EQ(p.intervals[2].high, 8);
  EXPECT_EQ(p.intervals[2].low, 0);
  EXPECT_EQ(p.intervals[3].below.base(), kUncapped);
  EXPECT_TRUE(set("protocol", "", "extra", 0.25));
  EXPECT_EQ(p.protocol.extra, 0.25);
  EXPECT_TRUE(set("protocol", "", "at", 32));
  EXPECT_EQ(p.protocol.at, kib(32));
  EXPECT_FALSE(set("unknown", "", "extra", 3)) << "no such group";
  EXPECT_FALSE(set("unknown", "", "at", 3));
  EXPECT_FALSE(set("protocol", "", "unknown", 3));
  EXPECT_EQ(p.protocol.extra, 0.25);
  EXPECT_EQ(p.protocol.at, kib(32));
}

}  // namespace
}  // namespace orrery::fabric
