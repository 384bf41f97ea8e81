// Flows step by step: events, numbers that are used again, groups and the solver alone, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layers/fabric/flow_engine.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/traffic.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Steps {
  sim::Kernel kernel;
  FlowEngine engine;
  std::vector<LinkId> one{0}, two{0, 1}, other{1};
  explicit Steps(std::vector<double> capacities, FlowOptions options = {})
      : engine(kernel, std::move(capacities), options) {}
  std::uint64_t until(double seconds) { return kernel.run(sim::SimTime::from(Seconds(seconds))); }
  double finish(FlowId f) const { return engine.finish_time(f).seconds().base(); }
};

// Alone at 10 until 2 s, then in halves until the second ends at 7 s. Of the first's end, which
// was to be at 10 s, nothing is left.
TEST(FlowSteps, an_arrival_moves_the_end_of_those_it_meets) {
  Steps s({10});
  const FlowId first = s.engine.start({.path = s.one, .bytes = 100});
  s.engine.start({.path = s.one, .bytes = 25, .latency = 2});
  EXPECT_EQ(s.engine.waiting(), 2U);
  EXPECT_EQ(s.engine.active(), 0U);
  EXPECT_EQ(s.until(1), 2U) << "it begins and is solved";
  EXPECT_EQ(s.engine.waiting(), 1U);
  EXPECT_EQ(s.engine.active(), 1U);
  EXPECT_EQ(s.until(3), 2U);
  EXPECT_EQ(s.engine.waiting(), 0U);
  EXPECT_EQ(s.engine.active(), 2U);
  EXPECT_EQ(s.engine.rate(first).base(), 5);
  EXPECT_EQ(s.until(8), 2U) << "one ends, the other is solved";
  ASSERT_EQ(s.until(10.0000001), 0U);
  EXPECT_EQ(s.until(20), 1U);
  EXPECT_NEAR(s.finish(first), 12.5, 1e-9);
  EXPECT_EQ(s.engine.solves(), 3U);
  EXPECT_EQ(s.engine.last_finish(), s.engine.finish_time(first));
}

TEST(FlowSteps, a_change_of_capacity_moves_the_end) {
  Steps s({10});
  const FlowId f = s.engine.start({.path = s.one, .bytes = 100});
  s.until(2);
  s.engine.set_capacity(0, BytesPerSecond(3));
  s.engine.set_capacity(0, BytesPerSecond(5));
  ASSERT_EQ(s.until(10.0000001), 1U) << "solved once for both";
  EXPECT_EQ(s.engine.solves(), 2U);
  EXPECT_EQ(s.until(30), 1U);
  EXPECT_NEAR(s.finish(f), 2 + 80 / 5.0, 1e-9);
}

// Begun (1 visit), solved (1), timed (1), ended (1).
TEST(FlowSteps, records_are_walked_as_often_as_they_must) {
  Steps s({10});
  s.engine.start({.path = s.one, .bytes = 100});
  s.kernel.run();
  EXPECT_EQ(s.engine.visits(), 4U);
  EXPECT_EQ(s.engine.solves(), 1U);
}

TEST(FlowSteps, numbers_are_used_again_where_nobody_asks) {
  Steps s({10, 10});
  s.engine.keep_finished(false);
  const FlowId a = s.engine.start({.path = s.one, .bytes = 10});
  const FlowId b = s.engine.start({.path = s.two, .bytes = 10});
  s.kernel.run();
  EXPECT_EQ(s.engine.start({.path = s.two, .bytes = 10}), b);
  EXPECT_EQ(s.engine.start({.path = s.other, .bytes = 10}), a);
  const FlowId c = s.engine.start({.path = s.one, .bytes = 10});
  EXPECT_NE(c, a);
  EXPECT_NE(c, b);
  EXPECT_FALSE(s.engine.is_done(a));
  s.kernel.run();
  s.engine.keep_finished(true);
  EXPECT_GT(s.engine.start({.path = s.one, .bytes = 10}), c) << "kept from now on";
}

