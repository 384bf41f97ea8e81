#include "layers/training/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "layers/training/calibration.h"
#include "layers/training/pipeline.h"
#include "layers/training/step.h"

namespace orrery::training {
namespace {

TEST(Trace, blocks_of_a_stage_never_overlap_and_end_with_the_closed_form) {
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

// 1F1B: stage s of p runs at most p - s forwards ahead of its backwards, so no more microbatches
// are in flight than memory was counted for.
TEST(Trace, no_more_is_in_flight_than_the_schedule_holds) {
  const StageTimes t{1, 1, 1};
  for (const int microbatches : {2, 16}) {
    std::vector<int> ahead(4, 0), most(4, 0);
    for (const TraceBlock& b : schedule_blocks({t, t, t, 4}, microbatches)) {
      int& now = ahead[static_cast<std::size_t>(b.stage)];
      now += b.backward ? -1 : 1;
      most[static_cast<std::size_t>(b.stage)] =
          std::max(most[static_cast<std::size_t>(b.stage)], now);
    }
    for (int s = 0; s < 4; ++s) {
      EXPECT_EQ(ahead[static_cast<std::size_t>(s)], 0);
      EXPECT_EQ(most[static_cast<std::size_t>(s)], std::min(microbatches, 4 - s)) << s;
    }
  }
}

// A backward block covers both of its passes, and begins once the next stage has ended its own.
TEST(Trace, blocks_follow_what_they_need) {
  const auto blocks = schedule_blocks({{1, 2, 3}, {}, {4, 5, 6}, 2}, 1);
  ASSERT_EQ(blocks.size(), 4u);
  const auto same = [](const TraceBlock& b, int stage, bool backward, double start, double length) {
    EXPECT_EQ(b.stage, stage);
    EXPECT_EQ(b.backward, backward);
    EXPECT_DOUBLE_EQ(b.start_s, start);
    EXPECT_DOUBLE_EQ(b.seconds, length);
  };
  same(blocks[0], 0, false, 0, 1);
  same(blocks[1], 1, false, 1, 4);
  same(blocks[2], 1, true, 5, 11);
  same(blocks[3], 0, true, 16, 5);
}

TEST(Trace, json_has_one_event_a_block_and_the_tail) {
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
  // Microseconds, as trace viewers expect; the tail begins where the last block ends.
  const auto parsed = nlohmann::json::parse(json)["traceEvents"];
  double ends = 0;
  for (std::size_t i = 0; i + 2 < parsed.size(); ++i) {
    const auto& e = parsed[i];
    const bool backward = e["name"].get<std::string>().starts_with("backward");
    EXPECT_EQ(e["dur"], backward ? 2e6 : 1e6);
    ends = std::max(ends, e["ts"].get<double>() + e["dur"].get<double>());
  }
  EXPECT_EQ(ends, 9e6);
  for (std::size_t i = parsed.size() - 2; i < parsed.size(); ++i) {
    EXPECT_EQ(parsed[i]["ts"], ends);
    EXPECT_EQ(parsed[i]["dur"], 5e5);
  }
}

TEST(Trace, timeline_draws_at_most_64_microbatches) {
  StepEstimate step;
  step.microbatches = 70;
  step.seconds = 3;
  step.stages = {.first = {0.01, 0.01, 0.01}, .count = 1};
  const std::string text = step_trace_json(step, "t");
  EXPECT_NE(text.find("\"microbatches\":70"), std::string::npos) << text.substr(text.size() - 200);
  EXPECT_NE(text.find("\"microbatches_drawn\":64"), std::string::npos);
  EXPECT_NE(text.find("forward 63"), std::string::npos);
  EXPECT_EQ(text.find("forward 64"), std::string::npos);
}

}  // namespace
}  // namespace orrery::training
