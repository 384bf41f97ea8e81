// Replicas that follow the load, look by look.
#include <gtest/gtest.h>

#include "twin/twin/timed_fixture.h"

namespace orrery::twin {
namespace {

// Six requests a second on replicas of four slots that carry ten; called in 50 s, looked at every
// minute against six in flight each.
struct ScaledService : TimedWorld {
  static design::Design design_of(int hosts, Seconds lag, Seconds hold) {
    design::Design d = sample_design();
    d.fleet.front().count = hosts;
    d.fleet.front().spares = 0;
    d.fleet.front().failures = {.node_mtbf = years(1e6)};
    design::Serve serve;
    serve.network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
    serve.autoscale = design::Autoscale{
        .min = 1, .max = 4, .target = 6, .period = seconds(60), .lag = lag, .hold = hold};
    serve.arrivals = {.rate = PerSecond(6)};
    d.workloads.front() = {.terms = {.name = "ranking"}, .task = serve};
    return d;
  }
  explicit ScaledService(Seconds horizon, int hosts = 3, Seconds lag = Seconds(0),
                         Seconds hold = Seconds(0))
      : TimedWorld(design_of(hosts, lag, hold), horizon) {
    ServicePlan& p = plan();
    p.slots = 4;
    p.replicas = 4;
    p.least = 1;
    p.job.target = PerSecond(3);
    p.job.start = seconds(50);
    p.most = 10;
    p.job.day.fill(6);
    p.windows.levels = {{.rate = 2, .busy = 0.25, .stay = 1}, {.rate = 4, .busy = 0.5, .stay = 3}};
  }
  ServicePlan& plan() { return scenario.services.front(); }
  const ServiceOutcome& outcome() const { return processes->services().front()->outcome(); }
  // Seconds by the replicas that stand.
  std::map<int, double> standing() const {
    std::map<int, double> told;
    for (const auto& [load, ns] : outcome().time_ns) {
      told[load.standing] += static_cast<double>(ns) / 1e9;
    }
    return told;
  }
};

using Standing = std::map<int, double>;

// 300 requests came before the first two stood; at 60 s 160 of them are left, and 12 in flight: all
// four are called. At 120 s they hold six in all: one is left, which at 180 s has 18 in flight;
// three are wanted, and at 240 s one again.
TEST(ServiceScaled, replicas_follow_what_is_in_flight) {
  ScaledService t(seconds(250));
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {1, 120}, {2, 60}, {3, 10}, {4, 10}}));
  EXPECT_EQ(t.outcome().called, 4U);
  EXPECT_EQ(t.outcome().standing_ns, 310'000'000'000);
  EXPECT_EQ(t.outcome().down_ns, (2 + 2 + 2) * 50'000'000'000);
  EXPECT_NEAR(t.booked_s(Cause::start), 4 * 50 * 6, 1e-4);
  EXPECT_EQ(t.outcome().never_placed, 0U);
}

// What is seen is a minute old: the four are called at 120 s, stand at 170 s, and at 180 s the 12
// in flight of two replicas are seen.
TEST(ServiceScaled, a_late_look_calls_later) {
  ScaledService t(seconds(190), 3, seconds(60));
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {2, 130}, {4, 10}}));
  EXPECT_EQ(t.outcome().called, 2U);
}

// Four stay until no look of the last 100 s wanted them: that of 60 s did until 160 s.
TEST(ServiceScaled, replicas_are_held_for_a_while) {
  ScaledService t(seconds(235), 3, Seconds(0), seconds(100));
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {1, 55}, {2, 60}, {4, 70}}));
}

// Started in 70 s, the first two have answered all by 120 s: the two that start are sent away.
TEST(ServiceScaled, a_replica_that_starts_is_sent_away) {
  ScaledService t(seconds(250));
  t.plan().job.start = seconds(70);
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 70}, {2, 180}}));
  EXPECT_EQ(t.outcome().called, 2U);
  EXPECT_EQ(t.outcome().down_ns, (60 * 2 + 10 * 4 + 50 * 2) * 1'000'000'000LL);
  EXPECT_NEAR(t.booked_s(Cause::start), 2 * 4 * 70 + 2 * 4 * 60, 1e-4);
}

// One host has room for two; the others wait until they are wanted no more.
TEST(ServiceScaled, a_replica_that_waits_is_sent_away) {
  ScaledService t(seconds(250), 1);
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {2, 200}}));
  EXPECT_EQ(t.outcome().called, 2U);
  EXPECT_EQ(t.world->fleet(0).queue().waiting(), 0U);
  EXPECT_NEAR(t.booked_s(Cause::stranded), 0, 1e-9);
}

// Called with new weights at 115 s, the third reloads when all but the first leave at 120 s.
TEST(ServiceScaled, a_replica_that_leaves_does_not_hold_up_new_weights) {
  ScaledService t(seconds(175));
  t.at(111, [](World& w) { w.process(ProcessIndex(0)).call(); });
  t.run();
  // At 120 s three stand and the first reloads: six in flight, and one is wanted. The last three
  // leave; the first stands again at 161 s.
  EXPECT_EQ(t.standing(), (Standing{{0, 50 + 41}, {1, 14}, {2, 60}, {3, 9}, {4, 1}}));
}

// Nobody waits for more than the least where little comes.
TEST(ServiceScaled, the_least_stand_always) {
  ScaledService t(seconds(250));
  t.plan().job.day.fill(0.1);
  t.plan().least = 2;
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {2, 200}}));
  EXPECT_EQ(t.outcome().called, 0U);
}

}  // namespace
}  // namespace orrery::twin
