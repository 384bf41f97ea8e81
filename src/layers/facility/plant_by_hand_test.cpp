// Coolant, the loop's warming, racks, backup power and clean hours, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layers/facility/cdu.h"
#include "layers/facility/clean_hours.h"
#include "layers/facility/cooling_loop.h"
#include "layers/facility/rack.h"
#include "layers/facility/ride_through.h"

namespace orrery::facility {
namespace {

// 2.3 MW of plates at 1.6 L/min a kW, in units of 0.8 MW.
TEST(CduByHand, every_field_of_a_plan) {
  const std::vector<catalog::AshraeClass> classes = {
      {.id = "w17", .kind = "facility water", .high_c = 17},
      {.id = "w27", .kind = "facility water", .high_c = 27},
      {.id = "a1", .kind = "air", .high_c = 20},
      {.id = "w32", .kind = "facility water", .high_c = 32}};
  const CduPlan plan = plan_cdu({.heat = megawatts(2.3),
                                 .flow_l_per_min_per_kw = 1.6,
                                 .coolant = Coolant::water,
                                 .supply_c = 30,
                                 .approach = kelvins(3),
                                 .unit_capacity = megawatts(0.8),
                                 .spare_units = 2,
                                 .parasitic = 0.017,
                                 .loop_l_per_kw = 0.9,
                                 .margin = kelvins(8)},
                                classes);
  EXPECT_NEAR(plan.flow_l_per_min, 3680, 1e-9);
  EXPECT_NEAR(plan.rise.base(), 14.3 / 1.6, 1e-9);
  EXPECT_EQ(plan.units, 3);
  EXPECT_EQ(plan.units_installed, 5);
  EXPECT_NEAR(plan.power / kilowatts(1), 39.1, 1e-9);
  EXPECT_NEAR(plan.facility_water_c, 27, 1e-12);
  EXPECT_EQ(plan.water_class, "w27") << "27 C and no warmer";
  EXPECT_NEAR(plan.ride_through.base(), 0.9 * 60 / 14.3 * 8, 1e-9);
  EXPECT_TRUE(plan.flow_in_range);
}

// 1.5 L/min a kW of PG25 at 32 C, 4 K from the water, one spare of 1 MW, 1.5 % of parasitics,
// 0.7 L a kW and 10 K of margin.
TEST(CduByHand, what_is_not_said_is_assumed) {
  const CduPlan plan = plan_cdu({.heat = megawatts(2)}, {});
  EXPECT_NEAR(plan.flow_l_per_min, 3000, 1e-9);
  EXPECT_NEAR(plan.rise.base(), 15.2 / 1.5, 1e-9);
  EXPECT_NEAR(plan.facility_water_c, 28, 1e-12);
  EXPECT_EQ(plan.units, 2) << "two megawatts are two units";
  EXPECT_EQ(plan.units_installed, 3);
  EXPECT_NEAR(plan.power / kilowatts(1), 30, 1e-9);
  EXPECT_NEAR(plan.ride_through.base(), 0.7 * 60 / 15.2 * 10, 1e-9);
  EXPECT_EQ(plan.water_class, "");
}

TEST(CduByHand, no_heat_needs_no_flow) {
  const CduPlan none = plan_cdu({}, {});
  EXPECT_EQ(none.flow_l_per_min, 0);
  EXPECT_EQ(none.rise, Kelvins());
  EXPECT_EQ(none.units_installed, 0);
  EXPECT_EQ(none.ride_through, Seconds());
  EXPECT_NEAR(none.facility_water_c, 28, 1e-12);
  const CduPlan bare;
  EXPECT_EQ(bare.flow_l_per_min + bare.facility_water_c + bare.units + bare.units_installed, 0);
  EXPECT_TRUE(bare.flow_in_range);
}

TEST(CduByHand, the_guidelines_range_has_its_ends) {
  const auto in_range = [](double flow) {
    return plan_cdu({.flow_l_per_min_per_kw = flow}, {}).flow_in_range;
  };
  EXPECT_FALSE(in_range(1.24));
  EXPECT_TRUE(in_range(1.25));
  EXPECT_TRUE(in_range(1.3));
  EXPECT_TRUE(in_range(2.0));
  EXPECT_FALSE(in_range(2.05));
}

// 3.5 MW in units of 1 MW: four of 0.875.
CoolingPlant four_and_two() {
  return {.heat = megawatts(3.5),
          .unit = megawatts(1),
          .spares = 2,
          .litres_per_kw = 0.8,
          .design_c = 35};
}

TEST(LoopByHand, what_a_plant_carries) {
  const CoolingPlant p = four_and_two();
  EXPECT_EQ(p.needed(), 4);
  EXPECT_EQ(p.installed(), 6);
  EXPECT_NEAR(p.carries(1, 20) / megawatts(1), 0.875 * 5, 1e-9);
  EXPECT_NEAR(p.carries(3, 40) / megawatts(1), 0.875 * 3 * 0.75, 1e-9);
  EXPECT_EQ(p.carries(6, 20), Watts());
  EXPECT_EQ(p.carries(7, 20), Watts());
  const double per_kelvin = 0.8 * 3500 * 60e3 / 15.2;
  EXPECT_NEAR(p.joules_per_kelvin(), per_kelvin, 1e-3);
  // Three units of six out of service carry 2.625 MW.
  EXPECT_NEAR(p.throttles_after(3, megawatts(3)).base(), per_kelvin * 10 / 0.375e6, 1e-6);
  EXPECT_TRUE(std::isinf(p.throttles_after(3, megawatts(2.625)).base()));
  EXPECT_TRUE(std::isinf(p.throttles_after(3, megawatts(2)).base()));
  EXPECT_EQ(CoolingPlant{.heat = megawatts(3)}.needed(), 3);
  EXPECT_EQ(CoolingPlant{.heat = megawatts(3)}.installed(), 4);
  EXPECT_EQ(CoolingPlant{}.needed(), 1) << "one at the least";
  EXPECT_NEAR(CoolingPlant{.heat = kilowatts(10)}.joules_per_kelvin(), 7 * 60e3 / 15.2, 1e-6);
}

TEST(LoopByHand, the_weather_takes_its_share) {
  EXPECT_EQ(weather_share(35, 35), 1);
  EXPECT_NEAR(weather_share(35, 36), 0.95, 1e-12);
  EXPECT_NEAR(weather_share(35, 54), 0.05, 1e-12);
  EXPECT_EQ(weather_share(35, 55), 0);
  EXPECT_EQ(weather_share(35, 70), 0);
  EXPECT_EQ(weather_share(55, 60), 1) << "no weather was given";
  EXPECT_EQ(weather_share(60, 65), 1);
}

// One kelvin takes 1 MJ here: 0.1 MW over is a tenth of a kelvin a second.
TEST(LoopByHand, warms_and_cools_by_the_difference) {
  CoolingPlant plant{.heat = kilowatts(1000)};
  plant.litres_per_kw = 1e6 / (1000 * 60e3 / 15.2);
  CoolingLoop loop(plant);
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(50)).base()));
  loop.set(seconds(100), kilowatts(1000), kilowatts(900));
  EXPECT_NEAR(loop.warmer_k(seconds(130)), 3, 1e-9);
  EXPECT_NEAR(loop.next_turn(seconds(130)).base(), 70, 1e-6);
  loop.set(seconds(140), kilowatts(1000), kilowatts(800));
  EXPECT_NEAR(loop.warmer_k(seconds(140)), 4, 1e-9);
  EXPECT_NEAR(loop.warmest_k(), 4, 1e-9);
  EXPECT_NEAR(loop.next_turn(seconds(140)).base(), 30, 1e-6);
  loop.set(seconds(150), kilowatts(700), kilowatts(800));
  EXPECT_NEAR(loop.warmer_k(seconds(170)), 4, 1e-9);
  EXPECT_NEAR(loop.next_turn(seconds(170)).base(), 40, 1e-6);
  EXPECT_NEAR(loop.warmest_k(), 6, 1e-9);
  EXPECT_EQ(loop.warmer_k(seconds(500)), 0);
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(500)).base())) << "it stays at its set point";
  loop.set(seconds(500), kilowatts(900), kilowatts(800));
  EXPECT_FALSE(loop.is_hot(seconds(599)));
  EXPECT_TRUE(loop.is_hot(seconds(600)));
  EXPECT_EQ(loop.warmer_k(seconds(900)), 10);
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(900)).base())) << "the throttle holds it";
  loop.set(seconds(900), kilowatts(800), kilowatts(800));
  EXPECT_TRUE(std::isinf(loop.next_turn(seconds(900)).base()));
  EXPECT_EQ(loop.warmest_k(), 10);
  CoolingLoop dry{CoolingPlant{}};
  dry.set(Seconds(), kilowatts(5), Watts());
  EXPECT_EQ(dry.warmer_k(seconds(1000)), 0) << "a loop without coolant has no temperature";
}

