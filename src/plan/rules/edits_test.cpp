// Edits of fleets and networks. tests/fixes_test.cpp shows that edits cure what rules find.
#include "plan/rules/edits.h"

#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/review/stages.h"
#include "plan/rules/findings_fixture.h"
#include "plan/rules/hall_fixture.h"

namespace orrery::rules {
namespace {

TEST(Edits, separate_storage_network_copies_the_compute_switches) {
  design::Networks fabric = review::lab_design("av-vision").fabric;
  fabric.storage = {.converged = true, .ports_per_node = 1};
  const design::Network own = separate_storage(fabric);
  EXPECT_FALSE(own.converged);
  EXPECT_EQ(own.topology, design::NamedTopology::fat_tree);
  EXPECT_EQ(own.switch_part, fabric.compute.switch_part);
  EXPECT_TRUE(own.roce == fabric.compute.roce) << "the same switches, set up alike";
  EXPECT_EQ(own.ports_per_node, 1);
  fabric.storage = {.topology = design::NamedTopology::three_tier, .converged = true};
  EXPECT_EQ(separate_storage(fabric).topology, design::NamedTopology::three_tier);
}

TEST(Edits, separate_storage_network_keeps_its_own_fields) {
  design::Networks fabric = review::lab_design("av-vision").fabric;
  fabric.storage = {.converged = true};
  fabric.storage.switch_part = "sn4600c";
  const design::Network own = separate_storage(fabric);
  EXPECT_EQ(own.switch_part, "sn4600c");
  EXPECT_EQ(own.protocol, design::Network{}.protocol) << "of other switches";
  EXPECT_FALSE(own.roce == fabric.compute.roce);
  EXPECT_EQ(own.routing, fabric.compute.routing);
  EXPECT_EQ(own.topology, design::NamedTopology::fat_tree);
}

// 127 nodes: 120 for a run, 2 for a service, 5 for jobs.
TEST(Edits, over_booked_fleet_grows_if_its_site_carries_it) {
  review::Review r = review::lab_review("superpod-h100");
  const machine::Fleet& fleet = r.fleets()[design::FleetIndex(0)];
  machine::FleetBook& book = r.ledger.fleets[design::FleetIndex(0)];
  ASSERT_EQ(book.bookings.size(), 3U);
  const auto edit = [&] { return edit_of(edit_asked(r, fleet)); };
  book.bookings[2].nodes = 6.25;  // 128.25 of all
  EXPECT_EQ(edit(), "fleet[0].count = 129");
  // Without power for two more nodes, the largest booking is reduced: 127 - 8.25 are left for it.
  r.sites[0].draw_peak = megawatts(2);
  EXPECT_EQ(edit(), "workloads[0].train.nodes = 118");
  book.bookings[1].nodes = 60;
  book.bookings[2].nodes = 67;
  EXPECT_EQ(edit(), "none") << "nothing is left to it";
  book.bookings[2].nodes = 66;
  EXPECT_EQ(edit(), "workloads[0].train.nodes = 1");
  for (machine::Booking& b : book.bookings) b.given = false;
  book.bookings[0].workload = &r.design().workloads[2];
  EXPECT_EQ(edit(), "none") << "no booking can shrink";
  // A run without a number takes what the others leave.
  book.bookings[0].workload = &r.design().workloads[0];
  book.bookings[1].nodes = 2;
  book.bookings[2].nodes = 6.25;
  EXPECT_EQ(edit(), "workloads[0].train.nodes = 118");
  book.bookings[2].nodes = 125.5;
  EXPECT_EQ(edit(), "none");
}

TEST(Edits, nodes_come_from_the_fleet_or_enlarge_it) {
  review::Review r = review::lab_review("superpod-h100");
  const machine::Fleet& fleet = r.fleets()[design::FleetIndex(0)];
  machine::FleetBook& book = r.ledger.fleets[design::FleetIndex(0)];
  const design::Workload& jobs = r.design().workloads[2];
  const auto edit = [&](int nodes) { return edit_of(edit_nodes(r, jobs, fleet, nodes)); };
  EXPECT_EQ(edit(5), "workloads[2].jobs.nodes = 5");
  EXPECT_EQ(edit(6), "fleet[0].count = 128");
  // Work that takes turns does not count beside it; a run without a number takes what is left.
  book.bookings[0].given = false;
  EXPECT_EQ(edit(125), "workloads[2].jobs.nodes = 125");
  EXPECT_EQ(edit(126), "fleet[0].count = 128");
  book.bookings[0].given = true;
  book.bookings[1].given = false;
  book.bookings[1].share = 0.5;
  EXPECT_EQ(edit(7), "workloads[2].jobs.nodes = 7");
  book.bookings[1].share = 1;
  book.bookings[1].nodes = 1.5;
  EXPECT_EQ(edit(5), "workloads[2].jobs.nodes = 5");
  EXPECT_EQ(edit(6), "fleet[0].count = 128") << "121.5 are 122 beside it";
  EXPECT_EQ(edit(kMostNodes), "fleet[0].count = " + std::to_string(kMostNodes));
}

TEST(Edits, rounding_adds_no_node) {
  review::Review r = review::lab_review("superpod-h100");
  machine::FleetBook& book = r.ledger.fleets[design::FleetIndex(0)];
  book.bookings[2].nodes = 6 + 1e-10;
  EXPECT_EQ(edit_of(edit_asked(r, r.fleets()[design::FleetIndex(0)])), "fleet[0].count = 128");
  r.sites[0].draw_peak = megawatts(2);
  EXPECT_EQ(edit_of(edit_asked(r, r.fleets()[design::FleetIndex(0)])), "workloads[0].train.nodes = 119")
      << "119 but for a tenth of a billionth";
  const design::Workload& jobs = r.design().workloads[2];
  book.bookings[1].nodes = 2 + 1e-10;
  EXPECT_EQ(edit_of(edit_nodes(r, jobs, r.fleets()[design::FleetIndex(0)], 5)), "workloads[2].jobs.nodes = 5");
}

// 10.2 kW per node at a PUE of 1.5: five more take 76.5 kW and, with four per rack, two racks.
TEST(Edits, site_carries_what_power_and_positions_allow) {
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
