#include "layers/fabric/flow_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "layers/fabric/hazards.h"
#include "layers/fabric/traffic.h"
#include "layers/fabric/traffic_fixture.h"

namespace orrery::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Flows over plain links, started at once or later, with their finish times in seconds.
struct Bench {
  sim::Kernel kernel;
  FlowEngine engine;
  explicit Bench(std::vector<double> capacities) : engine(kernel, std::move(capacities)) {}
  double finish(FlowId f) const { return engine.finish_time(f).seconds().base(); }
};

// Reads the rates at regular instants, after they have settled.
struct Watcher : sim::EventHandler {
  Watcher(FlowEngine& e, sim::SimTime p) : engine(e), period(p) {}
  FlowEngine& engine;
  sim::SimTime period;
  double worst = 0;
  int looks = 0;
  void begin(sim::Kernel& kernel) { kernel.schedule(period, sim::EventRank::settle, *this, 0, 0); }
  void on_event(sim::Kernel& kernel, std::uint32_t, std::uint64_t again) override {
    // The instant's settling may be scheduled after this look, so look again behind it.
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

TEST(FlowEngine, latency_then_bandwidth) {
  Bench b({100.0});
  const std::vector<LinkId> path{0};
  const FlowId f = b.engine.start({.path = path, .bytes = 50, .latency = 2});
  b.kernel.run();
  EXPECT_NEAR(b.finish(f), 2.5, 1e-9);
}

// The classic case: one long flow over two links, one short flow on each. 5/5, then the rest.
TEST(FlowEngine, linear_network) {
  Bench b({10.0, 10.0});
  const std::vector<LinkId> both{0, 1}, first{0}, second{1};
  const FlowId l = b.engine.start({.path = both, .bytes = 100});
  const FlowId s = b.engine.start({.path = first, .bytes = 25});
  const FlowId t = b.engine.start({.path = second, .bytes = 50});
  b.kernel.run();
  EXPECT_NEAR(b.finish(s), 5, 1e-9);   // at 5 each
  EXPECT_NEAR(b.finish(t), 10, 1e-9);  // the second link limits the long flow to 5
  EXPECT_NEAR(b.finish(l), 15, 1e-9);  // 50 bytes at 5, then 50 at 10
}

TEST(FlowEngine, weights_caps_and_priorities) {
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

TEST(FlowEngine, lost_link_stops_only_its_flows) {
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

TEST(FlowEngine, message_to_itself_arrives_after_its_latency) {
  Bench b({10.0});
  const FlowId f = b.engine.start({.path = {}, .bytes = 1e9, .latency = 0.5});
  b.kernel.run();
  EXPECT_NEAR(b.finish(f), 0.5, 1e-9);
}

// Random flows over random links: every rate vector must pass the certificate of max-min fairness,
// with weights and caps, while flows start and end.
TEST(FlowEngine, max_min_certificate_on_random_cases) {
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

TEST(FlowEngine, no_link_above_capacity_no_flow_below_its_share) {
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

TEST(FlowEngine, flow_longer_than_the_clock_never_ends) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, {1.0});
  const std::vector<LinkId> path{0};
  const FlowId year = engine.start({.path = path, .bytes = 31'536'000, .priority = 1});
  const FlowId never = engine.start({.path = path, .bytes = 1e3 * 31'536'000});
  kernel.run();
  EXPECT_EQ(engine.finish_time(year), sim::SimTime::from(years(1)));
  EXPECT_FALSE(engine.is_done(never));
  EXPECT_EQ(kernel.now(), sim::SimTime::from(years(1)));
  EXPECT_EQ(kernel.pending(), 1u);
}

struct Notes final : FlowObserver {
  std::vector<std::string> lines;
  std::function<void(FlowId)> on_rate;
  void on_flow_done(sim::Kernel& kernel, FlowId, std::uint64_t tag) override {
    lines.push_back("done " + std::to_string(tag) + " at " +
                    std::to_string(kernel.now().ns() / 1'000'000'000));
  }
  void on_flow_rate(sim::Kernel& kernel, FlowId flow, std::uint64_t tag,
                    BytesPerSecond rate) override {
    lines.push_back("rate " + std::to_string(tag) + " " +
                    std::to_string(static_cast<int>(rate.base())) + " at " +
                    std::to_string(kernel.now().ns() / 1'000'000'000));
    if (on_rate) on_rate(flow);
  }
};

TEST(FlowEngine, observer_is_called_only_for_its_flow) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, {10.0, 10.0});
  const std::vector<LinkId> first{0}, second{1};
  Notes mine, everybodys;
  engine.observe(&everybodys);
  engine.start({.path = first, .bytes = 100, .latency = 1, .tag = 1, .observer = &mine});
  engine.start({.path = first, .bytes = 25, .latency = 3, .tag = 2});
  engine.start({.path = second, .bytes = 40, .tag = 3});
  kernel.run();
  // Alone from 1 s to 3 s, shared in halves until 8 s, alone again.
  EXPECT_THAT(mine.lines,
              ElementsAre("rate 1 10 at 1", "rate 1 5 at 3", "rate 1 10 at 8", "done 1 at 13"));
  EXPECT_THAT(everybodys.lines, ElementsAre("done 3 at 4", "done 2 at 8"));
}

TEST(FlowEngine, lost_link_reports_a_rate_of_zero) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, {10.0});
  const std::vector<LinkId> path{0};
  Notes notes;
  engine.start({.path = path, .bytes = 100, .tag = 7, .observer = &notes});
  kernel.run(sim::SimTime::from(seconds(2)));
  engine.set_capacity(0, BytesPerSecond(0));
  kernel.run(sim::SimTime::from(seconds(5)));
  engine.set_capacity(0, BytesPerSecond(40));
  kernel.run();
  EXPECT_THAT(notes.lines,
              ElementsAre("rate 7 10 at 0", "rate 7 0 at 2", "rate 7 40 at 5", "done 7 at 7"));
}

TEST(FlowEngine, cancelled_flow_frees_its_share_and_never_completes) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, {10.0});
  const std::vector<LinkId> path{0};
  Notes notes;
  const FlowId gone = engine.start({.path = path, .bytes = 100, .tag = 1, .observer = &notes});
  const FlowId stays = engine.start({.path = path, .bytes = 60});
  const FlowId waits = engine.start({.path = path, .bytes = 30, .latency = 5});
  kernel.run(sim::SimTime::from(seconds(2)));
  EXPECT_NEAR(engine.cancel(gone).base(), 90, 1e-6);
  EXPECT_NEAR(engine.cancel(waits).base(), 30, 1e-6);
  EXPECT_EQ(engine.cancel(gone), Bytes());  // cancelling again does nothing
  EXPECT_EQ(engine.active(), 1u);
  EXPECT_EQ(engine.waiting(), 0u);
  kernel.run();
  EXPECT_NEAR(engine.finish_time(stays).seconds().base(), 7, 1e-9);  // 10 bytes at 5, 50 at 10
  EXPECT_FALSE(engine.is_done(gone));
  EXPECT_FALSE(engine.is_done(waits));
  EXPECT_EQ(engine.cancel(stays), Bytes());  // already finished: does nothing
  EXPECT_THAT(notes.lines, ElementsAre("rate 1 5 at 0"));
}

// Flows that are cancelled during an observer's call, and whose numbers are reused at once.
TEST(FlowEngine, observer_may_cancel_and_start_inside_a_call) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, {10.0});
  engine.keep_finished(false);
  const std::vector<LinkId> path{0};
  Notes first, second, third;
  const FlowId a = engine.start({.path = path, .bytes = 50, .tag = 1, .observer = &first});
  const FlowId b = engine.start({.path = path, .bytes = 50, .tag = 2, .observer = &second});
  FlowId c = b;
  first.on_rate = [&, is_first = true](FlowId) mutable {
    if (!std::exchange(is_first, false)) return;
    engine.cancel(b);
    c = engine.start({.path = path, .bytes = 50, .tag = 3, .observer = &third});
  };
  kernel.run();
  EXPECT_NE(c, b);  // its number is free only after the instant is settled
  EXPECT_NE(c, a);
  EXPECT_THAT(second.lines, IsEmpty());
  EXPECT_THAT(third.lines, ElementsAre("rate 3 5 at 0", "done 3 at 10"));
  EXPECT_EQ(engine.start({.path = path, .bytes = 1}), c);
}

