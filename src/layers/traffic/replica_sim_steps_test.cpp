// A step as its clock assembles it from tables, compared with the same step summed as a whole;
// sizes that are rounded; and rows and adapters of small steps by hand.
#include <gtest/gtest.h>

#include "layers/serving/iteration.h"
#include "layers/serving/steady_state.h"
#include "layers/serving/step_clock.h"
#include "layers/serving/test_costs.h"
#include "layers/traffic/replica_sim.h"

namespace orrery::traffic {
namespace {

// Every byte and every product costs time, whatever else a kernel does; messages cost by size and
// ranks.
serving::ServingCosts summed_costs() {
  serving::ServingCosts costs;
  costs.kernel = [](const workload::Operation& op) {
    return serving::ServingOpCost{.time = Seconds(workload::bytes_of(op).base() / 2e12 +
                                                  workload::flops_of(op).base() / 4e14)};
  };
  costs.collective = [](const workload::CollectiveCall& call) {
    return Seconds(3e-6 + call.bytes.base() * 1e-10 * call.group.ranks);
  };
  costs.settle = [](const serving::ServingOpCost& c, Seconds waiting) {
    return serving::SettledWork{.time = c.time + waiting, .power = Watts(410)};
  };
  return costs;
}

serving::Replica latent_experts(const serving::ServingSplit& split) {
  serving::Replica r = serving::toy_replica({.step = 1e-3}, {.count = 40, .slots = 8, .rank = 16});
  r.split = split;
  r.model.attention = catalog::AttentionKind::mla;
  r.model.experts = 16;
  r.model.top_k = 4;
  r.model.expert_ffn = 700;
  r.model.shared_experts = 1;
  r.model.first_dense_layers = 3;
  r.model.q_lora_rank = 300;
  r.model.kv_lora_rank = 200;
  r.model.qk_nope_dim = 64;
  r.model.qk_rope_dim = 32;
  r.model.v_head_dim = 96;
  r.precision.experts = catalog::Dtype::fp8;
  return r;
}

serving::Replica hybrid(const serving::ServingSplit& split) {
  serving::Replica r = serving::toy_replica({.step = 2e-3}, {.count = 40, .slots = 8, .rank = 16});
  r.split = split;
  r.model.state_space_layers = 6;
  return r;
}

struct WholeStep {
  serving::Iteration iteration;
  int adapters = 0;
};

// The same step as the scheduler counts it.
engines::StepSums sums_of(const WholeStep& w) {
  const serving::Iteration& i = w.iteration;
  engines::StepSums s;
  s.decoding = static_cast<int>(i.decoding);
  s.decode_keys = i.decoding * i.context;
  s.prompts = static_cast<int>(i.prompts);
  s.prompt_tokens = static_cast<int>(i.prompts * i.prompt_tokens);
  const double t = i.prompt_tokens;
  s.prompt_pairs = i.prompts * (t * i.prompt_cached + t * (t + 1) / 2);
  s.sampled = s.decoding + s.prompts;
  s.adapters = w.adapters;
  return s;
}

void expect_parts(const serving::Replica& replica, const WholeStep& w) {
  const serving::ServingCosts costs = summed_costs();
  serving::StepClock clock(replica, costs, w.iteration.tokens_per_step);
  serving::Iteration whole = w.iteration;
  whole.adapters = w.adapters;
  const serving::StepTime wanted = serving::step_time(replica, whole, costs);
  const serving::StepTime parts = clock.split(sums_of(w));
  EXPECT_NEAR(parts.kernels.base(), wanted.kernels.base(), 1e-9 * wanted.kernels.base());
  EXPECT_NEAR(parts.messages.base(), wanted.messages.base(), 1e-9 * wanted.messages.base());
  EXPECT_NEAR(parts.host.base(), wanted.host.base(), 1e-9 * wanted.host.base());
  EXPECT_NEAR(parts.total.base(), wanted.total.base(), 1e-9 * wanted.total.base());
  EXPECT_EQ(parts.power, wanted.power);
  // The second call takes it from the tables.
  EXPECT_EQ(clock.time(sums_of(w)), parts.total);
}

TEST(StepParts, tables_and_whole_step_agree) {
  const serving::Replica kReplicas[] = {latent_experts({}),
                                        latent_experts({.tp = 2, .attention_dp = 2, .ep = 2}),
                                        hybrid({.tp = 2}), hybrid({.tp = 2, .pp = 2})};
  for (const serving::Replica& r : kReplicas) {
    SCOPED_TRACE(r.split.devices());
    expect_parts(r, {{.decoding = 12, .context = 700}});
    expect_parts(r, {{.decoding = 12, .context = 700, .tokens_per_step = 3}});
    expect_parts(r, {{.prompts = 4, .prompt_tokens = 90, .prompt_cached = 50}, 2});
    expect_parts(r, {{.decoding = 8,
                      .context = 333,
                      .prompts = 2,
                      .prompt_tokens = 64,
                      .prompt_cached = 17,
                      .tokens_per_step = 2},
                     5});
  }
}

// Up to 32768 each size has its own entry; larger sizes are rounded up to a multiple of 256.
TEST(StepParts, large_sizes_are_rounded_up) {
  serving::ServingCosts costs = summed_costs();
  const auto all = costs.kernel;
  // Attention depends on the true lengths, and is left out here.
  costs.kernel = [all](const workload::Operation& op) {
    return std::holds_alternative<workload::Attention>(op) ? serving::ServingOpCost{} : all(op);
  };
  const serving::Replica r = serving::toy_replica();
  serving::StepClock clock(r, costs);
  const auto clocked = [&](int tokens) {
    return clock.time({.prompts = 1, .prompt_tokens = tokens, .prompt_pairs = 1, .sampled = 1})
        .base();
  };
  const auto wanted = [&](double tokens) {
    return serving::step_time(r, {.prompts = 1, .prompt_tokens = tokens}, costs).total.base();
  };
  const std::pair<int, double> kSizes[] = {{32767, 32767}, {32768, 32768}, {32769, 33024},
                                           {33024, 33024}, {33025, 33280}, {33280, 33280},
                                           {40000, 40192}};
  for (const auto& [tokens, counted] : kSizes) {
    EXPECT_NEAR(clocked(tokens), wanted(counted), 1e-12 * wanted(counted)) << tokens;
  }
}

// Prompts of one rank: 3 of 10 tokens each put 30 rows through the product out of the latent space.
TEST(StepParts, rows_of_several_prompts_add_up) {
  const serving::Replica r = latent_experts({});
  const serving::IterationWork work =
      serving::iteration_work(r.model, r.split, r.precision, {.prompts = 3, .prompt_tokens = 10});
  bool found = false;
  for (std::size_t i = 0; i < work.groups[0].kernels.size(); ++i) {
    const auto* g = std::get_if<workload::Gemm>(&work.groups[0].kernels[i]);
    if (g == nullptr || work.groups[0].parts[i] != serving::WorkPart::prefill) continue;
    found = true;
    EXPECT_EQ(g->m, 30);
    EXPECT_EQ(g->n, 16 * (64 + 96));
    EXPECT_EQ(g->k, 200);
  }
  EXPECT_TRUE(found);
}

// Fewer than one request on average means at most that many adapters.
TEST(StepParts, running_adapters_are_at_most_requests_or_slots) {
  const serving::Replica r = latent_experts({});
  EXPECT_EQ(serving::running_adapters(r.adapters, 0), 0);
  EXPECT_EQ(serving::running_adapters(r.adapters, -1), 0);
  EXPECT_NEAR(serving::running_adapters(r.adapters, 0.25), 0.25, 0.01);
  EXPECT_GE(serving::running_adapters(r.adapters, 0.5), 0.5);
  EXPECT_EQ(serving::running_adapters(r.adapters, 1e6), 8);
  EXPECT_EQ(serving::running_adapters({}, 5), 0);
}

TEST(StepParts, record_begins_empty) {
  const RequestRecord r;
  EXPECT_EQ(r.cached + r.fetched + r.preemptions + r.place + r.prompt + r.output + r.id, 0);
  EXPECT_EQ(r.session, 0U);
  EXPECT_EQ(r.arrived + r.scheduled + r.first + r.last, 0);
  EXPECT_EQ(r.tpot(), 0);
  const ReplicaCounts c;
  EXPECT_EQ(c.iterations + c.busy + c.prompt_tokens + c.output_tokens + c.preemptions, 0);
  EXPECT_EQ(c.adapter_loads + c.requests_integral + c.blocks_integral, 0);
}

}  // namespace
}  // namespace orrery::traffic
