#include "layers/storage/save_lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace orrery::storage {
namespace {

// Drives of the nodes with the newest, a file system with two, a bucket with milestones.
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

// Where a save is just before the end.
std::map<std::string, std::vector<int>> at_the_end(const SaveLives& lives) {
  std::map<std::string, std::vector<int>> all;
  for (const LifeStay& s : lives.stays) {
    if (!s.until) all[s.place].push_back(s.save);
  }
  for (auto& [place, saves] : all) std::ranges::sort(saves);
  return all;
}

TEST(save_lives, end_as_the_rules_say) {
  const auto left = at_the_end(follow_saves(three_places()));
  EXPECT_EQ(left.at("nvme"), (std::vector<int>{11}));
  EXPECT_EQ(left.at("hot"), (std::vector<int>{10, 11}));
  EXPECT_EQ(left.at("cold"), (std::vector<int>{0, 6})) << "one in three hours";
}

// By hand: written 20 s after it begins, read in 5 s, at the file system 100 s later.
TEST(save_lives, follow_the_planned_clock) {
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

// A stay ends after it began, and no save is nowhere while the run goes on.
TEST(save_lives, leave_no_gap_for_the_newest) {
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

// Copies that take longer than an interval pile up behind one another, and are made all the same.
TEST(save_lives, show_a_queue_where_copies_are_slow) {
  LivesQuestion q = three_places();
  q.places[1].takes = minutes(40);
  const SaveLives lives = follow_saves(q);
  EXPECT_GT(lives.end, minutes(30) * 12);
  EXPECT_EQ(at_the_end(lives).at("hot").back(), 11);
}

TEST(save_lives, of_no_place_are_none) { EXPECT_TRUE(follow_saves({}).moves.empty()); }

}  // namespace
}  // namespace orrery::storage