catalog::CoolingMethod carrying(const char* id, double kw, double liquid, double usd_kw = 1) {
  catalog::CoolingMethod m;
  m.id = id;
  m.rack_practical_max = kilowatts(kw);
  m.liquid_heat_fraction = liquid;
  m.capex_per_kw = {usd(usd_kw), usd(usd_kw * 2)};
  return m;
}

TEST(RackByHand, a_node_that_is_a_rack_may_pass_the_method_by_a_twentieth) {
  const auto bound = [](double kw, double limit_kw) {
    return fit_rack(
               {.node_power = kilowatts(kw), .node_units = 48, .rack_limit = kilowatts(limit_kw)},
               carrying("m", 100, 0.5))
        .bound;
  };
  EXPECT_EQ(bound(104.9, 0), RackBound::whole_rack);
  EXPECT_EQ(bound(105.1, 0), RackBound::none_fits);
  EXPECT_EQ(bound(104.9, 200), RackBound::whole_rack);
  EXPECT_EQ(bound(100.1, 100), RackBound::none_fits) << "the site's own limit has no margin";
  EXPECT_EQ(bound(100, 100), RackBound::whole_rack);
  const auto space = [](double units) {
    return fit_rack({.node_power = kilowatts(1), .node_units = units}, carrying("m", 100, 0.5));
  };
  EXPECT_EQ(space(42).bound, RackBound::space);
  EXPECT_EQ(space(42).nodes, 1);
  EXPECT_EQ(space(43).bound, RackBound::whole_rack);
  EXPECT_EQ(space(14).nodes, 3);
  EXPECT_EQ(space(0).nodes, 100) << "units that are not known are not counted";
}

