// What a run reports on a pipeline: its stages, and the age of events when a model has learned
// them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>

#include "core/base/random.h"
#include "core/base/units.h"
#include "layers/facility/power_cap.h"
#include "model/design_text/read_design.h"
#include "model/jobs/build_machine.h"
#include "model/jobs/pipeline.h"
#include "model/machine/site_load.h"
#include "twin/processes/pipeline_process.h"
#include "twin/processes/populated_fixture.h"
#include "twin/processes/service_process.h"
#include "twin/run/hand_made_fixture.h"
#include "twin/run/run_fixture.h"

namespace orrery::run {

namespace {

using figures::Layer;

// A pipeline, stage by stage.
TEST(PipelineFigures, every_stage_of_a_pipeline_has_its_times) {
  design::Design d = world::sample_design();
  d.pipeline.every = hours(2);
  d.pipeline.stages = {{.stage = design::DataStage::ingest, .to = d.storage.front().name}};
  d.pipeline.stages[0].size = terabytes(3);
  d.pipeline.stages[0].rate = gigabytes(2) / seconds(1);
  HandMadeRun t(std::move(d));
  processes::PipelineOutcome& p = t.first().pipeline;
  p.cycles = 7;
  p.served = 4;
  p.lead_ns = 800 * kSecondNs;
  p.age_ns = 9000 * kSecondNs;
  p.stages.resize(1);
  p.stages[0] = {.started = 6,
                 .ended = 5,
                 .start_ns = 50 * kSecondNs,
                 .end_ns = 400 * kSecondNs,
                 .wait_ns = 30 * kSecondNs,
                 .moved = terabytes(15)};
  t.tell_all();
  expect_list(t, Layer::cluster, "pipeline",
              {{"cycles", 7}, {"models_served", 4}, {"lead", 200}, {"freshness", 9000}});
  const auto stages = jobs::pipeline_of(t.machine);
  ASSERT_EQ(stages.size(), 1U);
  const std::string name = "pipeline: " + stages[0].label;
  expect_list(t, Layer::cluster, name,
              {{"stage_runs", 5},
               {"stage_start", 10},
               {"stage_end", 80},
               {"stage_time", 70},
               {"stage_wait", 6},
               {"bytes_moved", 15e12}});
  EXPECT_THAT(t.section(Layer::cluster, "pipeline")->summary, testing::HasSubstr("2 h"));
  p.served = 0;
  p.stages[0].ended = 0;
  p.stages[0].wait_ns = 0;
  t.tell_all();
  expect_list(t, Layer::cluster, "pipeline", {{"cycles", 7}, {"models_served", 0}});
  expect_list(t, Layer::cluster, name, {{"stage_runs", 0}, {"bytes_moved", 15e12}});
  EXPECT_TRUE(std::ranges::any_of(t.run.notes, [](const std::string& n) {
    return n.starts_with("pipeline: none of its models serves within the simulated time");
  }));
}

// Hosts that do not fail, three tiers, and one workload of each kind.
constexpr std::string_view kMachine = R"(orrery: 1
name: life
site: { region: usa }
fleet:
  - { name: gpus, node: dgx-h100, count: 6, failures: { node_mtbf: 10000 y } }
  - { name: cpus, node: cpu-2s-server, count: 4, custom: { cores: 100 }, failures: { node_mtbf: 10000 y } }
storage:
  - { name: hot, tier: hot, kind: parallel-fs, read: 20 GB/s, write: 10 GB/s, capacity: 900 TB, first_byte: 1 s }
  - { name: warm, tier: warm, kind: object, read: 5 GB/s, write: 4 GB/s, capacity: 900 TB, first_byte: 2 s }
  - { name: cold, tier: cold, kind: object, read: 2 GB/s, write: 1 GB/s, capacity: 9 PB, first_byte: 3 s }
workloads:
  - batch: { name: clean, fleet: cpus, core_hours: 800, tasks: 400 }
  - train: { name: rank, fleet: gpus, nodes: 4, network: { params: 1B, forward: 20 GFLOP }, samples: 200M, batch: 8192 }
  - serve: { name: chat, fleet: gpus, nodes: 1, model: llama-3-8b, replicas: 3, tp: 1, arrivals: { rate: 1 /s, input_tokens: 200, output_tokens: 100 } }
)";

design::Design with(const std::string& pipeline) {
  auto d = design_text::read_design(std::string(kMachine) + pipeline, machine::known().catalog());
  EXPECT_TRUE(d) << (d ? "" : to_text(d.error()));
  return *std::move(d);
}

double s_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

constexpr const char* kWhole =
    "pipeline: { every: 1 d, stages: [{ stage: ingest, to: hot, size: 36 TB, rate: 20 GB/s },"
    " { stage: prepare, workload: clean }, { stage: train, workload: rank },"
    " { stage: register, from: hot, to: warm }, { stage: deploy, from: warm, to: hot },"
    " { stage: serve, workload: chat },"
    " { stage: archive, from: hot, to: cold, size: 3 TB, keep: 30 d, after: [ingest] }] }\n";

// Events of a stream: from the start of a run to the end of the next.
TEST(PipelineFigures, a_repeating_run_reports_the_age_of_events) {
  design::Design d = with("");
  auto& train = std::get<design::Train>(d.workloads[1].task);
  train.repeat = design::Recurrence{.every = hours(6), .window = {}};
  train.features = design::FeatureStream{.rate = PerSecond(100), .size = kilobytes(1)};
  const Simulated sim(std::move(d), {.horizon = days(2), .replications = 1});
  const auto run = sim.simulation.run_of(sim.done);
  const auto section = std::ranges::find(run.sections, "rank features", &figures::Section::name);
  ASSERT_NE(section, run.sections.end());
  const double took = s_of(sim.done[0].jobs[0].finished_ns);
  EXPECT_NEAR(section->figures[0].estimate.value, 6 * 3600 + took, 1);
}

TEST(PipelineFigures, a_run_judges_a_goal_on_freshness) {
  design::Design d = with(kWhole);
  d.goals = {{.metric = "freshness",
              .comparison = design::Comparison::at_most,
              .bound = days(2).base(),
              .dimension = DimensionOf<Seconds>::value}};
  const Simulated sim(d, {.horizon = days(4), .replications = 1});
  const auto run = sim.simulation.run_of(sim.done);
  ASSERT_EQ(run.goals.size(), 1U);
  EXPECT_TRUE(run.goals[0].met);
  EXPECT_NEAR(run.goals[0].actual.value, s_of(sim.done[0].pipeline.age_ns), 1);
  // There are no figures for a model that never serves.
  const Simulated brief_run(d, {.horizon = hours(1), .replications = 1});
  EXPECT_TRUE(brief_run.simulation.run_of(brief_run.done).goals.empty());
}

}  // namespace
}  // namespace orrery::run
