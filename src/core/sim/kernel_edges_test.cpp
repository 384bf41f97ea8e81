// The kernel at its edges: steps, timers that name nobody, handlers that are gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/sim/kernel.h"

namespace orrery::sim {
namespace {

struct Counting : EventHandler {
  int calls = 0;
  void on_event(Kernel&, std::uint32_t, std::uint64_t) override { ++calls; }
};

TEST(KernelEdges, a_step_says_whether_there_was_an_event) {
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

TEST(KernelEdges, a_timer_that_was_never_given_is_not_pending) {
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
  EXPECT_EQ(TimerId{}.generation, 0U);
}

// A handler whose timers have all fired has none that could be cancelled.
TEST(KernelEdges, forgetting_a_handler_without_timers_changes_nothing) {
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

// More than 64 cancelled, and more than half: the rest still fires, in order.
TEST(KernelEdges, many_cancelled_timers_leave_the_others_in_order) {
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

TEST(KernelEdges, instants_at_the_end_of_their_range) {
  EXPECT_EQ(SimTime::from(Seconds(-1)).ns(), 0);
  EXPECT_EQ(SimTime::from(Seconds(1.6e-9)).ns(), 2);
  EXPECT_EQ(SimTime::from(Seconds(0.4e-9)).ns(), 0);
  EXPECT_TRUE(SimTime::from(Seconds(9.2e9)).is_never());
  EXPECT_FALSE(SimTime::from(Seconds(9.1e9)).is_never());
  EXPECT_EQ(SimTime::nanoseconds(3).after(Seconds(4e-9)).ns(), 7);
  const SimTime late = SimTime::nanoseconds(SimTime::never().ns() - 5);
  EXPECT_EQ(late.after(Seconds(4e-9)).ns(), SimTime::never().ns() - 1);
  EXPECT_TRUE(late.after(Seconds(5e-9)).is_never());
  EXPECT_TRUE(late.after(Seconds(6e-9)).is_never());
  EXPECT_TRUE((SimTime::never() + SimTime::nanoseconds(1)).is_never());
  EXPECT_EQ((SimTime::nanoseconds(9) - SimTime::nanoseconds(4)).ns(), 5);
  EXPECT_DOUBLE_EQ(SimTime::nanoseconds(1'500'000'000).seconds().base(), 1.5);
}

}  // namespace
}  // namespace orrery::sim
