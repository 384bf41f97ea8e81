// Faults that affect many hosts, and hosts that fail by age, compared with what the review expects.
#include <gtest/gtest.h>

#include <numeric>

#include "layers/failure/lifetime.h"
#include "model/jobs/build_machine.h"
#include "twin/processes/populated_fixture.h"
#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"
#include "twin/world/shared_lives.h"

namespace orrery::run {

using cluster::at;
using cluster::Cause;

namespace {

// Nothing fails except what a test configures.
design::Design sound_design() {
  design::Design d = world::sample_design();
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  world::train_of(d).tokens = 1e15;
  return d;
}

std::uint64_t faults_of(const Replication& r, std::string_view name) {
  const auto names = world::fault_names(machine::known().fault_causes);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return r.faults[i];
  }
  return 0;
}

TEST(SharedParts, a_leaf_switch_fault_interrupts_a_run_once) {
  design::Design d = sound_design();
  d.fleet.front().failures.leaf_mtbf = days(40);
  const Simulated s(d, {.horizon = days(60)});
  const Replication& r = s.done.front();
  const std::uint64_t faults = faults_of(r, "leaf switch");
  EXPECT_GT(faults, 3U);
  // The run spans all leaves: each fault ends it, except faults that occur while it waits for a
  // leaf.
  EXPECT_LE(r.jobs.front().interruptions, faults);
  EXPECT_GE(r.jobs.front().interruptions * 2, faults);
  EXPECT_EQ(std::accumulate(r.faults.begin(), r.faults.end(), std::uint64_t{0}), faults);
  EXPECT_TRUE(r.is_sound);
  EXPECT_TRUE(r.gpu_time[at(Cause::repair)] > 0);
}

// Parts that fail rarely fail as often as the review's rate says.
TEST(SharedParts, shared_parts_fail_as_often_as_planned) {
  design::Design d = sound_design();
  d.fleet.front().failures.leaf_mtbf = days(400);
  d.fleet.front().failures.pdu_mtbf = days(500);
  d.fleet.front().failures.racks_per_pdu = 2;
  d.fleet.front().failures.link_mtbf = years(20);
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, days(300));
  const jobs::TrainJob& job = scenario.trains.front();
  double strikes = 0;
  constexpr int kRuns = 12;
  for (int i = 0; i < kRuns; ++i) {
    processes::PopulatedWorld populated(scenario, 100 + static_cast<std::uint64_t>(i));
    world::World& world = populated.world;
    world.run({});
    const auto& shared = world.shared_lives().faults();
    strikes += std::accumulate(shared.begin(), shared.end(), 0.0);
    strikes +=
        static_cast<double>(world.host_lives().faults()[machine::known().fault_causes.size() + 1]);
  }
  const double expected = kRuns * (days(300) / job.failure.mtbf);
  EXPECT_GT(expected, 200);
  EXPECT_NEAR(strikes / expected, 1, 3 / std::sqrt(expected) + 0.05);
}

TEST(SharedParts, hosts_of_a_shared_part_return_together) {
  design::Design d = sound_design();
  d.fleet.front().spares = 0;
  d.fleet.front().failures.pdu_mtbf = days(100);
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, days(20));
  const int group = scenario.fleets.front().failures->shared.front().hosts;
  ASSERT_GT(group, 1);
  world::Recorder recorder(sim::SimTime::from(days(20)), 100);
  processes::PopulatedWorld populated(scenario, 3, &recorder);
  world::World& world = populated.world;
  world.run({});
  std::map<std::int64_t, int> away, back;
  std::map<std::uint32_t, sim::SimTime> since;
  Seconds out;
  for (const world::HostChange& c : recorder.host_changes()) {
    if (c.mark == world::HostMark::repair) ++away[c.at.ns()], since[c.host] = c.at;
    if (c.mark == world::HostMark::free && since.contains(c.host)) {
      ++back[c.at.ns()];
      out += (c.at - since[c.host]).seconds();
      since.erase(c.host);
    }
  }
  EXPECT_GT(back.size(), 2U);
  double hosts_back = 0;
  for (const auto& [at, hosts] : back) hosts_back += hosts;
  // About six outages of four hours on average, exponentially distributed.
  EXPECT_GT(out / hosts_back, hours(1));
  EXPECT_LT(out / hosts_back, hours(12));
  for (const auto& [at, hosts] : away) EXPECT_EQ(hosts % group, 0) << at;
  for (const auto& [at, hosts] : back) EXPECT_EQ(hosts % group, 0) << at;
}

double faults_at_shape(double shape, Seconds horizon) {
  design::Design d = world::sample_design();
  d.fleet.front().failures = {.node_mtbf = days(60), .repair = seconds(1), .shape = shape};
  world::train_of(d).tokens = 1e15;
  const machine::Machine m = jobs::build_machine(d, machine::known());
  const processes::Scenario scenario = processes::scenario_of(m, horizon);
  double faults = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    processes::PopulatedWorld populated(scenario, seed);
    world::World& world = populated.world;
    world.run({});
    const auto& all = world.host_lives().faults();
    faults += std::accumulate(all.begin(), all.end(), 0.0);
  }
  return faults / 4 / scenario.fleets.front().all_hosts();
}

TEST(SharedParts, a_new_fleet_fails_more_often) {
  for (const double shape : {0.6, 1.0, 2.0}) {
    for (const double span : {20.0, 120.0}) {
      const double expected =
          failure::failures_within(failure::life_of(shape, days(60)), days(span));
      EXPECT_NEAR(faults_at_shape(shape, days(span)) / expected, 1, 0.15) << shape << " " << span;
    }
  }
}

}  // namespace
}  // namespace orrery::run
