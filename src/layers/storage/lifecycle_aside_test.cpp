// How copies are set aside before they are removed: only by the journal, only after their time on a
// clock that cannot be set, and only if the rules would remove them again.
#include "layers/storage/lifecycle_aside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle.h"
#include "layers/storage/lifecycle_driver.h"
#include "layers/storage/lifecycle_memory.h"

namespace orrery::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Seconds kWall = days(20'000);

// An old item on `hot` with a good copy on `cold`, and a newer one that is good on both.
class AsideTest : public testing::Test {
 protected:
  AsideTest() {
    item("a", hours(5));
    item("b", hours(1));
    put("a", "cold"), put("b", "hot"), put("b", "cold");
    look.clock = {.boot = "one", .up = hours(100)};
    look.aside.push_back(
        {.place = "hot", .name = "a.T1", .item = {.id = "a", .run = "r"}, .stamp = "sa"});
    know("a", "hot", "sa", LifecycleEventKind::verified);
    apply(memory, {.kind = LifecycleEventKind::aside,
                   .item = "a",
                   .place = "hot",
                   .stamp = "sa",
                   .digest = "da",
                   .key = "hot/a.T1",
                   .made = kWall - hours(5)});
  }

  ItemView& find(const std::string& id) {
    return *std::ranges::find(look.items, id, &ItemView::id);
  }
  void item(const std::string& id, Seconds age) {
    look.items.push_back({.id = id, .run = "r", .made = kWall - age});
  }
  void put(const std::string& id, const std::string& place) {
    find(id).copies.push_back(
        {.place = place, .size = gigabytes(1), .complete = true, .stamp = "s" + id});
    know(id, place, "s" + id, LifecycleEventKind::verified);
  }
  void know(const std::string& id, const std::string& place, const std::string& stamp,
            LifecycleEventKind kind) {
    apply(memory, {.kind = kind, .item = id, .place = place, .stamp = stamp, .digest = "d" + id});
  }
  // Both clocks move on.
  void pass(Seconds span) { look.now += span, look.clock.up += span; }
  // One look: what is asked for, and the events applied.
  std::vector<std::string> asked() {
    const LifecycleDecision decision = decide(look, memory, policy);
    for (const LifecycleEvent& event : decision.events) apply(memory, event);
    waits = decision.waits;
    why.clear();
    std::vector<std::string> out;
    for (const LifecycleAction& a : decision.actions) {
      out.push_back(std::string(word_of(a.kind)) + ' ' + a.place + ' ' + a.item);
      why += a.why;
    }
    return out;
  }

  LifecyclePolicy policy{.places = {{.name = "hot", .written = true, .keep = {.newest = 1}},
                                    {.name = "cold", .keep = {.everything = true}}},
                         .grace = days(1)};
  LifecycleLook look{.now = kWall};
  LifecycleMemory memory;
  std::vector<LifecycleWait> waits;
  std::string why;
};

TEST_F(AsideTest, removal_is_journalled_before_it_is_requested) {
  look.aside.clear();
  memory.aside.clear();
  put("a", "hot");
  const LifecycleDecision decision = decide(look, memory, policy);
  ASSERT_EQ(decision.actions.size(), 1U);
  const LifecycleAction& removal = decision.actions[0];
  EXPECT_EQ(removal.kind, LifecycleActionKind::remove);
  EXPECT_EQ(item_of_aside(removal.aside), "a");
  const auto noted = std::ranges::find(decision.events, LifecycleEventKind::aside,
                                       &LifecycleEvent::kind);
  ASSERT_NE(noted, decision.events.end());
  EXPECT_EQ(noted->key, "hot/" + removal.aside);
  EXPECT_EQ(noted->stamp, removal.stamp);
  policy.grace.reset();
  EXPECT_EQ(decide(look, memory, policy).actions.at(0).aside, "") << "a place without a trash";
}

TEST_F(AsideTest, waiting_time_counts_from_first_sight) {
  EXPECT_THAT(asked(), IsEmpty());
  pass(hours(23.9));
  EXPECT_THAT(asked(), IsEmpty());
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].kind, WaitKind::grace);
  pass(hours(0.1));
  EXPECT_THAT(asked(), ElementsAre("purge hot a"));
}

TEST_F(AsideTest, wall_clock_that_jumps_shortens_nothing) {
  asked();
  for (const Seconds jump : {days(4000), days(-8000), days(4000)}) {
    look.now += jump;
    look.clock.up += hours(1);
    EXPECT_THAT(asked(), Not(Contains("purge hot a"))) << jump.base();
    EXPECT_THAT(asked(), IsEmpty()) << "the alert is raised once";
  }
}

TEST_F(AsideTest, across_a_reboot_only_observed_time_counts) {
  asked();
  pass(hours(10));
  asked();  // the last sign of life of the first boot
  look.now += days(29);
  look.clock = {.boot = "two", .up = hours(3)};
  EXPECT_THAT(asked(), IsEmpty()) << "10 h";
  pass(hours(13.9));
  EXPECT_THAT(asked(), IsEmpty()) << "23.9 h";
  pass(hours(0.1));
  EXPECT_THAT(asked(), ElementsAre("purge hot a"));
}

TEST_F(AsideTest, nothing_is_removed_without_a_clock) {
  look.clock.boot.clear();
  for (int i = 0; i < 5; ++i) {
    look.now += days(10);
    EXPECT_THAT(asked(), IsEmpty());
  }
}

