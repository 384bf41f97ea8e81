#include "model/jobs/predict_serving.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layers/traffic/load.h"
#include "model/jobs/service_fixture.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"

namespace orrery::jobs {
namespace {

double error_of(const ServingQuery& q) {
  compute::DeviceModel device;
  device.borrowed_error = 0;
  return serving_error(device, q);
}

// Sizes that the fit has rows of: 32 x 4096 and 80 x 8192 dense; 94 x 4096, 60 x 4096 and 61 x 7168
// with experts.
TEST(PredictServing, error_is_small_for_sizes_with_fitted_rows) {
  const auto sized = [](int layers, double hidden, int experts) {
    ServingQuery q = query_on("llama-3-8b");
    q.model.layers = layers, q.model.hidden = hidden, q.model.experts = experts;
    return error_of(q);
  };
  EXPECT_NEAR(sized(32, 4096, 0), 0.12, 1e-12);
  EXPECT_NEAR(sized(80, 8192, 0), 0.12, 1e-12);
  EXPECT_NEAR(sized(94, 4096, 8), 0.24, 1e-12);
  EXPECT_NEAR(sized(60, 4096, 8), 0.24, 1e-12);
  EXPECT_NEAR(sized(61, 7168, 8), 0.24, 1e-12);
  EXPECT_NEAR(sized(32, 4096, 8), 0.31, 1e-12) << "experts at the size of a fitted dense model";
  EXPECT_NEAR(sized(94, 4096, 0), 0.17, 1e-12);
  EXPECT_NEAR(sized(33, 4096, 0), 0.17, 1e-12);
  EXPECT_NEAR(sized(32, 4097, 0), 0.17, 1e-12);
  EXPECT_NEAR(sized(61, 4096, 8), 0.31, 1e-12);
}

TEST(PredictServing, errors_add_up_in_quadrature) {
  ServingQuery q = query_on("llama-3-8b");
  q.left_out = true;
  EXPECT_NEAR(error_of(q), 0.17, 1e-12);
  q.left_out = false;
  q.engine = "tensorrt-llm-0";
  q.model.layers = 5;
  EXPECT_NEAR(error_of(q), 0.12, 1e-12) << "this engine was fitted on all models of its tables";
  q.precision.weights_only = true;
  EXPECT_NEAR(error_of(q), std::hypot(0.12, 0.20), 1e-12);
  q.adapters = serving::AdapterSet{};
  EXPECT_NEAR(error_of(q), std::hypot(0.12, 0.20, 0.08), 1e-12);
  q.slice =
      machine::FleetSlice{.profile = &machine::known().catalog().mig_profiles.front(), .each = 7};
  EXPECT_NEAR(error_of(q) * error_of(q), 0.0144 + 0.04 + 0.0064 + 0.0036, 1e-12);
  compute::DeviceModel device;
  device.borrowed_error = 0.3;
  EXPECT_NEAR(serving_error(device, q) * serving_error(device, q), 0.0644 + 0.09, 1e-12);
}

// Tokens within 12 %, first tokens from 1 / 1.62 to 2.02 of what is predicted, watts within 10 %.
TEST(PredictServing, intervals_follow_from_the_error) {
  const auto p = predict_serving(machine::known(), query_on("llama-3-8b"));
  ASSERT_TRUE(p);
  EXPECT_NEAR(p->tpot_s.high / p->tpot_s.value, 1.12, 1e-9);
  EXPECT_NEAR(p->tpot_s.value / p->tpot_s.low, 1.12, 1e-9);
  EXPECT_NEAR(p->ttft_s.high / p->ttft_s.value, 1.9 + 0.12, 1e-9);
  EXPECT_NEAR(p->ttft_s.value / p->ttft_s.low, 1.5 + 0.12, 1e-9);
  EXPECT_NEAR(p->output_tokens_per_s.high / p->output_tokens_per_s.value, 1.12, 1e-9);
  EXPECT_NEAR(p->watts.high / p->watts.value, 1.10, 1e-9);
  EXPECT_EQ(p->tpot_s.value, p->point.tpot.base());
  EXPECT_EQ(p->ttft_s.value, p->point.ttft.base());
  EXPECT_EQ(p->watts.value, p->point.power.base());
  EXPECT_EQ(p->tpot_s.basis, Basis::fitted);
  EXPECT_EQ(p->tpot_s.reference, "docs/models/serving.md");
  const auto step =
      predict_step(machine::known(), query_on("llama-3-8b"), {.decoding = 8, .context = 999});
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->seconds.high / step->seconds.value, 1.062, 1e-9);
  EXPECT_NEAR(step->watts.high / step->watts.value, 1.05, 1e-9);
  const auto offline = predict_offline(machine::known(), query_on("llama-3-8b"), 20);
  ASSERT_TRUE(offline);
  EXPECT_NEAR(offline->high / offline->value, 1 + std::hypot(0.12, 0.07), 1e-9);
  const auto apart = predict_disaggregated(
      machine::known(), {.prefill = query_on("llama-3-8b"), .decode = query_on("llama-3-8b")});
  ASSERT_TRUE(apart);
  EXPECT_NEAR(apart->tpot_s.high / apart->tpot_s.value, 1.30, 1e-9);
  EXPECT_NEAR(apart->ttft_s.high / apart->ttft_s.value, 1.9 + 0.30, 1e-9);
}

std::string refused(const ServingQuery& q) {
  const auto r = replica_of(machine::known(), q);
  return r ? "" : r.error().front().code;
}

TEST(PredictServing, impossible_replicas_are_refused_by_code) {
  EXPECT_EQ(refused(query_on("llama-3-8b")), "");
  ServingQuery q = query_on("llama-3-8b");
  q.engine = "none";
  EXPECT_EQ(refused(q), "serving.engine");
  q = query_on("llama-3-8b");
  q.split.tp = 3;
  EXPECT_EQ(refused(q), "serving.split");
  q.split = {.tp = 0};
  EXPECT_EQ(refused(q), "serving.split");
  for (auto field : {&serving::ServingSplit::pp, &serving::ServingSplit::ep}) {
    q.split = {};
    q.split.*field = 0;
    EXPECT_EQ(refused(q), "serving.split");
  }
  q = query_on("llama-3-8b");
  q.precision.products = catalog::Dtype::fp4;
  EXPECT_EQ(refused(q), "serving.format");
  q = query_on("llama-3-8b");
  q.precision.experts = catalog::Dtype::fp4;
  EXPECT_EQ(refused(q), "serving.format");
  EXPECT_EQ(refused(query_on("llama-3-70b")), "serving.memory");
  q = query_on("llama-3-8b");
  q.model.state_space_layers = 4;
  q.model.gated_mlp = false;
  EXPECT_EQ(refused(q), "serving.state-space");
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-8b"), 8), 1);
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-70b"), 8), 4);
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-70b"), 3), std::nullopt);
  EXPECT_EQ(least_tp(machine::known(), query_on("llama-3-70b"), 4), 4);
}

TEST(PredictServing, slices_cannot_be_joined_and_some_adapters_are_not_modelled) {
  ServingQuery q = query_on("llama-3-8b");
  const catalog::MigProfile* half = nullptr;
  for (const catalog::MigProfile& p : machine::known().catalog().mig_profiles) {
    if (p.id == "h100-sxm-3g.40gb") half = &p;
  }
  ASSERT_NE(half, nullptr);
  q.slice = machine::FleetSlice{.profile = half, .each = 2};
  EXPECT_EQ(refused(q), "");
  EXPECT_EQ(q.memory(), half->memory);
  EXPECT_EQ(q.accelerators(), 0.5);
  q.split.tp = 2;
  EXPECT_EQ(refused(q), "serving.split");
  EXPECT_EQ(q.accelerators(), 1);
  q = query_on("deepseek-v3");
  q.adapters = serving::AdapterSet{};
  EXPECT_NE(adapter_fault(q), "") << "beside latent attention";
  q = query_on("mixtral-8x7b");
  q.adapters = serving::AdapterSet{.targets = {.qkv = true, .o = true, .mlp = true}};
  EXPECT_NE(adapter_fault(q), "") << "of experts";
  q.adapters->targets.mlp = false;
  EXPECT_EQ(adapter_fault(q), "");
  q.model.state_space_layers = 1;
  EXPECT_NE(adapter_fault(q), "") << "of state-space layers";
  q.adapters.reset();
  EXPECT_EQ(adapter_fault(q), "");
}

// A slice has its share of the PCIe port: loading an adapter takes as many times longer.
TEST(PredictServing, slice_loads_adapters_over_its_share_of_the_port) {
  ServingQuery q = query_on("llama-3-8b");
  q.adapters = serving::AdapterSet{.count = 50, .slots = 4, .rank = 16};
  const auto load = [&](int each) {
    for (const catalog::MigProfile& p : machine::known().catalog().mig_profiles) {
      if (p.id == "h100-sxm-3g.40gb") q.slice = machine::FleetSlice{.profile = &p, .each = each};
    }
    return replica_of(machine::known(), q).value().adapters.load.base();
  };
  EXPECT_GT(load(2), load(1));
  EXPECT_NEAR((load(7) - load(1)) / (load(2) - load(1)), 6, 1e-6);
}

// The first request of each client waits in a burst of all clients. It counts once; the waves after
// those that were simulated count as the later ones.
TEST(PredictServing, benchmark_is_its_first_burst_and_later_waves) {
  ServingQuery q = small_serving();
  q.request.requests_per_client = 8;
  const BenchmarkLoad load{.least_share = 0.5, .waves_most = 3, .seed = 5};
  const auto p = predict_benchmark(machine::known(), q, load);
  ASSERT_TRUE(p);
  const serving::Replica replica = replica_of(machine::known(), q).value();
  const machine::Costs costs = serving_costs(machine::known(), q);
  serving::StepClock clock(replica, serving_source(costs), q.request.checked_per_step);
  engines::EnginePolicy policy = traffic::policy_of(replica);
  policy.ignores_end = true;
  traffic::ReplicaSim sim(policy, clock);
  const auto requests = traffic::draw_requests(12, {.length = 600, .least_share = 0.5},
                                               {.length = 40, .least_share = 0.5}, 5);
  double burst = 0, later = 0, between = 0;
  for (const traffic::RequestRecord& r : run_closed(sim, requests, 4)) {
    (r.id < 4 ? burst : later) += r.ttft() / (r.id < 4 ? 4 : 8);
    between += r.tpot() / 12;
  }
  ASSERT_GT(burst, later * 1.05);
  const double seen = burst / 8 + later * 7 / 8;
  EXPECT_NEAR(p->tpot_s.value, between, 1e-12);
  EXPECT_NEAR(p->ttft_s.value,
              seen * replica.tuning.prompt_wait + around_first_token(replica).base() +
                  between * replica.tuning.poll_steps,
              1e-12);
}

// A device without bf16 products runs adapters in fp16.
TEST(PredictServing, adapters_run_in_an_available_16_bit_format) {
  ServingQuery q = small_serving();
  q.adapters = serving::AdapterSet{.count = 4, .slots = 2};
  catalog::Accelerator older = *q.accelerator;
  const auto bf16 = static_cast<std::size_t>(catalog::Dtype::bf16);
  EXPECT_DOUBLE_EQ(replica_of(machine::known(), q)->adapters.rate.base(),
                   0.2 * older.dense_peak[bf16]->base());
  older.dense_peak[bf16].reset();
  older.dense_peak[static_cast<std::size_t>(catalog::Dtype::fp16)] = tflops_per_s(100);
  q.accelerator = &older;
  q.precision = {.products = catalog::Dtype::fp16,
                 .experts = catalog::Dtype::fp16,
                 .kv = catalog::Dtype::fp16};
  const auto replica = replica_of(machine::known(), q);
  ASSERT_TRUE(replica);
  EXPECT_DOUBLE_EQ(replica->adapters.rate.base(), 0.2 * 100e12);
}

// With two accepted tokens per step an answer takes as many steps as one of half its length, so the
// time per token halves.
TEST(PredictServing, speculation_halves_the_steps_of_an_answer) {
  ServingQuery plain = short_query();
  plain.concurrency = 4;
  plain.request.requests_per_client = 2;
  ServingQuery guessed = plain;
  guessed.request.output = 200;
  guessed.request.accepted_per_step = 2;
  const auto a = predict_benchmark(machine::known(), plain, {});
  const auto b = predict_benchmark(machine::known(), guessed, {});
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(b->tpot_s.value, a->tpot_s.value / 2, 1e-9 * a->tpot_s.value);
  EXPECT_NEAR(b->ttft_s.value, a->ttft_s.value, 1e-9 * a->ttft_s.value);
}

// 405 billion weights do not fit one accelerator.
TEST(PredictServing, every_prediction_refuses_a_model_that_does_not_fit) {
  const ServingQuery large = short_query("llama-3.1-405b");
  const auto code = [](const auto& result) {
    return result ? std::string() : result.error().front().code;
  };
  const std::string memory = "serving.memory";
  EXPECT_EQ(code(replica_of(machine::known(), large)), memory);
  EXPECT_EQ(code(predict_serving(machine::known(), large)), memory);
  EXPECT_EQ(code(predict_capacity(machine::known(), large, {})), memory);
  EXPECT_EQ(code(predict_benchmark(machine::known(), large, {})), memory);
  EXPECT_EQ(code(predict_open_loop(machine::known(), large, {}, false)), memory);
  EXPECT_EQ(code(replay_requests(machine::known(), large, {}, false)), memory);
  EXPECT_EQ(code(predict_offline(machine::known(), large, 3)), memory);
  EXPECT_EQ(code(predict_step(machine::known(), large, {})), memory);
  EXPECT_EQ(
      code(predict_disaggregated(machine::known(), {.prefill = large, .decode = short_query()})),
      memory);
  EXPECT_EQ(
      code(predict_disaggregated(machine::known(), {.prefill = short_query(), .decode = large})),
      memory);
  EXPECT_EQ(code(predict_disaggregated(machine::known(),
                                       {.prefill = short_query(), .decode = short_query()})),
            "");
  EXPECT_EQ(least_tp(machine::known(), large, 8), std::nullopt);
  EXPECT_EQ(least_tp(machine::known(), short_query("llama-3-70b"), 8), 4);
  EXPECT_EQ(least_tp(machine::known(), short_query("llama-3-70b"), 3), std::nullopt);
  EXPECT_EQ(least_tp(machine::known(), short_query(), 8), 1);
}

// Clients see the first token later than the engine stamps it: by the engine's first-token overhead
// and one step of scheduling ahead.
TEST(PredictServing, clients_see_first_tokens_one_step_later) {
  std::vector<traffic::Timed> arrivals;
  for (int i = 0; i < 10; ++i) {
    traffic::Timed t;
    t.spec.prompt = 300 + 10 * i;
    t.spec.output = 20;
    t.at = 0.5 * i;
    arrivals.push_back(t);
  }
  const auto run = predict_open_loop(machine::known(), short_query(), arrivals, false);
  const auto bare = replay_requests(machine::known(), short_query(), arrivals, false);
  ASSERT_TRUE(run && bare);
  ASSERT_EQ(bare->size(), 10U);
  double later = 0;
  for (const traffic::RequestRecord& r : *bare) {
    later += (r.ttft() + r.tpot() + run->replica.engine.first_token.base()) / 10;
  }
  EXPECT_NEAR(run->latency.ttft_mean, later, 1e-9 * later);
  EXPECT_NEAR(run->latency.tpot_mean, traffic::summarise(*bare).tpot_mean, 1e-12);
}

TEST(PredictServing, replica_on_a_slice_has_only_its_memory) {
  const AskedDevice whole = ask_device("node: dgx-h200");
  const AskedDevice cut = ask_device("node: dgx-h200, mig: { 3g.71gb: 2 }");
  ASSERT_TRUE(cut.query.slice);
  EXPECT_EQ(cut.query.slice->each, 2);
  EXPECT_DOUBLE_EQ(cut.query.accelerators(), 0.5);
  EXPECT_NEAR(cut.query.memory() / gib(1), 69.75, 1e-9);
  const auto all = replica_of(machine::known(), whole.query);
  const auto part = replica_of(machine::known(), cut.query);
  ASSERT_TRUE(all && part);
  EXPECT_EQ(all->memory.weights, part->memory.weights);
  EXPECT_LT(part->memory.kv_tokens, all->memory.kv_tokens / 2);
  // 16 GB of weights do not fit into a slice of 16 GiB.
  const auto small =
      replica_of(machine::known(), ask_device("node: dgx-h200, mig: { 1g.18gb: 7 }").query);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().front().code, "serving.memory");
}

