// Work of several kinds on one world, second by second: reservations, qualities of service, the
// power of a site, faults that hit a group of hosts.
#include "twin/processes/process_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/jobs/build_machine.h"
#include "twin/processes/timed_fixture.h"

namespace orrery::processes {

using cluster::Cause;

namespace {

design::Reservation works(double start, double duration) {
  return {.name = "works", .start = seconds(start), .duration = seconds(duration)};
}

// All hosts from 200 s to 300 s: 148 s of work after 155 s of steps are saved beforehand.
TEST(ProcessSet, a_reservation_stops_a_run_which_resumes_after_it) {
  design::Design d = timed_design();
  d.scheduler.reservations = {works(200, 100)};
  TimedTrain t(seconds(400), d);
  t.run();
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 148 + 42},
                               {Cause::save, 7},
                               {Cause::requeue, 65},
                               {Cause::no_host, 35},
                               {Cause::restore, 13}});
  EXPECT_EQ(t.world->fleet(world::kFirstFleet).queue().stopped_for_reservations(), 1U);
  EXPECT_EQ(t.outcome().preemptions, 0U);
  EXPECT_NEAR(t.booked_s(Cause::no_host), 64 * 35, 1e-6);
}

// The queue takes a run to last twice its own time, and 20 years if it never ends.
TEST(ProcessSet, a_run_states_its_time_limit_to_the_queue) {
  for (const double raw : {0.0, 5000.0, 20 * 365.25 * 86400}) {
    TimedTrain t(seconds(100));
    t.job().raw_time = seconds(raw);
    Seconds limit;
    cluster::GpuAsk ask;
    t.at(50, [&](world::World& w) {
      limit = w.fleet(world::kFirstFleet).queue().job(t.running()).limit.seconds();
      ask = w.fleet(world::kFirstFleet).queue().job(t.running()).ask;
    });
    t.run();
    EXPECT_EQ(limit, raw == 5000 ? seconds(10000) : years(20));
    EXPECT_EQ(ask, (cluster::GpuAsk{.gpus = 64, .per_node = 8}));
  }
}

// A run that does not fill whole hosts goes where there is room.
TEST(ProcessSet, a_run_smaller_than_a_host_does_not_ask_for_whole_hosts) {
  TimedTrain t(seconds(100));
  t.job().accelerators = 12;
  cluster::GpuAsk ask;
  t.at(50,
       [&](world::World& w) { ask = w.fleet(world::kFirstFleet).queue().job(t.running()).ask; });
  t.run();
  EXPECT_EQ(ask, (cluster::GpuAsk{.gpus = 12, .per_node = 0}));
  EXPECT_NEAR(t.booked_s(Cause::start), 12 * 45, 1e-6);
}

// A run on hosts without a count of accelerators has all slots of its hosts.
TEST(ProcessSet, a_run_without_accelerators_holds_hosts) {
  TimedTrain t(seconds(100));
  t.job().accelerators = 0;
  t.job().hosts = 3;
  t.run();
  EXPECT_NEAR(t.booked_s(Cause::start), 24 * 45, 1e-6);
}

