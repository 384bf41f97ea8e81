// A site with machines that are rented beside those that are owned: what it draws, holds and is
// told of is of the owned ones alone.
#include <gtest/gtest.h>

#include "plan/rules/edits.h"
#include "plan/verdict/hand_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

review::Review owned_and_rented(const std::string& more) {
  return review::hand_review(
      "site: { region: usa, pue: 1.25 }\nfleet:\n  - { name: own, node: dgx-h100, count: 8 }\n" +
      more);
}

const std::string kRentedFleet =
    "  - { name: let, node: dgx-h100, count: 40, rent: { provider: aws, price: 2 USD/h } }\n";

TEST(RentedSite, DrawsWhatIsOwnedThere) {
  const review::Review r = owned_and_rented(kRentedFleet);
  const review::SiteView& v = r.sites.at(0);
  ASSERT_EQ(v.fleets.size(), 1U);
  EXPECT_EQ(v.fleets[0].fleet->fleet->name, "own");
  EXPECT_NEAR(v.fleet_nameplate / kilowatts(1), 8 * 10.2, 1e-9);
  const review::Review alone = owned_and_rented("");
  EXPECT_EQ(v.racks, alone.sites[0].racks);
  EXPECT_NEAR(v.draw_peak.base(), alone.sites[0].draw_peak.base(), 1e-6);
  EXPECT_NEAR(v.it_mean.base(), alone.sites[0].it_mean.base(), 1e-6);
  EXPECT_TRUE(rules::site_carries(r, r.fleets()[design::FleetIndex(1)], 1'000'000))
      << "somebody else's power";
}

TEST(RentedSite, WithNothingOwnedHasNoMachines) {
  const review::Review r =
      review::hand_review("site: { region: usa, power: 10 kW, racks: 1 }\nfleet:\n" + kRentedFleet);
  EXPECT_FALSE(r.sites.at(0).has_machines());
  EXPECT_TRUE(facility_sections(r).empty());
  EXPECT_TRUE(rules::findings_by(r, "facility.power-above-site").empty());
  EXPECT_TRUE(rules::findings_by(r, "facility.rack-positions").empty());
  EXPECT_EQ(r.sites[0].draw_peak, Watts());
}

TEST(RentedSite, AFleetElsewhereIsNotOfThisSite) {
  const review::Review r = review::hand_review(
      "sites: [{ name: here, region: usa, pue: 1.25 }, { name: there, region: usa, pue: 1.5 "
      "}]\nfleet: [{ name: a, node: dgx-h100, count: 4, site: here }, { name: b, node: dgx-h100, "
      "count: 6, site: there }]\n");
  ASSERT_EQ(r.sites.size(), 2U);
  EXPECT_NEAR(r.sites[0].fleet_nameplate / kilowatts(1), 40.8, 1e-9);
  EXPECT_NEAR(r.sites[1].fleet_nameplate / kilowatts(1), 61.2, 1e-9);
  EXPECT_NEAR(r.sites[0].draw_peak / r.sites[0].it_nameplate, 1.25, 1e-12);
  EXPECT_NEAR(r.sites[1].draw_peak / r.sites[1].it_nameplate, 1.5, 1e-12);
}

}  // namespace
}  // namespace orrery::verdict
