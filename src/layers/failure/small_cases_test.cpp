// Small cases by hand: how often a desk looks, rows of causes that are refused, spans that a double
// cannot hold, and measurements that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/csv.h"
#include "layers/failure/causes.h"
#include "layers/failure/recovery_desk.h"
#include "layers/failure/save_cycle.h"
#include "layers/failure/straggler_detector.h"

namespace orrery::failure {
namespace {

sim::SimTime small_s(std::int64_t s) { return sim::SimTime::nanoseconds(s * 1'000'000'000); }

TEST(SmallCases, a_desk_looks_once_for_a_run_and_twice_for_a_host) {
  RecoveryDesk desk(10);
  EXPECT_EQ(desk.looks(), 0u);
  desk.job_runs(small_s(10), "a");
  EXPECT_EQ(desk.looks(), 1u);
  desk.host_down(small_s(20), 3, "a", -1);
  EXPECT_EQ(desk.looks(), 3u);
  desk.job_waits(small_s(21), "a");
  EXPECT_EQ(desk.looks(), 4u);
  const RecoveryDesk::Call back = desk.host_back(small_s(4000), 3);
  EXPECT_EQ(desk.looks(), back.lemons.empty() ? 5u : 6u);
}

TEST(SmallCases, a_row_that_is_no_cause_is_told_of_in_whole) {
  const auto table = CsvTable::parse(
      "cause,group,weight,scope,keeps_disk,sight\n"
      "a,host,0,host,yes,health\n"
      "b,host,1,host,yes,health\n",
      "causes.csv");
  ASSERT_TRUE(table);
  const auto read = read_fault_causes(*table);
  ASSERT_FALSE(read);
  ASSERT_EQ(read.error().size(), 1u);
  const Diagnostic& d = read.error().front();
  EXPECT_EQ(d.severity, Severity::error);
  EXPECT_EQ(d.code, "failure.cause");
  EXPECT_EQ(d.place.file, "causes.csv");
  EXPECT_EQ(d.place.line, 2);
  EXPECT_EQ(d.place.column, 0);
  EXPECT_EQ(d.what,
            "a cause needs a group, a weight above 0, a scope, keeps_disk and how it is seen");
  EXPECT_EQ(d.why, "the shares of the causes decide what a fault takes with it");
  EXPECT_EQ(d.fix,
            "group: accelerator, software, host, network or hang; scope: process or host; "
            "keeps_disk: yes or no; sight: health, timeout or silent");
}

TEST(SmallCases, groups_have_labels_and_some_need_accelerators) {
  EXPECT_EQ(label_of(FaultGroup::accelerator), "accelerator and its memory");
  EXPECT_EQ(label_of(FaultGroup::software), "software and users");
  EXPECT_EQ(label_of(FaultGroup::host), "host and power");
  EXPECT_EQ(label_of(FaultGroup::network), "network");
  EXPECT_EQ(label_of(FaultGroup::hang), "hang that only a time-out finds");
  EXPECT_TRUE(needs_accelerators(FaultGroup::accelerator));
  EXPECT_TRUE(needs_accelerators(FaultGroup::hang));
  EXPECT_FALSE(needs_accelerators(FaultGroup::software));
  EXPECT_FALSE(needs_accelerators(FaultGroup::host));
  EXPECT_FALSE(needs_accelerators(FaultGroup::network));
}

// Weights 1, 2 and 5 of 8. Without accelerators the first and the last are left: 1 and 5 of 6.
TEST(SmallCases, a_draw_falls_to_the_cause_whose_share_it_is) {
  const std::vector<FaultCause> causes{{.name = "a", .group = FaultGroup::host, .share = 0.125},
                                       {.name = "b", .group = FaultGroup::hang, .share = 0.25},
                                       {.name = "c", .group = FaultGroup::network, .share = 0.625}};
  EXPECT_EQ(cause_at(causes, 0).name, "a");
  EXPECT_EQ(cause_at(causes, 0.1249).name, "a");
  EXPECT_EQ(cause_at(causes, 0.125).name, "b");
  EXPECT_EQ(cause_at(causes, 0.3749).name, "b");
  EXPECT_EQ(cause_at(causes, 0.375).name, "c");
  EXPECT_EQ(cause_at(causes, 1).name, "c");
  EXPECT_EQ(cause_at(causes, 0.1666, false).name, "a");
  EXPECT_EQ(cause_at(causes, 0.1667, false).name, "c");
  EXPECT_EQ(cause_at(causes, 1, false).name, "c");
  EXPECT_EQ(share_of(causes, FaultGroup::software), 0);
}

// Two to the 53rd and one more: the first whole number that no double is.
TEST(SmallCases, at_full_speed_no_nanosecond_is_rounded_away) {
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

TEST(SmallCases, halves_of_a_nanosecond_are_not_worked) {
  const SaveCycle half{.speed = 0.5};
  EXPECT_EQ(progress_after(half, 7).work_ns, 3);
  EXPECT_EQ(progress_after(half, 7).steps_ns, 7);
  EXPECT_EQ(wall_for(half, 3), 6);
  EXPECT_EQ(wall_for(half, 0), 0);
  EXPECT_EQ(wall_for(half, -1), 0);
  const SaveCycle odd{.speed = 0.4};
  EXPECT_EQ(wall_for(odd, 3), 8) << "7.5 and what is missing to a whole one";
}

// Rank 2 of four takes 1.5 s of every step, the others one: half as long again. What is no time is
// nobody's.
TEST(SmallCases, times_that_are_none_cost_nothing) {
  StepTimes times;
  for (int r = 0; r < 4; ++r) times.ranks.push_back({.rank = r});
  for (int s = 0; s < 40; ++s) times.steps.push_back({1, 1, 1.5, 1});
  const StragglerReport whole = find_stragglers(times);
  ASSERT_EQ(whole.slow.size(), 1u);
  EXPECT_EQ(whole.slow[0].place.rank, 2);
  EXPECT_DOUBLE_EQ(whole.step_cost, 0.5);
  times.steps[3][0] = std::numeric_limits<double>::infinity();
  times.steps[9][1] = std::numeric_limits<double>::quiet_NaN();
  const StragglerReport gaps = find_stragglers(times);
  ASSERT_EQ(gaps.slow.size(), 1u);
  EXPECT_EQ(gaps.slow[0].place.rank, 2);
  EXPECT_DOUBLE_EQ(gaps.step_cost, 0.5);
}

}  // namespace
}  // namespace orrery::failure
