// What a fault costs a training run and how it comes back, second by second.
#include <gtest/gtest.h>

#include <cmath>

#include "twin/processes/timed_fixture.h"

namespace orrery::processes {

using cluster::at;
using cluster::Cause;

namespace {

failure::FaultCause fault_of(failure::FaultScope scope, bool keeps_disk = true) {
  return {.name = "it fails", .scope = scope, .keeps_disk = keeps_disk};
}

// A fault after some seconds of steps: their work, what saves took, and what is kept.
struct LossCase {
  const char* name;
  double after, work, saves, kept;
  failure::FaultScope scope = kTakesHost;
  bool keeps_disk = true;
  double notice = 0;
  double detect = 11;
  std::function<void(TimedTrain&)> change = [](TimedTrain&) {};
};

// It is detected, requeued in 40 x 1.5 + 5 s, starts in 45 s, reads its copy for 13 s if it has
// one, and steps for 50 s more.
void expect_loss(const LossCase& c) {
  SCOPED_TRACE(c.name);
  const double restore = c.kept > 0 ? 13 : 0;
  const double down = c.detect + 65 + 45 + restore;
  TimedTrain t(seconds(45 + c.after + down + 50));
  c.change(t);
  failure::FaultCause cause = fault_of(c.scope, c.keeps_disk);
  cause.notice = seconds(c.notice);
  if (c.detect > 11) cause.sight = failure::FaultSight::timeout;
  t.strike_run(45 + c.after, cause, 2);
  t.run();
  const JobOutcome& o = t.outcome();
  const std::map<Cause, double> wanted = {
      {Cause::start, 90},        {Cause::productive, c.kept + 50},
      {Cause::save, c.saves},    {Cause::lost, c.work - c.kept},
      {Cause::detect, c.detect}, {Cause::requeue, 65},
      {Cause::restore, restore}};
  expect_seconds(o, wanted);
  std::map<Cause, double> slots;
  for (const auto& [cause_of, s] : wanted) slots[cause_of] = s * 64;
  // A host that is lost is in repair from its detection on.
  if (c.scope == kTakesHost) slots[Cause::repair] = 8 * (down - c.detect + 50);
  if (slots[Cause::repair] > 8 * 200) slots[Cause::repair] = 8 * 200;
  expect_booked(t, slots);
  EXPECT_NEAR(o.units, (c.kept + 50) * 3, 1e-6);
  EXPECT_EQ(o.interruptions, 1U);
  EXPECT_EQ(o.restores, c.kept > 0 ? 1U : 0U);
  EXPECT_EQ(o.outages, 1U);
  EXPECT_NEAR(static_cast<double>(o.outage_ns), down * 1e9, 100);
  EXPECT_EQ(o.saves, static_cast<std::uint64_t>(c.saves / 7));
  EXPECT_EQ(o.runs_started, 1U);
  EXPECT_EQ(o.runs_finished + o.preemptions + o.holds + o.shrinks + o.grows, 0U);
  EXPECT_EQ(t.world->faults().faults(), 1U);
  EXPECT_EQ(t.world->faults().faults_told(), 1U);
}

// Copies can be read on their host 9 s after the save and survive it after 20 s: two cycles end
// after 214 s.
TEST(TrainProcessLoss, a_run_keeps_the_work_in_its_newest_readable_copy) {
  const LossCase kCases[] = {
      {"processes die", 250, 236, 14, 200, kTakesProcess},
      {"a host dies and can be read", 250, 236, 14, 200},
      {"before the copy can be read", 222, 208, 14, 100},
      {"as the copy can be read", 223, 209, 14, 200, kTakesProcess},
      {"before it is safe", 233, 219, 14, 100, kTakesHost, false},
      {"as it is safe", 234, 220, 14, 200, kTakesHost, false},
      {"in a save", 210, 200, 10, 100},
      {"before the first save", 60, 60, 0, 0},
      {"only a time-out sees it", 250, 236, 14, 200, kTakesProcess, true, 0, 190},
      {"likewise of a host", 250, 236, 14, 200, kTakesHost, true, 0, 190}};
  for (const LossCase& c : kCases) expect_loss(c);
}

TEST(TrainProcessLoss, an_announced_loss_is_saved_for_if_there_is_time) {
  // 225 - 30 s of steps are 188 s of work, safe 30 s after the save began.
  const LossCase kCases[] = {
      {"in time", 225, 211, 14, 188, kTakesHost, false, 30},
      {"a second too late", 225, 211, 14, 100, kTakesHost, false, 30, 11,
       [](TimedTrain& t) { t.save().stall.safe = seconds(31); }},
      {"the copy that is there is newer", 225, 211, 14, 200, kTakesHost, true, 30},
      {"it had not begun", 25, 25, 0, 0, kTakesHost, false, 30},
      {"it never is safe", 225, 211, 14, 0, kTakesHost, false, 30, 11,
       [](TimedTrain& t) { t.save().safe = nullptr; }}};
  for (const LossCase& c : kCases) expect_loss(c);
}

TEST(TrainProcessLoss, the_place_of_copies_decides_what_is_kept) {
  const auto shared_first = [](TimedTrain& t) { t.save().first = &t.shared; };
  const auto in_step = [](TimedTrain& t) { t.save().async = false; };
  const LossCase kCases[] = {
      {"not written on hosts: it is there when it is safe", 225, 211, 14, 100, kTakesProcess, true,
       0, 11, shared_first},
      {"safe when the run goes on", 215, 201, 14, 200, kTakesHost, false, 0, 11,
       [&](TimedTrain& t) { in_step(t), shared_first(t); }},
      {"written in step on hosts", 215, 201, 14, 200, kTakesHost, true, 0, 11, in_step},
      {"as the run goes on", 214, 200, 14, 200, kTakesHost, true, 0, 11, in_step},
      {"and drained later", 215, 201, 14, 100, kTakesHost, false, 0, 11, in_step},
      {"on hosts alone, and read there", 215, 201, 14, 200, kTakesHost, true, 0, 11,
       [&](TimedTrain& t) { in_step(t), t.save().safe = nullptr; }},
      {"on hosts alone, and lost with one", 250, 236, 14, 0, kTakesHost, false, 0, 11,
       [](TimedTrain& t) { t.save().safe = nullptr; }},
      {"no copies", 250, 250, 0, 0, kTakesProcess, true, 0, 11,
       [](TimedTrain& t) { t.job().checkpoint.reset(); }},
      {"never saved", 250, 250, 0, 0, kTakesProcess, true, 0, 11,
       [](TimedTrain& t) { t.save().interval = Seconds(0); }}};
  for (const LossCase& c : kCases) expect_loss(c);
}

// A peer has a second copy of what the lost host wrote.
TEST(TrainProcessLoss, a_peer_has_what_a_lost_host_wrote) {
  for (const int replicas : {1, 2}) {
    design::Design d = timed_design();
    world::train_of(d).checkpoint->replicas = replicas;
    TimedTrain t(seconds(500), d);
    t.strike_run(45 + 225, fault_of(kTakesHost, false));
    t.run();
    EXPECT_EQ(t.outcome().time_ns[at(Cause::lost)], (replicas == 2 ? 11 : 111) * 1'000'000'000LL);
  }
}

// Two faults at the same place: there is one outage, and it begins with the first.
TEST(TrainProcessLoss, a_fault_during_a_restart_starts_it_over) {
  TimedTrain t(seconds(600));
  t.strike_run(295, fault_of(kTakesProcess));
  t.strike_run(295 + 11 + 65 + 20, fault_of(kTakesProcess));
  t.run();
  // 391 + 11 + 65 + 45 + 13 = 525, and 75 s of steps.
  expect_seconds(t.outcome(), {{Cause::start, 45 + 20 + 45},
                               {Cause::productive, 275},
                               {Cause::save, 14},
                               {Cause::lost, 36},
                               {Cause::detect, 22},
                               {Cause::requeue, 130},
                               {Cause::restore, 13}});
  EXPECT_EQ(t.outcome().interruptions, 2U);
  EXPECT_EQ(t.outcome().outages, 1U);
  EXPECT_EQ(t.outcome().outage_ns, 230'000'000'000);
}

struct PutBackCase {
  cluster::StopCause cause;
  bool saves = true;
  double lost = 36;
  std::uint64_t preemptions = 0;
};

// The scheduler takes its hosts after 250 s of steps: a reservation was known in advance, so the
// work is saved.
TEST(TrainProcessLoss, a_preempted_run_waits_for_the_requeue_delay) {
  const PutBackCase kCases[] = {{cluster::StopCause::preempted, true, 36, 1},
                                {cluster::StopCause::failed, true, 36, 0},
                                {cluster::StopCause::reserved, true, 0, 0},
                                {cluster::StopCause::reserved, false, 250, 0}};
  for (const PutBackCase& c : kCases) {
    SCOPED_TRACE(word_of(c.cause));
    TimedTrain t(seconds(500));
    if (!c.saves) t.job().checkpoint.reset();
    t.at(295, [&](world::World& w) {
      w.fleet(world::kFirstFleet).queue().put_back(t.running(), c.cause);
    });
    t.run();
    // At 360 it asks for hosts, at 405 it has started, at 418 it has its copy.
    expect_seconds(t.outcome(), {{Cause::start, 90},
                                 {Cause::productive, c.saves ? 236 - c.lost + 82 : 95},
                                 {Cause::save, c.saves ? 14 : 0},
                                 {Cause::lost, c.lost},
                                 {Cause::requeue, 65},
                                 {Cause::restore, c.saves ? 13 : 0}});
    EXPECT_EQ(t.outcome().preemptions, c.preemptions);
    EXPECT_EQ(t.outcome().interruptions, 0U);
    EXPECT_EQ(t.outcome().outages, 0U);
    EXPECT_NEAR(t.booked_s(Cause::requeue), 64 * 65, 1e-6);
    EXPECT_NEAR(t.booked_s(Cause::no_host), 0, 1e-6);
  }
}

TEST(TrainProcessLoss, a_run_requeued_while_starting_starts_again) {
  TimedTrain t(seconds(200));
  t.at(20, [&](world::World& w) {
    w.fleet(world::kFirstFleet).queue().put_back(t.running(), cluster::StopCause::preempted);
  });
  t.run();
  expect_seconds(t.outcome(), {{Cause::start, 65}, {Cause::requeue, 65}, {Cause::productive, 70}});
}

// 472 s of work after 500 s of steps, 400 of them saved and 200 from before the host went wrong.
TEST(TrainProcessLoss, a_silent_fault_spoils_later_saves) {
  TimedTrain t(seconds(800));
  world::HostIndex bad, good;
  t.at(20, [&](world::World& w) {
    good = t.host_of_run(5);
    w.faults().corrupt(world::kFirstFleet, good);  // the run does not step yet
  });
  t.at(295, [&](world::World& w) {
    bad = t.host_of_run(4);
    w.faults().corrupt(world::kFirstFleet, bad);
  });
  t.at(545, [&](world::World& w) {
    w.faults().strike(world::kFirstFleet, bad, fault_of(kTakesProcess), 0);
  });
  // 545 + 11 + 65 + 45 + 13 = 679; then an ordinary crash.
  t.at(749, [&](world::World& w) {
    w.faults().strike(world::kFirstFleet, good, fault_of(kTakesProcess), 0);
  });
  t.run();
  expect_seconds(t.outcome(), {{Cause::start, 90},
                               {Cause::productive, 200},
                               {Cause::save, 28},
                               {Cause::lost, 272 + 70},
                               {Cause::detect, 22},
                               {Cause::requeue, 65 + 40},
                               {Cause::restore, 13}});
  EXPECT_NEAR(t.outcome().units, 600, 1e-6);
}

struct FoundCase {
  double silent;  // when it went wrong, in seconds of steps
  double sound;   // work that was saved before that
};

// A crash after 500 s of steps keeps 400 s of work; a second later the host is found.
TEST(TrainProcessLoss, spoilt_work_is_dropped_while_the_run_is_down) {
  for (const FoundCase& c : {FoundCase{250, 200}, FoundCase{50, 0}, FoundCase{490, 400}}) {
    SCOPED_TRACE(c.silent);
    const double restore = c.sound > 0 ? 13 : 0;
    TimedTrain t(seconds(545 + 12 + 65 + 45 + restore + 30));
    world::HostIndex bad;
    t.at(45 + c.silent, [&](world::World& w) {
      bad = t.host_of_run(4);
      w.faults().corrupt(world::kFirstFleet, bad);
    });
    t.strike_run(545, fault_of(kTakesProcess));
    t.at(546, [&](world::World& w) {
      w.faults().strike(world::kFirstFleet, bad, fault_of(kTakesHost), 0);
    });
    t.run();
    expect_seconds(t.outcome(), {{Cause::start, 90},
                                 {Cause::productive, c.sound + 30},
                                 {Cause::save, 28},
                                 {Cause::lost, 472 - c.sound},
                                 {Cause::detect, 12},
                                 {Cause::requeue, 65},
                                 {Cause::restore, restore}});
    EXPECT_NEAR(t.outcome().units, (c.sound + 30) * 3, 1e-6);
    EXPECT_EQ(t.outcome().interruptions, 2U);
    EXPECT_EQ(t.outcome().outages, 1U);
    EXPECT_NEAR(t.booked_s(Cause::lost), 64 * (472 - c.sound), 1e-4);
    EXPECT_NEAR(t.booked_s(Cause::detect), 64 * 12, 1e-4);
  }
}

// Four losses in a row, each on another host and within ten minutes of the start: a person looks.
TEST(TrainProcessLoss, a_run_that_breaks_hosts_is_held_for_a_person) {
  for (const bool is_given : {true, false}) {
    design::Design d = timed_design();
    d.fleet.front().count = 60;
    if (is_given) d.scheduler.recovery.operator_response = seconds(400);
    TimedTrain t(seconds(4000), d);
    t.scenario.fleets[world::kFirstFleet].repair.reset = days(10);
    double now = 0;
    for (int loss = 0; loss < 4; ++loss) {
      now += 45 + 60;  // it steps for a minute, and has no copy
      t.strike_run(now, fault_of(kTakesHost), static_cast<std::size_t>(loss));
      now += 11 + 65;
    }
    t.run();
    const double held = is_given ? 400 : 1800;
    EXPECT_EQ(t.outcome().holds, 1U);
    // After 724 s and the hold it steps to the end: cycles of 107 s.
    const double steps = 4000 - 724 - held - 45;
    const double saves = std::floor(steps / 107) * 7;
    expect_seconds(t.outcome(), {{Cause::start, 5 * 45},
                                 {Cause::lost, 240},
                                 {Cause::detect, 44},
                                 {Cause::requeue, 4 * 65 + held},
                                 {Cause::save, saves},
                                 {Cause::productive, steps - saves}});
  }
}

TEST(TrainProcessLoss, a_run_that_asks_for_too_much_never_starts) {
  TimedTrain t(seconds(100));
  t.job().accelerators = 81;
  t.run();
  EXPECT_TRUE(t.outcome().never_fits);
  EXPECT_EQ(t.outcome().runs_started, 1U);
  expect_seconds(t.outcome(), {{Cause::no_host, 100}});
  expect_booked(t, {});
}

}  // namespace
}  // namespace orrery::processes
