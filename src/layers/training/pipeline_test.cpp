#include "layers/training/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "layers/training/calibration.h"

namespace orrery::training {
namespace {

// The dependency graph of 1F1B, simulated event by event: the closed form must agree with it.
double simulate_1f1b(const std::vector<StageTimes>& stages, int m) {
  const int p = static_cast<int>(stages.size());
  const auto width = static_cast<std::size_t>(m);
  const auto at = [width](int stage, int mb) {
    return static_cast<std::size_t>(stage) * width + static_cast<std::size_t>(mb);
  };
  std::vector<double> f(stages.size() * width, -1);
  std::vector<double> b(f);
  std::vector<double> free(static_cast<std::size_t>(p), 0);
  // Each stage's order: warm-up forwards, then alternately one forward and one backward, then the
  // rest.
  struct Cursor {
    int forward = 0;
    int backward = 0;
  };
  std::vector<Cursor> cursor(static_cast<std::size_t>(p));
  bool moved = true;
  while (moved) {
    moved = false;
    for (int s = 0; s < p; ++s) {
      Cursor& c = cursor[static_cast<std::size_t>(s)];
      const int ahead = std::min(m, p - s);
      const bool wants_forward = c.forward < m && c.forward - c.backward < ahead;
      double& clock = free[static_cast<std::size_t>(s)];
      const StageTimes& t = stages[static_cast<std::size_t>(s)];
      if (wants_forward && (s == 0 || f[at(s - 1, c.forward)] >= 0)) {
        const double ready = s == 0 ? 0 : f[at(s - 1, c.forward)];
        clock = std::max(clock, ready) + t.forward;
        f[at(s, c.forward++)] = clock;
        moved = true;
      } else if (!wants_forward && c.backward < m &&
                 (s == p - 1 ? f[at(s, c.backward)] >= 0 : b[at(s + 1, c.backward)] >= 0)) {
        const double ready = s == p - 1 ? f[at(s, c.backward)] : b[at(s + 1, c.backward)];
        clock = std::max(clock, ready) + t.dgrad + t.wgrad;
        b[at(s, c.backward++)] = clock;
        moved = true;
      }
    }
  }
  return *std::ranges::max_element(free);
}

double closed(const std::vector<StageTimes>& s, int m) {
  const PipelineStages stages{s.front(), s.size() > 2 ? s[1] : StageTimes{}, s.back(),
                              static_cast<int>(s.size())};
  return pipeline_time(stages, m, 1, catalog::Schedule::one_f_one_b).seconds;
}

TEST(Pipeline, equal_stages_are_exact) {
  for (int p : {1, 2, 4, 8}) {
    for (int m : {8, 16, 64}) {
      const std::vector<StageTimes> stages(static_cast<std::size_t>(p), {1.0, 1.2, 0.8});
      EXPECT_NEAR(closed(stages, m), (m + p - 1) * 3.0, 1e-9);
      EXPECT_NEAR(closed(stages, m), simulate_1f1b(stages, m), 1e-9) << p << " " << m;
    }
  }
}

TEST(Pipeline, unequal_stages_are_within_one_percent_of_the_graph) {
  const StageTimes even{1.0, 1.0, 1.0};
  const StageTimes heavy{1.3, 1.4, 1.2};
  const StageTimes light{0.6, 0.5, 0.7};
  // A heavy head on the last stage, a heavy first stage, both, and ends lighter than the middle.
  const std::pair<StageTimes, StageTimes> ends[] = {{even, heavy}, {heavy, even}, {heavy, heavy},
                                                    {light, even}, {even, light}, {light, light}};
  for (const auto& [first, last] : ends) {
    for (std::size_t p : {std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
      std::vector<StageTimes> stages(p, even);
      stages.front() = first;
      stages.back() = last;
      for (int m : {8, 32, 128}) {
        const double graph = simulate_1f1b(stages, m);
        EXPECT_NEAR(closed(stages, m) / graph, 1, 0.01) << p << " " << m;
      }
    }
  }
}

TEST(Pipeline, interleaving_divides_the_bubble_and_zero_bubble_shrinks_it) {
  const StageTimes s{1.0, 1.0, 1.0};
  const auto bubble = [&](int v, catalog::Schedule schedule) {
    return pipeline_time({s, s, s, 4}, 8, v, schedule).bubble;
  };
  EXPECT_DOUBLE_EQ(bubble(1, catalog::Schedule::one_f_one_b), 9);  // (p-1)(F+B+W)
  EXPECT_DOUBLE_EQ(bubble(3, catalog::Schedule::interleaved), 3);  // divided by v
  EXPECT_DOUBLE_EQ(bubble(1, catalog::Schedule::zero_bubble), 3);  // (p-1)(F+B-W)
  EXPECT_DOUBLE_EQ(bubble(1, catalog::Schedule::dualpipe), 2);     // (p/2-1)(F&B+B-3W)
}

// A heavy middle stage sets the pace. It waits for the first stage and, at the other end, for what
// the two later stages need beyond its own forwards ahead; twice the others' W fills that if
// possible.
TEST(Pipeline, heavy_middle_stage_sets_the_bubble) {
  const StageTimes first{1, 1, 0.25}, middle{2, 2, 0.5}, last{1, 1, 0.25};
  const auto time = [&](catalog::Schedule schedule) {
    return pipeline_time({first, middle, last, 4}, 8, 1, schedule);
  };
  const PipelineTime plain = time(catalog::Schedule::one_f_one_b);
  EXPECT_EQ(plain.slowest, SlowestStage::middle);
  // Before 2.25, after 4.5 + 2.25, of which 2 x 2 and 2 x 2.5 are covered.
  EXPECT_DOUBLE_EQ(plain.bubble, 2.25 + 2.75 + 1.75);
  EXPECT_DOUBLE_EQ(plain.seconds, 8 * 4.5 + 6.75);
  // The others' weight gradients take 0.25 + 0.5 + 0.25.
  EXPECT_DOUBLE_EQ(time(catalog::Schedule::zero_bubble).bubble, 6.75 - 2);
}

// The slowest of three stages is the middle one; if all are equal the first is named.
TEST(Pipeline, slowest_stage_sets_the_pipeline_time) {
  const StageTimes light{1, 1, 0.5}, heavy{3, 2, 1};
  const PipelineTime t =
      pipeline_time({light, heavy, light, 3}, 4, 1, catalog::Schedule::one_f_one_b);
  EXPECT_EQ(t.slowest, SlowestStage::middle);
  // Before 2.5; after 2.5, of which one forward of 3 and one backward of 3 cover all.
  EXPECT_DOUBLE_EQ(t.seconds, 4 * 6 + 2.5);
  EXPECT_DOUBLE_EQ(t.bubble, 2.5);
  const PipelineTime even =
      pipeline_time({light, light, light, 3}, 4, 1, catalog::Schedule::one_f_one_b);
  EXPECT_EQ(even.slowest, SlowestStage::first);
  EXPECT_DOUBLE_EQ(even.seconds, (4 + 2) * 2.5);
  const PipelineTime last =
      pipeline_time({light, light, heavy, 3}, 4, 1, catalog::Schedule::one_f_one_b);
  EXPECT_EQ(last.slowest, SlowestStage::last);
  EXPECT_DOUBLE_EQ(last.seconds, 4 * 6 + 5);
  const PipelineTime two =
      pipeline_time({light, heavy, light, 2}, 4, 1, catalog::Schedule::one_f_one_b);
  EXPECT_DOUBLE_EQ(two.seconds, 5 * 2.5) << "there is no middle";
}

}  // namespace
}  // namespace orrery::training
