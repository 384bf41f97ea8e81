// Every part of a PUE by hand for one hour's weather, and what a site makes of it.
#include <gtest/gtest.h>

#include "layers/facility/hours.h"
#include "layers/facility/pue.h"
#include "layers/facility/site_power.h"

namespace orrery::facility {
namespace {

catalog::CoolingMethod method_of(const char* id, double liquid, double supply_c) {
  catalog::CoolingMethod m;
  m.id = id;
  m.liquid_heat_fraction = liquid;
  m.supply_temperature_c = supply_c;
  m.pue_low = 1.11;
  m.pue_high = 1.47;
  m.wue_low_l_per_kwh = 0.3;
  m.wue_high_l_per_kwh = 1.5;
  m.provenance.reference = std::string("cooling_methods/") + id;
  return m;
}

double part_of(const PueBreakdown& b, const char* name) {
  for (const PuePart& p : b.parts) {
    if (p.name == name) return p.power / megawatts(1);
  }
  ADD_FAILURE() << name;
  return -1;
}

PueBreakdown one_hour(const catalog::CoolingMethod& m, double dry_c, double wet_c,
                      HeatRejection rejection = HeatRejection::dry_cooler) {
  const WeatherPoint now{.share = 1, .dry_c = dry_c, .wet_c = wet_c};
  return compute_pue({.it = megawatts(1), .electrical_loss = kilowatts(70), .rejection = rejection},
                     m, std::span(&now, 1));
}

// Air at 24 C from water at 17. At 16 C outside a dry cooler makes 23: six tenths of the loop's
// 10 K are left to the chiller, which lifts from 15 to 30 C: COP 0.5 * 288.15 / 15 = 9.605.
TEST(PueParts, of_air_and_a_dry_cooler) {
  const PueBreakdown b = one_hour(method_of("air-contained", 0, 24), 16, 3);
  const double chiller = 0.6 / 9.605;
  EXPECT_NEAR(part_of(b, "fans"), 0.045, 1e-12);
  EXPECT_NEAR(part_of(b, "pumps"), 0.015, 1e-12);
  EXPECT_NEAR(part_of(b, "CDU"), 0, 1e-12);
  EXPECT_NEAR(part_of(b, "chiller"), chiller, 1e-12);
  EXPECT_NEAR(part_of(b, "heat rejection"), 0.025 * (1 + chiller), 1e-12);
  EXPECT_NEAR(part_of(b, "electrical loss"), 0.07, 1e-12);
  EXPECT_NEAR(part_of(b, "misc"), 0.01, 1e-12);
  EXPECT_NEAR(b.free_cooling, 0.4, 1e-12);
  EXPECT_EQ(b.wue_l_per_kwh, 0);
  EXPECT_NEAR(b.pue, 1 + 0.045 + 0.015 + chiller + 0.025 * (1 + chiller) + 0.07 + 0.01, 1e-12);
}

// Wet bulb 17 C gives water at 21: four tenths to the chiller, from 15 to 28 C, where the COP would
// be 11.08 and is held at 10.
TEST(PueParts, of_air_and_a_tower) {
  const PueBreakdown b =
      one_hour(method_of("air-perimeter-raised", 0, 24), 30, 17, HeatRejection::tower);
  EXPECT_NEAR(part_of(b, "fans"), 0.09, 1e-12);
  EXPECT_NEAR(part_of(b, "chiller"), 0.04, 1e-12);
  EXPECT_NEAR(part_of(b, "heat rejection"), 0.012 * 1.04, 1e-12);
  EXPECT_NEAR(b.free_cooling, 0.6, 1e-12);
  EXPECT_NEAR(b.wue_l_per_kwh, 1.84 * 1.04, 1e-12);
}

// 70 C outside: all by the chiller, whose COP of 2.32 is held at 2.5. At 10 C, and at the very 17 C
// of water that is needed, none of it.
TEST(PueParts, at_the_ends_of_the_weather) {
  const catalog::CoolingMethod air = method_of("air-contained", 0, 24);
  EXPECT_NEAR(part_of(one_hour(air, 63, 3), "chiller"), 0.4, 1e-12);
  EXPECT_NEAR(one_hour(air, 63, 3).free_cooling, 0, 1e-12);
  EXPECT_NEAR(part_of(one_hour(air, 10, 3), "chiller"), 0, 1e-12);
  EXPECT_NEAR(one_hour(air, -40, 3).free_cooling, 1, 1e-12);
}

// Plates take 0.7 of the heat at 40 C: water of 36, and at 34 C outside 41 C are there. Their part:
// half by the chiller, 34 to 48 C, COP 0.5 * 307.15 / 14, held at 10. The air's 0.3 at 18 C: all of
// it, 16 to 48 C, COP 0.5 * 289.15 / 32 = 4.518.
TEST(PueParts, of_plates_beside_air) {
  const PueBreakdown b = one_hour(method_of("direct-to-chip-1p", 0.7, 40), 34, 3);
  const double chiller = 0.7 * 0.5 / 10 + 0.3 / (0.5 * 289.15 / 32);
  EXPECT_NEAR(part_of(b, "fans"), 0.3 * 0.045, 1e-12);
  EXPECT_NEAR(part_of(b, "CDU"), 0.7 * 0.015, 1e-12);
  EXPECT_NEAR(part_of(b, "chiller"), chiller, 1e-12);
  EXPECT_NEAR(part_of(b, "heat rejection"), 0.025 * (1 + chiller), 1e-12);
  EXPECT_NEAR(b.free_cooling, 0.35, 1e-12);
}

// A door's coil is 2 K from its water: 20 C for a supply of 22. At 17 C outside 24 are there: four
// tenths of 0.6 at 18 to 31 C (COP held at 10), six tenths of 0.4 at 16 to 31 C.
TEST(PueParts, of_doors_with_and_without_fans) {
  const PueBreakdown passive = one_hour(method_of("rear-door-passive", 0.6, 22), 17, 3);
  const PueBreakdown active = one_hour(method_of("rear-door-active", 0.6, 22), 17, 3);
  EXPECT_NEAR(part_of(passive, "fans"), 0.4 * 0.045, 1e-12);
  EXPECT_NEAR(part_of(active, "fans"), 0.4 * 0.045 + 0.02, 1e-12);
  EXPECT_NEAR(part_of(passive, "CDU"), 0, 1e-12);
  EXPECT_NEAR(part_of(passive, "chiller"), 0.6 * 0.4 / 10 + 0.4 * 0.6 / (0.5 * 289.15 / 15), 1e-12);
  EXPECT_NEAR(passive.free_cooling, 0.6 * 0.6 + 0.4 * 0.4, 1e-12);
}

// What the caller says of the supply stands before the method's: air where there is no liquid, the
// liquid where there is, and then the hall's air stays at 25 C.
TEST(PueParts, a_supply_that_is_said_is_of_the_liquid_or_of_the_air) {
  const WeatherPoint now{.share = 1, .dry_c = 20, .wet_c = 3};
  const auto free = [&](const catalog::CoolingMethod& m, double supply) {
    return compute_pue({.it = megawatts(1), .supply_c = supply}, m, std::span(&now, 1))
        .free_cooling;
  };
  // 27 C of water are there; 26 - 7 = 19 are wanted.
  EXPECT_NEAR(free(method_of("air-contained", 0, 40), 26), 1 - 0.8, 1e-12);
  // 28 - 4 = 24 and 25 - 7 = 18.
  EXPECT_NEAR(free(method_of("direct-to-chip-1p", 0.8, 50), 28), 0.8 * 0.7 + 0.2 * 0.1, 1e-12);
}

TEST(PueParts, hours_count_by_their_share_and_nothing_draws_nothing) {
  const std::vector<WeatherPoint> two = {{.share = 0.3, .dry_c = 16, .wet_c = 1},
                                         {.share = 0.7, .dry_c = 0, .wet_c = 0}};
  const catalog::CoolingMethod air = method_of("air-contained", 0, 24);
  const PueBreakdown b = compute_pue({.it = megawatts(2)}, air, two);
  EXPECT_NEAR(part_of(b, "chiller"), 2 * 0.3 * 0.6 / 9.605, 1e-12);
  EXPECT_NEAR(b.free_cooling, 0.7 + 0.3 * 0.4, 1e-12);
  EXPECT_NEAR(b.overhead() / megawatts(2), b.pue - 1, 1e-12);
  EXPECT_EQ(compute_pue({.electrical_loss = watts(5)}, air, two).pue, 1);
  EXPECT_EQ(PueBreakdown{}.pue, 1);
  EXPECT_EQ(PueBreakdown{}.free_cooling, 0);
  EXPECT_EQ(PueBreakdown{}.wue_l_per_kwh, 0);
}

TEST(PueTable, is_the_climates_row_or_the_methods_middle) {
  std::vector<catalog::PueByClimate> table(3);
  table[0] = {.climate = "cool", .cooling_id = "other", .p10 = 2, .p50 = 2, .p90 = 2};
  table[1] = {.climate = "hot", .cooling_id = "air", .p10 = 3, .p50 = 3, .p90 = 3};
  table[2] = {.climate = "cool", .cooling_id = "air", .p10 = 1.1, .p50 = 1.2, .p90 = 1.4};
  table[2].provenance.reference = "the row";
  const PueRange row = fallback_pue(table, "cool", method_of("air", 0, 24));
  EXPECT_EQ(row.low, 1.1);
  EXPECT_EQ(row.middle, 1.2);
  EXPECT_EQ(row.high, 1.4);
  EXPECT_EQ(row.reference, "the row");
  const PueRange own = fallback_pue(table, "martian", method_of("air", 0, 24));
  EXPECT_EQ(own.low, 1.11);
  EXPECT_NEAR(own.middle, 1.29, 1e-12);
  EXPECT_EQ(own.high, 1.47);
  EXPECT_EQ(own.reference, "cooling_methods/air");
  EXPECT_EQ(PueRange{}.low + PueRange{}.middle + PueRange{}.high, 3);
}

// Dry and wet bulb at three deviations below, at and above the mean.
TEST(ClimateTable, four_climates_by_their_ends) {
  struct Ends {
    const char* id;
    double dry_low, dry_mean, dry_high, wet_low, wet_mean, wet_high;
  };
  for (const Ends& e : {Ends{"cool", -13, 8, 29, -13, 6, 24},
                        Ends{"temperate", -14.5, 12.5, 39.5, -14.5, 9.5, 33.5},
                        Ends{"hot-dry", -3.5, 25, 53.5, -3.5, 14, 29},
                        Ends{"hot-humid", 20, 27.5, 35, 20, 25, 28.6}}) {
    const auto points = weather_of(climate_of(e.id).value());
    ASSERT_EQ(points.size(), 25U);
    EXPECT_NEAR(points[0].dry_c, e.dry_low, 1e-9) << e.id;
    EXPECT_NEAR(points[12].dry_c, e.dry_mean, 1e-9) << e.id;
    EXPECT_NEAR(points[24].dry_c, e.dry_high, 1e-9) << e.id;
    EXPECT_NEAR(points[0].wet_c, e.wet_low, 1e-9) << e.id;
    EXPECT_NEAR(points[12].wet_c, e.wet_mean, 1e-9) << e.id;
    EXPECT_NEAR(points[24].wet_c, e.wet_high, 1e-9) << e.id;
    // A normal density: a quarter of a deviation apart, e^(-1/32); at three of them, e^(-4.5).
    EXPECT_NEAR(points[13].share / points[12].share, 0.9692332344763441, 1e-9);
    EXPECT_NEAR(points[24].share / points[12].share, 0.011108996538242306, 1e-9);
    double sum = 0;
    for (const WeatherPoint& p : points) sum += p.share;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  EXPECT_FALSE(climate_of("lunar"));
  const Climate none;
  EXPECT_EQ(none.dry_mean_c + none.dry_deviation + none.wet_mean_c + none.wet_deviation, 0);
  EXPECT_EQ(WeatherPoint{}.share + WeatherPoint{}.dry_c + WeatherPoint{}.wet_c, 0);
}

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

// A conductor of 0.96 at half load: its loss is 0.5 (1/0.96 - 1) x^2 / 0.25 of its rating, which is
// 1.25 of the design under the derate of 0.8. 3 MW of 5 are 0.48 of 6.25.
constexpr double kConductorMw = 6.25 * 0.5 * (1 / 0.96 - 1) / 0.25 * 0.48 * 0.48;

TEST(SiteOfPower, is_the_chain_and_the_plant_together) {
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

TEST(SiteOfPower, without_weather_or_with_a_pue_of_its_own) {
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

TEST(SiteOfPower, names_what_the_catalog_lacks) {
  const auto none = site_power(one_hall(), {.cooling_id = "ice", .redundancy_id = "9n"});
  ASSERT_FALSE(none);
  ASSERT_EQ(none.error().size(), 2U);
  EXPECT_EQ(none.error()[0].code, "site.cooling");
  EXPECT_EQ(none.error()[0].what, "no cooling method 'ice' in the catalog");
  EXPECT_EQ(none.error()[1].code, "site.redundancy");
  EXPECT_EQ(none.error()[1].what, "no redundancy scheme '9n' in the catalog");
  EXPECT_EQ(site_power(one_hall(), {.cooling_id = "ice"}).error().size(), 1U);
}

TEST(SiteOfPower, its_hours_stand_before_the_climate) {
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

TEST(HoursOfASite, of_none_and_beyond_their_end) {
  EXPECT_EQ(mean_pue({}), 1);
  EXPECT_EQ(mean_grams({}), GramsPerJoule());
  const Hours two{.pue = {1.1, 1.5}, .carbon = {grams_per_kwh(100), grams_per_kwh(500)}};
  EXPECT_EQ(two.pue_at(3), 1.5);
  EXPECT_NEAR(two.carbon_at(2) / grams_per_kwh(1), 100, 1e-12);
  EXPECT_NEAR(two.grams_at(5) / grams_per_kwh(1), 750, 1e-9);
  const double dry[] = {3, 8, 12, -4};
  const auto weather = weather_of(dry);
  ASSERT_EQ(weather.size(), 4U);
  EXPECT_EQ(weather[2].share, 0.25);
  EXPECT_EQ(weather[3].dry_c, -4);
  EXPECT_EQ(weather[1].wet_c, 8);
  EXPECT_EQ(HoursElse{}.pue, 1);
}

}  // namespace
}  // namespace orrery::facility
