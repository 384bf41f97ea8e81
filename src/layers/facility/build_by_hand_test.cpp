// The items of a build for each scope, and schedules whose durations are certain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "layers/facility/schedule.h"

namespace orrery::facility {
namespace {

using ::testing::ElementsAre;

constexpr const char* kDeliveries[] = {"utility-interconnect",
                                       "large-power-transformer",
                                       "mv-switchgear",
                                       "ups",
                                       "diesel-generator-2-3-mw",
                                       "greenfield-shell-fit-out",
                                       "cdu",
                                       "liquid-retrofit-of-existing-hall",
                                       "chiller",
                                       "nvl72-rack-allocation",
                                       "hgx-h100-h200-server",
                                       "800g-optics"};

std::vector<catalog::LeadTime> all_lead_times() {
  std::vector<catalog::LeadTime> rows;
  double n = 10;
  for (const char* id : kDeliveries) {
    catalog::LeadTime row{.id = id, .item = std::string("the ") + id};
    row.low = weeks(n);
    row.typical = weeks(n + 0.5);
    row.high = weeks(n + 1.5);
    row.provenance.reference = std::string("lead_times/") + id;
    rows.push_back(row);
    n += 2;
  }
  return rows;
}

std::vector<std::string> ids_of(const std::vector<ScheduleItem>& items) {
  std::vector<std::string> ids;
  for (const ScheduleItem& i : items) ids.push_back(i.id);
  return ids;
}

const ScheduleItem& item_of(const std::vector<ScheduleItem>& items, const std::string& id) {
  for (const ScheduleItem& i : items) {
    if (i.id == id) return i;
  }
  ADD_FAILURE() << id;
  static const ScheduleItem none;
  return none;
}

// Takes so many weeks, to the day.
ScheduleItem certain(const char* id, double n, std::vector<std::string> after = {}) {
  return {id, std::string("the ") + id, weeks(n), weeks(n), weeks(n), std::move(after), "ref"};
}

TEST(BuildItems, of_a_new_site_with_everything) {
  const auto items = build_items(all_lead_times(), {.chillers = true});
  EXPECT_THAT(ids_of(items),
              ElementsAre("utility-interconnect", "large-power-transformer", "mv-switchgear", "ups",
                          "diesel-generator-2-3-mw", "greenfield-shell-fit-out", "cdu", "chiller",
                          "hgx-h100-h200-server", "800g-optics", "substation", "switchgear-install",
                          "cooling-install", "hall-acceptance", "racks-install", "burn-in"));
  const ScheduleItem& ups = item_of(items, "ups");
  EXPECT_EQ(ups.name, "the ups");
  EXPECT_EQ(ups.low, weeks(16));
  EXPECT_EQ(ups.typical, weeks(16.5));
  EXPECT_EQ(ups.high, weeks(17.5));
  EXPECT_EQ(ups.reference, "lead_times/ups");
  EXPECT_TRUE(ups.after.empty());
  EXPECT_THAT(item_of(items, "substation").after,
              ElementsAre("utility-interconnect", "large-power-transformer"));
  EXPECT_THAT(item_of(items, "switchgear-install").after,
              ElementsAre("substation", "mv-switchgear", "ups", "diesel-generator-2-3-mw",
                          "greenfield-shell-fit-out"));
  EXPECT_THAT(item_of(items, "cooling-install").after,
              ElementsAre("cdu", "chiller", "greenfield-shell-fit-out"));
  EXPECT_THAT(item_of(items, "hall-acceptance").after,
              ElementsAre("switchgear-install", "cooling-install"));
  EXPECT_THAT(item_of(items, "racks-install").after,
              ElementsAre("hall-acceptance", "hgx-h100-h200-server", "800g-optics"));
  EXPECT_THAT(item_of(items, "burn-in").after, ElementsAre("racks-install"));
}

TEST(BuildItems, work_on_site_takes_half_to_double) {
  const auto items = build_items(all_lead_times(), {});
  const std::vector<std::tuple<const char*, const char*, double>> work = {
      {"substation", "set and energise the transformer", 8},
      {"switchgear-install", "install switchgear, UPS and generators", 6},
      {"cooling-install", "install and flush cooling", 6},
      {"hall-acceptance", "integrated test of power and cooling", 4},
      {"racks-install", "rack, cable and power on", 4},
      {"burn-in", "burn-in and acceptance of the cluster", 4}};
  for (const auto& [id, name, n] : work) {
    const ScheduleItem& i = item_of(items, id);
    EXPECT_EQ(i.name, name);
    EXPECT_NEAR(i.low / weeks(1), n / 2, 1e-12) << id;
    EXPECT_NEAR(i.typical / weeks(1), n, 1e-12) << id;
    EXPECT_NEAR(i.high / weeks(1), n * 2, 1e-12) << id;
    EXPECT_EQ(i.reference, "docs/models/schedule.md");
  }
}

TEST(BuildItems, of_other_scopes) {
  const auto scope = [](const BuildScope& s) { return ids_of(build_items(all_lead_times(), s)); };
  EXPECT_THAT(
      scope({.new_utility = false, .new_shell = false}),
      ElementsAre("cdu", "liquid-retrofit-of-existing-hall", "hgx-h100-h200-server", "800g-optics",
                  "cooling-install", "hall-acceptance", "racks-install", "burn-in"));
  EXPECT_THAT(
      scope({.new_utility = false, .liquid = false, .generators = false, .rack_scale = true}),
      ElementsAre("mv-switchgear", "ups", "greenfield-shell-fit-out", "nvl72-rack-allocation",
                  "800g-optics", "switchgear-install", "cooling-install", "hall-acceptance",
                  "racks-install", "burn-in"));
  EXPECT_THAT(scope({.new_shell = false, .liquid = false}),
              ElementsAre("utility-interconnect", "large-power-transformer", "mv-switchgear", "ups",
                          "hgx-h100-h200-server", "800g-optics", "substation", "switchgear-install",
                          "cooling-install", "hall-acceptance", "racks-install", "burn-in"));
  EXPECT_THAT(item_of(build_items(all_lead_times(), {.new_shell = false}), "cooling-install").after,
              ElementsAre("cdu", "liquid-retrofit-of-existing-hall"));
  EXPECT_THAT(item_of(build_items(all_lead_times(), {.rack_scale = true}), "racks-install").after,
              ElementsAre("hall-acceptance", "nvl72-rack-allocation", "800g-optics"));
}

TEST(BuildItems, what_is_ready_takes_no_time_and_what_has_no_row_is_left_out) {
  const auto items = build_items(all_lead_times(), {.ready = {"cdu", "substation"}});
  for (const char* id : {"cdu", "substation"}) {
    const ScheduleItem& i = item_of(items, id);
    EXPECT_EQ(i.low, Seconds()) << id;
    EXPECT_EQ(i.typical, Seconds()) << id;
    EXPECT_EQ(i.high, Seconds()) << id;
  }
  EXPECT_EQ(item_of(items, "ups").typical, weeks(16.5));
  EXPECT_EQ(item_of(items, "burn-in").typical, weeks(4));
  EXPECT_EQ(build_items({}, {}).size(), 6U);
}

// Given last to first: c after b after a, beside d.
TEST(CertainSchedule, in_whatever_order_the_items_are_given) {
  const std::vector<ScheduleItem> items = {certain("c", 3, {"b"}), certain("d", 4),
                                           certain("b", 2, {"a"}), certain("a", 5)};
  const auto plan = plan_schedule(items);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->typical, weeks(10));
  EXPECT_EQ(plan->low, weeks(10));
  EXPECT_EQ(plan->middle, weeks(10));
  EXPECT_EQ(plan->high, weeks(10));
  EXPECT_THAT(plan->critical, ElementsAre("a", "b", "c"));
  const char* ids[] = {"d", "a", "b", "c"};  // by their starts, then as given
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

// Of what it waits for, the one that ends last binds, the first of two that end at once.
TEST(CertainSchedule, waits_for_the_last_of_many) {
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

TEST(CertainSchedule, names_what_is_wrong) {
  const auto unknown = plan_schedule(std::vector{certain("a", 1, {"x"})});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error()[0].code, "schedule.unknown");
  EXPECT_EQ(unknown.error()[0].what, "'a' waits for 'x', which is no item");
  const auto circle = plan_schedule(
      std::vector{certain("a", 1), certain("b", 1, {"c"}), certain("c", 1, {"b", "a"})});
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error()[0].code, "schedule.cycle");
  EXPECT_EQ(circle.error()[0].what, "items wait for each other in a circle");
  const auto none = plan_schedule({});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->items.empty());
}

