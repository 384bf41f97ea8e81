#include "model/jobs/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "layers/fabric/collective_model.h"
#include "model/design/design.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
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
using testing::IsEmpty;

TEST(Pipeline, stages_know_what_they_move_and_wait_for) {
  const machine::Machine m = with_storage(kTwoTiers, kStages);
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 6U);
  EXPECT_EQ(stages[0].out, terabytes(10));
  EXPECT_EQ(stages[0].in, terabytes(10));
  EXPECT_EQ(stages[0].way, gbytes_per_s(1));
  EXPECT_EQ(stages[0].from, nullptr);
  EXPECT_EQ(stages[0].to->label, "hot");
  EXPECT_EQ(stages[0].path, "pipeline.stages[0]");
  EXPECT_THAT(stages[0].after, IsEmpty());
  EXPECT_EQ(stages[1].in, terabytes(7));
  EXPECT_EQ(stages[1].out, terabytes(3));
  EXPECT_THAT(stages[1].after, ElementsAre(0U));
  EXPECT_EQ(stages[2].in, gigabytes(150));
  EXPECT_EQ(stages[2].out, megabytes(600)) << "two bytes of 300 M weights";
  EXPECT_THAT(stages[2].after, ElementsAre(0U, 1U));
  EXPECT_EQ(stages[3].out, megabytes(600));
  EXPECT_EQ(stages[3].way, gbytes_per_s(2)) << "the line between the sites";
  EXPECT_EQ(stages[4].way, gbytes_per_s(1)) << "the rate given";
  EXPECT_THAT(stages[4].after, IsEmpty());
  EXPECT_TRUE(stages[5].is_served);
  EXPECT_FALSE(stages[3].is_served);
  EXPECT_EQ(stage_of(stages, m.design().workloads[0]), 2);
  EXPECT_EQ(stage_of(stages, m.design().workloads[2]), 5);
  EXPECT_EQ(stage_of({}, m.design().workloads[2]), -1);
  EXPECT_EQ(kept_by(stages[0], m.design().pipeline), terabytes(30)) << "three daily cycles";
  EXPECT_EQ(kept_by(stages[4], m.design().pipeline), terabytes(1));
  for (const PipelineStage& s : stages) EXPECT_EQ(s.infeasible, "");
  const auto left = tiers_left(m, stages, {});
  EXPECT_EQ(left[design::TierIndex(0)].read, gbytes_per_s(40));
  EXPECT_EQ(left[design::TierIndex(1)].write, gbytes_per_s(3));
  // 1 ms of each tier's first byte; 10 TB at 1 GB/s; 0.6 GB at the line's 2 GB/s.
  machine::expect_close(move_time(stages[0], left).base(), 1e-3 + 10'000);
  machine::expect_close(move_time(stages[3], left).base(), 2e-3 + 0.3);
  TiersLeft busy = left;
  busy[design::TierIndex(1)].write = gbytes_per_s(0.5);
  machine::expect_close(move_time(stages[3], busy).base(), 2e-3 + 1.2);
  busy = left;
  busy[design::TierIndex(0)].read = gbytes_per_s(0.25);
  machine::expect_close(move_time(stages[3], busy).base(), 2e-3 + 2.4);
}

// `register` moves the weights of the training run above it, even with another stage between.
TEST(Pipeline, register_moves_the_weights_of_the_run_above) {
  const auto read = design_text::read_design(
      "orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: 4 }]\n"
      "storage:\n  - { name: hot, tier: hot, kind: parallel-fs, read: 9 GB/s, capacity: 9 PB }\n"
      "  - { name: cold, tier: cold, kind: nfs, read: 9 GB/s, capacity: 9 PB }\n"
      "workloads:\n  - train: { name: run, network: { params: 300M, forward: 12 GFLOP }, batch: "
      "3200, samples: 1M }\n  - batch: { name: prep, core_hours: 9 }\n"
      "pipeline:\n  stages:\n    - { stage: train, workload: run }\n    - { stage: prepare, "
      "workload: prep }\n    - { stage: register, from: hot, to: cold }\n",
      machine::known().catalog());
  ASSERT_TRUE(read) << to_text(read.error());
  const machine::Machine m = build_machine(*read, machine::known());
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[2].out, megabytes(600));
  EXPECT_EQ(kept_by(stages[2], m.design().pipeline), megabytes(600)) << "the pipeline runs once";
}

