// What a run needs of streams, slices and batches, worked out by hand.
#include "twin/processes/work_plan.h"

#include <gtest/gtest.h>

#include "model/jobs/build_machine.h"
#include "twin/world/sample_fixture.h"

namespace orrery::processes {

namespace {

// The sample's fleet with hosts of 16 cores and 64 GB, and one workload on it.
struct PlannedWork {
  explicit PlannedWork(design::Task task, const char* node = "dgx-h100") {
    design::Design d = world::sample_design();
    d.fleet.front().node = node;
    d.workloads.front().task = std::move(task);
    d.workloads.front().terms = {};
    d.workloads.front().terms.name = "work";
    m = jobs::build_machine(std::move(d), machine::known());
    m.fleets[world::kFirstFleet].node.cores = 16;
    m.fleets[world::kFirstFleet].node.memory = gigabytes(64);
    workload = m.design().workloads.front();
  }
  machine::Fleet& fleet() { return m.fleets[world::kFirstFleet]; }
  template <class T>
  T& task() {
    return std::get<T>(workload.task);
  }
  BatchPlan batch() const { return batch_plan(jobs::batch_job(m, workload)); }
  StreamPlan stream(const catalog::ReadFile& read = {}) const {
    return stream_plan(jobs::stream_job(m, workload), read);
  }
  SlicePlan slices() const { return slice_plan(jobs::slice_job(m, workload)); }