TEST(RackByHand, heat_to_liquid_and_to_air) {
  const RackFit fit = fit_rack({.node_power = kilowatts(9)}, carrying("m", 40, 0.6));
  EXPECT_EQ(fit.nodes, 4);
  EXPECT_NEAR(fit.limit / kilowatts(1), 40, 1e-9);
  EXPECT_NEAR(fit.power / kilowatts(1), 36, 1e-9);
  EXPECT_NEAR(fit.liquid_heat / kilowatts(1), 21.6, 1e-9);
  EXPECT_NEAR(fit.air_heat / kilowatts(1), 14.4, 1e-9);
  EXPECT_TRUE(fit.air_heat_is_a_legacy_rack);
  const auto legacy = [](double kw, double liquid) {
    return fit_rack({.node_power = kilowatts(kw)}, carrying("m", kw, liquid))
        .air_heat_is_a_legacy_rack;
  };
  EXPECT_FALSE(legacy(24, 0.5)) << "12 kW and no more";
  EXPECT_TRUE(legacy(24.1, 0.5));
  EXPECT_FALSE(legacy(30, 0)) << "all of it is air";
  const RackFit none = fit_rack({.rack_limit = kilowatts(7)}, carrying("m", 40, 0.6));
  EXPECT_EQ(none.nodes, 0);
  EXPECT_EQ(none.bound, RackBound::none_fits);
  EXPECT_NEAR(none.limit / kilowatts(1), 7, 1e-9);
  EXPECT_FALSE(RackFit{}.air_heat_is_a_legacy_rack);
}

TEST(RackByHand, racks_for_a_fleet) {
  const RackFit three{.nodes = 3};
  EXPECT_EQ(racks_needed(7, three), 3);
  EXPECT_EQ(racks_needed(6, three), 2);
  EXPECT_EQ(racks_needed(1, three), 1);
  EXPECT_EQ(racks_needed(0, three), 0);
  EXPECT_EQ(racks_needed(-4, three), 0);
  EXPECT_EQ(racks_needed(5, RackFit{}), 0);
}

