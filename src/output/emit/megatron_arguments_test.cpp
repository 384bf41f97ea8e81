#include "output/emit/megatron_arguments.h"

#include <gtest/gtest.h>

#include "core/workload/model_math.h"

namespace orrery::emit {
namespace {

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

TEST(MegatronArguments, ReadsALaunchScript) {
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

TEST(MegatronArguments, ReadsGroupedQueriesAndExperts) {
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

TEST(MegatronArguments, NamesEveryMissingArgument) {
  const auto q = query_from_megatron("--hidden-size 4096 --num-layers many", "bad.sh");
  ASSERT_FALSE(q);
  EXPECT_EQ(q.error().size(), 4u);
}

}  // namespace
}  // namespace orrery::emit
