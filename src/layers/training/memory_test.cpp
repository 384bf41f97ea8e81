#include "layers/training/memory.h"

#include <gtest/gtest.h>

#include "core/workload/model_math.h"
#include "layers/training/framework.h"
#include "layers/training/layer_cost.h"
#include "layers/training/layout.h"
#include "layers/training/stage_memory.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using testing_support::job_of_gpt3;
using testing_support::mixtral;
using workload::Saved;

Bytes peak(const TrainingJob& job, const Layout& l, const FrameworkModel& f = {}) {
  StepScratch scratch;
  return estimate_memory(job, l, f, scratch).peak;
}

// Korthikanti et al. table 2: s b h (34 + 5 a s / h) bytes per layer without parallelism.
TEST(Memory, activations_of_a_layer_are_korthikantis) {
  const catalog::ModelShape m = gpt(1, 12288, 96);
  workload::LayerWork work;
  const workload::KernelStyle megatron_2022{.fused_attention = false, .dropout = true};
  fill_layer_work(m, workload::LayerKind::dense, false,
                  {.microbatch = 1, .sequence = 2048, .sequence_parallel = false}, megatron_2022,
                  work);
  const double expected = 2048 * 12288.0 * (34 + 5 * 96 * 2048 / 12288.0);
  EXPECT_NEAR(work.saved.total() / expected, 1, 1e-6);
}

TEST(Memory, sequence_parallelism_divides_every_saved_tensor) {
  const catalog::ModelShape m = gpt(1, 12288, 96);
  const workload::KernelStyle style{.dropout = true};
  workload::LayerWork whole;
  workload::LayerWork split;
  fill_layer_work(m, workload::LayerKind::dense, false, {.sequence = 2048}, style, whole);
  fill_layer_work(m, workload::LayerKind::dense, false, {.sequence = 2048, .tp = 8}, style, split);
  EXPECT_NEAR(whole.saved.total() / split.saved.total(), 8, 1e-9);
}

// Rajbhandari et al. (arXiv 1910.02054): 2 + 2 + 12 bytes per parameter, here 2 + 4 + 12.
TEST(Memory, sharding_divides_the_states_it_names) {
  const TrainingJob job{.model = gpt(32, 4096, 32), .sequence = 128, .batch = 8, .gpus = 8};
  StepScratch scratch;
  const auto stage = [&](catalog::Sharding s) {
    return estimate_memory(job, {.dp = 8, .sharding = s}, {}, scratch).stage;
  };
  const StageMemory none = stage(catalog::Sharding::none);
  EXPECT_DOUBLE_EQ(none.optimizer / none.weights, 6);
  EXPECT_DOUBLE_EQ(none.optimizer / stage(catalog::Sharding::zero1).optimizer, 8);
  EXPECT_DOUBLE_EQ(none.gradients / stage(catalog::Sharding::zero2).gradients, 8);
  EXPECT_LT(stage(catalog::Sharding::zero3).weights, none.weights * 0.25);
}

// 8 layers of gpt: zero3 keeps an eighth of everything and two gathered layers; zero1 keeps
// whole weights and gradients. In a pipeline gathered weights stay, and gradients are whole.
TEST(Memory, sharded_stage_memory) {
  TrainingJob job{.model = gpt(8, 512, 8), .sequence = 128, .batch = 64, .gpus = 8};
  const FrameworkModel f{
      .weight_bytes = 2, .gradient_bytes = 4, .optimizer_bytes = 12, .gather_bytes = 3};
  StepScratch scratch;
  const auto at = [&](const Layout& l) { return estimate_memory(job, l, f, scratch).first; };
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double whole = 8 * c.dense_layer() + c.embedding;
  const StageMemory z3 = at({.dp = 8, .sharding = catalog::Sharding::zero3});
  EXPECT_DOUBLE_EQ(z3.weights.base(), whole / 8 * 2 + 2 * c.dense_layer() * 3);
  EXPECT_DOUBLE_EQ(z3.gradients.base(), whole / 8 * 4);
  EXPECT_DOUBLE_EQ(z3.optimizer.base(), whole / 8 * 12);
  const StageMemory z1 = at({.dp = 8, .sharding = catalog::Sharding::zero1});
  EXPECT_DOUBLE_EQ(z1.weights.base(), whole * 2);
  EXPECT_DOUBLE_EQ(z1.gradients.base(), whole * 4);
  const double half = 4 * c.dense_layer() + c.embedding;
  const StageMemory piped = at({.pp = 2, .dp = 4, .sharding = catalog::Sharding::zero3});
  EXPECT_DOUBLE_EQ(piped.weights.base(), half / 4 * 2 + half * 3);
  EXPECT_DOUBLE_EQ(piped.gradients.base(), half * 4);
  const Layout both{.pp = 2, .dp = 4, .schedule = catalog::Schedule::dualpipe};
  EXPECT_DOUBLE_EQ(at(both).weights.base(), half * 2 * 2) << "two stages a device";
  EXPECT_EQ(at(both).in_flight, 3);
  job.shard_group = 2;
  EXPECT_DOUBLE_EQ(at({.dp = 8, .sharding = catalog::Sharding::zero3}).optimizer.base(),
                   whole / 2 * 12);
  EXPECT_DOUBLE_EQ(at({.dp = 8, .sharding = catalog::Sharding::zero1}).optimizer.base(),
                   whole / 8 * 12)
      << "it is zero3's";
  job.task = TrainingTask::lora;
  EXPECT_EQ(at({.dp = 8}).gradients.base() + at({.dp = 8}).optimizer.base(), 0);
}

