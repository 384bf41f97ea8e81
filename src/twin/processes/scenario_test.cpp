// What a design contains, by kind of work.
#include "twin/processes/scenario.h"

#include <gtest/gtest.h>

#include <functional>

#include "model/jobs/build_machine.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {

namespace {

TEST(Scenario, workloads_are_sorted_by_their_kind) {
  design::Design d = world::sample_design();
  design::Jobs slices{.rate = PerSecond(1), .mean_duration = hours(1)};
  slices.mig = {{"1g.10gb", 1}};
  d.workloads.push_back({.terms = {.name = "batch"}, .task = design::Batch{.core_hours = 1}});
  d.workloads.push_back({.terms = {.name = "slices"}, .task = slices});
  d.workloads.push_back({.terms = {.name = "jobs"},
                         .task = design::Jobs{.rate = PerSecond(1), .mean_duration = hours(1)}});
  const machine::Machine m = jobs::build_machine(std::move(d), machine::known());
  const Scenario s = scenario_of(m, days(3));
  EXPECT_EQ(s.horizon, days(3));
  ASSERT_EQ(s.trains.size(), 1u);
  EXPECT_GT(s.trains[0].step.step, Seconds(0));
  EXPECT_TRUE(s.trains[0].checkpoint);
  ASSERT_EQ(s.batches.size(), 1u);
  EXPECT_EQ(s.batches[0].job.label, "batch");
  ASSERT_EQ(s.slices.size(), 1u);
  EXPECT_EQ(s.slices[0].job.label, "slices");
  ASSERT_EQ(s.streams.size(), 1u);
  EXPECT_EQ(s.streams[0].job.label, "jobs");
  EXPECT_TRUE(s.services.empty());
  EXPECT_FALSE(s.has_storage_run);
  EXPECT_EQ(s.storage_work().machine, &m);
  EXPECT_EQ(s.storage_work().horizon, days(3));
  EXPECT_EQ(s.storage_work().trains.size(), 1u);
}

}  // namespace
}  // namespace orrery::processes
