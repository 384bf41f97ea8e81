// What the lifecycle policy remembers, and how a driver carries its decisions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle_driver.h"

namespace orrery::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Seconds kThen = days(200) + hours(6);

TEST(LifecycleMemoryLaws, the_first_good_digest_stands_and_a_name_forgets_only_its_own) {
  LifecycleMemory m;
  const auto saw = [&](LifecycleEventKind kind, const std::string& place,
                       const std::string& digest) {
    apply(m, {.kind = kind, .item = "a", .place = place, .stamp = "s", .digest = digest});
  };
  saw(LifecycleEventKind::corrupt, "hot", "bad");
  EXPECT_EQ(m.items.at("a").digest, "") << "of a good copy only";
  saw(LifecycleEventKind::verified, "", "d1");  // a shortened journal says the digest by itself
  EXPECT_EQ(m.items.at("a").copies.size(), 1u);
  saw(LifecycleEventKind::verified, "cold", "d2");
  EXPECT_EQ(m.items.at("a").digest, "d1");
  EXPECT_EQ(m.items.at("a").copies.at("hot").finding, CopyFinding::corrupt);
  EXPECT_EQ(m.items.at("a").copies.at("cold").finding, CopyFinding::good);
  const auto tried = [&](const std::string& key, bool good, Seconds at) {
    apply(m, {.kind = LifecycleEventKind::tried, .at = at, .key = key, .good = good});
  };
  tried("copy/cold/a", false, seconds(5));
  tried("copy/cold/a", false, seconds(9));
  EXPECT_EQ(m.attempts.at("copy/cold/a").count, 2);
  EXPECT_EQ(m.attempts.at("copy/cold/a").last, seconds(9));
  tried("copy/cold/a", true, seconds(11));
  EXPECT_EQ(m.attempts.at("copy/cold/a").count, 0) << "in a row without success";
  tried("copy/cold/aa", false, seconds(5));
  tried("copy/cold/ba", false, seconds(5));
  apply(m, {.kind = LifecycleEventKind::alerted, .key = "corrupt/hot/a"});
  apply(m, {.kind = LifecycleEventKind::alerted, .key = "corrupt/hot/ba"});
  apply(m,
        {.kind = LifecycleEventKind::paced, .at = seconds(1), .place = "hot", .until = seconds(7)});
  EXPECT_EQ(m.busy_until.at("hot"), seconds(7));
  apply(m, {.kind = LifecycleEventKind::forgotten, .item = "a"});
  EXPECT_FALSE(m.items.contains("a"));
  EXPECT_EQ(m.attempts.size(), 2u) << "those of aa and ba stay";
  EXPECT_EQ(m.alerted, std::set<std::string>{"corrupt/hot/ba"});
}

struct Situation {
  LifecycleLook look{.now = kThen};
  LifecycleMemory memory;
  LifecyclePolicy policy;

  ItemView& item(const std::string& id, Seconds age) {
    look.items.push_back({.id = id, .run = "r", .made = kThen - age});
    return look.items.back();
  }
  void copy(ItemView& of, const std::string& place, bool good, Bytes size = gigabytes(1)) {
    of.copies.push_back(
        {.place = place, .size = size, .complete = true, .stamp = "s", .written = kThen});
    if (!good) return;
    apply(memory, {.kind = LifecycleEventKind::verified,
                   .item = of.id,
                   .place = place,
                   .stamp = "s",
                   .digest = "d"});
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const LifecycleAction& a : decide(look, memory, policy).actions) {
      out.push_back(fmt::format("{} {} {}", word_of(a.kind), a.place, a.item));
    }
    return out;
  }
};

