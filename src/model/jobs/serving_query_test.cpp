#include "model/jobs/serving_query.h"

#include <gtest/gtest.h>

#include <string>

#include "model/jobs/build_machine.h"
#include "model/jobs/conversations.h"
#include "model/jobs/predict_serving.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/service_fixture.h"
#include "model/jobs/storage_fixture.h"
#include "model/machine/costs.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/site_load.h"

namespace orrery::jobs {
namespace {

TEST(ServingQuery, query_carries_what_the_service_says) {
  const auto query = [](const std::string& more, serving::RequestShape r = {.input = 9}) {
    const machine::Machine m = plain_service("arrivals: { rate: 1 /s, trace: chat }" + more);
    return serving_query(m.models(), asked_serve(m), *m.catalog().model("llama-3-8b"), m.fleets[design::FleetIndex(0)],
                         r);
  };
  const ServingQuery plain = query("");
  EXPECT_EQ(plain.accelerator->id, "h100-sxm");
  EXPECT_EQ(plain.engine, "vllm");
  EXPECT_FALSE(plain.slice);
  EXPECT_FALSE(plain.limits);
  EXPECT_FALSE(plain.precision.weights_only);
  EXPECT_EQ(plain.precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(plain.request.input, 9);
  EXPECT_EQ(plain.split.pp, 1);
  EXPECT_EQ(plain.adapters.has_value(), false);
  const ServingQuery four = query(", precision: int4, kv_precision: fp8, pp: 2");
  EXPECT_TRUE(four.precision.weights_only);
  EXPECT_EQ(four.precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(four.precision.experts, catalog::Dtype::bf16);
  EXPECT_EQ(four.precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(four.split.pp, 2);
  const ServingQuery eight = query(", precision: fp8");
  EXPECT_FALSE(eight.precision.weights_only);
  EXPECT_EQ(eight.precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(eight.precision.experts, catalog::Dtype::fp8);
  const ServingQuery few = query(", max_batch: 5");
  ASSERT_TRUE(few.limits);
  EXPECT_EQ(few.limits->max_sequences, 5);
  EXPECT_TRUE(few.limits->chunked_prefill);
  const double budget = few.limits->token_budget;
  const ServingQuery whole = query(", chunked_prefill: false");
  ASSERT_TRUE(whole.limits);
  EXPECT_FALSE(whole.limits->chunked_prefill);
  EXPECT_EQ(whole.limits->token_budget, budget);
  EXPECT_GT(whole.limits->max_sequences, 5);
  EXPECT_EQ(query(", chunked_prefill: false", {.input = 1e6}).limits->token_budget, 1e6);
  EXPECT_EQ(query(", chunked_prefill: false", {.input = 9, .input_p99 = 2e6}).limits->token_budget,
            2e6);
  const ServingQuery adapted =
      query(", adapters: { count: 30, rank: 32, slots: 6, targets: [qkv], skew: 0.5 }");
  EXPECT_EQ(adapted.adapters->count, 30);
  EXPECT_EQ(adapted.adapters->slots, 6);
  EXPECT_EQ(adapted.adapters->rank, 32);
  EXPECT_EQ(adapted.adapters->skew, 0.5);
  EXPECT_TRUE(adapted.adapters->targets.qkv);
  EXPECT_FALSE(adapted.adapters->targets.o || adapted.adapters->targets.mlp);
}

TEST(ServingQuery, max_batch_limits_running_requests) {
  const design::Design d = service_design(
      "  - serve: { name: s, model: llama-3-8b, max_batch: 12, arrivals: { rate: 1 /s } }\n");
  const machine::Machine m = build_machine(d, machine::known());
  const serving::RequestShape r = request_of(m, serve_at(d, 0));
  const auto* model = find_model(d, m.catalog(), "llama-3-8b");
  const ServingQuery q = serving_query(m.models(), serve_at(d, 0), *model, m.fleets[design::FleetIndex(0)], r);
  ASSERT_TRUE(q.limits);
  EXPECT_EQ(q.limits->max_sequences, 12);
  EXPECT_TRUE(q.limits->chunked_prefill);
  const auto replica = replica_of(m.models(), q);
  ASSERT_TRUE(replica);
  EXPECT_EQ(most_running(*replica, r), 12);
}

TEST(ServingQuery, cores_and_whole_prompts_have_their_own_limits) {
  const std::string serve =
      "workloads:\n  - serve: { model: llama-3-8b, arrivals: { rate: 1 /s, input_tokens: 9000, "
      "output_tokens: 100 }";
  const machine::Machine cores =
      detailed(", custom: { accelerators: 0, sockets: 2 }", serve + " }\n");
  const auto query = [](const machine::Machine& m) {
    const auto& s = std::get<design::Serve>(m.design().workloads[0].task);
    return serving_query(m.models(), s, *m.catalog().model("llama-3-8b"), m.fleets[design::FleetIndex(0)],
                         request_of(m, s));
  };
  const ServingQuery on_cores = query(cores);
  ASSERT_TRUE(on_cores.limits);
  EXPECT_EQ(on_cores.limits->token_budget, 4096);
  EXPECT_EQ(on_cores.limits->max_sequences, 256);
  EXPECT_FALSE(query(detailed("", serve + " }\n")).limits) << "the engine's";
  const ServingQuery whole = query(detailed("", serve + ", chunked_prefill: false }\n"));
  ASSERT_TRUE(whole.limits);
  EXPECT_FALSE(whole.limits->chunked_prefill);
  EXPECT_GE(whole.limits->token_budget, 9000) << "a prompt enters whole";
  const machine::Machine m = detailed("", serve + " }\n");
  const auto& s = std::get<design::Serve>(m.design().workloads[0].task);
  serving::RequestShape r = request_of(m, s);
  r.cached_share = 0.3;
  const ServingQuery q = query(m);
  const auto replica = replica_of(m.models(), q);
  ASSERT_TRUE(replica);
  const machine::Costs costs = serving_costs(m.models(), q);
  settle_conversations(r, s, *replica, serving_source(costs), {.peak = PerSecond(1)});
  EXPECT_EQ(r.cached_share, 0.3) << "not a conversation";
}

}  // namespace
}  // namespace orrery::jobs
