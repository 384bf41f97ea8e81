#include "layers/storage/lifecycle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle_memory.h"

namespace orrery::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Seconds kNow = days(100) + hours(12);

// Two durable places; others write to the first.
LifecyclePolicy two_places() {
  return {.places = {{.name = "hot", .written = true, .keep = {.newest = 1}},
                     {.name = "cold", .keep = {.milestones = true}}}};
}

struct Scene {
  LifecycleLook look{.now = kNow};
  LifecycleMemory memory;

  ItemView& item(const std::string& id, int age_minutes) {
    look.items.push_back({.id = id, .run = "r", .made = kNow - minutes(age_minutes)});
    return look.items.back();
  }
  void unread(ItemView& item, const std::string& place) {
    item.copies.push_back(
        {.place = place, .size = gigabytes(1), .complete = true, .stamp = "s", .written = kNow});
  }
  void good(ItemView& item, const std::string& place) {
    unread(item, place);
    apply(memory, {.kind = LifecycleEventKind::verified,
                   .item = item.id,
                   .place = place,
                   .stamp = "s",
                   .digest = "d"});
  }
  void unfinished(ItemView& item, const std::string& place) {
    unread(item, place);
    item.copies.back().complete = false;
  }
  void failed(const std::string& key, Seconds ago) {
    apply(memory, {.kind = LifecycleEventKind::tried, .at = kNow - ago, .key = key});
  }
  // "verb place item", in order.
  std::vector<std::string> asked(const LifecyclePolicy& policy) const {
    std::vector<std::string> out;
    for (const LifecycleAction& action : decide(look, memory, policy).actions) {
      out.push_back(fmt::format("{} {} {}", word_of(action.kind), action.place, action.item));
    }
    return out;
  }
};

TEST(lifecycle, reads_before_it_copies_and_copies_before_it_removes) {
  Scene scene;
  ItemView& old = scene.item("a", 60);
  old.milestone = true;
  scene.unread(old, "hot");
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("verify hot a"));

  Scene read;
  ItemView& seen = read.item("a", 60);
  seen.milestone = true;
  read.good(seen, "hot");
  ItemView& newer = read.item("b", 5);
  read.good(newer, "hot");
  EXPECT_THAT(read.asked(two_places()), ElementsAre("copy cold a"));

  read.unread(read.look.items[0], "cold");
  EXPECT_THAT(read.asked(two_places()), ElementsAre("verify cold a"));
  apply(read.memory, {.kind = LifecycleEventKind::verified,
                      .item = "a",
                      .place = "cold",
                      .stamp = "s",
                      .digest = "d"});
  const auto actions = decide(read.look, read.memory, two_places()).actions;
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0].kind, LifecycleActionKind::remove);
  EXPECT_EQ(actions[0].place, "hot");
  EXPECT_THAT(actions[0].needs, ElementsAre(CopyNeed{"a", "cold", "s"}));
  EXPECT_EQ(actions[0].why, "safe at cold");
}

TEST(lifecycle, item_being_written_does_not_count) {
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  scene.unfinished(scene.item("b", 5), "hot");
  EXPECT_THAT(scene.asked(two_places()), IsEmpty());
  scene.look.items[1].copies[0].written = kNow - hours(7);
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("alert  b"));
}

TEST(lifecycle, unread_item_replaces_no_good_one) {
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  scene.good(scene.item("b", 30), "hot");
  scene.unread(scene.item("c", 5), "hot");
  // b is the newest good one, so it stays beside c; a is removed because of b, not because of c.
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("remove hot a", "verify hot c"));
}

TEST(lifecycle, unwanted_item_is_removed_only_when_a_newer_one_is_durable) {
  LifecyclePolicy policy{
      .places = {{.name = "nvme", .durable = false, .written = true, .keep = {.newest = 1}},
                 {.name = "hot", .keep = {.newest = 1}}}};
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  scene.good(scene.item("b", 5), "nvme");
  EXPECT_THAT(scene.asked(policy), ElementsAre("copy hot b"));
  scene.unread(scene.look.items[1], "hot");
  EXPECT_THAT(scene.asked(policy), ElementsAre("verify hot b"));
  scene.look.items[1].copies.pop_back();
  scene.good(scene.look.items[1], "hot");
  EXPECT_THAT(scene.asked(policy), ElementsAre("remove hot a"));
}

TEST(lifecycle, newest_is_decided_by_time_not_step) {
  Scene scene;
  ItemView& before = scene.item("a", 60);
  before.step = 900;
  scene.good(before, "hot");
  ItemView& after = scene.item("b", 5);
  after.step = 400;
  scene.good(after, "hot");
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("remove hot a"));
}

