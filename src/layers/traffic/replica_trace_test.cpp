#include "layers/traffic/replica_trace.h"

#include <gtest/gtest.h>

#include "layers/serving/test_costs.h"

namespace orrery::traffic {
namespace {

engines::EnginePolicy small() {
  engines::EnginePolicy p;
  p.blocks = 100;
  p.block_tokens = 16;
  p.max_sequences = 1;
  return p;
}

Timed at(double when, int prompt, int output) {
  Timed t{.at = when};
  t.spec.prompt = prompt;
  t.spec.output = output;
  return t;
}

// One request after the other, because only one may run: a prompt of 100 tokens gives the first of
// three tokens, two steps give the others; then the second request runs.
TEST(ReplicaTrace, every_iteration_is_listed_once) {
  serving::StepClock clock = serving::toy_clock();
  const auto notes =
      trace_iterations(small(), clock, {at(0, 100, 3), at(0, 50, 2), at(1000, 1, 1)}, 100);
  ASSERT_EQ(notes.size(), 5u);
  const int prompts[] = {100, 0, 0, 50, 0};
  const int waiting[] = {1, 1, 1, 0, 0};
  for (std::size_t i = 0; i < notes.size(); ++i) {
    EXPECT_EQ(notes[i].prompt_tokens, prompts[i]) << i;
    EXPECT_EQ(notes[i].output_tokens, 1) << i;
    EXPECT_EQ(notes[i].waiting, waiting[i]) << i;
    EXPECT_GT(notes[i].seconds, 0) << i;
    if (i == 0) continue;
    EXPECT_DOUBLE_EQ(notes[i].start, notes[i - 1].start + notes[i - 1].seconds);
  }
  EXPECT_DOUBLE_EQ(notes[0].held,
                   7.0 / 99);  // 100 tokens in blocks of 16; vLLM keeps one block itself
  EXPECT_DOUBLE_EQ(notes[4].held, 0);
}

TEST(ReplicaTrace, only_the_last_iterations_are_kept) {
  serving::StepClock clock = serving::toy_clock();
  const auto notes = trace_iterations(small(), clock, {at(0, 100, 30), at(1000, 1, 1)}, 4);
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes.back().held, 0);
  EXPECT_EQ(notes.front().prompt_tokens, 0);
  EXPECT_TRUE(trace_iterations(small(), clock, {}, 4).empty());
}

}  // namespace
}  // namespace orrery::traffic