TEST(FlowEngine, capped_flow_without_links_can_be_cancelled) {
  sim::Kernel kernel;
  FlowEngine engine(kernel, {10.0});
  const std::vector<LinkId> path{0};
  const FlowId bare = engine.start({.path = {}, .bytes = 100, .cap = 10});
  const FlowId other = engine.start({.path = path, .bytes = 100});
  kernel.run(sim::SimTime::from(seconds(4)));
  EXPECT_NEAR(engine.cancel(bare).base(), 60, 1e-6);
  kernel.run();
  EXPECT_FALSE(engine.is_done(bare));
  EXPECT_TRUE(engine.is_done(other));
}

TEST(FlowEngine, engine_may_be_destroyed_before_its_kernel) {
  sim::Kernel kernel;
  const std::vector<LinkId> path{0};
  {
    FlowEngine engine(kernel, {10.0});
    engine.start({.path = path, .bytes = 100, .latency = 1});
    EXPECT_EQ(kernel.pending(), 1u);
  }
  EXPECT_EQ(kernel.run(), 0u);
}

struct Steps {
  sim::Kernel kernel;
  FlowEngine engine;
  std::vector<LinkId> one{0}, two{0, 1}, other{1};
  explicit Steps(std::vector<double> capacities, FlowOptions options = {})
      : engine(kernel, std::move(capacities), options) {}
  std::uint64_t until(double seconds) { return kernel.run(sim::SimTime::from(Seconds(seconds))); }
  double finish(FlowId f) const { return engine.finish_time(f).seconds().base(); }
};