// 5 s, doubling with each failure, to half an hour at the most.
TEST(LifecycleLaws, pauses_double_from_the_first_failure_to_their_cap) {
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

TEST(LifecycleLaws, hours_may_span_midnight_and_begin_on_the_hour) {
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

TEST(LifecycleLaws, the_newest_is_moved_first_and_a_pace_says_until_when) {
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

TEST(LifecycleLaws, good_copies_are_read_again_after_their_time) {
  Situation s{
      .policy = {.places = {{.name = "cold", .keep = {.everything = true}}}, .reread = days(10)}};
  s.copy(s.item("a", days(30)), "cold", true);
  s.memory.attempts["verify/cold/a"] = {.last = kThen - days(10) + seconds(1), .good = true};
  EXPECT_THAT(s.asked(), IsEmpty());
  s.memory.attempts["verify/cold/a"].last = kThen - days(10);
  EXPECT_THAT(s.asked(), ElementsAre("verify cold a"));
}

TEST(LifecycleLaws, a_stale_item_is_told_of_after_hours_and_not_seconds) {
  Situation s{.policy = {.places = {{.name = "hot", .written = true, .keep = {.newest = 1}}}}};
  ItemView& a = s.item("a", hours(8));
  s.copy(a, "hot", false);
  a.copies[0].complete = false;
  a.copies[0].written = kThen - hours(6);
  EXPECT_THAT(s.asked(), IsEmpty());
  a.copies[0].written = kThen - hours(6) - seconds(1);
  EXPECT_THAT(s.asked(), ElementsAre("alert  a"));
}

// One of no run stands for itself: no other of no run lets it go.
TEST(LifecycleLaws, what_is_of_no_run_never_goes_for_a_newer_one) {
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

TEST(LifecycleLaws, milestones_windows_and_newest_count_as_they_say) {
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

TEST(LifecycleLaws, a_cache_is_filled_by_use_and_by_the_largest_of_a_copys_sizes) {
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
  // One whose copy elsewhere is larger needs that much.
  s.look.items[1].copies.insert(
      s.look.items[1].copies.begin(),
      {.place = "nvme", .size = gigabytes(7), .complete = false, .stamp = "t"});
  EXPECT_THAT(s.asked(), testing::UnorderedElementsAre("copy nvme b"));
}

// A place to watch a driver with.
class ScriptedPlaces final : public LifecyclePort {
 public:
  Result<LifecycleLook> look() override { return situation.look; }
  Result<LifecycleOutcome> act(const LifecycleAction& action) override {
    acted.push_back(action.key);
    if (fails) return fail({.code = "lifecycle.test", .what = "the disk is full"});
    return LifecycleOutcome{.good = true, .stamp = "s", .digest = "d"};
  }
  Seconds now() const override { return kThen + seconds(1); }

  Situation situation;
  std::vector<std::string> acted;
  bool fails = false;
};

TEST(LifecycleDriverLaws, a_tick_says_what_it_saw_did_and_why_it_failed) {
  ScriptedPlaces places;
  Situation& s = places.situation;
  s.policy = {.places = {{.name = "hot", .written = true},
                         {.name = "cold", .keep = {.everything = true}},
                         {.name = "far"}}};
  s.look.items.reserve(2);
  s.copy(s.item("a", hours(2)), "hot", true);
  ItemView& b = s.item("b", hours(1));
  s.copy(b, "hot", false);
  b.copies[0].complete = false;
  b.copies[0].written = kThen - hours(7);
  s.look.away = {"far"};
  std::vector<LifecycleEvent> journal;
  const auto append = [&](const std::vector<LifecycleEvent>& events) -> Result<void> {
    journal.insert(journal.end(), events.begin(), events.end());
    return {};
  };
  LifecycleDriver driver(places, append, s.policy, s.memory);
  auto tick = driver.tick([] { return true; });
  ASSERT_TRUE(tick);
  EXPECT_TRUE(tick->done.empty() && places.acted.empty()) << "stopped before the first";
  places.fails = true;
  tick = driver.tick();
  ASSERT_TRUE(tick);
  EXPECT_EQ(tick->at, kThen);
  EXPECT_EQ(tick->items, 2u);
  EXPECT_THAT(tick->away, ElementsAre("far"));
  EXPECT_THAT(places.acted, ElementsAre("copy/cold/a")) << "an alert is told, not carried out";
  ASSERT_EQ(tick->done.size(), 1u) << "and was told in the first tick";
  EXPECT_FALSE(tick->done[0].good);
  EXPECT_EQ(tick->done[0].said, "the disk is full");
  EXPECT_EQ(driver.memory().attempts.at("copy/cold/a").count, 1);
  EXPECT_EQ(journal.back().kind, LifecycleEventKind::tried);
  EXPECT_EQ(journal.back().at, kThen + seconds(1));
  // What cannot be journalled is not done.
  places.acted.clear();
  LifecycleDriver mute(
      places, [](const auto&) -> Result<void> { return fail({.code = "x", .what = "x"}); },
      s.policy, s.memory);
  EXPECT_FALSE(mute.tick());
  EXPECT_TRUE(places.acted.empty());
}

}  // namespace
}  // namespace orrery::storage
