// Columns of a published serving row: formats, budgets, guesses and gathering as the tests had
// them, and the settings of tests that rows do not name.
#include <gtest/gtest.h>

#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"

namespace orrery::score {
namespace {

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

TEST(ServingColumns, a_row_says_lengths_clients_split_and_formats) {
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
  EXPECT_EQ(dense->split.ep, 1) << "nothing to spread";
  EXPECT_EQ(dense->precision.products, catalog::Dtype::bf16);
  EXPECT_EQ(
      served_row({{"decode_tp_size", "16"}, {"decode_moe_ep_size", "2"}}, "decode_")->split.tp, 16);
  EXPECT_EQ(served_row({}, "decode_")->split.tp, 1) << "what is not said is one";
}

TEST(ServingColumns, what_cannot_be_asked_says_why) {
  EXPECT_EQ(served_row({{"model_path", "nobody/nothing"}}).error(), "unknown model");
  EXPECT_EQ(served_row({{"system", "abacus"}}).error(), "unknown accelerator");
  EXPECT_EQ(served_row({{"moe_quant_mode", "int4_wo"}}).error(), "weight-only format");
  for (const char* blank : {"isl", "osl", "batch_size"}) {
    EXPECT_EQ(served_row({{blank, ""}}).error(), "no lengths or concurrency") << blank;
  }
  const auto named = [](const char* source) {
    return served_row({{"silicon_data_source", source}, {"batch_size", "8"}});
  };
  EXPECT_EQ(named("x; silicon_concurrency=48")->concurrency, 48);
  EXPECT_FALSE(named("silicon_concurrency=0; x")) << "no client";
  EXPECT_FALSE(named("silicon_concurrency=many; x"));
  EXPECT_EQ(named("nothing of it")->concurrency, 8);
}

// Tokens out of a step by its guesses: 1.75 of one, 2.16 of two, 2.3 of three.
TEST(ServingColumns, guesses_are_those_of_the_engine_s_scripts) {
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
  EXPECT_EQ(q.request.accepted_per_step, 2.3) << "more guesses give no more";
}

TEST(ServingColumns, limits_are_those_of_the_tests) {
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

TEST(ServingColumns, prompts_gather_as_in_the_tests) {
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

TEST(ServingColumns, sglang_looks_seldom_on_devices_with_narrow_products) {
  const auto looks = [](const RowFields& more) {
    return load_of_test(*served_row(with_fields({{"backend", "sglang"}}, more))).receive_every;
  };
  EXPECT_EQ(looks({{"batch_size", "15"}}), 10);
  EXPECT_EQ(looks({{"batch_size", "16"}}), 30);
  EXPECT_EQ(looks({{"system", "h200_sxm"}}), 1);
  EXPECT_EQ(looks({{"backend", "vllm"}}), 1);
  // 12,000 output tokens of a client are simulated, two waves at least.
  EXPECT_DOUBLE_EQ(load_of_test(*served_row({{"osl", "5000"}})).waves_most, 2.4);
  EXPECT_EQ(load_of_test(*served_row({{"osl", "6001"}})).waves_most, 2);
}

constexpr std::string_view kSettingHead =
    "accelerator,engine,model,precision,isl,osl,prefill_replicas,prefill_devices,prefill_ep,"
    "prefill_dp,decode_replicas,decode_devices,decode_ep,decode_dp,guesses,decode_batch,clients,"
    "since,until,set\n";

// Rows with prefill on four devices and decode on eight; `workers` "2,3" names their replicas.
ServedApart set_row(const std::string& settings, const std::vector<std::string>& workers) {
  const CsvTable tests = CsvTable::parse(std::string(kSettingHead) + settings, "t.csv").value();
  std::string text =
      "id,backend,model_path,system,precision,mode,isl,osl,batch_size,prefill_tp_size,"
      "prefill_moe_ep_size,decode_tp_size,prefill_num_workers,decode_num_workers\n";
  for (const std::string& w : workers) {
    text += "a,trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1000,2000,96,4,4,8," + w + "\n";
  }
  const CsvTable table = CsvTable::parse(text, "a.csv").value();
  ScoreInputs inputs = known_inputs();
  inputs.tests = &tests;
  const auto read = ApartRows(table, inputs).read(table.rows().at(0), inputs);
  EXPECT_TRUE(read) << read.error();
  return *read;
}

std::string setting(const std::string& layout) {
  return "gb200,trtllm,DeepSeek,fp4,1000,2000," + layout + ",96 128,,,\n";
}

TEST(ServingColumns, the_only_setting_that_fits_is_the_row_s) {
  const ServedApart r = set_row(setting("2,4,4,1,3,8,2,0,1,17"), {","});
  EXPECT_EQ(r.from, ReplicasFrom::settings);
  EXPECT_FALSE(r.guessed);
  EXPECT_EQ(r.query.prefill_replicas, 2);
  EXPECT_EQ(r.query.decode_replicas, 3);
  EXPECT_EQ(r.query.prefill.split.tp, 1);
  EXPECT_EQ(r.query.prefill.split.attention_dp, 4);
  EXPECT_EQ(r.query.prefill.split.ep, 4);
  EXPECT_EQ(r.query.decode.split.tp, 8);
  EXPECT_EQ(r.query.decode.split.attention_dp, 1);
  EXPECT_EQ(r.query.decode.split.ep, 2);
  EXPECT_EQ(r.query.decode.limits->max_sequences, 17);
  // TensorRT-LLM's budget of the prompt and its clients, of each of four ranks: less than 8,192.
  EXPECT_EQ(r.query.prefill.limits->token_budget, 8192.0 / 4);
  EXPECT_EQ(r.query.prefill.limits->max_sequences, 4096);
  EXPECT_EQ(r.query.decode.request.checked_per_step, 2);
  EXPECT_EQ(r.query.decode.request.accepted_per_step, 1.75);
  EXPECT_EQ(r.query.prefill.request.checked_per_step, 1);
  EXPECT_DOUBLE_EQ(r.query.decode.request.input, 900);
  EXPECT_DOUBLE_EQ(r.query.prefill.request.output, 1800);
  const ServedApart plain = set_row(setting("2,4,4,1,3,8,8,1,0,0"), {","});
  EXPECT_EQ(plain.query.decode.request.checked_per_step, 1);
  EXPECT_EQ(plain.query.decode.split.attention_dp, 8);
  EXPECT_EQ(plain.query.decode.limits->max_sequences, 4096) << "no batch is named";
}

TEST(ServingColumns, settings_that_decode_alike_are_one) {
  const std::string first = setting("2,4,4,1,3,8,2,0,1,17");
  const auto from = [&](const std::string& second, const std::string& other_row = "") {
    std::vector<std::string> workers = {","};
    if (!other_row.empty()) workers.push_back(other_row);
    return set_row(first + setting(second), workers).from;
  };
  EXPECT_EQ(from("5,4,4,1,3,8,2,0,1,17"), ReplicasFrom::settings) << "prefill is no matter";
  EXPECT_EQ(from("2,4,4,1,6,8,2,0,1,17"), ReplicasFrom::usual);
  EXPECT_EQ(from("2,4,4,1,3,8,2,0,2,17"), ReplicasFrom::usual);
  EXPECT_EQ(from("2,4,4,1,3,8,2,0,1,18"), ReplicasFrom::usual);
  EXPECT_EQ(from("2,4,4,1,6,8,2,0,1,17", "7,9"), ReplicasFrom::same_test);
}

// Two that differ and no row that tells: the first is as good as any.
TEST(ServingColumns, of_several_settings_the_first_is_taken_where_nothing_tells) {
  const ServedApart r =
      set_row(setting("2,4,4,1,3,8,2,0,1,17") + setting("2,4,4,1,6,8,2,0,0,5"), {","});
  EXPECT_EQ(r.from, ReplicasFrom::usual);
  EXPECT_EQ(r.query.decode_replicas, 6) << "the one without guesses";
  EXPECT_EQ(r.query.decode.limits->max_sequences, 5);
}

TEST(ServingColumns, a_published_layout_takes_its_places_from_the_settings) {
  const std::string settings = setting("2,4,4,1,3,8,2,0,0,17") + setting("2,4,4,1,6,8,2,0,0,18") +
                               setting("2,4,4,1,9,8,2,0,3,19");
  const auto places = [&](const std::string& workers) {
    const ServedApart r = set_row(settings, {workers});
    EXPECT_EQ(r.from, ReplicasFrom::row);
    return r.query.decode.limits->max_sequences;
  };
  EXPECT_EQ(places("2,3"), 17);
  EXPECT_EQ(places("2,6"), 18);
  EXPECT_EQ(places("2,9"), 4096) << "published ones do not guess";
}

TEST(ServingColumns, what_a_row_does_not_say_is_empty_zero_or_one) {
  const TestAsk ask;
  EXPECT_EQ(ask.input + ask.output + ask.clients, 0);
  EXPECT_EQ(ask.prefill_replicas + ask.decode_replicas, 0);
  EXPECT_EQ(ask.prefill_devices, 1);
  EXPECT_EQ(ask.prefill_ep, 1);
  EXPECT_EQ(ask.decode_devices, 1);
  const TestSetting none;
  EXPECT_EQ(none.prefill, (TestRole{.replicas = 1, .devices = 1, .ep = 1, .by_rank = false}));
  EXPECT_EQ(none.guesses, 0);
  EXPECT_EQ(none.decode_batch, 0);
}

}  // namespace
}  // namespace orrery::score