TEST_F(AsideTest, unknown_or_changed_items_stay) {
  policy.grace = Seconds();
  look.aside[0].name = "a.T2";
  EXPECT_THAT(asked(), ElementsAre("alert  a"));
  memory.aside["hot/a.T2"] = {.item = "a", .place = "hot", .stamp = "other", .digest = "da"};
  memory.alerted.clear();
  EXPECT_THAT(asked(), ElementsAre("alert  a"));
  EXPECT_THAT(why, HasSubstr("changed"));
  memory.aside["hot/a.T2"].stamp = "sa";
  memory.alerted.clear();
  look.aside[0].odd = "link: it is a symbolic link";
  EXPECT_THAT(asked(), ElementsAre("alert  a"));
  EXPECT_THAT(why, HasSubstr("link"));
}

TEST_F(AsideTest, replacement_must_still_exist_and_be_good) {
  policy.grace = Seconds();
  asked();
  const auto needs = [&] { return decide(look, memory, policy).actions.at(0).needs; };
  ASSERT_EQ(needs().size(), 1U);
  EXPECT_EQ(needs()[0], (CopyNeed{"a", "cold", "sa"}));
  // Gone: only the copy set aside has it.
  const ItemView there = look.items.front();
  look.items.erase(look.items.begin());
  EXPECT_THAT(asked(), ElementsAre("alert  a"));
  look.items.insert(look.items.begin(), there);
  // Bad.
  memory.alerted.clear();
  know("a", "cold", "sa", LifecycleEventKind::corrupt);
  EXPECT_THAT(asked(), Contains("alert  a"));
  EXPECT_THAT(asked(), Not(Contains("purge hot a")));
}

TEST_F(AsideTest, changed_content_keeps_the_item) {
  policy.grace = Seconds();
  asked();
  put("a", "hot");
  EXPECT_THAT(asked(), Contains("purge hot a")) << "the same bytes came back";
  memory.items["a"].digest = "other";
  EXPECT_THAT(asked(), Not(Contains("purge hot a")));
}

TEST_F(AsideTest, interrupted_removal_continues) {
  asked();
  look.aside[0].is_going = true;
  look.aside[0].stamp = "half of it";
  EXPECT_THAT(asked(), ElementsAre("purge hot a"));
}

TEST_F(AsideTest, aside_name_is_a_free_date) {
  EXPECT_EQ(name_aside("it", "hot", seconds(1'763'493'000), memory), "it.20251118T191000Z");
  memory.aside["hot/it.20251118T191000Z"] = {};
  EXPECT_EQ(name_aside("it", "hot", seconds(1'763'493'000), memory), "it.20251118T191000Z-2");
  EXPECT_EQ(name_aside("it", "cold", seconds(1'763'493'000), memory), "it.20251118T191000Z");
  EXPECT_EQ(name_aside("i", "p", seconds(951'782'400), {}), "i.20000229T000000Z");
  EXPECT_EQ(name_aside("i", "p", seconds(-1), {}), "i.19691231T235959Z");
  EXPECT_EQ(item_of_aside("iter.1.20251118T191000Z-2"), "iter.1");
}

// Whatever the rule: a copy that failed a check may be the only one.
TEST(LifecycleCorrupt, corrupt_copy_is_removed_only_beside_a_good_one) {
  LifecyclePolicy policy{.places = {{.name = "hot", .written = true, .keep = {.everything = true}},
                                    {.name = "cold", .keep = {.newest = 1}}},
                         .grace = days(1)};
  LifecycleLook look{.now = kWall};
  LifecycleMemory memory;
  const auto put = [&](const std::string& id, Seconds age, const std::string& place,
                       LifecycleEventKind kind) {
    auto found = std::ranges::find(look.items, id, &ItemView::id);
    if (found == look.items.end()) {
      found = look.items.insert(found, {.id = id, .run = "r", .made = kWall - age});
    }
    found->copies.push_back({.place = place, .size = gigabytes(1), .complete = true, .stamp = "s"});
    apply(memory, {.kind = kind,
                   .item = id,
                   .place = place,
                   .stamp = "s",
                   .digest = "d",
                   .why = "x.safetensors: cannot be read"});
  };
  put("a", hours(5), "hot", LifecycleEventKind::corrupt);
  put("b", hours(1), "hot", LifecycleEventKind::verified);
  put("b", hours(1), "cold", LifecycleEventKind::verified);
  LifecycleDecision decision = decide(look, memory, policy);
  ASSERT_EQ(decision.actions.size(), 1U);
  EXPECT_EQ(decision.actions[0].kind, LifecycleActionKind::alert);
  EXPECT_THAT(decision.actions[0].why, HasSubstr("x.safetensors"));
  EXPECT_EQ(decision.standing.size(), 1U);
  for (const LifecycleEvent& event : decision.events) apply(memory, event);
  decision = decide(look, memory, policy);
  EXPECT_TRUE(decision.actions.empty());
  EXPECT_EQ(decision.standing.size(), 1U) << "reported once, and still true";
  // If there is a good copy elsewhere, the bad copy is replaced and set aside under a name.
  put("a", hours(5), "cold", LifecycleEventKind::verified);
  memory.items["a"].copies["cold"].finding = CopyFinding::corrupt;
  memory.items["a"].copies["hot"].finding = CopyFinding::good;
  policy.places[1].keep = {.everything = true};
  decision = decide(look, memory, policy);
  ASSERT_FALSE(decision.actions.empty());
  EXPECT_EQ(decision.actions[0].kind, LifecycleActionKind::copy);
  EXPECT_EQ(decision.actions[0].replaces, "s");
  EXPECT_EQ(item_of_aside(decision.actions[0].aside), "a");
}

}  // namespace
}  // namespace orrery::storage
