// The closed form of steps and saves compared with stepping nanosecond by nanosecond, and with hand
// calculations.
#include "layers/failure/save_cycle.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/base/random.h"

namespace orrery::failure {
namespace {

TEST(SaveCycle, three_save_cycles) {
  // 10 of steps, 2 of stall; a save is safe 3 after its stall and readable on its hosts after 1.
  const SaveCycle c{.interval_ns = 10, .stall_ns = 2, .drain_ns = 3, .local_ns = 1};
  const Progress p = progress_after(c, 26);  // two cycles of 12 and 2 of steps
  EXPECT_EQ(p.steps_ns, 22);
  EXPECT_EQ(p.stall_ns, 4);
  EXPECT_EQ(p.work_ns, 22);
  EXPECT_EQ(p.saves, 2);
  EXPECT_EQ(p.safe_work_ns, 10);   // the second is safe at 27
  EXPECT_EQ(p.local_work_ns, 20);  // and readable at 25
  EXPECT_EQ(progress_after(c, 27).safe_work_ns, 20);
}

TEST(SaveCycle, work_beside_a_drain_is_slower) {
  const SaveCycle c{
      .interval_ns = 100, .stall_ns = 10, .drain_ns = 40, .speed = 1, .drain_speed = 0.5};
  EXPECT_EQ(progress_after(c, 110).work_ns, 100);            // no drain during the first
  EXPECT_EQ(progress_after(c, 150).work_ns, 100 + 20);       // all of it during a drain
  EXPECT_EQ(progress_after(c, 220).work_ns, 100 + 20 + 60);  // the complete second cycle
}

// Advances one nanosecond at a time.
Progress stepped(const SaveCycle& c, std::int64_t elapsed) {
  Progress p;
  std::int64_t at_save = 0;
  std::int64_t since_stall = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> copies;  // when taken, work in it
  for (std::int64_t t = 0; t < elapsed; ++t) {
    if (since_stall < c.interval_ns) {
      ++p.steps_ns;
      ++p.work_ns;
    } else {
      ++p.stall_ns;
    }
    at_save = p.work_ns;
    if (++since_stall == c.length()) {
      since_stall = 0;
      ++p.saves;
      copies.emplace_back(t + 1, at_save);
    }
  }
  for (const auto& [taken, work] : copies) {
    if (taken + c.drain_ns <= elapsed) p.safe_work_ns = work;
    if (taken + c.local_ns <= elapsed) p.local_work_ns = work;
  }
  return p;
}

TEST(SaveCycle, skipping_gives_what_stepping_gives) {
  RandomStream random(1, "save-cycle");
  for (int i = 0; i < 2000; ++i) {
    const auto draw = [&](std::uint64_t below) {
      return static_cast<std::int64_t>(random.below(below));
    };
    const SaveCycle c{.interval_ns = 1 + draw(50),
                      .stall_ns = draw(20),
                      .drain_ns = draw(40),
                      .local_ns = draw(10)};
    const std::int64_t elapsed = draw(400);
    const Progress fast = progress_after(c, elapsed);
    const Progress slow = stepped(c, elapsed);
    ASSERT_EQ(fast.steps_ns, slow.steps_ns);
    ASSERT_EQ(fast.stall_ns, slow.stall_ns);
    ASSERT_EQ(fast.work_ns, slow.work_ns);
    ASSERT_EQ(fast.saves, slow.saves);
    ASSERT_EQ(fast.safe_work_ns, slow.safe_work_ns);
    ASSERT_EQ(fast.local_work_ns, slow.local_work_ns);
  }
}

TEST(SaveCycle, wall_time_of_work_inverts_its_progress) {
  RandomStream random(2, "save-cycle");
  for (int i = 0; i < 2000; ++i) {
    const SaveCycle c{.interval_ns = static_cast<std::int64_t>(100 + random.below(1000)),
                      .stall_ns = static_cast<std::int64_t>(random.below(100)),
                      .drain_ns = static_cast<std::int64_t>(random.below(500)),
                      .speed = 0.5 + random.uniform() / 2,
                      .drain_speed = 0.4 + random.uniform() / 10};
    const auto work = static_cast<std::int64_t>(random.below(5000));
    const std::int64_t wall = wall_for(c, work);
    EXPECT_GE(progress_after(c, wall).work_ns + 2, work);
    if (wall > 2) EXPECT_LE(progress_after(c, wall - 2).work_ns, work);
  }
}

// 100 of steps and 10 of stall; the first 40 of later cycles run at half speed because of a drain:
// 100 in the first cycle, 80 in each of the others.
TEST(SaveCycle, wall_time_of_work_beside_a_drain) {
  const SaveCycle c{
      .interval_ns = 100, .stall_ns = 10, .drain_ns = 40, .speed = 1, .drain_speed = 0.5};
  EXPECT_EQ(wall_for(c, 0), 0);
  EXPECT_EQ(wall_for(c, -5), 0);
  EXPECT_EQ(wall_for(c, 99), 99);
  EXPECT_EQ(wall_for(c, 100), 100);
  EXPECT_EQ(wall_for(c, 101), 112);
  EXPECT_EQ(wall_for(c, 120), 150);
  EXPECT_EQ(wall_for(c, 121), 151);
  EXPECT_EQ(wall_for(c, 179), 209);
  EXPECT_EQ(wall_for(c, 180), 210);
  EXPECT_EQ(wall_for(c, 181), 222);
  EXPECT_EQ(wall_for(c, 182), 224);
  EXPECT_EQ(wall_for(c, 260), 320);
  EXPECT_EQ(wall_for(c, 261), 332);
}

TEST(SaveCycle, job_without_saves_only_steps) {
  constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max() / 4;
  EXPECT_EQ(wall_for({}, 700), 700);
  EXPECT_EQ(wall_for({.speed = 0.5}, 100), 200);
  EXPECT_EQ(wall_for({.speed = 0}, 100), kNoEnd);
  EXPECT_EQ(wall_for({.interval_ns = 50, .drain_speed = 0}, 10), kNoEnd);
  EXPECT_EQ(wall_for({}, kNoEnd / 4 + 1), kNoEnd);
  EXPECT_EQ(wall_for({}, kNoEnd / 4), kNoEnd / 4);
  // A stall of a million for every unit of work.
  const SaveCycle slow{.interval_ns = 1, .stall_ns = 999'999};
  EXPECT_EQ(wall_for(slow, 10'000'000'000'000), kNoEnd);
  EXPECT_EQ(wall_for(slow, 1'000'001), 1'000'000'000'001);
  const Progress p = progress_after({.speed = 0.25}, 400);
  EXPECT_EQ(p.steps_ns, 400);
  EXPECT_EQ(p.work_ns, 100);
  EXPECT_EQ(p.stall_ns + p.saves + p.safe_work_ns + p.local_work_ns, 0);
}

// Without saves there is no drain.
TEST(SaveCycle, job_without_saves_runs_at_full_speed) {
  const SaveCycle c{.interval_ns = 0, .drain_ns = 400, .speed = 1, .drain_speed = 0.5};
  EXPECT_EQ(wall_for(c, 1000), 1000);
  EXPECT_EQ(progress_after(c, 1000).work_ns, 1000);
}

// 2^53 + 1 is the first whole number that a double cannot hold.
TEST(SaveCycle, full_speed_keeps_every_nanosecond) {
  constexpr std::int64_t kLong = 9'007'199'254'740'993;
  const Progress never_saves = progress_after({}, kLong);
  EXPECT_EQ(never_saves.steps_ns, kLong);
  EXPECT_EQ(never_saves.work_ns, kLong);
  EXPECT_EQ(never_saves.stall_ns + never_saves.saves + never_saves.safe_work_ns, 0);
  EXPECT_EQ(wall_for({}, kLong), kLong);
  const SaveCycle c{.interval_ns = kLong, .stall_ns = 7, .drain_ns = 3, .local_ns = 2};
  EXPECT_EQ(progress_after(c, kLong + 7).work_ns, kLong);
  EXPECT_EQ(wall_for(c, kLong), kLong);
  EXPECT_EQ(wall_for(c, kLong + 1), kLong + 7 + 1);
}

TEST(SaveCycle, partial_nanoseconds_are_dropped) {
  const SaveCycle half{.speed = 0.5};
  EXPECT_EQ(progress_after(half, 7).work_ns, 3);
  EXPECT_EQ(progress_after(half, 7).steps_ns, 7);
  EXPECT_EQ(wall_for(half, 3), 6);
  EXPECT_EQ(wall_for(half, 0), 0);
  EXPECT_EQ(wall_for(half, -1), 0);
  const SaveCycle odd{.speed = 0.4};
  EXPECT_EQ(wall_for(odd, 3), 8) << "7.5 and what is missing to a whole one";
}

}  // namespace
}  // namespace orrery::failure
