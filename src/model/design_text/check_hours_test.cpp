// Hours of a site, plants and work that waits for clean hours: each refusal at its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/design/catalog_fixture.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;
using testing::IsEmpty;

TEST(CheckHours, backup_needs_outages) {
  const auto with = [](const std::string& fields) {
    return plain_text_said("", "region: usa, " + fields);
  };
  EXPECT_THAT(with("outage: 1 h"), ElementsAre("design.outage at 1"));
  EXPECT_THAT(with("battery: 5 min"), ElementsAre("design.outage at 5"));
  EXPECT_EQ(with("generator: 9 s").size(), 1U);
  EXPECT_THAT(with("outage: 1 h, battery: 5 min, outage_mtbf: 1 y"), IsEmpty());
}

TEST(CheckHours, plant_sized_for_a_day_needs_weather) {
  const auto with = [](const std::string& fields, const std::string& column) {
    return plain_text_said("", "region: usa, " + fields,
                           [&](std::string_view) -> Result<std::string> {
                             std::string text = column + "\n";
                             for (int i = 0; i < 24; ++i) text += "20\n";
                             return text;
                           });
  };
  EXPECT_THAT(with("cooling_design: 35 C, hours: h.csv", "dry_bulb_c"), IsEmpty());
  EXPECT_THAT(with("cooling_design: -40 C, hours: h.csv", "dry_bulb_c"), IsEmpty());
  EXPECT_THAT(with("cooling_design: -41 C, hours: h.csv", "dry_bulb_c"),
              ElementsAre("design.range at -41"));
  EXPECT_THAT(with("cooling_design: 54.9 C, hours: h.csv", "dry_bulb_c"), IsEmpty());
  EXPECT_THAT(with("cooling_design: 55 C, hours: h.csv", "dry_bulb_c"),
              ElementsAre("design.range at 55"));
  EXPECT_THAT(with("cooling_design: 35 C", ""), ElementsAre("design.weather at 35"));
  EXPECT_THAT(with("cooling_design: 35 C, hours: h.csv", "carbon_g_per_kwh"),
              ElementsAre("design.weather at 35"));
  EXPECT_EQ(with("cooling_design: 35 C, hours: h.csv", "nothing").size(), 1U)
      << "only that the file cannot be read";
  EXPECT_THAT(with("pue: 1.2, hours: h.csv", "dry_bulb_c"),
              ElementsAre("design.hours-file at 1.2"));
}

std::string with_hours(const std::string& sites, const std::string& work = "") {
  return "orrery: 1\nname: t\n" + sites + "fleet:\n  - { name: f, node: dgx-h100, count: 2 }\n" +
         work;
}

std::string day_of(const std::string& column, const std::string& value) {
  std::string text = column + "\n";
  for (int i = 0; i < 24; ++i) text += value + "\n";
  return text;
}

TEST(CheckHours, hours_and_pue_of_a_site_exclude_each_other) {
  const std::string two =
      "sites:\n  - { name: a, region: usa, pue: 1.1 }\n  - { name: b, region: usa, hours: h.csv, "
      "pue: 1.2 }\n";
  EXPECT_THAT(said_of(with_hours(two), holding(day_of("pue", "1.3"))),
              ElementsAre("design.hours-file at 1.2"));
  EXPECT_THAT(said_of(with_hours("sites:\n  - { name: a, region: usa, hours: h.csv, pue: 1.4 }\n"),
                      holding(day_of("pue", "1.3"))),
              ElementsAre("design.hours-file at 1.4"));
  EXPECT_THAT(said_of(with_hours("site: { region: usa, hours: h.csv, pue: 1.5 }\n"),
                      holding(day_of("dry_bulb_c", "13"))),
              ElementsAre("design.hours-file at 1.5"));
  EXPECT_THAT(said_of(with_hours(two), holding(day_of("carbon_g_per_kwh", "13"))), IsEmpty());
  EXPECT_THAT(said_of(with_hours("site: { region: usa, hours: h.csv }\n"), {}),
              ElementsAre("design.no-files at h.csv"));
  EXPECT_THAT(said_of(with_hours("site: { region: usa, hours: h.csv }\n"), unreadable),
              ElementsAre("design.hours-file at h.csv"));
}

TEST(CheckHours, backup_without_outages_is_refused_per_site) {
  const auto never = [](const std::string& at) { return "design.outage at " + at; };
  EXPECT_THAT(said_of(with_hours("sites:\n  - { name: a, region: usa, outage_mtbf: 1 y, battery: 5 "
                                 "min }\n  - { name: b, region: usa, outage: 2 h, battery: 7 min, "
                                 "generator: 9 s }\n"),
                      {}),
              ElementsAre(never("2"), never("7"), never("9")));
  EXPECT_THAT(said_of(with_hours("site: { region: usa, cooling_design: 60 C }\n"), {}),
              ElementsAre("design.range at 60", "design.weather at 60"));
}

TEST(CheckHours, clean_work_needs_hours_with_carbon) {
  const std::string sites =
      "sites:\n  - { name: a, region: usa }\n  - { name: b, region: usa, hours: h.csv }\n";
  const std::string fleets =
      "fleet:\n  - { name: f, node: dgx-h100, count: 2, site: a }\n  - { name: g, node: dgx-h100, "
      "count: 2, site: b }\n";
  const auto with = [&](const std::string& work, const std::string& column) {
    return said_of("orrery: 1\nname: t\n" + sites + fleets + "workloads:\n  - " + work + "\n",
                   holding(day_of(column, "2")));
  };
  const std::string waits = "clean_hours: { below: 200 g/kWh, wait: 12 h } }";
  const std::string jobs = "jobs: { rate: 1 /h, mean_duration: 1 h, ";
  const std::string batch = "batch: { core_hours: 9, dataset: { size: 1 TB }, ";
  const std::string none = "design.clean-hours at {";
  for (const std::string& work : {jobs, batch}) {
    EXPECT_THAT(with(work + waits, "carbon_g_per_kwh"), ElementsAre(none)) << work;
    EXPECT_THAT(with(work + "fleet: g, " + waits, "carbon_g_per_kwh"), IsEmpty()) << work;
    EXPECT_THAT(with(work + "fleet: g, " + waits, "pue"), ElementsAre(none)) << work;
    EXPECT_THAT(with(work + "fleet: f }", "pue"), IsEmpty()) << work;
  }
}

TEST(CheckHours, file_of_hours_is_read_once) {
  std::vector<std::string> read;
  const auto d = read_design(
      "orrery: 1\nname: a\nsites: [{ name: x, region: usa, hours: h.csv }, { name: y, region: usa, "
      "hours: h.csv }]\nfleet: [{ name: f, node: dgx-h100, count: 8, site: x }]\n",
      design::catalog(), {.read_file = [&](std::string_view path) -> Result<std::string> {
        read.emplace_back(path);
        std::string text = "dry_bulb_c\n";
        for (int i = 0; i < 24; ++i) text += "20\n";
        return text;
      }});
  ASSERT_TRUE(d) << to_text(d.error());
  EXPECT_THAT(read, ElementsAre("h.csv"));
  EXPECT_EQ(d->local_hours.size(), 1u);
}

}  // namespace
}  // namespace orrery::design_text
