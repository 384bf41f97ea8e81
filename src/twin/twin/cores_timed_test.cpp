// Hosts without accelerators, a second site, and the meter of a site's hours.
#include <gtest/gtest.h>

#include <numeric>

#include "twin/twin/timed_fixture.h"

namespace orrery::twin {
namespace {

// Two hosts of eight accelerators here, and three of cores at a second site.
design::Design cores_design() {
  design::Design d = sample_design();
  d.fleet.front().count = 2;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery = {};
  design::Site second = d.sites.front();
  second.name = "second";
  d.sites.push_back(second);
  design::Fleet cores = d.fleet.front();
  cores.name = "cores";
  cores.node = "cpu-2s-server";
  cores.count = 3;
  cores.site = "second";
  d.fleet.push_back(cores);
  design::Batch batch{.core_hours = 100};
  batch.tasks = 10;
  d.workloads.front() = {.terms = {.name = "nightly"}, .task = batch};
  d.workloads.front().terms.fleet = "cores";
  return d;
}

// Work on cores keeps its host at its peak, and is none of the accelerators' series.
TEST(CoresTimed, a_batch_on_cores_is_booked_by_hosts) {
  TimedWorld t(cores_design(), seconds(300));
  BatchPlan& p = t.scenario.batches.front();
  ASSERT_EQ(p.job.infeasible, "");
  EXPECT_EQ(p.fleet, 1U);
  p.job.elements = 2;
  p.job.slots = 1;
  p.element = seconds(100);
  t.at(40, [](World& w) {
    w.faults().strike(1, HostIndex(0), {.name = "dies", .scope = kTakesProcess}, 0);
  });
  t.run(true);
  EXPECT_EQ(t.scenario.fleets[1].slots_per_host, 1);
  // One runs for 100 s; one for 40 s, hangs for 60 s, waits for 147.7 s and runs to the end.
  const double again = 300 - 100 - 147.7;
  expect_booked(t,
                {{Cause::productive, 100 + again},
                 {Cause::lost, 40},
                 {Cause::detect, 60},
                 {Cause::stranded, 147.7}},
                1);
  expect_booked(t, {}, 0);
  for (const std::size_t second : {20U, 60U, 120U, 280U}) {
    EXPECT_NEAR(t.level("idle_accelerators", second), 16, 1e-9);
    EXPECT_NEAR(t.level("productive_accelerators", second), 0, 1e-9);
    EXPECT_NEAR(t.level("restart_accelerators", second), 0, 1e-9);
    EXPECT_NEAR(t.level("main_it_w", second), 4000, 1e-9);
  }
  EXPECT_NEAR(t.level("second_it_w", 20), 6000 + 2 * 8000, 1e-6);
  EXPECT_NEAR(t.level("second_it_w", 60), 6000 + 8000 + 8000 * 0.57, 1e-6);
  EXPECT_NEAR(t.world->meters().site(0).energy.base(), 4000 * 300, 1e-6);
  EXPECT_NEAR(t.world->meters().site(1).energy.base(),
              6000 * 300 + 8000 * (140 + again) + 8000 * 0.57 * 60, 1e-2);
  EXPECT_NEAR(t.world->meters().site(1).highest.base(), 22000, 1e-6);
}

// Cores are no part of the GPU-seconds.
TEST(CoresTimed, gpu_seconds_are_those_of_accelerators) {
  const Simulated s(cores_design(), {.horizon = hours(1)});
  const Replication& r = s.done.front();
  const GpuTime all = std::accumulate(r.gpu_time.begin(), r.gpu_time.end(), GpuTime{0});
  EXPECT_TRUE(all == GpuTime{16} * 3600 * 1'000'000'000);
  ASSERT_EQ(r.fleet_time.size(), 2U);
  const GpuTime cores = std::accumulate(r.fleet_time[1].begin(), r.fleet_time[1].end(), GpuTime{0});
  EXPECT_TRUE(cores == GpuTime{3} * 3600 * 1'000'000'000);
  EXPECT_EQ(s.simulation.run_of(s.done).accelerators, 16);
  EXPECT_EQ(r.sites.size(), 2U);
  EXPECT_EQ(r.racks.size(), 2U);
}

// Ten watts for an hour and a half, then twenty; what comes after the last hour is the last one's.
TEST(CoresTimed, a_meter_puts_energy_into_its_hours) {
  SiteMeter m;
  m.by_hour.resize(3);
  m.now = Watts(10);
  const auto at_hour = [](double h) { return sim::SimTime::from(hours(h)); };
  m.settle(at_hour(1.5));
  EXPECT_NEAR(m.energy.base(), 54000, 1e-6);
  EXPECT_NEAR(m.by_hour[0].base(), 36000, 1e-6);
  EXPECT_NEAR(m.by_hour[1].base(), 18000, 1e-6);
  m.now = Watts(20);
  m.settle(at_hour(2));
  m.settle(at_hour(3));
  EXPECT_NEAR(m.by_hour[1].base(), 18000 + 36000, 1e-6);
  EXPECT_NEAR(m.by_hour[2].base(), 72000, 1e-6);
  m.settle(at_hour(4.5));
  EXPECT_NEAR(m.by_hour[2].base(), 72000 + 108000, 1e-6);
  EXPECT_NEAR(m.energy.base(), 54000 + 3 * 72000, 1e-6);
  SiteMeter plain;
  plain.now = Watts(3);
  plain.settle(at_hour(1));
  plain.settle(at_hour(2));
  EXPECT_NEAR(plain.energy.base(), 21600, 1e-6);
  EXPECT_TRUE(plain.by_hour.empty());
}

TEST(CoresTimed, a_tag_names_a_process_and_its_part) {
  const JobTag tag{ProcessIndex(7), 0xffffffff};
  EXPECT_EQ(JobTag::from(tag.packed()), tag);
  EXPECT_NE(JobTag::from(tag.packed() + 1), tag);
}

}  // namespace
}  // namespace orrery::twin
