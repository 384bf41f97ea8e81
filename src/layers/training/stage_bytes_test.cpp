// Bytes of a stage tensor by tensor, by hand: gpt of 8 layers, 64 wide, 4 heads, 100 tokens.
#include <gtest/gtest.h>

#include "core/workload/model_math.h"
#include "layers/training/memory.h"
#include "layers/training/stage_memory.h"
#include "layers/training/test_support.h"

namespace orrery::training {
namespace {

using testing_support::gpt;
using workload::Saved;

TrainingJob stage_job(int gpus = 2) {
  return {.model = gpt(8, 64, 4), .sequence = 100, .batch = 8, .gpus = gpus};
}

MemoryEstimate bytes_of_stages(const TrainingJob& job, const Layout& l,
                               const FrameworkModel& f = {}) {
  StepScratch scratch;
  return estimate_memory(job, l, f, scratch);
}

// Of one layer over two tensor ranks: 50 tokens between blocks, 100 inside.
constexpr double kInput = 2 * 50 * 64 * 2, kNorm = 50 * 64 * 2, kQkv = 100 * 96 * 2,
                 kOut = 100 * 32 * 2, kScores = 100 * 2 * 4, kUp = 100 * 128 * 2;
constexpr double kLayer = kInput + 2 * kNorm + kQkv + kOut + kScores + 2 * kUp;

TEST(StageBytes, saved_tensors_of_all_layers_and_what_lies_beside) {
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
  // Without sequence parallelism the stream is whole, and needs no room to be gathered into.
  const StageMemory whole =
      bytes_of_stages(stage_job(), {.tp = 2, .sequence_parallel = false}, f).stage;
  EXPECT_DOUBLE_EQ(whole.saved[Saved::layer_input], 8 * 2 * kInput);
  EXPECT_DOUBLE_EQ(whole.workspace.base(), 1000 + 2 * 100 * 64 * 2);
  EXPECT_DOUBLE_EQ(whole.activations.base(), 8 * (kLayer + kInput + 2 * kNorm) + 2 * input);
}

TEST(StageBytes, states_by_parameter) {
  const StageMemory s = bytes_of_stages(stage_job(), {.tp = 2}).stage;
  const double parameters = (8 * (12.0 * 64 * 64 + 2 * 64) + 51200.0 * 64) / 2;
  EXPECT_DOUBLE_EQ(s.weights.base(), 2 * parameters);
  EXPECT_DOUBLE_EQ(s.gradients.base(), 4 * parameters);
  EXPECT_DOUBLE_EQ(s.optimizer.base(), 12 * parameters);
}

TEST(StageBytes, selective_recompute_drops_what_the_framework_repeats) {
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

// Of queries, keys and values made from latents a twentieth stays.
TEST(StageBytes, latents_stay_where_passes_are_repeated) {
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

// A quarter recomputed: three quarters of all, the inputs of the others, one layer at work.
TEST(StageBytes, full_recompute_of_a_share) {
  const Layout l{.tp = 2, .recompute = catalog::Recompute::full, .recompute_share = 0.25};
  const StageMemory s = bytes_of_stages(stage_job(), l).stage;
  const double input = 100 * 64 * 2 / 2.0;
  EXPECT_DOUBLE_EQ(s.saved[Saved::layer_input], 8 * (0.75 * kInput + 0.25 * input));
  EXPECT_DOUBLE_EQ(s.saved[Saved::qkv], 8 * 0.75 * kQkv);
  EXPECT_DOUBLE_EQ(s.activations.base(), 8 * (0.75 * kLayer + 0.25 * input) + kLayer + input);
}

// Four stages of two layers: 4, 3, 2 and 1 microbatches in flight; logits on the last.
TEST(StageBytes, every_stage_of_a_pipeline) {
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

// Without logits or a vocabulary to speak of the first is fullest, or the second where the first
// has fewer layers: 14 + 2 layers on four stages.
TEST(StageBytes, the_fullest_stage_may_be_any) {
  TrainingJob job = stage_job(8);
  job.batch = 16;
  job.model.vocab = 2;
  EXPECT_EQ(bytes_of_stages(job, {.tp = 2, .pp = 4}).peak_stage, 0);
  job.model.layers = 14;
  const MemoryEstimate e = bytes_of_stages(job, {.tp = 2, .pp = 4, .vp = 4});
  EXPECT_EQ(e.peak_stage, 1);
  EXPECT_EQ(bytes_of_stages(stage_job(), {.tp = 2}).peak_stage, 0);
}

// (3 - 1) x 4 + 2 (4 - i - 1) + 1 chunks of the three of a stage.
TEST(StageBytes, chunks_in_flight_of_an_interleaved_pipeline) {
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

// Rows of a rank with two tensor neighbours: 50 x 2 choices; up and activation 32 wide each.
constexpr double kRouted = kInput + 2 * kNorm + kQkv + kOut + kScores + 100 * 64 * 2 + 2 * 100 * 64;

TEST(StageBytes, dense_and_routed_layers_lie_on_their_stages) {
  TrainingJob job = routed_job(2);
  const double input = 100 * 64 * 2 / 2.0;
  const auto activations = [&](const Layout& l, std::size_t stage) {
    StepScratch scratch;
    return memory_by_stage(job, l, {}, scratch)[stage].activations.base();
  };
  // On one stage: three dense, five routed and two modules that guess further.
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

// Experts are divided over their own replicas: 8 devices, 4 of experts, two copies of each.
TEST(StageBytes, shards_of_experts_and_of_the_rest) {
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

// Of ten layers four scan, three attend and three feed: what one layer saves is the mean.
TEST(StageBytes, a_hybrid_saves_the_mean_of_its_layers) {
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

TEST(StageBytes, an_empty_stage_holds_nothing) {
  const StageMemory s;
  EXPECT_EQ(s.total(), Bytes(0));
  EXPECT_EQ(s.in_flight, 0);
  EXPECT_EQ(MemoryEstimate{}.peak_stage, 0);
}

}  // namespace
}  // namespace orrery::training