// A number whose last flow was cancelled is as good as new: it waits, runs and is cancelled itself.
TEST(FlowSteps, a_number_of_a_cancelled_flow_begins_afresh) {
  Steps s({10});
  s.engine.keep_finished(false);
  const FlowId gone = s.engine.start({.path = s.one, .bytes = 100});
  s.until(1);
  EXPECT_NEAR(s.engine.cancel(gone).base(), 90, 1e-6);
  EXPECT_EQ(s.engine.rate(gone).base(), 0);
  EXPECT_EQ(s.engine.active(), 0U);
  s.until(2);
  ASSERT_EQ(s.kernel.pending(), 0U);
  const FlowId again = s.engine.start({.path = s.one, .bytes = 50, .latency = 3});
  ASSERT_EQ(again, gone);
  EXPECT_EQ(s.engine.rate(again).base(), 0);
  EXPECT_EQ(s.engine.waiting(), 1U);
  EXPECT_NEAR(s.engine.cancel(again).base(), 50, 1e-9);
  EXPECT_EQ(s.engine.waiting(), 0U);
  s.kernel.run();
  EXPECT_EQ(s.engine.waiting() + s.engine.active(), 0U);
}

TEST(FlowSteps, of_two_urgent_flows_the_more_urgent_goes_first) {
  Steps s({10});
  const FlowId less = s.engine.start({.path = s.one, .bytes = 50, .priority = 1});
  const FlowId more = s.engine.start({.path = s.one, .bytes = 50, .priority = 2});
  s.until(1);
  EXPECT_EQ(s.engine.rate(more).base(), 10);
  EXPECT_EQ(s.engine.rate(less).base(), 0);
  s.kernel.run();
  EXPECT_NEAR(s.finish(more), 5, 1e-9);
  EXPECT_NEAR(s.finish(less), 10, 1e-9);
}

// It begins after its latency: at 4 s it has run for three.
TEST(FlowSteps, a_capped_flow_without_links_is_cancelled_by_what_it_sent) {
  Steps s({10});
  const FlowId bare = s.engine.start({.path = {}, .bytes = 100, .latency = 1, .cap = 10});
  const FlowId with = s.engine.start({.path = s.one, .bytes = 100});
  s.until(4);
  EXPECT_EQ(s.engine.rate(bare).base(), 10);
  ASSERT_NEAR(s.engine.cancel(bare).base(), 70, 1e-6);
  s.kernel.run();
  EXPECT_NEAR(s.finish(with), 10, 1e-9);
  Steps t({10});
  const FlowId runs = t.engine.start({.path = {}, .bytes = 100, .cap = 20});
  t.kernel.run();
  EXPECT_NEAR(t.finish(runs), 5, 1e-9);
}

struct RateNotes : FlowObserver {
  std::vector<double> rates;
  int done = 0;
  void on_flow_done(sim::Kernel&, FlowId, std::uint64_t) override { ++done; }
  void on_flow_rate(sim::Kernel&, FlowId, std::uint64_t, BytesPerSecond rate) override {
    rates.push_back(rate.base());
  }
};

TEST(FlowSteps, a_rate_that_stays_is_not_told_again) {
  Steps s({10});
  RateNotes notes;
  s.engine.start({.path = s.one, .bytes = 100, .observer = &notes});
  s.until(1);
  s.engine.set_capacity(0, BytesPerSecond(10));
  s.until(2);
  EXPECT_THAT(notes.rates, ElementsAre(10));
  s.engine.set_capacity(0, BytesPerSecond(4));
  s.kernel.run();
  EXPECT_THAT(notes.rates, ElementsAre(10, 4));
  EXPECT_EQ(notes.done, 1);
}

