// What the rules of the hall say, word for word, and the edits that they offer.
#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

// 127 nodes of 10.2 kW, four a rack of 44 kW, behind active doors (70 kW).
struct Hall {
  review::Review review = review::lab_review("superpod-h100");
  review::SiteView& view() { return review.sites.at(0); }
  review::FleetPower& fleet() { return view().fleets.at(0); }
  std::string name() { return view().site->name; }
};

Hall hall_of(void (*change)(design::Design&)) {
  design::Design d = review::lab_design("superpod-h100");
  change(d);
  return {review::run_stages(std::move(d), machine::known())};
}

TEST(HallRules, ARackAboveTheSitesLimit) {
  Hall h;
  h.fleet().rack.power = kilowatts(46);
  h.fleet().rack.limit = kilowatts(44);
  expect_said(h.review, only_finding(h.review, "facility.rack-above-cooling"),
              {.path = "site.rack",
               .what = "A rack of train nodes draws 46 kW; site '" + h.name() +
                       "' carries 44 kW with rear-door-active.",
               .why = "rear-door-active reaches 70 kW a rack in practice, and the site allows "
                      "44 kW.",
               .fix = "Use fewer nodes a rack, or racks of 46 kW.",
               .edit = "fleet[0].nodes_per_rack = 4"});
  h.fleet().rack.power = kilowatts(44);
  EXPECT_TRUE(findings_by(h.review, "facility.rack-above-cooling").empty());
}

// 71 kW at active doors, which reach 70: no method for air-cooled nodes carries it but a tank.
TEST(HallRules, ARackAboveItsCooling) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].rack.reset(); });
  h.fleet().rack.power = kilowatts(71);
  h.fleet().rack.limit = kilowatts(70);
  expect_said(h.review, only_finding(h.review, "facility.rack-above-cooling"),
              {.path = "site.cooling",
               .what = "A rack of train nodes draws 71 kW; site '" + h.name() +
                       "' carries 70 kW with rear-door-active.",
               .why = "rear-door-active reaches 70 kW a rack in practice.",
               .fix = "Use immersion-1p cooling, or fewer nodes a rack.",
               .edit = "site.cooling = immersion-1p"});
  h.fleet().rack.power = kilowatts(70);
  EXPECT_TRUE(findings_by(h.review, "facility.rack-above-cooling").empty());
  h.fleet().rack.power = kilowatts(300);
  const Finding none = only_finding(h.review, "facility.rack-above-cooling");
  EXPECT_EQ(none.fix, "Use fewer nodes a rack.");
  EXPECT_EQ(none.edit->path + " = " + none.edit->value, "fleet[0].nodes_per_rack = 6");
}

TEST(HallRules, ANodeThatFitsNoRack) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].rack = kilowatts(9); });
  h.fleet().rack.nodes = 0;
  h.fleet().rack.power = Watts();
  expect_said(
      h.review, only_finding(h.review, "facility.rack-above-cooling"),
      {.path = "site.cooling",
       .what = "Not one train node (10.2 kW) fits a rack of site '" + h.name() + "'.",
       .why = "rear-door-active reaches 70 kW a rack in practice, and the site allows 9 kW.",
       .fix = "Use fewer nodes a rack, or racks of 11 kW.",
       .edit = "site.rack = 11 kW"});
}

