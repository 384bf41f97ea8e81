#include "plan/review/pipeline_view.h"

#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "plan/review/lab_fixture.h"

namespace orrery::review {
namespace {

// A terabyte is ingested at 1 GB/s, prepared, used for training and served; a copy of it is
// archived in parallel.
Review staged() {
  const auto d = design_text::read_design(
      "orrery: 1\nname: a\nsite: { region: usa }\nfleet: [{ name: f, node: dgx-h100, count: 8, "
      "custom: { cores: 96 } }]\nfabric: { compute: { topology: fat-tree, switch: qm9700 } }\n"
      "storage:\n"
      "  - { name: hot, tier: hot, kind: parallel-fs, read: 40 GB/s, write: 20 GB/s, capacity: 900 "
      "TB }\n"
      "  - { name: slow, tier: cold, kind: nfs, read: 1 GB/s, write: 500 MB/s, capacity: 900 TB }\n"
      "scheduler: { kind: kubernetes, recovery: { restart: 90 s } }\n"
      "pipeline:\n  every: 1 d\n  stages:\n"
      "    - { stage: ingest, name: in, to: hot, size: 1 TB, rate: 8 Gb/s }\n"
      "    - { stage: prepare, name: prep, workload: b }\n"
      "    - { stage: train, name: fit, workload: t }\n"
      "    - { stage: archive, name: keep, from: hot, to: slow, size: 100 GB, after: [in] }\n"
      "    - { stage: serve, name: up, workload: s, after: [fit] }\n"
      "workloads:\n"
      "  - batch: { name: b, core_hours: 96, tasks: 96 }\n"
      "  - train: { name: t, network: { params: 300M, forward: 12 GFLOP }, batch: 3200, samples: "
      "100M }\n"
      "  - serve: { name: s, model: llama-3-8b, tp: 1, replicas: 4, arrivals: { rate: 1 /s, "
      "input_tokens: 800, output_tokens: 100 } }\n",
      machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  Review r = run_stages(d ? *d : design::Design{}, machine::known());
  r.batches[0].duration = hours(2);
  r.trains[0].run_time = hours(3);
  return r;
}

PipelineView stages_of_review(const Review& r) {
  return view_pipeline(*r.machine, r.trains, r.serves, r.batches);
}

// First bytes are a millisecond of each tier; four replicas start in turn, 90 s each.
TEST(PipelineView, stages_add_up_along_the_longest_path) {
  const PipelineView p = stages_of_review(staged());
  ASSERT_EQ(p.stages.size(), 5U);
  const struct {
    double start, time;
  } wanted[] = {
      {0, 1000.001}, {1000.001, 7200}, {8200.001, 10800}, {1000.001, 200.002}, {19000.001, 360}};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(p.stages[i].start.base(), wanted[i].start, 1e-6) << i;
    EXPECT_NEAR(p.stages[i].time.base(), wanted[i].time, 1e-6) << i;
    EXPECT_NEAR(p.stages[i].end.base(), wanted[i].start + wanted[i].time, 1e-6) << i;
    EXPECT_EQ(p.stages[i].infeasible, "");
  }
  EXPECT_NEAR(p.lead->base(), 19360.001, 1e-6);
  EXPECT_EQ(p.every, days(1));
}

TEST(PipelineView, infeasible_stage_blocks_those_behind_it) {
  Review r = staged();
  r.trains[0].infeasible = "too large";
  PipelineView p = stages_of_review(r);
  EXPECT_NE(p.stages[2].infeasible, "");
  EXPECT_NE(p.stages[4].infeasible, "");
  EXPECT_EQ(p.stages[3].infeasible, "");
  EXPECT_FALSE(p.lead);
  r = staged();
  r.trains[0].run_time = Seconds();
  EXPECT_NE(stages_of_review(r).stages[2].infeasible, "");
  r = staged();
  r.batches[0].fleet = nullptr;
  p = stages_of_review(r);
  EXPECT_NE(p.stages[1].infeasible, "");
  EXPECT_NE(p.stages[2].infeasible, "");
  EXPECT_NE(p.stages[4].infeasible, "");
  r = staged();
  r.serves[0].infeasible = "no room";
  EXPECT_NE(stages_of_review(r).stages[4].infeasible, "");
  EXPECT_FALSE(stages_of_review(r).lead);
  r.serves[0].infeasible.clear();
  r.serves[0].fleet = nullptr;
  EXPECT_NE(stages_of_review(r).stages[4].infeasible, "");
}

// A copy that cannot be made does not delay serving.
TEST(PipelineView, only_serving_stages_count_for_the_lead) {
  const Review first = staged();
  design::Design d = first.design();
  d.pipeline.stages[3].to = "nowhere";
  Review r = run_stages(std::move(d), machine::known());
  r.batches[0].duration = hours(2);
  r.trains[0].run_time = hours(3);
  const PipelineView p = stages_of_review(r);
  EXPECT_NE(p.stages[3].infeasible, "");
  ASSERT_TRUE(p.lead);
  EXPECT_NEAR(p.lead->base(), 19360.001, 1e-6);
}

// Zones reload at the same time: the slowest counts.
TEST(PipelineView, zones_reload_in_parallel) {
  Review r = staged();
  r.serves.push_back(r.serves[0]);
  r.serves[0].replicas = 7;
  r.serves[1].replicas = 3;
  EXPECT_NEAR(stages_of_review(r).stages[4].time.base(), 630, 1e-6);
}

}  // namespace
}  // namespace orrery::review