// p10, p50 and p90 of the draws are those of the item: in the mean of many seeds to half a percent.
TEST(DrawnSchedule, has_the_quantiles_of_its_only_item) {
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

// One is longer in nearly every draw: it binds then, and the other does not.
TEST(DrawnSchedule, criticalities_of_two_paths_add_up) {
  const std::vector<ScheduleItem> two = {{"a", "a", weeks(9), weeks(10), weeks(11), {}, "r"},
                                         {"b", "b", weeks(9), weeks(10), weeks(11), {}, "r"}};
  const auto plan = plan_schedule(two, 3);
  EXPECT_NEAR(plan->items[0].criticality + plan->items[1].criticality, 1, 1e-12);
  EXPECT_NEAR(plan->items[0].criticality, 0.5, 0.06);
  EXPECT_EQ(ScheduledItem{}.criticality, 0);
  EXPECT_FALSE(ScheduledItem{}.critical);
}

// A duration never falls below nothing, however far its low end is.
TEST(DrawnSchedule, takes_no_negative_time) {
  const std::vector<ScheduleItem> one = {{"a", "a", weeks(-50), weeks(1), weeks(1), {}, "r"}};
  const auto plan = plan_schedule(one);
  EXPECT_EQ(plan->low, Seconds());
  EXPECT_EQ(plan->high, weeks(1));
}

}  // namespace
}  // namespace orrery::facility
