// Planned values of known designs, by hand.
#include "output/emit/prometheus_plan.h"

#include <gmock/gmock.h>

#include <cmath>

#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

std::vector<PlannedValue> values_of(const ReviewedExample& r, std::string_view metric) {
  return planned_of(planned_values(*r.review), metric);
}

double only(const ReviewedExample& r, std::string_view metric) {
  const auto found = values_of(r, metric);
  EXPECT_EQ(found.size(), 1U) << metric;
  return found.empty() ? 0 : found.front().estimate.value;
}

TEST(PlannedValues, OfAFleetAreItsSum) {
  const auto r = reviewed(read_template("superpod-h100"));
  EXPECT_EQ(only(*r, "nodes"), 127);
  EXPECT_EQ(only(*r, "gpus"), 1016);
  EXPECT_DOUBLE_EQ(only(*r, "gpu_power_limit_watts"), 700);
  EXPECT_DOUBLE_EQ(only(*r, "fleet_gpu_limit_watts"), 700.0 * 1016);
}

TEST(PlannedValues, OfFailuresAreADaysAndHaveTheFleetsRange) {
  const auto r = reviewed(read_template("superpod-h100"));
  const review::TrainView& train = r->review->trains.front();
  const auto daily = values_of(*r, "failures_per_day");
  ASSERT_EQ(daily.size(), 1U);
  EXPECT_NEAR(daily[0].estimate.value, hours(24) / train.failure.mtbf, 1e-9);
  ASSERT_LT(train.failure.rate_low, 1);
  EXPECT_NEAR(daily[0].estimate.low, daily[0].estimate.value * train.failure.rate_low, 1e-9);
  EXPECT_NEAR(daily[0].estimate.high, daily[0].estimate.value * train.failure.rate_high, 1e-9);
}

// Spares cover what is in repair in all but one moment of a hundred, for each run by itself.
TEST(PlannedValues, SparesAreThoseOfAllRuns) {
  design::Design design = read_template("superpod-h100");
  const auto one = reviewed(design);
  const double mean = one->review->trains.front().failure.mean_in_repair;
  double above = 1;
  double term = std::exp(-mean);
  int spares = 0;
  for (above -= term; above >= 0.01; above -= term) term *= mean / ++spares;
  EXPECT_EQ(only(*one, "spare_nodes"), spares);
  EXPECT_NEAR(only(*one, "nodes_in_repair"), mean, 1e-12);
  // The same fleet and run once more: as many again.
  design.fleet.push_back(design.fleet[0]);
  design.fleet[1].name = "second";
  design.workloads.push_back(design.workloads[0]);
  design.workloads[0].terms.fleet = design.fleet[0].name;
  design.workloads.back().terms.fleet = "second";
  design.workloads.back().terms.name = "again";
  const auto two = reviewed(design);
  int feasible = 0;
  for (const review::TrainView& t : two->review->trains) feasible += t.feasible() ? 1 : 0;
  ASSERT_EQ(feasible, 2);
  EXPECT_EQ(only(*two, "spare_nodes"), 2 * spares);
}

// A cache before the lake that a run reads; one before another tier says nothing of it.
TEST(PlannedValues, OfACacheAreThoseOfTheRunsItFeeds) {
  design::Design design = read_template("av-vision");
  std::get<design::Train>(design.workloads.front().task).dataset.tier = "lake";
  const auto fed = reviewed(design);
  const auto hits = values_of(*fed, "cache_hit_ratio");
  ASSERT_EQ(hits.size(), 1U);
  double least = 2;
  for (const review::TrainView& t : fed->review->trains) {
    if (t.feed.tier && t.feed.tier->label == "lake") least = std::min(least, t.feed.hit_rate);
  }
  EXPECT_DOUBLE_EQ(hits[0].estimate.value, least);
  design.storage.push_back(design.storage[1]);
  design.storage.back().name = "archive";
  design.storage.push_back(design.storage[0]);
  design.storage.back().name = "before-archive";
  design.storage.back().caches = "archive";
  EXPECT_EQ(values_of(*reviewed(design), "cache_hit_ratio").size(), 1U);
}

// Two queues of jobs: waits of the longer, jobs of both.
TEST(PlannedValues, OfQueuesAreTheLongestWaitAndAllJobs) {
  design::Design design = read_template("small-lab");
  design.workloads.push_back(design.workloads[1]);
  design.workloads.back().terms.name = "others";
  const auto r = reviewed(design);
  ASSERT_EQ(r->review->jobs.size(), 2U);
  double queued = 0;
  double tail = 0;
  for (const review::JobsView& j : r->review->jobs) {
    ASSERT_TRUE(j.queue.stable);
    queued += j.queue.mean_queue;
    const double wait = j.queue.mean_wait_of_waiting / seconds(1);
    const double p90 = j.queue.wait_chance > 0.1 ? wait * std::log(10 * j.queue.wait_chance) : 0;
    tail = std::max({tail, p90, j.queue.mean_wait / seconds(1)});
  }
  ASSERT_GT(queued, 0);
  EXPECT_NEAR(only(*r, "queue_jobs"), queued, 1e-9 * queued);
  EXPECT_NEAR(only(*r, "queue_wait_p90_seconds"), tail, 1e-9 * tail);
}

}  // namespace
}  // namespace orrery::emit
