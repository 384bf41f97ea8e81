// The critical path: worked networks, faults, and builds with the catalog's lead times.
#include "layers/facility/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

using ::testing::ElementsAre;
using testing::ElementsAre;

ScheduleItem item(const char* id, double weeks_typical, std::vector<std::string> after = {}) {
  return {id,
          id,
          weeks(weeks_typical * 0.8),
          weeks(weeks_typical),
          weeks(weeks_typical * 1.5),
          std::move(after),
          "test"};
}

double in_weeks(Seconds t) { return t / weeks(1); }

// If two end at the same time, the first one given is named, on every machine.
TEST(Schedule, tied_items_bind_in_order) {
  const auto plan = plan_schedule(std::vector{item("a", 3), item("b", 5), item("c", 5)});
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->critical, ElementsAre("b"));
}

TEST(Schedule, longest_path_binds_and_the_other_has_slack) {
  const std::vector<ScheduleItem> items{item("a", 10), item("b", 4), item("c", 5, {"a", "b"}),
                                        item("d", 2, {"b"}), item("e", 1, {"c", "d"})};
  const auto plan = plan_schedule(items);
  ASSERT_TRUE(plan);
  EXPECT_NEAR(in_weeks(plan->typical), 16, 1e-9);
  EXPECT_THAT(plan->critical, ElementsAre("a", "c", "e"));
  const std::map<std::string, double> slack{{"a", 0}, {"b", 6}, {"c", 0}, {"d", 9}, {"e", 0}};
  for (const ScheduledItem& s : plan->items) {
    EXPECT_NEAR(in_weeks(s.slack), slack.at(s.id), 1e-9) << s.id;
    EXPECT_EQ(s.critical, slack.at(s.id) == 0) << s.id;
  }
  EXPECT_LT(plan->low, plan->middle);
  EXPECT_LT(plan->middle, plan->high);
}

TEST(Schedule, one_item_has_its_own_quantiles) {
  const std::vector<ScheduleItem> one{item("a", 100)};
  const auto plan = plan_schedule(one);
  ASSERT_TRUE(plan);
  EXPECT_NEAR(in_weeks(plan->low), 80, 3);
  EXPECT_NEAR(in_weeks(plan->middle), 100, 2);
  EXPECT_NEAR(in_weeks(plan->high), 150, 6);
  EXPECT_DOUBLE_EQ(plan->items[0].criticality, 1);
}

TEST(Schedule, parallel_paths_end_later_than_either) {
  const std::vector<ScheduleItem> one{item("a", 100)};
  const std::vector<ScheduleItem> two{item("a", 100), item("b", 100)};
  EXPECT_GT(plan_schedule(two)->middle, plan_schedule(one)->middle);
}

TEST(Schedule, same_seed_same_answer) {
  const std::vector<ScheduleItem> items{item("a", 10), item("b", 9)};
  EXPECT_EQ(plan_schedule(items, 7)->high, plan_schedule(items, 7)->high);
}

TEST(Schedule, unknown_names_and_cycles_are_refused) {
  const std::vector<ScheduleItem> unknown{item("a", 1, {"x"}), item("b", 1, {"y"})};
  EXPECT_EQ(plan_schedule(unknown).error().size(), 2u);
  const std::vector<ScheduleItem> circle{item("a", 1, {"b"}), item("b", 1, {"a"})};
  EXPECT_EQ(plan_schedule(circle).error().front().code, "schedule.cycle");
  EXPECT_EQ(plan_schedule({})->typical, Seconds());
}

// Facility readiness, not servers, is the longest item of a new site (Turner & Townsend 2025-26: 48
// % of builders name power as the top schedule risk).
TEST(Schedule, new_site_waits_for_its_utility) {
  const auto items = build_items(shipped_catalog().lead_times, {});
  const auto plan = plan_schedule(items);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->critical,
              ElementsAre("utility-interconnect", "substation", "switchgear-install",
                          "hall-acceptance", "racks-install", "burn-in"));
  EXPECT_NEAR(in_weeks(plan->typical), 156 + 8 + 6 + 4 + 4 + 4, 1e-9);
  EXPECT_GT(in_weeks(plan->high), 300);
}

TEST(Schedule, existing_hall_waits_for_its_retrofit) {
  BuildScope scope{.new_utility = false, .new_shell = false};
  const auto plan = plan_schedule(build_items(shipped_catalog().lead_times, scope));
  ASSERT_TRUE(plan);
  EXPECT_NEAR(in_weeks(plan->typical), 30 + 6 + 4 + 4 + 4, 1e-9);
  EXPECT_EQ(plan->critical.front(), "liquid-retrofit-of-existing-hall");
  scope.ready = {"liquid-retrofit-of-existing-hall", "cdu", "800g-optics", "hgx-h100-h200-server"};
  const auto ready = plan_schedule(build_items(shipped_catalog().lead_times, scope));
  EXPECT_LT(ready->typical, plan->typical);
}

TEST(Schedule, every_lead_time_named_by_a_build_exists) {
  for (const bool rack_scale : {false, true}) {
    const BuildScope scope{.chillers = true, .rack_scale = rack_scale};
    const auto items = build_items(shipped_catalog().lead_times, scope);
    EXPECT_EQ(items.size(), 10u + 6u);  // deliveries and site work
  }
}

