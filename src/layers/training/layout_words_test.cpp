// Layouts in words, stages of uneven models, and frameworks' tables row by row.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layers/training/calibration.h"
#include "layers/training/pipeline.h"
#include "layers/training/stages.h"
#include "layers/training/test_support.h"
#include "layers/training/trace.h"

namespace orrery::training {
namespace {

using testing_support::mixtral;

TEST(LayoutWords, a_layout_names_what_is_not_plain) {
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
  EXPECT_EQ(to_text(Layout{.recompute = catalog::Recompute::full, .recompute_share = 0.25}),
            "tp1 pp1 dp1 mbs1 zero1 full recompute of 25 % of layers");
  EXPECT_EQ(to_text(Layout{.recompute = catalog::Recompute::selective, .recompute_share = 0.25}),
            "tp1 pp1 dp1 mbs1 zero1 selective recompute");
  EXPECT_EQ(to_text(Layout{.schedule = catalog::Schedule::zero_bubble}),
            "tp1 pp1 dp1 mbs1 zero1 zero-bubble");
  EXPECT_EQ(to_text(Layout{.schedule = catalog::Schedule::dualpipe}),
            "tp1 pp1 dp1 mbs1 zero1 dualpipe");
}

TEST(LayoutWords, each_refusal_says_its_numbers) {
  TrainingJob job{.model = mixtral(), .sequence = 4096, .batch = 96, .gpus = 24};
  const auto why = [&](const Layout& l) { return refuse_layout(job, l).value_or("fine"); };
  EXPECT_EQ(why({.dp = 24}), "fine");
  EXPECT_EQ(why({.vp = 0, .dp = 24}), "every degree of parallelism is at least 1");
  EXPECT_EQ(why({.tp = 2, .pp = 3, .dp = 2, .cp = 1}),
            "tp 2 x pp 3 x dp 2 x cp 1 is 12, not 24 GPUs");
  EXPECT_EQ(why({.tp = 3, .dp = 8}), "tp 3 does not divide 32 heads");
  EXPECT_EQ(why({.pp = 2, .vp = 5, .dp = 12}), "vp 5 does not divide the 16 layers of a stage");
  EXPECT_EQ(why({.vp = 2, .dp = 24}), "interleaving (vp > 1) needs a pipeline (pp > 1)");
  EXPECT_EQ(why({.dp = 24, .microbatch = 5}), "batch 96 is not a multiple of dp 24 x microbatch 5");
  EXPECT_EQ(why({.dp = 24, .ep = 3}), "ep 3 does not divide 8 experts");
  EXPECT_EQ(why({.pp = 2, .dp = 12, .ep = 8}), "ep 8 does not divide the 12 ranks of a stage");
  EXPECT_EQ(why({.dp = 8, .cp = 3}), "a sequence of 4096 does not split over cp 3 and tp 1");
  EXPECT_EQ(why({.pp = 12, .vp = 3, .dp = 2}), "32 layers cannot fill pp 12 x vp 3 chunks");
  job.model.kv_heads = 6;
  EXPECT_EQ(why({.tp = 4, .dp = 6}), "tp 4 and 6 KV heads do not divide each other");
  job.model.kv_heads = 8;
  job.model.ffn = 14337;
  EXPECT_EQ(why({.tp = 2, .dp = 12}), "tp 2 does not divide ffn 14337");
  job.model.experts = 0;
  EXPECT_EQ(why({.dp = 24, .ep = 2}), "expert parallelism on a model without experts");
}

// Layers and the two slots of the ends just fill the chunks, or one is too many.
TEST(LayoutWords, the_ends_may_take_slots) {
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

std::vector<double> split_layers(int layers, int pp, int vp, double head) {
  const StageLayers s = stage_layers(layers, pp, vp, head);
  return {s.first, s.middle, s.last};
}

TEST(LayoutWords, uneven_stages_are_balanced_with_the_head) {
  using V = std::vector<double>;
  // 14 + 2 on 4 x 4: the ends are slots, whatever the head costs.
  EXPECT_EQ(split_layers(14, 4, 4, 2.5), (V{3, 4, 3}));
  // 12 on 4 x 2 divides neither way: (12 + 2.5) / 4 is 4 at most, the last has 1 beside the head.
  EXPECT_EQ(split_layers(12, 4, 2, 2.5), (V{3, 4, 1}));
  EXPECT_EQ(split_layers(3, 2, 1, 10), (V{3, 0, 0})) << "a head heavier than a stage stands alone";
  EXPECT_EQ(split_layers(12, 4, 3, 9), (V{3, 3, 3})) << "even stages, the head on top";
  EXPECT_EQ(split_layers(13, 1, 1, 9), (V{13, 0, 13}));
  // (11 + 1) / 3 is 4: the last 3; of 8 the middle has 4, the first what is left.
  EXPECT_EQ(split_layers(11, 3, 1, 1), (V{4, 4, 3}));
  // (7 + 0.5) / 5: 2 at most, the last 1; of 6 over 4 two each: nothing is left for the first.
  EXPECT_EQ(split_layers(7, 5, 1, 0.5), (V{2, 2, 1}));
  EXPECT_EQ(StageLayers{}.first + StageLayers{}.middle + StageLayers{}.last, 0);
  const StageParameters p;
  EXPECT_EQ(p.dense + p.expert + p.layer_dense + p.layer_expert + p.largest_tensor, 0);
}

// Of three stages the middle is one; where all are alike the first is named.
TEST(LayoutWords, the_slowest_of_three_stages) {
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
  const StageTimes none;
  EXPECT_EQ(none.total(), 0);
  EXPECT_EQ(PipelineStages{}.count, 1);
}

TEST(LayoutWords, a_timeline_draws_no_more_than_it_must) {
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

// What is said of a job or a recipe by saying nothing.
TEST(LayoutWords, a_recipe_is_silent_unless_it_speaks) {
  const Recipe r;
  EXPECT_EQ(r.graph, GraphScope{});
  EXPECT_FALSE(r.graph.told || r.graph.whole_step || r.graph.mixer || r.graph.mlp ||
               r.graph.router);
  EXPECT_FALSE(r.recompute.named || r.recompute.norms || r.recompute.attention_core ||
               r.recompute.latent_up || r.recompute.mlp || r.recompute.activation ||
               r.recompute.experts);
  EXPECT_EQ(r.lora_rank, 0);
  EXPECT_FALSE(r.lora_on_mlp);
  EXPECT_FALSE(r.a2a_overlap || r.tp_overlap);
  const TrainingJob j;
  EXPECT_EQ(j.sequence, 0);
  EXPECT_EQ(j.batch, 0);
  EXPECT_EQ(j.gpus, 1);
  EXPECT_EQ(j.scaleup, 8);
  EXPECT_EQ(j.imbalance, 1);
  EXPECT_TRUE(j.train_mtp && j.compiled && !j.padded_experts);
  EXPECT_EQ(j.shard_group, 0);
  const Layout l;
  EXPECT_EQ(l.tp * l.pp * l.vp * l.dp * l.cp * l.ep * l.microbatch, 1);
  EXPECT_EQ(l.recompute_share, 1);
  EXPECT_TRUE(l.sequence_parallel && !l.async_tp);
}

TEST(LayoutWords, a_framework_of_which_nothing_is_known) {
  const FrameworkModel f;
  for (const double one :
       {f.eager_traffic, f.attention_factor, f.grouped_16bit, f.grouped_8bit, f.overhead_factor,
        f.graph_passes, f.overlap_host, f.eager_kernels, f.kernel_factor, f.tp_bulk_share}) {
    EXPECT_EQ(one, 1);
  }
  for (const double zero :
       {f.expert_host_s, f.host_launch_s, f.step_overhead_s, f.straggler, f.tp_overlap,
        f.async_tp_overlap, f.cp_overlap, f.ep_overlap, f.ep_interleaved_overlap, f.pp_overlap,
        f.dp_overlap, f.contention, f.accumulate_traffic, f.workspace_bytes}) {
    EXPECT_EQ(zero, 0);
  }
  EXPECT_EQ(f.router_share, 0.5);
  EXPECT_EQ(f.error, 0.12);
  EXPECT_EQ(f.weight_bytes, 2);
  EXPECT_EQ(f.gradient_bytes, 4);
  EXPECT_EQ(f.optimizer_bytes, 12) << "fp32 weights and two moments";
  EXPECT_EQ(f.reduce_bytes, 4);
  EXPECT_EQ(f.gather_bytes, 2);
  EXPECT_EQ(f.update_traffic, 34);
  EXPECT_EQ(f.logit_copies, 3);
  EXPECT_EQ(f.memory_error, 0.2);
  EXPECT_EQ(f.update_gradient_bytes, 4);
  EXPECT_FALSE(f.early_stop || f.flash2 || f.reduces_whole || f.lazy_gradients || f.cp_in_order ||
               f.trains_mtp);
  const AcceleratorTuning a = TrainingCalibration{}.accelerator("any");
  for (const double one : {a.matrix, a.matrix_8bit, a.matrix_4bit, a.attention, a.passes,
                           a.pass_energy, a.scaleup, a.network}) {
    EXPECT_EQ(one, 1);
  }
  EXPECT_EQ(a.error, 0.1);
  EXPECT_EQ(ReleaseFactor{}.factor, 1);
  EXPECT_EQ(UnseenWidth{}.width, 0);
  EXPECT_FALSE(UnseenWidth{}.experts);
  EXPECT_EQ(FamilyEra{}.until + FamilyEra{}.gpus, 0);
}

// Versions are months: 25.12 is five months before 26.05 and six after 25.06; a name is newest.
TEST(LayoutWords, releases_are_near_by_months_and_patches) {
  const std::vector<ReleaseFactor> years = {{"f", "25.06", 2}, {"f", "26.05", 3}};
  EXPECT_EQ(nearest_factor(years, "f", "25.12"), 3);
  EXPECT_EQ(nearest_factor(years, "f", "25.11"), 2);
  EXPECT_EQ(nearest_factor(years, "f", ""), 3) << "no release told is the newest";
  EXPECT_EQ(nearest_factor(years, "f", "26.x"), 3);
  const std::vector<ReleaseFactor> months = {{"f", "25.10", 2}, {"f", "25.11", 3}};
  EXPECT_EQ(nearest_factor(months, "f", "25.10.60"), 3) << "hundredths of a month";
  EXPECT_EQ(nearest_factor(months, "f", "25.10.40"), 2);
  EXPECT_EQ(nearest_factor(months, "f", "25.10.49.99"), 2) << "no more than a patch counts";
  const std::vector<ReleaseFactor> majors = {{"f", "2", 2}, {"f", "4", 3}};
  EXPECT_EQ(nearest_factor(majors, "f", "2.11"), 2);
  EXPECT_EQ(nearest_factor(majors, "f", "3.01"), 3);
}

// Every parameter of the files is the member of its name.
TEST(LayoutWords, parameters_are_the_members_of_their_names) {
  FrameworkModel f;
  const auto is = [&](const char* name, double& member) {
    EXPECT_EQ(framework_field(f, name), &member) << name;
  };
  is("kernel_factor", f.kernel_factor);
  is("eager_traffic", f.eager_traffic);
  is("attention_factor", f.attention_factor);
  is("grouped_16bit", f.grouped_16bit);
  is("grouped_8bit", f.grouped_8bit);
  is("overhead_factor", f.overhead_factor);
  is("expert_host_s", f.expert_host_s);
  is("graph_passes", f.graph_passes);
  is("router_share", f.router_share);
  is("overlap_host", f.overlap_host);
  is("eager_kernels", f.eager_kernels);
  is("tp_bulk_share", f.tp_bulk_share);
  is("host_launch_s", f.host_launch_s);
  is("step_overhead_s", f.step_overhead_s);
  is("straggler", f.straggler);
  is("contention", f.contention);
  is("memory_error", f.memory_error);
  is("error", f.error);
  is("update_gradient_bytes", f.update_gradient_bytes);
  is("scan_traffic", f.style.scan_traffic);
  is("quantise_nv", f.style.quantise_nv);
  is("loss_bytes", f.style.loss_bytes);
  EXPECT_EQ(framework_field(f, "nothing"), nullptr);
  AcceleratorTuning a;
  EXPECT_EQ(accelerator_field(a, "pass_energy"), &a.pass_energy);
  EXPECT_EQ(accelerator_field(a, "error"), &a.error);
  EXPECT_EQ(accelerator_field(a, "nothing"), nullptr);
}

// Each switch set to 1, and to 0.
TEST(LayoutWords, switches_are_read_on_and_off) {
  constexpr const char* kSwitches[] = {"fused_attention", "fused_pointwise", "dropout",
                                       "flash2",          "early_stop",      "cp_in_order",
                                       "reduces_whole",   "trains_mtp",      "lazy_gradients"};
  const auto with = [&](const char* name, const char* value) {
    const std::string frameworks =
        std::string("framework,parameter,value\ndefault,") + name + "," + value + "\n";
    const catalog::EmbeddedFile files[] = {
        {"calibration/training_accelerators.csv", "accelerator,parameter,value\n"},
        {"calibration/training_eras.csv", "framework,until,gpus,release,successor\n"},
        {"calibration/training_frameworks.csv", frameworks},
        {"calibration/training_intervals.csv", "unseen,class,width\n"},
        {"calibration/training_releases.csv", "framework,release,factor\n"},
        {"calibration/training_seen.csv", "subject,id\n"}};
    return read_training_calibration(catalog::Knowledge{.catalog = {}, .files = files});
  };
  for (const char* name : kSwitches) {
    for (const bool on : {true, false}) {
      const auto read = with(name, on ? "1" : "0");
      ASSERT_TRUE(read) << name;
      const FrameworkModel& f = read->frameworks.front();
      const bool all[] = {f.style.fused_attention,
                          f.style.fused_pointwise,
                          f.style.dropout,
                          f.flash2,
                          f.early_stop,
                          f.cp_in_order,
                          f.reduces_whole,
                          f.trains_mtp,
                          f.lazy_gradients};
      for (std::size_t i = 0; i < std::size(all); ++i) {
        const bool otherwise = i < 2;  // fused unless told
        EXPECT_EQ(all[i], kSwitches[i] == std::string(name) ? on : otherwise) << name << ' ' << i;
      }
    }
  }
  EXPECT_EQ(with("selective_core", "1")->frameworks.front().selective, Selective::attention_core);
  EXPECT_EQ(with("selective_passes", "1")->frameworks.front().selective, Selective::passes);
  EXPECT_EQ(with("selective_alternate", "1")->frameworks.front().selective,
            Selective::alternate_products);
}

}  // namespace
}  // namespace orrery::training
