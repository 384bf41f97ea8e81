#include "layers/training/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::job_of_gpt3;
using testing_support::Roofline;

struct Setting {
  TrainingJob job = job_of_gpt3();
  LayoutSpace space = whole_space(job);
  FrameworkModel framework;
  Roofline machine;
  CostSource source = machine.source();

  SearchQuery query(double peak, int keep = 8) const {
    return {.job = job,
            .space = space,
            .framework = framework,
            .source = source,
            .memory_limit = gib(76),
            .peak_flops = peak,
            .keep = keep};
  }
};

TEST(Search, PruningDropsNothingThatBelongsInTheAnswer) {
  const Setting s;
  const SearchResult unbounded = search_layouts(s.query(0), 0, s.space.size());
  const SearchResult pruned = search_layouts(s.query(s.machine.flops), 0, s.space.size());
  ASSERT_EQ(unbounded.best.size(), 8U);
  ASSERT_EQ(unbounded.best.size(), pruned.best.size());
  for (std::size_t i = 0; i < pruned.best.size(); ++i) {
    EXPECT_EQ(unbounded.best[i].index, pruned.best[i].index);
  }
  EXPECT_GT(pruned.counts.bounded, unbounded.counts.bounded);
  EXPECT_LT(pruned.counts.evaluated, unbounded.counts.evaluated);
}

// On a machine without friction a step is its products and its bubble: a bound that took more for
// the bubble of interleaved stages than they have would drop the best of them.
TEST(Search, TheBoundOfAnInterleavedStepIsBelowIt) {
  Setting s;
  s.job.batch = 16;
  s.machine = {.bandwidth = 1e30, .link = 1e30, .nic = 1e30, .launch = 0};
  s.framework.update_traffic = 0;
  s.space = {.tp = {8},
             .pp = {8},
             .vp = {1, 2, 3, 6, 12},
             .cp = {1},
             .ep = {1},
             .microbatch = {1},
             .sharding = {catalog::Sharding::zero1},
             .recompute = {catalog::Recompute::none},
             .schedule = {catalog::Schedule::one_f_one_b},
             .sequence_parallel = {true}};
  const auto best = [&](double peak) {
    SearchQuery q = s.query(peak, 1);
    q.memory_limit = gib(1024);
    return search_layouts(q, 0, s.space.size()).best;
  };
  const auto all = best(0);
  const auto pruned = best(s.machine.flops);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(pruned.size(), 1U);
  EXPECT_EQ(all[0].layout.vp, 12);
  EXPECT_EQ(pruned[0].index, all[0].index);
}

TEST(Search, FindsWhatTryingEverythingFinds) {
  const Setting s;
  StepScratch scratch;
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < s.space.size(); ++i) {
    const Layout l = s.space.at(i, s.job.gpus);
    if (l.dp == 0 || layout_fault(s.job, l) != LayoutFault::none) continue;
    if (estimate_memory(s.job, l, s.framework, scratch).peak > gib(76)) continue;
    best = std::min(best, estimate_step(s.job, l, s.framework, s.source, scratch).seconds);
  }
  const SearchResult found = search_layouts(s.query(s.machine.flops), 0, s.space.size());
  ASSERT_FALSE(found.best.empty());
  EXPECT_EQ(found.best.front().step.seconds, best);
}

TEST(Search, EquivalentLayoutsAreListedOnce) {
  const Setting s;
  const SearchResult found = search_layouts(s.query(0, 40), 0, s.space.size());
  ASSERT_GT(found.best.size(), 20u);
  for (std::size_t i = 1; i < found.best.size(); ++i) {
    const RankedLayout& a = found.best[i - 1];
    const RankedLayout& b = found.best[i];
    const bool same = std::abs(a.step.seconds / b.step.seconds - 1) < 1e-9 &&
                      std::abs(a.memory / b.memory - 1) < 1e-9;
    EXPECT_FALSE(same) << to_text(a.layout) << " and " << to_text(b.layout);
  }
}

TEST(Search, ASplitRangeGivesTheSameAnswer) {
  const Setting s;
  const SearchQuery q = s.query(s.machine.flops);
  const SearchResult whole = search_layouts(q, 0, s.space.size());
  std::vector<SearchResult> parts;
  const std::int64_t step = s.space.size() / 7 + 1;
  for (std::int64_t at = 0; at < s.space.size(); at += step) {
    parts.push_back(search_layouts(q, at, std::min(s.space.size(), at + step)));
  }
  const SearchResult merged = merge(parts, q.keep);
  ASSERT_EQ(whole.best.size(), merged.best.size());
  for (std::size_t i = 0; i < whole.best.size(); ++i) {
    EXPECT_EQ(whole.best[i].index, merged.best[i].index);
    EXPECT_EQ(whole.best[i].step.seconds, merged.best[i].step.seconds);
  }
  EXPECT_EQ(whole.counts.candidates, merged.counts.candidates);
  EXPECT_EQ(whole.counts.refused, merged.counts.refused);
}

TEST(Search, EveryCandidateIsAccountedFor) {
  const Setting s;
  const SearchCounts c = search_layouts(s.query(s.machine.flops), 0, s.space.size()).counts;
  EXPECT_EQ(c.candidates, s.space.size());
  EXPECT_EQ(c.candidates, c.refused + c.too_large + c.bounded + c.evaluated);
}

// Korthikanti et al. ran 175B on 64 A100s with tp 8, pp 8, three chunks, selective recompute.
TEST(Search, IsNoSlowerThanThePublishedLayout) {
  const Setting s;
  StepScratch scratch;
  const Layout published{.tp = 8, .pp = 8, .vp = 3, .recompute = catalog::Recompute::selective};
  const double theirs = estimate_step(s.job, published, s.framework, s.source, scratch).seconds;
  const SearchResult found = search_layouts(s.query(s.machine.flops), 0, s.space.size());
  ASSERT_FALSE(found.best.empty());
  EXPECT_LE(found.best.front().step.seconds, theirs);
  EXPECT_LE(found.best.front().memory, gib(76));
  EXPECT_NE(why_slower(found.best[0], found.best[1]).find("slower"), std::string::npos);
}

TEST(Search, PartialRecomputeTakesTheLeastShareThatFits) {
  Setting s;
  s.space.partial_recompute = true;
  s.space.recompute = {catalog::Recompute::full};
  StepScratch scratch;
  int partial = 0;
  for (const double limit : {76.0, 60.0, 52.0}) {
    SearchQuery q = s.query(0);
    q.memory_limit = gib(limit);
    const SearchResult found = search_layouts(q, 0, s.space.size());
    ASSERT_FALSE(found.best.empty());
    for (const RankedLayout& r : found.best) {
      EXPECT_EQ(estimate_memory(s.job, r.layout, s.framework, scratch).peak, r.memory);
      EXPECT_LE(r.memory, gib(limit));
      const double recomputed = r.layout.recompute_share * s.job.model.layers;
      EXPECT_NEAR(recomputed, std::round(recomputed), 1e-9) << "whole layers";
      partial += recomputed > 1.5 && recomputed < s.job.model.layers - 0.5 ? 1 : 0;
      Layout less = r.layout;
      less.recompute_share -= 1.0 / s.job.model.layers;
      if (less.recompute_share <= 1e-9) continue;
      EXPECT_GT(estimate_memory(s.job, less, s.framework, scratch).peak, gib(limit));
    }
  }
  EXPECT_GT(partial, 3);
}

}  // namespace
}  // namespace orrery::training
