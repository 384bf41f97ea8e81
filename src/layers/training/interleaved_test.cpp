#include "layers/training/interleaved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "layers/training/pipeline.h"

namespace orrery::training {
namespace {

const StageTimes kEven{1, 1, 1};

TEST(Interleaved, every_pass_runs_once_and_the_end_is_that_of_the_closed_form) {
  const PipelineStages stages{kEven, kEven, kEven, 4};
  for (const int vp : {2, 3}) {
    const auto blocks = interleaved_blocks(stages, 16, vp);
    EXPECT_EQ(blocks.size(), 2u * 4 * 16 * static_cast<std::size_t>(vp));
    double end = 0;
    std::vector<double> free(4, 0);
    for (const TraceBlock& b : blocks) {
      double& stage = free[static_cast<std::size_t>(b.stage)];
      EXPECT_GE(b.start_s, stage);
      stage = b.start_s + b.seconds;
      end = std::max(end, stage);
    }
    const double seconds = pipeline_time(stages, 16, vp, catalog::Schedule::interleaved).seconds;
    EXPECT_NEAR(end, seconds, 1e-9) << vp;
  }
}

TEST(Interleaved, a_forward_follows_the_stage_and_the_chunk_before_it) {
  const auto blocks = interleaved_blocks({kEven, kEven, kEven, 3}, 6, 2);
  std::map<std::vector<int>, const TraceBlock*> at;
  for (const TraceBlock& b : blocks) at[{b.backward, b.chunk, b.stage, b.microbatch}] = &b;
  const auto end = [](const TraceBlock* b) { return b->start_s + b->seconds; };
  for (int mb = 0; mb < 6; ++mb) {
    EXPECT_GE((at[{0, 0, 1, mb}]->start_s), end(at[{0, 0, 0, mb}]));
    EXPECT_GE((at[{0, 1, 0, mb}]->start_s), end(at[{0, 0, 2, mb}]));
    EXPECT_GE((at[{1, 1, 2, mb}]->start_s), end(at[{0, 1, 2, mb}]));
    EXPECT_GE((at[{1, 0, 2, mb}]->start_s), end(at[{1, 1, 0, mb}]));
  }
}

TEST(Interleaved, a_number_of_microbatches_that_the_stages_do_not_divide_is_placed_too) {
  for (const int microbatches : {1, 2, 5, 7}) {
    const auto blocks = interleaved_blocks({kEven, kEven, kEven, 3}, microbatches, 2);
    EXPECT_EQ(blocks.size(), static_cast<std::size_t>(2 * 3 * 2 * microbatches)) << microbatches;
  }
}

}  // namespace
}  // namespace orrery::training
