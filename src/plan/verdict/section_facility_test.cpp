#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "model/machine/known_fixture.h"
#include "model/machine/site_load.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/rules.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/section_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

figures::Number site_figure(const figures::Section& s, std::string_view id) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() == id) return number_of(f);
  }
  ADD_FAILURE() << id;
  return {};
}

void expect_range(const figures::Section& s, std::string_view id, double value, double low,
                  double high) {
  const figures::Number f = site_figure(s, id);
  EXPECT_NEAR(f.estimate.value, value, 1e-9 * std::fabs(value)) << id;
  EXPECT_NEAR(f.estimate.low, low, 1e-9 * std::fabs(value)) << id;
  EXPECT_NEAR(f.estimate.high, high, 1e-9 * std::fabs(value)) << id;
}

TEST(SectionFacility, power_racks_and_swing) {
  review::Review r = review::lab_review("superpod-h100");
  review::SiteView& v = r.sites[0];
  review::FleetPower& p = v.fleets[0];
  v.it_nameplate = megawatts(1.4);
  v.fleet_nameplate = megawatts(1.2);
  v.fabric = kilowatts(150);
  v.storage = kilowatts(50);
  v.pue = {1.2, 1.25, 1.4, "ref"};
  v.draw_peak = megawatts(1.75);
  v.budget->nodes = 101;
  v.racks = 32;
  p.phases = {{"a", 0.25, kilowatts(8)}, {"b", 0, kilowatts(2)}};
  p.rack.nodes = 4;
  p.rack.power = kilowatts(40.8);
  p.rack.bound = facility::RackBound::rack_limit;
  p.swing.emplace();
  p.swing->amplitude = kilowatts(300);
  p.swing->hz = 0.5;
  p.swing->in_band = true;
  v.cdu.emplace();
  v.cdu->flow_l_per_min = 2000;
  v.cdu->units_installed = 3;
  v.cdu->water_class = "w17";
  figures::Section s = facility_sections(r).at(0);
  expect_range(s, "it_nameplate", 1.4e6, 1.4e6 * 0.97, 1.4e6 * 1.03);
  ASSERT_EQ(site_figure(s, "node_mean_train").inputs.size(), 1U) << "phases that take time";
  // Half of 0.2 over 1.25: 8 %.
  expect_range(s, "draw_nameplate", 1.75e6, 1.61e6, 1.89e6);
  const Estimate& fit = site_figure(s, "nodes_that_fit").estimate;
  EXPECT_EQ(fit.value, 101);
  EXPECT_EQ(fit.low, 92) << "92.92 in whole nodes";
  EXPECT_EQ(fit.high, 109);
  expect_range(s, "racks", 32, 32, 32);
  expect_range(s, "rack_power_train", 40800, 40800, 40800);
  EXPECT_EQ(site_figure(s, "rack_power_train").estimate.basis, Basis::vendor);
  expect_range(s, "swing_train", 3e5, 2.1e5, 3.9e5);
  expect_range(s, "coolant_flow", 2000, 1660, 2660);
  EXPECT_NE(s.limit, "");
  p.swing->in_band = false;
  v.cdu->water_class = "";
  s = facility_sections(r).at(0);
  p.swing->hz = 1e-4;
  s = facility_sections(r).at(0);
  v.hours.pue = {1.1, 1.2};
  v.hours.carbon = {grams_per_kwh(1), grams_per_kwh(2)};
  s = facility_sections(r).at(0);
  v.fleets.clear();
  EXPECT_TRUE(facility_sections(r).empty());
}

TEST(SectionFacility, power_units_plant_and_outages) {
  design::Design d = review::lab_design("superpod-h100");
  d.fleet[0].pdu_rating = kilowatts(100);
  d.sites[0].outage_mtbf = years(0.5);
  d.sites[0].outage = minutes(30);
  d.sites[0].battery = minutes(5);
  d.sites[0].cooling_unit = megawatts(1);
  d.sites[0].cooling_spares = 1;
  d.sites[0].cooling_unit_mtbf = hours(800);
  d.sites[0].cooling_design = 35;
  review::Review r = review::run_stages(std::move(d), machine::known());
  review::SiteView& v = r.sites[0];
  v.it_nameplate = megawatts(1.4);
  v.it_mean = megawatts(0.7);
  catalog::SiteHours weather;
  weather.dry_c = {20, 45};
  v.weather = &weather;
  const figures::Section s = facility_sections(r).at(0);
  expect_range(s, "pdu_load_train", 0.408, 0.408, 0.408);
  // Two outages per year of half an hour, less ten minutes of battery at half load.
  const double dark = 2 * 1800 * std::exp(-600.0 / 1800);
  expect_range(s, "dark_year", dark, dark * 0.5, dark * 2);
  expect_range(s, "cooling_units", 3, 3, 3);
  // Three units with repairs of 8 of 800 hours: a mean of 0.03; more than one out.
  const double out = 1 - std::exp(-0.03) * 1.03;
  EXPECT_NEAR(site_figure(s, "cooling_short").estimate.value, out, 1e-9);
  EXPECT_NEAR(site_figure(s, "cooling_hottest").estimate.value, 0.5, 1e-12);
  // One of two carries 0.7 MW of 1.4; the coolant holds 0.7 L per kW at 3.947 kJ.
  EXPECT_NEAR(site_figure(s, "throttle_after").estimate.value,
              0.7 * 1400 * 60e3 / 15.2 * 10 / 0.7e6, 1e-6);
}