// Gradients created tensor by tensor: those of the update, if that is the larger moment, or those
// that the first microbatch left.
TEST(Memory, lazy_gradients_exist_only_at_the_update) {
  TrainingJob job{.model = gpt(8, 512, 8), .sequence = 16, .batch = 1, .gpus = 1};
  const FrameworkModel f{.gradient_bytes = 4, .lazy_gradients = true, .update_gradient_bytes = 6};
  StepScratch scratch;
  const auto now = [&] {
    return estimate_memory(job, {.sharding = catalog::Sharding::none}, f, scratch).stage;
  };
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double whole = 8 * c.dense_layer() + c.embedding;
  EXPECT_TRUE(now().peak_at_update);
  EXPECT_DOUBLE_EQ(now().gradients.base(), whole * 6 + 2 * c.embedding);
  EXPECT_EQ(now().activations.base() + now().logits.base(), 0);
  job.sequence = 1 << 16;
  EXPECT_FALSE(now().peak_at_update);
  EXPECT_EQ(now().gradients.base(), 0) << "of one microbatch";
  EXPECT_GT(now().activations.base(), 0);
  job.batch = 2;
  EXPECT_DOUBLE_EQ(now().gradients.base(), whole * 4);
}

// With recompute of a share of the layers, the memory is proportionally between keeping everything
// and nothing; full recompute keeps one whole layer in addition.
TEST(Memory, partial_recompute_keeps_its_share) {
  const TrainingJob job = job_of_gpt3(64, 64);
  StepScratch scratch;
  const auto kept = [&](double share) {
    const Layout l{
        .tp = 8, .pp = 8, .recompute = catalog::Recompute::full, .recompute_share = share};
    return estimate_memory(job, l, {}, scratch).first.activations.base();
  };
  // With no layer recomputed everything is kept, and one layer in addition: of 12 layers with 8
  // microbatches.
  const double all = estimate_memory(job, {.tp = 8, .pp = 8}, {}, scratch).first.activations.base();
  const double input = 2048.0 * 12288 * 2 / 8;
  EXPECT_NEAR(kept(0) / (all + (all - 8 * input) / (12 * 8)), 1, 1e-9);
  EXPECT_GT(kept(0), 2 * kept(1));
  for (const double share : {0.25, 0.5, 0.9}) {
    EXPECT_NEAR(kept(share) / (kept(0) * (1 - share) + kept(1) * share), 1, 1e-9) << share;
  }
}

TEST(Memory, no_more_is_in_flight_than_there_are_microbatches) {
  StepScratch scratch;
  for (const int vp : {1, 3}) {
    const Layout l{.tp = 8, .pp = 8, .vp = vp};
    EXPECT_DOUBLE_EQ(estimate_memory(job_of_gpt3(64, 2), l, {}, scratch).first.in_flight, 2) << vp;
  }
}

