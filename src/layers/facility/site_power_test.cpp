#include "layers/facility/site_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/facility/facility_fixture.h"
#include "layers/facility/hours.h"
#include "layers/facility/pue.h"

namespace orrery::facility {
namespace {

using testing::HasSubstr;

catalog::Catalog one_hall() {
  catalog::Catalog c;
  c.cooling_methods = {method_of("air-contained", 0, 24)};
  c.redundancies.resize(2);
  c.redundancies[0].id = "n+1";
  c.redundancies[0].capacity_multiplier = 1.25;
  c.redundancies[1].id = "2n";
  c.redundancies[1].capacity_multiplier = 2;
  c.power_stages.resize(1);
  c.power_stages[0].id = "busway";
  c.power_stages[0].efficiency_typical = 0.96;
  return c;
}

// A conductor with 0.96 at half load: its loss is 0.5 (1/0.96 - 1) x^2 / 0.25 of its rating, which
// is 1.25 of the design because of the derate of 0.8. 3 MW of 5 are 0.48 of 6.25.
constexpr double kConductorMw = 6.25 * 0.5 * (1 / 0.96 - 1) / 0.25 * 0.48 * 0.48;

TEST(SitePower, site_power_adds_chain_and_plant) {
  const auto site =
      site_power(one_hall(), {.climate = "cool", .design = megawatts(5), .mean = megawatts(3)});
  ASSERT_TRUE(site);
  EXPECT_TRUE(site->computed);
  EXPECT_NEAR(site->chain.loss / megawatts(1), kConductorMw, 1e-9);
  EXPECT_NEAR(part_of(site->breakdown, "electrical loss"), kConductorMw, 1e-9);
  EXPECT_NEAR(part_of(site->breakdown, "pumps"), 3 * 0.015, 1e-9);
  const double over = site->breakdown.pue - 1;
  EXPECT_NEAR(over, site->breakdown.overhead() / megawatts(3), 1e-12);
  EXPECT_NEAR(site->pue.low, 1 + 0.7 * over, 1e-12);
  EXPECT_NEAR(site->pue.middle, 1 + over, 1e-12);
  EXPECT_NEAR(site->pue.high, 1 + 1.3 * over, 1e-12);
  EXPECT_EQ(site->pue.reference, "docs/models/pue.md");
  EXPECT_NEAR(site->site_draw / megawatts(1), 3 * (1 + over), 1e-9);
  EXPECT_EQ(site->wue_l_per_kwh, 0);
  EXPECT_TRUE(site->hours.is_empty());
  const auto full = site_power(one_hall(), {.climate = "cool", .design = megawatts(5)});
  EXPECT_NEAR(part_of(full->breakdown, "pumps"), 5 * 0.015, 1e-9) << "the design, without a mean";
  const auto two =
      site_power(one_hall(), {.redundancy_id = "2n", .design = megawatts(5), .mean = megawatts(3)});
  EXPECT_NEAR(two->chain.stages[0].rated / megawatts(1), 12.5, 1e-9);
  const auto wet = site_power(
      one_hall(),
      {.climate = "hot-humid", .design = megawatts(5), .rejection = HeatRejection::tower});
  EXPECT_GT(wet->wue_l_per_kwh, 1.84);
  EXPECT_EQ(wet->wue_l_per_kwh, wet->breakdown.wue_l_per_kwh);
}

TEST(SitePower, given_pue_or_no_weather) {
  const auto site = site_power(one_hall(), {.climate = "lunar", .design = megawatts(2)});
  ASSERT_TRUE(site);
  EXPECT_FALSE(site->computed);
  EXPECT_TRUE(site->breakdown.parts.empty());
  EXPECT_NEAR(site->pue.middle, 1.29, 1e-12);
  EXPECT_NEAR(site->wue_l_per_kwh, 0.9, 1e-12);
  EXPECT_NEAR(site->site_draw / megawatts(1), 2 * 1.29, 1e-12);
  const auto given =
      site_power(one_hall(), {.climate = "cool", .design = megawatts(2), .pue = 1.37});
  EXPECT_FALSE(given->computed);
  EXPECT_EQ(given->pue.low, 1.37);
  EXPECT_EQ(given->pue.middle, 1.37);
  EXPECT_EQ(given->pue.high, 1.37);
  EXPECT_EQ(given->pue.reference, "design");
  EXPECT_NEAR(given->site_draw / megawatts(1), 2.74, 1e-12);
}

TEST(SitePower, missing_catalog_rows_are_named) {
  const auto none = site_power(one_hall(), {.cooling_id = "ice", .redundancy_id = "9n"});
  ASSERT_FALSE(none);
  ASSERT_EQ(none.error().size(), 2U);
  EXPECT_EQ(none.error()[0].code, "site.cooling");
  EXPECT_THAT(none.error()[0].what, HasSubstr("'ice'"));
  EXPECT_EQ(none.error()[1].code, "site.redundancy");
  EXPECT_THAT(none.error()[1].what, HasSubstr("'9n'"));
  EXPECT_EQ(site_power(one_hall(), {.cooling_id = "ice"}).error().size(), 1U);
}

TEST(SitePower, hourly_data_overrides_the_climate) {
  const catalog::SiteHours warm{.dry_c = {16, 0}};
  const SitePowerRequest asked{
      .climate = "lunar", .design = megawatts(2), .hours = &warm, .grid = grams_per_kwh(90)};
  const auto site = site_power(one_hall(), asked);
  EXPECT_TRUE(site->computed);
  EXPECT_NEAR(site->breakdown.free_cooling, 0.5 * 0.4 + 0.5, 1e-12);
  ASSERT_EQ(site->hours.pue.size(), 2U);
  EXPECT_NEAR(site->hours.pue[0] - site->hours.pue[1], 0.6 / 9.605 * 1.025, 1e-9);
  EXPECT_EQ(site->hours.carbon, (std::vector{grams_per_kwh(90), grams_per_kwh(90)}));

  const catalog::SiteHours said{.carbon = {grams_per_kwh(10), grams_per_kwh(20)},
                                .pue = {1.2, 1.5}};
  SitePowerRequest own = asked;
  own.hours = &said;
  const auto by_file = site_power(one_hall(), own);
  EXPECT_NEAR(by_file->pue.low, 1.35, 1e-12);
  EXPECT_NEAR(by_file->pue.middle, 1.35, 1e-12);
  EXPECT_NEAR(by_file->pue.high, 1.35, 1e-12);
  EXPECT_EQ(by_file->pue.reference, "the site's hours");
  EXPECT_NEAR(by_file->site_draw / megawatts(1), 2.7, 1e-12);
  EXPECT_EQ(by_file->hours.carbon[1], grams_per_kwh(20));

  const catalog::SiteHours carbon{.carbon = {grams_per_kwh(10), grams_per_kwh(20)}};
  own.hours = &carbon;
  const auto known = site_power(one_hall(), own);
  EXPECT_NEAR(known->hours.pue.at(1), 1.29, 1e-12) << "what the site has without hours";
  EXPECT_NEAR(known->pue.middle, 1.29, 1e-12);
}

}  // namespace
}  // namespace orrery::facility