TEST(lifecycle, held_item_stays) {
  Scene scene;
  ItemView& old = scene.item("a", 60);
  old.held = true;
  scene.good(old, "hot");
  scene.good(scene.item("b", 5), "hot");
  EXPECT_THAT(scene.asked(two_places()), IsEmpty());
}

TEST(lifecycle, required_copies_are_good_before_one_is_removed) {
  LifecyclePolicy policy{.places = {{.name = "nvme", .durable = false, .written = true},
                                    {.name = "hot", .keep = {.everything = true}},
                                    {.name = "cold", .keep = {.everything = true}}},
                         .copies_min = 2};
  Scene scene;
  ItemView& old = scene.item("a", 60);
  scene.good(old, "nvme");
  scene.good(old, "hot");
  ItemView& newer = scene.item("b", 5);
  scene.good(newer, "hot");
  scene.good(newer, "cold");
  EXPECT_THAT(scene.asked(policy), ElementsAre("copy cold a"));
  scene.good(scene.look.items[0], "cold");
  EXPECT_THAT(scene.asked(policy), ElementsAre("remove nvme a"));
}

TEST(lifecycle, failed_removal_is_retried_and_delays_no_other) {
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  scene.good(scene.item("b", 50), "hot");
  scene.good(scene.item("c", 5), "hot");
  scene.failed("remove/hot/b", seconds(4));
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("remove hot a"));
  scene.memory = {};
  for (ItemView& item : scene.look.items) item.copies.clear(), scene.good(item, "hot");
  // Three failures: 5, 10, then 20 s.
  for (const double ago : {60.0, 40.0, 19.0}) scene.failed("remove/hot/b", seconds(ago));
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("alert  b", "remove hot a"))
      << "after three an alert is raised";
  scene.memory.alerted.insert("failing/remove/hot/b");
  scene.look.now += seconds(1.5);
  EXPECT_THAT(scene.asked(two_places()), ElementsAre("remove hot b", "remove hot a"));
}

TEST(lifecycle, corrupt_copy_is_replaced_and_reported) {
  Scene scene;
  ItemView& item = scene.item("a", 60);
  item.milestone = true;
  scene.good(item, "hot");
  scene.unread(item, "cold");
  const LifecycleAction read{
      .kind = LifecycleActionKind::verify, .item = "a", .place = "cold", .key = "verify/cold/a"};
  const LifecycleOutcome other{.good = true, .stamp = "s", .digest = "other"};
  const LifecyclePolicy policy = two_places();
  for (const auto& event : learn(read, other, scene.memory, policy, kNow - hours(1))) {
    apply(scene.memory, event);
  }
  EXPECT_THAT(scene.asked(policy), ElementsAre("copy cold a", "alert  a"));
}

TEST(lifecycle, rewritten_item_is_left_alone) {
  Scene scene;
  ItemView& item = scene.item("a", 60);
  scene.good(item, "hot");
  scene.good(scene.item("b", 5), "hot");
  scene.look.items[0].copies[0].stamp = "later";
  const LifecycleAction read{
      .kind = LifecycleActionKind::verify, .item = "a", .place = "hot", .key = "verify/hot/a"};
  const LifecyclePolicy policy = two_places();
  const LifecycleOutcome other{.good = true, .stamp = "later", .digest = "other"};
  for (const auto& event : learn(read, other, scene.memory, policy, kNow)) {
    apply(scene.memory, event);
  }
  EXPECT_THAT(scene.asked(policy), ElementsAre("alert  a"));
}

TEST(lifecycle, corruption_is_not_mistaken_for_a_rewrite) {
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  const LifecycleAction read{
      .kind = LifecycleActionKind::verify, .item = "a", .place = "hot", .key = "verify/hot/a"};
  const LifecycleOutcome other{.good = true, .stamp = "s", .digest = "other"};
  const auto events = learn(read, other, scene.memory, two_places(), kNow);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, LifecycleEventKind::corrupt);
}

TEST(lifecycle, pace_and_opening_hours_are_respected) {
  LifecyclePolicy policy = two_places();
  policy.places[1].pace = BytesPerSecond(1e7);
  Scene scene;
  for (const char* id : {"a", "b"}) {
    ItemView& item = scene.item(id, 60);
    item.milestone = true;
    scene.good(item, "hot");
  }
  const LifecycleDecision first = decide(scene.look, scene.memory, policy);
  ASSERT_EQ(first.actions.size(), 1U);  // 1 GB at 10 MB/s uses up the budget for 100 s
  ASSERT_EQ(first.events.size(), 1U);
  EXPECT_EQ(first.events[0].until, kNow + seconds(100));
  apply(scene.memory, first.events[0]);
  scene.look.now += seconds(99);
  EXPECT_THAT(scene.asked(policy), IsEmpty());
  scene.look.now += seconds(1);
  EXPECT_EQ(scene.asked(policy).size(), 1U);

  policy.places[1].opens = hours(22), policy.places[1].closes = hours(6);
  EXPECT_THAT(scene.asked(policy), IsEmpty());  // noon
  scene.look.now = days(101) + hours(23);
  EXPECT_EQ(scene.asked(policy).size(), 1U);
}

