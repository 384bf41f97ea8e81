// A NIC that pauses the network: which runs stop, for how long, and to which cause that time is
// booked.
#include <gtest/gtest.h>

#include <numeric>

#include "twin/run/run_fixture.h"
#include "twin/world/host_lives.h"
#include "twin/world/world.h"

namespace orrery::run {

using cluster::at;
using cluster::Cause;
using cluster::GpuTime;

namespace {

// Two runs next to each other on RoCE; the only faults are NICs that send pause frames.
design::Design stormy(std::optional<bool> watchdog) {
  design::Design d = world::sample_design();
  d.fleet.front().failures = {.node_mtbf = years(1e6), .storm_mtbf = years(3)};
  d.fabric.compute.switch_part = "sn5600";
  d.fabric.compute.protocol = design::Protocol::roce;
  d.fabric.compute.routing = catalog::RoutingKind::adaptive;
  d.fabric.compute.roce = {.pfc = true, .ecn = true, .pfc_watchdog = watchdog};
  world::train_of(d).tokens = 1e15;
  d.workloads.front().terms.nodes = 64;
  d.workloads.push_back(d.workloads.front());
  d.workloads.back().terms.nodes = 32;
  d.workloads.back().terms.name = "beside";
  return d;
}

GpuTime all_time(const Replication& r) {
  return std::accumulate(r.gpu_time.begin(), r.gpu_time.end(), GpuTime{0});
}

TEST(NetworkStorms, a_watchdog_limits_how_long_other_runs_stop) {
  design::Design d = stormy(true);
  d.fabric.compute.roce.watchdog_time = seconds(2);
  const Simulated s(d, {.horizon = days(50)});
  const world::FleetPart& part = s.simulation.scenario().fleets.front();
  ASSERT_GT(part.storm.reach, 0.05);
  const Replication& r = s.done.front();
  const std::uint64_t storms = r.faults[machine::known().fault_causes.size() + 2];
  EXPECT_GT(storms, 10U);
  std::uint64_t ended = 0;
  double paused_s = 0;
  for (const processes::JobOutcome& job : r.jobs) {
    ended += job.interruptions;
    paused_s += static_cast<double>(job.time_ns[at(Cause::paused)]) / 1e9;
  }
  // Each fault affects the host that it is on, and through it at most one run; the other run stops
  // for two seconds.
  EXPECT_LE(ended, storms);
  EXPECT_GT(paused_s, 0.2 * static_cast<double>(storms));
  EXPECT_LE(paused_s, 4.0 * static_cast<double>(storms)) << "at most two runs";
  EXPECT_GT(r.gpu_time[at(Cause::paused)], GpuTime{0});
  EXPECT_EQ(all_time(r), GpuTime{s.simulation.scenario().fleets[world::kFirstFleet].all_hosts()} *
                             part.accelerators_per_host * 50 * 86400 * 1'000'000'000);
  EXPECT_TRUE(r.is_sound);
}

TEST(NetworkStorms, without_a_watchdog_a_storm_ends_other_runs) {
  const RunOptions options{.horizon = days(50)};
  const auto interruptions = [&](std::optional<bool> watchdog) {
    const Simulated s(stormy(watchdog), options);
    EXPECT_TRUE(s.done.front().is_sound);
    std::uint64_t sum = 0;
    for (const processes::JobOutcome& job : s.done.front().jobs) sum += job.interruptions;
    return sum;
  };
  EXPECT_GT(interruptions(false), interruptions(true) * 5 / 4);
}

TEST(NetworkStorms, without_pauses_a_storm_hurts_only_its_host) {
  design::Design d = stormy(false);
  d.fabric.compute.roce.pfc = false;
  const Simulated s(d, {.horizon = days(50)});
  EXPECT_EQ(s.simulation.scenario().fleets.front().storm.reach, 0);
  EXPECT_TRUE(s.done.front().gpu_time[at(Cause::paused)] == 0);
}

}  // namespace
}  // namespace orrery::run
