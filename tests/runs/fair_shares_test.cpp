// How the fleet is shared: fair share, qualities of service, partitions.
#include <gtest/gtest.h>

#include "twin/run/run_fixture.h"

namespace orrery::run {
namespace {

double mean_wait(const processes::TaskOutcome& o) {
  double sum = 0;
  for (const double w : o.waits_s) sum += w;
  return o.waits_s.empty() ? 0 : sum / static_cast<double>(o.waits_s.size());
}

// One tenant floods the fleet; with fair share the other tenant's few jobs overtake it.
TEST(FairShares, fair_share_starts_light_users_first) {
  const auto wait_of_the_small = [](bool fair) {
    design::Design d = world::sample_design();
    d.fleet.front().count = 4;
    d.fleet.front().failures.node_mtbf = years(1e6);
    d.scheduler.fair_share = fair;
    const auto jobs = [](double a_day, const char* tenant) {
      design::Jobs j{.rate = PerSecond(a_day / 86400), .mean_duration = hours(2)};
      j.sizes = {4};
      design::Workload w{.terms = {.name = tenant}, .task = j};
      w.terms.tenant = tenant;
      return w;
    };
    d.workloads = {jobs(110, "large"), jobs(4, "small")};
    const Simulated s(d, {.horizon = days(20)});
    return mean_wait(s.done.front().streams.back());
  };
  const double with = wait_of_the_small(true);
  const double without = wait_of_the_small(false);
  EXPECT_LT(with, 0.5 * without) << without;
}

// Two streams of equal jobs on a full fleet. The QOS of one goes first, may preempt the other's
// jobs, and limits its users to one job each; the other's jobs end after half an hour.
TEST(FairShares, a_qos_sets_order_limits_preemption_and_end_of_jobs) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 4;
  d.fleet.front().failures.node_mtbf = years(1e6);
  d.scheduler.preemption = design::Preemption::requeue;
  d.scheduler.qos = {{.name = "high", .priority = 100, .max_jobs_per_user = 1, .preempts = {"low"}},
                     {.name = "low", .time_limit = minutes(30)}};
  const auto jobs = [](double a_day, const char* name) {
    design::Jobs j{.rate = PerSecond(a_day / 86400), .mean_duration = hours(1)};
    j.sizes = {8};
    design::Workload w{.terms = {.name = name}, .task = j};
    w.terms.qos = name;
    return w;
  };
  d.workloads = {jobs(40, "high"), jobs(200, "low")};
  const Simulated s(d, {.horizon = days(40), .replications = 1});
  const auto& streams = s.done.front().streams;
  EXPECT_LT(mean_wait(streams.front()), 0.3 * mean_wait(streams.back()));
  EXPECT_EQ(streams.front().stops, 0U);
  EXPECT_EQ(streams.front().timed_out, 0U);
  EXPECT_GT(streams.back().stops, 50U);
  EXPECT_GT(streams.back().timed_out, 500U);
  EXPECT_GT(streams.back().finished, 500U);
  // Without the QOS no job is ended, and both streams wait equally.
  for (design::Workload& w : d.workloads) w.terms.qos.clear();
  const Simulated plain(d, {.horizon = days(40), .replications = 1});
  EXPECT_EQ(plain.done.front().streams.back().timed_out, 0U);
  EXPECT_GT(mean_wait(plain.done.front().streams.front()), 3 * mean_wait(streams.front()));
}

// Two nodes are for jobs of the first partition, two for those of the second, which ends them after
// half an hour. The first has work for six nodes: it fills its own and does not use the second's.
TEST(FairShares, jobs_run_in_their_partition) {
  design::Design d = world::sample_design();
  d.fleet.front().count = 4;
  d.fleet.front().failures.node_mtbf = years(1e6);
  d.scheduler.partitions = {
      {.name = "day", .fleet = d.fleet.front().name, .nodes = 2},
      {.name = "short", .fleet = d.fleet.front().name, .nodes = 2, .time_limit = minutes(30)}};
  const auto jobs = [](double a_day, const char* name, const char* partition) {
    design::Jobs j{.rate = PerSecond(a_day / 86400), .mean_duration = hours(1)};
    j.sizes = {8};
    design::Workload w{.terms = {.name = name}, .task = j};
    w.terms.partition = partition;
    return w;
  };
  d.workloads = {jobs(144, "long", ""), jobs(4, "quick", "short")};
  const Simulated s(d, {.horizon = days(20), .replications = 1});
  const auto& streams = s.done.front().streams;
  // At most two one-hour jobs at a time for 20 days.
  EXPECT_LT(streams.front().finished, 2 * 24 * 20 * 1.15);
  EXPECT_GT(streams.front().finished, 2 * 24 * 20 * 0.85);
  EXPECT_EQ(streams.front().timed_out, 0U);
  EXPECT_LT(mean_wait(streams.back()), 60);
  EXPECT_GT(streams.back().timed_out, 10U);
  // A job that needs more nodes than its partition has never starts, even if the fleet is idle.
  std::get<design::Jobs>(d.workloads.back().task).sizes = {24};
  const Simulated wide(d, {.horizon = days(10), .replications = 1});
  EXPECT_GT(wide.done.front().streams.back().rejected, 10U);
  EXPECT_EQ(wide.done.front().streams.back().finished, 0U);
}

// A run of 120 hosts in a partition of 100: the result says so, and does not blame a lack of work.
TEST(FairShares, a_run_wider_than_its_partition_never_starts) {
  design::Design d = world::sample_design();
  d.scheduler.partitions = {{.name = "big", .fleet = d.fleet.front().name, .nodes = 100}};
  const Simulated s(d, {.horizon = days(2), .replications = 1});
  const run::Run run = s.simulation.run_of(s.done);
  EXPECT_NE(run.diagnosis.find("pretrain never starts"), std::string::npos) << run.diagnosis;
  ASSERT_EQ(run.infeasible.size(), 1U);
  EXPECT_FALSE(run.passes());
}

}  // namespace
}  // namespace orrery::run
