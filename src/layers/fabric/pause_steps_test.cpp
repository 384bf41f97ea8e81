// The fluid of pauses step by step, with links of a few bytes a second and steps of one second.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "layers/fabric/counters.h"
#include "layers/fabric/ecmp.h"
#include "layers/fabric/pause_fluid.h"
#include "layers/fabric/storm_study.h"

namespace orrery::fabric {
namespace {

// Nobody marks, pauses or drops, unless told.
PauseOptions slow_steps() {
  return {.step = seconds(1),
          .pauses = false,
          .xoff = bytes(1000),
          .xon = 0.8,
          .headroom = bytes(1000),
          .marking = {}};
}

constexpr LinkId kPath[] = {0, 1};

// A NIC of 10 into a port of 4: 10 come in the first second; 4 of 10 go and 10 come; 4 of 16 go.
TEST(PauseSteps, a_port_takes_what_it_can) {
  PauseFluid fluid({10, 4}, slow_steps());
  EXPECT_FALSE(fluid.is_paused(0) || fluid.is_shut(0));
  EXPECT_EQ(fluid.queue(1), 0);
  EXPECT_EQ(fluid.add_flow(kPath), 0U);
  fluid.run(seconds(1));
  EXPECT_EQ(fluid.now_s(), 1);
  EXPECT_DOUBLE_EQ(fluid.inside(), 10);
  EXPECT_DOUBLE_EQ(fluid.queue(1), 6);
  EXPECT_EQ(fluid.delivered(0), 0);
  fluid.run(seconds(2));
  EXPECT_DOUBLE_EQ(fluid.delivered(0), 8);
  EXPECT_DOUBLE_EQ(fluid.inside(), 22);
  EXPECT_DOUBLE_EQ(fluid.sent(), 30);
  EXPECT_DOUBLE_EQ(fluid.queue(1), 18);
  EXPECT_DOUBLE_EQ(fluid.queue(0), 0) << "nothing waits for a NIC";
  EXPECT_DOUBLE_EQ(fluid.highest_queue(), 12) << "as the last step began";
  EXPECT_EQ(fluid.dropped(), 0);
  EXPECT_EQ(fluid.pauses(), 0U);
  EXPECT_EQ(fluid.rate(0), 10);
}

// A port that is faster than what comes takes all of it, a step later.
TEST(PauseSteps, a_fast_port_holds_nothing_back) {
  PauseFluid fluid({3, 10, 10}, slow_steps());
  const LinkId path[] = {0, 1, 2};
  fluid.add_flow(path);
  fluid.run(seconds(5));
  EXPECT_DOUBLE_EQ(fluid.delivered(0), 9);
  EXPECT_DOUBLE_EQ(fluid.inside(), 6);
  EXPECT_EQ(fluid.queue(1), 0);
  // Two flows of one NIC share it.
  PauseFluid both({6, 10}, slow_steps());
  both.add_flow(kPath);
  both.add_flow(kPath);
  both.run(seconds(3));
  EXPECT_DOUBLE_EQ(both.sent(), 18);
  EXPECT_DOUBLE_EQ(both.delivered(1), 6);
}

// Xoff and headroom are 8 beyond the 4 that a step takes: of 16 four are dropped, then of 18 six.
TEST(PauseSteps, what_waits_beyond_the_headroom_is_dropped) {
  PauseOptions options = slow_steps();
  options.xoff = bytes(5);
  options.headroom = bytes(3);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.run(seconds(2));
  EXPECT_EQ(fluid.dropped(), 0);
  fluid.run(seconds(1));
  EXPECT_DOUBLE_EQ(fluid.dropped(), 4);
  EXPECT_DOUBLE_EQ(fluid.inside(), 18);
  fluid.run(seconds(1));
  EXPECT_DOUBLE_EQ(fluid.dropped(), 10);
  EXPECT_DOUBLE_EQ(fluid.delivered(0), 12);
  EXPECT_EQ(fluid.pauses(), 0U) << "nobody pauses";
}

TEST(PauseSteps, where_nobody_pauses_queues_grow) {
  PauseOptions options = slow_steps();
  options.xoff = bytes(1);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.run(seconds(6));
  EXPECT_EQ(fluid.pauses(), 0U);
  EXPECT_FALSE(fluid.is_paused(0));
  EXPECT_DOUBLE_EQ(fluid.sent(), 60);
}

// What the NIC brought beyond its own 10 passes Xoff = 5 in the third second; a second later it is
// paused, until less than 4 is left beyond, and a second more.
TEST(PauseSteps, a_port_is_paused_from_xoff_to_xon) {
  PauseOptions options = slow_steps();
  options.pauses = true;
  options.xoff = bytes(5);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  const double inside[] = {10, 16, 22, 18, 14, 10, 6, 12, 18, 24, 20};
  const bool paused[] = {false, false, false, true, true, true, true, false, false, false, true};
  for (std::size_t i = 0; i < std::size(inside); ++i) {
    fluid.run(seconds(1));
    EXPECT_DOUBLE_EQ(fluid.inside(), inside[i]) << i;
    EXPECT_EQ(fluid.is_paused(0), paused[i]) << i;
    EXPECT_FALSE(fluid.is_paused(1)) << i;
  }
  EXPECT_EQ(fluid.pauses(), 2U);
  EXPECT_EQ(fluid.dropped(), 0);
}

// Ingress counts what came over it: with pauses, drops are of the NIC's 10 + 5 + 3.
TEST(PauseSteps, with_pauses_the_headroom_is_of_the_way_in) {
  PauseOptions options = slow_steps();
  options.pauses = true;
  options.xoff = bytes(5);
  options.headroom = bytes(3);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.run(seconds(4));
  // 22 as the fourth began: 18 stay, four are dropped, four go.
  EXPECT_DOUBLE_EQ(fluid.dropped(), 4);
  EXPECT_DOUBLE_EQ(fluid.inside(), 14);
}

// The receiver pauses for good; bytes wait from the second second on. After three such the port is
// shut and drops what it has and what comes.
TEST(PauseSteps, a_watchdog_shuts_a_port_that_stands) {
  PauseOptions options = slow_steps();
  options.watchdog = seconds(3);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.stick(1);
  EXPECT_TRUE(fluid.is_paused(1));
  fluid.run(seconds(3));
  EXPECT_FALSE(fluid.is_shut(1));
  EXPECT_DOUBLE_EQ(fluid.inside(), 30);
  fluid.run(seconds(1));
  EXPECT_TRUE(fluid.is_shut(1));
  EXPECT_FALSE(fluid.is_paused(1));
  EXPECT_DOUBLE_EQ(fluid.dropped(), 30);
  EXPECT_DOUBLE_EQ(fluid.inside(), 10);
  EXPECT_EQ(fluid.delivered(0), 0);
  fluid.run(seconds(1));
  EXPECT_DOUBLE_EQ(fluid.dropped(), 40);
}

// Marks from 5 to 15 bytes beyond a step, up to one half. Alone at full rate alpha falls by g/t_a
// of itself; then p = 0.05 of 6 waiting, then 0.35 of 12.
TEST(PauseSteps, a_sender_is_cut_by_marks) {
  PauseOptions options = slow_steps();
  options.marking = EcnMarking{.kmin = bytes(5), .kmax = bytes(15), .pmax = 0.5};
  options.way_back = 1;
  options.control = {.cut_gap = seconds(3),
                     .alpha_gap = seconds(2),
                     .timer = seconds(4),
                     .counter = bytes(20),
                     .fast_stages = 2,
                     .gain = 0.25,
                     .increase = 0.01,
                     .packet = bytes(1)};
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.run(seconds(1));
  EXPECT_EQ(fluid.rate(0), 10);
  double alpha = 1 - 0.25 / 2;
  fluid.run(seconds(1));
  // Ten packets a second: hit in 3 s with 1 - 0.95^30, in 2 s with 1 - 0.95^20.
  const double first = 10 - 10 * alpha / 2 * (1 - std::pow(0.95, 30)) / 3;
  EXPECT_NEAR(fluid.rate(0), first, 1e-9);
  alpha += 0.25 / 2 * (1 - std::pow(0.95, 20) - alpha);
  fluid.run(seconds(1));
  EXPECT_NEAR(fluid.sent(), 20 + first, 1e-9);
  const double clear = 0.65, packets = first, gap = 10 - first;
  const double stages =
      0.35 / (std::pow(clear, -20) - 1) + 0.35 / (std::pow(clear, -4 * packets) - 1);
  const double second = first - first * alpha / 2 * (1 - std::pow(clear, 3 * packets)) / 3 +
                        gap / 2 * packets * stages;
  EXPECT_NEAR(fluid.rate(0), second, 1e-9);
}

TEST(PauseSteps, marks_rise_from_kmin_to_kmax) {
  const EcnMarking m{.kmin = bytes(40), .kmax = bytes(200), .pmax = 0.1};
  EXPECT_EQ(m.probability(40), 0);
  EXPECT_DOUBLE_EQ(m.probability(80), 0.025);
  EXPECT_DOUBLE_EQ(m.probability(200), 0.1);
  EXPECT_EQ(m.probability(200.1), 1);
  EXPECT_EQ(EcnMarking{}.kmin, bytes(150e3));
  EXPECT_EQ(EcnMarking{}.kmax, bytes(1500e3));
  EXPECT_EQ(EcnMarking{}.pmax, 1);
}

// In packets: Rai = 0.01 x 100, N = 3, t_a = 2 s, C = 100, B = 50, T = 4 s.
TEST(PauseSteps, where_marks_and_rates_stand_still) {
  const RateControl c{.alpha_gap = seconds(2),
                      .timer = seconds(4),
                      .counter = bytes(500),
                      .increase = 0.01,
                      .packet = bytes(10)};
  const EcnMarking marking{.kmin = bytes(100), .kmax = bytes(300), .pmax = 0.5};
  const MarkedQueue q = marked_queue(marking, c, 3, BytesPerSecond(1000));
  const double stages = 1 / 50.0 + 3 / 400.0;
  const double p = std::cbrt(0.01 * 100 * 9 / (2 * 100.0 * 100) * stages * stages);
  EXPECT_NEAR(q.probability, p, 1e-9);
  EXPECT_NEAR(q.queue.base(), 100 + 200 * p / 0.5, 1e-6);
  EXPECT_TRUE(q.is_marked_enough);
  const MarkedQueue none = marked_queue({.kmin = bytes(100), .kmax = bytes(300), .pmax = p / 2}, c,
                                        3, BytesPerSecond(1000));
  EXPECT_FALSE(none.is_marked_enough);
  EXPECT_EQ(none.queue, bytes(300));
}

// As published: Zhu et al. 2015, table 14.
TEST(PauseSteps, control_by_default) {
  const RateControl c;
  EXPECT_EQ(c.cut_gap, microseconds(50));
  EXPECT_EQ(c.alpha_gap, microseconds(55));
  EXPECT_EQ(c.timer, microseconds(55));
  EXPECT_EQ(c.counter, megabytes(10));
  EXPECT_EQ(c.fast_stages, 5);
  EXPECT_EQ(c.gain, 1.0 / 256);
  EXPECT_EQ(c.increase, 0.001);
  EXPECT_EQ(c.packet, bytes(1000));
  EXPECT_EQ(kWatchdogTime, milliseconds(200));
  const PauseOptions o;
  EXPECT_EQ(o.step, microseconds(1));
  EXPECT_TRUE(o.pauses && o.marking && !o.watchdog);
  EXPECT_EQ(o.xoff, bytes(1e6));
  EXPECT_EQ(o.xon, 0.8);
  EXPECT_EQ(o.headroom, megabytes(1));
  EXPECT_EQ(o.way_back, 4);
  const EcmpStudy e;
  EXPECT_EQ(e.leaves, 32);
  EXPECT_EQ(e.hosts_per_leaf, 32);
  EXPECT_EQ(e.spines, 32);
  EXPECT_EQ(e.queue_pairs, 1);
  EXPECT_EQ(e.trials, 4);
  EXPECT_EQ(e.seed, 1U);
}

// Six nodes on leaves of two; each sends to the next and to others.
TEST(PauseSteps, a_storm_in_a_small_tree) {
  const Topology t = *make_topology(
      {.kind = catalog::TopologyKind::fat_tree, .nodes = 6, .rails = 1, .radix = 4, .tiers = 2});
  StormSpec spec;
  spec.options.xoff = bytes(100e3);
  const StormReport r = *study_storm(t, spec);
  EXPECT_EQ(r.nodes, 6);
  EXPECT_EQ(r.back, r.held) << "nobody breaks it";
  EXPECT_GT(r.pauses, 0U);
  EXPECT_GT(r.reach, 0);
  EXPECT_LE(r.reach, 1);
  EXPECT_LT(r.left, 0.9);
  EXPECT_GT(r.before, 0);
  EXPECT_LE(r.before, 1.001);
  EXPECT_LT(r.held, 1);
  spec.options.watchdog = kWatchdogTime;
  const StormReport broken = *study_storm(t, spec);
  EXPECT_GT(broken.back, broken.held);
  EXPECT_LE(broken.back, 1);
}

TEST(PauseSteps, storms_that_are_not_studied) {
  const auto code = [](const FabricSpec& spec) {
    const auto r = study_storm(make_topology(spec).value(), {});
    return r ? "" : r.error().front().code;
  };
  EXPECT_EQ(code({.kind = catalog::TopologyKind::fat_tree, .nodes = 2, .rails = 1, .radix = 4}),
            "fabric.too-small");
  EXPECT_EQ(code({.kind = catalog::TopologyKind::scale_up, .nodes = 4, .rails = 8}), "fabric.kind");
  const StormReport r;
  EXPECT_EQ(r.nodes, 0);
  EXPECT_EQ(r.reach, 0);
  EXPECT_EQ(r.left * r.back * r.held * r.before, 1);
  EXPECT_EQ(StormSpec{}.queue_pairs, 1);
  EXPECT_EQ(StormSpec{}.partners, 4);
}

TEST(PauseSteps, what_a_port_dropped_is_named) {
  const auto table = CsvTable::parse(
      "switch,port,peer,seconds,tx_bytes,rx_bytes,speed_gbps,pause_rx,pause_tx,ecn_marked,drops\n"
      "leaf1,3,node5,10,1e9,0,400,0,0,9,2\nleaf1,4,node6,10,1e9,0,400,0,7,0,0\n",
      "c.csv");
  const Diagnostics found = judge_counters(*table);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what, "leaf1 port 3 dropped packets of the lossless class");
  EXPECT_EQ(found[1].what, "leaf1 port 4 pauses before it marks");
  EXPECT_EQ(found[1].place.line, 3);
  EXPECT_EQ(found[1].severity, Severity::warning);
}

}  // namespace
}  // namespace orrery::fabric