std::vector<figures::Section> hall_with(void (*change)(design::Design&)) {
  design::Design d = review::lab_design("superpod-h100");
  change(d);
  return facility_sections(review::run_stages(std::move(d), machine::known()));
}

// A cooling plant is shown if the design gives any of its fields.
TEST(SectionFacility, any_field_of_a_plant_shows_it) {
  const auto got = [](void (*change)(design::Design&)) {
    return !hand_figure(hall_with(change), "cooling_units").id.empty();
  };
  EXPECT_FALSE(got([](design::Design&) {}));
  EXPECT_TRUE(got([](design::Design& d) { d.sites[0].cooling_unit = kilowatts(500); }));
  EXPECT_TRUE(got([](design::Design& d) { d.sites[0].cooling_spares = 2; }));
  EXPECT_TRUE(got([](design::Design& d) { d.sites[0].cooling_unit_mtbf = hours(900); }));
  EXPECT_TRUE(got([](design::Design& d) { d.sites[0].cooling_design = 35; }));
  const auto spares = hall_with([](design::Design& d) { d.sites[0].cooling_spares = 2; });
  EXPECT_EQ(hand_figure(spares, "cooling_short").id, "") << "without an MTBF of the units";
  EXPECT_EQ(hand_figure(spares, "cooling_hottest").id, "") << "nor how hot it gets";
  EXPECT_EQ(hand_figure(spares, "dark_year").id, "");
}

TEST(SectionFacility, outages_are_given_or_assumed) {
  const auto dark = [](void (*change)(design::Design&)) {
    return hand_figure(hall_with(change), "dark_year");
  };
  const figures::Number given = dark([](design::Design& d) {
    d.sites[0].outage_mtbf = days(50);
    d.sites[0].outage = minutes(20);
    d.sites[0].generator = minutes(2);
  });
  expect_ends(given, 0.5, 1);
  const figures::Number assumed =
      dark([](design::Design& d) { d.sites[0].outage_mtbf = days(50); });
  EXPECT_NEAR(assumed.estimate.value, 7.3 * machine::kOutageLength.base(), 1e-6);
}

TEST(SectionFacility, load_of_a_power_unit_with_two_racks) {
  const auto all = hall_with([](design::Design& d) {
    d.fleet[0].pdu_rating = kilowatts(100);
    d.fleet[0].failures.racks_per_pdu = 2;
  });
  const figures::Number load = hand_figure(all, "pdu_load_train");
  EXPECT_NEAR(load.estimate.value, 0.816, 1e-12);
  EXPECT_EQ(load.estimate.basis, Basis::vendor);
  const auto own = hall_with([](design::Design& d) {
    d.fleet[0].custom.emplace();
    d.fleet[0].custom->max_power = kilowatts(9);
    d.fleet[0].pdu_rating = kilowatts(100);
  });
  EXPECT_EQ(hand_figure(own, "pdu_load_train").estimate.basis, Basis::given);
  EXPECT_EQ(hand_figure(own, "rack_power_train").estimate.basis, Basis::given);
  const auto other = hall_with([](design::Design& d) { d.fleet[0].custom.emplace(); });
  EXPECT_EQ(hand_figure(other, "rack_power_train").estimate.basis, Basis::vendor);
}

TEST(SectionFacility, without_a_contract_the_rack_is_the_limit) {
  review::Review r = review::run_stages(
      [] {
        design::Design d = review::lab_design("superpod-h100");
        d.sites[0].power.reset();
        return d;
      }(),
      machine::known());
  const auto all = facility_sections(r);
  EXPECT_EQ(hand_figure(all, "nodes_that_fit").id, "");
  const figures::Number pue = hand_figure(all, "pue");
  EXPECT_EQ(pue.inputs.size(), r.sites[0].breakdown->parts.size());
  r.sites[0].breakdown.reset();
  r.sites[0].region = nullptr;
  EXPECT_EQ(hand_figure(facility_sections(r), "carbon_year").id, "");
  r.sites[0].schedule.emplace();
  r.sites[0].schedule->critical = {"permit", "hall", "racks"};
  r.sites[0].schedule->typical = days(300);
  const figures::Number ready = hand_figure(facility_sections(r), "ready_in");
  EXPECT_EQ(ready.estimate.value, days(300).base());
  r.sites[0].schedule.reset();
  EXPECT_EQ(hand_figure(facility_sections(r), "ready_in").id, "");
}

// Two outages per year of half an hour on average, and no backup power.
TEST(SectionFacility, site_without_backup_is_dark_for_all_outages) {
  review::Pod pod;
  pod.site = "region: usa, outage_mtbf: 0.5 y, outage: 30 min";
  EXPECT_NEAR(figure_of(pod.review(), figures::Layer::facility, "dark_year").value, 3600, 1e-6);
}

}  // namespace
}  // namespace orrery::verdict
