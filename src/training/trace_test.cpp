#include "training/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::training {
namespace {

TEST(Trace, BlocksOfAStageNeverOverlapAndEndWithTheClosedForm) {
  const StageTimes t{1, 1, 1};
  const PipelineStages stages{t, t, t, 4};
  const auto blocks = schedule_blocks(stages, 16);
  EXPECT_EQ(blocks.size(), 4u * 16 * 2);
  double end = 0;
  std::vector<double> free(4, 0);
  for (const TraceBlock& b : blocks) {
    double& stage = free[static_cast<std::size_t>(b.stage)];
    EXPECT_GE(b.start_s, stage);
    stage = b.start_s + b.seconds;
    end = std::max(end, stage);
  }
  EXPECT_NEAR(end, pipeline_time(stages, 16, 1, catalog::Schedule::one_f_one_b).seconds, 1e-9);
}

TEST(Trace, JsonHasOneEventABlockAndTheTail) {
  StepEstimate step;
  step.microbatches = 2;
  step.stages = {{1, 1, 1}, {}, {1, 1, 1}, 2};
  step.parts[static_cast<std::size_t>(StepPhase::optimizer)] = 0.5;
  const std::string json = step_trace_json(step, "test");
  std::size_t events = 0;
  for (std::size_t at = json.find("\"ph\""); at != std::string::npos;
       at = json.find("\"ph\"", at + 1)) {
    ++events;
  }
  EXPECT_EQ(events, 2u * 2 * 2 + 2);
}

}  // namespace
}  // namespace orrery::training