// 700 s of work: 500 are left after the spoilt part is taken back, and end 535 s of cycles later.
TEST(ProcessSet, work_spoilt_by_a_silent_fault_is_repeated) {
  TimedTrain t(seconds(2000));
  t.job().raw_time = seconds(700);
  world::HostIndex bad;
  t.at(45 + 250, [&](world::World& w) {
    bad = t.host_of_run(4);
    w.faults().corrupt(world::kFirstFleet, bad);
  });
  t.strike_run(545, {.name = "dies", .scope = kTakesProcess});
  t.at(546, [&](world::World& w) {
    w.faults().strike(world::kFirstFleet, bad, {.name = "found", .scope = kTakesHost}, 0);
  });
  t.run();
  // Steps again at 545 + 12 + 65 + 45 + 13; there are four saves in the five hundred seconds.
  EXPECT_EQ(t.outcome().runs_finished, 1U);
  EXPECT_EQ(t.outcome().finished_ns, (680 + 500 + 28) * 1'000'000'000LL);
  EXPECT_NEAR(t.outcome().units, 2100, 1e-6);
}

// A silent fault in one run does not affect the next.
TEST(ProcessSet, a_repeated_run_begins_without_a_copy) {
  design::Design d = timed_design();
  world::train_of(d).repeat = design::Recurrence{.every = seconds(500)};
  TimedTrain t(seconds(1000), d);
  t.job().raw_time = seconds(200);
  world::HostIndex bad;
  t.at(50, [&](world::World& w) {
    bad = t.host_of_run(0);
    w.faults().corrupt(world::kFirstFleet, bad);
  });
  t.at(700, [&](world::World& w) {
    w.faults().strike(world::kFirstFleet, bad, {.name = "dies", .scope = kTakesProcess}, 0);
  });
  t.run();
  // The second steps at 545; after 155 s 100 are saved, and it goes on at 834.
  expect_seconds(t.outcome(), {{Cause::start, 135},
                               {Cause::productive, 200 + 200},
                               {Cause::save, 7 + 7},
                               {Cause::lost, 48},
                               {Cause::detect, 11},
                               {Cause::requeue, 65},
                               {Cause::restore, 13}});
  EXPECT_EQ(t.outcome().runs_finished, 2U);
}

design::Design some_hosts(int hosts, const design::Workload& work) {
  design::Design d = world::sample_design();
  d.fleet.front().count = hosts;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery.requeue = seconds(40);
  d.workloads = {work};
  return d;
}

TEST(ProcessSet, a_reservation_stops_a_replica) {
  design::Serve serve;
  serve.network = design::PlainNetwork{.params = 1e8, .forward = Flops(1e13)};
  serve.replicas = 1;
  serve.arrivals = {.rate = PerSecond(6)};
  design::Design d = some_hosts(2, {.terms = {.name = "ranking"}, .task = serve});
  d.scheduler.reservations = {works(200, 100)};
  TimedWorld t(d, seconds(400));
  ServicePlan& p = t.scenario.services.front();
  p.job.start = seconds(50);
  p.slots = 4;
  p.replicas = p.least = 1;
  Seconds limit;
  t.at(100, [&](world::World& w) {
    const cluster::Queue& queue = w.fleet(world::kFirstFleet).queue();
    limit = queue.job(queue.running_jobs().front().job).limit.seconds();
  });
  t.run();
  EXPECT_EQ(limit, years(20));
  // It runs from 50 to 200, and from 350 on.
  EXPECT_EQ(t.processes->services().front()->outcome().standing_ns, 200'000'000'000);
}

TEST(ProcessSet, a_reservation_stops_slices) {
  design::Jobs jobs;
  jobs.rate = PerSecond(1);
  jobs.mean_duration = hours(1);
  jobs.mig = {{"1g.18gb", 1}};
  design::Design d = some_hosts(2, {.terms = {.name = "cuts"}, .task = jobs});
  d.fleet.front().node = "dgx-h200";
  d.scheduler.reservations = {works(2000, 100)};
  TimedWorld t(d, seconds(2500));
  t.scenario.slices.front().job.rate = PerSecond(0.1);
  t.scenario.slices.front().job.mean_run = seconds(5e7);
  std::size_t before = 0, within = 1, after = 0;
  Seconds limit;
  t.at(1999, [&](world::World& w) {
    const cluster::Queue& queue = w.fleet(world::kFirstFleet).queue();
    before = queue.running();
    limit = queue.job(queue.running_jobs().front().job).limit.seconds();
  });
  t.at(2050, [&](world::World& w) { within = w.fleet(world::kFirstFleet).queue().running(); });
  t.at(2499, [&](world::World& w) { after = w.fleet(world::kFirstFleet).queue().running(); });
  t.run();
  EXPECT_GT(before, 5U);
  EXPECT_EQ(within, 0U);
  EXPECT_GT(after, 5U);
  EXPECT_EQ(limit, years(20));
  EXPECT_GT(t.processes->slices().front()->outcome().stops, 30U);
  // If all accelerators are taken, only one more is asked for.
  EXPECT_LE(t.world->fleet(world::kFirstFleet).queue().waiting(), 1U);
}

// High preempts low, and low preempts none.
TEST(ProcessSet, a_qos_preempts_only_those_it_names) {
  for (const bool high_first : {true, false}) {
    const auto stream = [](const char* name) {
      design::Jobs jobs{.rate = PerSecond(1), .mean_duration = hours(1)};
      jobs.sizes = {8};
      design::Workload w{.terms = {.name = name}, .task = jobs};
      w.terms.qos = name;
      return w;
    };
    design::Design d = some_hosts(1, stream("high"));
    d.workloads.push_back(stream("low"));
    d.scheduler.preemption = design::Preemption::requeue;
    d.scheduler.qos = {{.name = "high", .preempts = {"low"}}, {.name = "low"}};
    TimedWorld t(d, seconds(400));
    const auto job = [&](std::size_t of, double submit) {
      t.scenario.streams[of].trace = {
          {.submit = seconds(submit), .run = seconds(100), .limit = seconds(100), .gpus = 8}};
    };
    job(0, high_first ? 0 : 30);
    job(1, high_first ? 30 : 0);
    t.run();
    const TaskOutcome& high = t.processes->streams()[0]->outcome();
    const TaskOutcome& low = t.processes->streams()[1]->outcome();
    EXPECT_EQ(high.waits_s, (std::vector<double>{0}));
    EXPECT_EQ(high.stops, 0U);
    EXPECT_EQ(low.stops, high_first ? 0U : 1U);
    EXPECT_EQ(low.waits_s, (std::vector<double>{high_first ? 70.0 : 0.0}));
    EXPECT_EQ(low.lost_slot_s, high_first ? 0 : 240);
    EXPECT_EQ(low.finished, 1U);
  }
}

// A host that failed unseen is found when the run that had it is put back, before the time-out.
TEST(ProcessSet, a_dead_host_is_found_when_its_job_leaves) {
  TimedTrain t(seconds(600));
  failure::FaultCause hangs{.name = "hangs", .scope = kTakesHost};
  hangs.sight = failure::FaultSight::timeout;
  t.strike_run(295, hangs, 2);
  t.at(345, [&](world::World& w) {
    w.fleet(world::kFirstFleet).queue().put_back(t.running(), cluster::StopCause::preempted);
  });
  t.run(true);
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 200 + 125},
                               {Cause::save, 21},
                               {Cause::lost, 36},
                               {Cause::detect, 50},
                               {Cause::requeue, 65},
                               {Cause::restore, 13}});
  EXPECT_EQ(t.outcome().preemptions, 1U);
  std::vector<double> repaired;
  for (const world::HostChange& c : t.recorder->host_changes()) {
    if (c.mark == world::HostMark::repair) repaired.push_back(c.at.seconds().base());
  }
  EXPECT_EQ(repaired, (std::vector<double>{345}));
  EXPECT_NEAR(t.booked_s(Cause::repair), 8 * 200, 1e-4);
}

