#include "layers/storage/save_lives.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "layers/storage/lifecycle.h"

namespace orrery::storage {
namespace {

// The nodes' drives keep the newest, a file system two, a bucket the milestones.
LivesQuestion three_places() {
  return {.places =
              {{.place = {.name = "nvme", .durable = false, .written = true, .keep = {.newest = 1}},
                .takes = seconds(20),
                .reread = seconds(5)},
               {.place = {.name = "hot", .keep = {.newest = 2}},
                .takes = seconds(100),
                .reread = seconds(10)},
               {.place = {.name = "cold", .keep = {.milestones = true}},
                .takes = seconds(300),
                .reread = seconds(30)}},
          .interval = minutes(30),
          .milestone = hours(3),
          .size = terabytes(1),
          .saves = 12};
}

// Returns where each save is just before the end.
std::map<std::string, std::vector<int>> at_the_end(const SaveLives& lives) {
  std::map<std::string, std::vector<int>> all;
  for (const LifeStay& s : lives.stays) {
    if (!s.until) all[s.place].push_back(s.save);
  }
  for (auto& [place, saves] : all) std::ranges::sort(saves);
  return all;
}

TEST(save_lives, saves_end_where_the_rules_keep_them) {
  const auto left = at_the_end(follow_saves(three_places()));
  EXPECT_EQ(left.at("nvme"), (std::vector<int>{11}));
  EXPECT_EQ(left.at("hot"), (std::vector<int>{10, 11}));
  EXPECT_EQ(left.at("cold"), (std::vector<int>{0, 6})) << "one in three hours";
}

// By hand: written 20 s after it begins, read in 5 s, on the file system 100 s later.
TEST(save_lives, saves_follow_the_planned_times) {
  const SaveLives lives = follow_saves(three_places());
  EXPECT_EQ(lives.moves.front().kind, LifeMoveKind::written);
  EXPECT_EQ(lives.moves.front().at, seconds(20));
  const auto copied = std::ranges::find(lives.moves, LifeMoveKind::copied, &LifeMove::kind);
  ASSERT_NE(copied, lives.moves.end());
  EXPECT_EQ(copied->place, "hot");
  EXPECT_EQ(copied->from, "nvme");
  EXPECT_EQ(copied->at, seconds(20 + 5 + 100));
  EXPECT_TRUE(std::ranges::is_sorted(lives.moves, {}, &LifeMove::at));
  for (const LifeMove& m : lives.moves) EXPECT_FALSE(m.why.empty());
}

// A stay ends after it began, and while the run continues every save is somewhere.
TEST(save_lives, newest_save_is_always_somewhere) {
  const SaveLives lives = follow_saves(three_places());
  for (const LifeStay& s : lives.stays) {
    if (s.until) EXPECT_GT(*s.until, s.from);
  }
  for (int save = 0; save < 12; ++save) {
    const Seconds next = minutes(30) * (save + 1);
    const bool there = std::ranges::any_of(lives.stays, [&](const LifeStay& s) {
      return s.save == save && s.from < next && (!s.until || *s.until >= next);
    });
    EXPECT_TRUE(there) << save;
  }
}

// Copies that take longer than an interval queue up, and are made all the same.
TEST(save_lives, slow_copies_queue_up) {
  LivesQuestion q = three_places();
  q.places[1].takes = minutes(40);
  const SaveLives lives = follow_saves(q);
  EXPECT_GT(lives.end, minutes(30) * 12);
  EXPECT_EQ(at_the_end(lives).at("hot").back(), 11);
}

TEST(save_lives, no_places_give_no_moves) { EXPECT_TRUE(follow_saves({}).moves.empty()); }

// Drives keep the newest, a file system two.
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

std::string shown(const LifeMove& m) {
  return fmt::format("{} {} {} {}{}", m.at.base(), to_text(m.kind), m.save, m.place,
                     m.from.empty() ? "" : " from " + m.from);
}

TEST(SaveLives, four_saves_move_as_scheduled) {
  const SaveLives lives = follow_saves(nvme_and_hot());
  std::vector<std::string> moves;
  for (const LifeMove& m : lives.moves) moves.push_back(shown(m));
  const std::string saved = " nvme";
  const std::string copied = " hot from nvme";
  const std::string passed = " hot";
  const std::string safe = " nvme";
  // Whole after 20 s, read in 5, copied in 100 and read there in 10. The newest save that survives
  // the nodes keeps all its copies until the next one does.
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

// A save that becomes whole during a copy exists from then on, not from the copy's end.
TEST(SaveLives, save_made_during_a_copy_exists_from_its_own_time) {
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

// Spans of 2,500 s: the saves at 0, 3,000, 5,000 and 8,000 s are the first of theirs.
TEST(SaveLives, milestone_is_the_first_save_of_its_span) {
  LivesQuestion q = nvme_and_hot();
  q.interval = seconds(1000);
  q.milestone = seconds(2500);
  q.saves = 9;
  EXPECT_EQ(follow_saves(q).milestones, (std::vector<int>{0, 3, 5, 8}));
  q.interval = Seconds(0);
  EXPECT_TRUE(follow_saves(q).moves.empty());
  EXPECT_EQ(follow_saves(q).end, Seconds(0));
}

}  // namespace
}  // namespace orrery::storage