TEST(FlowSteps, where_nothing_moves_nothing_is_awaited) {
  Steps s({0, 10});
  const FlowId stuck = s.engine.start({.path = s.two, .bytes = 10});
  s.kernel.run();
  ASSERT_EQ(s.kernel.pending(), 0U);
  EXPECT_FALSE(s.engine.is_done(stuck));
  EXPECT_EQ(s.engine.rate(stuck).base(), 0);
  // One that shares its second link has all of it, also where completions are gathered.
  Steps t({0, 10}, {.tolerance = 0.01});
  t.engine.start({.path = t.two, .bytes = 10});
  const FlowId moves = t.engine.start({.path = t.other, .bytes = 20});
  t.kernel.run();
  EXPECT_TRUE(t.engine.is_done(moves));
  EXPECT_NEAR(t.finish(moves), 2, 1e-9);
}

// With a tolerance of a tenth: the span is 10 s, so the second ends within one second of the first
// and both are told of at the later's end.
TEST(FlowSteps, completions_are_gathered_within_a_tolerance) {
  Steps s({10, 10}, {.tolerance = 0.1});
  const FlowId first = s.engine.start({.path = s.one, .bytes = 92});
  const FlowId second = s.engine.start({.path = s.two, .bytes = 100});
  RateNotes notes;
  s.engine.observe(&notes);
  s.kernel.run();
  // In halves until 18.4 s; then the second alone: 8 bytes more at its old rate.
  EXPECT_NEAR(s.finish(first), 18.4, 1e-6);
  EXPECT_NEAR(s.finish(second), 20, 1e-6);
  EXPECT_EQ(notes.done, 2);
}

FlowTable rows_of_links(const std::vector<std::vector<std::uint32_t>>& paths) {
  FlowTable t;
  for (const auto& path : paths) {
    FlowState f;
    f.path_begin = static_cast<std::uint32_t>(t.paths.size());
    f.hops = static_cast<std::uint16_t>(path.size());
    t.flows.push_back(f);
    t.paths.insert(t.paths.end(), path.begin(), path.end());
  }
  return t;
}

