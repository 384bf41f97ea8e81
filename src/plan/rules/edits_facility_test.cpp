#include <gtest/gtest.h>

#include <cmath>

#include "model/machine/known_fixture.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/edits.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/hall_fixture.h"

namespace orrery::rules {
namespace {

// If no method for the nodes carries the racks, the racks are thinned out and get the cheapest
// method that suits the nodes.
TEST(EditsFacility, cheapest_cooling_that_carries_the_racks) {
  Hall h = hall_of([](design::Design& d) { d.sites[0].cooling = "direct-to-chip-1p"; });
  h.fleet().rack.power = kilowatts(400);
  EXPECT_EQ(edit_node_cooling(h.review, h.view())->value, "air-perimeter");
  EXPECT_EQ(cooling_for(h.review, h.view(), kilowatts(400)), nullptr);
  EXPECT_EQ(cooling_for(h.review, h.view(), kilowatts(30))->id, "air-contained");
  EXPECT_EQ(cooling_for(h.review, h.view(), kilowatts(30.1))->id, "rear-door-passive");
}

// 44 kW carry four nodes of 10.2: 32 racks for 127 nodes.
TEST(EditsFacility, denser_packing_or_cooling_frees_positions) {
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
  // Doors of 35 kW carry three (43 racks), doors of 70 kW five, limited by height (26).
  EXPECT_EQ(cooled(43), "site.cooling = rear-door-passive");
  EXPECT_EQ(cooled(42), "site.cooling = rear-door-active");
  EXPECT_EQ(cooled(26), "site.cooling = rear-door-active");
  EXPECT_EQ(cooled(25), "site.racks = 64");
}

// Eight nodes of 10.2 kW: two per rack in air, three with passive doors, five with active ones.
TEST(EditsFacility, better_cooling_frees_exactly_enough_positions) {
  const auto edit = [](int positions) {
    const review::Review r = review::hand_review(
        "site: { region: usa, cooling: air-contained, racks: " + std::to_string(positions) +
        " }\nfleet: [{ name: f, node: dgx-h100, count: 8 }]\n");
    EXPECT_EQ(r.sites[0].racks, 4);
    return edit_of(edit_positions(r, r.sites[0]));
  };
  EXPECT_EQ(edit(3), "site.cooling = rear-door-passive");
  EXPECT_EQ(edit(2), "site.cooling = rear-door-active");
}

TEST(EditsFacility, generators_first_then_batteries) {
  Hall h;
  EXPECT_EQ(edit_ride(h.view()).path, "site.generator");
  EXPECT_EQ(edit_ride(h.view()).value, at_least(minutes(1)));
  Hall with = hall_of([](design::Design& d) { d.sites[0].generator = seconds(90); });
  EXPECT_EQ(edit_ride(with.view()).path, "site.battery");
  EXPECT_EQ(edit_ride(with.view()).value, at_least(seconds(90)));
}

// A site that allows more than its cooling reaches needs other cooling; one that allows less needs
// fewer nodes per rack: as many as fit to the last bit.
TEST(EditsFacility, denser_cooling_or_fewer_nodes_per_rack) {
  const auto edit = [](Watts rack, Watts power) {
    design::Design d = review::lab_design("superpod-h100");
    d.sites[0].rack = rack;
    review::Review r = review::run_stages(std::move(d), machine::known());
    r.sites[0].fleets[0].rack.power = power;
    return edit_of(edit_rack(r, r.sites[0], r.sites[0].fleets[0]));
  };
  EXPECT_EQ(edit(kilowatts(100), kilowatts(80)), "site.cooling = immersion-1p");
  EXPECT_EQ(edit(kilowatts(80), kilowatts(80)), "site.cooling = immersion-1p") << "just allowed";
  EXPECT_EQ(edit(kilowatts(79), kilowatts(80)), "fleet[0].nodes_per_rack = 6") << "70 / 10.2";
  EXPECT_EQ(edit(kilowatts(40.8), kilowatts(51)), "fleet[0].nodes_per_rack = 4") << "40.8 / 10.2";
  EXPECT_EQ(edit(kilowatts(40.7), kilowatts(51)), "fleet[0].nodes_per_rack = 3");
}

// Ten nodes fit under enough power. Under four fifths of it eight fit, two of
// which are spares; under a fifth, the fleet is not cut below what workloads hold.
TEST(EditsFacility, power_allows_nodes_without_spares) {
  review::Pod pod;
  pod.fleet = "name: f, node: dgx-h100, count: 8, spares: 2";
  pod.site = "region: usa, power: 10 MW, pue: 1.2";
  const review::Review ample = pod.review();
  const double peak = ample.sites[0].draw_peak.base();
  EXPECT_GT(ample.sites[0].budget->nodes, 10);
  const auto under = [&](double share) {
    pod.site = "region: usa, pue: 1.2, power: " + std::to_string(peak * share) + " W";
    return pod.review();
  };
  const review::Review just = under(1.0001);
  EXPECT_GE(just.sites[0].budget->nodes, 10) << "the existing nodes fit";
  EXPECT_FALSE(finding_of(just, "facility.power-above-site"));
  const review::Review less = under(0.8);
  const int fit = less.sites[0].budget->nodes;
  const review::SiteView& v = less.sites[0];
  const double each = v.fleets[0].node.nameplate.base() + v.fabric.base() / 10;
  const double others = v.it_nameplate.base() - 10 * each;
  EXPECT_NEAR(fit, std::floor((peak * 0.8 / 1.2 - others) / each), 1);
  const auto f = finding_of(less, "facility.power-above-site");
  ASSERT_TRUE(f && f->edit);
  EXPECT_EQ(f->edit->path, "fleet[0].count");
  EXPECT_EQ(f->edit->value, std::to_string(fit - 2));
  const auto tight = finding_of(under(0.02), "facility.power-above-site");
  ASSERT_TRUE(tight && tight->edit);
  EXPECT_EQ(tight->edit->path, "site.power");
}

}  // namespace
}  // namespace orrery::rules
