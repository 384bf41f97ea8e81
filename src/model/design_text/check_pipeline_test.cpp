#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two shared tiers, drives in the nodes, and one workload of each kind.
std::string pipeline_text(const std::string& stages, const std::string& every,
                          const std::string& train = "") {
  return "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: "
         "8 }\nstorage:\n  - { tier: hot, kind: object, capacity: 1 PB }\n  - { tier: cold, kind: "
         "object, capacity: 1 PB }\n  "
         "- { tier: node-nvme, kind: local-nvme, name: local }\nworkloads:\n  - train: { name: "
         "run, model: "
         "llama-3-8b, tokens: 1B, batch: 64" +
         train +
         " }\n  - batch: { name: prep, core_hours: 9 }\n  - serve: { name: ask, model: llama-3-8b, "
         "arrivals: { rate: 1 /s, trace: chat } }\n  - jobs: { rate: 1 /h, mean_duration: 1 h }\n"
         "pipeline:\n" +
         every + "  stages:\n" + stages;
}

std::vector<std::string> stages_said(const std::string& stages,
                                     const std::string& every = "  every: 1 d\n",
                                     const std::string& train = "") {
  return said_of(pipeline_text(stages, every, train));
}

std::string stage(const std::string& fields) { return "    - { stage: " + fields + " }\n"; }

const std::string kIngest = stage("ingest, to: hot, rate: 9 Gb/s, size: 1 TB");

TEST(CheckPipeline, complete_pipeline_passes) {
  EXPECT_THAT(stages_said(kIngest + stage("prepare, workload: prep, after: [ingest]") +
                          stage("train, workload: run, after: [begin, prepare]") +
                          stage("register, from: hot, to: cold") + stage("serve, workload: ask")),
              IsEmpty());
}