// Takes exactly `n` weeks.
ScheduleItem certain(const char* id, double n, std::vector<std::string> after = {}) {
  return {id, std::string("the ") + id, weeks(n), weeks(n), weeks(n), std::move(after), "ref"};
}

// Given in reverse order: c after b after a, beside d.
TEST(Schedule, order_of_items_does_not_matter) {
  const std::vector<ScheduleItem> items = {certain("c", 3, {"b"}), certain("d", 4),
                                           certain("b", 2, {"a"}), certain("a", 5)};
  const auto plan = plan_schedule(items);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->typical, weeks(10));
  EXPECT_EQ(plan->low, weeks(10));
  EXPECT_EQ(plan->middle, weeks(10));
  EXPECT_EQ(plan->high, weeks(10));
  EXPECT_THAT(plan->critical, ElementsAre("a", "b", "c"));
  const char* ids[] = {"d", "a", "b", "c"};  // by start, then as given
  const double starts[] = {0, 0, 5, 7};
  const double finishes[] = {4, 5, 7, 10};
  const double slacks[] = {6, 0, 0, 0};
  ASSERT_EQ(plan->items.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const ScheduledItem& s = plan->items[i];
    EXPECT_EQ(s.id, ids[i]);
    EXPECT_EQ(s.name, std::string("the ") + ids[i]);
    EXPECT_EQ(s.reference, "ref");
    EXPECT_NEAR(s.start / weeks(1), starts[i], 1e-12);
    EXPECT_NEAR(s.finish / weeks(1), finishes[i], 1e-12);
    EXPECT_NEAR(s.slack / weeks(1), slacks[i], 1e-12);
    EXPECT_EQ(s.critical, i > 0);
    EXPECT_EQ(s.criticality, i > 0 ? 1 : 0);
  }
}

// The predecessor that ends last is critical; of two that end together, the first.
TEST(Schedule, item_waits_for_its_last_predecessor) {
  const auto plan =
      plan_schedule(std::vector{certain("a", 2), certain("b", 5), certain("c", 5),
                                certain("d", 1, {"a", "b", "c"}), certain("e", 0.5, {"a"})});
  EXPECT_THAT(plan->critical, ElementsAre("b", "d"));
  EXPECT_EQ(plan->typical, weeks(6));
  EXPECT_NEAR(plan->items.back().start / weeks(1), 5, 1e-12);
  const auto slack = [&](std::size_t i) { return plan->items[i].slack / weeks(1); };
  EXPECT_NEAR(slack(0), 3, 1e-12) << "a";
  EXPECT_NEAR(slack(2), 0, 1e-12) << "c";
  EXPECT_NEAR(slack(3), 3.5, 1e-12) << "e";
  EXPECT_FALSE(plan->items[2].critical);
}

TEST(Schedule, unknown_names_and_cycles_are_named) {
  const auto unknown = plan_schedule(std::vector{certain("a", 1, {"x"})});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error()[0].code, "schedule.unknown");
  EXPECT_THAT(unknown.error()[0].what,
              testing::AllOf(testing::HasSubstr("'a'"), testing::HasSubstr("'x'")));
  const auto circle = plan_schedule(
      std::vector{certain("a", 1), certain("b", 1, {"c"}), certain("c", 1, {"b", "a"})});
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error()[0].code, "schedule.cycle");
  const auto none = plan_schedule({});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->items.empty());
}

// p10, p50 and p90 of the draws equal the item's own, averaged over many seeds, within half a per
// cent.
TEST(Schedule, single_item_gives_its_own_quantiles) {
  const std::vector<ScheduleItem> one = {{"a", "a", weeks(60), weeks(100), weeks(180), {}, "ref"}};
  double low = 0, middle = 0, high = 0;
  constexpr int kSeeds = 60;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const auto plan = plan_schedule(one, static_cast<std::uint64_t>(seed));
    low += plan->low / weeks(kSeeds);
    middle += plan->middle / weeks(kSeeds);
    high += plan->high / weeks(kSeeds);
  }
  EXPECT_NEAR(low, 60, 1);
  EXPECT_NEAR(middle, 100, 0.5);
  EXPECT_NEAR(high, 180, 2);
}

// One is longer in nearly every draw, so it is critical and the other is not.
TEST(Schedule, criticalities_of_two_paths_add_up) {
  const std::vector<ScheduleItem> two = {{"a", "a", weeks(9), weeks(10), weeks(11), {}, "r"},
                                         {"b", "b", weeks(9), weeks(10), weeks(11), {}, "r"}};
  const auto plan = plan_schedule(two, 3);
  EXPECT_NEAR(plan->items[0].criticality + plan->items[1].criticality, 1, 1e-12);
  EXPECT_NEAR(plan->items[0].criticality, 0.5, 0.06);
}

// A duration is never negative, however low its low end is.
TEST(Schedule, durations_are_never_negative) {
  const std::vector<ScheduleItem> one = {{"a", "a", weeks(-50), weeks(1), weeks(1), {}, "r"}};
  const auto plan = plan_schedule(one);
  EXPECT_EQ(plan->low, Seconds());
  EXPECT_EQ(plan->high, weeks(1));
}

}  // namespace
}  // namespace orrery::facility