TEST(Memory, every_stage_is_there) {
  StepScratch scratch;
  const TrainingJob job = job_of_gpt3(64, 64);
  const Layout l{.tp = 8, .pp = 8};
  const auto stages = memory_by_stage(job, l, {}, scratch);
  const MemoryEstimate e = estimate_memory(job, l, {}, scratch);
  ASSERT_EQ(stages.size(), 8U);
  EXPECT_EQ(stages.front().total(), e.first.total());
  EXPECT_EQ(stages.back().total(), e.last.total());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(stages[static_cast<std::size_t>(i)].in_flight, 8 - i);
    EXPECT_EQ(stages[static_cast<std::size_t>(i)].logits.base() > 0, i == 7);
    EXPECT_LE(stages[static_cast<std::size_t>(i)].total(), e.peak);
  }
}

TEST(Memory, memory_grows_with_microbatch_sequence_and_depth) {
  const TrainingJob job = job_of_gpt3(64, 128);
  Layout l{.tp = 8, .pp = 8};
  Bytes before = peak(job, l);
  for (int b : {2, 4, 8}) {
    l.microbatch = b;
    const Bytes now = peak(job, l);
    EXPECT_GT(now, before);
    before = now;
  }
  TrainingJob longer = job;
  longer.sequence = 4096;
  EXPECT_GT(peak(longer, l), before);
  Layout full = l;
  full.recompute = catalog::Recompute::full;
  EXPECT_LT(peak(job, full), before);
}

TEST(Memory, first_stage_holds_most_in_flight) {
  StepScratch scratch;
  const TrainingJob job = job_of_gpt3(64, 64);
  const MemoryEstimate e = estimate_memory(job, {.tp = 8, .pp = 8}, {}, scratch);
  EXPECT_DOUBLE_EQ(e.first.in_flight, 8);
  EXPECT_DOUBLE_EQ(e.last.in_flight, 1);
  // Interleaving adds (p-1)/(p v) to the first stage: arXiv 2104.04473 section 2.2.
  const MemoryEstimate v = estimate_memory(job, {.tp = 8, .pp = 8, .vp = 3}, {}, scratch);
  EXPECT_NEAR(v.first.in_flight, 8 * (1 + 7.0 / (8 * 3)), 1e-9);
}

TEST(Memory, experts_are_sharded_over_their_own_replicas) {
  const TrainingJob job{.model = mixtral(), .sequence = 1024, .batch = 64, .gpus = 64};
  StepScratch scratch;
  const StageMemory ep1 = estimate_memory(job, {.dp = 64}, {}, scratch).stage;
  const StageMemory ep8 = estimate_memory(job, {.dp = 64, .ep = 8}, {}, scratch).stage;
  EXPECT_LT(ep8.weights, ep1.weights * 0.2);
  // Their optimizer is divided by 64 / 8 replicas: the same share per device.
  EXPECT_NEAR(ep8.optimizer / ep1.optimizer, 1, 1e-9);
}

TrainingJob stage_job(int gpus = 2) {
  return {.model = gpt(8, 64, 4), .sequence = 100, .batch = 8, .gpus = gpus};
}

MemoryEstimate bytes_of_stages(const TrainingJob& job, const Layout& l,
                               const FrameworkModel& f = {}) {
  StepScratch scratch;
  return estimate_memory(job, l, f, scratch);
}

// For one layer over two tensor ranks: 50 tokens between blocks, 100 inside.
constexpr double kInput = 2 * 50 * 64 * 2, kNorm = 50 * 64 * 2, kQkv = 100 * 96 * 2,
                 kOut = 100 * 32 * 2, kScores = 100 * 2 * 4, kUp = 100 * 128 * 2;
constexpr double kLayer = kInput + 2 * kNorm + kQkv + kOut + kScores + 2 * kUp;

