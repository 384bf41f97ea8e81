// A service second by second: its replicas start, answer, die, are renewed and follow the load.
#include "twin/processes/service_process.h"

#include <gtest/gtest.h>

#include "twin/processes/timed_fixture.h"

namespace orrery::processes {

using cluster::Cause;

namespace {

design::Design answering_design(int hosts) {
  design::Design d = world::sample_design();
  d.fleet.front().count = hosts;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery.requeue = seconds(100);
  design::Serve serve;
  serve.network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
  serve.replicas = 3;
  serve.arrivals = {.rate = PerSecond(6)};
  d.workloads.front() = {.terms = {.name = "ranking"}, .task = serve};
  return d;
}

// Three replicas of four slots that start in 50 s; six requests per second in the first hour and
// nine in the second. At two per second a replica is busy a quarter of the time, at four half.
struct TimedService : TimedWorld {
  explicit TimedService(Seconds horizon, const design::Design& d = answering_design(3))
      : TimedWorld(d, horizon) {
    EXPECT_EQ(scenario.services.size(), 1U);
    ServicePlan& p = plan();
    p.slots = 4;
    p.replicas = p.least = 3;
    p.job.start = seconds(50);
    p.most = 10;
    p.capacity = 8;
    p.job.day.fill(6);
    p.job.day[1] = 9;
    p.windows.levels = {{.rate = 2, .busy = 0.25, .stay = 1}, {.rate = 4, .busy = 0.5, .stay = 3}};
    scenario.fleets[world::kFirstFleet].hosts_per_rack = 1;
  }
  ServicePlan& plan() { return scenario.services.front(); }
  const ServiceOutcome& outcome() const { return processes->services().front()->outcome(); }
};

using Loads = std::map<std::pair<std::size_t, int>, double>;

// Seconds by the hour and the running replicas, without other zones.
void expect_loads(const ServiceOutcome& o, const Loads& wanted) {
  Loads got;
  for (const auto& [load, ns] : o.time_ns) {
    EXPECT_EQ(load.traffic, ZoneTraffic{});
    got[{load.hour, load.standing}] = static_cast<double>(ns) / 1e9;
  }
  EXPECT_EQ(got, wanted);
}

TEST(ServiceProcess, replicas_start_and_answer_the_hours_traffic) {
  TimedService t(hours(2));
  const world::World& world = t.run(true);
  const ServiceOutcome& o = t.outcome();
  expect_loads(o, {{{0, 0}, 50}, {{0, 3}, 3550}, {{1, 3}, 3600}});
  EXPECT_EQ(o.down_ns, 150'000'000'000);
  EXPECT_EQ(o.standing_ns, 3 * 7150'000'000'000);
  EXPECT_EQ(o.faults + o.lost_replicas + o.called + o.given_up + o.never_placed, 0U);
  // Twelve slots, busy a quarter of the first hour and three eighths of the second.
  const double busy = 3550 * 0.25 + 3600 * 0.375;
  expect_booked(t, {{Cause::start, 12 * 50},
                    {Cause::productive, 12 * busy},
                    {Cause::standby, 12 * (7150 - busy)}});
  // One and a half hosts draw 0.57 of the rise while they are busy, and all of it at their highest.
  EXPECT_NEAR(world.meters().site(world::kFirstSite).energy.base(),
              6000.0 * 7200 + 1.5 * 8000 * 0.57 * busy, 1);
  EXPECT_NEAR(world.meters().site(world::kFirstSite).highest.base(), 6000 + 1.5 * 8000, 1e-6);
  EXPECT_NEAR(t.level("restart_accelerators", 20), 12, 1e-9);
  EXPECT_NEAR(t.level("idle_accelerators", 20), 12, 1e-9);
  EXPECT_NEAR(t.level("productive_accelerators", 100), 3, 1e-9);
  EXPECT_NEAR(t.level("idle_accelerators", 100), 21, 1e-9);
  EXPECT_NEAR(t.level("productive_accelerators", 4000), 4.5, 1e-9);
  EXPECT_NEAR(t.level("idle_accelerators", 4000), 19.5, 1e-9);
  // Two replicas are in the first rack and one in the second.
  const auto racks = t.world->fleet(world::kFirstFleet).racks().until(sim::SimTime::from(hours(2)));
  ASSERT_EQ(racks.size(), 3U);
  EXPECT_NEAR(racks[0].energy.base(), 8000 * 0.57 * busy, 1);
  EXPECT_NEAR(racks[1].energy.base(), 4000 * 0.57 * busy, 1);
  EXPECT_EQ(racks[2].energy.base(), 0);
  EXPECT_NEAR(racks[0].highest.base(), 8000, 1e-6);
  EXPECT_NEAR(racks[1].highest.base(), 4000, 1e-6);
}

// After the 24th hour the first repeats.
TEST(ServiceProcess, the_hours_of_the_day_repeat) {
  TimedService t(hours(26));
  t.plan().job.day.fill(3);
  t.plan().job.day[1] = 9;
  t.run();
  const auto& time = t.outcome().time_ns;
  EXPECT_EQ(time.at({.hour = 1, .standing = 3}), 2 * 3600'000'000'000);
  EXPECT_EQ(time.at({.hour = 0, .standing = 3}), 7150'000'000'000);
  EXPECT_EQ(time.at({.hour = 23, .standing = 3}), 3600'000'000'000);
  // Twelve slots at one per second, except for the two hours at three.
  EXPECT_NEAR(t.booked_s(Cause::productive), 12 * ((26 * 3600 - 7250) * 0.125 + 7200 * 0.375), 1);
}

failure::FaultCause service_fault(failure::FaultScope scope) {
  return {.name = "it fails", .scope = scope};
}

// Its launcher starts it again in its place once the health check has detected the fault.
TEST(ServiceProcess, a_replica_restarts_in_place_after_a_process_fault) {
  for (const bool is_given : {true, false}) {
    design::Design d = answering_design(3);
    d.scheduler.recovery.detect.reset();
    if (is_given) d.scheduler.recovery.detect = seconds(25);
    TimedService t(hours(1), d);
    t.strike(1000, 1, service_fault(kTakesProcess));
    t.strike(1010, 1, service_fault(kTakesProcess));  // it hangs already
    t.run(true);
    const double detect = is_given ? 25 : 60;
    // The second fault is detected with the same delay, counted from itself.
    const double down = 10 + detect + 50;
    expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 2}, down}, {{0, 3}, 3550 - down}});
    EXPECT_EQ(t.outcome().faults, 2U);
    EXPECT_EQ(t.outcome().lost_replicas, 1U);
    EXPECT_NEAR(static_cast<double>(t.outcome().down_ns), (150 + down) * 1e9, 1);
    // The other two have three per second each.
    const double productive = 12 * (3550 - down) * 0.25 + 8 * down * 0.375;
    expect_booked(t, {{Cause::start, 14 * 50 + 2 * 50},
                      {Cause::detect, 4 * (10 + detect)},
                      {Cause::productive, productive},
                      {Cause::standby, 12 * (3550 - down) + 8 * down - productive}});
    EXPECT_NEAR(t.level("productive_accelerators", 1005), 3, 1e-9);
    EXPECT_NEAR(t.level("idle_accelerators", 1005), 24 - 4 - 3, 1e-9);
    EXPECT_NEAR(t.level("restart_accelerators", 1005), 4, 1e-9);
    const auto racks =
        t.world->fleet(world::kFirstFleet).racks().until(sim::SimTime::from(hours(1)));
    EXPECT_NEAR(racks[1].energy.base(), 4000 * 0.57 * (0.25 * (3550 - down) + 10 + detect), 1);
  }
}

// Both replicas of the first host are put back and may start again after 100 s; 6 per second on one
// replica are a third of the way from the simulated load to what it carries at all.
TEST(ServiceProcess, replicas_of_a_lost_host_are_requeued) {
  TimedService t(hours(1));
  t.strike(1000, 0, service_fault(kTakesHost));
  t.run();
  expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 1}, 210}, {{0, 3}, 3340}});
  EXPECT_EQ(t.outcome().faults, 2U);
  EXPECT_EQ(t.outcome().lost_replicas, 2U);
  const double alone = 0.5 + 0.5 * (6 - 4) / (10 - 4);
  const double productive = 12 * 3340 * 0.25 + 4 * 210 * alone;
  expect_booked(t, {{Cause::start, 12 * 50 + 8 * 50},
                    {Cause::detect, 8 * 60},
                    {Cause::stranded, 8 * 100},
                    {Cause::repair, 8 * 200},
                    {Cause::productive, productive},
                    {Cause::standby, 12 * 3340 + 4 * 210 - productive}});
}