TEST(RackByHand, the_cheapest_method_that_carries_it) {
  const std::vector<catalog::CoolingMethod> all = {
      carrying("dear", 50, 0, 9), carrying("weak", 20, 0, 1), carrying("fair", 40, 0, 5),
      carrying("same", 45, 0, 5)};
  const auto ids = [&](double kw) {
    std::string text;
    for (const auto* m : methods_that_carry(kilowatts(kw), all)) text += m->id + " ";
    return text;
  };
  EXPECT_EQ(ids(20), "weak fair same dear ");
  EXPECT_EQ(ids(20.1), "fair same dear ");
  EXPECT_EQ(ids(50), "dear ");
  EXPECT_EQ(ids(50.1), "");
  EXPECT_EQ(method_needed(kilowatts(30), all), &all[2]);
  EXPECT_EQ(method_needed(kilowatts(60), all), nullptr);
  EXPECT_TRUE(suits("", "direct-to-chip-1p"));
  EXPECT_TRUE(suits("", "air-contained"));
  EXPECT_TRUE(suits("direct-to-chip", "immersion-2p"));
  EXPECT_TRUE(wants_air("air, front to back"));
  EXPECT_FALSE(wants_air("direct-to-chip + air"));
}

TEST(RackByHand, what_binds_by_name) {
  EXPECT_STREQ(to_text(RackBound::none_fits), "no node fits");
  EXPECT_STREQ(to_text(RackBound::rack_limit), "rack power limit");
  EXPECT_STREQ(to_text(RackBound::cooling), "cooling method");
  EXPECT_STREQ(to_text(RackBound::space), "rack units");
  EXPECT_STREQ(to_text(RackBound::whole_rack), "the node is a rack");
}

TEST(BackupByHand, a_battery_lasts_longer_at_less_load) {
  const BackupPower battery{.battery = minutes(5)};
  const auto dark_from = [&](double load) {
    return live_through(battery, hours(10), load).dark_from / minutes(1);
  };
  EXPECT_NEAR(dark_from(0.8), 6.25, 1e-9);
  EXPECT_NEAR(dark_from(1.7), 5, 1e-9);
  EXPECT_NEAR(dark_from(0.05), 100, 1e-9);
  EXPECT_NEAR(dark_from(0.01), 100, 1e-9) << "no less than a twentieth";
  const Outage o = live_through({.battery = seconds(10), .generator = seconds(40)}, hours(1), 1);
  EXPECT_EQ(o.dark_from, seconds(10));
  EXPECT_EQ(o.dark_to, seconds(40));
  EXPECT_EQ(o.cooled_from, seconds(40));
  EXPECT_TRUE(o.takes_hosts());
}

// n d (e^(-ride/d) - e^(-end/d)), d half an hour.
TEST(BackupByHand, the_dark_time_of_a_year) {
  const auto dark = [](const BackupPower& b, Seconds until = kWhole) {
    return dark_a_year(b, 3, minutes(30), 0.5, until) / minutes(1);
  };
  const auto beyond = [](double t) { return 90 * std::exp(-t / 30); };
  EXPECT_NEAR(dark({}), 90, 1e-9);
  EXPECT_NEAR(dark({.battery = minutes(4)}), beyond(8), 1e-9);
  EXPECT_NEAR(dark({.generator = minutes(20)}), beyond(0) - beyond(20), 1e-9);
  EXPECT_NEAR(dark({.battery = minutes(4), .generator = minutes(20)}), beyond(8) - beyond(20),
              1e-9);
  EXPECT_EQ(dark({.battery = minutes(4), .generator = minutes(8)}), 0);
  EXPECT_EQ(dark({.battery = minutes(4), .generator = minutes(5)}), 0);
  EXPECT_NEAR(dark({.battery = minutes(4)}, minutes(7)), beyond(8) - beyond(15), 1e-9);
  EXPECT_NEAR(dark({.battery = minutes(4), .generator = minutes(12)}, minutes(7)),
              beyond(8) - beyond(12), 1e-9);
  // Outages of centuries have no end that counts.
  EXPECT_NEAR(dark_a_year({}, 1, years(500), 1) / years(1), 500, 1e-9);
}

// Three hours of 100, 250 and 700 g/kWh, again and again.
HourCurve three_hours() {
  const std::vector<GramsPerJoule> by_hour = {grams_per_kwh(100), grams_per_kwh(250),
                                              grams_per_kwh(700)};
  return HourCurve(by_hour);
}