TEST(HallRules, NodesBuiltForAnotherCooling) {
  const Hall h = hall_of([](design::Design& d) { d.sites[0].cooling = "direct-to-chip-1p"; });
  Hall copy = h;
  expect_said(h.review, only_finding(h.review, "facility.node-cooling"),
              {.path = "site.cooling",
               .what = h.review.fleets()[design::FleetIndex(0)].node.part.name + " is built for " +
                       h.review.fleets()[design::FleetIndex(0)].node.part.cooling +
                       " cooling; site '" + copy.name() + "' cools by direct-to-chip-1p.",
               .why = "It has fans and heat sinks and no cold plates: the liquid never reaches it.",
               .fix = "Use rear-door-active cooling, or nodes built for direct-to-chip-1p.",
               .edit = "site.cooling = rear-door-active"});
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "facility.node-cooling").empty());
  design::Design d = review::lab_design("superpod-gb200");
  d.sites[0].cooling = "air-contained";
  const review::Review plates = review::run_stages(d, machine::known());
  const Finding f = only_finding(plates, "facility.node-cooling");
  EXPECT_EQ(f.why, "It has cold plates and few fans: air alone does not carry its heat away.");
  ASSERT_TRUE(f.edit);
  EXPECT_EQ(f.edit->value, "direct-to-chip-1p");
}

// Racks that no method for the nodes carries are thinned out: the cheapest method for them it is.
TEST(HallRules, CoolingForNodesWhoseRacksAreTooDense) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].cooling = "direct-to-chip-1p"; });
  h.fleet().rack.power = kilowatts(400);
  EXPECT_EQ(edit_node_cooling(h.review, h.view())->value, "air-perimeter");
  EXPECT_EQ(cooling_for(h.review, h.view(), kilowatts(400)), nullptr);
  EXPECT_EQ(cooling_for(h.review, h.view(), kilowatts(30))->id, "air-contained");
  EXPECT_EQ(cooling_for(h.review, h.view(), kilowatts(30.1))->id, "rear-door-passive");
}

// 2 MW for 2.5: a node may draw 8.16 of its 10.2 kW, so that its 5.6 kW of accelerators are capped
// at (8.16 - 4.6) / 5.6 = 0.6357 of 700 W (445 W, and no more), which leaves 1 - 0.9 * 0.3643^1.6 =
// 0.8212 of the speed.
TEST(HallRules, MorePowerThanTheSiteHas) {
  Hall h;
  h.view().draw_peak = megawatts(2.5);
  h.view().it_nameplate = megawatts(2);
  h.view().pue.middle = 1.25;
  h.view().budget->nodes = 100;
  expect_said(
      h.review, only_finding(h.review, "facility.power-above-site"),
      {.path = "site.power",
       .what =
           "Site '" + h.name() + "' would draw 2.5 MW and has 2 MW: 100 of 127 train nodes fit.",
       .why = "2 MW of IT at nameplate times a PUE of 1.25.",
       .fix = "Cap the accelerators at 440 W (they keep about 82.1 % of their speed), shrink "
              "the fleet, or contract more power.",
       .edit = "site.power = 2.5 MW"});
  h.view().draw_peak = megawatts(2);
  EXPECT_TRUE(findings_by(h.review, "facility.power-above-site").empty());
  // 2 of 3.2 MW: 6.375 kW a node, a cap of 0.317, which nobody sets.
  h.view().draw_peak = megawatts(3.2);
  EXPECT_EQ(only_finding(h.review, "facility.power-above-site").fix,
            "Shrink the fleet, or contract more power.");
  h.view().budget.reset();
  EXPECT_NE(only_finding(h.review, "facility.power-above-site").what.find(": 0 of 127 train"),
            std::string::npos);
}

TEST(HallRules, SparesCountAmongTheNodesThatDraw) {
  Hall h = hall_of([](design::Design& d) { d.fleet[0].spares = 3; });
  h.view().draw_peak = megawatts(2.5);
  EXPECT_NE(only_finding(h.review, "facility.power-above-site").what.find(" of 130 train nodes"),
            std::string::npos);
  // 130 fit with the spares: 127 remain, which is what the workloads ask for.
  h.view().budget->nodes = 130;
  EXPECT_EQ(edit_power(h.review, h.view()).path, "fleet[0].count");
  EXPECT_EQ(edit_power(h.review, h.view()).value, "127");
  h.view().budget->nodes = 129;
  EXPECT_EQ(edit_power(h.review, h.view()).path, "site.power");
}

