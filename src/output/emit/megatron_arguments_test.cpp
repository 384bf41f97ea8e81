#include "output/emit/megatron_arguments.h"

#include <gtest/gtest.h>

#include "core/workload/model_math.h"

namespace orrery::emit {
namespace {

const std::string kLeast =
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
    "--micro-batch-size 3 ";

jobs::TrainingQuery asked(const std::string& rest) {
  const auto q = query_from_megatron(kLeast + rest, "f");
  EXPECT_TRUE(q) << rest;
  return q ? *q : jobs::TrainingQuery{};
}

// The shape of Megatron-LM's examples/gpt3/train_gpt3_175b_distributed.sh.
constexpr const char* kGpt3 = R"(
GPT_MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
)
TRAINING_ARGS="--micro-batch-size 1 --global-batch-size=1536 \
    --fp16 --lr 6.0e-5"
--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16
--num-layers-per-virtual-pipeline-stage 3 --sequence-parallel --use-distributed-optimizer
)";

TEST(MegatronArguments, a_launch_script_is_read) {
  const auto q = query_from_megatron(kGpt3, "train.sh");
  ASSERT_TRUE(q);
  EXPECT_NEAR(workload::count_parameters(q->model).total / 1e9, 174.6, 0.5);
  EXPECT_EQ(q->batch, 1536);
  EXPECT_EQ(q->sequence, 2048);
  EXPECT_EQ(q->precision, catalog::Precision::fp16);
  EXPECT_EQ(q->layout.tp, 8);
  EXPECT_EQ(q->layout.pp, 16);
  EXPECT_EQ(q->layout.vp, 2);
  EXPECT_EQ(q->layout.sharding, catalog::Sharding::zero1);
  EXPECT_EQ(q->layout.sequence_parallel, true);
}

TEST(MegatronArguments, grouped_queries_and_experts_are_read) {
  const auto q = query_from_megatron(
      "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention "
      "--num-query-groups 8 --ffn-hidden-size 14336 --swiglu --num-experts 8 --moe-router-topk 2 "
      "--untie-embeddings-and-output-weights --vocab-size 32000 --seq-length 4096 "
      "--micro-batch-size 1 --expert-model-parallel-size 8 --bf16",
      "mixtral.sh");
  ASSERT_TRUE(q);
  EXPECT_NEAR(workload::count_parameters(q->model).total / 1e9, 46.7, 0.1);  // Mixtral 8x7B
  EXPECT_EQ(q->layout.ep, 8);
}

TEST(MegatronArguments, every_missing_argument_is_an_error) {
  const auto q = query_from_megatron("--hidden-size 4096 --num-layers many", "bad.sh");
  ASSERT_FALSE(q);
  EXPECT_EQ(q.error().size(), 4u);
}

TEST(MegatronArguments, missing_arguments_have_megatrons_defaults) {
  const jobs::TrainingQuery q = asked("");
  EXPECT_EQ(q.model.id, "megatron");
  EXPECT_EQ(q.model.layers, 24);
  EXPECT_EQ(q.model.hidden, 1024);
  EXPECT_EQ(q.model.heads, 16);
  EXPECT_EQ(q.model.kv_heads, 16);
  EXPECT_EQ(q.model.head_dim, 64);
  EXPECT_FALSE(q.model.gated_mlp);
  EXPECT_EQ(q.model.ffn, 4096);
  EXPECT_EQ(q.model.vocab, 51200);
  EXPECT_TRUE(q.model.tied_embeddings);
  EXPECT_EQ(q.model.experts, 0);
  EXPECT_EQ(q.model.top_k, 0);
  EXPECT_EQ(q.model.expert_ffn, 4096);
  EXPECT_EQ(q.model.mtp_layers, 0);
  EXPECT_EQ(q.model.shared_experts, 0);
  EXPECT_NE(q.model.attention, catalog::AttentionKind::mla);
  EXPECT_EQ(q.layout.tp, 1);
  EXPECT_EQ(q.layout.pp, 1);
  EXPECT_EQ(q.layout.cp, 1);
  EXPECT_EQ(q.layout.ep, 1);
  EXPECT_EQ(q.layout.vp, 1);
  EXPECT_EQ(q.layout.microbatch, 3);
  EXPECT_EQ(q.layout.sequence_parallel, false);
  EXPECT_EQ(q.layout.sharding, catalog::Sharding::none);
  EXPECT_EQ(q.layout.recompute, catalog::Recompute::none);
  EXPECT_EQ(q.sequence, 512);
  EXPECT_EQ(q.batch, 3);
  EXPECT_EQ(q.precision, catalog::Precision::bf16);
  EXPECT_EQ(q.framework, "megatron-core");
}

