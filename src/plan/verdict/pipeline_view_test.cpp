// Stages one after the other, from workloads whose times are set by hand, and what sections say of
// them.
#include "plan/review/pipeline_view.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/design_text/read_design.h"
#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"
#include "plan/verdict/sections.h"

namespace orrery::verdict {
namespace {

// A terabyte comes in at 1 GB/s and is prepared, trained on and served; a copy of it is archived
// beside that.
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

// First bytes are a millisecond of each tier; four replicas start in turn, 90 s each.
TEST(PipelineByHand, StagesAddUpAlongTheLongestWay) {
  const review::PipelineView p = stages_of_review(staged());
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

TEST(PipelineByHand, WhatNeverEndsIsSaidOfAllThatWaitForIt) {
  review::Review r = staged();
  r.trains[0].infeasible = "too large";
  review::PipelineView p = stages_of_review(r);
  EXPECT_EQ(p.stages[2].infeasible, "too large");
  EXPECT_EQ(p.stages[4].infeasible, "it waits for fit, which never ends");
  EXPECT_EQ(p.stages[3].infeasible, "");
  EXPECT_FALSE(p.lead);
  r = staged();
  r.trains[0].run_time = Seconds();
  EXPECT_EQ(stages_of_review(r).stages[2].infeasible, "its run has no end");
  r = staged();
  r.batches[0].fleet = nullptr;
  p = stages_of_review(r);
  EXPECT_EQ(p.stages[1].infeasible, "no fleet to run on");
  EXPECT_EQ(p.stages[2].infeasible, "it waits for prep, which never ends");
  EXPECT_EQ(p.stages[4].infeasible, "it waits for fit, which never ends");
  r = staged();
  r.serves[0].infeasible = "no room";
  EXPECT_EQ(stages_of_review(r).stages[4].infeasible, "no room");
  EXPECT_FALSE(stages_of_review(r).lead);
  r.serves[0].infeasible.clear();
  r.serves[0].fleet = nullptr;
  EXPECT_EQ(stages_of_review(r).stages[4].infeasible, "no fleet to run on");
}

// A copy that cannot be made keeps nobody from serving.
TEST(PipelineByHand, OnlyWhatServesCountsForTheLead) {
  const review::Review first = staged();
  design::Design d = first.design();
  d.pipeline.stages[3].to = "nowhere";
  review::Review r = review::run_stages(std::move(d), machine::known());
  r.batches[0].duration = hours(2);
  r.trains[0].run_time = hours(3);
  const review::PipelineView p = stages_of_review(r);
  EXPECT_EQ(p.stages[3].infeasible, "a tier that it names is not there");
  ASSERT_TRUE(p.lead);
  EXPECT_NEAR(p.lead->base(), 19360.001, 1e-6);
}

// Zones reload beside each other: the slowest counts.
TEST(PipelineByHand, ZonesStartBesideEachOther) {
  review::Review r = staged();
  r.serves.push_back(r.serves[0]);
  r.serves[0].replicas = 7;
  r.serves[1].replicas = 3;
  EXPECT_NEAR(stages_of_review(r).stages[4].time.base(), 630, 1e-6);
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
                       double high, const std::string& formula) {
  for (const figures::Figure& f : s.figures) {
    if (f.id() != id) continue;
    EXPECT_NEAR(f.estimate.value, value, 1e-6) << id;
    EXPECT_NEAR(f.estimate.low, low, 1e-6) << id;
    EXPECT_NEAR(f.estimate.high, high, 1e-6) << id;
    EXPECT_EQ(f.formula, formula) << id;
    return;
  }
  ADD_FAILURE() << "no figure " << id;
}

TEST(PipelineSection, TellsEveryStageAndTheLead) {
  review::Review r = staged();
  r.pipeline = stages_of_review(r);
  r.pipeline.stages[0].time = seconds(1000);
  r.pipeline.stages[0].end = seconds(1000);
  r.pipeline.lead = seconds(18000);
  const auto all = pipeline_sections(r);
  ASSERT_EQ(all.size(), 6U);
  const figures::Section& whole = stage_words(all, "pipeline");
  EXPECT_EQ(whole.summary, "5 stages, a cycle every 1 d");
  EXPECT_EQ(whole.limit, "fit, 3 h of a lead of 5 h");
  expect_stage_time(whole, "lead", 18000, 14400, 25200, "stages along the longest way");
  expect_stage_time(whole, "freshness", 86400 + 18000, 86400 + 14400, 86400 + 25200,
                    "every 1 d + lead 5 h");
  const figures::Section& in = stage_words(all, "pipeline: in");
  EXPECT_EQ(in.summary, "from outside to tier hot");
  expect_stage_time(in, "stage_start", 0, 0, 0, "");
  expect_stage_time(in, "stage_end", 1000, 800, 1400, "");
  expect_stage_time(in, "stage_time", 1000, 800, 1400, "1 TB at 1 GB/s");
  expect_stage_time(in, "bytes_in", 1e12, 1e12, 1e12, "");
  expect_stage_time(in, "bytes_out", 1e12, 1e12, 1e12, "");
  EXPECT_EQ(stage_words(all, "pipeline: keep").summary, "from tier hot to tier slow");
  EXPECT_EQ(stage_words(all, "pipeline: fit").summary, "workload t");
  expect_stage_time(stage_words(all, "pipeline: fit"), "stage_time", 10800, 8640, 15120, "");
  // A service moves nothing that the design knows of.
  EXPECT_EQ(stage_words(all, "pipeline: up").figures.size(), 3U);
}

TEST(PipelineSection, OfOneCycleOrNone) {
  review::Review r = staged();
  r.pipeline = stages_of_review(r);
  r.pipeline.every.reset();
  r.pipeline.lead = seconds(3600);
  figures::Section whole = stage_words(pipeline_sections(r), "pipeline");
  EXPECT_EQ(whole.summary, "5 stages, one cycle");
  expect_stage_time(whole, "freshness", 3600, 2880, 5040, "the lead");
  r.pipeline.lead.reset();
  r.pipeline.stages[2].infeasible = "too large";
  const auto all = pipeline_sections(r);
  EXPECT_TRUE(stage_words(all, "pipeline").figures.empty());
  EXPECT_EQ(stage_words(all, "pipeline").limit, "");
  EXPECT_EQ(stage_words(all, "pipeline: fit").summary, "never ends: too large");
  EXPECT_TRUE(stage_words(all, "pipeline: fit").figures.empty());
  r.pipeline.stages.clear();
  EXPECT_TRUE(pipeline_sections(r).empty());
}

// Events reach a model with the next run: an hour, and the 20 minutes that it takes.
TEST(PipelineSection, OfARunThatFollowsEvents) {
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
  expect_stage_time(all[0], "freshness", 4800, 3600 + 960, 3600 + 1680, "every 1 h + run 20 min");
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
