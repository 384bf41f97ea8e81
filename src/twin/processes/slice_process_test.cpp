// Jobs on slices of accelerators, one by one: when each starts, and how its time is booked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "twin/processes/timed_fixture.h"

namespace orrery::processes {

using cluster::Cause;
using cluster::GpuTime;

namespace {

design::Design cut_design(const std::vector<design::MigSlices>& mig) {
  design::Design d = world::sample_design();
  d.fleet.front().node = "dgx-h200";
  d.fleet.front().count = 1;
  d.fleet.front().spares = 0;
  d.fleet.front().failures = {.node_mtbf = years(1e6)};
  d.scheduler.recovery.detect.reset();
  design::Jobs jobs;
  jobs.rate = PerSecond(1);
  jobs.mean_duration = hours(1);
  jobs.mig = mig;
  d.workloads.front() = {.terms = {.name = "cuts"}, .task = jobs};
  return d;
}

struct Cut {
  double at = 0;
  double run = 0;
  bool is_first = false;  // of two profiles
};

// A job at random intervals, with a log-normal run time of variation 3.
std::vector<Cut> drawn_cuts(const SlicePlan& plan, double until) {
  RandomStream random(5, "slices/" + plan.job.label);
  const double s2 = std::log(10.0);
  std::vector<Cut> all;
  for (double now = random.exponential(1 / plan.job.rate.base()); now <= until;
       now += random.exponential(1 / plan.job.rate.base())) {
    const bool is_first = random.uniform() < plan.job.shares.front();
    const double run =
        plan.job.mean_run.base() * std::exp(std::sqrt(s2) * random.normal() - s2 / 2);
    all.push_back({now, std::max(1.0, run), is_first});
  }
  return all;
}

struct TimedSlices : TimedWorld {
  TimedSlices(const std::vector<design::MigSlices>& mig, Seconds horizon, double every, double mean)
      : TimedWorld(cut_design(mig), horizon) {
    plan().job.rate = PerSecond(1 / every);
    plan().job.mean_run = seconds(mean);
    EXPECT_EQ(plan().job.infeasible, "");
    cuts = drawn_cuts(plan(), horizon.base());
  }
  SlicePlan& plan() { return scenario.slices.front(); }
  const SliceOutcome& outcome() const { return processes->slices().front()->outcome(); }
  double slices_s(GpuTime time) const { return static_cast<double>(time) / 1e9; }

