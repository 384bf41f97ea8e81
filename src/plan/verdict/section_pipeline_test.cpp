#include <gtest/gtest.h>

#include "model/design_text/read_design.h"
#include "plan/review/lab_fixture.h"
#include "plan/review/pipeline_view.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

// A terabyte is ingested at 1 GB/s, prepared, used for training and served; a copy of it is
// archived in parallel.
review::Review staged() {
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
  review::Review r = review::run_stages(d ? *d : design::Design{}, machine::known());
  r.batches[0].duration = hours(2);
  r.trains[0].run_time = hours(3);
  return r;
}

review::PipelineView stages_of_review(const review::Review& r) {
  return review::view_pipeline(*r.machine, r.trains, r.serves, r.batches);
}

const figures::Section& stage_words(const std::vector<figures::Section>& all,
                                    std::string_view name) {
  for (const figures::Section& s : all) {
    if (s.name == name) return s;
  }
  ADD_FAILURE() << "no section " << name;
  static const figures::Section none;
  return none;
}

void expect_stage_time(const figures::Section& s, std::string_view id, double value, double low,
                       double high) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() != id) continue;
    EXPECT_NEAR(f.estimate.value, value, 1e-6) << id;
    EXPECT_NEAR(f.estimate.low, low, 1e-6) << id;
    EXPECT_NEAR(f.estimate.high, high, 1e-6) << id;
    return;
  }
  ADD_FAILURE() << "no figure " << id;
}

TEST(SectionPipeline, every_stage_and_the_lead) {
  review::Review r = staged();
  r.pipeline = stages_of_review(r);
  r.pipeline.stages[0].time = seconds(1000);
  r.pipeline.stages[0].end = seconds(1000);
  r.pipeline.lead = seconds(18000);
  const auto all = pipeline_sections(r);
  ASSERT_EQ(all.size(), 6U);
  const figures::Section& whole = stage_words(all, "pipeline");
  EXPECT_NE(whole.limit, "");
  expect_stage_time(whole, "lead", 18000, 14400, 25200);
  expect_stage_time(whole, "freshness", 86400 + 18000, 86400 + 14400, 86400 + 25200);
  const figures::Section& in = stage_words(all, "pipeline: in");
  expect_stage_time(in, "stage_start", 0, 0, 0);
  expect_stage_time(in, "stage_end", 1000, 800, 1400);
  expect_stage_time(in, "stage_time", 1000, 800, 1400);
  expect_stage_time(in, "bytes_in", 1e12, 1e12, 1e12);
  expect_stage_time(in, "bytes_out", 1e12, 1e12, 1e12);
  expect_stage_time(stage_words(all, "pipeline: fit"), "stage_time", 10800, 8640, 15120);
  // A service moves no bytes that the design gives.
  EXPECT_EQ(stage_words(all, "pipeline: up").figures.size(), 3U);
}

TEST(SectionPipeline, single_cycle_and_infeasible_stages) {
  review::Review r = staged();
  r.pipeline = stages_of_review(r);
  r.pipeline.every.reset();
  r.pipeline.lead = seconds(3600);
  figures::Section whole = stage_words(pipeline_sections(r), "pipeline");
  expect_stage_time(whole, "freshness", 3600, 2880, 5040);
  r.pipeline.lead.reset();
  r.pipeline.stages[2].infeasible = "too large";
  const auto all = pipeline_sections(r);
  EXPECT_TRUE(stage_words(all, "pipeline").figures.empty());
  EXPECT_EQ(stage_words(all, "pipeline").limit, "");
  EXPECT_TRUE(stage_words(all, "pipeline: fit").figures.empty());
  r.pipeline.stages.clear();
  EXPECT_TRUE(pipeline_sections(r).empty());
}

// Events reach a model with the next run: an hour, and the 20 minutes that it takes.
TEST(SectionPipeline, freshness_of_a_run_that_follows_events) {
  review::Review r = staged();
  r.pipeline.stages.clear();
  design::Train follows = *r.trains[0].train;
  follows.features.emplace();
  follows.repeat = design::Recurrence{.every = hours(1)};
  r.trains[0].train = &follows;
  r.trains[0].run_time = minutes(20);
  const auto all = pipeline_sections(r);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "t features");
  expect_stage_time(all[0], "freshness", 4800, 3600 + 960, 3600 + 1680);
  r.trains[0].infeasible = "no";
  EXPECT_TRUE(pipeline_sections(r).empty());
  r.trains[0].infeasible.clear();
  follows.repeat.reset();
  EXPECT_TRUE(pipeline_sections(r).empty());
  follows.repeat = design::Recurrence{.every = hours(1)};
  follows.features.reset();
  EXPECT_TRUE(pipeline_sections(r).empty());
}

}  // namespace
}  // namespace orrery::verdict
