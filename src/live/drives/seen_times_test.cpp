// What was seen of drives, to the microsecond and to the read: in which factor of two a time
// counts, when all counts are halved, and where slow begins.
#include <gtest/gtest.h>

#include "live/drives/hedge.h"
#include "live/drives/hedger.h"

namespace orrery::drives::seen_times_tests {
namespace {

using namespace std::chrono_literals;

void add_times(SeenTimes& seen, int count, Micros took) {
  for (int i = 0; i < count; ++i) seen.add(took);
}

// Less than 2^i microseconds: 0 is below 1, 1 below 2, 2 and 3 below 4.
TEST(SeenBounds, a_time_counts_below_the_next_power_of_two) {
  const auto shown = [](Micros took) {
    SeenTimes seen;
    seen.add(took);
    return seen.within(1.0);
  };
  EXPECT_EQ(shown(0us), 1us);
  EXPECT_EQ(shown(1us), 2us);
  EXPECT_EQ(shown(2us), 4us);
  EXPECT_EQ(shown(3us), 4us);
  EXPECT_EQ(shown(4us), 8us);
  EXPECT_EQ(shown(1023us), 1024us);
  EXPECT_EQ(shown(1024us), 2048us);
  EXPECT_EQ(shown(-1us), 1us);
  const std::int64_t longest = std::int64_t{1} << 39;
  EXPECT_EQ(shown(Micros{(longest >> 1) - 1}), Micros{longest >> 1});
  EXPECT_EQ(shown(Micros{longest >> 1}), Micros{longest});
  EXPECT_EQ(shown(Micros{longest << 5}), Micros{longest}) << "the last there is";
}

TEST(SeenBounds, a_share_is_reached_where_so_many_took_no_longer) {
  SeenTimes seen;
  add_times(seen, 3, 1us);
  seen.add(100us);
  EXPECT_EQ(seen.within(0.74), 2us);
  EXPECT_EQ(seen.within(0.75), 2us) << "three of four";
  EXPECT_EQ(seen.within(0.76), 128us);
  EXPECT_EQ(seen.within(1.0), 128us);
  EXPECT_EQ(seen.within(2.0), Micros{std::int64_t{1} << 39}) << "never reached";
}

// 4,095 are counted as they are; with the 4,096th all are halved, and a single one is forgotten.
TEST(SeenBounds, are_halved_with_the_4096th) {
  SeenTimes seen;
  seen.add(1ms);
  add_times(seen, 4094, 1us);
  EXPECT_EQ(seen.within(1.0), 1024us);
  seen.add(1us);
  EXPECT_EQ(seen.within(1.0), 2us);
}

// 3,996 and 100 become 1,998 and 50, 2,048 in all; with 51 more there are 2,099.
TEST(SeenBounds, halves_are_halves_and_their_sum_is_what_counts) {
  SeenTimes seen;
  add_times(seen, 100, 10ms);
  add_times(seen, 3996, 100us);
  add_times(seen, 51, 1s);
  EXPECT_EQ(seen.within(0.951), 128us) << "0.951 x 2,099 = 1,996.1";
  EXPECT_EQ(seen.within(0.953), 16384us) << "2,000.3";
  EXPECT_EQ(seen.within(0.975), 16384us) << "2,046.5";
  EXPECT_EQ(seen.within(0.977), 1048576us) << "2,050.7";
  // 2,048 + 2,048 is the next time: the 51 and 1,997 more, of which the last halves.
  add_times(seen, 1996, 1us);
  EXPECT_EQ(seen.within(0.4), 2us) << "1,996 of 4,095 are the quickest, 0.487";
  EXPECT_EQ(seen.within(0.487), 2us);
  EXPECT_EQ(seen.within(0.488), 128us);
}

TEST(SeenBounds, slow_begins_at_twenty_milliseconds_and_at_four_times_the_usual) {
  const HedgeRule rule;
  SeenTimes quick;
  quick.add(100us);
  EXPECT_FALSE(trust_after(rule, quick, {}, 19'999us).suspect);
  EXPECT_TRUE(trust_after(rule, quick, {}, 20'000us).suspect);
  EXPECT_EQ(trust_after(rule, quick, {.suspect = true, .quick = 3}, 20'000us).quick, 0);
  SeenTimes usual;
  add_times(usual, 100, 12ms);  // below 16,384 us, four times of which are 65,536
  EXPECT_FALSE(trust_after(rule, usual, {}, 65'535us).suspect);
  EXPECT_TRUE(trust_after(rule, usual, {}, 65'536us).suspect);
}

TEST(SeenBounds, a_suspect_drive_is_forgiven_with_its_eighth_quick_read) {
  const HedgeRule rule;
  SeenTimes seen;
  seen.add(100us);
  for (int before = 0; before < 7; ++before) {
    const DriveTrust after = trust_after(rule, seen, {.suspect = true, .quick = before}, 1ms);
    EXPECT_TRUE(after.suspect) << before;
    EXPECT_EQ(after.quick, before + 1);
  }
  const DriveTrust after = trust_after(rule, seen, {.suspect = true, .quick = 7}, 1ms);
  EXPECT_FALSE(after.suspect);
  EXPECT_EQ(after.quick, 0);
  const DriveTrust never = trust_after(rule, seen, {.suspect = false, .quick = 5}, 1ms);
  EXPECT_FALSE(never.suspect);
  EXPECT_EQ(never.quick, 0);
}

TEST(SeenBounds, others_are_asked_after_two_milliseconds_or_what_is_usual) {
  const HedgeRule rule;
  SeenTimes seen;
  seen.add(1ms);
  const DriveTrust suspect{.suspect = true};
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 0), 2'000us) << "1,024 us are less";
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 7), 2'000us);
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 8), std::nullopt);
  EXPECT_EQ(hedge_delay(rule, seen, {}, 0), std::nullopt);
  add_times(seen, 99, 2ms);
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 0), 2'048us);
}

// What a suspect drive took is not usual: only what it took once it is forgiven counts again.
TEST(SeenBounds, a_hedger_learns_from_drives_that_it_trusts) {
  Hedger hedger({.slow_min = 10ms, .slow_factor = 2, .forgiven = 2});
  for (int i = 0; i < 20; ++i) hedger.note("good", 1ms);
  EXPECT_FALSE(hedger.suspects("good"));
  EXPECT_EQ(hedger.counts().suspects, 0);
  hedger.note("bad", 50ms);
  hedger.note("worse", 50ms);
  EXPECT_TRUE(hedger.suspects("bad") && hedger.suspects("worse"));
  EXPECT_EQ(hedger.counts().suspects, 2);
  for (int i = 0; i < 50; ++i) hedger.note("bad", 50ms);
  hedger.note("other", 10ms);
  EXPECT_TRUE(hedger.suspects("other")) << "1,024 us are still usual";
  hedger.note("bad", 1ms);
  EXPECT_TRUE(hedger.suspects("bad"));
  hedger.note("bad", 1ms);
  EXPECT_FALSE(hedger.suspects("bad"));
  EXPECT_EQ(hedger.counts().suspects, 2) << "worse and other";
  hedger.count(true);
  hedger.count(false);
  hedger.count(true);
  EXPECT_EQ(hedger.counts().asked, 3u);
  EXPECT_EQ(hedger.counts().won, 2u);
}

TEST(SeenBounds, a_read_is_begun_for_a_suspect_drive_only_and_is_the_readers) {
  Hedger hedger({.slow_min = 10ms, .slow_factor = 2, .forgiven = 2, .at_once_max = 1});
  const auto read = [] { return SlowRead::Result{std::string("bytes"), nullptr}; };
  EXPECT_FALSE(hedger.begin("d", read)) << "nothing is known of it";
  hedger.note("d", 1ms);
  EXPECT_FALSE(hedger.begin("d", read));
  hedger.note("d", 100ms);
  const auto begun = hedger.begin("d", read);
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->delay, 2'000us);
  EXPECT_EQ(begun->read->wait().bytes.value(), "bytes");
  EXPECT_TRUE(begun->read->is_done());
  EXPECT_TRUE(begun->read->wait_for(0us));
}

}  // namespace
}  // namespace orrery::drives::seen_times_tests
