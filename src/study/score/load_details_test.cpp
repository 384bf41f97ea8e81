// Scores of requests in time and of rows with prefill and decode apart: columns that are blank,
// figures of a log by hand, and the intervals of what nobody published.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/score/open_loop_score.h"
#include "study/score/requests_score.h"
#include "study/score/rows_fixture.h"
#include "study/score/serving_rows.h"
#include "study/score/serving_score.h"
#include "study/score/serving_unsaid.h"

namespace orrery::score {
namespace {

using testing::HasSubstr;

RowFields open_row(const RowFields& more) {
  return with_fields({{"id", "r"},
                      {"model", "meta-llama/Llama-2-7b-hf"},
                      {"gpu", "h100-sxm"},
                      {"engine", "vllm"},
                      {"tp", "1"},
                      {"rate", "0.05"},
                      {"arrivals", "even"},
                      {"duration_s", ""},
                      {"system_prompts", ""},
                      {"users_per_system_prompt", ""},
                      {"system_prompt_len", ""},
                      {"question_len", ""},
                      {"prompt_len_mean", ""},
                      {"output_len", ""},
                      {"max_num_batched_tokens", ""},
                      {"max_num_seqs", ""},
                      {"workload", "w"},
                      {"failures", ""},
                      {"requests", ""}},
                     more);
}

std::vector<double> open_values(const RowFields& more) {
  const Score s = score_open_loop(table_of({open_row(more)}), known_inputs()).value();
  std::vector<double> all;
  for (const ScoredSeries& series : s.series) {
    all.push_back(series.rows.empty() ? -1 : series.rows[0].predicted.value);
  }
  return all;
}

TEST(LoadDetails, blank_columns_of_an_open_loop_have_their_defaults) {
  const RowFields told = {{"duration_s", "600"},
                          {"system_prompts", "1"},
                          {"users_per_system_prompt", "1"},
                          {"system_prompt_len", "0"},
                          {"question_len", "512"},
                          {"output_len", "256"},
                          {"max_num_batched_tokens", "8192"},
                          {"max_num_seqs", "1024"}};
  const std::vector<double> blank = open_values({});
  ASSERT_GT(blank[0], 0);
  EXPECT_EQ(open_values(told), blank);
  EXPECT_NE(open_values(with_fields(told, {{"question_len", "540"}})), blank);
  EXPECT_NE(open_values(with_fields(told, {{"output_len", "270"}})), blank);
  const RowFields apart = {{"system_prompt_len", "1000"}, {"question_len", "100"}};
  EXPECT_EQ(open_values(apart), open_values(with_fields(apart, {{"prompt_len_mean", "1100"}})));
  EXPECT_EQ(open_values(with_fields(told, {{"tp", ""}})), blank);
}

// A budget binds where many prompts come at once: 6,000 tokens of them in one step or in two.
TEST(LoadDetails, budgets_of_an_open_loop_are_those_of_the_row) {
  const RowFields crowd = {{"rate", "400"},
                           {"duration_s", "1"},
                           {"question_len", "700"},
                           {"output_len", "20"},
                           {"system_prompts", "400"}};
  const auto values = [&](const RowFields& more) { return open_values(with_fields(crowd, more)); };
  const std::vector<double> blank = values({});
  EXPECT_EQ(values({{"max_num_batched_tokens", "8192"}, {"max_num_seqs", "1024"}}), blank);
  EXPECT_NE(values({{"max_num_batched_tokens", "8738"}}), blank);
  EXPECT_NE(values({{"max_num_seqs", "16"}}), blank);
}

TEST(LoadDetails, an_open_loop_s_rows_say_their_groups_and_predictions) {
  const Score s =
      score_open_loop(table_of({open_row({{"failures", "1"}, {"requests", "100"}}),
                                open_row({{"id", "f"}, {"failures", "2"}, {"requests", "100"}}),
                                open_row({{"id", "m"}, {"model", "none"}}),
                                open_row({{"id", "g"}, {"gpu", "abacus"}})}),
                      known_inputs())
          .value();
  ASSERT_EQ(s.skipped.size(), 2U);
  EXPECT_EQ(s.skipped[0].reason, "unknown model");
  EXPECT_TRUE(s.skipped[0].counts);
  EXPECT_EQ(s.skipped[1].reason, "unknown accelerator");
  EXPECT_THAT(s.series[0].rows[0].groups, testing::ElementsAre("model=meta-llama/Llama-2-7b-hf",
                                                               "workload=w", "requests=served"));
  EXPECT_EQ(s.series[0].rows[1].groups[2], "requests=failed");
  EXPECT_TRUE(s.series[0].rows[0].counts) << "one of a hundred";
  EXPECT_FALSE(s.series[0].rows[1].counts);
  const CsvTable csv = CsvTable::parse(score_predictions_csv(s), "p.csv").value();
  const char* columns[] = {"tpot_ms_mean", "ttft_ms_mean", "e2e_ms_mean", "ttft_ms_p99",
                           "e2e_ms_p99"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(*csv.number(csv.rows()[0], columns[i]), s.series[i].rows[0].predicted.value, 0.006)
        << columns[i];
  }
}

std::string logged_line(int prompt, int output, double queued, double first, double last) {
  return fmt::format(
      "{{\"input_toks\": {}, \"output_toks\": {}, \"queued_ts\": {}, \"first_token_ts\": {}, "
      "\"last_token_ts\": {}}}\n",
      prompt, output, queued, first, last);
}

RowFields log_row(const RowFields& more) {
  return with_fields({{"id", "own"},
                      {"log", "own.jsonl"},
                      {"gpu", "l40s"},
                      {"model", "meta-llama/Llama-3.1-8B"},
                      {"engine", "vllm"},
                      {"tp", ""},
                      {"attention_dp", ""},
                      {"ep", ""},
                      {"blocks", "4000"},
                      {"max_num_batched_tokens", ""},
                      {"max_num_seqs", ""},
                      {"calibrates", "0"}},
                     more);
}

Score logs_scored(const std::vector<RowFields>& rows, const std::string& log) {
  ScoreInputs inputs = known_inputs();
  inputs.log = [&log](std::string_view name) {
    return name == "own.jsonl" ? std::optional(log) : std::nullopt;
  };
  return score_requests(table_of(rows), inputs).value();
}

// Two requests: first tokens after 0.5 and 0.7 s, 39 and 9 more tokens in 3.9 and 1.8 s. Their
// 99th in a hundred stands 0.99 of the way from the lesser to the greater.
TEST(LoadDetails, figures_of_a_log_are_by_hand) {
  const std::string log = logged_line(300, 10, 101, 101.7, 103.5) +
                          logged_line(500, 40, 100, 100.5, 104.4) + "no line\n";
  const Score s = logs_scored({log_row({})}, log);
  ASSERT_EQ(s.series[0].rows.size(), 1U);
  const double measured[] = {0.6, 0.15, 3.45, 0.698, 0.199, 4.381};
  const double widths[] = {0.08, 0.08, 0.08, 0.15, 0.15, 0.15};
  for (std::size_t i = 0; i < 6; ++i) {
    const ScoredRow& row = s.series[i].rows[0];
    EXPECT_NEAR(*row.measured, measured[i], 1e-9) << s.series[i].name;
    EXPECT_NEAR(row.predicted.high / row.predicted.value, 1 + widths[i], 1e-12);
    EXPECT_NEAR(row.predicted.value / row.predicted.low, 1 + widths[i], 1e-12);
    EXPECT_TRUE(row.counts);
    EXPECT_THAT(row.groups, testing::ElementsAre("calibration=parameters as shipped", "log=own"));
  }
  EXPECT_EQ(s.kind, "requests");
  EXPECT_EQ(s.rows, 1);
}

TEST(LoadDetails, blank_columns_of_a_log_have_their_defaults) {
  std::string log;
  for (int i = 0; i < 300; ++i) log += logged_line(600, 8, 100 + 0.001 * i, 101, 102);
  const auto values = [&](const RowFields& more) {
    std::vector<double> all;
    for (const ScoredSeries& series : logs_scored({log_row(more)}, log).series) {
      all.push_back(series.rows.at(0).predicted.value);
    }
    return all;
  };
  const std::vector<double> blank = values({});
  EXPECT_EQ(values({{"tp", "1"},
                    {"attention_dp", "1"},
                    {"max_num_batched_tokens", "2048"},
                    {"max_num_seqs", "256"}}),
            blank);
  EXPECT_NE(values({{"tp", "2"}}), blank);
  EXPECT_NE(values({{"max_num_batched_tokens", "2184"}}), blank);
  EXPECT_NE(values({{"max_num_seqs", "4"}}), blank);
}

TEST(LoadDetails, logs_that_cannot_be_replayed_say_why) {
  const std::string log = logged_line(300, 10, 100, 101, 102) + logged_line(9, 9, 100, 101, 102);
  const Score s =
      logs_scored({log_row({{"engine", "abacus"}}), log_row({{"id", "m"}, {"model", "none"}}),
                   log_row({{"id", "g"}, {"gpu", "abacus"}}), log_row({{"id", "ok"}})},
                  log);
  ASSERT_EQ(s.skipped.size(), 3U);
  EXPECT_EQ(s.skipped[0].reason, "unknown model");
  EXPECT_EQ(s.skipped[1].reason, "unknown accelerator");
  EXPECT_EQ(s.skipped[2].id, "own");
  EXPECT_THAT(s.skipped[2].reason, HasSubstr("abacus"));
  EXPECT_TRUE(s.skipped[2].counts);
  EXPECT_EQ(s.series[0].rows.size(), 1U);
  const Score one = logs_scored({log_row({})}, logged_line(300, 10, 100, 101, 102));
  EXPECT_EQ(one.skipped.at(0).reason, "no requests in the log");
}

constexpr std::string_view kApartHead =
    "id,silicon_data_source,backend,model_path,system,precision,mode,isl,osl,batch_size,"
    "prefill_tp_size,decode_tp_size,decode_moe_ep_size,prefill_num_workers,decode_num_workers,"
    "silicon_ttft_ms,silicon_tpot_ms\n";

// Who is taken to guess may not have: the interval turns round. First tokens wait in a queue that
// nobody published.
TEST(LoadDetails, intervals_of_unpublished_replicas_reach_both_ways) {
  const std::string model = ",trtllm,deepseek-ai/DeepSeek-R1,gb200,fp4,disagg,1024,1024,";
  const CsvTable table =
      CsvTable::parse(std::string(kApartHead) + "a,x; measured=2026-02-03" + model +
                          "12,4,8,4,,,100,10\nb,y; measured=2026-02-03" + model +
                          "48,4,8,4,1,4,100,10\nc,z; measured=2026-05-05" + model +
                          "12,4,8,4,,,100,10\n",
                      "a.csv")
          .value();
  const Score s = score_serving(table, known_inputs()).value();
  ASSERT_EQ(s.series[0].rows.size(), 3U);
  const auto sides = [&](std::size_t series, std::size_t row) {
    const Estimate& e = s.series[series].rows[row].predicted;
    return std::pair(e.value / e.low, e.high / e.value);
  };
  EXPECT_NEAR(sides(0, 0).first, 1.3, 1e-9);
  EXPECT_NEAR(sides(0, 0).second, 1.9, 1e-9);
  EXPECT_NEAR(sides(0, 2).first, 1.9, 1e-9);
  EXPECT_NEAR(sides(0, 2).second, 1.3, 1e-9);
  for (const std::size_t row : {0U, 2U}) {
    EXPECT_NEAR(sides(1, row).first, 5, 1e-9);
    EXPECT_NEAR(sides(1, row).second, 8, 1e-9);
  }
  EXPECT_LT(sides(1, 1).first, 4) << "published";
  const auto workers = [&](std::size_t row) { return s.series[0].rows[row].groups[7]; };
  EXPECT_EQ(workers(0), "workers=apart, unpublished");
  EXPECT_EQ(workers(1), "workers=apart, published");
  const CsvTable csv = CsvTable::parse(score_predictions_csv(s), "p.csv").value();
  const auto near = [&](const char* column, double value) {
    EXPECT_NEAR(*csv.number(csv.rows()[0], column) / value, 1, 1e-5) << column;
  };
  near("predicted", s.series[0].rows[0].predicted.value);
  near("low", s.series[0].rows[0].predicted.low);
  near("high", s.series[0].rows[0].predicted.high);
  near("ttft_ms", s.series[1].rows[0].predicted.value);
  near("ttft_low_ms", s.series[1].rows[0].predicted.low);
  near("ttft_high_ms", s.series[1].rows[0].predicted.high);
}

TEST(LoadDetails, served_rows_that_cannot_be_predicted_count_as_skipped) {
  const CsvTable table =
      CsvTable::parse(std::string(kApartHead) +
                          "a,,vllm,nobody/nothing,h200_sxm,fp8,agg,100,100,8,,,,,,1,1\n"
                          "b,,vllm,nobody/nothing,h200_sxm,fp8,disagg,100,100,8,4,4,,1,1,1,1\n",
                      "s.csv")
          .value();
  const Score s = score_serving(table, known_inputs()).value();
  ASSERT_EQ(s.skipped.size(), 2U);
  for (const SkippedRow& row : s.skipped) {
    EXPECT_EQ(row.reason, "unknown model");
    EXPECT_TRUE(row.counts);
  }
}

jobs::DisaggregatedQuery deepseek_apart(double clients) {
  jobs::ServingQuery q;
  q.model = *machine::known().catalog().model("deepseek-v3");
  q.accelerator = machine::known().catalog().accelerator("gb200");
  q.engine = "sglang";
  q.precision = {catalog::Dtype::fp4, catalog::Dtype::fp4, catalog::Dtype::fp8};
  q.split.tp = 8;
  q.request = {.input = 8192, .output = 1024};
  q.concurrency = clients;
  q.limits = limits_of_test(q);
  return {.prefill = q, .decode = q};
}

// One more prefill replica as long as those there are work nine tenths of the time, up to 24.
TEST(LoadDetails, prefill_replicas_are_added_until_they_have_room) {
  for (const double clients : {64.0, 512.0, 1500.0}) {
    jobs::DisaggregatedQuery q = deepseek_apart(clients);
    settle_unsaid(machine::known(), {.prefill_devices = 4, .decode_devices = 8}, q);
    EXPECT_EQ(q.decode_replicas, 4);
    EXPECT_EQ(q.prefill.split.tp, 4);
    EXPECT_EQ(q.prefill.split.ep, 4);
    EXPECT_EQ(q.decode.split.ep, 8);
    const auto load = [&](double replicas) {
      jobs::DisaggregatedQuery other = q;
      other.prefill_replicas = replicas;
      return predict_disaggregated(machine::known(), other)->point.prefill_load;
    };
    if (q.prefill_replicas < 24) EXPECT_LT(load(q.prefill_replicas), 0.9) << clients;
    if (q.prefill_replicas > 1) EXPECT_GE(load(q.prefill_replicas - 1), 0.9) << clients;
  }
  jobs::DisaggregatedQuery many = deepseek_apart(4096);
  many.decode.request = many.prefill.request = {.input = 100000, .output = 2};
  settle_unsaid(machine::known(), {.prefill_devices = 4, .decode_devices = 8}, many);
  EXPECT_EQ(many.prefill_replicas, 24);
}

TEST(LoadDetails, a_group_that_attends_by_rank_is_not_widened) {
  jobs::ServingQuery q = deepseek_apart(64).decode;
  q.split = {.tp = 1, .attention_dp = 16, .ep = 4};
  widen(machine::known(), q);
  EXPECT_EQ(q.split.attention_dp, 16);
  EXPECT_EQ(q.split.ep, 4) << "as it was";
  q.split = {.tp = 8, .ep = 4};
  widen(machine::known(), q);
  EXPECT_EQ(q.split.ep, 4) << "no wider than a host";
  q.split = {.tp = 16, .ep = 4};
  widen(machine::known(), q);
  EXPECT_EQ(q.split.attention_dp, 16);
  EXPECT_EQ(q.split.ep, 16);
  const UnsaidAsk ask;
  EXPECT_EQ(ask.prefill_devices, 1);
  EXPECT_EQ(ask.decode_devices, 1);
  EXPECT_FALSE(ask.goes_on);
  EXPECT_FALSE(ask.guessed);
}

// 70 requests of each of 32 ranks guess one token, below 64 three; 4,100 clients of a replica have
// 4,096 places.
TEST(LoadDetails, guesses_and_places_go_by_the_requests_of_a_rank) {
  const auto settled = [](double clients, int devices, bool goes_on) {
    jobs::DisaggregatedQuery q = deepseek_apart(clients);
    q.decode.engine = q.prefill.engine = "trtllm";
    settle_unsaid(
        machine::known(),
        {.prefill_devices = 4, .decode_devices = devices, .goes_on = goes_on, .guessed = true}, q);
    return std::pair(q.decode.request.checked_per_step, q.decode.limits->max_sequences);
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(settled(64 * 32, 32, false), Pair(2, 64));
  EXPECT_EQ(settled(64 * 32 - 1, 32, false), Pair(4, 32));
  EXPECT_EQ(settled(64 * 32, 32, true), Pair(2, 4096));
  EXPECT_EQ(settled(4 * 90, 8, false), Pair(4, 64)) << "four replicas that do not attend by rank";
  EXPECT_EQ(settled(2, 8, false), Pair(4, 1)) << "one place at least";
}

}  // namespace
}  // namespace orrery::score
