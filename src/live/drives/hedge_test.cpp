// The hedging policy as pure functions: read times to a factor of two, when a drive is suspect, and
// when other drives are read as well.
#include "live/drives/hedge.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace orrery::drives::hedge_tests {
namespace {

using namespace std::chrono_literals;

void add_times(SeenTimes& seen, int count, Micros took) {
  for (int i = 0; i < count; ++i) seen.add(took);
}

// Less than 2^i microseconds: 0 is below 1, 1 below 2, 2 and 3 below 4.
TEST(SeenTimesTest, rounds_up_to_a_power_of_two_microseconds) {
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
  EXPECT_EQ(shown(Micros{longest << 5}), Micros{longest}) << "the last bucket";
}

TEST(SeenTimesTest, gives_the_time_within_which_a_share_of_reads_ended) {
  SeenTimes seen;
  add_times(seen, 3, 1us);
  seen.add(100us);
  EXPECT_EQ(seen.within(0.74), 2us);
  EXPECT_EQ(seen.within(0.75), 2us) << "three of four reads";
  EXPECT_EQ(seen.within(0.76), 128us);
  EXPECT_EQ(seen.within(1.0), 128us);
  EXPECT_EQ(seen.within(2.0), Micros{std::int64_t{1} << 39}) << "a share above 1";
}

// 4,095 reads are counted as they are; with the 4,096th all counts are halved, and a single one is
// forgotten.
TEST(SeenTimesTest, halves_all_counts_at_4096) {
  SeenTimes seen;
  seen.add(1ms);
  add_times(seen, 4094, 1us);
  EXPECT_EQ(seen.within(1.0), 1024us);
  seen.add(1us);
  EXPECT_EQ(seen.within(1.0), 2us);
}

TEST(SeenTimesTest, forgets_old_times) {
  SeenTimes seen;
  for (int i = 0; i < 4000; ++i) seen.add(10ms);
  for (int i = 0; i < 40'000; ++i) seen.add(100us);
  EXPECT_EQ(seen.within(0.95), 128us);
}

TEST(Hedge, a_read_is_slow_from_20_ms_and_four_times_the_usual) {
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

TEST(Hedge, a_suspect_drive_is_trusted_again_after_eight_quick_reads) {
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

TEST(Hedge, other_drives_are_read_after_2_ms_or_the_usual_time) {
  const HedgeRule rule;
  SeenTimes seen;
  seen.add(1ms);
  const DriveTrust suspect{.suspect = true};
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 0), 2'000us) << "1,024 us are below the limit";
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 7), 2'000us);
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 8), std::nullopt);
  EXPECT_EQ(hedge_delay(rule, seen, {}, 0), std::nullopt);
  add_times(seen, 99, 2ms);
  EXPECT_EQ(hedge_delay(rule, seen, suspect, 0), 2'048us);
}

}  // namespace
}  // namespace orrery::drives::hedge_tests