// Two fleets behind one feed that carries twelve of their sixteen slots at work: the later job
// waits until the first has ended, although its own hosts are free.
TEST(ProcessSet, fleets_of_one_site_share_its_power_limit) {
  const auto stream = [](const char* name, const std::string& fleet) {
    design::Jobs jobs{.rate = PerSecond(1), .mean_duration = hours(1)};
    jobs.sizes = {8};
    design::Workload w{.terms = {.name = name}, .task = jobs};
    w.terms.fleet = fleet;
    return w;
  };
  design::Design d = some_hosts(2, stream("a", "train"));
  d.fleet.front().name = "train";
  d.fleet.push_back(d.fleet.front());
  d.fleet.back().name = "other";
  d.workloads.push_back(stream("b", "other"));
  d.scheduler.power_aware = true;
  d.sites.front().power = megawatts(5);
  TimedWorld ample(d, seconds(10));
  ample.run();
  const facility::PowerRoom room = *ample.world->meters().room(world::kFirstSite);
  for (const double slots : {12.0, 16.0}) {
    d.sites.front().power = (room.always + Watts(1000 * slots + 1)) * room.pue;
    TimedWorld t(d, seconds(400));
    t.scenario.streams[0].trace = {{.run = seconds(100), .limit = seconds(100), .gpus = 8}};
    t.scenario.streams[1].trace = {
        {.submit = seconds(10), .run = seconds(100), .limit = seconds(100), .gpus = 8}};
    t.run();
    EXPECT_EQ(t.processes->streams()[0]->outcome().waits_s, (std::vector<double>{0}));
    EXPECT_EQ(t.processes->streams()[1]->outcome().waits_s,
              (std::vector<double>{slots < 16 ? 90.0 : 0.0}));
    EXPECT_EQ(t.processes->streams()[1]->outcome().finished, 1U);
    EXPECT_EQ(t.world->meters().room(world::kFirstSite)->running, Watts(0));
  }
}