TEST(lifecycle, cache_holds_what_is_used_next) {
  LifecyclePolicy policy{
      .places = {{.name = "flash", .durable = false, .keep = {.cache = gigabytes(2)}},
                 {.name = "store", .keep = {.everything = true}}}};
  Scene scene;
  for (const char* id : {"a", "b", "c"}) scene.good(scene.item(id, 60), "store");
  scene.look.items[0].next_use = kNow + hours(3);
  scene.look.items[1].next_use = kNow + hours(1);
  scene.look.items[2].next_use = kNow + hours(2);
  EXPECT_THAT(scene.asked(policy), ElementsAre("copy flash c", "copy flash b"));
  scene.good(scene.look.items[0], "flash");
  EXPECT_THAT(scene.asked(policy), ElementsAre("remove flash a", "copy flash c", "copy flash b"));
}

TEST(lifecycle, window_keeps_the_first_item_of_every_span) {
  LifecyclePolicy policy{
      .places = {{.name = "hot",
                  .written = true,
                  .keep = {.newest = 1, .window = hours(3), .spacing = hours(1)}}}};
  Scene scene;
  scene.look.now = days(100) + hours(12) + minutes(30);
  // Made at 12:20, 12:10, 11:30, 11:10, 9:20.
  for (const auto& [id, age] : {std::pair{"e", 190}, {"d", 80}, {"c", 60}, {"b", 20}, {"a", 10}}) {
    scene.look.items.insert(scene.look.items.begin(),
                            {.id = id, .run = "r", .made = scene.look.now - minutes(age)});
  }
  for (ItemView& item : scene.look.items) scene.good(item, "hot");
  // b is the first of the hour from noon, a the newest, d the first of the hour from eleven.
  EXPECT_THAT(scene.asked(policy), ElementsAre("remove hot c", "remove hot e"));
}

// Returns the kinds of the events of a decision and applies them.
std::vector<LifecycleEventKind> noted(Scene& scene) {
  std::vector<LifecycleEventKind> kinds;
  for (const LifecycleEvent& event : decide(scene.look, scene.memory, two_places()).events) {
    kinds.push_back(event.kind);
    apply(scene.memory, event);
  }
  return kinds;
}

TEST(lifecycle, long_absent_items_are_forgotten) {
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  scene.look.items.clear();
  scene.look.away = {"cold"};
  EXPECT_THAT(noted(scene), IsEmpty());
  scene.look.away.clear();
  EXPECT_THAT(noted(scene), ElementsAre(LifecycleEventKind::gone));
  EXPECT_THAT(noted(scene), IsEmpty());
  EXPECT_EQ(scene.memory.items.at("a").digest, "d");
  scene.look.now = kNow + days(31);
  EXPECT_THAT(noted(scene), ElementsAre(LifecycleEventKind::forgotten));
  EXPECT_EQ(scene.memory, LifecycleMemory{});
}

TEST(lifecycle, returning_item_keeps_its_history) {
  Scene scene;
  scene.good(scene.item("a", 60), "hot");
  const std::vector<ItemView> items = scene.look.items;
  scene.look.items.clear();
  (void)noted(scene);
  scene.look.items = items;
  EXPECT_THAT(noted(scene), ElementsAre(LifecycleEventKind::back));
  EXPECT_EQ(scene.memory.items.at("a").digest, "d");
  EXPECT_FALSE(scene.memory.items.at("a").gone.has_value());
  scene.look.items.clear();
  (void)noted(scene);
  // Our own copy proves nothing until it is read; one that a writer made is a new item.
  scene.look.items = items;
  scene.look.items[0].copies[0].place = "cold";
  EXPECT_THAT(noted(scene), ElementsAre(LifecycleEventKind::back));
  scene.look.items.clear();
  (void)noted(scene);
  scene.look.items = items;
  scene.look.items[0].copies[0].stamp = "other";
  EXPECT_THAT(noted(scene), ElementsAre(LifecycleEventKind::forgotten));
}

}  // namespace
}  // namespace orrery::storage