TEST(HallRules, MoreRacksThanPositions) {
  Hall h = hall_of([](design::Design& d) {
    d.sites[0].racks = 20;
    d.fleet[0].nodes_per_rack = 2;
  });
  EXPECT_EQ(h.view().racks, 64);
  expect_said(h.review, only_finding(h.review, "facility.rack-positions"),
              {.path = "site.racks",
               .what = "The fleets of site '" + h.name() + "' need 64 racks; it has room for 20.",
               .why = "Nodes a rack are bound by its power, its cooling or its height.",
               .fix = "Put more nodes into a rack, cool it for them, or find 64 positions.",
               .edit = "site.racks = 64"});
  h.view().racks = 20;
  EXPECT_TRUE(findings_by(h.review, "facility.rack-positions").empty());
}

// 44 kW take four nodes of 10.2: 32 racks of 127.
TEST(HallRules, PackingMakesRoomWhereItCan) {
  const auto edit = [](int positions, std::optional<int> per_rack) {
    design::Design d = review::lab_design("superpod-h100");
    d.sites[0].racks = positions;
    d.fleet[0].nodes_per_rack = per_rack;
    const review::Review r = review::run_stages(std::move(d), machine::known());
    const Edit e = edit_positions(r, r.sites[0]);
    return e.path + " = " + e.value;
  };
  EXPECT_EQ(edit(32, 2), "fleet[0].nodes_per_rack = 4");
  EXPECT_EQ(edit(31, 2), "site.racks = 64");
  EXPECT_EQ(edit(31, 4), "site.racks = 32") << "it is packed as closely as it goes";
  design::Design d = review::lab_design("superpod-h100");
  d.sites[0].rack.reset();
  d.sites[0].cooling = "air-contained";  // two nodes of 10.2 kW: 64 racks
  d.fleet[0].nodes_per_rack.reset();
  const auto cooled = [&](int positions) {
    d.sites[0].racks = positions;
    const review::Review r = review::run_stages(d, machine::known());
    const Edit e = edit_positions(r, r.sites[0]);
    return e.path + " = " + e.value;
  };
  // Doors of 35 kW take three (43 racks), of 70 kW five by their height (26).
  EXPECT_EQ(cooled(43), "site.cooling = rear-door-passive");
  EXPECT_EQ(cooled(42), "site.cooling = rear-door-active");
  EXPECT_EQ(cooled(26), "site.cooling = rear-door-active");
  EXPECT_EQ(cooled(25), "site.racks = 64");
}

TEST(HallRules, HeatThatIsLeftToTheRoom) {
  Hall h;
  h.fleet().rack.air_heat_is_a_legacy_rack = true;
  h.fleet().rack.air_heat = kilowatts(14.5);
  expect_said(h.review, only_finding(h.review, "facility.residual-air"),
              {.path = "site.cooling",
               .what = "A liquid-cooled rack of train nodes still gives 14.5 kW to the room.",
               .why = "That alone is a full legacy air rack: the hall needs air cooling beside the "
                      "liquid.",
               .fix = "Plan room air for it.",
               .edit = "none"});
  h.fleet().rack.air_heat_is_a_legacy_rack = false;
  EXPECT_TRUE(findings_by(h.review, "facility.residual-air").empty());
}

