#include "study/score/serving_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "study/score/refit_fixture.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_refit.h"

namespace orrery::score {
namespace {

RowFields served_fields(const RowFields& more) {
  return with_fields({{"id", "a"},
                      {"mode", "agg"},
                      {"backend", "vllm"},
                      {"model_path", "meta-llama/Llama-3.1-8B"},
                      {"system", "h200_sxm"},
                      {"precision", "fp8"},
                      {"isl", "1024"},
                      {"osl", "512"},
                      {"batch_size", "8"},
                      {"tp_size", "2"},
                      {"silicon_tpot_ms", "10"},
                      {"silicon_ttft_ms", "200"}},
                     more);
}

TEST(ServingRows, a_row_needs_both_times) {
  const auto count = [](const RowFields& more) {
    return served_rows(table_of({served_fields(more)}), known_inputs()).size();
  };
  EXPECT_EQ(count({}), 1U);
  for (const char* time : {"silicon_tpot_ms", "silicon_ttft_ms"}) {
    EXPECT_EQ(count({{time, ""}}), 0U);
    EXPECT_EQ(count({{time, "0"}}), 0U);
    EXPECT_EQ(count({{time, "-1"}}), 0U);
    EXPECT_EQ(count({{time, "0.001"}}), 1U);
  }
  EXPECT_EQ(count({{"mtp", "1"}}), 0U);
  EXPECT_EQ(count({{"model_path", "unheard"}}), 0U);
  const auto rows = served_rows(table_of({served_fields({})}), known_inputs());
  EXPECT_DOUBLE_EQ(rows[0].tpot, 0.01);
  EXPECT_DOUBLE_EQ(rows[0].ttft, 0.2);
  EXPECT_EQ(rows[0].requests, 0);
  EXPECT_EQ(rows[0].query.split.moe_tp, 0);
  EXPECT_EQ(rows[0].query.split.tp, 2);
}

std::map<std::string, std::string> serving_fields() {
  return {{"id", "r"},
          {"backend", "trtllm"},
          {"model_path", "meta-llama/Llama-3.1-70B"},
          {"system", "h200_sxm"},
          {"precision", "fp8"},
          {"mode", "agg"},
          {"isl", "1024"},
          {"osl", "1024"},
          {"batch_size", "8"},
          {"tp_size", "4"}};
}

std::expected<jobs::ServingQuery, std::string> serving_row(
    const std::map<std::string, std::string>& more, const std::string& role = "") {
  auto fields = serving_fields();
  for (const auto& [name, value] : more) fields[name] = value;
  const CsvTable table = one_row(fields);
  return read_serving_row(table, table.rows().at(0), known_inputs(), role);
}

TEST(ServingRows, a_row_describes_its_replica) {
  const auto q = serving_row({});
  ASSERT_TRUE(q) << q.error();
  EXPECT_EQ(q->accelerator->id, "h200-sxm");
  EXPECT_EQ(q->split.tp, 4);
  EXPECT_EQ(q->concurrency, 8);
  EXPECT_EQ(q->precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(q->precision.kv, catalog::Dtype::fp8);
  EXPECT_EQ(q->request.checked_per_step, 1);
  EXPECT_EQ(serving_row({{"precision", "bf16"}})->precision.kv, catalog::Dtype::bf16);
  EXPECT_EQ(serving_row({{"precision", "fp4"}})->precision.products, catalog::Dtype::fp4);
  EXPECT_EQ(serving_row({{"gemm_quant_mode", "nvfp4"}})->precision.products, catalog::Dtype::fp4);
  EXPECT_FALSE(serving_row({{"gemm_quant_mode", "int4_wo"}}));
  EXPECT_EQ(serving_row({{"silicon_data_source", "x; silicon_concurrency=64; y"}})->concurrency,
            64);
  const auto guessed = serving_row({{"mtp", "1"}});
  EXPECT_EQ(guessed->request.checked_per_step, 4);
  EXPECT_GT(guessed->request.accepted_per_step, 2);
}

// If every rank has its own attention, the group's size is given twice.
TEST(ServingRows, data_parallel_attention_is_not_tensor_parallel) {
  const auto q = serving_row({{"tp_size", "8"}, {"attention_dp_size", "8"}});
  EXPECT_EQ(q->split.tp, 1);
  EXPECT_EQ(q->split.attention_dp, 8);
  EXPECT_EQ(serving_row({{"tp_size", "4"}, {"attention_dp_size", "2"}})->split.tp, 4);
}

TEST(ServingRows, token_budgets_come_from_the_tests) {
  EXPECT_EQ(serving_row({{"backend", "sglang"}})->limits->token_budget, 16384);
  EXPECT_EQ(serving_row({{"backend", "sglang"}, {"tp_size", "4"}, {"attention_dp_size", "4"}})
                ->limits->token_budget,
            4096);
  EXPECT_EQ(serving_row({})->limits->token_budget, 16384);
  EXPECT_EQ(serving_row({{"isl", "20000"}})->limits->token_budget, 8 + 20000 + 64);
}

TEST(ServingRows, the_load_is_cut_and_polled_as_tested) {
  jobs::ServingQuery q = *serving_row({});
  EXPECT_EQ(load_of_test(q).least_share, 0.8);
  EXPECT_NEAR(load_of_test(q).waves_most, 12000.0 / 1024, 1e-9);
  q.request.output = 12000;
  EXPECT_EQ(load_of_test(q).waves_most, 2);
  EXPECT_GT(load_of_test(*serving_row({})).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(*serving_row({{"isl", "4096"}})).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(*serving_row({{"tp_size", "8"}})).gathering.iterations, 0);
  EXPECT_EQ(load_of_test(*serving_row({{"backend", "vllm"}})).gathering.iterations, 0);
  const auto polls = [](const char* clients) {
    return load_of_test(
               *serving_row(
                   {{"backend", "sglang"}, {"system", "b200_sxm"}, {"batch_size", clients}}))
        .receive_every;
  };
  EXPECT_EQ(polls("8"), 10);
  EXPECT_EQ(polls("16"), 30);
}

std::expected<jobs::ServingQuery, std::string> served_row(const RowFields& more,
                                                          const std::string& role = "") {
  const CsvTable table = table_of({with_fields({{"id", "r"},
                                                {"backend", "trtllm"},
                                                {"model_path", "deepseek-ai/DeepSeek-R1"},
                                                {"system", "gb200"},
                                                {"precision", "fp8"},
                                                {"mode", "agg"},
                                                {"isl", "1024"},
                                                {"osl", "1024"},
                                                {"batch_size", "64"},
                                                {"tp_size", "8"},
                                                {"pp_size", "2"},
                                                {"moe_ep_size", "4"}},
                                               more)});
  return read_serving_row(table, table.rows().at(0), known_inputs(), role);
}

constexpr const char* kDense = "meta-llama/Llama-3.1-70B";

TEST(ServingRows, a_row_has_lengths_clients_split_and_formats) {
  const auto q = served_row({{"isl", "1000"}, {"osl", "200"}, {"moe_quant_mode", "nvfp4"}});
  ASSERT_TRUE(q) << q.error();
  EXPECT_EQ(q->request.input, 1000);
  EXPECT_EQ(q->request.output, 200);
  EXPECT_EQ(q->request.requests_per_client, 10);
  EXPECT_EQ(q->concurrency, 64);
  EXPECT_EQ(q->split.tp, 8);
  EXPECT_EQ(q->split.pp, 2);
  EXPECT_EQ(q->split.attention_dp, 1);
  EXPECT_EQ(q->split.ep, 4);
  EXPECT_EQ(q->precision.products, catalog::Dtype::fp8);
  EXPECT_EQ(q->precision.experts, catalog::Dtype::fp4);
  EXPECT_TRUE(q->precision.narrow_output) << "DeepSeek's";
  const auto dense = served_row({{"model_path", kDense}, {"precision", ""}});
  EXPECT_FALSE(dense->precision.narrow_output);
  EXPECT_EQ(dense->split.ep, 1);
  EXPECT_EQ(dense->precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(
      served_row({{"decode_tp_size", "16"}, {"decode_moe_ep_size", "2"}}, "decode_")->split.tp, 16);
  EXPECT_EQ(served_row({}, "decode_")->split.tp, 1);
}

TEST(ServingRows, unusable_rows_have_a_reason) {
  EXPECT_NE(served_row({{"model_path", "nobody/nothing"}}).error(), "");
  EXPECT_NE(served_row({{"system", "abacus"}}).error(), "");
  EXPECT_NE(served_row({{"moe_quant_mode", "int4_wo"}}).error(), "");
  for (const char* blank : {"isl", "osl", "batch_size"}) {
    EXPECT_NE(served_row({{blank, ""}}).error(), "") << blank;
  }
  const auto named = [](const char* source) {
    return served_row({{"silicon_data_source", source}, {"batch_size", "8"}});
  };
  EXPECT_EQ(named("x; silicon_concurrency=48")->concurrency, 48);
  EXPECT_FALSE(named("silicon_concurrency=0; x")) << "no client";
  EXPECT_FALSE(named("silicon_concurrency=many; x"));
  EXPECT_EQ(named("nothing of it")->concurrency, 8);
}

// Tokens per step by the number of guesses: 1.75 for one, 2.16 for two, 2.3 for three.
TEST(ServingRows, speculation_follows_the_engine_scripts) {
  const auto guesses = [](const RowFields& more) {
    const auto q = served_row(with_fields(more, {{"mtp", "1"}}));
    return std::pair(q->request.checked_per_step, q->request.accepted_per_step);
  };
  using Pair = std::pair<double, double>;
  const RowFields ranks = {{"tp_size", "8"}, {"attention_dp_size", "8"}};
  EXPECT_EQ(guesses({{"backend", "sglang"}}), Pair(3, 2.16));
  EXPECT_EQ(guesses(with_fields(ranks, {{"backend", "sglang"}})), Pair(3, 2.16));
  EXPECT_EQ(guesses({{"backend", "sglang"}, {"model_path", kDense}}), Pair(4, 2.3));
  EXPECT_EQ(guesses({}), Pair(4, 2.3));
  EXPECT_EQ(guesses(ranks), Pair(2, 1.75));
  EXPECT_EQ(guesses(with_fields(ranks, {{"backend", "vllm"}})), Pair(4, 2.3));
  EXPECT_EQ(guesses(with_fields(ranks, {{"model_path", kDense}})), Pair(2, 1.75));
  jobs::ServingQuery q = *served_row({});
  EXPECT_EQ(q.request.checked_per_step, 1);
  set_guesses(q, 0);
  EXPECT_EQ(q.request.accepted_per_step, 1);
  set_guesses(q, 5);
  EXPECT_EQ(q.request.checked_per_step, 6);
  EXPECT_EQ(q.request.accepted_per_step, 2.3);
}

TEST(ServingRows, limits_come_from_the_tests) {
  const auto limits = [](const RowFields& more) { return *served_row(more)->limits; };
  EXPECT_EQ(limits({}).token_budget, 8192) << "experts";
  EXPECT_EQ(limits({}).max_sequences, 4096);
  EXPECT_FALSE(limits({}).chunked_prefill);
  EXPECT_EQ(limits({{"isl", "9000"}}).token_budget, 64 + 9000 + 64);
  EXPECT_EQ(limits({{"tp_size", "4"}, {"attention_dp_size", "4"}}).token_budget, 2048);
  EXPECT_EQ(limits({{"model_path", kDense}}).token_budget, 16384);
  const engines::EngineLimits chunks = limits({{"backend", "sglang"}});
  EXPECT_EQ(chunks.token_budget, 16384);
  EXPECT_EQ(chunks.max_sequences, 4096);
  EXPECT_TRUE(chunks.chunked_prefill);
  EXPECT_EQ(limits({{"backend", "vllm"}, {"system", "h100_sxm"}}).token_budget, 8192);
  EXPECT_EQ(limits({{"backend", "vllm"}}).max_sequences, 1024);
}

TEST(ServingRows, prompts_are_batched_as_in_the_tests) {
  const auto gathering = [](const RowFields& more) {
    return load_of_test(*served_row(more)).gathering;
  };
  const traffic::Gathering ranks = gathering({{"tp_size", "4"}, {"attention_dp_size", "4"}});
  EXPECT_EQ(ranks.iterations, 60);
  EXPECT_EQ(ranks.prompts, 4) << "one each";
  const traffic::Gathering crowded = gathering({});
  EXPECT_EQ(crowded.iterations, 40);
  EXPECT_DOUBLE_EQ(crowded.tokens, 0.8 * 8192);
  EXPECT_EQ(gathering({{"batch_size", "63"}}).iterations, 0);
  EXPECT_EQ(gathering({{"precision", "fp4"}}).iterations, 0);
  EXPECT_EQ(gathering({{"system", "h200_sxm"}}).iterations, 0) << "no 4-bit products";
  EXPECT_EQ(gathering({{"isl", "1023"}}).iterations, 0);
  EXPECT_EQ(gathering({{"osl", "1023"}}).iterations, 0);
  const RowFields dense = {{"model_path", kDense}, {"tp_size", "7"}, {"batch_size", "4"}};
  EXPECT_EQ(gathering(dense).iterations, 20);
  EXPECT_DOUBLE_EQ(gathering(dense).tokens, 0.9 * 16384);
  EXPECT_EQ(gathering(with_fields(dense, {{"tp_size", "8"}})).iterations, 0);
  EXPECT_EQ(gathering(with_fields(dense, {{"osl", "512"}})).iterations, 0);
  EXPECT_EQ(gathering({{"batch_size", "4"}, {"tp_size", "4"}}).iterations, 0) << "experts";
  EXPECT_EQ(gathering({{"backend", "sglang"}, {"attention_dp_size", "8"}}).iterations, 0);
}

TEST(ServingRows, sglang_polls_less_on_slow_devices) {
  const auto looks = [](const RowFields& more) {
    return load_of_test(*served_row(with_fields({{"backend", "sglang"}}, more))).receive_every;
  };
  EXPECT_EQ(looks({{"batch_size", "15"}}), 10);
  EXPECT_EQ(looks({{"batch_size", "16"}}), 30);
  EXPECT_EQ(looks({{"system", "h200_sxm"}}), 1);
  EXPECT_EQ(looks({{"backend", "vllm"}}), 1);
  // 12,000 output tokens per client are simulated, at least two waves.
  EXPECT_DOUBLE_EQ(load_of_test(*served_row({{"osl", "5000"}})).waves_most, 2.4);
  EXPECT_EQ(load_of_test(*served_row({{"osl", "6001"}})).waves_most, 2);
}

}  // namespace
}  // namespace orrery::score