TEST(ServiceProcess, an_evicted_replica_starts_again) {
  TimedService t(hours(1));
  const auto put_back = [&](double second) {
    t.at(second, [](world::World& w) {
      cluster::Queue& queue = w.fleet(world::kFirstFleet).queue();
      queue.put_back(queue.running_jobs().front().job, cluster::StopCause::preempted);
    });
  };
  put_back(20);    // while it starts
  put_back(1000);  // while it answers
  t.run();
  // The first runs at 170, then one is away from 1000 to 1150.
  expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 2}, 120 + 150}, {{0, 3}, 3280}});
  EXPECT_EQ(t.outcome().faults, 0U);
  EXPECT_NEAR(t.booked_s(Cause::start), 4 * (50 + 50 + 20 + 50 + 50), 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::stranded), 4 * 200, 1e-4);
}

TEST(ServiceProcess, replicas_load_new_weights_one_after_the_other) {
  TimedService t(hours(1));
  t.at(1000, [](world::World& w) { w.process(world::ProcessIndex(0)).call(); });
  t.run();
  expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 2}, 150}, {{0, 3}, 3400}});
  EXPECT_NEAR(t.booked_s(Cause::start), 12 * 50 + 4 * 150, 1e-4);
}

// Called at 20 s, the first starts over and runs at 70 s; the others run since 50 s and reload
// until 120 s and 170 s.
TEST(ServiceProcess, a_starting_replica_restarts_with_new_weights) {
  TimedService t(hours(1));
  t.at(20, [](world::World& w) { w.process(world::ProcessIndex(0)).call(); });
  t.run();
  expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 2}, 120}, {{0, 3}, 3430}});
}

