#include "model/machine/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::machine {
namespace {

using testing::IsEmpty;

// By hand: 40 + 60 of 127 nodes by number, one run without a number.
TEST(Ledger, nodes_given_by_number_are_booked) {
  design::Design d = template_design("superpod-h100");
  d.workloads.assign(3, d.workloads.front());
  d.workloads[0].terms.nodes = 40;
  d.workloads[1].terms.nodes.reset();
  d.workloads[2].terms.nodes = 60;
  d.workloads[2].terms.name = "more";
  const Machine m = lay_out(d, known());
  const FleetBook& book = m.book_of(m.fleets[design::FleetIndex(0)]);
  ASSERT_EQ(book.bookings.size(), 2U);
  EXPECT_EQ(book.asked(), 100);
  EXPECT_EQ(book.largest_given()->workload->terms.name, "more");
}

// With 20 nodes, 8 given by number and 2 of a service are held all the time. Runs of 6 and 4 nodes
// that each take half of the time follow one another and need 6; with another 6 they need (6 + 4 +
// 6) / 2 = 8.
TEST(Ledger, runs_that_end_take_turns_on_free_nodes) {
  design::Design d;
  d.workloads.resize(5);
  FleetBook b{.count = 20, .bookings = {}};
  book(b, {.workload = &d.workloads[0], .nodes = 8, .needed = 8, .given = true});
  book(b, {.workload = &d.workloads[1], .nodes = 2, .needed = 0.5});
  book(b, {.workload = &d.workloads[2], .nodes = 6, .needed = 6, .share = 0.5});
  book(b, {.workload = &d.workloads[3], .nodes = 4, .needed = 4, .share = 0.5});
  EXPECT_DOUBLE_EQ(b.held(), 10);
  EXPECT_DOUBLE_EQ(b.in_turn(), 6);
  EXPECT_DOUBLE_EQ(b.idle(), 4);
  EXPECT_DOUBLE_EQ(b.over(), 0);
  EXPECT_DOUBLE_EQ(b.used(), 8 + 0.5 + 3 + 2);
  EXPECT_DOUBLE_EQ(b.held_beside(d.workloads[1]), 8);
  book(b, {.workload = &d.workloads[4], .nodes = 6, .needed = 6, .share = 0.5});
  EXPECT_DOUBLE_EQ(b.in_turn(), 8);
  b.count = 17;
  EXPECT_DOUBLE_EQ(b.over(), 1);
  EXPECT_DOUBLE_EQ(b.idle(), 0);
}

TEST(Ledger, booking_by_number_keeps_its_nodes) {
  design::Design d;
  d.workloads.resize(1);
  FleetBook b{.count = 4, .bookings = {}};
  book(b, {.workload = &d.workloads[0], .nodes = 3, .needed = 3, .given = true});
  book(b, {.workload = &d.workloads[0], .nodes = 1, .needed = 1, .share = 0.25});
  ASSERT_EQ(b.bookings.size(), 1U);
  EXPECT_DOUBLE_EQ(b.booked(), 3) << "held even while it does not run";
  EXPECT_DOUBLE_EQ(b.used(), 0.25);
}

// A ledger of 10 nodes: over-booked and idle nodes beyond the rounding tolerance.
TEST(Ledger, idle_over_booked_and_used_nodes) {
  design::Design d;
  d.workloads.resize(3);
  FleetBook b{.count = 10};
  EXPECT_EQ(b.largest_given(), nullptr);
  EXPECT_EQ(b.find(d.workloads[0]), nullptr);
  book(b, {.workload = &d.workloads[0], .nodes = 5, .needed = 7, .given = true});
  book(b, {.workload = &d.workloads[1], .nodes = 5 + 1e-9, .needed = 2, .share = 3, .given = true});
  EXPECT_EQ(b.over(), 0) << "within the rounding tolerance";
  EXPECT_EQ(b.idle(), 0);
  EXPECT_EQ(b.largest_given(), &b.bookings[1]);
  EXPECT_DOUBLE_EQ(b.used(), 5 + 2) << "need is capped by its nodes and by the whole time";
  book(b, {.workload = &d.workloads[2], .nodes = 2, .needed = 2, .share = 0.99});
  EXPECT_DOUBLE_EQ(b.in_turn(), 2);
  EXPECT_DOUBLE_EQ(b.asked(), 10 + 1e-9);
  EXPECT_NEAR(b.over(), 2, 1e-8);
  EXPECT_NEAR(b.used(), 7 + 1.98, 1e-12);
  b.count = 8;
  EXPECT_EQ(b.used(), 8);
  EXPECT_FALSE((Booking{.share = 0.99}).held());
  EXPECT_TRUE((Booking{.share = 1}).held());
  EXPECT_TRUE((Booking{.share = 0, .given = true}).held());
  const Booking* found = b.find(d.workloads[2]);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->nodes, 2);
}

TEST(Ledger, largest_booking_and_rounding_tolerance) {
  design::Design d;
  d.workloads.resize(4);
  FleetBook b{.count = 10, .bookings = {}};
  book(b, {.workload = &d.workloads[0], .nodes = 10 - 1.03e-8, .given = true});
  EXPECT_NEAR(b.idle(), 1.03e-8, 1e-12) << "above the rounding tolerance";
  b.bookings[0].nodes = 10 + 1.03e-8;
  EXPECT_NEAR(b.over(), 1.03e-8, 1e-12);
  b.bookings[0].nodes = 3;
  book(b, {.workload = &d.workloads[1], .nodes = 9});
  EXPECT_EQ(b.largest_given(), &b.bookings[0]) << "the larger booking has no number of its own";
  book(b, {.workload = &d.workloads[2], .nodes = 3, .given = true});
  EXPECT_EQ(b.largest_given(), &b.bookings[0]) << "the first of two equals";
  book(b, {.workload = &d.workloads[3], .nodes = 2, .given = true});
  EXPECT_EQ(b.largest_given(), &b.bookings[0]);
}

TEST(Ledger, service_in_zones_books_nothing_by_number) {
  const Machine m = machine_of_two_sites(
      "  - { name: a, node: dgx-h100, count: 8, site: one }\n"
      "  - { name: b, node: dgx-h100, count: 8, site: two }\n",
      "workloads:\n"
      "  - serve: { model: llama-3-8b, nodes: 2, fleet: b, arrivals: { rate: 1 /s, trace: chat } "
      "}\n"
      "  - serve: { name: z, model: llama-3-8b, nodes: 3, arrivals: { rate: 1 /s, trace: chat }, "
      "zones: [{ site: one, share: 1 }] }\n");
  EXPECT_THAT(m.ledger.fleets[design::FleetIndex(0)].bookings, IsEmpty());
  ASSERT_EQ(m.ledger.fleets[design::FleetIndex(1)].bookings.size(), 1U);
  const Booking& b = m.ledger.fleets[design::FleetIndex(1)].bookings[0];
  EXPECT_EQ(b.nodes, 2);
  EXPECT_EQ(b.needed, 2);
  EXPECT_TRUE(b.given);
  EXPECT_EQ(path_of(m.design().workloads[1]), "workloads[1].serve");
}

}  // namespace
}  // namespace orrery::machine