TEST(CheckPipeline, stages_have_unique_names) {
  EXPECT_THAT(said_of(pipeline_text("", "").substr(0, pipeline_text("", "").find("  stages:")) +
                      "  every: 1 d\n"),
              ElementsAre("design.pipeline at every:"));
  EXPECT_THAT(stages_said(kIngest + kIngest), ElementsAre("design.duplicate-name at {"));
  EXPECT_THAT(stages_said(stage("ingest, name: begin, to: hot, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.pipeline at begin"));
}

TEST(CheckPipeline, copies_name_source_and_target) {
  EXPECT_THAT(stages_said(stage("ingest, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.missing at {"));
  EXPECT_THAT(stages_said(stage("ingest, to: hot, size: 1 TB")),
              ElementsAre("design.missing at {"));
  EXPECT_THAT(stages_said(stage("ingest, to: hot, rate: 9 Gb/s")),
              ElementsAre("design.missing at {"));
  EXPECT_THAT(stages_said(stage("ingest, from: cold, to: hot, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.pipeline at cold"));
  EXPECT_THAT(stages_said(stage("ingest, workload: prep, to: hot, rate: 9 Gb/s, size: 1 TB")),
              ElementsAre("design.pipeline at prep"));
  EXPECT_THAT(stages_said(stage("archive, to: cold, size: 1 TB")),
              ElementsAre("design.missing at {"));
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: cold, size: 1 TB")), IsEmpty());
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: hot, size: 1 TB")),
              ElementsAre("design.pipeline at hot"));
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: colt, size: 1 TB")),
              ElementsAre("design.unknown-name at colt"));
  EXPECT_THAT(stages_said(stage("archive, from: hit, to: cold, size: 1 TB")),
              ElementsAre("design.unknown-name at hit"));
  EXPECT_THAT(stages_said(stage("archive, from: hot, to: local, size: 1 TB")),
              ElementsAre("design.pipeline at local"));
}

TEST(CheckPipeline, weights_come_from_a_model_above) {
  const std::string lacks = "design.missing at {";
  EXPECT_THAT(stages_said(stage("register, from: hot, to: cold")), ElementsAre(lacks));
  EXPECT_THAT(stages_said(stage("register, from: hot, to: cold, size: 1 GB")), IsEmpty());
  EXPECT_THAT(stages_said(stage("register, from: hot, to: cold") + stage("train, workload: run")),
              ElementsAre(lacks))
      << "the training run comes later";
  EXPECT_THAT(stages_said(stage("train, workload: run") + stage("deploy, from: hot, to: cold")),
              IsEmpty());
  EXPECT_THAT(stages_said(stage("train, workload: run") + stage("archive, from: hot, to: cold")),
              ElementsAre("design.missing at {"));
}

TEST(CheckPipeline, work_stages_name_a_workload) {
  const auto lacking = [](const char* key, const char* value) {
    return stages_said(stage("train, workload: run, " + std::string(key) + ": " + value));
  };
  for (const auto& [key, value] :
       {std::pair{"from", "hot"}, std::pair{"to", "hot"}, std::pair{"size", "7TB"},
        std::pair{"rate", "7GB/s"}, std::pair{"keep", "7d"}}) {
    EXPECT_THAT(lacking(key, value), ElementsAre("design.pipeline at " + std::string(value)));
  }
  EXPECT_THAT(stages_said(stage("train")), ElementsAre("design.missing at {"));
  EXPECT_THAT(stages_said(stage("train, workload: ran")),
              ElementsAre("design.unknown-name at ran"));
  EXPECT_THAT(stages_said(stage("train, workload: run") + stage("validate, workload: run")),
              ElementsAre("design.pipeline at run", "design.pipeline at run"));
  EXPECT_THAT(stages_said(stage("train, workload: prep")), ElementsAre("design.pipeline at prep"));
  EXPECT_THAT(stages_said(stage("serve, workload: run")), ElementsAre("design.pipeline at run"));
  EXPECT_THAT(stages_said(stage("prepare, workload: jobs")),
              ElementsAre("design.pipeline at jobs"));
  EXPECT_THAT(stages_said(stage("validate, workload: run")), IsEmpty());
}

TEST(CheckPipeline, workload_runs_once_per_cycle) {
  const std::string train = stage("train, workload: run");
  EXPECT_THAT(stages_said(train, "  every: 1 d\n", ", repeat: { every: 1 d }"), IsEmpty());
  EXPECT_THAT(stages_said(train, "  every: 1 d\n", ", repeat: { every: 2 d }"),
              ElementsAre("design.pipeline at run"));
  EXPECT_THAT(stages_said(train, "", ", repeat: { every: 2 d }"),
              ElementsAre("design.pipeline at run"));
  EXPECT_THAT(stages_said(train, "", ", runs: 3"), ElementsAre("design.pipeline at run"));
  EXPECT_THAT(stages_said(train, "", ", runs: 1"), IsEmpty());
  const auto once = read_design(pipeline_text(train, ""), design::catalog());
  ASSERT_TRUE(once);
  EXPECT_EQ(std::get<design::Train>(once->workloads[0].task).runs, 1);
  const auto daily = read_design(pipeline_text(train, "  every: 1 d\n"), design::catalog());
  ASSERT_TRUE(daily);
  ASSERT_TRUE(std::get<design::Train>(daily->workloads[0].task).repeat);
  EXPECT_EQ(std::get<design::Train>(daily->workloads[0].task).repeat->every, days(1));
}

TEST(CheckPipeline, stage_waits_only_for_earlier_ones) {
  const std::string archive = "archive, from: hot, to: cold, size: 1 TB, after: ";
  EXPECT_THAT(stages_said(kIngest + stage(archive + "[ingest]")), IsEmpty());
  EXPECT_THAT(stages_said(stage(archive + "[ingest]") + kIngest),
              ElementsAre("design.pipeline at [ingest"));
  EXPECT_THAT(stages_said(stage(archive + "[archive]")),
              ElementsAre("design.pipeline at [archive"));
  EXPECT_THAT(stages_said(kIngest + stage(archive + "[ingost]")),
              ElementsAre("design.unknown-name at [ingost"));
}

}  // namespace
}  // namespace orrery::design_text
