// How jobs rank in a fleet's queue: tiers, qualities of service, partitions, reservations, quotas
// and the use of their users.
#include "twin/world/fleet_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "twin/world/standing_fixture.h"

namespace orrery::world {

namespace {

TEST(FleetState, priorities_become_tiers_from_zero) {
  StandingWorld s(queue_design(10, {jobs_of("a", {.priority = 9}), jobs_of("b", {.priority = -1}),
                                    jobs_of("c", {.priority = 9}), jobs_of("d", {.priority = 4})}));
  EXPECT_EQ(s.request(0).tier, 2);
  EXPECT_EQ(s.request(1).tier, 0);
  EXPECT_EQ(s.request(2).tier, 2);
  EXPECT_EQ(s.request(3).tier, 1);
  EXPECT_EQ(s.request(0, 7).user, 7U);
  EXPECT_EQ(s.request(0).priority, 0);
  EXPECT_EQ(s.request(0).qos, 0);
  EXPECT_EQ(s.request(0).guest_of, 0U);
}

TEST(FleetState, a_qos_priority_counts_relative_to_the_highest) {
  design::Design d = queue_design(10, {jobs_of("a", {.qos = "high"}), jobs_of("b", {.qos = "low"}),
                                       jobs_of("c", {.qos = "some"}), jobs_of("d", {})});
  d.scheduler.qos = {{.name = "some", .priority = 12, .max_nodes = 3},
                     {.name = "high", .priority = 30},
                     {.name = "low", .max_nodes_per_user = 2}};
  StandingWorld s(d);
  EXPECT_EQ(s.request(0).priority, 1);
  EXPECT_EQ(s.request(1).priority, 0);
  EXPECT_EQ(s.request(2).priority, 0.4);
  EXPECT_EQ(s.request(3).priority, 0);
  EXPECT_EQ(s.request(0).qos, 2);
  EXPECT_EQ(s.request(1).qos, 3);
  EXPECT_EQ(s.request(2).qos, 1);
  EXPECT_EQ(s.request(3).qos, 0);
  // One seat per user of a stream.
  EXPECT_EQ(s.request(2, 4).qos_seat, s.request(2, 4).qos_seat);
  EXPECT_NE(s.request(2, 4).qos_seat, s.request(2, 5).qos_seat);
  EXPECT_NE(s.request(2, 4).qos_seat,
            s.fleet().request_for(ProcessIndex(9), s.work(2), 4).qos_seat);
  EXPECT_TRUE(s.fleet().could_admit(s.work(2), 24));
  EXPECT_FALSE(s.fleet().could_admit(s.work(2), 25));
  EXPECT_TRUE(s.fleet().could_admit(s.work(1), 16));
  EXPECT_FALSE(s.fleet().could_admit(s.work(1), 17));
  EXPECT_TRUE(s.fleet().could_admit(s.work(3), 80));
  // With fair shares every user starts at one more.
  d.scheduler.fair_share = true;
  StandingWorld fair(d);
  EXPECT_EQ(fair.request(0).priority, 2);
  EXPECT_EQ(fair.request(0).priority, 2);
  EXPECT_EQ(fair.request(2).priority, 1.4);
  EXPECT_EQ(fair.request(3).priority, 1);
}

TEST(FleetState, a_qos_with_priority_zero_adds_nothing) {
  design::Design d = queue_design(10, {jobs_of("a", {.qos = "only"})});
  d.scheduler.qos = {{.name = "only", .priority = 0}};
  StandingWorld s(d);
  EXPECT_EQ(s.request(0).priority, 0);
}

TEST(FleetState, only_its_tenants_may_use_a_reservation) {
  design::Design d = queue_design(
      10, {jobs_of("a", {.tenant = "red"}), jobs_of("b", {.tenant = "blue"}), jobs_of("c", {})});
  d.scheduler.reservations = {
      {.name = "works", .start = days(9), .duration = hours(1)},
      {.name = "first", .start = days(9), .duration = hours(1), .tenants = {"red"}},
      {.name = "both", .start = days(9), .duration = hours(1), .tenants = {"blue", "red"}}};
  StandingWorld s(d);
  EXPECT_EQ(s.request(0).guest_of, 0b110U);
  EXPECT_EQ(s.request(1).guest_of, 0b100U);
  EXPECT_EQ(s.request(2).guest_of, 0U);
}

TEST(FleetState, the_shorter_limit_of_qos_and_partition_counts) {
  design::Design d = queue_design(
      10, {jobs_of("a", {.partition = "day", .qos = "brief"}), jobs_of("b", {.partition = "day"}),
           jobs_of("c", {.partition = "open", .qos = "brief"}), jobs_of("d", {.partition = "open"}),
           jobs_of("e", {.partition = "day", .qos = "long"})});
  d.scheduler.qos = {{.name = "brief", .time_limit = minutes(20)},
                     {.name = "long", .time_limit = minutes(90)}};
  const std::string fleet = d.fleet.front().name;
  d.scheduler.partitions = {{.name = "day", .fleet = fleet, .nodes = 6, .time_limit = minutes(60)},
                            {.name = "open", .fleet = fleet, .nodes = 4}};
  StandingWorld s(d);
  EXPECT_EQ(s.fleet().time_limit_of(s.work(0)), minutes(20));
  EXPECT_EQ(s.fleet().time_limit_of(s.work(1)), minutes(60));
  EXPECT_EQ(s.fleet().time_limit_of(s.work(2)), minutes(20));
  EXPECT_EQ(s.fleet().time_limit_of(s.work(3)), std::nullopt);
  EXPECT_EQ(s.fleet().time_limit_of(s.work(4)), minutes(60));
  EXPECT_EQ(s.request(0).partition, 0);
  EXPECT_EQ(s.request(3).partition, 1);
  d.scheduler.partitions.clear();
  for (design::Workload& w : d.workloads) w.terms.partition.clear();
  StandingWorld whole(d);
  EXPECT_EQ(whole.fleet().time_limit_of(whole.work(0)), minutes(20));
  EXPECT_EQ(whole.fleet().time_limit_of(whole.work(1)), std::nullopt);
}

// 80 slots: 24 are red's and 20 blue's, 16 a workload's own by number; 20 are left for the
// others.
TEST(FleetState, quotas_and_node_counts_divide_the_fleet) {
  design::Design d = queue_design(
      10, {jobs_of("a", {.tenant = "red"}), jobs_of("b", {.tenant = "blue"}), jobs_of("c", {}),
           jobs_of("d", {.nodes = 2}), jobs_of("e", {.tenant = "grey"}),
           jobs_of("f", {.nodes = 1, .tenant = "red"})});
  d.scheduler.quotas = {{.tenant = "red", .accelerators = 24}, {.tenant = "blue", .share = 0.25}};
  StandingWorld s(d);
  const auto most = [&](std::size_t w) {
    int slots = 0;
    while (slots < 200 && s.fleet().could_admit(s.work(w), slots + 1)) ++slots;
    return slots;
  };
  EXPECT_EQ(most(3), 16) << "what is given by number is neither lent nor borrowed";
  EXPECT_EQ(most(5), 8);
  // The others share what numbers leave, and borrow from each other: 80 - 16 - 8.
  EXPECT_EQ(most(0), 56);
  EXPECT_EQ(most(1), 56);
  EXPECT_EQ(most(2), 56);
  EXPECT_EQ(most(4), 56);
  EXPECT_EQ(s.request(2).group, s.request(4).group);
  EXPECT_NE(s.request(0).group, s.request(1).group);
  EXPECT_NE(s.request(0).group, s.request(5).group);
  EXPECT_NE(s.request(0).group, s.request(2).group);
}

}  // namespace
}  // namespace orrery::world
