// Saves from place to place, every move by hand, and what the lifecycle policy says and remembers
// where little is given.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/storage/lifecycle.h"
#include "layers/storage/save_lives.h"

namespace orrery::storage {
namespace {

// Drives with the newest, a file system with two.
LivesQuestion nvme_and_hot() {
  return {.places =
              {{.place = {.name = "nvme", .durable = false, .written = true, .keep = {.newest = 1}},
                .takes = seconds(20),
                .reread = seconds(5)},
               {.place = {.name = "hot", .keep = {.newest = 2}},
                .takes = seconds(100),
                .reread = seconds(10)}},
          .interval = minutes(30),
          .milestone = {},
          .size = terabytes(1),
          .saves = 4};
}

std::string told(const LifeMove& m) {
  return fmt::format("{} {} {} {}{} ({})", m.at.base(), to_text(m.kind), m.save, m.place,
                     m.from.empty() ? "" : " from " + m.from, m.why);
}

TEST(LifeMoves, of_four_saves_by_hand) {
  const SaveLives lives = follow_saves(nvme_and_hot());
  std::vector<std::string> moves;
  for (const LifeMove& m : lives.moves) moves.push_back(told(m));
  const std::string saved = " nvme (the run saved it)";
  const std::string copied = " hot from nvme (hot should hold it)";
  const std::string passed = " hot (no rule keeps it, and a newer one is safe)";
  const std::string safe = " nvme (safe at hot)";
  // Whole after 20 s, read in 5, copied in 100 and read there in 10. The newest that outlives the
  // nodes keeps all its copies until the next one does.
  EXPECT_EQ(moves, (std::vector<std::string>{
                       "20 written 0" + saved, "125 copied 0" + copied, "1820 written 1" + saved,
                       "1925 copied 1" + copied, "1935 removed 0" + safe, "3620 written 2" + saved,
                       "3625 removed 0" + passed, "3725 copied 2" + copied, "3735 removed 1" + safe,
                       "5420 written 3" + saved, "5425 removed 1" + passed,
                       "5525 copied 3" + copied, "5535 removed 2" + safe}));
  EXPECT_EQ(lives.end, seconds(5535));
  EXPECT_TRUE(lives.milestones.empty());
  ASSERT_EQ(lives.stays.size(), 8u);
  EXPECT_EQ(lives.stays[0].place, "nvme");
  EXPECT_EQ(lives.stays[0].save, 0);
  EXPECT_EQ(lives.stays[0].from, seconds(20));
  EXPECT_EQ(lives.stays[0].until, seconds(1935));
  EXPECT_EQ(lives.stays[1].place, "hot");
  EXPECT_EQ(lives.stays[1].from, seconds(125));
  EXPECT_EQ(lives.stays[1].until, seconds(3625));
  EXPECT_EQ(lives.stays[7].save, 3);
  EXPECT_FALSE(lives.stays[7].until);
}

// A save that is whole while a copy is under way is there from then on, not from the copy's end.
TEST(LifeMoves, what_is_saved_meanwhile_is_there_from_its_own_time) {
  LivesQuestion q = nvme_and_hot();
  q.places[1].takes = seconds(2500);
  const SaveLives lives = follow_saves(q);
  for (const LifeStay& s : lives.stays) {
    if (s.place == "nvme") EXPECT_EQ(s.from, seconds(1800.0 * s.save + 20)) << s.save;
  }
  EXPECT_EQ(lives.moves[1].at, seconds(1820));
  EXPECT_EQ(lives.moves[1].kind, LifeMoveKind::written);
  EXPECT_EQ(lives.moves[1].save, 1);
}

// Spans of 2,500 s: saves at 0, 3,000, 5,000 and 8,000 s are the first of theirs.
TEST(LifeMoves, milestones_are_the_first_of_their_spans) {
  LivesQuestion q = nvme_and_hot();
  q.interval = seconds(1000);
  q.milestone = seconds(2500);
  q.saves = 9;
  EXPECT_EQ(follow_saves(q).milestones, (std::vector<int>{0, 3, 5, 8}));
  q.interval = Seconds(0);
  EXPECT_TRUE(follow_saves(q).moves.empty());
  EXPECT_EQ(follow_saves(q).end, Seconds(0));
  EXPECT_EQ(LivesQuestion{}.saves, 16);
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

TEST(LifecycleDefaults, four_moves_are_asked_for_at_once) {
  const LifecyclePolicy policy{.places = {{.name = "hot", .keep = {.everything = true}}}};
  EXPECT_EQ(decide(look_at(6, days(9)), {}, policy).actions.size(), 4u);
  EXPECT_EQ(policy.copies_min, 1);
  EXPECT_EQ(policy.settle, seconds(5));
  EXPECT_EQ(policy.settle_max, minutes(30));
  EXPECT_EQ(policy.stale, hours(6));
  EXPECT_EQ(policy.forget, days(30));
}

TEST(LifecycleDefaults, a_good_copy_that_nobody_tells_of_is_read_again) {
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
    return actions.size() == 1 && actions[0].why == "it was read long ago";
  };
  EXPECT_TRUE(again(days(9)));
  apply(memory,
        {.kind = LifecycleEventKind::tried, .at = days(9), .key = "verify/hot/a", .good = true});
  EXPECT_FALSE(again(days(11) - seconds(1)));
  EXPECT_TRUE(again(days(11)));
}

TEST(LifecycleDefaults, an_attempt_is_remembered_with_its_end) {
  LifecycleMemory memory;
  const auto tried = [&](double at, bool good) -> const LifecycleAttempt& {
    apply(memory,
          {.kind = LifecycleEventKind::tried, .at = seconds(at), .key = "copy/x/a", .good = good});
    return memory.attempts.at("copy/x/a");
  };
  EXPECT_EQ(tried(1, false).count, 1);
  EXPECT_FALSE(tried(2, false).good);
  EXPECT_EQ(memory.attempts.at("copy/x/a").count, 2);
  EXPECT_EQ(memory.attempts.at("copy/x/a").last, seconds(2));
  EXPECT_TRUE(tried(3, true).good);
  EXPECT_EQ(memory.attempts.at("copy/x/a").count, 0);
  EXPECT_FALSE(LifecycleAttempt{}.good);
}

// The reasons that a person reads.
TEST(LifecycleDefaults, what_goes_says_why) {
  LifecyclePolicy policy{.places = {{.name = "hot", .keep = {.newest = 1}},
                                    {.name = "cold", .keep = {.milestones = true}},
                                    {.name = "deep", .keep = {.milestones = true}}}};
  LifecycleLook look = look_at(3, days(9));
  look.items[0].milestone = true;
  LifecycleMemory memory;
  const auto good = [&](std::size_t item, const std::string& place, LifecycleEventKind kind) {
    if (place != "hot") {
      look.items[item].copies.push_back(
          {.place = place, .size = gigabytes(3), .complete = true, .stamp = "s"});
    }
    apply(memory,
          {.kind = kind, .item = look.items[item].id, .place = place, .stamp = "s", .digest = "d"});
  };
  for (std::size_t i = 0; i < 3; ++i) good(i, "hot", LifecycleEventKind::verified);
  good(0, "cold", LifecycleEventKind::verified);
  good(0, "deep", LifecycleEventKind::verified);
  good(2, "deep", LifecycleEventKind::corrupt);
  std::vector<std::string> said;
  for (const LifecycleAction& a : decide(look, memory, policy).actions) {
    said.push_back(a.key + ": " + a.why);
  }
  EXPECT_EQ(said, (std::vector<std::string>{
                      "remove/deep/c: its bytes are not those of the item",
                      "remove/hot/b: no rule keeps it, and a newer one is safe",
                      "remove/hot/a: safe at cold and deep",
                      "corrupt/deep/c: the copy at deep fails a check (its bytes are not "
                      "those that were read first)"}));
}

}  // namespace
}  // namespace orrery::storage
