#include "core/workload/transformer.h"

#include <gtest/gtest.h>

#include "core/workload/model_math.h"

namespace orrery::workload {
namespace {

catalog::ModelShape llama70b() {
  catalog::ModelShape m;
  m.layers = 80;
  m.hidden = 8192;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.ffn = 28672;
  m.vocab = 128256;
  return m;
}

Flops total(const OpList& ops) {
  Flops sum;
  for (const Operation& op : ops.items()) sum += flops_of(op);
  return sum;
}

TEST(Transformer, LayerFlopsAgreeWithTheClosedForm) {
  const catalog::ModelShape m = llama70b();
  LayerWork work;
  EndWork head;
  const double s = 8192;
  fill_layer_work(m, LayerKind::dense, false, {.microbatch = 2, .sequence = s}, {}, work);
  fill_head_work(m, {.microbatch = 2, .sequence = s}, {}, head);
  const Flops forward = total(work.forward) * 80 + total(head.forward);
  EXPECT_NEAR(forward / (forward_flops_per_token(m, s) * 2 * s), 1, 1e-3);
  // dgrad and wgrad of the products are a forward each; flash backward is 2.5.
  const Flops attention = total(work.attention_core);
  const Flops products = total(work.forward) - attention;
  EXPECT_NEAR(total(work.dgrad) / (products + 2.5 * attention), 1, 1e-12);
  EXPECT_NEAR(total(work.wgrad) / products, 1, 1e-12);
}

TEST(Transformer, TensorAndContextParallelismDivideTheWork) {
  const catalog::ModelShape m = llama70b();
  LayerWork whole;
  LayerWork part;
  fill_layer_work(m, LayerKind::dense, false, {.sequence = 32768}, {}, whole);
  fill_layer_work(m, LayerKind::dense, false, {.sequence = 32768, .tp = 4, .cp = 2}, {}, part);
  EXPECT_NEAR(total(whole.forward) / total(part.forward), 8, 1e-9);
  EXPECT_NEAR(whole.messages.tp_tensor / part.messages.tp_tensor, 2, 1e-12);
}

TEST(Transformer, ExpertRowsAreConservedUnderExpertParallelism) {
  catalog::ModelShape m = llama70b();
  m.experts = 64;
  m.top_k = 4;
  m.expert_ffn = 2048;
  LayerWork one;
  LayerWork eight;
  fill_layer_work(m, LayerKind::moe, false, {.sequence = 4096}, {}, one);
  fill_layer_work(m, LayerKind::moe, false, {.sequence = 4096, .ep = 8}, {}, eight);
  // Fewer, taller expert products: the same FLOPs on a rank.
  EXPECT_NEAR(total(one.forward) / total(eight.forward), 1, 1e-12);
  EXPECT_DOUBLE_EQ(eight.messages.ep_tensor.base(), 4096.0 * 4 * 8192 * 2);
}

TEST(Transformer, QuantisedProductsNeedPassesAndSaveHalf) {
  const catalog::ModelShape m = llama70b();
  LayerWork wide;
  LayerWork narrow;
  fill_layer_work(m, LayerKind::dense, false, {.sequence = 4096}, {}, wide);
  fill_layer_work(m, LayerKind::dense, false,
                  {.sequence = 4096, .precision = catalog::Precision::mxfp8}, {}, narrow);
  EXPECT_GT(narrow.forward.size(), wide.forward.size());
  EXPECT_DOUBLE_EQ(narrow.saved[Saved::mlp_activation] * 2, wide.saved[Saved::mlp_activation]);
  EXPECT_NEAR(total(narrow.forward) / total(wide.forward), 1, 1e-12);
}

TEST(Transformer, FrozenWeightsHaveNoGradients) {
  LayerWork work;
  fill_layer_work(llama70b(), LayerKind::dense, false, {.sequence = 4096, .frozen = true}, {},
                  work);
  EXPECT_EQ(work.wgrad.size(), 0);
  EXPECT_GT(work.dgrad.size(), 0);
}

TEST(Transformer, PrecisionNamesRoundTrip) {
  for (catalog::Precision p :
       {catalog::Precision::bf16, catalog::Precision::fp16, catalog::Precision::fp8,
        catalog::Precision::fp8_row, catalog::Precision::fp8_block, catalog::Precision::mxfp8,
        catalog::Precision::nvfp4}) {
    EXPECT_EQ(precision_from(to_text(p)), p);
  }
  EXPECT_EQ(precision_from("fp6"), std::nullopt);
  EXPECT_EQ(precision_from("fp8-row"), std::nullopt);  // the design file's spelling
  EXPECT_EQ(precision_from("int8"), std::nullopt);     // no products of it are modelled
}

TEST(Transformer, APrecisionThatIsNotModelledCountsAsBf16) {
  for (const catalog::Precision p :
       {catalog::Precision::fp32, catalog::Precision::tf32, catalog::Precision::int8,
        catalog::Precision::int4, catalog::Precision::bf16}) {
    EXPECT_EQ(modelled(p), catalog::Precision::bf16);
    EXPECT_EQ(product_dtype(modelled(p)), catalog::Dtype::bf16);
    EXPECT_FALSE(is_quantised(p));
  }
  EXPECT_EQ(modelled(catalog::Precision::mxfp8), catalog::Precision::mxfp8);
  EXPECT_TRUE(is_quantised(catalog::Precision::nvfp4));
}

}  // namespace
}  // namespace orrery::workload