TEST(Memory, stage_adds_up_its_tensors) {
  const FrameworkModel f{.logit_copies = 3, .workspace_bytes = 1000};
  const StageMemory s = bytes_of_stages(stage_job(), {.tp = 2}, f).stage;
  EXPECT_DOUBLE_EQ(s.saved[Saved::layer_input], 8 * kInput);
  EXPECT_DOUBLE_EQ(s.saved[Saved::norm_output], 8 * kNorm);
  EXPECT_DOUBLE_EQ(s.saved[Saved::mlp_input], 8 * kNorm);
  EXPECT_DOUBLE_EQ(s.saved[Saved::qkv], 8 * kQkv);
  EXPECT_DOUBLE_EQ(s.saved[Saved::attention_output], 8 * kOut);
  EXPECT_DOUBLE_EQ(s.saved[Saved::attention_scores], 8 * kScores);
  EXPECT_DOUBLE_EQ(s.saved[Saved::mlp_up], 8 * kUp);
  EXPECT_DOUBLE_EQ(s.saved[Saved::mlp_activation], 8 * kUp);
  const double input = 100 * 64 * 2 / 2.0;
  EXPECT_DOUBLE_EQ(s.activations.base(), 8 * kLayer + input);
  EXPECT_DOUBLE_EQ(s.logits.base(), 3 * 100 * 51200.0 / 2 * 2);
  EXPECT_DOUBLE_EQ(s.workspace.base(), 1000 + 2 * 100 * 64 * 2);
  EXPECT_EQ(s.in_flight, 1);
  EXPECT_FALSE(s.peak_at_update);
  EXPECT_DOUBLE_EQ(s.total().base(), s.weights.base() + s.gradients.base() + s.optimizer.base() +
                                         s.activations.base() + s.logits.base() +
                                         s.workspace.base());
  // Without sequence parallelism the layer input is whole, and needs no space for gathering.
  const StageMemory whole =
      bytes_of_stages(stage_job(), {.tp = 2, .sequence_parallel = false}, f).stage;
  EXPECT_DOUBLE_EQ(whole.saved[Saved::layer_input], 8 * 2 * kInput);
  EXPECT_DOUBLE_EQ(whole.workspace.base(), 1000 + 2 * 100 * 64 * 2);
  EXPECT_DOUBLE_EQ(whole.activations.base(), 8 * (kLayer + kInput + 2 * kNorm) + 2 * input);
}

TEST(Memory, state_bytes_per_parameter) {
  const StageMemory s = bytes_of_stages(stage_job(), {.tp = 2}).stage;
  const double parameters = (8 * (12.0 * 64 * 64 + 2 * 64) + 51200.0 * 64) / 2;
  EXPECT_DOUBLE_EQ(s.weights.base(), 2 * parameters);
  EXPECT_DOUBLE_EQ(s.gradients.base(), 4 * parameters);
  EXPECT_DOUBLE_EQ(s.optimizer.base(), 12 * parameters);
}

TEST(Memory, selective_recompute_drops_the_repeated_tensors) {
  const Layout l{.tp = 2, .recompute = catalog::Recompute::selective};
  const auto saved = [&](Selective kind, const TrainingJob& job = stage_job()) {
    return bytes_of_stages(job, l, {.selective = kind}).stage.saved;
  };
  const workload::SavedBytes core = saved(Selective::attention_core);
  EXPECT_EQ(core[Saved::attention_scores], 0);
  EXPECT_DOUBLE_EQ(core.total(), 8 * (kLayer - kScores));
  const workload::SavedBytes passes = saved(Selective::passes);
  EXPECT_EQ(passes[Saved::norm_output] + passes[Saved::mlp_input], 0);
  EXPECT_EQ(passes[Saved::mlp_activation], 0);
  EXPECT_DOUBLE_EQ(passes[Saved::qkv], 8 * kQkv);
  EXPECT_DOUBLE_EQ(passes.total(), 8 * (kLayer - 2 * kNorm - kUp));
  const workload::SavedBytes half = saved(Selective::alternate_products);
  EXPECT_DOUBLE_EQ(half[Saved::qkv], 4 * kQkv);
  EXPECT_DOUBLE_EQ(half[Saved::mlp_up], 4 * kUp);
  EXPECT_DOUBLE_EQ(half.total(), 8 * (kLayer - 2 * kNorm - kUp) - 4 * kQkv - 4 * kUp);
}

// A twentieth of queries, keys and values made from latents is kept.
TEST(Memory, latents_stay_under_selective_recompute) {
  TrainingJob job = stage_job();
  job.model.attention = catalog::AttentionKind::mla;
  job.model.kv_lora_rank = 8;
  job.model.qk_nope_dim = 16;
  job.model.qk_rope_dim = 4;
  job.model.v_head_dim = 12;
  // Two heads of (2 x 20 + 12) for 100 tokens, and 2 x 8 of the latent for 50, in two bytes.
  const double qkv = 100 * 2 * 52 * 2 + 2 * 50 * 8 * 2;
  const Layout all{.tp = 2}, less{.tp = 2, .recompute = catalog::Recompute::selective};
  const FrameworkModel f{.selective = Selective::passes};
  EXPECT_DOUBLE_EQ(bytes_of_stages(job, all, f).stage.saved[Saved::qkv], 8 * qkv);
  EXPECT_DOUBLE_EQ(bytes_of_stages(job, less, f).stage.saved[Saved::qkv], 8 * qkv * 0.05);
}