// Two racks of 40.8 kW are 81.6; a unit of 100 kW carries 80 for long, one of 102 just 81.6.
TEST(HallRules, APowerUnitBelowItsRacks) {
  const auto with_unit = [](double kw, std::optional<int> racks) {
    design::Design d = review::lab_design("superpod-h100");
    d.fleet[0].pdu_rating = kilowatts(kw);
    d.fleet[0].failures.racks_per_pdu = racks;
    return review::run_stages(std::move(d), machine::known());
  };
  const review::Review two = with_unit(100, 2);
  expect_said(
      two, only_finding(two, "facility.pdu-rating"),
      {.path = "fleet[0].pdu_rating",
       .what = "2 racks of train draw 81.6 kW at nameplate; their power unit of 100 kW "
               "carries 80 kW.",
       .why = "A breaker carries 80 % of its rating for long (NEC); above it trips, with all "
              "racks.",
       .fix = "Fewer racks on a unit, fewer nodes a rack, a power_cap, or a larger unit.",
       .edit = "fleet[0].pdu_rating = 110 kW"});
  const review::Review one = with_unit(50, std::nullopt);
  EXPECT_EQ(only_finding(one, "facility.pdu-rating").what,
            "1 rack of train draw 40.8 kW at nameplate; their power unit of 50 kW carries 40 kW.");
  EXPECT_TRUE(findings_by(with_unit(51.1, 1), "facility.pdu-rating").empty());
  EXPECT_TRUE(findings_by(with_unit(102.1, 2), "facility.pdu-rating").empty());
  Hall none{with_unit(50, std::nullopt)};
  none.fleet().rack.nodes = 0;
  EXPECT_TRUE(findings_by(none.review, "facility.pdu-rating").empty());
}

// Sized for 35 C, at 45 half of the rating is left (55 C is the hot side): of 2 MW in two units of
// 1 MW and a spare, 1.5 MW; four of 0.5 carry all of it, two more than are needed.
TEST(HallRules, TheHottestHour) {
  Hall h = hall_of([](design::Design& d) {
    d.sites[0].cooling_design = 35;
    d.sites[0].cooling_spares = 1;
    d.sites[0].cooling_unit = megawatts(1);
  });
  catalog::SiteHours weather;
  weather.dry_c = {10, 45, 20};
  h.view().weather = &weather;
  h.view().it_nameplate = megawatts(2);
  expect_said(h.review, only_finding(h.review, "facility.hottest-hour"),
              {.path = "site.cooling_spares",
               .what = "At 45 C outdoors the 3 units of site '" + h.name() +
                       "' carry 1.5 MW of "
                       "2 MW.",
               .why = "They are sized for 35 C; hotter, the loop warms and racks throttle.",
               .fix = "More units, a plant for hotter days, or fewer watts.",
               .edit = "site.cooling_spares = 2"});
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

TEST(HallEdits, GeneratorsThenBatteriesThatLastUntilTheyRun) {
  Hall h;
  EXPECT_EQ(edit_ride(h.view()).path, "site.generator");
  EXPECT_EQ(edit_ride(h.view()).value, at_least(minutes(1)));
  Hall with = hall_of([](design::Design& d) { d.sites[0].generator = seconds(90); });
  EXPECT_EQ(edit_ride(with.view()).path, "site.battery");
  EXPECT_EQ(edit_ride(with.view()).value, at_least(seconds(90)));
}

// 10.2 kW a node at a PUE of 1.5: five more take 76.5 kW and, of four a rack, two racks.
TEST(HallEdits, ASiteCarriesWhatItsPowerAndItsPositionsAllow) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].racks = 34; });
  const machine::Fleet& fleet = h.review.fleets()[design::FleetIndex(0)];
  h.view().pue.middle = 1.5;
  h.view().racks = 32;
  h.view().draw_peak = kilowatts(2000 - 76.6);
  EXPECT_TRUE(site_carries(h.review, fleet, 5));
  h.view().draw_peak = kilowatts(2000 - 76.4);
  EXPECT_FALSE(site_carries(h.review, fleet, 5));
  h.view().draw_peak = kilowatts(100);
  EXPECT_TRUE(site_carries(h.review, fleet, 7));
  EXPECT_FALSE(site_carries(h.review, fleet, 8)) << "three racks for eight";
  h.fleet().rack.nodes = 0;
  EXPECT_TRUE(site_carries(h.review, fleet, 8));
  h.view().fleets.clear();
  EXPECT_TRUE(site_carries(h.review, fleet, 10000));
}

}  // namespace
}  // namespace orrery::rules
