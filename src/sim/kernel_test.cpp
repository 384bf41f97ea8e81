#include "sim/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace orrery {
namespace {

SimTime at(std::int64_t ps) { return SimTime::picoseconds(ps); }

struct Recorder : EventHandler {
  std::vector<std::uint64_t> seen;
  void on_event(Kernel&, std::uint32_t, std::uint64_t data) override { seen.push_back(data); }
};

TEST(SimTime, RoundsAndSaturates) {
  EXPECT_EQ(SimTime::from(microseconds(1)).ps(), 1'000'000);
  EXPECT_EQ(SimTime::from(Seconds(-1)).ps(), 0);
  EXPECT_TRUE(SimTime::from(days(200)).is_never());
  EXPECT_TRUE((SimTime::never() + at(1)).is_never());
  EXPECT_DOUBLE_EQ(at(2'500'000'000'000).seconds().base(), 2.5);
}

TEST(Kernel, TiesGoByRankThenByOrderOfScheduling) {
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

TEST(Kernel, AnEventOfThisInstantRunsBeforeHigherRanks) {
  struct Chain : EventHandler {
    std::vector<std::uint64_t> seen;
    void on_event(Kernel& k, std::uint32_t, std::uint64_t data) override {
      seen.push_back(data);
      if (data == 0) k.schedule(at(1), EventRank::start, *this, 0, 1);  // the past becomes now
    }
  } chain;
  Kernel k;
  k.schedule(at(7), EventRank::finish, chain, 0, 0);
  k.schedule(at(7), EventRank::settle, chain, 0, 2);
  k.run();
  EXPECT_EQ(chain.seen, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(Kernel, CancelledTimersNeverFire) {
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
  k.cancel(timers[1]);  // again: nothing
  EXPECT_EQ(k.run(), 334u);
  for (const std::uint64_t i : r.seen) EXPECT_EQ(i % 3, 0u);
  k.cancel(timers[0]);  // fired long ago, its slot free: nothing
}

TEST(Kernel, AReusedSlotIsAnotherTimer) {
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

TEST(Kernel, RunStopsAtTheLimit) {
  Kernel k;
  Recorder r;
  k.schedule(at(10), EventRank::start, r, 0, 1);
  k.schedule(at(20), EventRank::start, r, 0, 2);
  EXPECT_EQ(k.run(at(15)), 1u);
  EXPECT_EQ(k.now(), at(15));
  EXPECT_EQ(k.run(), 1u);
}

// A random mix of scheduling and cancelling comes out in the order of a plain sort.
TEST(Kernel, MatchesASortedList) {
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

TEST(Kernel, StreamsDependOnSeedAndNameOnly) {
  Kernel a(1), b(1), c(2);
  EXPECT_EQ(a.stream("x").next(), b.stream("x").next());
  EXPECT_NE(a.stream("x").next(), c.stream("x").next());
  EXPECT_NE(a.stream("x").next(), a.stream("y").next());
}

TEST(Kernel, TraceGetsTheClock) {
  struct Sink : TraceSink {
    std::vector<std::string> lines;
    void record(const TraceRecord& t) override {
      lines.push_back(std::to_string(t.time.ps()) + " " + std::string(t.name));
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

}  // namespace
}  // namespace orrery
