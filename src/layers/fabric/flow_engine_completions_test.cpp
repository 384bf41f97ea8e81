// When completions of flows are reported: batched within a tolerance, and after changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "layers/fabric/flow_engine.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;

struct Turns {
  sim::Kernel kernel;
  FlowEngine engine;
  std::vector<LinkId> first{0}, second{1};
  explicit Turns(std::vector<double> capacities, FlowOptions options = {})
      : engine(kernel, std::move(capacities), options) {}
  void until(double seconds) { kernel.run(sim::SimTime::from(Seconds(seconds))); }
  double finish(FlowId f) const { return engine.finish_time(f).seconds().base(); }
};

// Records when it is notified of each end, and how many flows run then.
struct SeenEnds : FlowObserver {
  explicit SeenEnds(const FlowEngine& e) : engine(e) {}
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

// Created, solved, timed, and visited once more when it is cancelled.
TEST(FlowCompletions, empty_group_is_not_solved) {
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
  // Changing the capacity of an unused link has no effect.
  t.engine.set_capacity(0, BytesPerSecond(3));
  EXPECT_EQ(t.kernel.pending(), 0U);
}

// Separately each is solved once, at its start. As a whole both are solved at every change: at 0, 2
// and 5.
TEST(FlowCompletions, solving_whole_gives_the_same_times) {
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
    EXPECT_EQ(c.engine.solves(), whole ? 2U : 1U) << "an unused link";
    EXPECT_NEAR(c.engine.last_finish().seconds().base(), 10, 1e-9);
  }
}

// Each gets a third at first: ends would be at 3, 12 and 30 s, so a tenth of the span is 3 s, and
// the first end is reported at 6 s. Then b and c have 20 and 80 bytes left and get halves: the next
// report is 4 plus a tenth of 6 + 16 s later. c alone has 49 bytes left at 12.2 s.
TEST(FlowCompletions, completions_are_gathered_over_a_share_of_the_span) {
  Turns t({10}, {.tolerance = 0.1});
  SeenEnds seen(t.engine);
  t.engine.observe(&seen);
  const FlowId a = t.engine.start({.path = t.first, .bytes = 10, .tag = 7});
  const FlowId b = t.engine.start({.path = t.first, .bytes = 40, .tag = 8});
  const FlowId c = t.engine.start({.path = t.first, .bytes = 100, .tag = 9});
  t.kernel.run();
  EXPECT_NEAR(t.finish(a), 3, 1e-6);
  EXPECT_NEAR(t.finish(b), 10, 1e-6);
  EXPECT_NEAR(t.finish(c), 17.1, 1e-6);
  ASSERT_EQ(seen.at.size(), 3U);
  EXPECT_NEAR(seen.at[0], 6, 1e-6);
  EXPECT_NEAR(seen.at[1], 12.2, 1e-6);
  EXPECT_NEAR(seen.at[2], 17.1, 1e-6);
  EXPECT_THAT(seen.tags, ElementsAre(7, 8, 9));
  EXPECT_THAT(seen.running, ElementsAre(2, 1, 0));
  EXPECT_EQ(t.engine.solves(), 3U);
}

// The span begins when the first of them started, not after their latency: at 2 s it is 2 + 30 s,
// and a third of the way the first is reported, 3 + 3.2 s later.
TEST(FlowCompletions, span_begins_with_the_first_start) {
  Turns t({10}, {.tolerance = 0.1});
  SeenEnds seen(t.engine);
  t.engine.observe(&seen);
  const FlowId a = t.engine.start({.path = t.first, .bytes = 10, .latency = 2});
  t.until(1);
  t.engine.start({.path = t.first, .bytes = 40, .latency = 1});
  t.engine.start({.path = t.first, .bytes = 100, .latency = 1});
  t.until(9);
  EXPECT_NEAR(t.finish(a), 5, 1e-6);
  ASSERT_EQ(seen.at.size(), 1U);
  EXPECT_NEAR(seen.at[0], 8.2, 1e-6);
}

// Both get halves from 0 on: a finishes at 2 s and would be reported at 2 + 2 s. An arrival at 3 s
// causes the report then, with a's own end time.
TEST(FlowCompletions, drained_flow_ends_at_the_next_arrival) {
  Turns t({10}, {.tolerance = 0.1});
  SeenEnds seen(t.engine);
  t.engine.observe(&seen);
  const FlowId a = t.engine.start({.path = t.first, .bytes = 10});
  const FlowId c = t.engine.start({.path = t.first, .bytes = 100});
  const FlowId d = t.engine.start({.path = t.first, .bytes = 1000, .latency = 3});
  t.until(3.5);
  EXPECT_NEAR(t.finish(a), 2, 1e-6);
  ASSERT_EQ(seen.at.size(), 1U);
  EXPECT_NEAR(seen.at[0], 3, 1e-9);
  EXPECT_EQ(t.engine.rate(c).base(), 5);
  EXPECT_EQ(t.engine.rate(d).base(), 5);
}

TEST(FlowCompletions, simultaneous_completions_end_before_any_is_reported) {
  Turns t({10, 10});
  SeenEnds seen(t.engine);
  SeenEnds own(t.engine);
  t.engine.observe(&seen);
  t.engine.start({.path = t.first, .bytes = 50, .tag = 1});
  t.engine.start({.path = t.first, .bytes = 50, .tag = 2, .observer = &own});
  t.engine.start({.path = t.first, .bytes = 50, .tag = 3});
  t.kernel.run();
  EXPECT_THAT(seen.tags, ElementsAre(1, 3));
  EXPECT_THAT(own.tags, ElementsAre(2));
  EXPECT_THAT(seen.running, ElementsAre(0, 0));
  EXPECT_NEAR(seen.at[0], 15, 1e-9);
}

// A reused number keeps nothing of its old flow: neither weight, cap, priority nor observer.
TEST(FlowCompletions, reused_id_has_the_terms_of_its_new_flow) {
  Turns t({10});
  t.engine.keep_finished(false);
  SeenEnds own(t.engine);
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

TEST(FlowCompletions, violation_lasts_until_rates_settle) {
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

TEST(FlowCompletions, empty_flow_finishes_after_its_latency) {
  Turns t({10});
  const FlowId less = t.engine.start({.path = t.first, .bytes = -5, .latency = 2});
  const FlowId none = t.engine.start({.path = t.first, .bytes = 0});
  t.kernel.run();
  EXPECT_NEAR(t.finish(less), 2, 1e-9);
  EXPECT_NEAR(t.finish(none), 0, 1e-9);
  EXPECT_EQ(t.engine.last_finish(), t.engine.finish_time(less));
}

}  // namespace
}  // namespace orrery::fabric
