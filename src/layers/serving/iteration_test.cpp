// Every kernel and message of a step, worked out by hand from the shapes.
#include "layers/serving/iteration.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace orrery::serving {
namespace {

using Lines = std::vector<std::string>;

// "t" all tokens, "d" decoding requests, "p" prompts, "s" sampled tokens; "x" works on experts.
std::string line_of(const WorkGroup& g, std::size_t i) {
  std::string text(1, "tdps"[static_cast<int>(g.parts[i])]);
  if (g.expert[i]) text += 'x';
  if (const auto* p = std::get_if<workload::Gemm>(&g.kernels[i])) {
    text += fmt::format(" product {:.6g} x {} x {}, {} bytes", p->m, p->n, p->k, p->weight_bytes());
    if (p->groups != 1) text += fmt::format(", {:.5g} groups", p->groups);
  }
  if (const auto* p = std::get_if<workload::MemoryPass>(&g.kernels[i])) {
    text += fmt::format(" pass {} {}", p->read.base(), p->written.base());
  }
  if (const auto* a = std::get_if<workload::Attention>(&g.kernels[i])) {
    text += fmt::format(" attention {} of {} over {}, heads {} and {:.5g}, {} and {}", a->batch,
                        a->q_len, a->kv_len, a->q_heads, a->kv_heads, a->qk_dim, a->v_dim);
    text += fmt::format("{}, window {}, {} bytes", a->causal ? ", causal" : "", a->window,
                        bytes_per_element(a->dtype));
  }
  return text;
}

Lines kernels_of(const WorkGroup& g) {
  Lines lines;
  for (std::size_t i = 0; i < g.kernels.size(); ++i) lines.push_back(line_of(g, i));
  return lines;
}

Lines messages_of(const WorkGroup& g) {
  Lines lines;
  for (const workload::CollectiveCall& c : g.messages) {
    lines.push_back(fmt::format("{} {} among {} of {}", to_text(c.kind), c.bytes.base(),
                                c.group.ranks, c.group.per_domain));
  }
  return lines;
}

catalog::ModelShape small_dense() {
  return {.id = "dense",
          .layers = 4,
          .hidden = 64,
          .heads = 8,
          .kv_heads = 2,
          .head_dim = 16,
          .ffn = 96,
          .vocab = 100};
}

catalog::ModelShape small_experts() {
  return {.id = "experts",
          .attention = catalog::AttentionKind::mla,
          .layers = 3,
          .hidden = 32,
          .heads = 4,
          .ffn = 48,
          .vocab = 64,
          .experts = 8,
          .top_k = 4,
          .expert_ffn = 12,
          .shared_experts = 1,
          .first_dense_layers = 1,
          .q_lora_rank = 16,
          .kv_lora_rank = 24,
          .qk_nope_dim = 8,
          .qk_rope_dim = 4,
          .v_head_dim = 8};
}

// 6 requests decode and two chunks of 10 tokens are prefilled: 26 tokens; this device has half of
// all heads and of the MLP, and its stage half of the layers.
TEST(Iteration, dense_model_iteration_matches_hand_calculation) {
  const IterationWork work = iteration_work(
      small_dense(), {.tp = 2, .pp = 2}, {},
      {.decoding = 6, .context = 40, .prompts = 2, .prompt_tokens = 10, .prompt_cached = 30});
  ASSERT_EQ(work.groups.size(), 2u);
  EXPECT_EQ(
      kernels_of(work.groups[0]),
      (Lines{"t pass 6656 6656", "t pass 6656 6656",  // two norms: 2 x 26 x 64 of 2 bytes
             "t product 26 x 96 x 64, 2 bytes",       // 4 query heads of 16, one KV head
             "t pass 4992 4992",
             "d attention 6 of 1 over 40, heads 4 and 1, 16 and 16, window 0, 2 bytes",
             "p attention 2 of 10 over 40, heads 4 and 1, 16 and 16, causal, window 0, 2 bytes",
             "t product 26 x 64 x 64, 2 bytes",  //
             "t product 26 x 96 x 64, 2 bytes",  // up and gate, 48 each
             "t pass 4992 2496", "t product 26 x 64 x 48, 2 bytes"}));
  EXPECT_EQ(messages_of(work.groups[0]),
            (Lines{"all_reduce 3328 among 2 of 2", "all_reduce 3328 among 2 of 2"}));
  EXPECT_EQ(work.groups[0].repeats, 2);
  EXPECT_EQ(kernels_of(work.groups[1]), (Lines{"s product 8 x 50 x 64, 2 bytes",  //
                                               "s pass 3200 1600"}));
  EXPECT_TRUE(work.groups[1].messages.empty());
  EXPECT_EQ(work.groups[1].repeats, 1);
}

TEST(Iteration, single_rank_sends_nothing_and_empty_step_computes_nothing) {
  const IterationWork work =
      iteration_work(small_dense(), {}, {.kv = catalog::Dtype::fp8}, {.decoding = 3, .context = 9});
  const Lines lines = kernels_of(work.groups[0]);
  EXPECT_TRUE(work.groups[0].messages.empty());
  ASSERT_EQ(lines.size(), 9u) << "no attention of prompts";
  EXPECT_EQ(lines[4], "d attention 3 of 1 over 9, heads 8 and 2, 16 and 16, window 0, 1 bytes");
  const IterationWork prompts =
      iteration_work(small_dense(), {.tp = 4}, {}, {.prompts = 1, .prompt_tokens = 5});
  EXPECT_EQ(kernels_of(prompts.groups[0]).size(), 9u) << "no attention of decoding requests";
  // Four ranks share two KV heads, so each has a copy of one: 2 query heads, and 2 x 16 for keys
  // and values.
  EXPECT_EQ(kernels_of(prompts.groups[0])[2], "t product 5 x 64 x 64, 2 bytes");
  EXPECT_EQ(messages_of(prompts.groups[0])[0], "all_reduce 640 among 4 of 4");
  EXPECT_EQ(kernels_of(prompts.groups[1])[0], "s product 1 x 25 x 64, 2 bytes");
}

// Two attention ranks and two expert ranks: each rank has 4 requests of 2 tokens and a chunk of 6.
TEST(Iteration, latent_expert_model_iteration_matches_hand_calculation) {
  const IterationWork work =
      iteration_work(small_experts(), {.tp = 2, .attention_dp = 2, .ep = 2},
                     {.experts = catalog::Dtype::fp8, .kv = catalog::Dtype::fp8},
                     {.decoding = 8,
                      .context = 50,
                      .prompts = 2,
                      .prompt_tokens = 6,
                      .prompt_cached = 10,
                      .tokens_per_step = 2});
  ASSERT_EQ(work.groups.size(), 3u);
  const Lines mixing{
      "t pass 1792 1792",
      "t pass 1792 1792",                 // 14 tokens
      "t product 14 x 44 x 32, 2 bytes",  // query latent, KV latent, and 4 for rope
      "t product 14 x 24 x 16, 2 bytes",  // 2 heads of 12
      "t pass 1456 1456",
      "d product 8 x 48 x 8, 2 bytes",   // into the latent space, 2 heads of 24
      "d product 8 x 16 x 24, 2 bytes",  // and out of it
      "p product 6 x 32 x 24, 2 bytes",  // keys and values of 2 heads
      "d attention 4 of 2 over 50, heads 2 and 0.53846, 28 and 24, causal, window 0, 1 bytes",
      "p attention 1 of 6 over 16, heads 2 and 2, 12 and 8, causal, window 0, 2 bytes",
      "t product 14 x 32 x 16, 2 bytes"};
  Lines dense = mixing;
  dense.insert(dense.end(), {"t product 14 x 48 x 32, 2 bytes", "t pass 1344 672",
                             "t product 14 x 32 x 24, 2 bytes"});
  EXPECT_EQ(kernels_of(work.groups[0]), dense);
  EXPECT_EQ(work.groups[0].repeats, 1);
  EXPECT_EQ(messages_of(work.groups[0]),
            (Lines{"all_reduce 896 among 2 of 2", "all_reduce 896 among 2 of 2"}));
  // 28 tokens of both ranks choose 4 experts each; 56 of these pairs go to the 4 experts here.
  Lines routed = mixing;
  routed.insert(routed.end(),
                {"t product 14 x 8 x 32, 2 bytes",  // the router, for this rank's tokens
                 "tx pass 3584 1792",               // from 16 bits to 8 before the product
                 "tx product 14 x 12 x 32, 1 bytes, 4 groups", "tx pass 1344 672",
                 "tx pass 672 336", "tx product 14 x 32 x 6, 1 bytes, 4 groups", "t pass 3584 896",
                 "t product 14 x 12 x 32, 2 bytes", "t pass 336 168",  // the shared expert
                 "t product 14 x 32 x 6, 2 bytes"});
  EXPECT_EQ(kernels_of(work.groups[1]), routed);
  EXPECT_EQ(work.groups[1].repeats, 2);
  // A token goes to 2 (1 - 1/2^4) = 1.875 ranks, in 8 bits on the way there and 16 on the way back.
  EXPECT_EQ(messages_of(work.groups[1]),
            (Lines{"all_reduce 896 among 2 of 2", "all_to_all 420 among 4 of 4",
                   "all_to_all 840 among 4 of 4"}));
  EXPECT_EQ(kernels_of(work.groups[2]),
            (Lines{"s product 9 x 32 x 32, 2 bytes", "s pass 2304 1152"}));
}

// One token uses 4 of 8 experts; a second leaves half of the rest unused.
TEST(Iteration, few_tokens_use_few_experts_by_hand) {
  const auto groups = [](double tokens) {
    const IterationWork work = iteration_work(small_experts(), {}, {}, {.decoding = tokens});
    for (const workload::Operation& op : work.groups[1].kernels) {
      const auto* g = std::get_if<workload::Gemm>(&op);
      if (g && g->groups > 1) return std::pair(g->groups, g->m);
    }
    return std::pair(0.0, 0.0);
  };
  EXPECT_NEAR(groups(1).first, 4, 1e-9);
  EXPECT_NEAR(groups(1).second, 1, 1e-9);
  EXPECT_NEAR(groups(2).first, 6, 1e-9);
  EXPECT_NEAR(groups(3).first, 7, 1e-9);
  EXPECT_NEAR(groups(3).second, 12 / 7.0, 1e-9);
}

// With a single attention rank the experts' sums are added over all devices of the replica.
TEST(Iteration, experts_of_one_attention_rank_add_their_sums) {
  catalog::ModelShape m = small_experts();
  m.q_lora_rank = 0;
  m.shared_experts = 2;
  m.shared_expert_ffn = 10;
  m.gated_mlp = false;
  const IterationWork work = iteration_work(m, {.tp = 2, .ep = 2}, {}, {.decoding = 4});
  const Lines lines = kernels_of(work.groups[1]);
  EXPECT_EQ(messages_of(work.groups[1]),
            (Lines{"all_reduce 256 among 2 of 2", "all_reduce 256 among 2 of 2"}));
  EXPECT_EQ(lines[2], "t product 4 x 28 x 32, 2 bytes") << "the latent alone";
  EXPECT_EQ(lines[3], "t product 4 x 24 x 32, 2 bytes") << "a plain query";
  // The last three: two shared experts of 10, half of each on this device, ungated.
  EXPECT_EQ(lines[lines.size() - 3], "t product 4 x 10 x 32, 2 bytes");
  EXPECT_EQ(lines[lines.size() - 2], "t pass 80 80");
  EXPECT_EQ(lines[lines.size() - 1], "t product 4 x 32 x 10, 2 bytes");
  const ServingSplit given{.tp = 2, .moe_tp = 1, .ep = 2};
  EXPECT_EQ(given.expert_tp(), 1);
  EXPECT_EQ((ServingSplit{.tp = 4, .attention_dp = 2, .ep = 2}).expert_tp(), 4);
  EXPECT_EQ((ServingSplit{.tp = 1, .ep = 8}).expert_tp(), 1) << "never less than one";
  EXPECT_EQ((ServingSplit{.tp = 4, .pp = 3, .attention_dp = 2}).devices(), 24);
}

// One scale per block if a token has more than two experts; per tensor if it has two.
TEST(Iteration, eight_bit_products_with_block_scales_quantise_their_input) {
  catalog::ModelShape m = small_experts();
  const ServingPrecision eight{.products = catalog::Dtype::fp8, .experts = catalog::Dtype::fp8};
  const Lines blocks = kernels_of(iteration_work(m, {}, eight, {.decoding = 5}).groups[0]);
  EXPECT_EQ(blocks[2], "t pass 320 160") << "5 x 32 elements";
  EXPECT_EQ(blocks[3], "t product 5 x 44 x 32, 1 bytes");
  m.top_k = 2;
  const Lines tensors = kernels_of(iteration_work(m, {}, eight, {.decoding = 5}).groups[0]);
  EXPECT_EQ(tensors[2], "t product 5 x 44 x 32, 1 bytes");
  m.top_k = 3;
  EXPECT_EQ(kernels_of(iteration_work(m, {}, eight, {.decoding = 5}).groups[0]), blocks);
}

// 12 layers: three have a state, three have full attention and six a window of 20.
TEST(Iteration, windowed_and_state_layers_are_counted_separately) {
  catalog::ModelShape m = small_dense();
  m.layers = 12;
  m.sliding_window = 20;
  m.full_attention_every = 4;
  m.state_space_layers = 3;
  const IterationWork work = iteration_work(
      m, {.tp = 2}, {}, {.decoding = 5, .context = 70, .prompts = 1, .prompt_tokens = 3});
  ASSERT_EQ(work.groups.size(), 4u);
  EXPECT_DOUBLE_EQ(work.groups[0].repeats, 3);
  EXPECT_DOUBLE_EQ(work.groups[1].repeats, 6);
  EXPECT_DOUBLE_EQ(work.groups[2].repeats, 3);
  EXPECT_EQ(kernels_of(work.groups[0])[4],
            "d attention 5 of 1 over 70, heads 4 and 1, 16 and 16, window 0, 2 bytes");
  EXPECT_EQ(kernels_of(work.groups[1])[4],
            "d attention 5 of 1 over 70, heads 4 and 1, 16 and 16, window 20, 2 bytes");
  // Twice the model's width, half of it here: 64; inputs of 2.5 widths; 128 elements of 4 bytes for
  // every value of the 5 decoding requests.
  EXPECT_EQ(kernels_of(work.groups[2]),
            (Lines{"t pass 2048 2048", "t pass 2048 2048", "t product 8 x 160 x 64, 2 bytes",
                   "t pass 2560 2560", "d pass 163840 163840", "t product 8 x 64 x 64, 2 bytes",
                   "t product 8 x 96 x 64, 2 bytes", "t pass 1536 768",
                   "t product 8 x 64 x 48, 2 bytes"}));
  EXPECT_EQ(messages_of(work.groups[2]),
            (Lines{"all_reduce 1024 among 2 of 2", "all_reduce 1024 among 2 of 2"}));
  // With three tokens checked at once the state is read and written three times.
  const IterationWork checked =
      iteration_work(m, {.tp = 2}, {}, {.decoding = 5, .context = 70, .tokens_per_step = 3});
  EXPECT_EQ(kernels_of(checked.groups[2])[4], "d pass 491520 491520");
}

}  // namespace
}  // namespace orrery::serving