TEST(MegatronArguments, model_arguments_are_read) {
  const jobs::TrainingQuery q = asked(
      "--group-query-attention --num-query-groups 4 --kv-channels 96 --swiglu --ffn-hidden-size "
      "3000 --vocab-size 100 --padded-vocab-size 128 --untie-embeddings-and-output-weights "
      "--num-experts 8 --moe-ffn-hidden-size 700 --mtp-num-layers 1 "
      "--moe-shared-expert-intermediate-size 900");
  EXPECT_EQ(q.model.kv_heads, 4);
  EXPECT_EQ(q.model.head_dim, 96);
  EXPECT_TRUE(q.model.gated_mlp);
  EXPECT_EQ(q.model.ffn, 3000);
  EXPECT_EQ(q.model.vocab, 128);
  EXPECT_FALSE(q.model.tied_embeddings);
  EXPECT_EQ(q.model.experts, 8);
  EXPECT_EQ(q.model.top_k, 2);
  EXPECT_EQ(q.model.expert_ffn, 700);
  EXPECT_EQ(q.model.mtp_layers, 1);
  EXPECT_EQ(q.model.shared_experts, 1);
  EXPECT_EQ(q.model.shared_expert_ffn, 900);
  EXPECT_EQ(asked("--num-experts 8 --moe-router-topk 3").model.top_k, 3);
  EXPECT_EQ(asked("--vocab-size 100").model.vocab, 100);
  EXPECT_EQ(asked("--group-query-attention").model.kv_heads, 1);
}

TEST(MegatronArguments, latent_attention_is_read) {
  const jobs::TrainingQuery usual = asked("--multi-latent-attention");
  EXPECT_EQ(usual.model.attention, catalog::AttentionKind::mla);
  EXPECT_EQ(usual.model.q_lora_rank, 0);
  EXPECT_EQ(usual.model.kv_lora_rank, 32);
  EXPECT_EQ(usual.model.qk_nope_dim, 128);
  EXPECT_EQ(usual.model.qk_rope_dim, 64);
  EXPECT_EQ(usual.model.v_head_dim, 128);
  const jobs::TrainingQuery own = asked(
      "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 96 "
      "--qk-pos-emb-head-dim 48 --v-head-dim 80");
  EXPECT_EQ(own.model.q_lora_rank, 1536);
  EXPECT_EQ(own.model.kv_lora_rank, 512);
  EXPECT_EQ(own.model.qk_nope_dim, 96);
  EXPECT_EQ(own.model.qk_rope_dim, 48);
  EXPECT_EQ(own.model.v_head_dim, 80);
}

TEST(MegatronArguments, layout_arguments_are_read) {
  const jobs::TrainingQuery q = asked(
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --context-parallel-size 8 "
      "--expert-model-parallel-size 16 --num-layers-per-virtual-pipeline-stage 2 "
      "--sequence-parallel --use-distributed-optimizer --recompute-granularity full "
      "--global-batch-size 96 --fp8-format hybrid");
  EXPECT_EQ(q.layout.tp, 2);
  EXPECT_EQ(q.layout.pp, 4);
  EXPECT_EQ(q.layout.cp, 8);
  EXPECT_EQ(q.layout.ep, 16);
  EXPECT_EQ(q.layout.vp, 3);
  EXPECT_EQ(q.layout.sequence_parallel, true);
  EXPECT_EQ(q.layout.sharding, catalog::Sharding::zero1);
  EXPECT_EQ(q.layout.recompute, catalog::Recompute::full);
  EXPECT_EQ(q.batch, 96);
  EXPECT_EQ(q.precision, catalog::Precision::fp8);
  EXPECT_EQ(asked("--recompute-granularity selective").layout.recompute,
            catalog::Recompute::selective);
  EXPECT_EQ(asked("--num-layers-per-virtual-pipeline-stage 99").layout.vp, 1);
  EXPECT_EQ(asked("--num-layers-per-virtual-pipeline-stage 0").layout.vp, 1);
  EXPECT_EQ(asked("--fp16").precision, catalog::Precision::fp16);
}

TEST(MegatronArguments, words_are_separated_by_shell_syntax) {
  const auto q = query_from_megatron(
      "A=\"--num-layers=2\t--hidden-size\r\n8 \\\n--num-attention-heads '4'\" --seq-length 1 "
      "--micro-batch-size 1",
      "f");
  ASSERT_TRUE(q);
  EXPECT_EQ(q->model.layers, 2);
  EXPECT_EQ(q->model.hidden, 8);
  EXPECT_EQ(q->model.heads, 4);
  EXPECT_EQ(q->sequence, 1);
  const auto bad = query_from_megatron(
      "--num-layers 0 --hidden-size 8 --num-attention-heads 1 --seq-length 1", "run.sh");
  ASSERT_FALSE(bad);
  ASSERT_EQ(bad.error().size(), 2U);
  EXPECT_EQ(bad.error()[0].code, "megatron.missing");
  EXPECT_EQ(bad.error()[0].place.file, "run.sh");
}

}  // namespace
}  // namespace orrery::emit