// Alone at 10 until 2 s, then halves until the second ends at 7 s. The first's planned end at 10 s
// has no effect.
TEST(FlowEngine, arrival_delays_flows_that_share_its_link) {
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

TEST(FlowEngine, capacity_change_moves_the_finish_time) {
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

TEST(FlowEngine, finished_flow_ids_are_reused) {
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

// A number whose last flow was cancelled can be reused: the new flow waits, runs and can be
// cancelled.
TEST(FlowEngine, id_of_a_cancelled_flow_is_reused) {
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

TEST(FlowEngine, higher_priority_flow_goes_first) {
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

// It starts after its latency: at 4 s it has run for three.
TEST(FlowEngine, cancelled_capped_flow_without_links_keeps_what_it_sent) {
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

TEST(FlowEngine, unchanged_rate_is_not_reported_again) {
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

TEST(FlowEngine, blocked_flow_schedules_no_event) {
  Steps s({0, 10});
  const FlowId stuck = s.engine.start({.path = s.two, .bytes = 10});
  s.kernel.run();
  ASSERT_EQ(s.kernel.pending(), 0U);
  EXPECT_FALSE(s.engine.is_done(stuck));
  EXPECT_EQ(s.engine.rate(stuck).base(), 0);
  // A flow that shares its second link gets all of it, even with batched completions.
  Steps t({0, 10}, {.tolerance = 0.01});
  t.engine.start({.path = t.two, .bytes = 10});
  const FlowId moves = t.engine.start({.path = t.other, .bytes = 20});
  t.kernel.run();
  EXPECT_TRUE(t.engine.is_done(moves));
  EXPECT_NEAR(t.finish(moves), 2, 1e-9);
}

// With a tolerance of a tenth: the span is 10 s, so the second ends within one second of the first,
// and both are reported at the later end.
TEST(FlowEngine, completions_within_the_tolerance_are_reported_together) {
  Steps s({10, 10}, {.tolerance = 0.1});
  const FlowId first = s.engine.start({.path = s.one, .bytes = 92});
  const FlowId second = s.engine.start({.path = s.two, .bytes = 100});
  RateNotes notes;
  s.engine.observe(&notes);
  s.kernel.run();
  // Halves until 18.4 s; then the second alone: 8 bytes more than at its old rate.
  EXPECT_NEAR(s.finish(first), 18.4, 1e-6);
  EXPECT_NEAR(s.finish(second), 20, 1e-6);
  EXPECT_EQ(notes.done, 2);
}

}  // namespace
}  // namespace orrery::fabric
