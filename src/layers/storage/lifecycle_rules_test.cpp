// What the lifecycle policy requests under each keep rule, pace and pause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle.h"
#include "layers/storage/lifecycle_driver.h"
#include "layers/storage/lifecycle_memory.h"
#include "layers/storage/storage_fixture.h"

namespace orrery::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// 5 s, doubling with each failure, to at most half an hour.
TEST(LifecycleRules, retry_pauses_double_up_to_their_cap) {
  for (int failures = 1; failures < 15; ++failures) {
    Situation s{.policy = {.places = {{.name = "hot", .written = true},
                                      {.name = "cold", .keep = {.everything = true}}}}};
    s.copy(s.item("a", hours(1)), "hot", true);
    s.memory.attempts["copy/cold/a"] = {.count = failures};
    s.memory.alerted.insert("failing/copy/cold/a");
    const double pause = std::min(5.0 * (1 << (failures - 1)), 1800.0);
    s.memory.attempts["copy/cold/a"].last = kThen - seconds(pause - 0.5);
    EXPECT_THAT(s.asked(), IsEmpty()) << failures;
    s.memory.attempts["copy/cold/a"].last = kThen - seconds(pause);
    EXPECT_THAT(s.asked(), ElementsAre("copy cold a")) << failures;
  }
}

TEST(LifecycleRules, opening_hours_may_span_midnight) {
  const auto open_at = [](Seconds of_day, Seconds opens, Seconds closes) {
    Situation s{
        .policy = {
            .places = {
                {.name = "hot", .written = true},
                {.name = "cold", .keep = {.everything = true}, .opens = opens, .closes = closes}}}};
    s.copy(s.item("a", hours(1)), "hot", true);
    s.look.now = days(200) + of_day;
    return !s.asked().empty();
  };
  EXPECT_TRUE(open_at(hours(22), hours(22), hours(6)));
  EXPECT_TRUE(open_at(hours(3), hours(22), hours(6)));
  EXPECT_FALSE(open_at(hours(6), hours(22), hours(6)));
  EXPECT_FALSE(open_at(hours(12), hours(22), hours(6)));
  EXPECT_TRUE(open_at(hours(9), hours(9), hours(17)));
  EXPECT_FALSE(open_at(hours(17), hours(9), hours(17)));
}

TEST(LifecycleRules, newest_item_moves_first_at_the_pace) {
  Situation s{
      .policy = {
          .places = {{.name = "hot", .written = true},
                     {.name = "cold", .keep = {.everything = true}, .pace = gbytes_per_s(0.5)}}}};
  s.copy(s.item("a", hours(5)), "hot", true);
  s.copy(s.item("b", hours(1)), "hot", true, gigabytes(4));
  EXPECT_THAT(s.asked(), ElementsAre("copy cold b"));
  const auto decided = decide(s.look, s.memory, s.policy);
  ASSERT_EQ(decided.events.size(), 1u);
  EXPECT_EQ(decided.events[0].until, kThen + seconds(8)) << "4 GB at half a GB/s";
  EXPECT_EQ(decided.actions[0].size, gigabytes(4));
}

TEST(LifecycleRules, good_copies_are_reread_on_schedule) {
  Situation s{
      .policy = {.places = {{.name = "cold", .keep = {.everything = true}}}, .reread = days(10)}};
  s.copy(s.item("a", days(30)), "cold", true);
  s.memory.attempts["verify/cold/a"] = {.last = kThen - days(10) + seconds(1), .good = true};
  EXPECT_THAT(s.asked(), IsEmpty());
  s.memory.attempts["verify/cold/a"].last = kThen - days(10);
  EXPECT_THAT(s.asked(), ElementsAre("verify cold a"));
}

TEST(LifecycleRules, stale_item_raises_an_alert_after_six_hours) {
  Situation s{.policy = {.places = {{.name = "hot", .written = true, .keep = {.newest = 1}}}}};
  ItemView& a = s.item("a", hours(8));
  s.copy(a, "hot", false);
  a.copies[0].complete = false;
  a.copies[0].written = kThen - hours(6);
  EXPECT_THAT(s.asked(), IsEmpty());
  a.copies[0].written = kThen - hours(6) - seconds(1);
  EXPECT_THAT(s.asked(), ElementsAre("alert  a"));
}

// An item without a run is never replaced by another one.
TEST(LifecycleRules, item_without_a_run_is_not_replaced) {
  Situation s{.policy = {.places = {{.name = "hot"}, {.name = "cold"}}}};
  for (const char* id : {"a", "b"}) {
    ItemView& item = s.item(id, id[0] == 'a' ? hours(5) : hours(1));
    item.run = "";
    item.wanted = std::vector<std::string>{};
    if (id[0] == 'b') item.wanted = std::vector<std::string>{"hot"};
    s.copy(item, "hot", true);
  }
  EXPECT_THAT(s.asked(), IsEmpty());
}

