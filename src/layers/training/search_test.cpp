#include "layers/training/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "layers/training/costs.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/step.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using testing_support::gpt;
using testing_support::job_of_gpt3;
using testing_support::mixtral;
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

TEST(Search, pruning_drops_nothing_that_belongs_in_the_answer) {
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

// On a machine without overheads a step is its products and its bubble: a bound with a larger
// bubble than interleaved stages have would drop the best of them.
TEST(Search, bound_of_an_interleaved_step_is_below_its_time) {
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

TEST(Search, finds_what_trying_everything_finds) {
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

TEST(Search, equivalent_layouts_are_listed_once) {
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

TEST(Search, split_range_gives_the_same_answer) {
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

TEST(Search, every_candidate_is_accounted_for) {
  const Setting s;
  const SearchCounts c = search_layouts(s.query(s.machine.flops), 0, s.space.size()).counts;
  EXPECT_EQ(c.candidates, s.space.size());
  EXPECT_EQ(c.candidates, c.refused + c.too_large + c.bounded + c.evaluated);
}

// Korthikanti et al. ran 175B on 64 A100s with tp 8, pp 8, three chunks, selective recompute.
TEST(Search, result_is_no_slower_than_the_published_layout) {
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

TEST(Search, partial_recompute_takes_the_least_share_that_fits) {
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

LayoutSpace one_layout() {
  return {.tp = {1},
          .pp = {1},
          .vp = {1},
          .cp = {1},
          .ep = {1},
          .microbatch = {1},
          .sharding = {catalog::Sharding::zero1},
          .recompute = {catalog::Recompute::none},
          .schedule = {catalog::Schedule::one_f_one_b},
          .sequence_parallel = {true}};
}

struct Asked {
  TrainingJob job{.model = gpt(8, 256, 8), .sequence = 128, .batch = 16, .gpus = 8};
  LayoutSpace space = one_layout();
  FrameworkModel framework;
  Roofline machine;
  Bytes limit = gib(1024);
  double peak = 0;
  int keep = 10;

  SearchResult search(std::int64_t begin = 0, std::int64_t end = -1) const {
    const CostSource source = machine.source();
    return search_layouts({.job = job,
                           .space = space,
                           .framework = framework,
                           .source = source,
                           .memory_limit = limit,
                           .peak_flops = peak,
                           .keep = keep},
                          begin, end < 0 ? space.size() : end);
  }
  Bytes memory(const Layout& l) const {
    StepScratch scratch;
    return estimate_memory(job, l, framework, scratch).peak;
  }
};

void expect_counts(const SearchCounts& c, std::int64_t refused, std::int64_t too_large,
                   std::int64_t bounded, std::int64_t evaluated) {
  EXPECT_EQ(c.candidates, refused + too_large + bounded + evaluated);
  EXPECT_EQ(c.refused, refused);
  EXPECT_EQ(c.too_large, too_large);
  EXPECT_EQ(c.bounded, bounded);
  EXPECT_EQ(c.evaluated, evaluated);
}

// Two options each: bit by bit sequence parallelism, schedule, recompute, sharding, microbatch, vp,
// ep, cp, pp, tp.
TEST(Search, every_index_is_one_layout) {
  LayoutSpace s{.tp = {1, 2},
                .pp = {1, 3},
                .vp = {1, 4},
                .cp = {1, 5},
                .ep = {1, 6},
                .microbatch = {1, 7},
                .sharding = {catalog::Sharding::zero1, catalog::Sharding::zero3},
                .recompute = {catalog::Recompute::none, catalog::Recompute::full},
                .schedule = {catalog::Schedule::one_f_one_b, catalog::Schedule::zero_bubble},
                .sequence_parallel = {true, false}};
  EXPECT_EQ(s.size(), 1024);
  EXPECT_EQ(s.at(0, 60), (Layout{.dp = 60}));
  EXPECT_EQ(s.at(1, 60), (Layout{.dp = 60, .sequence_parallel = false}));
  EXPECT_EQ(s.at(2, 60), (Layout{.dp = 60, .schedule = catalog::Schedule::zero_bubble}));
  EXPECT_EQ(s.at(4, 60), (Layout{.dp = 60, .recompute = catalog::Recompute::full}));
  EXPECT_EQ(s.at(8, 60), (Layout{.dp = 60, .sharding = catalog::Sharding::zero3}));
  EXPECT_EQ(s.at(16, 60), (Layout{.dp = 60, .microbatch = 7}));
  EXPECT_EQ(s.at(32, 60), (Layout{.vp = 4, .dp = 60}));
  EXPECT_EQ(s.at(64, 60), (Layout{.dp = 60, .ep = 6}));
  EXPECT_EQ(s.at(128, 60), (Layout{.dp = 12, .cp = 5}));
  EXPECT_EQ(s.at(256, 60), (Layout{.pp = 3, .dp = 20}));
  EXPECT_EQ(s.at(512, 60), (Layout{.tp = 2, .dp = 30}));
  EXPECT_EQ(s.at(512 + 256 + 128, 60).dp, 2);
  EXPECT_EQ(s.at(512 + 256 + 128, 61).dp, 0) << "it does not divide";
  EXPECT_TRUE(s.tries_no_recompute());
  s.recompute = {catalog::Recompute::full};
  EXPECT_FALSE(s.tries_no_recompute());
  s.async_tp = true;
  EXPECT_TRUE(s.at(0, 60).async_tp);
  EXPECT_EQ(s.size(), 512);
}

TEST(Search, whole_space_of_a_job) {
  TrainingJob job = job_of_gpt3();  // 96 layers, 96 heads, 64 GPUs, 64 sequences of 2048
  using Ints = std::vector<int>;
  LayoutSpace s = whole_space(job);
  EXPECT_EQ(s.tp, (Ints{1, 2, 4, 8})) << "of 96 heads 3 and 6 divide, but not 64 GPUs";
  EXPECT_EQ(s.pp, (Ints{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(s.vp, (Ints{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96}));
  EXPECT_EQ(s.cp, Ints{1}) << "shorter than 2048 a rank is not worth it";
  EXPECT_EQ(s.ep, Ints{1});
  EXPECT_EQ(s.microbatch, (Ints{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(s.sharding.size(), 4U);
  EXPECT_EQ(s.sharding.front(), catalog::Sharding::zero1);
  EXPECT_EQ(s.recompute.size(), 3U);
  EXPECT_EQ(s.schedule,
            (std::vector{catalog::Schedule::one_f_one_b, catalog::Schedule::zero_bubble}));
  EXPECT_EQ(s.sequence_parallel, (std::vector<bool>{true, false}));
  job.sequence = 4096;
  EXPECT_EQ(whole_space(job).cp, (Ints{1, 2}));
  job.sequence = 1 << 20;
  EXPECT_EQ(whole_space(job).cp, (Ints{1, 2, 4, 8, 16}));
  job.gpus = 8;
  EXPECT_EQ(whole_space(job).cp, (Ints{1, 2, 4, 8}));
  job.scaleup = 72;
  job.gpus = 96;
  EXPECT_EQ(whole_space(job).tp, (Ints{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48}));
  job.batch = 200;
  EXPECT_EQ(whole_space(job).microbatch.back(), 64);
  job.batch = 3;
  EXPECT_EQ(whole_space(job).microbatch, (Ints{1, 2}));
  job.model = mixtral();
  EXPECT_EQ(whole_space(job).ep, (Ints{1, 2, 4, 8}));
  EXPECT_EQ(whole_space(job).pp, (Ints{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}));
  job.gpus = 4;
  EXPECT_EQ(whole_space(job).ep, (Ints{1, 2, 4}));
  job.scaleup = 2;
  EXPECT_EQ(whole_space(job).tp, (Ints{1, 2, 4})) << "eight are tried in any case";
}

// Layouts equal to another candidate: a schedule without a pipeline or with chunks, one
// tensor-parallel rank, one replica.
TEST(Search, equivalent_candidates_are_skipped) {
  Asked a;
  a.space.schedule = {catalog::Schedule::one_f_one_b, catalog::Schedule::zero_bubble};
  expect_counts(a.search().counts, 1, 0, 0, 1);
  a.space.pp = {2};
  expect_counts(a.search().counts, 0, 0, 0, 2);
  a.space.vp = {2};
  expect_counts(a.search().counts, 1, 0, 0, 1);
  a.space = one_layout();
  a.space.sequence_parallel = {true, false};
  expect_counts(a.search().counts, 1, 0, 0, 1);
  a.space.tp = {2};
  expect_counts(a.search().counts, 0, 0, 0, 2);
  a.space = one_layout();
  a.space.sharding = {catalog::Sharding::zero1, catalog::Sharding::none};
  expect_counts(a.search().counts, 0, 0, 0, 2);
  a.space.tp = {8};
  expect_counts(a.search().counts, 1, 0, 0, 1);
  a.space.tp = {4};
  a.space.cp = {2};
  expect_counts(a.search().counts, 0, 0, 0, 2);
  a.space.cp = {3};
  expect_counts(a.search().counts, 2, 0, 0, 0);
}

// On a machine without overheads a step is its products and its bubble.
TEST(Search, lower_bound_counts_products_and_bubble) {
  Asked a;
  a.machine = {.bandwidth = 1e30, .link = 1e30, .nic = 1e30, .launch = 0};
  a.framework.update_traffic = 0;
  a.framework.pp_overlap = 1;
  // Products large enough that a collective's latency, attention and the head do not matter.
  a.job.model = gpt(8, 4096, 32);
  a.job.model.vocab = 64;
  a.peak = a.machine.flops;
  a.keep = 1;
  a.space.pp = {1, 8};
  a.space.schedule = {catalog::Schedule::one_f_one_b, catalog::Schedule::zero_bubble};
  // One stage; its repetition; eight stages, which a bubble of 7/16 rules out; the same without
  // bubble.
  expect_counts(a.search().counts, 1, 0, 1, 1 + 1);
  a.peak = 0;
  expect_counts(a.search().counts, 1, 0, 0, 3);
  a.peak = a.machine.flops;
  a.space.schedule = {catalog::Schedule::one_f_one_b};
  expect_counts(a.search().counts, 0, 0, 1, 1);
  // With adapters a step has two passes: the better layout comes second and is found.
  a.peak = a.machine.flops;
  a.job.task = TrainingTask::lora;
  a.space.pp = {8, 1};
  a.space.schedule = {catalog::Schedule::one_f_one_b};
  const SearchResult r = a.search();
  expect_counts(r.counts, 0, 0, 0, 2);
  ASSERT_EQ(r.best.size(), 1U);
  EXPECT_EQ(r.best[0].layout.pp, 1);
  EXPECT_EQ(r.best[0].index, 1);
}

TEST(Search, layout_that_just_fits_is_evaluated) {
  Asked a;
  a.limit = a.memory({.dp = 8});
  expect_counts(a.search().counts, 0, 0, 0, 1);
  a.limit = a.limit * 0.999;
  expect_counts(a.search().counts, 0, 1, 0, 0);
}

// Recompute is not tried if the same layout fits without it, even to the last byte.
TEST(Search, recompute_is_tried_only_when_memory_is_short) {
  Asked a;
  a.space.recompute = {catalog::Recompute::none, catalog::Recompute::selective,
                       catalog::Recompute::full};
  a.limit = a.memory({.dp = 8});
  expect_counts(a.search().counts, 0, 0, 2, 1);
  expect_counts(a.search(1, 3).counts, 0, 0, 2, 0);
  a.limit = a.limit * 0.9999;
  EXPECT_EQ(a.search().counts.bounded, 0);
  a.space.recompute = {catalog::Recompute::full};
  a.limit = gib(1024);
  expect_counts(a.search().counts, 0, 0, 0, 1);  // if no other option may be tried
  a.job.gpus = 1;
  a.space.recompute = {catalog::Recompute::full, catalog::Recompute::none};
  expect_counts(a.search().counts, 0, 0, 1, 1);  // whichever order they come in
  a.space.recompute = {catalog::Recompute::none, catalog::Recompute::full};
  a.limit = Bytes(std::numeric_limits<double>::infinity());
  expect_counts(a.search().counts, 0, 0, 0, 2);  // without a limit the least memory is sought
}

// Long sequences do not fit if kept whole, but fit if recomputed.
TEST(Search, recomputation_makes_a_layout_fit) {
  Asked a;
  a.job.sequence = 4096;
  a.space.recompute = {catalog::Recompute::none, catalog::Recompute::full};
  const Bytes whole = a.memory({.dp = 8}),
              less = a.memory({.dp = 8, .recompute = catalog::Recompute::full});
  ASSERT_LT(less, whole);
  a.limit = (whole + less) / 2;
  const SearchResult r = a.search();
  expect_counts(r.counts, 0, 1, 0, 1);
  EXPECT_EQ(r.best[0].layout.recompute, catalog::Recompute::full);
  EXPECT_EQ(r.best[0].memory, less);
}

// One layer: recomputing it keeps more than saving it. Two sequences at once do not fit either way,
// one does; the counts show that the first result does not leak into the second.
TEST(Search, layouts_are_evaluated_independently) {
  Asked a;
  a.job = {.model = gpt(1, 256, 8), .sequence = 4096, .batch = 2, .gpus = 1};
  a.space.microbatch = {2, 1};
  a.space.recompute = {catalog::Recompute::full, catalog::Recompute::none};
  a.limit = a.memory({});
  ASSERT_GT(a.memory({.microbatch = 2}), a.limit);
  ASSERT_GT(a.memory({.microbatch = 2, .recompute = catalog::Recompute::full}), a.limit);
  expect_counts(a.search().counts, 0, 2, 1, 1);
}

RankedLayout ranked(std::int64_t index, double seconds, double memory) {
  RankedLayout r;
  r.index = index;
  r.step.seconds = seconds;
  r.memory = Bytes(memory);
  return r;
}

std::vector<std::int64_t> merged(const std::vector<RankedLayout>& found, int keep) {
  std::vector<SearchResult> parts;
  for (const RankedLayout& r : found) parts.push_back({.best = {r}, .counts = {}});
  std::vector<std::int64_t> order;
  for (const RankedLayout& r : merge(parts, keep).best) order.push_back(r.index);
  return order;
}

TEST(Search, tied_layouts_keep_the_first_index) {
  using Order = std::vector<std::int64_t>;
  EXPECT_EQ(merged({ranked(5, 1, 9), ranked(2, 1, 9)}, 4), Order{2});
  EXPECT_EQ(merged({ranked(2, 1, 9), ranked(5, 1, 9)}, 4), Order{2});
  EXPECT_EQ(merged({ranked(2, 1, 9), ranked(5, 1 + 0.97e-9, 9)}, 4), Order{2});
  EXPECT_EQ(merged({ranked(2, 1, 9), ranked(5, 1 + 1.03e-9, 9)}, 4), (Order{2, 5}));
  EXPECT_EQ(merged({ranked(5, 1, 9), ranked(2, 1, 8)}, 4), (Order{2, 5})) << "by index";
  EXPECT_EQ(merged({ranked(1, 3, 9), ranked(2, 1, 9), ranked(3, 2, 9)}, 4), (Order{2, 3, 1}));
  EXPECT_EQ(merged({ranked(1, 3, 9), ranked(2, 1, 9), ranked(3, 2, 9)}, 2), (Order{2, 3}));
}

TEST(Search, slowdown_names_the_part_that_grew_most) {
  RankedLayout best = ranked(0, 2, 1), other = ranked(1, 2.5, 1);
  const auto grow = [&](StepPhase p, double seconds) {
    other.step.parts[static_cast<std::size_t>(p)] += seconds;
  };
  grow(StepPhase::matrix, -0.2);
  grow(StepPhase::tp, 0.3);
  grow(StepPhase::dp, 0.4);
  EXPECT_THAT(why_slower(best, other),
              AllOf(HasSubstr("25.0 %"), HasSubstr("dp"), HasSubstr("+400 ms")));
  grow(StepPhase::tp, 0.3);
  EXPECT_THAT(why_slower(best, other),
              AllOf(HasSubstr("25.0 %"), HasSubstr("tp"), HasSubstr("+600 ms")));
}

}  // namespace
}  // namespace orrery::training
