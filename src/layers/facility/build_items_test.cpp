#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "layers/facility/schedule.h"

namespace orrery::facility {
namespace {

using testing::ElementsAre;

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

TEST(BuildItems, new_site_waits_for_every_item) {
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

TEST(BuildItems, site_work_takes_half_to_double) {
  const auto items = build_items(all_lead_times(), {});
  const std::vector<std::pair<const char*, double>> work = {
      {"substation", 8},      {"switchgear-install", 6}, {"cooling-install", 6},
      {"hall-acceptance", 4}, {"racks-install", 4},      {"burn-in", 4}};
  for (const auto& [id, n] : work) {
    const ScheduleItem& i = item_of(items, id);
    EXPECT_NEAR(i.low / weeks(1), n / 2, 1e-12) << id;
    EXPECT_NEAR(i.typical / weeks(1), n, 1e-12) << id;
    EXPECT_NEAR(i.high / weeks(1), n * 2, 1e-12) << id;
    EXPECT_EQ(i.reference, "docs/models/schedule.md");
  }
}

TEST(BuildItems, scope_selects_the_items) {
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

TEST(BuildItems, ready_items_take_no_time) {
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

}  // namespace
}  // namespace orrery::facility
