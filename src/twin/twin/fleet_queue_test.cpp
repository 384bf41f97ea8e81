// How jobs stand in a fleet's queue: tiers, qualities of service, partitions, reservations, quotas
// and what their users have used.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/machine/site_load.h"
#include "twin/twin/timed_fixture.h"

namespace orrery::twin {
namespace {

design::Workload jobs_of(const char* name, const design::Terms& terms) {
  design::Jobs jobs{.rate = PerSecond(1e-9), .mean_duration = hours(1)};
  jobs.sizes = {8};
  design::Workload w{.terms = terms, .task = jobs};
  w.terms.name = name;
  return w;
}

design::Design queue_design(int hosts, const std::vector<design::Workload>& work) {
  design::Design d = sample_design();
  d.fleet.front().count = hosts;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.backfill = design::Backfill::easy;
  d.workloads = work;
  return d;
}

// A world that has not begun.
struct StandingWorld : TimedWorld {
  explicit StandingWorld(const design::Design& d) : TimedWorld(d, hours(1)) {
    world = std::make_unique<World>(scenario, 5, true, nullptr);
  }
  FleetState& fleet() { return world->fleet(0); }
  const design::Workload& work(std::size_t w) const { return machine.design().workloads[w]; }
  cluster::JobRequest request(std::size_t w, std::uint32_t user = 0) {
    return fleet().request_for(ProcessIndex(w), work(w), user);
  }
};

TEST(FleetQueue, priorities_are_tiers_from_the_lowest_on) {
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

TEST(FleetQueue, a_qos_moves_its_jobs_by_its_part_of_the_highest) {
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
  // A seat for each user of a stream.
  EXPECT_EQ(s.request(2, 4).qos_seat, s.request(2, 4).qos_seat);
  EXPECT_NE(s.request(2, 4).qos_seat, s.request(2, 5).qos_seat);
  EXPECT_NE(s.request(2, 4).qos_seat,
            s.fleet().request_for(ProcessIndex(9), s.work(2), 4).qos_seat);
  EXPECT_TRUE(s.fleet().could_admit(s.work(2), 24));
  EXPECT_FALSE(s.fleet().could_admit(s.work(2), 25));
  EXPECT_TRUE(s.fleet().could_admit(s.work(1), 16));
  EXPECT_FALSE(s.fleet().could_admit(s.work(1), 17));
  EXPECT_TRUE(s.fleet().could_admit(s.work(3), 80));
  // With fair shares everybody begins at one more.
  d.scheduler.fair_share = true;
  StandingWorld fair(d);
  EXPECT_EQ(fair.request(0).priority, 2);
  EXPECT_EQ(fair.request(0).priority, 2);
  EXPECT_EQ(fair.request(2).priority, 1.4);
  EXPECT_EQ(fair.request(3).priority, 1);
}

TEST(FleetQueue, a_small_priority_is_its_part_of_one) {
  design::Design d = queue_design(10, {jobs_of("a", {.qos = "only"})});
  d.scheduler.qos = {{.name = "only", .priority = 0}};
  StandingWorld s(d);
  EXPECT_EQ(s.request(0).priority, 0);
}

TEST(FleetQueue, guests_of_a_reservation_are_its_tenants) {
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

TEST(FleetQueue, a_job_may_run_as_long_as_its_qos_and_its_partition_let_it) {
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

// Of 80: 24 are red's and 20 blue's, 16 a workload's own by number; 20 are left to the others.
TEST(FleetQueue, quotas_and_numbers_divide_the_fleet) {
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

// Seventy hosts and two in reserve: the second partition has the 66th to the 70th.
TEST(FleetQueue, jobs_lie_on_the_hosts_of_their_partition) {
  design::Design d =
      queue_design(70, {jobs_of("a", {.partition = "day"}), jobs_of("b", {.partition = "late"})});
  d.fleet.front().spares = 2;
  const std::string fleet = d.fleet.front().name;
  d.scheduler.partitions = {{.name = "day", .fleet = fleet, .nodes = 65},
                            {.name = "late", .fleet = fleet, .nodes = 5}};
  TimedWorld t(d, seconds(300));
  t.scenario.streams[0].trace = {{.run = seconds(50), .limit = seconds(50), .gpus = 65 * 8}};
  t.scenario.streams[1].trace = {{.run = seconds(50), .limit = seconds(50), .gpus = 5 * 8}};
  t.run(true);
  std::vector<std::uint32_t> held;
  for (const HostChange& c : t.recorder->host_changes()) {
    if (c.mark == HostMark::held && c.at.ns() == 0) held.push_back(c.host);
  }
  ASSERT_EQ(held.size(), 70U);
  std::vector<std::uint32_t> first(held.begin(), held.begin() + 65);
  std::vector<std::uint32_t> second(held.begin() + 65, held.end());
  EXPECT_EQ(*std::ranges::max_element(first), 64U);
  EXPECT_EQ(*std::ranges::min_element(second), 65U);
  EXPECT_EQ(*std::ranges::max_element(second), 69U);
}

// Three of seventy hosts are reserved from 100 s to 200 s: what would run into that on 68 waits for
// its end, and what is over before starts at once.
TEST(FleetQueue, jobs_keep_off_the_hosts_that_are_reserved) {
  const struct {
    double run;
    int hosts;
    const char* tenant;
    double wait;
  } kCases[] = {{100, 68, "", 0},   {101, 68, "", 200},  {150, 67, "", 0},
                {150, 68, "", 200}, {150, 70, "red", 0}, {100, 70, "", 0}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.hosts);
    design::Design d = queue_design(70, {jobs_of("a", {.tenant = c.tenant})});
    d.scheduler.reservations = {{.name = "works",
                                 .nodes = 3,
                                 .start = seconds(100),
                                 .duration = seconds(100),
                                 .tenants = {"red"}}};
    TimedWorld t(d, seconds(600));
    t.scenario.streams[0].trace = {
        {.run = seconds(c.run), .limit = seconds(c.run), .gpus = c.hosts * 8}};
    t.run();
    EXPECT_EQ(t.processes->streams().front()->outcome().waits_s, (std::vector<double>{c.wait}));
  }
}

// 2 x 900 GPU-seconds of one user are less than 16 x 200 of another: at 1210, when the fleet is
// free, the first goes before the other, who came earlier.
TEST(FleetQueue, who_has_used_less_goes_first) {
  for (const bool is_fair : {true, false}) {
    design::Design d = queue_design(3, {jobs_of("a", {})});
    d.scheduler.fair_share = is_fair;
    TimedWorld t(d, seconds(2000));
    const auto job = [&t](double submit, double run, int gpus, int user) {
      t.scenario.streams[0].trace.push_back({.submit = seconds(submit),
                                             .run = seconds(run),
                                             .limit = seconds(run),
                                             .gpus = gpus,
                                             .user = user});
    };
    job(0, 900, 2, 0);
    job(0, 200, 16, 1);
    job(210, 1000, 22, 2);
    job(1000, 50, 24, 1);
    job(1001, 50, 24, 0);
    t.run();
    const std::vector<double> wanted =
        is_fair ? std::vector<double>{0, 0, 0, 209, 260} : std::vector<double>{0, 0, 0, 210, 259};
    EXPECT_EQ(t.processes->streams().front()->outcome().waits_s, wanted);
  }
}

// What a user's job has used counts while it runs, and once.
TEST(FleetQueue, what_runs_has_used_its_part_by_now) {
  design::Design d = queue_design(3, {jobs_of("a", {})});
  d.scheduler.fair_share = true;
  TimedWorld t(d, seconds(2000));
  auto& trace = t.scenario.streams[0].trace;
  const auto job = [&trace](double submit, double run, int gpus, int user) {
    trace.push_back({.submit = seconds(submit),
                     .run = seconds(run),
                     .limit = seconds(run),
                     .gpus = gpus,
                     .user = user});
  };
  job(0, 1400, 3, 0);  // 3 x 1200 by the look at 1200 s
  job(0, 240, 16, 1);  // 16 x 240: more
  job(250, 1000, 21, 2);
  job(1000, 50, 21, 1);
  job(1001, 50, 21, 0);
  t.run();
  EXPECT_EQ(t.processes->streams().front()->outcome().waits_s,
            (std::vector<double>{0, 0, 0, 249, 300}));
}

// A feed of 100 kW: what draws always is no job's.
TEST(FleetQueue, a_scheduler_that_looks_at_power_knows_what_draws_always) {
  design::Design d = queue_design(10, {jobs_of("a", {})});
  d.fleet.front().spares = 2;
  StandingWorld blind(d);
  EXPECT_EQ(blind.world->meters().room(0), nullptr);
  d.scheduler.power_aware = true;
  d.sites.front().power = kilowatts(400);
  StandingWorld s(d);
  ASSERT_NE(s.world->meters().room(0), nullptr);
  const facility::PowerRoom& room = *s.world->meters().room(0);
  const machine::SiteLoad load = machine::load_of(s.machine, 0);
  EXPECT_EQ(room.feed, kilowatts(400));
  EXPECT_NEAR(room.always.base(), load.constant.base() + 12 * 2000, 1e-6);
  const auto power =
      site_power(s.machine.catalog(), load.request(load.hosts_nameplate + load.constant));
  EXPECT_EQ(room.pue, power->pue.middle);
  d.sites.front().power.reset();
  StandingWorld open(d);
  EXPECT_TRUE(std::isinf(open.world->meters().room(0)->feed.base()));
  EXPECT_NEAR(open.world->meters().room(0)->always.base(), 12 * 2000, 1e-6);
}

}  // namespace
}  // namespace orrery::twin
