#include "live/agent/lifecycle_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::agent::lifecycle_rounds_tests {
namespace {

using storage::WaitKind;
using testing::HasSubstr;

constexpr Seconds kStart = seconds(1000);
constexpr RoundsOptions kOnce{.ends = true, .quiet = seconds(10), .interval = seconds(5)};

LifecycleTick tick_with(WaitKind kind, Seconds until, int failures = 0, Seconds at = kStart) {
  return {.at = at, .done = {}, .waits = {{kind, "verb/hot/a", until, failures}}};
}

// Returns whether a run with this wait ends at its second look.
bool ends_at(const LifecycleTick& tick, RoundsOptions options = kOnce) {
  LifecycleRounds rounds(options);
  rounds.said_of({.at = kStart, .done = {}});
  rounds.said_of(tick);
  return rounds.end_of(tick).has_value();
}

TEST(LifecycleRounds, run_that_ends_waits_only_for_events_due_soon) {
  EXPECT_FALSE(ends_at(tick_with(WaitKind::pace, kStart + minutes(9))));
  EXPECT_FALSE(ends_at(tick_with(WaitKind::quiet, kStart + seconds(4))));
  EXPECT_FALSE(ends_at(tick_with(WaitKind::retry, kStart + seconds(4), 3)));
  EXPECT_FALSE(ends_at(tick_with(WaitKind::grace, kStart)));
  EXPECT_TRUE(ends_at(tick_with(WaitKind::hours, kStart + hours(4))));
  EXPECT_TRUE(ends_at(tick_with(WaitKind::grace, kStart + hours(20))));
  EXPECT_TRUE(ends_at(tick_with(WaitKind::retry, kStart + seconds(40), 4)));
  EXPECT_TRUE(ends_at(tick_with(WaitKind::quiet, kStart + hours(1), 0, kStart + minutes(1))))
      << "something keeps changing";
  RoundsOptions dry = kOnce;
  dry.only_read = true;
  EXPECT_TRUE(ends_at(tick_with(WaitKind::pace, kStart + minutes(9)), dry));
  RoundsOptions for_ever = kOnce;
  for_ever.ends = false;
  EXPECT_FALSE(ends_at({.at = kStart, .done = {}}, for_ever));
}

TEST(LifecycleRounds, standing_alert_is_a_failure_and_is_shown_once_per_run) {
  LifecycleRounds rounds(kOnce);
  LifecycleTick tick{.at = kStart, .done = {}, .items = 3};
  tick.standing = {{.item = "a", .why = "x: too long", .key = "odd/hot/a"}};
  rounds.said_of(tick);
  EXPECT_FALSE(rounds.end_of(tick));
  rounds.said_of(tick);
  const auto end = rounds.end_of(tick);
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->is_good);
  ASSERT_EQ(end->alerts.size(), 1U);
  EXPECT_EQ(end->alerts[0].why, "x: too long");
  EXPECT_TRUE(rounds.end_of(tick)->alerts.empty());
  tick.standing.clear();
  EXPECT_TRUE(rounds.end_of(tick)->is_good);
  EXPECT_THAT(rounds.end_of(tick)->text, HasSubstr("3 items"));
  tick.away = {"cold"};
  EXPECT_FALSE(rounds.end_of(tick)->is_good);
}

TEST(LifecycleRounds, reason_to_wait_is_printed_when_it_changes) {
  LifecycleRounds rounds(kOnce);
  LifecycleTick tick = tick_with(WaitKind::quiet, kStart + seconds(7));
  tick.away = {"cold"};
  tick.away_why = {"no\nroute"};
  const std::string said = rounds.said_of(tick);
  EXPECT_THAT(said, HasSubstr("verb/hot/a"));
  EXPECT_THAT(said, HasSubstr("away: cold: no\\nroute\n")) << "a fault cannot add a line";
  EXPECT_EQ(rounds.said_of(tick), "");
  EXPECT_EQ(rounds.pause_after(tick), seconds(5));
  tick.waits[0].until = kStart + seconds(2);
  EXPECT_EQ(rounds.pause_after(tick), seconds(2));
}

}  // namespace
}  // namespace orrery::agent::lifecycle_rounds_tests
