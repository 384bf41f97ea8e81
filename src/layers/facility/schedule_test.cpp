// The critical path: worked networks, faults, and the builds of the catalog's lead times.
#include "layers/facility/schedule.h"

#include <gmock/gmock.h>

#include <map>

#include "layers/facility/test_catalog.h"

namespace orrery::facility {
namespace {

using ::testing::ElementsAre;

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

// Of two that end at once the first one given is named, whatever the machine.
TEST(Schedule, of_equal_ends_the_first_binds) {
  const auto plan = plan_schedule(std::vector{item("a", 3), item("b", 5), item("c", 5)});
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->critical, ElementsAre("b"));
}

TEST(Schedule, the_longest_path_binds_and_the_other_has_slack) {
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

TEST(Schedule, unknown_names_and_circles_are_refused) {
  const std::vector<ScheduleItem> unknown{item("a", 1, {"x"}), item("b", 1, {"y"})};
  EXPECT_EQ(plan_schedule(unknown).error().size(), 2u);
  const std::vector<ScheduleItem> circle{item("a", 1, {"b"}), item("b", 1, {"a"})};
  EXPECT_EQ(plan_schedule(circle).error().front().code, "schedule.cycle");
  EXPECT_EQ(plan_schedule({})->typical, Seconds());
}

// Facility readiness, not servers, is the longest item of a new site (Turner & Townsend 2025-26:
// 48 % of builders name power as the top schedule risk).
TEST(Schedule, a_new_site_waits_for_its_utility) {
  const auto items = build_items(shipped_catalog().lead_times, {});
  const auto plan = plan_schedule(items);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->critical,
              ElementsAre("utility-interconnect", "substation", "switchgear-install",
                          "hall-acceptance", "racks-install", "burn-in"));
  EXPECT_NEAR(in_weeks(plan->typical), 156 + 8 + 6 + 4 + 4 + 4, 1e-9);
  EXPECT_GT(in_weeks(plan->high), 300);
}

TEST(Schedule, an_existing_hall_waits_for_its_retrofit_and_ready_items_take_no_time) {
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

}  // namespace
}  // namespace orrery::facility
