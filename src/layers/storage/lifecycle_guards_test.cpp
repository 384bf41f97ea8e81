// One scene per guard of the lifecycle policy, in which only that guard prevents a loss or a storm
// of requests. tests/planted/faults.txt removes the guards one at a time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle.h"
#include "layers/storage/lifecycle_memory.h"

namespace orrery::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr Seconds kNoon = days(100) + hours(12);

LifecyclePolicy hot_and_cold() {
  return {.places = {{.name = "hot", .written = true, .keep = {.newest = 1}},
                     {.name = "cold", .keep = {.milestones = true}}}};
}

LifecyclePolicy hot_warm_cold() {
  return {.places = {{.name = "hot", .written = true, .keep = {.newest = 1}},
                     {.name = "warm", .keep = {.newest = 1}},
                     {.name = "cold", .keep = {.milestones = true}}}};
}

// Items from old to new: "a", "b", ...
class GuardScene {
 public:
  GuardScene& item(bool milestone = false) {
    const std::string id(1, static_cast<char>('a' + look.items.size()));
    look.items.push_back(
        {.id = id,
         .run = "r",
         .made = kNoon - minutes(60) + minutes(5.0 * static_cast<double>(look.items.size())),
         .milestone = milestone});
    return *this;
  }
  GuardScene& unread(const std::string& place) {
    last().copies.push_back(
        {.place = place, .size = gigabytes(1), .complete = true, .stamp = "s", .written = kNoon});
    return *this;
  }
  GuardScene& unfinished(const std::string& place) {
    unread(place);
    last().copies.back().complete = false;
    return *this;
  }
  GuardScene& found(const std::string& place, LifecycleEventKind kind) {
    unread(place);
    apply(memory, {.kind = kind, .item = last().id, .place = place, .stamp = "s", .digest = "d"});
    return *this;
  }
  GuardScene& good(const std::string& place) { return found(place, LifecycleEventKind::verified); }
  GuardScene& tried(const std::string& key, Seconds ago, bool is_good = false) {
    apply(memory,
          {.kind = LifecycleEventKind::tried, .at = kNoon - ago, .key = key, .good = is_good});
    return *this;
  }
  ItemView& last() { return look.items.back(); }

  std::vector<LifecycleAction> actions(const LifecyclePolicy& policy) const {
    return decide(look, memory, policy).actions;
  }
  std::vector<std::string> asked(const LifecyclePolicy& policy) const {
    std::vector<std::string> out;
    for (const LifecycleAction& a : actions(policy)) {
      out.push_back(fmt::format("{} {} {}", word_of(a.kind), a.place, a.item));
    }
    return out;
  }

  LifecycleLook look{.now = kNoon};
  LifecycleMemory memory;
};

TEST(LifecycleGuards, item_being_rewritten_keeps_its_older_copies) {
  GuardScene s;
  s.item().unfinished("hot").good("cold");
  s.item().good("hot");
  EXPECT_THAT(s.asked(hot_and_cold()), IsEmpty());
}

TEST(LifecycleGuards, item_being_written_is_neither_read_nor_copied) {
  GuardScene read;
  read.item(true).unfinished("hot").unread("cold");
  EXPECT_THAT(read.asked(hot_and_cold()), IsEmpty());
  GuardScene copied;
  copied.item(true).unfinished("hot").good("warm");
  EXPECT_THAT(copied.asked(hot_warm_cold()), IsEmpty());
}

TEST(LifecycleGuards, conflict_is_neither_read_nor_copied_nor_removed) {
  LifecyclePolicy policy = hot_warm_cold();
  policy.reread = hours(1);
  GuardScene s;
  s.item(true).good("warm").found("hot", LifecycleEventKind::conflict);
  s.item().good("hot").good("warm").tried("verify/hot/b", minutes(1), true);
  s.tried("verify/warm/b", minutes(1), true);
  EXPECT_THAT(s.asked(policy), ElementsAre("alert  a"));
  GuardScene unread;
  unread.item(true).found("hot", LifecycleEventKind::conflict).unread("cold");
  EXPECT_THAT(unread.asked(hot_and_cold()), ElementsAre("alert  a"));
}

// A copy that we left half-made is ours to clean up, and blocks nothing.
TEST(LifecycleGuards, torn_copy_does_not_count_as_being_written) {
  GuardScene s;
  s.item(true).good("hot").unfinished("cold");
  s.item().good("hot");
  EXPECT_THAT(s.asked(hot_and_cold()), ElementsAre("copy cold a"));
}

TEST(LifecycleGuards, newest_kept_item_stays_everywhere) {
  const LifecyclePolicy policy{
      .places = {{.name = "hot", .written = true}, {.name = "cold", .keep = {.everything = true}}}};
  GuardScene s;
  s.item().good("hot").good("cold");
  EXPECT_THAT(s.asked(policy), IsEmpty());
  s.item().good("hot").good("cold");
  EXPECT_THAT(s.asked(policy), ElementsAre("remove hot a"));
}