// A quarter recomputed: three quarters of everything, the inputs of the others, one layer being
// computed.
TEST(Memory, partial_recompute_keeps_the_rest) {
  const Layout l{.tp = 2, .recompute = catalog::Recompute::full, .recompute_share = 0.25};
  const StageMemory s = bytes_of_stages(stage_job(), l).stage;
  const double input = 100 * 64 * 2 / 2.0;
  EXPECT_DOUBLE_EQ(s.saved[Saved::layer_input], 8 * (0.75 * kInput + 0.25 * input));
  EXPECT_DOUBLE_EQ(s.saved[Saved::qkv], 8 * 0.75 * kQkv);
  EXPECT_DOUBLE_EQ(s.activations.base(), 8 * (0.75 * kLayer + 0.25 * input) + kLayer + input);
}

// Four stages of two layers: 4, 3, 2 and 1 microbatches in flight; logits on the last.
TEST(Memory, stages_hold_fewer_microbatches_in_flight) {
  TrainingJob job = stage_job(8);
  job.batch = 16;
  const Layout l{.tp = 2, .pp = 4};
  StepScratch scratch;
  const auto stages = memory_by_stage(job, l, {}, scratch);
  ASSERT_EQ(stages.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const double in_flight = 4.0 - static_cast<double>(i);
    EXPECT_EQ(stages[i].in_flight, in_flight);
    EXPECT_DOUBLE_EQ(stages[i].activations.base(), in_flight * (2 * kLayer + 100 * 64 * 2 / 2.0));
    EXPECT_DOUBLE_EQ(stages[i].weights.base(),
                     2 * (2 * 49280.0 + (i % 3 == 0 ? 51200.0 * 64 : 0)) / 2);
  }
  // Three copies of the logits make the last the fullest.
  const MemoryEstimate e = bytes_of_stages(job, l);
  EXPECT_EQ(e.peak_stage, 3);
  EXPECT_EQ(e.peak, stages[3].total());
  EXPECT_EQ(e.stage.total(), stages[3].total());
  EXPECT_EQ(e.first.total(), stages[0].total());
  EXPECT_EQ(e.last.total(), stages[3].total());
}

// Without logits or a large vocabulary the first stage is fullest, or the second if the first has
// fewer layers: 14 + 2 layers on four stages.
TEST(Memory, fullest_stage_is_found) {
  TrainingJob job = stage_job(8);
  job.batch = 16;
  job.model.vocab = 2;
  EXPECT_EQ(bytes_of_stages(job, {.tp = 2, .pp = 4}).peak_stage, 0);
  job.model.layers = 14;
  const MemoryEstimate e = bytes_of_stages(job, {.tp = 2, .pp = 4, .vp = 4});
  EXPECT_EQ(e.peak_stage, 1);
  EXPECT_EQ(bytes_of_stages(stage_job(), {.tp = 2}).peak_stage, 0);
}

// (3 - 1) x 4 + 2 (4 - i - 1) + 1 of the three chunks per stage.
TEST(Memory, interleaved_pipeline_chunks_in_flight) {
  TrainingJob job = stage_job(8);
  job.model.layers = 12;
  job.batch = 64;
  StepScratch scratch;
  const auto stages = memory_by_stage(job, {.tp = 2, .pp = 4, .vp = 3}, {}, scratch);
  EXPECT_DOUBLE_EQ(stages[0].in_flight, 15 / 3.0);
  EXPECT_DOUBLE_EQ(stages[1].in_flight, 13 / 3.0);
  EXPECT_DOUBLE_EQ(stages[3].in_flight, 9 / 3.0);
  const auto both = memory_by_stage(
      job, {.tp = 2, .pp = 4, .schedule = catalog::Schedule::dualpipe}, {}, scratch);
  EXPECT_EQ(both[0].in_flight, 5);
  EXPECT_EQ(both[3].in_flight, 5);
}