TEST(LifecycleRules, keep_rules_select_their_items) {
  const auto kept = [](const KeepRule& keep, const std::vector<std::int64_t>& steps) {
    Situation s{
        .policy = {.places = {{.name = "hot", .written = true}, {.name = "cold", .keep = keep}},
                   .moves_max = 100}};
    s.look.items.reserve(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ItemView& item = s.item(std::string(1, static_cast<char>('a' + i)),
                              hours(static_cast<double>(steps.size() - i)));
      item.step = steps[i];
      s.copy(item, "hot", true);
    }
    std::string ids;
    for (const std::string& action : s.asked()) {
      if (action.starts_with("copy cold ")) ids += action.back();
    }
    std::ranges::sort(ids);
    return ids;
  };
  EXPECT_EQ(kept({.milestone_every = 100}, {50, 100, 150, 200, 1000}), "bde");
  EXPECT_EQ(kept({.newest = 2}, {1, 2, 3, 4}), "cd");
  // Slots are counted from the clock's zero: at 6:00 of day 200 the last eight hours were 22 to 5.
  EXPECT_EQ(kept({.window = hours(100), .spacing = hours(4)}, {1, 2, 3, 4, 5, 6, 7, 8}), "acg");
  EXPECT_EQ(kept({.window = hours(3)}, {1, 2, 3, 4}), "cd") << "less than three hours ago";
}

TEST(LifecycleRules, cache_is_filled_by_next_use) {
  Situation s{
      .policy = {.places = {{.name = "nvme", .durable = false, .keep = {.cache = gigabytes(10)}},
                            {.name = "cold", .keep = {.everything = true}}},
                 .moves_max = 100}};
  s.look.items.reserve(6);
  const auto add = [&](const std::string& id, std::optional<Seconds> next, Seconds read,
                       Bytes size) {
    ItemView& item = s.item(id, hours(1));
    item.next_use = next;
    item.last_read = read;
    s.copy(item, "cold", true, size);
  };
  add("a", kThen + hours(5), {}, gigabytes(4));
  add("b", kThen + hours(1), {}, gigabytes(4));
  add("c", std::nullopt, kThen - hours(2), gigabytes(1));
  add("d", std::nullopt, kThen - hours(1), gigabytes(1));
  add("e", std::nullopt, kThen - hours(3), gigabytes(1));
  add("f", std::nullopt, {}, gigabytes(1));
  EXPECT_THAT(s.asked(), testing::UnorderedElementsAre("copy nvme a", "copy nvme b", "copy nvme c",
                                                       "copy nvme d"))
      << "those with a known use, then the last read, while there is room";
  // A copy of it elsewhere is larger, so it needs that much.
  s.look.items[1].copies.insert(
      s.look.items[1].copies.begin(),
      {.place = "nvme", .size = gigabytes(7), .complete = false, .stamp = "t"});
  EXPECT_THAT(s.asked(), testing::UnorderedElementsAre("copy nvme b"));
}

LifecycleLook look_at(int items, Seconds now) {
  LifecycleLook look{.now = now};
  for (int i = 0; i < items; ++i) {
    look.items.push_back({.id = std::string(1, static_cast<char>('a' + i)),
                          .run = "r",
                          .made = now - hours(1) + minutes(1.0 * i),
                          .copies = {{.place = "hot",
                                      .size = gigabytes(3),
                                      .complete = true,
                                      .stamp = "s",
                                      .written = now - hours(1)}}});
  }
  return look;
}

TEST(LifecycleRules, good_copy_is_reread_after_its_period) {
  LifecyclePolicy policy{.places = {{.name = "hot", .keep = {.everything = true}}}};
  policy.reread = days(2);
  LifecycleMemory memory;
  apply(memory, {.kind = LifecycleEventKind::verified,
                 .item = "a",
                 .place = "hot",
                 .stamp = "s",
                 .digest = "d"});
  const auto again = [&](Seconds now) {
    const auto actions = decide(look_at(1, now), memory, policy).actions;
    return actions.size() == 1 && actions[0].kind == LifecycleActionKind::verify;
  };
  EXPECT_TRUE(again(days(9)));
  apply(memory,
        {.kind = LifecycleEventKind::tried, .at = days(9), .key = "verify/hot/a", .good = true});
  EXPECT_FALSE(again(days(11) - seconds(1)));
  EXPECT_TRUE(again(days(11)));
}

}  // namespace
}  // namespace orrery::storage