TEST(LifecycleGuards, newest_durable_item_stays_beside_a_newer_local_one) {
  const LifecyclePolicy policy{
      .places = {{.name = "nvme", .durable = false, .written = true, .keep = {.newest = 1}},
                 {.name = "hot", .keep = {.newest = 1}},
                 {.name = "cold", .keep = {.everything = true}}}};
  GuardScene s;
  s.item().good("hot").good("cold");
  s.item().good("nvme");
  EXPECT_THAT(s.asked(policy), ElementsAre("copy hot b", "copy cold b"));
}

TEST(LifecycleGuards, replaced_item_names_the_copies_that_replace_it) {
  GuardScene s;
  s.item().good("hot");
  s.item().good("hot");
  const auto actions = s.actions(hot_and_cold());
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(actions[0].kind, LifecycleActionKind::remove);
  EXPECT_THAT(actions[0].needs, ElementsAre(CopyNeed{"b", "hot", "s"}));
}

TEST(LifecycleGuards, copies_that_no_rule_keeps_do_not_count) {
  GuardScene s;
  s.item(true).good("hot").good("warm");
  s.item().good("hot").good("warm");
  EXPECT_THAT(s.asked(hot_warm_cold()), ElementsAre("copy cold a"));
}

TEST(LifecycleGuards, required_number_of_copies_is_made) {
  LifecyclePolicy policy{.places = {{.name = "hot", .written = true, .keep = {.newest = 1}},
                                    {.name = "warm", .keep = {.everything = true}},
                                    {.name = "cold", .keep = {.everything = true}}},
                         .copies_min = 2};
  GuardScene s;
  s.item().good("hot").good("warm");
  s.item().good("hot").good("warm").good("cold");
  EXPECT_THAT(s.asked(policy), ElementsAre("copy cold a"));
}

TEST(LifecycleGuards, unneeded_copy_is_not_read) {
  GuardScene s;
  s.item(true).good("cold").unread("hot");
  s.item().good("hot");
  LifecyclePolicy ours = hot_and_cold();
  ours.places[0].written = false;
  EXPECT_THAT(s.asked(ours), ElementsAre("remove hot a"));
  // At a place that others write to, it may by now differ from the good copy elsewhere.
  EXPECT_THAT(s.asked(hot_and_cold()), ElementsAre("verify hot a"));
  GuardScene unwanted;
  unwanted.item().unread("hot");
  unwanted.item().good("hot");
  EXPECT_THAT(unwanted.asked(hot_and_cold()), ElementsAre("remove hot a"));
}

TEST(LifecycleGuards, failed_action_is_retried_later) {
  GuardScene read;
  read.item().unread("hot").tried("verify/hot/a", seconds(1));
  EXPECT_THAT(read.asked(hot_and_cold()), IsEmpty());
  GuardScene copied;
  copied.item(true).good("hot").tried("copy/cold/a", seconds(1));
  EXPECT_THAT(copied.asked(hot_and_cold()), IsEmpty());
  GuardScene removed;
  removed.item().good("hot");
  removed.item().good("hot").tried("remove/hot/a", seconds(1));
  EXPECT_THAT(removed.asked(hot_and_cold()), IsEmpty());
}

TEST(LifecycleGuards, one_failed_removal_blocks_no_other) {
  GuardScene s;
  s.item().good("hot");
  s.item().good("hot");
  s.item().good("hot").tried("remove/hot/a", seconds(1));
  EXPECT_THAT(s.asked(hot_and_cold()), ElementsAre("remove hot b"));
}

TEST(LifecycleGuards, nothing_moves_outside_opening_hours) {
  LifecyclePolicy policy = hot_and_cold();  // at noon
  for (KeepPlace& place : policy.places) place.opens = hours(1), place.closes = hours(5);
  GuardScene read;
  read.item().unread("hot");
  EXPECT_THAT(read.asked(policy), IsEmpty());
  GuardScene copied;
  copied.item(true).good("hot");
  EXPECT_THAT(copied.asked(policy), IsEmpty());
}

TEST(LifecycleGuards, paced_place_takes_one_move_at_a_time) {
  LifecyclePolicy policy = hot_and_cold();
  policy.places[1].pace = BytesPerSecond(1e6);
  GuardScene s;
  s.item(true).good("hot");
  s.item(true).good("hot");
  EXPECT_THAT(s.asked(policy), ElementsAre("copy cold b"));
}

TEST(LifecycleGuards, concurrent_moves_are_limited) {
  LifecyclePolicy policy = hot_and_cold();
  policy.moves_max = 2;
  GuardScene read;
  for (int i = 0; i < 4; ++i) read.item().unread("hot");
  EXPECT_EQ(read.asked(policy).size(), 2U);
  GuardScene copied;
  for (int i = 0; i < 4; ++i) copied.item(true).good("hot");
  EXPECT_EQ(copied.asked(policy).size(), 2U);
}

