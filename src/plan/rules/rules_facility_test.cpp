#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/hall_fixture.h"

namespace orrery::rules {
namespace {

TEST(RulesFacility, rack_above_the_sites_limit) {
  Hall h;
  h.fleet().rack.power = kilowatts(46);
  h.fleet().rack.limit = kilowatts(44);
  expect_finding(h.review, only_finding(h.review, "facility.rack-above-cooling"), "site.rack",
                 "fleet[0].nodes_per_rack = 4");
  h.fleet().rack.power = kilowatts(44);
  EXPECT_TRUE(findings_by(h.review, "facility.rack-above-cooling").empty());
}

// 71 kW with active doors, which reach 70: no method for air-cooled nodes carries it except a tank.
TEST(RulesFacility, rack_above_its_cooling) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].rack.reset(); });
  h.fleet().rack.power = kilowatts(71);
  h.fleet().rack.limit = kilowatts(70);
  expect_finding(h.review, only_finding(h.review, "facility.rack-above-cooling"), "site.cooling",
                 "site.cooling = immersion-1p");
  h.fleet().rack.power = kilowatts(70);
  EXPECT_TRUE(findings_by(h.review, "facility.rack-above-cooling").empty());
  h.fleet().rack.power = kilowatts(300);
  const Finding none = only_finding(h.review, "facility.rack-above-cooling");
  EXPECT_EQ(none.edit->path + " = " + none.edit->value, "fleet[0].nodes_per_rack = 6");
}

// A rack exactly at what its cooling reaches is only limited by the site.
TEST(RulesFacility, rack_at_exactly_what_its_cooling_reaches) {
  review::Review r = review::lab_review("superpod-h100");
  r.sites[0].fleets[0].rack.power = kilowatts(70);
  r.sites[0].fleets[0].rack.limit = kilowatts(44);
  r.sites[0].fleets[0].rack.power = kilowatts(70.1);
}

TEST(RulesFacility, node_that_fits_no_rack) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].rack = kilowatts(9); });
  h.fleet().rack.nodes = 0;
  h.fleet().rack.power = Watts();
  expect_finding(h.review, only_finding(h.review, "facility.rack-above-cooling"), "site.cooling",
                 "site.rack = 11 kW");
}

TEST(RulesFacility, nodes_built_for_another_cooling) {
  const Hall h = hall_of([](design::Design& d) { d.sites[0].cooling = "direct-to-chip-1p"; });
  expect_finding(h.review, only_finding(h.review, "facility.node-cooling"), "site.cooling",
                 "site.cooling = rear-door-active");
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "facility.node-cooling").empty());
  design::Design d = review::lab_design("superpod-gb200");
  d.sites[0].cooling = "air-contained";
  const review::Review plates = review::run_stages(d, machine::known());
  const Finding f = only_finding(plates, "facility.node-cooling");
  ASSERT_TRUE(f.edit);
  EXPECT_EQ(f.edit->value, "direct-to-chip-1p");
}

// 2 MW for 2.5: a node may draw 8.16 of its 10.2 kW, so that its 5.6 kW of accelerators are capped
// at (8.16 - 4.6) / 5.6 = 0.6357 of 700 W (445 W, and no more), which leaves 1 - 0.9 * 0.3643^1.6 =
// 0.8212 of the speed.
TEST(RulesFacility, more_power_than_the_site_has) {
  Hall h;
  h.view().draw_peak = megawatts(2.5);
  h.view().it_nameplate = megawatts(2);
  h.view().pue.middle = 1.25;
  h.view().budget->nodes = 100;
  expect_finding(h.review, only_finding(h.review, "facility.power-above-site"), "site.power",
                 "site.power = 2.5 MW");
  h.view().draw_peak = megawatts(2);
  EXPECT_TRUE(findings_by(h.review, "facility.power-above-site").empty());
  // 2 of 3.2 MW: 6.375 kW a node, a cap of 0.317 is too low to offer.
  h.view().draw_peak = megawatts(3.2);
  h.view().budget.reset();
}