// Flow 0 on link 0; 1 and 2 on link 1; 3 joins both; 4 has none.
TEST(FlowSteps, groups_that_meet_become_the_largest_of_them) {
  FlowTable t = rows_of_links({{0}, {1}, {1}, {0, 1}, {}});
  FlowGroups groups;
  groups.add_link();
  groups.add_link();
  std::vector<FlowGroupId> met;
  const FlowGroupId a = groups.begin(t, {0}, met);
  const FlowGroupId b = groups.begin(t, {1, 2}, met);
  EXPECT_THAT(met, IsEmpty());
  EXPECT_TRUE(groups[a].is_component);
  EXPECT_FALSE(groups[b].is_component);
  EXPECT_FALSE(groups.is_living(FlowGroupId{})) << "no number names a group by itself";
  groups[a].began = sim::SimTime::nanoseconds(3);
  groups[b].began = sim::SimTime::nanoseconds(5);
  groups[a].left = 2;
  groups[b].left = 1;
  groups[a].has_cancelled = true;
  const FlowGroupId c = groups.begin(t, {3, 4}, met);
  groups[c].began = sim::SimTime::nanoseconds(9);
  EXPECT_THAT(met, ElementsAre(a, b));
  EXPECT_EQ(groups.all().size(), 3U);
  const FlowGroupId host = groups.join(t, c, met);
  EXPECT_EQ(host, c) << "of equals the one that began";
  EXPECT_THAT(groups[host].flows, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(groups[host].began.ns(), 3);
  EXPECT_EQ(groups[host].left, 3U);
  EXPECT_TRUE(groups[host].has_cancelled);
  EXPECT_FALSE(groups[host].is_component);
  EXPECT_TRUE(groups[host].has_grown);
  EXPECT_TRUE(groups[host].is_fresh) << "two undivided, two came";
  EXPECT_FALSE(groups.is_living(a) || groups.is_living(b));
  EXPECT_EQ(groups.of_link(0), host);
  EXPECT_EQ(groups.of_link(1), host);
  const auto parts = groups.divide(t, host);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_THAT(groups[parts[0]].flows, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(groups[parts[1]].flows, ElementsAre(4)) << "a flow without links is a part";
  EXPECT_EQ(groups[parts[1]].began.ns(), 3);
  EXPECT_TRUE(groups[parts[0]].is_component);
}

TEST(FlowSteps, a_larger_group_takes_in_those_that_come) {
  FlowTable t = rows_of_links({{0}, {1}, {1}, {0, 1}});
  FlowGroups groups;
  groups.add_link();
  groups.add_link();
  std::vector<FlowGroupId> met;
  const FlowGroupId a = groups.begin(t, {0}, met);
  const FlowGroupId b = groups.begin(t, {1, 2}, met);
  const FlowGroupId c = groups.begin(t, {3}, met);
  groups[b].began = sim::SimTime::nanoseconds(8);
  groups[a].began = sim::SimTime::nanoseconds(4);
  groups[c].began = sim::SimTime::nanoseconds(6);
  const FlowGroupId host = groups.join(t, c, met);
  EXPECT_EQ(host, b);
  EXPECT_THAT(groups[host].flows, ElementsAre(1, 2, 0, 3)) << "its own, those met, those that came";
  EXPECT_EQ(groups[host].began.ns(), 4);
  EXPECT_FALSE(groups[host].is_fresh) << "two undivided, one came";
  EXPECT_FALSE(groups.is_living(a) || groups.is_living(c));
  EXPECT_EQ(groups.of_link(0), host);
  // Begun: 1 + 2 + 1; taken in: 1 + 1.
  EXPECT_EQ(groups.visits(), 6U);
  EXPECT_THAT(groups.divide(t, host), ElementsAre(host));
}

std::vector<double> solved(MaxMinSolver& solver, FlowTable& t,
                           const std::vector<std::uint32_t>& flows, bool grown = true) {
  solver.solve(t, flows, grown);
  std::vector<double> rates;
  for (const std::uint32_t f : flows) rates.push_back(t.flows[f].rate);
  return rates;
}

// Link 0 of 12 and link 1 of 10: flows on 0, on 0 and 1, on 1.
TEST(FlowSteps, the_solver_alone) {
  MaxMinSolver solver;
  solver.add_link(12);
  solver.add_link(10);
  FlowTable t = rows_of_links({{0}, {0, 1}, {1}, {}});
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(7, 5, 5));
  EXPECT_THAT(solved(solver, t, {0, 1}, false), ElementsAre(6, 6)) << "fewer than before";
  EXPECT_THAT(solved(solver, t, {1, 2}), ElementsAre(5, 5));
  t.weights = {1, 3, 1, 1};
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(4.5, 7.5, 2.5));
  t.weights.clear();
  t.caps = {2, kUncapped, 4, 3};
  EXPECT_THAT(solved(solver, t, {0, 1, 2, 3}), ElementsAre(2, 6, 4, 3));
  t.caps = {2, kUncapped, 4, kUncapped};
  t.flows[3].rate = 0;
  EXPECT_THAT(solved(solver, t, {0, 1, 2, 3}), ElementsAre(2, 6, 4, 0)) << "nothing holds the last";
  t.caps = {kUncapped, 1, kUncapped, kUncapped};
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(11, 1, 9));
  // A class above takes what it can, caps and all; the one below has what is left.
  t.caps = {kUncapped, 4, kUncapped, kUncapped};
  t.has_priorities = true;
  t.flows[1].priority = 7;
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(8, 4, 6));
  t.caps = {5, 4, kUncapped, kUncapped};
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(5, 4, 6)) << "caps in both classes";
  t.caps = {kUncapped, 4, kUncapped, kUncapped};
  t.flows[2].priority = 9;
  EXPECT_THAT(solved(solver, t, {0, 1, 2}), ElementsAre(12, 0, 10));
  solver.set_capacity(0, 0);
  EXPECT_THAT(solved(solver, t, {0, 2}), ElementsAre(0, 10));
  EXPECT_EQ(solver.capacities(), (std::vector<double>{0, 10}));
}