TEST(LifecycleGuards, nothing_is_copied_to_an_unavailable_or_foreign_place) {
  GuardScene away;
  away.item(true).good("hot");
  away.look.away = {"cold"};
  EXPECT_THAT(away.asked(hot_and_cold()), IsEmpty());
  GuardScene written;
  written.item(true).good("cold");
  EXPECT_THAT(written.asked(hot_and_cold()), IsEmpty());
}

TEST(LifecycleGuards, alert_is_raised_once) {
  GuardScene s;
  s.item().unfinished("hot");
  s.last().copies.back().written = kNoon - hours(7);
  const LifecycleDecision first = decide(s.look, s.memory, hot_and_cold());
  ASSERT_EQ(first.actions.size(), 1U);
  for (const LifecycleEvent& event : first.events) apply(s.memory, event);
  EXPECT_THAT(s.asked(hot_and_cold()), IsEmpty());
}

std::vector<LifecycleEventKind> learnt(const GuardScene& s, const LifecycleOutcome& outcome) {
  const LifecycleAction read{.kind = LifecycleActionKind::verify, .item = "a", .place = "hot"};
  std::vector<LifecycleEventKind> kinds;
  for (const LifecycleEvent& e : learn(read, outcome, s.memory, hot_and_cold(), kNoon)) {
    kinds.push_back(e.kind);
  }
  return kinds;
}

TEST(LifecycleGuards, failed_read_proves_nothing) {
  GuardScene s;
  s.item().unread("hot");
  EXPECT_THAT(learnt(s, {.good = false, .stamp = "s", .digest = "d"}),
              ElementsAre(LifecycleEventKind::tried));
  EXPECT_THAT(learnt(s, {.good = true, .sound = false, .stamp = "s", .digest = "d"}),
              ElementsAre(LifecycleEventKind::tried, LifecycleEventKind::corrupt));
}

TEST(LifecycleGuards, unread_item_is_not_among_the_newest_good_ones) {
  LifecyclePolicy policy = hot_and_cold();
  policy.places[0].keep.newest = 2;
  GuardScene s;
  s.item().good("hot");
  s.item().good("hot");
  s.item().unread("hot");
  EXPECT_THAT(s.asked(policy), Not(Contains("remove hot a")));
}

// A torn copy of an item that is complete nowhere is kept by no rule.
TEST(LifecycleGuards, item_complete_nowhere_is_not_wanted) {
  LifecyclePolicy policy = hot_and_cold();
  for (KeepPlace& place : policy.places) place.keep.newest = 2;
  GuardScene newest;
  newest.item().unfinished("cold");
  newest.item().good("hot").good("cold");
  EXPECT_THAT(newest.asked(policy), ElementsAre("remove cold a"));
  GuardScene milestone;
  milestone.item(true).unfinished("cold");
  milestone.item().good("hot");
  EXPECT_THAT(milestone.asked(hot_and_cold()), ElementsAre("remove cold a"));
}

// A milestone that should be on the nodes and in the bucket is on the file system: its copy there
// is the only one that survives the nodes, until the bucket has one.
TEST(LifecycleGuards, copy_on_the_nodes_does_not_justify_a_removal) {
  const LifecyclePolicy policy{
      .places = {{.name = "nvme", .durable = false, .written = true, .keep = {.newest = 5}},
                 {.name = "hot", .keep = {.newest = 1}},
                 {.name = "cold", .keep = {.milestones = true}}}};
  LifecycleLook look{.now = days(100)};
  LifecycleMemory memory;
  const auto good = [&](ItemView& item, const char* place) {
    item.copies.push_back({.place = place,
                           .size = gigabytes(1),
                           .complete = true,
                           .stamp = "s",
                           .written = days(99)});
    apply(memory, {.kind = LifecycleEventKind::verified,
                   .item = item.id,
                   .place = place,
                   .stamp = "s",
                   .digest = "d"});
  };
  look.items = {{.id = "a", .run = "r", .made = days(98), .milestone = true},
                {.id = "b", .run = "r", .made = days(99)}};
  for (ItemView& item : look.items) good(item, "nvme"), good(item, "hot");
  const auto asked = [&] {
    std::vector<std::string> out;
    for (const LifecycleAction& a : decide(look, memory, policy).actions) {
      out.push_back(fmt::format("{} {} {}", word_of(a.kind), a.place, a.item));
    }
    return out;
  };
  EXPECT_THAT(asked(), ElementsAre("copy cold a"));
  good(look.items[0], "cold");
  EXPECT_THAT(asked(), ElementsAre("remove hot a"));
}

}  // namespace
}  // namespace orrery::storage