TEST(RulesFacility, spares_count_among_the_nodes_that_draw) {
  Hall h = hall_of([](design::Design& d) { d.fleet[0].spares = 3; });
  h.view().draw_peak = megawatts(2.5);
  EXPECT_EQ(numbers_in(only_finding(h.review, "facility.power-above-site").what).back(), "130");
  // 130 fit with the spares: 127 remain, which is what the workloads ask for.
  h.view().budget->nodes = 130;
  EXPECT_EQ(edit_power(h.review, h.view()).path, "fleet[0].count");
  EXPECT_EQ(edit_power(h.review, h.view()).value, "127");
  h.view().budget->nodes = 129;
  EXPECT_EQ(edit_power(h.review, h.view()).path, "site.power");
}

TEST(RulesFacility, more_racks_than_positions) {
  Hall h = hall_of([](design::Design& d) {
    d.sites[0].racks = 20;
    d.fleet[0].nodes_per_rack = 2;
  });
  EXPECT_EQ(h.view().racks, 64);
  expect_finding(h.review, only_finding(h.review, "facility.rack-positions"), "site.racks",
                 "site.racks = 64");
  h.view().racks = 20;
  EXPECT_TRUE(findings_by(h.review, "facility.rack-positions").empty());
}

TEST(RulesFacility, heat_left_to_the_room) {
  Hall h;
  h.fleet().rack.air_heat_is_a_legacy_rack = true;
  h.fleet().rack.air_heat = kilowatts(14.5);
  expect_finding(h.review, only_finding(h.review, "facility.residual-air"), "site.cooling");
  h.fleet().rack.air_heat_is_a_legacy_rack = false;
  EXPECT_TRUE(findings_by(h.review, "facility.residual-air").empty());
}

// Two racks of 40.8 kW are 81.6; a unit of 100 kW carries 80 for long, one of 102 just 81.6.
TEST(RulesFacility, power_unit_too_small_for_its_racks) {
  const auto with_unit = [](double kw, std::optional<int> racks) {
    design::Design d = review::lab_design("superpod-h100");
    d.fleet[0].pdu_rating = kilowatts(kw);
    d.fleet[0].failures.racks_per_pdu = racks;
    return review::run_stages(std::move(d), machine::known());
  };
  const review::Review two = with_unit(100, 2);
  expect_finding(two, only_finding(two, "facility.pdu-rating"), "fleet[0].pdu_rating",
                 "fleet[0].pdu_rating = 110 kW");
  const review::Review one = with_unit(50, std::nullopt);
  EXPECT_THAT(numbers_in(only_finding(one, "facility.pdu-rating").what),
              testing::ElementsAre("1", "40.8", "50", "40"));
  EXPECT_TRUE(findings_by(with_unit(51.1, 1), "facility.pdu-rating").empty());
  EXPECT_TRUE(findings_by(with_unit(102.1, 2), "facility.pdu-rating").empty());
  Hall none{with_unit(50, std::nullopt)};
  none.fleet().rack.nodes = 0;
  EXPECT_TRUE(findings_by(none.review, "facility.pdu-rating").empty());
}

// Sized for 35 C, the plant has half of its rating at 45 C (55 C is the hot side): 2 MW in two
// units of 1 MW and a spare give 1.5 MW; four units of 0.5 MW carry all of it, two more than
// needed.
TEST(RulesFacility, cooling_plant_at_the_hottest_hour) {
  Hall h = hall_of([](design::Design& d) {
    d.sites[0].cooling_design = 35;
    d.sites[0].cooling_spares = 1;
    d.sites[0].cooling_unit = megawatts(1);
  });
  catalog::SiteHours weather;
  weather.dry_c = {10, 45, 20};
  h.view().weather = &weather;
  h.view().it_nameplate = megawatts(2);
  expect_finding(h.review, only_finding(h.review, "facility.hottest-hour"), "site.cooling_spares",
                 "site.cooling_spares = 2");
  weather.dry_c = {10, 56.2};  // beyond the hot side no number of units helps
  const Finding f = only_finding(h.review, "facility.hottest-hour");
  EXPECT_EQ(f.edit->path + " = " + f.edit->value, "site.cooling_design = 57 C");
  weather.dry_c = {10, 35};
  EXPECT_TRUE(findings_by(h.review, "facility.hottest-hour").empty());
  weather.dry_c.clear();
  EXPECT_TRUE(findings_by(h.review, "facility.hottest-hour").empty());
  h.view().weather = nullptr;
  EXPECT_TRUE(findings_by(h.review, "facility.hottest-hour").empty());
}

}  // namespace
}  // namespace orrery::rules