TrainingJob routed_job(int gpus) {
  TrainingJob job = stage_job(gpus);
  job.model.experts = 4;
  job.model.top_k = 2;
  job.model.expert_ffn = 32;
  job.model.first_dense_layers = 3;
  job.model.mtp_layers = 2;
  job.batch = 16;
  return job;
}

// Rows on a rank with two tensor-parallel ranks: 50 x 2 choices; up and activation 32 wide each.
constexpr double kRouted = kInput + 2 * kNorm + kQkv + kOut + kScores + 100 * 64 * 2 + 2 * 100 * 64;

TEST(Memory, dense_and_moe_layers_are_on_their_stages) {
  TrainingJob job = routed_job(2);
  const double input = 100 * 64 * 2 / 2.0;
  const auto activations = [&](const Layout& l, std::size_t stage) {
    StepScratch scratch;
    return memory_by_stage(job, l, {}, scratch)[stage].activations.base();
  };
  // On one stage: three dense, five routed layers and two prediction modules.
  EXPECT_DOUBLE_EQ(activations({.tp = 2}, 0), 3 * kLayer + 7 * kRouted + input);
  job.train_mtp = false;
  EXPECT_DOUBLE_EQ(activations({.tp = 2}, 0), 3 * kLayer + 5 * kRouted + input);
  job = routed_job(8);
  EXPECT_DOUBLE_EQ(activations({.tp = 2, .pp = 4}, 0), 4 * (2 * kLayer + input)) << "all dense";
  EXPECT_DOUBLE_EQ(activations({.tp = 2, .pp = 4}, 1), 3 * (2 * kRouted + input));
  EXPECT_DOUBLE_EQ(activations({.tp = 2, .pp = 4}, 3), 4 * kRouted + input) << "with its modules";
  const Layout again{.tp = 2, .pp = 4, .recompute = catalog::Recompute::full};
  EXPECT_DOUBLE_EQ(activations(again, 0), 4 * (2 * input + input) + kLayer);
  EXPECT_DOUBLE_EQ(activations(again, 1), 3 * (2 * input + input) + kRouted);
}

// Experts are sharded over their own replicas: 8 devices, 4 with different experts, two copies of
// each.
TEST(Memory, expert_states_are_sharded_over_their_replicas) {
  TrainingJob job = routed_job(8);
  job.train_mtp = false;
  job.model.first_dense_layers = 0;
  const workload::ParameterCount c = workload::count_parameters(job.model);
  const double dense = 8 * c.moe_layer(0) + c.embedding, expert = 8 * c.expert;
  const auto states = [&](catalog::Sharding s) {
    return bytes_of_stages(job, {.dp = 8, .ep = 4, .sharding = s}).stage;
  };
  const double shard = dense / 8 + expert / 2;
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::none).optimizer.base(), 12 * (dense + expert));
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::none).gradients.base(), 4 * (dense + expert));
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::zero1).optimizer.base(), 12 * shard);
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::zero1).gradients.base(), 4 * (dense + expert));
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::zero2).gradients.base(), 4 * shard);
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::zero2).weights.base(), 2 * (dense + expert));
  EXPECT_DOUBLE_EQ(states(catalog::Sharding::zero3).weights.base(),
                   2 * shard + 2 * (c.moe_layer(0) + c.expert) * 2);
}

// Ten layers: four scan, three attend and three are MLPs: what one layer saves is the mean.
TEST(Memory, hybrid_saves_the_mean_of_its_layers) {
  TrainingJob job = stage_job();
  catalog::ModelShape& m = job.model;
  m.layers = 10;
  m.state_space_layers = 4;
  m.mlp_only_layers = 3;
  m.scan_heads = 8;
  m.scan_head_dim = 16;
  m.scan_groups = 2;
  m.scan_state = 32;
  const workload::SavedBytes s = bytes_of_stages(job, {.tp = 2}).stage.saved;
  EXPECT_NEAR(s[Saved::layer_input], 10 * kInput / 2, 1e-6) << "one norm each";
  EXPECT_NEAR(s[Saved::mlp_up], 3 * kUp, 1e-6);
  EXPECT_NEAR(s[Saved::attention_scores], 3 * kScores, 1e-6);
  // Four heads of 16: in 2 x 64 + 64 + 4, mixed 64 + 64.
  EXPECT_NEAR(s[Saved::qkv], 3 * kQkv + 4 * 100 * 2 * (196 + 128), 1e-6);
}

}  // namespace
}  // namespace orrery::training
