// For tests: a world with the processes of a scenario, with costs and events set by the test, so
// that every second of it can be worked out by hand.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "twin/processes/process_set.h"
#include "twin/world/clocked_fixture.h"

namespace orrery::processes {

using cluster::at;
using cluster::Cause;
using cluster::kCauses;
using world::kTakesHost;
using world::kTakesProcess;

class TimedWorld : public world::ClockedWorld<Scenario> {
 public:
  TimedWorld(design::Design d, Seconds horizon)
      : ClockedWorld(
            std::move(d), [](const machine::Machine& m, Seconds h) { return scenario_of(m, h); },
            horizon) {}

  std::unique_ptr<ProcessSet> processes;

 protected:
  void populate() override { processes = std::make_unique<ProcessSet>(*world, scenario); }
};

// Ten hosts of eight, of which a run has eight, one replica per host; nothing fails by itself.
inline design::Design timed_design() {
  design::Design d = world::sample_design();
  design::Fleet& fleet = d.fleet.front();
  fleet.count = 10;
  fleet.spares = 0;
  fleet.failures = {.node_mtbf = years(1e6)};
  d.workloads.front().terms.nodes = 8;
  design::Train& train = world::train_of(d);
  train.model = "llama-3-8b";
  train.layout = design::Layout{.tp = 8, .pp = 1, .dp = 8};
  train.batch = 768;
  train.tokens = 1e15;
  train.checkpoint->every = minutes(5);
  return d;
}

// Starts in 45 s, saves for 7 s after every 100 s of steps; a copy can be read after 9 s and is
// safe after 20 s; three units of work per second.
struct TimedTrain : TimedWorld {
  explicit TimedTrain(Seconds horizon, const design::Design& d = timed_design())
      : TimedWorld(d, horizon) {
    local.per_node = true;
    EXPECT_EQ(scenario.trains.size(), 1U);
    jobs::TrainJob& j = job();
    EXPECT_EQ(j.infeasible, "");
    j.raw_time = Seconds(0);
    j.feed = {};
    j.contended = {};
    j.step.step = seconds(2);
    j.step.units_per_step = 6;
    j.step.matrix_share = 0.5;
    j.step.memory_share = 0.2;
    j.step.exposed_share = 0.1;
    j.failure = {};
    j.failure.noticed = seconds(11);
    j.failure.hang = seconds(190);
    j.failure.requeue = seconds(40);
    j.failure.start = seconds(30);
    j.failure.attempts = 1.5;
    j.failure.hands = seconds(5);
    jobs::SavePlan save;
    save.first = &local;
    save.safe = &shared;
    save.interval = seconds(100);
    save.stall.total = seconds(7);
    save.stall.safe = seconds(30);
    save.write.total = seconds(9);
    save.drain.total = seconds(20);
    save.restore.total = seconds(13);
    j.checkpoint = save;
  }
  jobs::TrainJob& job() { return scenario.trains.front(); }
  jobs::SavePlan& save() { return *job().checkpoint; }
  const JobOutcome& outcome() const { return processes->trains().front()->outcome(); }
  cluster::Queue& first_queue() const { return world->fleet(world::kFirstFleet).queue(); }
  cluster::JobIndex running() const { return first_queue().running_jobs().front().job; }
  // The nth of the hosts that it has at that time.
  world::HostIndex host_of_run(std::size_t nth) const {
    return world::host_at(first_queue().job(running()).shares[nth].node);
  }
  void strike_run(double second, const failure::FaultCause& cause, std::size_t nth = 0) {
    at(second, [this, nth, cause](world::World& w) {
      w.faults().strike(world::kFirstFleet, host_of_run(nth), cause, 0);
    });
  }

  machine::Tier local;
  machine::Tier shared;
};

// Seconds of the run's wall time by cause; causes that are not named have none.
inline void expect_seconds(const JobOutcome& o, const std::map<Cause, double>& wanted) {
  double all = 0;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto found = wanted.find(static_cast<Cause>(c));
    const double s = found == wanted.end() ? 0 : found->second;
    EXPECT_NEAR(static_cast<double>(o.time_ns[c]) / 1e9, s, 1e-7) << word_of(static_cast<Cause>(c));
    all += s;
  }
  EXPECT_NEAR(static_cast<double>(o.span_ns) / 1e9, all, 1e-7);
}

// Slot-seconds of a fleet by cause; those that are not named are free.
inline void expect_booked(const TimedWorld& t, const std::map<Cause, double>& wanted,
                          design::FleetIndex fleet = {}) {
  double others = 0;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const auto cause = static_cast<Cause>(c);
    if (cause == Cause::idle) continue;
    const auto found = wanted.find(cause);
    const double s = found == wanted.end() ? 0 : found->second;
    EXPECT_NEAR(t.booked_s(cause, fleet), s, 1e-4) << word_of(cause);
    others += s;
  }
  const world::FleetPart& part = t.scenario.fleets[fleet];
  const double all = t.scenario.horizon.base() * part.all_hosts() * part.slots_per_host;
  EXPECT_NEAR(t.booked_s(Cause::idle, fleet), all - others, 1e-4);
}

}  // namespace orrery::processes