  machine::Machine m;
  design::Workload workload;
};

TEST(WorkPlan, a_batch_on_cores_fills_hosts_with_tasks) {
  PlannedWork w(design::Batch{.core_hours = 100, .tasks = 50, .memory = gigabytes(8)});
  auto& b = w.task<design::Batch>();
  BatchPlan p = w.batch();
  EXPECT_TRUE(p.feasible()) << p.job.infeasible;
  EXPECT_EQ(p.job.label, "work");
  EXPECT_EQ(p.job.elements, 7) << "8 on a host by memory";
  EXPECT_EQ(p.job.slots, 8) << "all of a host";
  EXPECT_EQ(p.job.element_compute, hours(2));
  EXPECT_EQ(p.element, hours(2));
  EXPECT_FALSE(p.job.bound);
  b.memory.reset();
  EXPECT_EQ(w.batch().job.elements, 4) << "16 by cores";
  b.memory = gigabytes(1000);
  EXPECT_EQ(w.batch().job.elements, 50) << "one at the least";
  b.memory = gigabytes(1);
  EXPECT_EQ(w.batch().job.elements, 4) << "no more than cores";
  w.fleet().node.memory.reset();
  w.fleet().node.cores.reset();
  b.tasks = 200;
  EXPECT_EQ(w.batch().job.elements, 4) << "64 cores where nothing is said";
  w.fleet().accelerators_per_host = 0;
  EXPECT_EQ(w.batch().job.slots, 1);
  b.tasks = 0;
  EXPECT_EQ(w.batch().job.elements, 1);
  EXPECT_EQ(w.batch().job.element_compute, hours(100));
}

TEST(WorkPlan, a_very_large_array_is_grouped_into_larger_elements) {
  PlannedWork w(design::Batch{.core_hours = 131072, .tasks = 4096 * 16});
  EXPECT_EQ(w.batch().job.elements, 4096);
  EXPECT_EQ(w.batch().job.element_compute, hours(2));
  w.task<design::Batch>().tasks = 4096 * 16 + 1;
  EXPECT_EQ(w.batch().job.elements, 2049) << "4,097 in two rounds";
  EXPECT_NEAR(w.batch().job.element_compute.base(), 131072 / 65537.0 * 2 * 3600, 1e-9);
}

TEST(WorkPlan, a_batch_takes_one_accelerator_per_task) {
  PlannedWork w(design::Batch{.accelerator_hours = 64, .tasks = 20});
  BatchPlan p = w.batch();
  EXPECT_EQ(p.job.elements, 3);
  EXPECT_EQ(p.job.slots, 8);
  EXPECT_NEAR(p.job.element_compute.base(), 3.2 * 3600, 1e-9);
  w.task<design::Batch>().tasks = 5;
  EXPECT_EQ(w.batch().job.elements, 1);
  EXPECT_EQ(w.batch().job.slots, 5);
  w.fleet().accelerators_per_host = 0;
  EXPECT_FALSE(w.batch().feasible());
  w.workload.terms.fleet = "nobody";
  EXPECT_FALSE(w.batch().feasible());
}

// Seven elements of 2 h, three hosts at once: each has a third of 160 and 80 GB/s.
TEST(WorkPlan, elements_of_a_batch_share_its_tier_evenly) {
  PlannedWork w(design::Batch{.core_hours = 100, .tasks = 50, .memory = gigabytes(8)});
  auto& b = w.task<design::Batch>();
  w.workload.terms.nodes = 3;
  b.dataset.size = petabytes(4);
  b.output = petabytes(1);
  EXPECT_EQ(w.batch().element, hours(2)) << "of no tier";
  b.dataset.tier = "hot";
  EXPECT_NEAR(w.batch().element.base(), 4e15 / 160e9 * 3 / 7, 1e-6);
  EXPECT_EQ(w.batch().job.element_compute, hours(2));
  b.output = petabytes(3);
  EXPECT_NEAR(w.batch().element.base(), 3e15 / 80e9 * 3 / 7, 1e-6);
  b.output.reset();
  b.dataset.size = petabytes(1);
  EXPECT_EQ(w.batch().element, hours(2));
  b.dataset.size = petabytes(4);
  w.workload.terms.nodes.reset();
  EXPECT_NEAR(w.batch().element.base(), 25000, 1e-6) << "all seven at once on 127 hosts";
  w.workload.terms.nodes = 500;
  w.fleet().hosts = 4;
  EXPECT_NEAR(w.batch().element.base(), 25000 * 4 / 7.0, 1e-6) << "four hosts are all there are";
  for (machine::Tier& t : w.m.tiers) t.read = BytesPerSecond(0);
  EXPECT_EQ(w.batch().element, hours(2));
}

TEST(WorkPlan, a_batch_must_end_by_its_window_or_deadline) {
  PlannedWork w(design::Batch{.core_hours = 100});
  auto& b = w.task<design::Batch>();
  b.repeat = design::Recurrence{.every = hours(24)};
  EXPECT_EQ(w.batch().job.bound, hours(24));
  b.repeat->window = hours(6);
  EXPECT_EQ(w.batch().job.bound, hours(6));
  b.deadline = hours(4);
  EXPECT_EQ(w.batch().job.bound, hours(4));
  b.deadline = hours(9);
  EXPECT_EQ(w.batch().job.bound, hours(6));
  b.repeat.reset();
  EXPECT_EQ(w.batch().job.bound, hours(9));
}

TEST(WorkPlan, job_widths_follow_their_weights) {
  design::Jobs jobs{.rate = PerSecond(0.25), .mean_duration = hours(3)};
  jobs.sizes = {1, 4, 8};
  PlannedWork w(jobs);
  StreamPlan p = w.stream();
  ASSERT_TRUE(p.feasible()) << p.job.infeasible;
  EXPECT_EQ(p.job.sizes, (std::vector<int>{1, 4, 8}));
  ASSERT_EQ(p.job.shares.size(), 3u);
  EXPECT_NEAR(p.job.shares[0], 1 / 1.375, 1e-12) << "as 1 / size";
  EXPECT_NEAR(p.job.shares[1], 1.25 / 1.375, 1e-12);
  EXPECT_NEAR(p.job.shares[2], 1, 1e-12);
  EXPECT_EQ(p.job.rate, PerSecond(0.25));
  EXPECT_EQ(p.job.mean_run, hours(3));
  w.task<design::Jobs>().weights = {2, 1};
  p = w.stream();
  EXPECT_NEAR(p.job.shares[0], 2 / 3.125, 1e-12);
  EXPECT_NEAR(p.job.shares[1], 3 / 3.125, 1e-12);
  w.task<design::Jobs>().weights = {0, 0, 0};
  EXPECT_EQ(w.stream().job.shares, (std::vector<double>{1, 1, 1}));
  w.task<design::Jobs>().sizes.clear();
  EXPECT_FALSE(w.stream().feasible());
  w.task<design::Jobs>() = {.rate = PerSecond(1)};
  EXPECT_FALSE(w.stream().feasible());
  w.task<design::Jobs>() = {.mean_duration = hours(1)};
  EXPECT_FALSE(w.stream().feasible());
  w.workload.terms.fleet = "nobody";
  EXPECT_FALSE(w.stream().feasible());
}

TEST(WorkPlan, a_stream_replays_its_trace) {
  PlannedWork w(design::Jobs{.trace = "jobs.csv"});
  const auto text = [](std::string what) {
    return [what](std::string_view) -> Result<std::string> { return what; };
  };
  EXPECT_FALSE(w.stream().feasible());
  const auto lost = [](std::string_view) -> Result<std::string> {
    return std::unexpected(Diagnostics{});
  };
  EXPECT_FALSE(w.stream(lost).feasible());
  EXPECT_FALSE(w.stream(text("submit,run,gpus\n")).feasible());
  EXPECT_FALSE(w.stream(text("submit,run,gpus\n0,x,1\n")).feasible());
  const StreamPlan p = w.stream(text("submit,run,gpus\n5,100,8\n25,50,2\n"));
  EXPECT_EQ(p.job.infeasible, "");
  ASSERT_EQ(p.trace.size(), 2u);
  EXPECT_EQ(p.trace[0].gpus, 8);
  EXPECT_EQ(p.trace[1].submit, seconds(20));
}

TEST(WorkPlan, slices_are_asked_for_by_weight) {
  design::Jobs jobs{.rate = PerSecond(0.5), .mean_duration = hours(2)};
  jobs.mig = {{"1g.18gb", 3}, {"2g.35gb", 1}};
  PlannedWork w(jobs, "dgx-h200");
  SlicePlan p = w.slices();
  ASSERT_TRUE(p.feasible()) << p.job.infeasible;
  ASSERT_EQ(p.job.wanted.size(), 2u);
  EXPECT_EQ(p.job.profiles[static_cast<std::size_t>(p.job.wanted[0])].profile, "1g.18gb");
  EXPECT_EQ(p.job.profiles[static_cast<std::size_t>(p.job.wanted[1])].profile, "2g.35gb");
  EXPECT_EQ(p.job.shares, (std::vector<double>{0.75, 1}));
  EXPECT_TRUE(p.job.fixed.empty());
  EXPECT_EQ(p.job.rate, PerSecond(0.5));
  EXPECT_EQ(p.job.mean_run, hours(2));
  design::Fleet cut = *w.fleet().fleet;
  w.fleet().fleet = &cut;
  cut.mig = {{"1g.18gb", 3}, {"2g.35gb", 2}};
  p = w.slices();
  EXPECT_TRUE(p.feasible()) << p.job.infeasible;
  EXPECT_EQ(p.job.fixed.size(), 5u);
  cut.mig = {{"1g.18gb", 7}};
  EXPECT_FALSE(w.slices().feasible());
  cut.mig = {{"1g.18gb", 1}, {"2g.35gb", 4}};
  EXPECT_FALSE(w.slices().feasible());
  cut.mig.clear();
  w.task<design::Jobs>().rate.reset();
  EXPECT_FALSE(w.slices().feasible());
  w.task<design::Jobs>().rate = PerSecond(1);
  w.task<design::Jobs>().mean_duration.reset();
  EXPECT_FALSE(w.slices().feasible());
  w.task<design::Jobs>().mean_duration = hours(1);
  w.task<design::Jobs>().mig = {{"1g.18gb", 0}};
  EXPECT_FALSE(w.slices().feasible());
  w.fleet().node.accelerator = nullptr;
  EXPECT_FALSE(w.slices().feasible());
}

// Fifty tasks of 8 GB on hosts of 16 cores: with 64 GB eight at once, otherwise one per core.
TEST(WorkPlan, unknown_memory_does_not_limit_tasks) {
  design::Design d = world::sample_design();
  d.workloads.front().task = design::Batch{.core_hours = 100, .tasks = 50, .memory = gigabytes(8)};
  d.workloads.front().terms = {};
  d.workloads.front().terms.name = "work";
  machine::Machine m = jobs::build_machine(std::move(d), machine::known());
  m.fleets[world::kFirstFleet].node.cores = 16;
  m.fleets[world::kFirstFleet].node.memory = gigabytes(64);
  EXPECT_EQ(jobs::batch_job(m, m.design().workloads.front()).elements, 7);
  m.fleets[world::kFirstFleet].node.memory.reset();
  EXPECT_EQ(jobs::batch_job(m, m.design().workloads.front()).elements, 4);
}

}  // namespace
}  // namespace orrery::processes
