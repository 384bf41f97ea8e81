// Trust in drives by what was seen of them, and rules at the edge of what they may say.
#include <gtest/gtest.h>

#include "live/drives/hedger.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::upkeep::trust_tests {
namespace {

TEST(DriveTrusts, defaults_are_those_of_the_tail_at_scale) {
  const drives::HedgeRule rule;
  EXPECT_DOUBLE_EQ(rule.share, 0.95);
  EXPECT_EQ(rule.delay_min.count(), 2'000);
  EXPECT_EQ(rule.slow_min.count(), 20'000);
  EXPECT_EQ(rule.slow_factor, 4);
  EXPECT_EQ(rule.forgiven, 8);
  EXPECT_EQ(rule.at_once_max, 8);
}

// The last count holds all that took longer than 2^38 microseconds, some three days.
TEST(DriveTrusts, what_took_for_ever_is_one_of_those_that_took_long) {
  drives::SeenTimes seen;
  EXPECT_EQ(seen.within(0.5).count(), 0);
  seen.add(drives::Micros{std::int64_t{1} << 50});
  seen.add(drives::Micros{1});
  EXPECT_EQ(seen.within(0.5).count(), 2) << "one of two";
  EXPECT_EQ(seen.within(1.0).count(), std::int64_t{1} << 39);
  seen.add(drives::Micros{-5});
  EXPECT_EQ(seen.within(0.3).count(), 1) << "a clock that went back is no time at all";
}

TEST(DriveTrusts, a_drive_is_forgiven_after_eight_quick_reads) {
  drives::Hedger hedger;
  hedger.note("d", drives::Micros{19'999});
  EXPECT_FALSE(hedger.suspects("d"));
  hedger.note("e", drives::Micros{5'000'000});
  EXPECT_TRUE(hedger.suspects("e"));
  EXPECT_FALSE(hedger.suspects("d"));
  EXPECT_EQ(hedger.counts().suspects, 1);
  for (int i = 0; i < 7; ++i) hedger.note("e", drives::Micros{10});
  EXPECT_TRUE(hedger.suspects("e"));
  hedger.note("e", drives::Micros{10});
  EXPECT_FALSE(hedger.suspects("e"));
  EXPECT_EQ(hedger.counts().suspects, 0);
}

TEST(DriveTrusts, what_was_asked_and_won_is_counted) {
  drives::Hedger hedger;
  hedger.count(true);
  hedger.count(false);
  hedger.count(false);
  EXPECT_EQ(hedger.counts().asked, 3u);
  EXPECT_EQ(hedger.counts().won, 1u);
}

TEST(RuleIds, have_up_to_255_bytes) {
  const auto read = [](std::size_t bytes) {
    return lifecycle_of("<LifecycleConfiguration><Rule><ID>" + std::string(bytes, 'i') +
                        "</ID><Prefix/><Status>Enabled</Status><Expiration><Days>1</Days>"
                        "</Expiration></Rule></LifecycleConfiguration>")
        .has_value();
  };
  EXPECT_TRUE(read(255));
  EXPECT_FALSE(read(256));
}

}  // namespace
}  // namespace orrery::upkeep::trust_tests
