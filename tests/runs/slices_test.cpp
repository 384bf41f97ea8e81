// Jobs on slices of accelerators: allowed placements, stranded slices, and to which cause the time
// is booked.
#include <gtest/gtest.h>

#include <numeric>

#include "model/jobs/build_machine.h"
#include "twin/processes/slice_process.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {

using cluster::at;
using cluster::Cause;
using cluster::GpuTime;

namespace {

// Sixteen H200 and a stream of jobs on slices of them.
design::Design sliced(std::vector<design::MigSlices> mig, double per_hour) {
  design::Design d = world::sample_design();
  d.fleet.front().node = "dgx-h200";
  d.fleet.front().count = 2;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  design::Jobs jobs;
  jobs.rate = PerSecond(per_hour / 3600);
  jobs.mean_duration = hours(2);
  jobs.mig = std::move(mig);
  d.workloads.front().task = jobs;
  d.workloads.front().terms = {};
  d.workloads.front().terms.name = "slices";
  return d;
}

GpuTime sum_of(const Replication& r) {
  return std::accumulate(r.gpu_time.begin(), r.gpu_time.end(), GpuTime{0});
}

TEST(Slices, small_slices_share_accelerators) {
  // 21 jobs per hour for 2 h each are 42 slices of 1/7 on average: six accelerators' worth.
  const Simulated s(sliced({{"1g.18gb", 1}}, 21), {.horizon = days(20)});
  const Replication& r = s.done.front();
  ASSERT_TRUE(s.simulation.scenario().slices.front().feasible());
  const processes::SliceOutcome& o = r.slices.front();
  EXPECT_GT(o.finished, 7500U);
  const double span = days(20).base() * 1e9;
  const double used = static_cast<double>(o.used) / span;
  EXPECT_NEAR(used, 42, 5) << "Little's law";
  const double open = static_cast<double>(o.open) / span / cluster::kMigComputeSlices;
  EXPECT_GT(open, 6);
  EXPECT_LT(open, 11);
  EXPECT_TRUE(o.stranded == 0) << "a seventh always fits";
  EXPECT_TRUE(r.is_sound);
  EXPECT_TRUE(sum_of(r) ==
              GpuTime{16} * static_cast<std::int64_t>(days(20).base()) * 1'000'000'000);
  // The productive time equals the time for which slices were used.
  EXPECT_NEAR(static_cast<double>(r.gpu_time[at(Cause::productive)]),
              static_cast<double>(o.used) / cluster::kMigComputeSlices, 1e6);
}

// Three of four jobs need one seventh and one needs two: 8 per hour for 2 h each are 16 at the same
// time, on twenty sevenths.
TEST(Slices, slices_are_asked_for_by_their_weights) {
  const Simulated s(sliced({{"1g.18gb", 3}, {"2g.35gb", 1}}, 8), {.horizon = days(60)});
  const processes::SliceOutcome& o = s.done.front().slices.front();
  EXPECT_NEAR(static_cast<double>(o.used) / (days(60).base() * 1e9), 20, 1.5);
}

// One job of two hours in twenty hours: an accelerator is held only while a job is on it, 1 -
// e^(-0.1) of the time.
TEST(Slices, an_accelerator_without_jobs_is_given_back) {
  const Simulated s(sliced({{"1g.18gb", 1}}, 0.05), {.horizon = days(400)});
  const processes::SliceOutcome& o = s.done.front().slices.front();
  EXPECT_GT(o.finished, 300U);
  const double open =
      static_cast<double>(o.open) / (days(400).base() * 1e9) / cluster::kMigComputeSlices;
  EXPECT_GT(open, 0.04);
  EXPECT_LT(open, 0.2);
}

TEST(Slices, two_slices_of_three_sevenths_strand_one_seventh) {
  const Simulated s(sliced({{"3g.71gb", 1}}, 8), {.horizon = days(40)});
  const processes::SliceOutcome& o = s.done.front().slices.front();
  EXPECT_GT(o.stranded, GpuTime{0});
  // A full accelerator has six of seven slices in use and one stranded.
  EXPECT_LT(o.stranded * 6, o.used + 1);
  EXPECT_TRUE(s.done.front().gpu_time[at(Cause::stranded)] >=
              o.stranded / cluster::kMigComputeSlices);
  EXPECT_TRUE(s.done.front().is_sound);
}

TEST(Slices, fixed_slices_serve_fewer_jobs) {
  design::Design d = sliced({{"3g.71gb", 1}}, 12);
  const RunOptions options{.horizon = days(30)};
  const Simulated free(d, options);
  d.fleet.front().mig = {{"1g.18gb", 3}, {"3g.71gb", 1}};
  const Simulated cut(d, options);
  const auto wait = [](const Simulated& s) {
    const std::vector<double>& all = s.done.front().slices.front().waits_s;
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  EXPECT_GT(wait(cut), wait(free));
  d.workloads.front().task = [&] {
    auto jobs = std::get<design::Jobs>(d.workloads.front().task);
    jobs.mig = {{"7g.141gb", 1}};
    return jobs;
  }();
  const machine::Machine m = jobs::build_machine(d, machine::known());
  EXPECT_FALSE(processes::scenario_of(m, days(1)).slices.front().feasible());
}

TEST(Slices, jobs_on_slices_of_a_lost_host_start_over) {
  design::Design d = sliced({{"1g.18gb", 3}, {"2g.35gb", 1}}, 20);
  d.fleet.front().failures = {.node_mtbf = days(4)};
  const Simulated s(d, {.horizon = days(30)});
  const Replication& r = s.done.front();
  const processes::SliceOutcome& o = r.slices.front();
  EXPECT_GT(o.faults, 3U);
  EXPECT_GT(o.stops, 3U);
  EXPECT_GT(o.lost, GpuTime{0});
  EXPECT_EQ(o.submitted, o.finished + o.waiting + o.running) << "no job is lost, and none ends "
                                                                "twice";
  EXPECT_TRUE(r.is_sound);
  EXPECT_TRUE(sum_of(r) ==
              GpuTime{16} * static_cast<std::int64_t>(days(30).base()) * 1'000'000'000);
}

}  // namespace
}  // namespace orrery::run
