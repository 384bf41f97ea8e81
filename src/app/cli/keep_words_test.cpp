#include "app/cli/keep_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/cli/spoken_fixture.h"

namespace orrery::cli {
namespace {

TEST(KeepWords, hours_may_begin_and_end_a_day) {
  storage::KeepPlace place;
  EXPECT_TRUE(read_keep_word("hours=0-24", place));
  EXPECT_EQ(place.opens, Seconds());
  EXPECT_EQ(place.closes, hours(24));
  EXPECT_TRUE(read_keep_word("newest=0", place));
  EXPECT_TRUE(read_keep_word("newest=999999", place));
  EXPECT_EQ(place.keep.newest, 999'999);
  EXPECT_TRUE(read_keep_word("milestones", place));
  EXPECT_TRUE(place.keep.milestones);
  EXPECT_TRUE(read_keep_word("every=1", place));
  EXPECT_EQ(place.keep.milestone_every, 1);
  EXPECT_FALSE(read_keep_word("hours=1-2-3", place));
}

storage::KeepPlace kept(std::string_view word, bool& read) {
  storage::KeepPlace place;
  read = read_keep_word(word, place);
  return place;
}

TEST(KeepWords, each_word_sets_its_field) {
  bool read = false;
  EXPECT_EQ(kept("newest=3", read).keep.newest, 3);
  EXPECT_EQ(kept("every=1000", read).keep.milestone_every, 1000);
  EXPECT_TRUE(kept("every=1000", read).keep.milestones);
  EXPECT_EQ(kept("window=7d", read).keep.window, days(7));
  EXPECT_EQ(kept("spacing=1d", read).keep.spacing, days(1));
  EXPECT_EQ(kept("pace=200MB/s", read).pace, gbytes_per_s(0.2));
  EXPECT_EQ(kept("hours=22-6", read).opens, hours(22));
  EXPECT_EQ(kept("hours=22-6", read).closes, hours(6));
  EXPECT_TRUE(kept("written", read).written);
  EXPECT_FALSE(kept("volatile", read).durable);
  EXPECT_TRUE(kept("all", read).keep.everything);
  EXPECT_TRUE(read);
  for (const char* bad : {"newest=-1", "newest=x", "newest=1000000", "every=0", "every=-5",
                          "hours=25-3", "hours=3-25", "hours=5-5", "hours=5", "pace=0 B/s",
                          "pace=fast", "window=7", "nosuch", "nosuch=1", ""}) {
    kept(bad, read);
    EXPECT_FALSE(read) << bad;
  }
}

}  // namespace
}  // namespace orrery::cli