TEST(CleanByHand, means_of_three_hours) {
  const HourCurve grid = three_hours();
  const auto mean = [&](double from, double span) {
    return grid.mean(hours(from), hours(span)) / grams_per_kwh(1);
  };
  EXPECT_NEAR(grid.period() / hours(1), 3, 1e-12);
  EXPECT_NEAR(grid.mean() / grams_per_kwh(1), 350, 1e-9);
  EXPECT_NEAR(mean(2, 1), 700, 1e-9);
  EXPECT_NEAR(mean(2.5, 1), 400, 1e-9);
  EXPECT_NEAR(mean(1.5, 1), 475, 1e-9);
  EXPECT_NEAR(mean(0.25, 0.5), 100, 1e-9);
  EXPECT_NEAR(mean(7, 2), 475, 1e-9);
  EXPECT_NEAR(mean(4.5, 0), 250, 1e-6) << "of no time, what the hour has";
  EXPECT_FALSE(grid.is_empty());
}

TEST(CleanByHand, starts) {
  const HourCurve grid = three_hours();
  const auto start = [&](double now, double takes, CleanRule rule) {
    return clean_start(grid, rule, hours(now), hours(takes)) / hours(1);
  };
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(100), .wait = hours(2)}), 3, 1e-12);
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(100), .wait = hours(1.5)}), 3, 1e-12);
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(100), .wait = hours(1.49)}), 1.5, 1e-12);
  EXPECT_NEAR(start(1.5, 1, {.below = grams_per_kwh(99), .wait = hours(90)}), 1.5, 1e-12);
  EXPECT_NEAR(start(1.75, 1, {.wait = hours(3)}), 3, 1e-12) << "the mean of all is 350";
  EXPECT_NEAR(start(1.5, 0.5, {.wait = hours(3)}), 1.5, 1e-12);
  const std::vector<GramsPerJoule> half_clean = {grams_per_kwh(5), GramsPerJoule()};
  EXPECT_EQ(clean_start(HourCurve(half_clean), {.below = GramsPerJoule(), .wait = hours(2)},
                        Seconds(), hours(1)),
            hours(1))
      << "at the bound is clean enough";
  EXPECT_EQ(clean_start(HourCurve({}), {.wait = hours(2)}, hours(5), hours(1)), hours(5));
}

// Every seven hours of a day whose first nine are dirty (8) and the rest clean (2): it comes at 0,
// 7, 14 and 21; of the first two one waits nine hours and one two.
TEST(CleanByHand, what_a_rule_does_in_the_mean) {
  std::vector<GramsPerJoule> day(24, grams_per_kwh(2));
  for (std::size_t h = 0; h < 9; ++h) day[h] = grams_per_kwh(8);
  const HourCurve grid(day);
  const CleanRule rule{.below = grams_per_kwh(3), .wait = hours(10)};
  const CleanEffect e = effect_of(grid, rule, hours(7), {hours(1), hours(4)});
  EXPECT_NEAR(e.held / hours(1), 11 / 4.0, 1e-9);
  EXPECT_NEAR(e.with / grams_per_kwh(1), (2 + 2 + 2 + (3 * 2 + 8) / 4.0) / 4, 1e-9);
  EXPECT_NEAR(e.without / grams_per_kwh(1), (8 + (2 * 8 + 2 * 2) / 4.0 + 2 + 3.5) / 4, 1e-9);
  EXPECT_NEAR(e.ratio(), (6 + 3.5) / (8 + 5 + 2 + 3.5), 1e-9);
  const CleanEffect daily = effect_of(grid, rule, hours(24), {hours(1), hours(1)});
  EXPECT_NEAR(daily.held / hours(1), 9, 1e-9);
  EXPECT_NEAR(effect_of(grid, rule, hours(90), {hours(1), hours(1)}).held / hours(1), 9, 1e-9);
  EXPECT_EQ(effect_of(HourCurve({}), rule, hours(1), {}).ratio(), 1);
  EXPECT_EQ(effect_of(HourCurve({}), rule, hours(1), {}).held, Seconds());
}

// More often than a thousandth of the file: 1,009 times of coming, as far apart as the file allows.
TEST(CleanByHand, often_is_looked_at_a_thousand_times) {
  std::vector<GramsPerJoule> day(24, grams_per_kwh(2));
  for (std::size_t h = 0; h < 9; ++h) day[h] = grams_per_kwh(8);
  const CleanRule rule{.below = grams_per_kwh(3), .wait = hours(10)};
  const CleanEffect e = effect_of(HourCurve(day), rule, seconds(1), {Seconds(), Seconds()});
  double held = 0;
  for (int i = 0; i < 1009; ++i) held += std::max(0.0, 9 - 24.0 * i / 1009);
  EXPECT_NEAR(e.held / hours(1), held / 1009, 1e-4);
}

}  // namespace
}  // namespace orrery::facility
