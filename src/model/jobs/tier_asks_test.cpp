#include "model/jobs/tier_asks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/value_reader.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/storage_fixture.h"
#include "model/jobs/train_job.h"
#include "model/jobs/train_job_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/machine_fixture.h"

namespace orrery::jobs {
namespace {

using testing::ElementsAre;

TEST(TierAsks, saves_are_asked_of_every_tier_they_go_to) {
  const SavedRun r("to: [node-nvme, hot, cold], every: 30 min, keep: { hot: 3 }");
  std::vector<machine::TierAsk> asks = asks_of(r.job, r.machine);
  std::erase_if(asks, [](const machine::TierAsk& a) { return a.creates == PerSecond(0); });
  ASSERT_EQ(asks.size(), 3U);
  // A tenth of half an hour.
  EXPECT_EQ(asks[0].tier, "node-nvme");
  EXPECT_EQ(asks[0].demand.capacity, Bytes(0));
  machine::expect_close(asks[0].demand.write.base(), 4.2e9 / 180);
  machine::expect_close(asks[0].creates.base(), r.job.checkpoint->files / 180);
  EXPECT_EQ(asks[1].tier, "hot");
  machine::expect_close(asks[1].demand.capacity.base(), 4.2e9 * 4);
  EXPECT_EQ(asks[2].tier, "cold");
  machine::expect_close(asks[2].demand.write.base(), 4.2e9 / 180);
}

TEST(TierAsks, pipeline_index_and_batch_ask_for_capacity_and_rates) {
  const machine::Machine m = with_storage(kTwoTiers, kStages);
  const auto asks = asks_of_pipeline(m);
  ASSERT_EQ(asks.size(), 5U) << "one for ingest, two each for register and archive";
  EXPECT_EQ(asks[0].tier, "hot");
  EXPECT_EQ(asks[0].demand.capacity, terabytes(30));
  EXPECT_EQ(asks[0].demand.write, gbytes_per_s(1));
  EXPECT_EQ(asks[1].tier, "cold");
  EXPECT_EQ(asks[1].demand.capacity, megabytes(600));
  EXPECT_EQ(asks[1].demand.write, BytesPerSecond(0));
  EXPECT_EQ(asks[3].demand.write, gbytes_per_s(1));
  EXPECT_EQ(asks[4].tier, "hot");
  EXPECT_EQ(asks[4].demand.read, gbytes_per_s(1));
  const auto indexes = asks_of_indexes(m);
  ASSERT_EQ(indexes.size(), 1U);
  EXPECT_EQ(indexes[0].demand.capacity, terabytes(2));
  machine::expect_close(indexes[0].demand.requests.base(), 5 * 2 * 4);  // of the busiest hour
  machine::expect_close(indexes[0].demand.read.base(), 40 * 8e3);
  // 7 TB in and 3 TB out within two hours, a cycle being longer.
  const auto all = asks_of(m);
  const auto batch = std::ranges::find_if(
      all, [](const machine::TierAsk& a) { return a.what.contains("'prep'"); });
  ASSERT_NE(batch, all.end());
  EXPECT_EQ(batch->demand.capacity, terabytes(10));
  machine::expect_close(batch->demand.read.base(), 7e12 / 7200);
  machine::expect_close(batch->demand.write.base(), 3e12 / 7200);
}

TEST(TierAsks, saves_to_one_tier_are_asked_once) {
  const FedRun r("read: 90 GB/s, write: 9 GB/s", "samples: 10M, sample_size: 150 kB", "",
                 "samples: 1M, checkpoint: { to: [t], every: 30 min, keep: { t: 3 } }");
  const std::vector<machine::TierAsk> asks = asks_of(r.job, r.machine);
  ASSERT_EQ(asks.size(), 2U);
  EXPECT_NEAR(asks[1].demand.capacity.base(), 4 * 4.2e9, 1);
}

TEST(TierAsks, events_ask_for_their_rate_and_retention) {
  const machine::Machine m =
      detailed("", kRun +
                       ", features: { rate: 100 /s, size: 2 kB, retention: 1 d, "
                       "tier: warm } }\n");
  TrainJob job = name_job(m, m.design().workloads[0]);
  fill_step(job, m);
  fill_costs(job, m);
  bool found = false;
  for (const machine::TierAsk& a : asks_of(job, m)) {
    if (a.tier != "warm") continue;
    found = true;
    EXPECT_NEAR(a.demand.write.base(), 2e5, 1e-6);
    EXPECT_NEAR(a.demand.capacity.base(), 2e5 * 86400, 1);
  }
  EXPECT_TRUE(found);
}

// A tenth of five seconds is below the minimum of one second for a copy. A goal that is not an
// upper bound leaves a save its tenth of the interval.
TEST(TierAsks, goals_and_intervals_set_the_rate_of_saves) {
  design::Design d = machine::small_design(
      "storage:\n  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 PB "
      "}\n  - { tier: cold, kind: object, read: 9 GB/s, write: 3 GB/s, capacity: 9 PB }\n");
  const auto asked = [&](const design::Goal& goal) {
    d.goals = {goal};
    const machine::Machine m = build_machine(d, machine::known());
    design::Train train;
    TrainJob job;
    job.train = &train;
    job.label = "r";
    job.checkpoint.emplace();
    job.checkpoint->async = false;
    job.checkpoint->size = gigabytes(6);
    job.checkpoint->files = 4;
    job.checkpoint->interval = seconds(30);
    job.checkpoint->first = job.checkpoint->safe = &m.tiers[design::TierIndex(0)];
    job.checkpoint->later = {{.tier = &m.tiers[design::TierIndex(1)], .kept = {},
                              .every = seconds(5)}};
    std::vector<double> writes;
    for (const machine::TierAsk& a : asks_of(job, m)) writes.push_back(a.demand.write.base());
    return writes;
  };
  const auto goal = [](const char* text) { return *design::parse_goal(text); };
  EXPECT_THAT(asked(goal("checkpoint_stall <= 2 s")), ElementsAre(3e9, 6e9));
  EXPECT_THAT(asked(goal("checkpoint_stall < 2 s")), ElementsAre(3e9, 6e9));
  EXPECT_THAT(asked(goal("checkpoint_stall >= 2 s")), ElementsAre(2e9, 6e9));
  EXPECT_THAT(asked(goal("recovery <= 2 s")), ElementsAre(2e9, 6e9));
}

// Cache misses are read from the tier behind the cache and written to the cache.
TEST(TierAsks, cache_misses_are_asked_of_the_tier_behind_it) {
  design::Design d = machine::template_design("superpod-h100");
  d.workloads.resize(1);
  auto& train = std::get<design::Train>(d.workloads[0].task);
  BytesPerSecond read, cached, filled;
  double hit = -1;
  const machine::Machine m = build_machine(d, machine::known());
  TrainJob job;
  job.train = &train;
  job.label = "run";
  job.feed.known = true;
  job.feed.tier = &m.tiers[design::TierIndex(0)];
  job.feed.cache = &m.tiers[design::TierIndex(1)];
  job.feed.sample = job.feed.object = megabytes(1);
  job.feed.wanted = gbytes_per_s(10);
  job.workload = &d.workloads[0];
  for (const double rate : {0.0, 0.25, 1.0}) {
    job.feed.hit_rate = hit = rate;
    read = cached = filled = BytesPerSecond(0);
    for (const machine::TierAsk& a : asks_of(job, m)) {
      if (a.tier == m.tiers[design::TierIndex(0)].label) read += a.demand.read;
      if (a.tier == m.tiers[design::TierIndex(1)].label) cached += a.demand.read, filled += a.demand.write;
    }
    EXPECT_NEAR(read.base(), 10e9 * (1 - hit), 1) << hit;
    EXPECT_NEAR(cached.base(), 10e9 * hit, 1) << hit;
    EXPECT_NEAR(filled.base(), 10e9 * (1 - hit), 1) << hit;
  }
}

}  // namespace
}  // namespace orrery::jobs