TEST(Pipeline, stage_inside_a_site_crosses_no_line) {
  const machine::Machine m =
      detailed("",
               "pipeline:\n  stages:\n    - { stage: archive, from: hot, to: "
               "warm, size: 1 TB, keep: 5 d }\n");
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].way, storage::kUnlimitedRate);
  EXPECT_EQ(kept_by(stages[0], m.design().pipeline), terabytes(1)) << "it runs once";
}

// Runs outside the pipeline take their part of a tier's rates, but always leave 5 %.
TEST(Pipeline, stages_get_what_other_runs_leave_of_a_tier) {
  const FedRun r("read: 90 GB/s, write: 9 GB/s", "samples: 10M, sample_size: 150 kB", "",
                 "samples: 1M, checkpoint: { to: [t], every: 30 min }");
  TrainJob job = r.job;
  job.feed.wanted = gbytes_per_s(40);
  job.feed.loader.utilisation = 0.5;
  job.feed.hit_rate = 0.25;
  job.checkpoint->size = gigabytes(900);
  job.checkpoint->interval = seconds(300);
  const auto left = [&] {
    const TrainJob* runs[] = {&job};
    return tiers_left(r.machine, {}, runs).front();
  };
  EXPECT_NEAR(left().read.base(), 90e9 - 40e9 * 0.5 * 0.75, 1);
  EXPECT_NEAR(left().write.base(), 9e9 - 3e9, 1);
  job.checkpoint->later = {{.tier = &r.machine.tiers[design::TierIndex(0)], .every = seconds(900)}};
  EXPECT_NEAR(left().write.base(), 9e9 - 3e9 - 1e9, 1);
  job.checkpoint->interval = Seconds();
  EXPECT_NEAR(left().write.base(), 9e9, 1) << "without an interval its saves have no rate";
  job.checkpoint->interval = seconds(1);
  job.feed.wanted = gbytes_per_s(900);
  EXPECT_NEAR(left().write.base(), 9e9 * 0.05, 1);
  EXPECT_NEAR(left().read.base(), 90e9 * 0.05, 1);
  job.infeasible = "no";
  EXPECT_NEAR(left().read.base(), 90e9, 1);
}

TEST(Pipeline, unknown_workloads_and_unknown_rates) {
  design::Design d = machine::small_design(
      "storage:\n  - { tier: hot, kind: parallel-fs, read: 40 GB/s, write: 8 GB/s, capacity: 1 PB "
      "}\n");
  d.pipeline.stages.push_back({.stage = design::DataStage::train, .workload = "unknown"});
  d.pipeline.stages.push_back(
      {.stage = design::DataStage::ingest, .to = "hot", .size = gigabytes(8)});
  const machine::Machine m = build_machine(d, machine::known());
  const auto stages = pipeline_of(m);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_NE(stages[0].infeasible, "") << "no workload has that name";
  // A tier may have less than one byte per second left; 0 means that the rate is not known.
  const Seconds first = stages[1].to->first_byte;
  TiersLeft left(m.tiers.size());
  const design::TierIndex of = stages[1].to->index;
  left[of].write = BytesPerSecond(0.5);
  EXPECT_DOUBLE_EQ(move_time(stages[1], left).base(), first.base() + 16e9);
  left[of].write = BytesPerSecond(0);
  EXPECT_LT(move_time(stages[1], left).base(), first.base() + 1e6);
  // A copy without an interval takes no bandwidth.
  design::Workload work;
  TrainJob job;
  job.workload = &work;
  job.checkpoint.emplace();
  job.checkpoint->size = gigabytes(8);
  job.checkpoint->interval = seconds(2);
  job.checkpoint->later = {{.tier = &m.tiers[of], .kept = {}, .every = Seconds(0)}};
  const TrainJob* runs[] = {&job};
  EXPECT_EQ(tiers_left(m, stages, runs)[of].write, gbytes_per_s(8));
  job.checkpoint->later[0].every = seconds(2);
  EXPECT_EQ(tiers_left(m, stages, runs)[of].write, gbytes_per_s(4));
}

}  // namespace
}  // namespace orrery::jobs