// The replica that reloads dies at 1010: the next goes on at once, and the dead one comes back at
// 1120 with the newest weights.
TEST(ServiceProcess, a_dead_replica_does_not_delay_new_weights_elsewhere) {
  TimedService t(hours(1));
  t.at(1000, [](world::World& w) { w.process(world::ProcessIndex(0)).call(); });
  t.at(1010, [](world::World& w) {
    w.faults().strike(world::kFirstFleet, world::HostIndex(0), service_fault(kTakesProcess), 0);
  });
  t.run();
  // 1000..1010 two, 1010..1110 one, 1110..1120 two.
  expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 1}, 100}, {{0, 2}, 20}, {{0, 3}, 3430}});
}

TEST(ServiceProcess, traffic_of_other_zones_changes_the_load) {
  TimedService t(hours(1));
  const auto take = [&](double second, const ZoneTraffic& traffic) {
    t.at(second,
         [&t, traffic](world::World&) { t.processes->services()[0]->take_traffic(traffic); });
  };
  take(20, {.away = 6});
  take(30, {.away = 5});  // given up once
  take(100, {.away = 1, .refused = 0.5, .guests = 4.5});
  take(200, {.away = 1, .refused = 0.5, .guests = 4.5});
  t.at(300, [&t](world::World&) {
    const traffic::RegionNow now = t.processes->services()[0]->region_now();
    EXPECT_EQ(now.load, 6);
    EXPECT_EQ(now.capacity, 24);
  });
  t.run(true);
  const auto& time = t.outcome().time_ns;
  EXPECT_EQ(time.size(), 5U);
  EXPECT_EQ(time.at({.hour = 0, .standing = 0}), 20'000'000'000);
  EXPECT_EQ(time.at({.hour = 0, .standing = 0, .traffic = {.away = 6}}), 10'000'000'000);
  EXPECT_EQ(time.at({.hour = 0, .standing = 0, .traffic = {.away = 5}}), 20'000'000'000);
  EXPECT_EQ(time.at({.hour = 0, .standing = 3, .traffic = {.away = 5}}), 50'000'000'000);
  EXPECT_EQ(
      time.at({.hour = 0, .standing = 3, .traffic = {.away = 1, .refused = 0.5, .guests = 4.5}}),
      3500'000'000'000);
  EXPECT_EQ(t.outcome().given_up, 1U);
  // One per second and then nine on three replicas.
  EXPECT_NEAR(t.booked_s(Cause::productive), 12 * (50 * 0.25 / 6 + 3500 * 0.375), 1e-3);
  EXPECT_NEAR(t.level("productive_accelerators", 70), 0.5, 1e-9);
  EXPECT_NEAR(t.level("productive_accelerators", 150), 4.5, 1e-9);
  EXPECT_NEAR(t.level("idle_accelerators", 150), 19.5, 1e-9);
  EXPECT_NEAR(t.level("main_it_w", 150), 6000 + 1.5 * 8000 * 0.57 * 0.375, 1e-6);
}

TEST(ServiceProcess, a_replica_wider_than_the_fleet_is_never_placed) {
  TimedService t(hours(1));
  t.plan().slots = 25;
  t.run();
  EXPECT_EQ(t.outcome().never_placed, 3U);
  expect_loads(t.outcome(), {{{0, 0}, 3600}});
  EXPECT_EQ(t.outcome().down_ns, 3 * 3600'000'000'000);
  expect_booked(t, {});
}

TEST(ServiceProcess, replicas_on_slices_come_and_go_together) {
  TimedService t(hours(1));
  t.plan().slots = 1;
  t.plan().beside = 2;
  t.at(1000, [](world::World& w) {
    w.faults().strike(world::kFirstFleet, world::HostIndex(0), service_fault(kTakesProcess), 0);
  });
  t.at(2000, [](world::World& w) {
    w.faults().strike(world::kFirstFleet, world::HostIndex(0), service_fault(kTakesProcess), 0.2);
  });
  t.run();
  // Two placements, of two and of one.
  expect_loads(t.outcome(), {{{0, 0}, 50}, {{0, 1}, 110}, {{0, 2}, 110}, {{0, 3}, 3330}});
  EXPECT_EQ(t.outcome().lost_replicas, 3U);
  EXPECT_NEAR(t.booked_s(Cause::start), 4 * 50, 1e-4);
}

// Six requests per second on replicas of four slots that carry ten; they start in 50 s, and every
// minute the load is compared with six in flight each.
struct ScaledService : TimedWorld {
  static design::Design design_of(int hosts, Seconds lag, Seconds hold) {
    design::Design d = world::sample_design();
    d.fleet.front().count = hosts;
    d.fleet.front().spares = 0;
    d.fleet.front().failures = {.node_mtbf = years(1e6)};
    design::Serve serve;
    serve.network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
    serve.autoscale = design::Autoscale{
        .min = 1, .max = 4, .target = 6, .period = seconds(60), .lag = lag, .hold = hold};
    serve.arrivals = {.rate = PerSecond(6)};
    d.workloads.front() = {.terms = {.name = "ranking"}, .task = serve};
    return d;
  }
  explicit ScaledService(Seconds horizon, int hosts = 3, Seconds lag = Seconds(0),
                         Seconds hold = Seconds(0))
      : TimedWorld(design_of(hosts, lag, hold), horizon) {
    ServicePlan& p = plan();
    p.slots = 4;
    p.replicas = 4;
    p.least = 1;
    p.job.target = PerSecond(3);
    p.job.start = seconds(50);
    p.most = 10;
    p.job.day.fill(6);
    p.windows.levels = {{.rate = 2, .busy = 0.25, .stay = 1}, {.rate = 4, .busy = 0.5, .stay = 3}};
  }
  ServicePlan& plan() { return scenario.services.front(); }
  const ServiceOutcome& outcome() const { return processes->services().front()->outcome(); }
  // Seconds by the number of running replicas.
  std::map<int, double> standing() const {
    std::map<int, double> got;
    for (const auto& [load, ns] : outcome().time_ns) {
      got[load.standing] += static_cast<double>(ns) / 1e9;
    }
    return got;
  }
};

using Standing = std::map<int, double>;

// 300 requests arrived before the first two ran; at 60 s, 160 of them are left, and 12 in flight:
// all four are started. At 120 s they hold six in all: one is kept, which at 180 s has 18 in
// flight; three are wanted, and at 240 s one again.
TEST(ServiceProcess, replicas_follow_requests_in_flight) {
  ScaledService t(seconds(250));
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {1, 120}, {2, 60}, {3, 10}, {4, 10}}));
  EXPECT_EQ(t.outcome().called, 4U);
  EXPECT_EQ(t.outcome().standing_ns, 310'000'000'000);
  EXPECT_EQ(t.outcome().down_ns, (2 + 2 + 2) * 50'000'000'000);
  EXPECT_NEAR(t.booked_s(Cause::start), 4 * 50 * 6, 1e-4);
  EXPECT_EQ(t.outcome().never_placed, 0U);
}

// The load figures are a minute old: the four are started at 120 s, run at 170 s, and at 180 s the
// 12 in flight of two replicas are seen.
TEST(ServiceProcess, scaling_lag_delays_new_replicas) {
  ScaledService t(seconds(190), 3, seconds(60));
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {2, 130}, {4, 10}}));
  EXPECT_EQ(t.outcome().called, 2U);
}

// Four stay until no decision of the last 100 s wanted them: that of 60 s counted until 160 s.
TEST(ServiceProcess, surplus_replicas_are_kept_for_the_hold_time) {
  ScaledService t(seconds(235), 3, Seconds(0), seconds(100));
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {1, 55}, {2, 60}, {4, 70}}));
}

