#include "layers/training/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using testing_support::mixtral;

TEST(Layout, layout_text_names_only_what_differs) {
  EXPECT_EQ(to_text(Layout{}), "tp1 pp1 dp1 mbs1 zero1");
  EXPECT_EQ(to_text(Layout{.tp = 2,
                           .pp = 3,
                           .vp = 4,
                           .dp = 5,
                           .cp = 6,
                           .ep = 7,
                           .microbatch = 8,
                           .recompute = catalog::Recompute::selective}),
            "tp2 pp3 vp4 cp6 ep7 dp5 mbs8 zero1 selective recompute");
  EXPECT_EQ(to_text(Layout{.recompute = catalog::Recompute::full}),
            "tp1 pp1 dp1 mbs1 zero1 full recompute");
  EXPECT_THAT(to_text(Layout{.recompute = catalog::Recompute::full, .recompute_share = 0.25}),
              AllOf(HasSubstr("tp1"), HasSubstr("pp1"), HasSubstr("dp1"), HasSubstr("mbs1"),
                    HasSubstr("zero1"), HasSubstr("25 %")));
  EXPECT_EQ(to_text(Layout{.recompute = catalog::Recompute::selective, .recompute_share = 0.25}),
            "tp1 pp1 dp1 mbs1 zero1 selective recompute");
  EXPECT_EQ(to_text(Layout{.schedule = catalog::Schedule::zero_bubble}),
            "tp1 pp1 dp1 mbs1 zero1 zero-bubble");
  EXPECT_EQ(to_text(Layout{.schedule = catalog::Schedule::dualpipe}),
            "tp1 pp1 dp1 mbs1 zero1 dualpipe");
}

TEST(Layout, refusal_names_its_numbers) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 96, .gpus = 24};
  const auto why = [&](const Layout& l) { return refuse_layout(job, l).value_or("fine"); };
  EXPECT_EQ(why({.dp = 24}), "fine");
  EXPECT_THAT(why({.vp = 0, .dp = 24}), HasSubstr("1"));
  EXPECT_THAT(
      why({.tp = 2, .pp = 3, .dp = 2, .cp = 1}),
      AllOf(HasSubstr("2"), HasSubstr("3"), HasSubstr("1"), HasSubstr("12"), HasSubstr("24")));
  EXPECT_THAT(why({.tp = 3, .dp = 8}), AllOf(HasSubstr("3"), HasSubstr("32")));
  EXPECT_THAT(why({.pp = 2, .vp = 5, .dp = 12}), AllOf(HasSubstr("5"), HasSubstr("16")));
  EXPECT_THAT(why({.vp = 2, .dp = 24}), HasSubstr("1"));
  EXPECT_THAT(why({.dp = 24, .microbatch = 5}),
              AllOf(HasSubstr("96"), HasSubstr("24"), HasSubstr("5")));
  EXPECT_THAT(why({.dp = 24, .ep = 3}), AllOf(HasSubstr("3"), HasSubstr("8")));
  EXPECT_THAT(why({.pp = 2, .dp = 12, .ep = 8}), AllOf(HasSubstr("8"), HasSubstr("12")));
  EXPECT_THAT(why({.dp = 8, .cp = 3}), AllOf(HasSubstr("4096"), HasSubstr("3"), HasSubstr("1")));
  EXPECT_THAT(why({.pp = 12, .vp = 3, .dp = 2}), AllOf(HasSubstr("32"), HasSubstr("12")));
  job.model.kv_heads = 6;
  EXPECT_THAT(why({.tp = 4, .dp = 6}), AllOf(HasSubstr("4"), HasSubstr("6")));
  job.model.kv_heads = 8;
  job.model.ffn = 14337;
  EXPECT_THAT(why({.tp = 2, .dp = 12}), AllOf(HasSubstr("2"), HasSubstr("14337")));
  job.model.experts = 0;
}

// Layers and the two end slots exactly fill the chunks, or there is one too many.
TEST(Layout, embedding_and_head_may_take_layer_slots) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 96, .gpus = 24};
  job.model.layers = 22;
  EXPECT_EQ(layout_fault(job, {.pp = 24, .dp = 1}), LayoutFault::none);
  job.model.layers = 21;
  EXPECT_EQ(layout_fault(job, {.pp = 24, .dp = 1}), LayoutFault::layers);
  job.model.layers = 126;
  job.gpus = 128;
  job.batch = 128;
  EXPECT_EQ(layout_fault(job, {.pp = 2, .vp = 64, .dp = 64}), LayoutFault::none) << "126 + 2";
  EXPECT_EQ(microbatches_of(job, {.dp = 16, .microbatch = 4}), 2);
}

