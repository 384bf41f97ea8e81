// After the wall clock was set, nothing is removed: the clock then says neither what is too old nor
// which checkpoint is the newest.
#include "layers/storage/lifecycle_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::storage::lifecycle_clock_tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Seconds kWall = days(20'000);

// Three checkpoints that are good at hot, which keeps those of a week.
class ClockTest : public testing::Test {
 protected:
  ClockTest() {
    for (const auto& [id, age] : {std::pair("a", hours(30)), {"b", hours(20)}, {"c", hours(10)}}) {
      add(id, kWall - age);
    }
    look.clock = {.boot = "one", .up = hours(100)};
    look.now = kWall;
  }
  void add(const std::string& id, Seconds made) {
    look.items.push_back({.id = id,
                          .run = "r",
                          .made = made,
                          .copies = {{.place = "hot", .complete = true, .stamp = "s"}}});
    apply(memory, {.kind = LifecycleEventKind::verified,
                   .item = id,
                   .place = "hot",
                   .stamp = "s",
                   .digest = "d" + id});
  }
  void pass(Seconds span) { look.now += span, look.clock.up += span; }
  // One look: what is asked for, and the events applied.
  std::vector<std::string> asked() {
    const LifecycleDecision decision = decide(look, memory, policy);
    for (const LifecycleEvent& event : decision.events) apply(memory, event);
    std::vector<std::string> out;
    for (const LifecycleAction& a : decision.actions) {
      out.push_back(std::string(word_of(a.kind)) + ' ' + a.item);
      if (a.kind == LifecycleActionKind::alert) alert = a.why;
    }
    return out;
  }

  LifecyclePolicy policy{.places = {{.name = "hot", .written = true, .keep = {.window = days(7)}}},
                         .grace = days(1)};
  LifecycleLook look;
  LifecycleMemory memory;
  std::string alert;
};

TEST_F(ClockTest, clock_set_forward_removes_nothing_for_a_day_and_raises_an_alert) {
  EXPECT_THAT(asked(), IsEmpty());
  pass(hours(1));
  EXPECT_THAT(asked(), IsEmpty());
  look.now += days(30);
  EXPECT_THAT(asked(), ElementsAre("alert clock"));
  EXPECT_THAT(alert, HasSubstr("set forward by 30"));
  pass(hours(23));
  EXPECT_THAT(asked(), IsEmpty());
  pass(hours(1.5));
  EXPECT_THAT(asked(), ElementsAre("remove b", "remove a")) << "no one has corrected it";
}

TEST_F(ClockTest, clock_set_right_again_is_believed_at_once) {
  asked();
  look.now += days(30);
  EXPECT_THAT(asked(), ElementsAre("alert clock"));
  pass(hours(1));
  look.now += days(-30) + minutes(2);
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_EQ(memory.doubt, ClockDoubt{});
  pass(days(6));
  EXPECT_THAT(asked(), ElementsAre("remove a")) << "it is out of its week, and c is safe";
}

TEST_F(ClockTest, clock_set_back_stops_removals_too) {
  policy.places[0].keep = {.newest = 1};
  policy.places.push_back({.name = "cold", .keep = {.newest = 1}});
  asked();
  look.now -= hours(5);
  EXPECT_THAT(asked(), Not(Contains("remove a")));
  EXPECT_THAT(alert, HasSubstr("set back by 5"));
}

TEST_F(ClockTest, sleep_and_small_corrections_are_no_jump) {
  asked();
  for (int i = 0; i < 50; ++i) {
    pass(hours(2));
    look.now += minutes(i % 2 == 0 ? 20 : -20);
    EXPECT_THAT(asked(), Not(Contains("alert clock")));
  }
}

TEST_F(ClockTest, a_month_between_two_boots_is_doubted_and_a_week_is_not) {
  asked();
  look.now += days(6);
  look.clock = {.boot = "two", .up = hours(1)};
  EXPECT_THAT(asked(), Not(Contains("alert clock")));
  look.now += days(31);
  look.clock = {.boot = "three", .up = hours(1)};
  EXPECT_THAT(asked(), ElementsAre("alert clock"));
  pass(hours(20));
  EXPECT_THAT(asked(), IsEmpty());
  look.now += hours(5);
  look.clock = {.boot = "four", .up = hours(1)};
  EXPECT_THAT(asked(), Contains("alert clock")) << "the day begins again with the machine";
  pass(hours(25));
  EXPECT_THAT(asked(), Contains("remove a"));
}

TEST_F(ClockTest, clock_that_was_behind_at_the_last_boot_is_doubted) {
  asked();
  look.now -= days(3);
  look.clock = {.boot = "two", .up = hours(1)};
  EXPECT_THAT(asked(), Contains("alert clock"));
}

// A clock that was ahead has dated it: by time it is the newest, and is not.
TEST_F(ClockTest, checkpoint_made_in_the_future_stops_removals_of_its_run) {
  policy.places[0].keep = {.newest = 1};
  policy.places.push_back({.name = "cold", .keep = {.newest = 1}});
  add("early", kWall + days(2));
  EXPECT_THAT(asked(), Contains("alert early"));
  pass(days(1.9));
  add("last", look.now);
  const auto said = asked();
  for (const char* id : {"a", "b", "c", "last"}) {
    EXPECT_THAT(said, Not(Contains(std::string("remove ") + id)));
  }
  look.clock.boot.clear();
  EXPECT_THAT(asked(), Not(Contains("remove last"))) << "without a machine clock too";
  look.items[3].made = look.now - minutes(10);
  EXPECT_THAT(asked(), Contains("remove a"));
}

TEST_F(ClockTest, what_was_set_aside_stays_while_the_clock_is_in_doubt) {
  policy.grace = Seconds();
  look.aside.push_back(
      {.place = "hot", .name = "z.T1", .item = {.id = "z", .run = "r"}, .stamp = "sz"});
  apply(memory, {.kind = LifecycleEventKind::aside,
                 .item = "z",
                 .place = "hot",
                 .stamp = "sz",
                 .key = "hot/z.T1",
                 .made = kWall - days(9)});
  asked();
  look.now += days(30);
  EXPECT_THAT(asked(), Not(Contains("purge z")));
  look.now -= days(30);
  EXPECT_THAT(asked(), Contains("purge z"));
}

}  // namespace
}  // namespace orrery::storage::lifecycle_clock_tests
