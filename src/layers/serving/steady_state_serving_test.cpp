#include <gtest/gtest.h>

#include <cmath>

#include "core/catalog/shipped_fixture.h"
#include "core/workload/model_math.h"
#include "layers/engines/engine.h"
#include "layers/serving/graph_reduce.h"
#include "layers/serving/memory.h"
#include "layers/serving/steady_state.h"

namespace orrery::serving {
namespace {

const catalog::Catalog& catalog() {
  static const catalog::Catalog loaded = *catalog::load_embedded_catalog();
  return loaded;
}

// A device that reaches its 800 TFLOP/s and 4 TB/s, and links without cost.
ServingCosts plain_costs() {
  return {.kernel =
              [](const workload::Operation& op) {
                const double compute = flops_of(op).base() / 800e12;
                const double memory = bytes_of(op).base() / 4e12;
                return ServingOpCost{.time = Seconds(std::max(compute, memory)),
                                     .clocked = {},
                                     .core = {},
                                     .memory = {}};
              },
          .collective = [](const workload::CollectiveCall&) { return Seconds(0); },
          .settle =
              [](const ServingOpCost& c, Seconds waiting) {
                return SettledWork{.time = c.time + waiting, .power = watts(500)};
              }};
}

const std::vector<engines::Engine>& engines() {
  static const std::vector<engines::Engine> all =
      engines::read_engines(catalog::shipped().table("calibration/serving_engines.csv").value())
          .value();
  return all;
}

Replica replica(std::string_view model, int tp, Bytes memory,
                catalog::Dtype format = catalog::Dtype::bf16) {
  Replica r{.model = *catalog().model(model),
            .split = {.tp = tp},
            .precision = {.products = format, .experts = format, .kv = catalog::Dtype::bf16},
            .engine = *find_engine(engines(), "vllm"),
            .limits = engines::default_limits(memory),
            .memory = {}};
  r.memory = serving_memory(r.model, r.split, r.precision, r.engine, memory, {.limits = r.limits});
  return r;
}

// 80 layers x 8 KV heads x 128 x 2 x 2 bytes.
TEST(ServingMemory, llama_70b_keys_and_values_have_their_known_size) {
  const Replica whole = replica("llama-3-70b", 2, gib(141));
  EXPECT_DOUBLE_EQ(whole.memory.kv_per_token.base(), 327680.0 / 2);
  // With more ranks than KV heads the heads are copied, not split.
  const Replica wide = replica("llama-3-70b", 16, gib(141));
  EXPECT_DOUBLE_EQ(wide.memory.kv_per_token.base(), 327680.0 / 8);
}

TEST(ServingMemory, weights_match_the_model) {
  const catalog::ModelShape& m = *catalog().model("llama-3-70b");
  const double total = workload::count_parameters(m).total;
  const Bytes one = serving_weights(m, {.tp = 1}, {});
  EXPECT_NEAR(one.base(), 2 * total, 0.001 * 2 * total);
  EXPECT_NEAR(serving_weights(m, {.tp = 8}, {}).base(), one.base() / 8, 1e6);
  EXPECT_LT(serving_weights(m, {.tp = 1}, {.products = catalog::Dtype::fp8}), one * 0.55);
}

// 4.125 bits for everything except the embedding and the head, which stay in 16.
TEST(ServingMemory, four_bit_weights_include_their_scales) {
  const catalog::ModelShape& m = *catalog().model("llama-3-70b");
  const workload::ParameterCount p = workload::count_parameters(m);
  const double ends = p.embedding + p.output_head;
  const double stored = serving_weights(m, {.tp = 1}, {.weights_only = true}).base();
  EXPECT_NEAR(stored, 4.125 / 8 * (p.total - ends) + 2 * ends, 1e-3 * stored);
}

// One token reads every weight once: a quarter of the bytes. A long prompt is multiplied no faster.
TEST(ServingIteration, four_bit_weights_are_read_faster_and_multiplied_no_faster) {
  const catalog::ModelShape& m = *catalog().model("llama-3-70b");
  const auto step = [&](const ServingPrecision& precision, const Iteration& iteration) {
    double seconds = 0;
    for (const WorkGroup& g : iteration_work(m, {.tp = 1}, precision, iteration).groups) {
      for (const workload::Operation& op : g.kernels) {
        if (!std::holds_alternative<workload::Gemm>(op)) continue;
        seconds += g.repeats * std::max(flops_of(op).base() / 800e12, bytes_of(op).base() / 4e12);
      }
    }
    return seconds;
  };
  const Iteration token{.decoding = 1, .context = 100};
  const double narrow = step({.weights_only = true}, token);
  // 68.5 billion at 4.125 bits; the head's billion in 16 bits.
  EXPECT_NEAR(narrow, (68.5e9 * 4.125 / 8 + 2 * 1.05e9) / 4e12, 0.01 * narrow);
  EXPECT_GT(step({}, token), 3.6 * narrow);
  const Iteration prompt{.prompts = 1, .prompt_tokens = 8192};
  EXPECT_DOUBLE_EQ(step({.weights_only = true}, prompt), step({}, prompt));
}

// Four-bit checkpoints of experts leave attention in 16 bits, except one with a 4-bit output
// projection; dense models are 4-bit throughout.
TEST(ServingIteration, four_bit_experts_leave_attention_in_16_bits) {
  const ServingPrecision narrow{
      .products = catalog::Dtype::fp4, .experts = catalog::Dtype::fp4, .kv = catalog::Dtype::fp8};
  const auto wide_weights = [](const catalog::ModelShape& m, const ServingPrecision& precision) {
    double sum = 0;
    const Iteration token{.decoding = 1, .context = 100};
    for (const WorkGroup& g : iteration_work(m, {.tp = 1}, precision, token).groups) {
      if (g.repeats <= 1) continue;  // embedding and head
      for (const workload::Operation& op : g.kernels) {
        const auto* product = std::get_if<workload::Gemm>(&op);
        if (product && product->dtype == catalog::Dtype::bf16) sum += product->n * product->k;
      }
    }
    return sum;
  };
  const catalog::ModelShape& dense = *catalog().model("llama-3-70b");
  EXPECT_EQ(wide_weights(dense, narrow), 0);
  const catalog::ModelShape& m = *catalog().model("deepseek-v3");
  ServingPrecision second = narrow;
  second.narrow_output = true;
  const double output = 2.0 * m.heads * m.v_head_dim * m.hidden;  // in dense and routed layers
  EXPECT_DOUBLE_EQ(wide_weights(m, narrow) - wide_weights(m, second), output);
  EXPECT_GT(wide_weights(m, second), 0.3 * output);
  const double more = 1.0 * m.layers * m.heads * m.v_head_dim * m.hidden * (2 - 9.0 / 16);
  EXPECT_DOUBLE_EQ(serving_weights(m, {}, narrow).base() - serving_weights(m, {}, second).base(),
                   more);
}

TEST(ServingMemory, large_model_does_not_fit_on_one_device) {
  EXPECT_FALSE(replica("llama-3-70b", 1, gib(80)).memory.fits);
  EXPECT_TRUE(replica("llama-3-70b", 4, gib(80)).memory.fits);
}

TEST(ServingMemory, printed_block_count_takes_precedence) {
  const Replica r = replica("llama-3-8b", 1, gib(80));
  const ServingMemory given = serving_memory(r.model, r.split, r.precision, r.engine, gib(80),
                                             {.limits = r.limits, .blocks = 1000});
  EXPECT_DOUBLE_EQ(given.kv_tokens, 16000);
}

TEST(Engine, engines_are_found_by_their_design_file_names) {
  const engines::Engine* vllm = engines::find_engine(engines(), "vllm");
  ASSERT_NE(vllm, nullptr);
  EXPECT_EQ(vllm->memory_share, 0.92);
  EXPECT_EQ(vllm->reserve, gib(3));
  EXPECT_EQ(vllm->host_step, microseconds(300));
  EXPECT_FALSE(vllm->keeps_all_output);
  EXPECT_EQ(engines::find_engine(engines(), "trtllm"),
            engines::find_engine(engines(), "tensorrt-llm"));
  EXPECT_EQ(engines::find_engine(engines(), "abacus"), nullptr);
  EXPECT_EQ(engines::find_engine(engines(), ""), nullptr);
  EXPECT_EQ(engines::default_limits(gib(80)).token_budget, 8192);
  EXPECT_EQ(engines::default_limits(gib(180)).token_budget, 16384);
  EXPECT_EQ(engines::default_limits(gib(24)).max_sequences, 256);
}

TEST(Engine, every_bad_value_of_a_table_is_reported) {
  const auto table = CsvTable::parse(
      "id,also,policy,memory_share,block_tokens,reserve_gib,host_step_us,eager_layer_us,first_"
      "token_ms,"
      "kernels_hidden,keeps_all_output\n"
      "a,,vllm,1.2,16,3,300,0,20,0.3,0\n"
      "a,,sglang,0.9,0,3,300,0,,0.3,0\n",
      "engines.csv");
  ASSERT_TRUE(table);
  const auto engines = engines::read_engines(*table);
  ASSERT_FALSE(engines);
  EXPECT_EQ(engines.error().size(), 4u);  // share, blocks, first token, the second a
  EXPECT_EQ(engines.error().front().place.line, 2);
}

// At batch 1 a dense model reads each weight once: 2 N bytes over the bandwidth.
TEST(SteadyState, one_request_reads_the_weights_once) {
  const Replica r = replica("llama-3-8b", 1, gib(141));
  const StepTime t = step_time(r, {.decoding = 1, .context = 1}, plain_costs());
  const workload::ParameterCount p = workload::count_parameters(r.model);
  const double read = 2 * (p.total - p.embedding) / 4e12;
  EXPECT_NEAR(t.kernels.base(), read, 0.01 * read);
  EXPECT_EQ(t.host, r.engine.host_step);
}

// Prefill of many tokens is limited by FLOPs: 2 N per token and the causal half of attention.
TEST(SteadyState, prompt_costs_its_flops) {
  const Replica r = replica("llama-3-8b", 1, gib(141));
  const StepTime t = step_time(r, {.prompts = 1, .prompt_tokens = 8192}, plain_costs());
  const double flop = 8192 * workload::forward_flops_per_token(r.model, 8192).base();
  EXPECT_NEAR(t.kernels.base(), flop / 800e12, 0.15 * flop / 800e12);
}

TEST(SteadyState, littles_law_holds) {
  const Replica r = replica("llama-3-70b", 4, gib(141));
  const RequestShape request{.input = 1024, .output = 512};
  for (const double b : {1.0, 16.0, 200.0}) {
    const ServingPoint p = closed_loop(r, request, b, plain_costs());
    const double inside = p.requests.base() * (p.ttft + p.tpot * (request.output - 1)).base();
    EXPECT_NEAR(inside, b, 0.02 * b);
  }
}

TEST(SteadyState, more_clients_wait_longer_and_are_served_more) {
  const Replica r = replica("llama-3-70b", 4, gib(141));
  const RequestShape request{.input = 2048, .output = 256};
  ServingPoint before = closed_loop(r, request, 1, plain_costs());
  for (const double b : {2.0, 8.0, 32.0, 128.0}) {
    const ServingPoint p = closed_loop(r, request, b, plain_costs());
    EXPECT_GE(p.tpot, before.tpot);
    EXPECT_GE(p.output_tokens_per_s, before.output_tokens_per_s);
    EXPECT_GE(p.ttft_p99, p.ttft);
    EXPECT_GE(p.tpot_p99, p.tpot);
    before = p;
  }
}

TEST(SteadyState, cache_limits_running_requests) {
  const Replica r = replica("llama-3-70b", 2, gib(80), catalog::Dtype::bf16);
  const ServingPoint p = closed_loop(r, {.input = 8192, .output = 1024}, 500, plain_costs());
  EXPECT_EQ(p.bound, ServingBound::kv_cache);
  EXPECT_LT(p.running, 500);
}

TEST(SteadyState, prefix_cache_shortens_the_first_token) {
  const Replica r = replica("llama-3-70b", 4, gib(141));
  RequestShape request{.input = 8192, .output = 256};
  const ServingPoint cold = closed_loop(r, request, 16, plain_costs());
  request.cached_share = 0.8;
  const ServingPoint warm = closed_loop(r, request, 16, plain_costs());
  EXPECT_LT(warm.ttft, cold.ttft);
  EXPECT_LT(warm.tpot, cold.tpot);
}

TEST(SteadyState, capacity_meets_its_target_and_one_more_does_not) {
  const Replica r = replica("llama-3-70b", 4, gib(141));
  const RequestShape request{.input = 1024, .output = 256};
  const ServingTarget target{.ttft_p99 = seconds(2), .tpot_p99 = milliseconds(60)};
  const ServingPoint p = capacity(r, request, target, plain_costs());
  ASSERT_GE(p.concurrency, 1);
  EXPECT_LE(p.ttft_p99, target.ttft_p99);
  EXPECT_LE(p.tpot_p99, target.tpot_p99);
  const ServingPoint more = steady_arrivals(r, request, p.concurrency + 1, plain_costs());
  EXPECT_TRUE(more.ttft_p99 > target.ttft_p99 || more.tpot_p99 > target.tpot_p99 ||
              more.bound != ServingBound::none);
}

// Long prompts and short answers: the prompts' work is the limit, and a longer answer only adds to
// it.
TEST(SteadyState, longer_answers_lower_the_capacity) {
  const Replica r = replica("llama-3-8b", 1, gib(80));
  double before = 1e9;
  for (const double output : {10.0, 50.0, 100.0, 200.0, 400.0, 800.0}) {
    const RequestShape request{.input = 24000, .output = output};
    const double served = capacity(r, request, {}, plain_costs()).requests.base();
    EXPECT_LT(served, before) << output;
    before = served;
  }
}

// With R decoding requests, ending requests and arriving prompts share the replica's time.
TEST(SteadyState, steady_arrivals_conserve_work) {
  const Replica r = replica("llama-3-8b", 1, gib(80));
  for (const double decoding : {0.1, 1.0, 4.0, 16.0}) {
    for (const double output : {16.0, 256.0}) {
      const ServingPoint p =
          steady_arrivals(r, {.input = 12000, .output = output}, decoding, plain_costs());
      const Seconds busy = p.decode.total * output + p.prefill_adds * p.running;
      EXPECT_NEAR(p.requests * busy, p.running, 1e-9 * p.running);
      EXPECT_NEAR(p.requests * p.tpot * output, p.running, 1e-9 * p.running);
      EXPECT_GE(p.ttft, p.prefill);
    }
  }
}

TEST(SteadyState, impossible_target_has_no_capacity) {
  const Replica r = replica("llama-3-70b", 4, gib(141));
  const ServingPoint p = capacity(r, {}, {.tpot_p99 = microseconds(10)}, plain_costs());
  EXPECT_EQ(p.concurrency, 0);
}

TEST(SteadyState, replicas_needed_follow_the_rate) {
  EXPECT_EQ(replicas_needed(PerSecond(40), PerSecond(10), 0.8), 5);
  EXPECT_EQ(replicas_needed(PerSecond(0), PerSecond(10), 0.8), 0);
}

// Published gains of continuous over static batching range from about 3 to 10 (more with long
// tails): batches that run until their longest output ends waste the slots of the others.
TEST(SteadyState, continuous_batching_gains_as_published) {
  const Replica r = replica("llama-3-8b", 1, gib(80));
  const RequestShape request{.input = 512, .output = 256};
  const double clients = 128;
  const ServingPoint continuous = closed_loop(r, request, clients, plain_costs());
  const StaticBatch drained = static_batching(r, request, 1.0, 2048, clients, plain_costs());
  const double gain = continuous.output_tokens_per_s / drained.output_tokens_per_s;
  EXPECT_GT(gain, 3);
  EXPECT_LT(gain, 10);
  const StaticBatch equal = static_batching(r, request, 0.0, 256, clients, plain_costs());
  EXPECT_LT(continuous.output_tokens_per_s / equal.output_tokens_per_s, 1.5);
}

// Ranks step together, and the more there are, the slower is the slowest; two are equal.
TEST(SteadyState, ranks_wait_for_the_slowest) {
  Replica r = replica("llama-3-8b", 1, gib(141));
  const ServingOpCost kernels{.time = Seconds(0.02), .clocked = {}, .core = {}, .memory = {}};
  const ServingCosts source = plain_costs();
  const auto seconds = [&](int ranks) {
    r.split.attention_dp = ranks;
    return settled_step(r, kernels, Seconds(0), 0, 0, source).kernels.base();
  };
  const double even = seconds(1);
  EXPECT_DOUBLE_EQ(seconds(2), even);
  EXPECT_NEAR(seconds(4) - even, 0.05 * 0.02, 1e-6);
  EXPECT_NEAR(seconds(8) - even, 0.1 * 0.02, 1e-6);
  EXPECT_NEAR(seconds(16) - even, 0.15 * 0.02, 1e-6);
  EXPECT_DOUBLE_EQ(seconds(48), seconds(16));
}

TEST(SteadyState, few_tokens_use_few_experts) {
  const Replica r = replica("deepseek-v3", 8, gib(180), catalog::Dtype::fp8);
  const StepTime one = step_time(r, {.decoding = 1, .context = 1024}, plain_costs());
  const StepTime many = step_time(r, {.decoding = 256, .context = 1024}, plain_costs());
  EXPECT_GT(many.kernels / one.kernels, 3);
  EXPECT_LT(many.kernels / one.kernels, 64);
}

// vLLM 0.24 on 8 H200, captured in a graph: 4.7 us at 256 B, 18 us at 2 MiB, 48 us at 8 MiB.
TEST(GraphReduce, graph_reduce_matches_measurements) {
  const BytesPerSecond link = gbytes_per_s(450);
  EXPECT_NEAR(graph_all_reduce(bytes(256), 8, link, 4).base(), 4.7e-6, 0.5e-6);
  EXPECT_NEAR(graph_all_reduce(mib(2), 8, link, 4).base(), 18.1e-6, 0.15 * 18.1e-6);
  EXPECT_NEAR(graph_all_reduce(mib(8), 8, link, 4).base(), 48.4e-6, 0.25 * 48.4e-6);
  EXPECT_EQ(graph_all_reduce(mib(2), 1, link, 4).base(), 0);
}

}  // namespace
}  // namespace orrery::serving