// Half the memory channels and 60 of 132 units: a decode step takes twice as long.
TEST(PredictServing, step_on_a_slice_is_slower_by_its_share) {
  const auto step = [](const AskedDevice& a, const serving::Iteration& i) {
    return predict_step(machine::known(), a.query, i).value().step.total.base();
  };
  const AskedDevice whole = ask_device("node: dgx-h200");
  const AskedDevice cut = ask_device("node: dgx-h200, mig: { 3g.71gb: 2 }");
  const serving::Iteration decode{.decoding = 16, .context = 2000};
  const serving::Iteration prompt{.prompts = 1, .prompt_tokens = 4096};
  EXPECT_NEAR(step(cut, decode) / step(whole, decode), 1.9, 0.15);
  EXPECT_NEAR(step(cut, prompt) / step(whole, prompt), 132.0 / 60, 0.25);
}

TEST(PredictServing, slices_are_not_joined) {
  AskedDevice cut = ask_device("node: dgx-h200, mig: { 3g.71gb: 2 }");
  cut.query.split.tp = 2;
  const auto replica = replica_of(machine::known(), cut.query);
  ASSERT_FALSE(replica);
  EXPECT_EQ(replica.error().front().code, "serving.split");
  cut.query.split.tp = 1;
  EXPECT_EQ(least_tp(machine::known(), cut.query, 8), 1);
}

