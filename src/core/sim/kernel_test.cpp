#include "core/sim/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "core/sim/trace.h"

namespace orrery::sim {
namespace {

SimTime at(std::int64_t ns) { return SimTime::nanoseconds(ns); }

struct Recorder : EventHandler {
  std::vector<std::uint64_t> seen;
  void on_event(Kernel&, std::uint32_t, std::uint64_t data) override { seen.push_back(data); }
};

TEST(SimTime, rounds_to_the_nanosecond) {
  EXPECT_EQ(SimTime::from(microseconds(1)).ns(), 1'000);
  EXPECT_EQ(SimTime::from(Seconds(2.6e-9)).ns(), 3);
  EXPECT_EQ(SimTime::from(Seconds(-1)).ns(), 0);
  EXPECT_DOUBLE_EQ(at(2'500'000'000).seconds().base(), 2.5);
}

TEST(SimTime, years_and_centuries_are_in_range) {
  EXPECT_EQ(SimTime::from(years(1)).ns(), 31'536'000'000'000'000);
  const SimTime later = SimTime::from(years(100)) + at(1);
  EXPECT_EQ((later - SimTime::from(years(100))).ns(), 1);
  EXPECT_DOUBLE_EQ(later.seconds().base(), years(100).base());
}

TEST(SimTime, beyond_the_range_is_never_and_never_stays) {
  EXPECT_FALSE(SimTime::from(years(290)).is_never());
  EXPECT_TRUE(SimTime::from(years(300)).is_never());
  EXPECT_TRUE((SimTime::never() + at(1)).is_never());
  EXPECT_TRUE((at(1) + SimTime::never()).is_never());
  EXPECT_TRUE((SimTime::never() - at(1)).is_never());
  EXPECT_EQ(at(7).after(microseconds(1)), at(1007));
  EXPECT_TRUE(SimTime::from(years(200)).after(years(200)).is_never());
  EXPECT_TRUE(SimTime::never().after(seconds(1)).is_never());
}

TEST(SimTimeDeathTest, overflow_and_negative_spans_are_faults) {
  EXPECT_DEBUG_DEATH(SimTime::from(years(200)) + SimTime::from(years(200)), "never");
  EXPECT_DEBUG_DEATH(at(1) - at(2), "b <= a");
}

TEST(Kernel, ties_go_by_rank_then_by_order_of_scheduling) {
  Kernel k;
  Recorder r;
  k.schedule(at(5), EventRank::settle, r, 0, 4);
  k.schedule(at(5), EventRank::start, r, 0, 2);
  k.schedule(at(5), EventRank::start, r, 0, 3);
  k.schedule(at(5), EventRank::finish, r, 0, 1);
  k.schedule(at(4), EventRank::settle, r, 0, 0);
  EXPECT_EQ(k.run(), 5u);
  EXPECT_EQ(r.seen, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(k.now(), at(5));
}

TEST(Kernel, event_of_this_instant_runs_before_higher_ranks) {
  struct Chain : EventHandler {
    std::vector<std::uint64_t> seen;
    void on_event(Kernel& k, std::uint32_t, std::uint64_t data) override {
      seen.push_back(data);
      // Times in the past become now.
      if (data == 0) k.schedule(at(1), EventRank::start, *this, 0, 1);
    }
  } chain;
  Kernel k;
  k.schedule(at(7), EventRank::finish, chain, 0, 0);
  k.schedule(at(7), EventRank::settle, chain, 0, 2);
  k.run();
  EXPECT_EQ(chain.seen, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(Kernel, cancelled_timers_never_fire) {
  Kernel k;
  Recorder r;
  std::vector<TimerId> timers;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    timers.push_back(k.schedule(at(static_cast<std::int64_t>(i)), EventRank::start, r, 0, i));
  }
  for (std::size_t i = 0; i < 1000; ++i) {
    if (i % 3 != 0) k.cancel(timers[i]);
  }
  EXPECT_EQ(k.pending(), 334u);
  EXPECT_FALSE(k.is_pending(timers[1]));
  k.cancel(timers[1]);  // cancelling again does nothing
  EXPECT_EQ(k.run(), 334u);
  for (const std::uint64_t i : r.seen) EXPECT_EQ(i % 3, 0u);
  k.cancel(timers[0]);  // fired long ago and its slot is free: does nothing
}

TEST(Kernel, reused_slot_is_a_new_timer) {
  Kernel k;
  Recorder r;
  const TimerId first = k.schedule(at(1), EventRank::start, r, 0, 1);
  k.cancel(first);
  const TimerId second = k.schedule(at(1), EventRank::start, r, 0, 2);
  EXPECT_EQ(first.slot, second.slot);
  k.cancel(first);
  k.run();
  EXPECT_EQ(r.seen, (std::vector<std::uint64_t>{2}));
}

TEST(Kernel, run_stops_at_the_limit) {
  Kernel k;
  Recorder r;
  k.schedule(at(10), EventRank::start, r, 0, 1);
  k.schedule(at(20), EventRank::start, r, 0, 2);
  EXPECT_EQ(k.run(at(15)), 1u);
  EXPECT_EQ(k.now(), at(15));
  EXPECT_EQ(k.run(), 1u);
}

TEST(Kernel, clock_stops_at_the_limit) {
  Kernel k;
  Recorder r;
  k.schedule(at(10), EventRank::start, r, 0, 1);
  EXPECT_EQ(k.run(at(15)), 1u);
  EXPECT_EQ(k.now(), at(15));
  k.run(at(12));
  EXPECT_EQ(k.now(), at(15));
}

// One timer a day for three years, each scheduled by the one before: times stay exact to the
// nanosecond.
TEST(Kernel, years_of_simulated_time) {
  struct Daily : EventHandler {
    int left = 3 * 365;
    void on_event(Kernel& k, std::uint32_t, std::uint64_t) override {
      const SimTime day = SimTime::from(days(1)) + at(1);
      if (--left > 0) k.schedule(k.now() + day, EventRank::control, *this);
    }
  } daily;
  Kernel k;
  k.schedule(SimTime(), EventRank::control, daily);
  EXPECT_EQ(k.run(), 1095u);
  EXPECT_EQ(k.now().ns(), 1094 * (86'400'000'000'000 + 1));
}

TEST(Kernel, event_at_never_stays_pending) {
  Kernel k;
  Recorder r;
  k.schedule(SimTime::from(years(1000)), EventRank::start, r, 0, 2);
  k.schedule(at(3), EventRank::start, r, 0, 1);
  EXPECT_EQ(k.run(), 1u);
  EXPECT_EQ(k.now(), at(3));
  EXPECT_EQ(k.pending(), 1u);
  EXPECT_FALSE(k.step());
}

// Runs a test's function on the kernel inside an event.
struct Doer : EventHandler {
  explicit Doer(std::function<void(Kernel&, std::uint64_t)> d) : act(std::move(d)) {}
  std::function<void(Kernel&, std::uint64_t)> act;
  void on_event(Kernel& k, std::uint32_t, std::uint64_t data) override { act(k, data); }
};

TEST(Kernel, handler_may_cancel_another_event_of_its_instant) {
  Kernel k;
  Recorder r;
  TimerId victim, later;
  Doer doer([&](Kernel& kernel, std::uint64_t) {
    kernel.cancel(victim);
    kernel.cancel(later);
  });
  k.schedule(at(5), EventRank::start, doer);
  victim = k.schedule(at(5), EventRank::start, r, 0, 1);
  later = k.schedule(at(9), EventRank::start, r, 0, 2);
  k.schedule(at(5), EventRank::settle, r, 0, 3);
  EXPECT_EQ(k.run(), 2u);
  EXPECT_EQ(r.seen, (std::vector<std::uint64_t>{3}));
}

TEST(Kernel, timer_has_fired_when_its_handler_runs) {
  Kernel k;
  TimerId self, successor;
  int runs = 0;
  Doer doer([&](Kernel& kernel, std::uint64_t) {
    if (++runs > 1) return;
    EXPECT_FALSE(kernel.is_pending(self));
    successor = kernel.schedule(at(6), EventRank::start, doer);
    kernel.cancel(self);  // does nothing, even if the successor has the same slot
    EXPECT_TRUE(kernel.is_pending(successor));
  });
  self = k.schedule(at(5), EventRank::start, doer);
  EXPECT_EQ(k.run(), 2u);
}

TEST(Kernel, now_is_behind_its_equals_and_a_past_time_is_now) {
  Kernel k;
  std::vector<std::uint64_t> seen;
  Doer doer([&](Kernel& kernel, std::uint64_t data) {
    seen.push_back(data);
    EXPECT_EQ(kernel.now(), at(5));
    if (data != 1) return;
    kernel.schedule(kernel.now(), EventRank::start, doer, 0, 4);
    // A lower rank than that of its scheduler.
    kernel.schedule(at(0), EventRank::finish, doer, 0, 2);
  });
  k.schedule(at(5), EventRank::start, doer, 0, 1);
  k.schedule(at(5), EventRank::start, doer, 0, 3);
  k.schedule(at(5), EventRank::control, doer, 0, 5);
  k.run();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST(Kernel, failing_handler_stops_the_run_without_losing_events) {
  Kernel k;
  Recorder r;
  std::string failure;
  Doer fails([&](Kernel& kernel, std::uint64_t) {
    failure = "no space left";
    kernel.stop();
  });
  k.schedule(at(5), EventRank::start, r, 0, 1);
  k.schedule(at(5), EventRank::start, fails);
  k.schedule(at(5), EventRank::start, r, 0, 2);
  k.schedule(at(8), EventRank::start, r, 0, 3);
  EXPECT_EQ(k.run(at(100)), 2u);
  EXPECT_EQ(failure, "no space left");
  EXPECT_EQ(k.now(), at(5));
  EXPECT_EQ(k.pending(), 2u);
  EXPECT_EQ(k.run(at(100)), 2u);  // a caller may run on
  EXPECT_EQ(r.seen, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(Kernel, exception_leaves_the_kernel_stopped) {
  Kernel k;
  Recorder r;
  Doer exhausted([](Kernel&, std::uint64_t) { std::ignore = std::string().at(1); });
  k.schedule(at(5), EventRank::start, exhausted);
  k.schedule(at(5), EventRank::start, r, 0, 1);
  EXPECT_THROW(k.run(at(100)), std::out_of_range);
  EXPECT_EQ(k.events_run(), 1u);
  EXPECT_EQ(k.now(), at(5));
  EXPECT_EQ(k.run(), 1u);
}

// Is destroyed with timers pending, like everything that a simulated failure removes.
struct Mortal final : Recorder {
  explicit Mortal(Kernel& k) : kernel(k) {}
  ~Mortal() { kernel.forget(*this); }
  Kernel& kernel;
};

TEST(Kernel, destroyed_handler_takes_its_timers_along) {
  Kernel k;
  Recorder other;
  auto mortal = std::make_unique<Mortal>(k);
  Doer killer([&](Kernel&, std::uint64_t) { mortal.reset(); });
  k.schedule(at(5), EventRank::start, killer);
  for (int i = 0; i < 100; ++i) {
    k.schedule(at(5 + i), EventRank::control, *mortal);
    k.schedule(at(5 + i), EventRank::settle, other);
  }
  EXPECT_EQ(k.run(), 101u);
  EXPECT_EQ(other.seen.size(), 100u);
  EXPECT_EQ(k.pending(), 0u);
}

TEST(Kernel, handler_may_be_destroyed_in_its_own_event) {
  struct Once final : EventHandler {
    explicit Once(Kernel& k) : kernel(k) {}
    ~Once() { kernel.forget(*this); }
    Kernel& kernel;
    void on_event(Kernel&, std::uint32_t, std::uint64_t) override { delete this; }
  };
  Kernel k;
  auto* once = new Once(k);
  k.schedule(at(5), EventRank::start, *once);
  k.schedule(at(6), EventRank::start, *once);
  EXPECT_EQ(k.run(), 1u);
}

// A random mix of scheduling and cancelling gives the same order as a plain sort.
TEST(Kernel, matches_a_sorted_list) {
  RandomStream random(7, "kernel-test");
  Kernel k;
  Recorder r;
  struct Key {
    std::int64_t time;
    int rank;
    std::uint64_t id;
  };
  std::vector<Key> expected;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const auto time = static_cast<std::int64_t>(random.below(300));
    const auto rank = static_cast<int>(random.below(4));
    const TimerId t = k.schedule(at(time), static_cast<EventRank>(rank), r, 0, i);
    if (random.below(4) == 0) {
      k.cancel(t);
    } else {
      expected.push_back({time, rank, i});
    }
  }
  std::sort(expected.begin(), expected.end(), [](const Key& a, const Key& b) {
    return std::tie(a.time, a.rank, a.id) < std::tie(b.time, b.rank, b.id);
  });
  k.run();
  ASSERT_EQ(r.seen.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(r.seen[i], expected[i].id);
}

TEST(Kernel, streams_depend_on_seed_and_name_only) {
  Kernel a(1), b(1), c(2);
  EXPECT_EQ(a.stream("x").next(), b.stream("x").next());
  EXPECT_NE(a.stream("x").next(), c.stream("x").next());
  EXPECT_NE(a.stream("x").next(), a.stream("y").next());
}

TEST(Kernel, trace_gets_the_clock) {
  struct Sink : TraceSink {
    std::vector<std::string> lines;
    void record(const TraceRecord& t) override {
      lines.push_back(std::to_string(t.time.ns()) + " " + std::string(t.name));
    }
  } sink;
  struct Marker : EventHandler {
    void on_event(Kernel& k, std::uint32_t, std::uint64_t) override {
      k.trace(TraceKind::instant, "track", "mark");
    }
  } marker;
  Kernel k(1, &sink);
  k.schedule(at(3), EventRank::control, marker);
  k.run();
  EXPECT_EQ(sink.lines, (std::vector<std::string>{"3 mark"}));
}

struct Counting : EventHandler {
  int calls = 0;
  void on_event(Kernel&, std::uint32_t, std::uint64_t) override { ++calls; }
};

TEST(Kernel, step_returns_whether_an_event_ran) {
  Kernel kernel;
  Counting handler;
  EXPECT_FALSE(kernel.step());
  kernel.schedule(SimTime::nanoseconds(5), EventRank::start, handler);
  kernel.schedule(SimTime::nanoseconds(7), EventRank::start, handler);
  EXPECT_TRUE(kernel.step());
  EXPECT_EQ(kernel.now().ns(), 5);
  EXPECT_EQ(handler.calls, 1);
  EXPECT_TRUE(kernel.step());
  EXPECT_FALSE(kernel.step());
  EXPECT_EQ(kernel.events_run(), 2U);
}

TEST(Kernel, unknown_timers_are_not_pending) {
  Kernel kernel;
  Counting handler;
  EXPECT_FALSE(kernel.is_pending(TimerId{}));
  EXPECT_FALSE(kernel.is_pending({.slot = 0, .generation = 0})) << "there is no timer yet";
  const TimerId timer = kernel.schedule(SimTime::nanoseconds(5), EventRank::start, handler);
  EXPECT_TRUE(kernel.is_pending(timer));
  EXPECT_FALSE(kernel.is_pending({.slot = timer.slot, .generation = timer.generation + 1}));
  EXPECT_FALSE(kernel.is_pending({.slot = timer.slot + 1, .generation = 0}));
  kernel.cancel({.slot = timer.slot + 1, .generation = 0});
  kernel.cancel(TimerId{});
  EXPECT_EQ(kernel.pending(), 1U);
}

// A handler whose timers have all fired has nothing to cancel.
TEST(Kernel, forgetting_an_idle_handler_changes_nothing) {
  Kernel kernel;
  Counting gone, stays;
  kernel.schedule(SimTime::nanoseconds(5), EventRank::start, gone);
  kernel.run();
  kernel.forget(gone);
  EXPECT_EQ(kernel.pending(), 0U);
  kernel.schedule(SimTime::nanoseconds(6), EventRank::start, stays);
  kernel.schedule(SimTime::nanoseconds(7), EventRank::start, gone);
  EXPECT_EQ(kernel.pending(), 2U);
  kernel.forget(gone);
  EXPECT_EQ(kernel.pending(), 1U);
  EXPECT_EQ(kernel.run(), 1U);
  EXPECT_EQ(stays.calls, 1);
  EXPECT_EQ(gone.calls, 1);
}

// More than 64 cancelled timers, and more than half of all: the rest still fires in order.
TEST(Kernel, mass_cancellation_keeps_the_order) {
  Kernel kernel;
  struct Noting : EventHandler {
    std::vector<std::uint64_t> seen;
    void on_event(Kernel&, std::uint32_t, std::uint64_t data) override { seen.push_back(data); }
  } handler;
  std::vector<TimerId> timers;
  for (std::uint64_t i = 0; i < 200; ++i) {
    timers.push_back(kernel.schedule(SimTime::nanoseconds(static_cast<std::int64_t>(997 * i % 200)),
                                     EventRank::start, handler, 0, 997 * i % 200));
  }
  for (std::size_t i = 0; i < 200; ++i) {
    if (i % 4 != 0) kernel.cancel(timers[i]);
  }
  EXPECT_EQ(kernel.pending(), 50U);
  EXPECT_EQ(kernel.run(), 50U);
  ASSERT_EQ(handler.seen.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(handler.seen));
  EXPECT_EQ(kernel.pending(), 0U);
}

struct Heard : EventHandler {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
  void on_event(Kernel&, std::uint32_t kind, std::uint64_t data) override {
    all.emplace_back(kind, data);
  }
};

TEST(Kernel, event_carries_its_kind_and_data) {
  Kernel kernel;
  Heard heard;
  kernel.schedule(SimTime::nanoseconds(1), EventRank::start, heard);
  kernel.schedule(SimTime::nanoseconds(2), EventRank::start, heard, 7);
  kernel.schedule(SimTime::nanoseconds(3), EventRank::start, heard, 8, 9);
  EXPECT_EQ(kernel.run(), 3U);
  EXPECT_EQ(heard.all, (decltype(heard.all){{0, 0}, {7, 0}, {8, 9}}));
}

struct Written : TraceSink {
  struct Line {
    std::int64_t ns;
    TraceKind kind;
    std::string track, name;
    double value;
    bool operator==(const Line&) const = default;
  };
  std::vector<Line> lines;
  void record(const TraceRecord& r) override {
    lines.push_back({r.time.ns(), r.kind, std::string(r.track), std::string(r.name), r.value});
  }
};

TEST(Kernel, trace_records_reach_the_sink_with_their_time) {
  Written sink;
  Kernel kernel(1, &sink);
  kernel.run(SimTime::nanoseconds(40));
  kernel.trace(TraceKind::begin, "job 7", "step");
  kernel.trace(TraceKind::value, "node 2", "load", 0.25);
  EXPECT_EQ(sink.lines,
            (std::vector<Written::Line>{{40, TraceKind::begin, "job 7", "step", 0},
                                        {40, TraceKind::value, "node 2", "load", 0.25}}));
  const Kernel silent;
  silent.trace(TraceKind::begin, "job 7", "step");
  EXPECT_EQ(sink.lines.size(), 2U);
  EXPECT_EQ(silent.seed(), 1U);
  EXPECT_EQ(silent.events_run(), 0U);
  EXPECT_EQ(silent.now().ns(), 0);
}

}  // namespace
}  // namespace orrery::sim