// 64 GPUs in domains of 8, tp 4, cp 2, dp 4, pp 2: ranks are numbered tp, cp, dp, pp.
TEST(Layout, groups_span_domains_by_their_stride) {
  const auto same = [](const workload::GroupShape& g, int ranks, int per_domain) {
    EXPECT_EQ(g.ranks, ranks);
    EXPECT_EQ(g.per_domain, per_domain);
  };
  const TrainingJob job{.model = mixtral(), .gpus = 64, .scaleup = 8};
  const LayoutGroups g = groups_of(job, {.tp = 4, .pp = 2, .dp = 4, .cp = 2, .ep = 8});
  same(g.tp, 4, 4);
  same(g.cp, 2, 2);
  same(g.dp, 8, 2);
  same(g.ep, 8, 8);
  same(g.expert_dp, 4, 1);
  same(g.pp, 2, 1);
  same(groups_of(job, {.tp = 64}).tp, 64, 8);
  same(groups_of(job, {.tp = 64}).pp, 1, 1);
  // A job of 128 uses 64 of an NVL72's 72 twice; a job that fits is in one domain, whatever its
  // size.
  const TrainingJob wide{.model = mixtral(), .gpus = 128, .scaleup = 72};
  same(groups_of(wide, {.dp = 128}).dp, 128, 64);
  const TrainingJob odd{.model = mixtral(), .gpus = 36, .scaleup = 72};
  same(groups_of(odd, {.dp = 36}).dp, 36, 36);
}

TEST(Layout, every_fault_is_found) {
  const TrainingJob gpt3 = testing_support::job_of_gpt3();
  const auto of = [&](const Layout& l) { return layout_fault(gpt3, l); };
  EXPECT_EQ(of({.tp = 8, .pp = 8}), LayoutFault::none);
  EXPECT_EQ(of({.tp = 8, .pp = 8, .microbatch = 0}), LayoutFault::below_one);
  EXPECT_EQ(of({.tp = 8, .pp = 4}), LayoutFault::device_count);
  EXPECT_EQ(of({.tp = 64}), LayoutFault::heads);
  EXPECT_EQ(of({.tp = 2, .dp = 8, .cp = 4}), LayoutFault::none);
  EXPECT_EQ(of({.tp = 8, .dp = 8, .microbatch = 16}), LayoutFault::batch);
  EXPECT_EQ(of({.tp = 8, .dp = 8, .microbatch = 8}), LayoutFault::none);
  EXPECT_EQ(of({.tp = 8, .vp = 2, .dp = 8}), LayoutFault::interleave_without_pipeline);
  EXPECT_EQ(of({.tp = 8, .pp = 8, .vp = 5}), LayoutFault::chunks);
  EXPECT_EQ(of({.tp = 8, .dp = 8, .ep = 2}), LayoutFault::experts_of_dense_model);
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 96, .gpus = 24};
  EXPECT_EQ(layout_fault(job, {.dp = 24, .ep = 8}), LayoutFault::none);
  EXPECT_EQ(layout_fault(job, {.dp = 24, .ep = 3}), LayoutFault::experts);
  EXPECT_EQ(layout_fault(job, {.pp = 2, .dp = 12, .ep = 8}), LayoutFault::expert_ranks);
  EXPECT_EQ(layout_fault(job, {.pp = 2, .dp = 12, .ep = 4}), LayoutFault::none);
  job.sequence = 4097;
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12}), LayoutFault::sequence);
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12, .sequence_parallel = false}), LayoutFault::none);
  EXPECT_EQ(layout_fault(job, {.dp = 12, .cp = 2}), LayoutFault::sequence);
  job.sequence = 4096;
  job.model.kv_heads = 6;
  EXPECT_EQ(layout_fault(job, {.tp = 4, .dp = 6}), LayoutFault::kv_heads);
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12}), LayoutFault::none);
  job.model.kv_heads = 2;
  EXPECT_EQ(layout_fault(job, {.tp = 4, .dp = 6}), LayoutFault::none) << "each on two ranks";
  job.model.ffn = 14335;
  EXPECT_EQ(layout_fault(job, {.tp = 2, .dp = 12}), LayoutFault::ffn);
  job.model.ffn = 14336;
  job.model.layers = 61;
  EXPECT_EQ(layout_fault(job, {.pp = 4, .vp = 2, .dp = 6}), LayoutFault::none) << "cut by hand";
  job.model.layers = 60;
  EXPECT_EQ(layout_fault(job, {.pp = 4, .vp = 2, .dp = 6}), LayoutFault::chunks);
  job.model.layers = 9;
  EXPECT_EQ(layout_fault(job, {.pp = 12, .dp = 2}), LayoutFault::layers);
  EXPECT_EQ(layout_fault(job, {.pp = 8, .dp = 3}), LayoutFault::none);
}

}  // namespace
}  // namespace orrery::training