// With a start of 70 s, the first two have answered all by 120 s: the two that still start are
// removed.
TEST(ServiceProcess, a_starting_replica_can_be_retired) {
  ScaledService t(seconds(250));
  t.plan().job.start = seconds(70);
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 70}, {2, 180}}));
  EXPECT_EQ(t.outcome().called, 2U);
  EXPECT_EQ(t.outcome().down_ns, (60 * 2 + 10 * 4 + 50 * 2) * 1'000'000'000LL);
  EXPECT_NEAR(t.booked_s(Cause::start), 2 * 4 * 70 + 2 * 4 * 60, 1e-4);
}

// One host has room for two; the others wait until they are no longer wanted.
TEST(ServiceProcess, a_queued_replica_can_be_retired) {
  ScaledService t(seconds(250), 1);
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {2, 200}}));
  EXPECT_EQ(t.outcome().called, 2U);
  EXPECT_EQ(t.world->fleet(world::kFirstFleet).queue().waiting(), 0U);
  EXPECT_NEAR(t.booked_s(Cause::stranded), 0, 1e-9);
}

// Called with new weights at 115 s, the third reloads when all but the first leave at 120 s.
TEST(ServiceProcess, a_retired_replica_does_not_delay_new_weights) {
  ScaledService t(seconds(175));
  t.at(111, [](world::World& w) { w.process(world::ProcessIndex(0)).call(); });
  t.run();
  // At 120 s three run and the first reloads: six in flight, and one is wanted. The last three
  // stop; the first runs again at 161 s.
  EXPECT_EQ(t.standing(), (Standing{{0, 50 + 41}, {1, 14}, {2, 60}, {3, 9}, {4, 1}}));
}

// With little traffic, only the minimum runs.
TEST(ServiceProcess, the_minimum_of_replicas_always_runs) {
  ScaledService t(seconds(250));
  t.plan().job.day.fill(0.1);
  t.plan().least = 2;
  t.run();
  EXPECT_EQ(t.standing(), (Standing{{0, 50}, {2, 200}}));
  EXPECT_EQ(t.outcome().called, 0U);
}

}  // namespace
}  // namespace orrery::processes