// How far given rates are from fair, link 0 of 12 and link 1 of half a byte.
TEST(FlowSteps, unfair_rates_are_told_by_how_much) {
  FlowTable t = rows_of_links({{0}, {0}, {1}, {}});
  const std::vector<double> capacities{12, 0.5};
  const auto off = [&](double a, double b, std::vector<std::uint32_t> flows = {0, 1}) {
    t.flows[0].rate = a;
    t.flows[1].rate = b;
    return max_min_violation(t, flows, capacities);
  };
  EXPECT_NEAR(off(6, 6), 0, 1e-12);
  EXPECT_NEAR(off(3, 9), 1 - 3 / 9.0, 1e-12) << "it could gain from the other";
  EXPECT_NEAR(off(6, 3), 1 - 3 / 6.0, 1e-12);
  EXPECT_NEAR(off(4.5, 4.5), 3 / 12.0, 1e-12) << "a quarter of the link is free";
  EXPECT_NEAR(off(7.5, 7.5), 3 / 12.0, 1e-12) << "too much";
  t.weights = {1, 3, 1, 1};
  EXPECT_NEAR(off(3, 9), 0, 1e-12);
  t.weights.clear();
  t.caps = {3, kUncapped, kUncapped, kUncapped};
  EXPECT_NEAR(off(3, 9), 0, 1e-12) << "it has its cap";
  EXPECT_GT(off(2.9, 9.1), 0.5);
  t.caps.clear();
  t.flows[2].rate = 0.25;
  EXPECT_NEAR(off(6, 6, {2}), 0.25, 1e-12) << "of a link below one byte, bytes";
  EXPECT_NEAR(off(6, 6, {3}), 0, 1e-12) << "without links it has what it has";
  EXPECT_EQ(FlowState{}.remaining + FlowState{}.rate + FlowState{}.path_begin, 0);
}

// Two ways of 1 and 2 bytes a second; half of the message goes by each.
TEST(FlowSteps, a_message_has_arrived_with_its_last_piece) {
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
  const Message m;
  EXPECT_EQ(m.source + m.destination + m.priority, 0);
  EXPECT_EQ(m.bytes + m.start, 0);
  EXPECT_EQ(TrafficOptions{}.queue_pairs, 1);
  EXPECT_EQ(TrafficResult{}.limiting_link, -1);
}

TEST(FlowSteps, patterns_send_to_everybody_else) {
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

TEST(FlowSteps, hazards_by_default_and_at_nothing) {
  const IncastSpec s;
  EXPECT_EQ(s.senders, 8);
  EXPECT_EQ(s.sender_rate, gbits_per_s(400));
  EXPECT_EQ(s.port_rate, gbits_per_s(400));
  EXPECT_EQ(s.round_trip, microseconds(8));
  const IncastBound even = incast_bound({.senders = 1});
  EXPECT_EQ(even.fill_time.base(), kUncapped) << "what comes goes";
  EXPECT_FALSE(even.pauses || even.overflows);
  EXPECT_EQ(even.queued, Bytes(0));
  const HeadroomSpec h;
  EXPECT_EQ(h.cable_m, 30);
  EXPECT_EQ(h.response, nanoseconds(600));
  EXPECT_EQ(h.mtu, bytes(4200));
  EXPECT_EQ(h.ports, 64);
  EXPECT_EQ(h.lossless_classes, 1);
  EXPECT_EQ(h.buffer, mib(160));
  const FabricComparison c = compare_fabrics(2, 2, 2, 2, 3);
  EXPECT_NEAR(c.infiniband_latency.base(), 450e-9, 1e-18);
  EXPECT_NEAR(c.roce_latency.base(), 1800e-9, 1e-18);
  const auto found = check_roce({.watchdog = Answer::no});
  ASSERT_EQ(found.size(), 7U);
  EXPECT_EQ(found[5].what, "no PFC watchdog");
  EXPECT_EQ(found[6].what, "undeclared: perhaps buffer headroom is not checked");
  EXPECT_EQ(found[0].rule, "roce.pfc-every-hop");
}

}  // namespace
}  // namespace orrery::fabric