  std::vector<Cut> cuts;
};

// Every accelerator serves one job, or each seventh of it does: a queue with that many servers,
// first come, first served.
TEST(SliceProcess, equal_slices_wait_as_a_queue_with_that_many_servers) {
  const struct {
    const char* profile;
    std::size_t servers;
    double slices, every;
  } kCases[] = {{"7g.141gb", 8, 7, 100}, {"1g.18gb", 56, 1, 15}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.profile);
    constexpr double kEnd = 20000;
    TimedSlices t({{c.profile, 1}}, seconds(kEnd), c.every, 900);
    t.run();
    const SliceOutcome& o = t.outcome();
    std::vector<double> free(c.servers, 0);
    std::vector<double> waits;
    double used = 0;
    std::uint64_t finished = 0;
    for (const Cut& cut : t.cuts) {
      double& first = *std::ranges::min_element(free);
      const double start = std::max(cut.at, first);
      first = start + cut.run;
      if (start > kEnd) continue;
      waits.push_back(start - cut.at);
      used += std::min(kEnd, first) - start;
      finished += first <= kEnd ? 1 : 0;
    }
    ASSERT_EQ(o.waits_s.size(), waits.size());
    EXPECT_GT(*std::ranges::max_element(waits), 10) << "some wait";
    for (std::size_t i = 0; i < waits.size(); ++i) EXPECT_NEAR(o.waits_s[i], waits[i], 1e-5) << i;
    EXPECT_EQ(o.submitted, t.cuts.size());
    EXPECT_EQ(o.finished, finished);
    EXPECT_EQ(o.running, waits.size() - finished);
    EXPECT_EQ(o.waiting, t.cuts.size() - waits.size());
    EXPECT_EQ(o.stops + o.faults, 0U);
    EXPECT_FALSE(o.never_fits);
    // Accelerators are asked for one at a time.
    EXPECT_LE(t.world->fleet(world::kFirstFleet).queue().waiting(), 1U);
    EXPECT_NEAR(t.slices_s(o.used), used * c.slices, 1e-3);
    EXPECT_TRUE(o.stranded == 0 && o.lost == 0);
    EXPECT_NEAR(t.booked_s(Cause::productive), used * c.slices / 7, 1e-3);
  }
}

// Jobs far apart: each has an accelerator alone and gives it back.
TEST(SliceProcess, an_accelerator_is_held_while_a_slice_is_in_use) {
  TimedSlices t({{"1g.18gb", 3}, {"2g.35gb", 1}}, seconds(60000), 4000, 20);
  ASSERT_EQ(t.plan().job.shares, (std::vector<double>{0.75, 1}));
  t.run(true);
  const SliceOutcome& o = t.outcome();
  double open = 0, used = 0;
  std::size_t wide = 0;
  for (const Cut& cut : t.cuts) {
    open += cut.run;
    used += cut.run * (cut.is_first ? 1 : 2);
    wide += cut.is_first ? 0 : 1;
  }
  ASSERT_GT(wide, 0U);
  EXPECT_EQ(o.finished, t.cuts.size());
  EXPECT_EQ(o.waits_s, std::vector<double>(t.cuts.size(), 0));
  EXPECT_NEAR(t.slices_s(o.open), 7 * open, 1e-3);
  EXPECT_NEAR(t.slices_s(o.used), used, 1e-3);
  EXPECT_NEAR(t.booked_s(Cause::productive), used / 7, 1e-3);
  EXPECT_NEAR(t.booked_s(Cause::idle), 8 * 60000 - used / 7, 1e-3);
  EXPECT_NEAR(t.booked_s(Cause::stranded), 0, 1e-9);
  // The accelerator draws 0.52 of its part of the rise, 1000 W, and all of it at its highest.
  EXPECT_NEAR(t.world->meters().site(world::kFirstSite).energy.base(), 2000.0 * 60000 + 520 * open,
              1e-2);
  EXPECT_NEAR(t.world->meters().site(world::kFirstSite).highest.base(), 3000, 1e-6);
  const auto racks =
      t.world->fleet(world::kFirstFleet).racks().until(sim::SimTime::from(seconds(60000)));
  EXPECT_NEAR(racks[0].energy.base(), 520 * open, 1e-2);
  EXPECT_NEAR(t.level("productive_accelerators", 59999), 0, 1e-6);
  EXPECT_NEAR(t.level("idle_accelerators", 59999), 8, 1e-6);
}

// One job that began `age` ago, and a fault.
struct StruckSlices : TimedSlices {
  StruckSlices(failure::FaultScope scope, double later)
      : TimedSlices({{"3g.71gb", 1}}, Seconds(1), 1e4, 5e7) {
    cut = drawn_cuts(plan(), 1e7).front();
    fault = cut.at + 30;
    scenario.horizon = seconds(fault + later);
    strike(fault, 0, {.name = "dies", .scope = scope});
    run(true);
  }
  // In the last whole second.
  double last_level(const char* column) const { return level(column, series.means.size() - 2); }
  Cut cut;
  double fault = 0;
};

// The job starts over on another accelerator at once; its own is examined for a minute.
TEST(SliceProcess, a_fault_loses_the_work_of_a_slice) {
  const StruckSlices t(kTakesProcess, 40);
  ASSERT_GT(t.cut.run, 1000);
  const SliceOutcome& o = t.outcome();
  EXPECT_EQ(o.faults, 1U);
  EXPECT_EQ(o.stops, 1U);
  EXPECT_EQ(o.running, 1U);
  EXPECT_EQ(o.waiting, 0U);
  EXPECT_EQ(o.waits_s, (std::vector<double>{0}));
  EXPECT_NEAR(t.slices_s(o.lost), 3 * 30, 1e-4);
  EXPECT_NEAR(t.slices_s(o.used), 3 * 70, 1e-4);
  EXPECT_NEAR(t.slices_s(o.open), 7 * 70, 1e-4);
  expect_booked(
      t, {{Cause::productive, 3 * 40 / 7.0}, {Cause::lost, 3 * 30 / 7.0}, {Cause::detect, 40}});
  EXPECT_NEAR(t.last_level("productive_accelerators"), 1, 1e-6);
  EXPECT_NEAR(t.last_level("restart_accelerators"), 1, 1e-6);
  EXPECT_NEAR(t.last_level("idle_accelerators"), 6, 1e-6);
}

TEST(SliceProcess, a_lost_host_takes_its_accelerators) {
  // Detected after 60 s; the job has moved to another accelerator of the host, and waits then.
  const StruckSlices t(kTakesHost, 150);
  const SliceOutcome& o = t.outcome();
  EXPECT_EQ(o.faults, 1U);
  EXPECT_EQ(o.stops, 2U);
  EXPECT_EQ(o.waiting, 1U);
  EXPECT_EQ(o.running, 0U);
  EXPECT_NEAR(t.slices_s(o.lost), 3 * (30 + 60), 1e-4);
  EXPECT_NEAR(t.slices_s(o.used), 3 * 90, 1e-4);
  expect_booked(t, {{Cause::lost, 3 * 90 / 7.0}, {Cause::detect, 60}, {Cause::repair, 8 * 90}});
  EXPECT_NEAR(t.last_level("productive_accelerators"), 0, 1e-6);
  EXPECT_NEAR(t.last_level("idle_accelerators"), 8, 1e-6);
}

// Cut into two of three sevenths, the seventh that is left fits neither job.
TEST(SliceProcess, slices_that_fit_no_job_are_stranded) {
  TimedSlices t({{"3g.71gb", 1}}, Seconds(1), 10, 5e7);
  const std::vector<Cut> all = drawn_cuts(t.plan(), 1e6);
  const double second = all[1].at;
  ASSERT_GT(all[0].run, 1000);
  ASSERT_GT(all[1].run, 1000);
  ASSERT_GT(all[2].at, second + 1);
  t.scenario.horizon = seconds(second + 1);
  t.run();
  EXPECT_NEAR(t.slices_s(t.outcome().used), 3 * (second - all[0].at + 1) + 3, 1e-4);
  EXPECT_NEAR(t.slices_s(t.outcome().stranded), 1, 1e-4);
  EXPECT_NEAR(t.booked_s(Cause::stranded), 1 / 7.0, 1e-4);
}

}  // namespace
}  // namespace orrery::processes
