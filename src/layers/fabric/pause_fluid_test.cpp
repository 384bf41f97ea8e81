#include "layers/fabric/pause_fluid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "layers/fabric/hazards.h"

namespace orrery::fabric {
namespace {

constexpr double k40 = 40e9 / 8;

// `senders` NICs behind one switch, all sending to one port: links 0 .. senders-1 up, the last one
// down.
PauseFluid star(int senders, const PauseOptions& options, double rate = k40) {
  PauseFluid fluid(std::vector<double>(static_cast<std::size_t>(senders) + 1, rate), options);
  for (int s = 0; s < senders; ++s) {
    const LinkId path[] = {s, senders};
    fluid.add_flow(path);
  }
  return fluid;
}

// Returns the bytes per second that each flow gets over `span` after `settling`.
std::vector<double> rates_after(PauseFluid& fluid, std::size_t flows, Seconds settling,
                                Seconds span) {
  fluid.run(settling);
  std::vector<double> before;
  for (std::size_t f = 0; f < flows; ++f) before.push_back(fluid.delivered(f));
  fluid.run(span);
  std::vector<double> rates;
  for (std::size_t f = 0; f < flows; ++f) {
    rates.push_back((fluid.delivered(f) - before[f]) / span.base());
  }
  return rates;
}

TEST(PauseFluid, incast_reaches_xoff_at_the_bound) {
  const PauseOptions options{.xoff = bytes(300e3), .marking = {}};
  const int senders = 8;
  PauseFluid fluid = star(senders, options);
  double paused_at = 0;
  while (paused_at == 0 && fluid.now_s() < 1e-3) {
    fluid.run(options.step);
    if (fluid.is_paused(0)) paused_at = fluid.now_s();
  }
  // Xoff applies per ingress port: each has an eighth of the excess.
  const IncastBound bound = incast_bound({.senders = 8,
                                          .sender_rate = gbits_per_s(40),
                                          .port_rate = gbits_per_s(40),
                                          .pause_threshold = options.xoff * 8});
  EXPECT_NEAR(paused_at, bound.fill_time.base(), 4e-6);
  EXPECT_GT(bound.fill_time.base(), 50e-6);
  fluid.run(milliseconds(2));
  EXPECT_EQ(fluid.dropped(), 0);
  EXPECT_GT(fluid.pauses(), 8U);
}

TEST(PauseFluid, bytes_are_conserved_with_drops_and_pauses) {
  for (const bool pauses : {true, false}) {
    PauseFluid fluid =
        star(6, {.pauses = pauses, .xoff = bytes(100e3), .headroom = bytes(20e3), .marking = {}});
    fluid.run(milliseconds(3));
    double delivered = 0;
    for (std::size_t f = 0; f < 6; ++f) delivered += fluid.delivered(f);
    EXPECT_NEAR(fluid.sent(), delivered + fluid.inside() + fluid.dropped(), 1e-6 * fluid.sent());
    EXPECT_EQ(fluid.dropped() > 0, !pauses);
    // The port never idles, whichever mechanism limits the senders.
    EXPECT_NEAR(delivered, k40 * 3e-3, 0.01 * k40 * 3e-3);
  }
}

// Zhu et al., CoNEXT 2016: a single fixed point, whatever the number of flows, at small delays.
TEST(PauseFluid, dcqcn_settles_at_the_published_fixed_point) {
  const EcnMarking marking{.kmin = bytes(40e3), .kmax = bytes(200e3), .pmax = 0.1};
  for (const int flows : {2, 4, 10}) {
    const PauseOptions options{.xoff = megabytes(5), .marking = marking, .way_back = 2};
    PauseFluid fluid = star(flows, options);
    const auto rates =
        rates_after(fluid, static_cast<std::size_t>(flows), milliseconds(400), milliseconds(50));
    const MarkedQueue still = marked_queue(marking, options.control, flows, gbits_per_s(40));
    ASSERT_TRUE(still.is_marked_enough);
    EXPECT_NEAR(fluid.queue(flows), still.queue.base(), 0.1 * still.queue.base()) << flows;
    for (const double r : rates) EXPECT_NEAR(r, k40 / flows, 0.02 * k40 / flows) << flows;
    EXPECT_EQ(fluid.pauses(), 0U) << flows;
  }
}

// Zhu et al., SIGCOMM 2015, figure 3: three senders behind one uplink and one at the receiver's
// switch. Pauses act on ports, so the single sender gets half.
TEST(PauseFluid, pauses_share_by_port_and_marks_by_flow) {
  const auto shares = [](std::optional<EcnMarking> marking) {
    // 0..2: NICs of the three; 3: their uplink; 4: the single sender's NIC; 5: to the receiver.
    PauseFluid fluid(std::vector<double>(6, k40), {.xoff = bytes(200e3), .marking = marking});
    for (LinkId s = 0; s < 3; ++s) {
      const LinkId path[] = {s, 3, 5};
      fluid.add_flow(path);
    }
    const LinkId lone[] = {4, 5};
    fluid.add_flow(lone);
    return rates_after(fluid, 4, milliseconds(300), milliseconds(100));
  };
  const auto paused = shares({});
  EXPECT_NEAR(paused[3], k40 / 2, 0.05 * k40);
  EXPECT_NEAR(paused[0], k40 / 6, 0.02 * k40);
  const auto marked = shares(EcnMarking{.kmin = bytes(40e3), .kmax = bytes(150e3), .pmax = 0.1});
  for (const double r : marked) EXPECT_NEAR(r, k40 / 4, 0.05 * k40);
}

// Zhu et al., SIGCOMM 2015, figure 4: four senders under one switch and `others` under a third send
// to one receiver; the victim sends elsewhere over an uplink of the four. A fair share is 20 Gb/s;
// with pauses alone, measured medians are 10 and, with two others, 4.5.
TEST(PauseFluid, victim_is_held_to_its_neighbours_share) {
  const auto victim_gets = [](int others, std::optional<EcnMarking> marking) {
    // Switches T1 (senders, victim), L1, L2, spines S1, S2, L3, L4, T4 (receiver), T3 (others).
    enum : LinkId {
      kNic = 0,
      kUp1 = 8,
      kUp2,
      kL1S,
      kL2S,
      kSL3,
      kSL4,
      kDown3,
      kDown4,
      kTo,
      kToVictim,
      kT3L3,
      kT3L4,
      kCount
    };
    PauseFluid fluid(std::vector<double>(kCount, k40), {.xoff = bytes(200e3), .marking = marking});
    for (LinkId s = 0; s < 4; ++s) {
      const LinkId left[] = {s, kUp1, kL1S, kSL3, kDown3, kTo};
      const LinkId right[] = {s, kUp2, kL2S, kSL4, kDown4, kTo};
      fluid.add_flow(s < 2 ? left : right);
    }
    const LinkId victim[] = {4, kUp1, kToVictim};
    fluid.add_flow(victim);
    for (LinkId o = 0; o < others; ++o) {
      const LinkId left[] = {static_cast<LinkId>(5 + o), kT3L3, kDown3, kTo};
      const LinkId right[] = {static_cast<LinkId>(5 + o), kT3L4, kDown4, kTo};
      fluid.add_flow(o % 2 == 0 ? left : right);
    }
    return rates_after(fluid, 5, milliseconds(300), milliseconds(100))[4] * 8 / 1e9;
  };
  EXPECT_NEAR(victim_gets(0, {}), 10, 0.7);
  EXPECT_NEAR(victim_gets(2, {}), 4.5, 0.7);
  // Marks slow the senders that fill the port, and leave the rest to the victim.
  EXPECT_GT(victim_gets(2, EcnMarking{.kmin = bytes(40e3), .kmax = bytes(150e3), .pmax = 0.1}), 18);
}

TEST(PauseFluid, stuck_nic_stops_its_neighbours_until_the_watchdog) {
  // 0, 1: NICs; 2: uplink of both; 3: to the stuck one; 4: to another.
  const PauseOptions options{
      .xoff = bytes(200e3), .marking = {}, .watchdog = std::optional(milliseconds(5))};
  PauseFluid fluid(std::vector<double>(5, k40), options);
  const LinkId to_stuck[] = {0, 2, 3};
  const LinkId to_other[] = {1, 2, 4};
  fluid.add_flow(to_stuck);
  fluid.add_flow(to_other);
  fluid.run(milliseconds(1));
  EXPECT_NEAR(fluid.delivered(1), k40 / 2 * 1e-3, 0.05 * k40 * 1e-3);
  fluid.stick(3);
  fluid.run(milliseconds(1));
  EXPECT_TRUE(fluid.is_paused(2));
  const double when_stopped = fluid.delivered(1);
  fluid.run(milliseconds(3));
  EXPECT_EQ(fluid.delivered(1), when_stopped);
  EXPECT_FALSE(fluid.is_shut(3));
  fluid.run(milliseconds(2));
  EXPECT_TRUE(fluid.is_shut(3));
  EXPECT_FALSE(fluid.is_shut(2));  // it was stopped later and released in time
  EXPECT_GT(fluid.delivered(1), when_stopped + 0.4 * k40 * 0.5e-3);
  EXPECT_GT(fluid.dropped(), 0);
}

TEST(PauseFluid, more_marking_leaves_a_shorter_queue) {
  const RateControl control;
  const auto queue = [&](double pmax) {
    return marked_queue({.pmax = pmax}, control, 8, gbits_per_s(400)).queue;
  };
  EXPECT_LT(queue(1), queue(0.1));
  EXPECT_FALSE(marked_queue({.pmax = 1e-6}, control, 8, gbits_per_s(400)).is_marked_enough);
}

// Options without marks, pauses or drops unless a test sets them.
PauseOptions slow_steps() {
  return {.step = seconds(1),
          .pauses = false,
          .xoff = bytes(1000),
          .xon = 0.8,
          .headroom = bytes(1000),
          .marking = {}};
}

constexpr LinkId kPath[] = {0, 1};

// A NIC of 10 into a port of 4: 10 arrive in the first second; then 4 of 10 leave and 10 arrive;
// then 4 of 16 leave.
TEST(PauseFluid, port_forwards_at_its_rate) {
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

// A port faster than its input takes all of it, a step later.
TEST(PauseFluid, fast_port_queues_nothing) {
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

// Xoff and headroom allow 8 beyond the 4 that a step takes: of 16, four are dropped, then of 18
// six.
TEST(PauseFluid, bytes_beyond_the_headroom_are_dropped) {
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
  EXPECT_EQ(fluid.pauses(), 0U) << "there are no pauses";
}

TEST(PauseFluid, queues_grow_without_pauses) {
  PauseOptions options = slow_steps();
  options.xoff = bytes(1);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.run(seconds(6));
  EXPECT_EQ(fluid.pauses(), 0U);
  EXPECT_FALSE(fluid.is_paused(0));
  EXPECT_DOUBLE_EQ(fluid.sent(), 60);
}

// What the NIC brought exceeds its own 10 by more than Xoff = 5 in the third second; a second later
// it is paused, until the excess is below 4, and for a second more.
TEST(PauseFluid, port_is_paused_from_xoff_to_xon) {
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

// Ingress counts what arrived over it: with pauses, drops begin beyond the NIC's 10 + 5 + 3.
TEST(PauseFluid, with_pauses_headroom_counts_per_ingress) {
  PauseOptions options = slow_steps();
  options.pauses = true;
  options.xoff = bytes(5);
  options.headroom = bytes(3);
  PauseFluid fluid({10, 4}, options);
  fluid.add_flow(kPath);
  fluid.run(seconds(4));
  // 22 when the fourth began: 18 stay, four are dropped, four leave.
  EXPECT_DOUBLE_EQ(fluid.dropped(), 4);
  EXPECT_DOUBLE_EQ(fluid.inside(), 14);
}

// The receiver pauses permanently; bytes wait from the second second on. After three such seconds
// the port is shut and drops what it has and what arrives.
TEST(PauseFluid, watchdog_shuts_a_stuck_port) {
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

// Marks from 5 to 15 bytes beyond a step, up to a probability of one half. Alone at full rate alpha
// falls by the factor g/t_a; then p = 0.05 with 6 waiting, then 0.35 with 12.
TEST(PauseFluid, marks_cut_the_sender_rate) {
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
  // Ten packets per second: the chance of a mark in 3 s is 1 - 0.95^30, in 2 s 1 - 0.95^20.
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

TEST(PauseFluid, marking_rises_from_kmin_to_kmax) {
  const EcnMarking m{.kmin = bytes(40), .kmax = bytes(200), .pmax = 0.1};
  EXPECT_EQ(m.probability(40), 0);
  EXPECT_DOUBLE_EQ(m.probability(80), 0.025);
  EXPECT_DOUBLE_EQ(m.probability(200), 0.1);
  EXPECT_EQ(m.probability(200.1), 1);
}

// In packets: Rai = 0.01 x 100, N = 3, t_a = 2 s, C = 100, B = 50, T = 4 s.
TEST(PauseFluid, dcqcn_fixed_point) {
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

}  // namespace
}  // namespace orrery::fabric