// Runs are numbered from the first run on, whatever services come before them.
TEST(ProcessSet, recorded_hosts_name_their_run_whatever_services_there_are) {
  const design::Serve serve;
  TimedTrain t(seconds(100));
  jobs::ServeJob& service = t.scenario.services.emplace_back().job;
  service.workload = &t.machine.design().workloads.front();
  service.serve = &serve;
  service.label = "service";
  service.infeasible = "nothing to run on";
  t.run(true);
  ASSERT_EQ(t.processes->services().size(), 1U);
  const std::vector<world::HostChange>& hosts = t.recorder->host_changes();
  ASSERT_EQ(hosts.size(), 8U);
  for (const world::HostChange& c : hosts) {
    EXPECT_EQ(c.mark, world::HostMark::held);
    EXPECT_EQ(c.holder, 0);
  }
  expect_seconds(t.outcome(), {{Cause::start, 45}, {Cause::productive, 55}});
}

// Three hosts of the run and a free one fail at once: the job on them is notified once.
TEST(ProcessSet, a_job_is_notified_once_of_a_group_fault) {
  for (const bool at_once : {true, false}) {
    TimedTrain t(seconds(340));
    failure::FaultCause cause{.name = "switch", .scope = kTakesHost, .keeps_disk = true};
    if (at_once) cause.sight = failure::FaultSight::at_once;
    int first = -1;
    t.at(145, [&](world::World& w) {
      first = 5;
      w.faults().strike_group(world::kFirstFleet, world::host_at(first), 4, cause);
      // They are away already.
      w.faults().strike_group(world::kFirstFleet, world::host_at(first), 4, cause);
    });
    t.run(true);
    EXPECT_EQ(t.outcome().interruptions, 1U);
    EXPECT_EQ(t.world->faults().faults(), 2U);
    EXPECT_EQ(t.world->faults().faults_told(), 1U);
    // Three are detected with the run's loss, the free one at once.
    std::map<std::uint32_t, double> seen;
    for (const world::HostChange& c : t.recorder->host_changes()) {
      if (c.mark == world::HostMark::repair) seen[c.host] = c.at.seconds().base();
    }
    const double later = at_once ? 145 : 156;
    EXPECT_EQ(seen,
              (std::map<std::uint32_t, double>{{5, later}, {6, later}, {7, later}, {8, 145}}));
    EXPECT_NEAR(t.booked_s(Cause::repair), 8 * (3 * (340 - later) + 340 - 145), 1e-4);
  }
}

}  // namespace
}  // namespace orrery::processes