// Decoding one request reads the weights once per token: 15 GB at 0.65 of the memory's rate, plus
// the launch of every kernel.
TEST(PredictServing, cores_serve_at_the_rate_of_their_memory) {
  const AskedDevice host = ask_device(
      "node: cpu-2s-server, custom: { memory: 1 TB, memory_bandwidth: 800 GB/s, "
      "matrix_rate: 400 TFLOP/s }");
  ASSERT_NE(host.machine.fleets[design::FleetIndex(0)].host, nullptr);
  EXPECT_EQ(host.machine.fleets[design::FleetIndex(0)].devices(), 2);
  EXPECT_EQ(host.query.accelerator->id, machine::kHostDevice);
  const double step = predict_step(machine::known(), host.query, {.decoding = 1, .context = 500})
                          .value()
                          .step.total.base();
  EXPECT_GT(step, 15.0e9 / (800e9 * 0.65));
  EXPECT_LT(step, 1.5 * 15.0e9 / (800e9 * 0.65));
  const double prompt =
      predict_step(machine::known(), host.query, {.prompts = 1, .prompt_tokens = 2048})
          .value()
          .step.total.base();
  // 2 x 7 G parameters of layers and 2,048 tokens at 0.15 of the cores' rate.
  EXPECT_NEAR(prompt, 2 * 7.0e9 * 2048 / (400e12 * 0.15), 0.4 * prompt);
}

TEST(PredictServing, predictions_for_cores_are_wide) {
  const AskedDevice host = ask_device("node: cpu-2s-server");
  const auto p = predict_capacity(machine::known(), host.query, {.tpot_p99 = milliseconds(200)});
  ASSERT_TRUE(p);
  EXPECT_GT(p->tpot_s.high / p->tpot_s.value, 1.5);
  EXPECT_GT(p->ttft_s.high / p->ttft_s.value, 2);
}

TEST(PredictServing, cores_refuse_narrow_formats_and_tensorrt) {
  const auto narrow =
      replica_of(machine::known(), ask_device("node: cpu-2s-server", "precision: fp8, ").query);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().front().code, "serving.format");
  const auto engine = replica_of(machine::known(),
                                 ask_device("node: cpu-2s-server", "engine: tensorrt-llm, ").query);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().front().code, "serving.engine");
}

}  // namespace
}  // namespace orrery::jobs
